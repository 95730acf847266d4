//! Replaces an outcome that an agent cannot carry out with a stricter outcome. The list of replacements is returned, because the
//! log must contain them.

use crate::agent::Abilities;
use crate::hook_call::{HookCall, HookEvent};
use crate::outcome::{Answer, Outcome};
use crate::reason;
use hookhost_contract::{Cause, Refusal, Rejection};
use serde::Serialize;
use serde_json::{Map, Value};

/// A part of an outcome that an agent cannot carry out, and its replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Degradation {
    /// The agent accepts no changed arguments, so the call is rejected, and the reason contains the changed call.
    ChangeToRejection,
    /// The agent accepts no result in place of running the tool, so the call is rejected, and the reason contains the
    /// result.
    ResponseToRejection,
    /// The agent cannot reliably ask its user, and no person answered in another way, so the call is rejected.
    QuestionToRejection,
    /// The agent ignores rejections at this hook point. The rejection is recorded, and the user gets a message if
    /// possible.
    RejectionNotPossible,
    /// The agent accepts no replacement. So the agent uses a text or a result although a plugin wanted to replace or withhold it.
    ReplacementNotPossible,
    /// The agent asks its user, although a plugin approved the call.
    ApprovalNotPossible,
    /// The agent's model does not read the reminders of plugins.
    ContextNotPossible,
    /// The agent's user does not read the notices of plugins.
    NoticeNotPossible,
    /// The agent does not continue with the tasks of plugins.
    TasksNotPossible,
    /// The agent cannot end its run, so only the call is rejected.
    StopNotPossible,
}

impl Degradation {
    /// Returns one sentence for people.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::ChangeToRejection => {
                "the agent accepts no changed call: it was rejected, and the reason contains the changed call"
            }
            Self::ResponseToRejection => {
                "the agent accepts no result of a plugin: the call was rejected, and the reason contains the result"
            }
            Self::QuestionToRejection => "the agent cannot ask its user dependably: the call was rejected",
            Self::RejectionNotPossible => {
                "the agent cannot be hindered at this hook point: the rejection had no effect"
            }
            Self::ReplacementNotPossible => "the agent accepts no other text or result here: it used its own",
            Self::ApprovalNotPossible => "the agent asks its user nevertheless",
            Self::ContextNotPossible => "the agent's model does not read reminders here",
            Self::NoticeNotPossible => "the agent's user cannot get a message here",
            Self::TasksNotPossible => "the agent accepts no tasks here",
            Self::StopNotPossible => "the agent cannot be ended here",
        }
    }
}

