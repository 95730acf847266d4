//! Formats sentences for models and users. For example, a sentence says which plugin rejected a call, whether the
//! rejection is final, and what the model may do instead.

use hookhost_contract::{Cause, Question, Rejection, ToolResult};
use serde_json::Value;

/// Returns the text about an event on which no decision was made. The text contains a command that gives more
/// information, and the first line of the reason. The reason comes last, because agents show only the first rows of a
/// long text.
pub fn not_settled(agent: &str, why: &str) -> String {
    let why = sentence(why.lines().next().unwrap_or_default());
    format!("hookhost could not decide (`hookhost doctor {agent}` says more): {}", why.trim_end())
}

/// Returns the text about a rejection for the model. A model that only reads "denied" would try to reach the same goal
/// in another way, so the text says whether the rejection is final.
pub fn rejected(rejection: &Rejection) -> String {
    let code = rejection.refusal.code.as_ref().map(|code| format!(" [{code}]")).unwrap_or_default();
    let said = format!("{rejection}{code}");
    let next = match rejection.cause {
        Cause::Verdict | Cause::Disagreement if rejection.refusal.retryable => {
            "This is a policy of the user. A call that follows it may run."
        }
        Cause::Verdict | Cause::Disagreement => {
            "This is a policy of the user and final: do not try to do the same in another way."
        }
        Cause::NotApproved | Cause::TooManyQuestions => {
            "A person has to agree, and has not: do not try to do the same in another way."
        }
        Cause::Overridable => {
            "The user can let exactly this call pass once. Do the task without it, and ask the user in your final answer. \
             Do not try to do the same in another way."
        }
        Cause::NotRecorded => "Tell the user: nothing runs until it can be written again.",
        _ if rejection.refusal.retryable => "The same call may be tried again later.",
        _ => "Tell the user: this is about the rules, not about the call.",
    };
    format!("{}{}", sentence(&said), next)
}

/// Returns the text for the user alone about a rejected call that the user can let pass once by this code.
pub fn allow_once(code: &str) -> String {
    format!("To let exactly this call pass once, run `hookhost allow-once {code}` in a terminal within ten minutes.")
}

/// Returns the text of the questions for an agent's user.
pub fn asked(questions: &[Question]) -> String {
    let asked = questions.iter().map(|question| {
        let code = question.escalation.code.as_ref().map(|code| format!(" [{code}]")).unwrap_or_default();
        format!("{} asks: {}{code}", question.by, question.escalation.question)
    });
    let text = asked.collect::<Vec<_>>().join("\n");
    if text.is_empty() { "a person has to agree".to_owned() } else { text }
}

/// Returns the text for the model if plugins changed a call but the agent accepts no changed arguments.
pub fn make_this_call(by: &[String], arguments: &Value) -> String {
    format!(
        "{} changed this call, and this agent cannot run a changed call. Make exactly this call instead, with the \
         arguments {arguments}",
        names(by)
    )
}

/// Returns the text for the model if a plugin gave the result but the agent only accepts a rejection.
pub fn use_this_result(result: &ToolResult) -> String {
    format!("the tool did not run, and this is the result in its place:\n{}\n(end of the result)", result.text)
}

/// Returns the names of the plugins, as the subject of a sentence.
fn names(by: &[String]) -> String {
    if by.is_empty() { "A plugin".to_owned() } else { by.join(", ") }
}

/// Returns the text with a full stop and a space after it.
fn sentence(text: &str) -> String {
    let text = text.trim_end();
    if text.ends_with(['.', '!', '?']) { format!("{text} ") } else { format!("{text}. ") }
}

#[cfg(test)]
mod tests {
    use super::{not_settled, rejected};
    use hookhost_contract::{Cause, FailureKind, Refusal, Rejection, Stop};

    #[test]
    fn a_reason_says_whose_rule_it_is_that_it_is_final_and_what_may_be_done_instead() {
        let refusal = Refusal::new("force-push rewrites shared history").code("git.force-push");
        let no = rejected(&Rejection::verdict("no-force-push", refusal.clone(), Stop::Run));
        assert_eq!(
            no,
            "Rejected by no-force-push: force-push rewrites shared history [git.force-push]. This is a policy of the user \
             and final: do not try to do the same in another way."
        );
        let no = rejected(&Rejection::verdict("no-force-push", refusal.retryable(), Stop::Run));
        assert!(no.ends_with("A call that follows it may run."), "{no}");
        let no = rejected(&Rejection::host(Vec::new(), Cause::NotRecorded, "the disk is full".to_owned()));
        assert!(no.ends_with("Tell the user: nothing runs until it can be written again."), "{no}");
        let no = rejected(&Rejection::host(Vec::new(), Cause::Failed(FailureKind::Trap), "it trapped".to_owned()));
        assert!(no.ends_with("not about the call."), "{no}");
    }

    #[test]
    fn a_call_whose_question_nobody_answers_is_left_to_the_final_answer() {
        let no = rejected(&Rejection::host(vec!["guard".to_owned()], Cause::Overridable, "drop it?".to_owned()));
        let next =
            "Do the task without it, and ask the user in your final answer. Do not try to do the same in another way.";
        let opening = "Rejected, because nobody is asked here. guard would ask: drop it? ";
        assert!(no.starts_with(opening) && no.ends_with(next), "{no}");
    }

    #[test]
    fn what_was_not_settled_is_said_in_one_line() {
        let said = not_settled("codex", "a.toml:1:1: unknown key `nmae`.\n  |\n1 | nmae = 1\n");
        let opening = "hookhost could not decide (`hookhost doctor codex` says more): ";
        assert_eq!(said, format!("{opening}a.toml:1:1: unknown key `nmae`."));
        assert_eq!(not_settled("codex", "did you mean `plugin`?"), format!("{opening}did you mean `plugin`?"));
    }
}