/// Replaces the parts of `outcome` that an agent with the abilities `can` cannot carry out for `call`. Returns the new
/// outcome and the list of replacements.
pub fn degrade(call: &HookCall, outcome: Outcome, can: Abilities) -> (Outcome, Vec<Degradation>) {
    let mut lost = Vec::new();
    let Outcome { answer, mut context, mut notices, rules } = outcome;
    let answer = match answer {
        Answer::Changed { arguments, by } if !can_change(call, &arguments, can) => {
            lost.push(Degradation::ChangeToRejection);
            let refusal = Refusal::new(reason::make_this_call(&by, &arguments)).retryable();
            rejected(by, refusal)
        }
        Answer::Responded { result, by } if !can.responds => {
            lost.push(Degradation::ResponseToRejection);
            let refusal = Refusal::new(reason::use_this_result(&result));
            rejected(vec![by], refusal)
        }
        Answer::Ask { questions, .. } if !can.asks => {
            lost.push(Degradation::QuestionToRejection);
            let by = questions.iter().map(|question| question.by.to_string()).collect();
            Answer::Rejected(Rejection::host(by, Cause::NotApproved, reason::asked(&questions)))
        }
        Answer::Ask { questions, arguments: Some(arguments) } if !can_change(call, &arguments, can) => {
            lost.push(Degradation::ChangeToRejection);
            let by = questions.iter().map(|question| question.by.to_string()).collect::<Vec<_>>();
            let refusal = Refusal::new(reason::make_this_call(&by, &arguments)).retryable();
            rejected(by, refusal)
        }
        Answer::Approved { .. } if !can.approves => {
            lost.push(Degradation::ApprovalNotPossible);
            Answer::Neutral
        }
        Answer::Replaced(_) | Answer::ReplacedResult(_) if !can.replaces => {
            lost.push(Degradation::ReplacementNotPossible);
            stricter_than_replacing(call, can, &mut notices)
        }
        Answer::GoOn(tasks) if !can.goes_on => {
            if !tasks.is_empty() {
                lost.push(Degradation::TasksNotPossible);
            }
            Answer::Neutral
        }
        other => other,
    };
    let answer = match answer {
        // The agent would use the rejected text, so the reason of the rejection replaces this text.
        Answer::Rejected(rejection) if !can.rejects && can.replaces && is_text(call) => {
            lost.push(Degradation::RejectionNotPossible);
            if rejection.ends.is_some() {
                lost.push(Degradation::StopNotPossible);
            }
            Answer::Replaced(rejection.to_string())
        }
        Answer::Rejected(rejection) if !can.rejects => {
            lost.push(Degradation::RejectionNotPossible);
            if rejection.ends.is_some() {
                lost.push(Degradation::StopNotPossible);
            }
            notices.push(rejection.to_string());
            Answer::Neutral
        }
        Answer::Rejected(rejection) => {
            if rejection.ends.is_some() && !can.stops {
                lost.push(Degradation::StopNotPossible);
            }
            Answer::Rejected(rejection)
        }
        other => other,
    };
    if !context.is_empty() && !can.adds_context {
        lost.push(Degradation::ContextNotPossible);
        context.clear();
    }
    if !notices.is_empty() && !can.tells_user {
        lost.push(Degradation::NoticeNotPossible);
        notices.clear();
    }
    (Outcome { answer, context, notices, rules }, lost)
}

/// Returns true if the event is about an existing text, such as a summary.
fn is_text(call: &HookCall) -> bool {
    matches!(call.event, HookEvent::AfterCompaction { .. } | HookEvent::FinalText { .. })
}

/// Returns true if the agent can run the call with exactly these arguments. An agent that merges arguments would keep
/// an argument that a plugin removed.
fn can_change(call: &HookCall, arguments: &Value, can: Abilities) -> bool {
    let (HookEvent::BeforeToolCall(tool) | HookEvent::PermissionRequest(tool)) = &call.event else {
        return can.changes;
    };
    let stays = || tool.arguments.as_object().into_iter().flat_map(Map::keys).all(|key| arguments.get(key).is_some());
    let has_command = |arguments: &Value| arguments.get("command").is_some_and(Value::is_string);
    let keeps_command = || !has_command(&tool.arguments) || has_command(arguments);
    can.changes && tool.is_exact && (!can.merges || stays()) && (!can.keeps_command || keeps_command())
}

/// Returns the answer if a plugin replaces a value and the agent accepts no replacement. The value is rejected if
/// possible. Otherwise, the user gets a message.
fn stricter_than_replacing(call: &HookCall, can: Abilities, notices: &mut Vec<String>) -> Answer {
    if can.rejects {
        let what = match call.event {
            HookEvent::PromptSubmit { .. } => "the prompt",
            HookEvent::AfterToolCall { .. } => "the result",
            _ => "the text",
        };
        let reason = format!("a plugin replaced {what}, and this agent cannot take another one");
        return rejected(Vec::new(), Refusal::new(reason).retryable());
    }
    notices.push(Degradation::ReplacementNotPossible.sentence().to_owned());
    Answer::Neutral
}

/// Returns a rejection that takes the place of another outcome. The reason is not shortened, because it can contain a
/// call for the model to make. A model that reads only half of the call would make an incomplete call.
fn rejected(by: Vec<String>, refusal: Refusal) -> Answer {
    let mut rejection = Rejection::host(by, Cause::Verdict, String::new());
    rejection.refusal = refusal;
    if rejection.by.is_empty() {
        rejection.by.push("hookhost".to_owned());
    }
    Answer::Rejected(rejection)
}
