//! Outcomes that an agent cannot express, made stricter. Nothing is passed in silence: each change of an outcome is returned,
//! for the log.

use crate::agent::Abilities;
use crate::event::{HookCall, HookEvent};
use crate::outcome::{Answer, Outcome};
use crate::reason;
use hookhost_contract::{Cause, Refusal, Rejection};
use serde::Serialize;
use serde_json::{Map, Value};

/// What an agent could not be told, and what it is told in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Degradation {
    /// It takes no other arguments: the call is rejected, and the reason has the changed one.
    ChangeToRejection,
    /// It takes no result in place of the tool's: the call is rejected, and the reason has the result.
    ResponseToRejection,
    /// It cannot ask dependably, and nobody else answered: the call is rejected.
    QuestionToRejection,
    /// It does what was rejected: the rejection is recorded, and the user is told where that is possible.
    RejectionNotPossible,
    /// It uses the text or the result that was to be replaced or withheld.
    ReplacementNotPossible,
    /// It asks its user nevertheless.
    ApprovalNotPossible,
    /// Its model does not read what plugins remind it of.
    ContextNotPossible,
    /// Its user does not read what plugins say.
    NoticeNotPossible,
    /// It does not continue with the tasks of plugins.
    TasksNotPossible,
    /// It does not end its run; the call is rejected.
    StopNotPossible,
}

impl Degradation {
    /// One sentence for people.
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::ChangeToRejection => {
                "the agent takes no changed call: it was rejected, and the reason has the changed call"
            }
            Self::ResponseToRejection => {
                "the agent takes no result of a plugin: the call was rejected, and the reason has it"
            }
            Self::QuestionToRejection => "the agent cannot ask its user dependably: the call was rejected",
            Self::RejectionNotPossible => {
                "the agent cannot be hindered at this hook point: the rejection had no effect"
            }
            Self::ReplacementNotPossible => "the agent takes no other text or result here: it used the one that it had",
            Self::ApprovalNotPossible => "the agent asks its user nevertheless",
            Self::ContextNotPossible => "the agent's model does not read reminders here",
            Self::NoticeNotPossible => "the agent's user cannot be told anything here",
            Self::TasksNotPossible => "the agent takes no tasks here",
            Self::StopNotPossible => "the agent cannot be ended here",
        }
    }
}

/// Makes of an outcome one that an agent with these abilities can express, at the place of `call`.
#[must_use]
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
        // A text that a plugin withholds is not left as it is where the agent takes another one.
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

/// Whether the event is about a text that is there already.
fn is_text(call: &HookCall) -> bool {
    matches!(call.event, HookEvent::AfterCompaction { .. } | HookEvent::FinalText { .. })
}

/// Whether a call of the agent can get exactly these arguments: what a plugin took out of them would stay where they are
/// merged.
fn can_change(call: &HookCall, arguments: &Value, can: Abilities) -> bool {
    let (HookEvent::BeforeToolCall(tool) | HookEvent::PermissionRequest(tool)) = &call.event else {
        return can.changes;
    };
    let stays = || tool.arguments.as_object().into_iter().flat_map(Map::keys).all(|key| arguments.get(key).is_some());
    let has_command = |arguments: &Value| arguments.get("command").is_some_and(Value::is_string);
    let keeps_command = || !has_command(&tool.arguments) || has_command(arguments);
    can.changes && tool.is_exact && (!can.merges || stays()) && (!can.keeps_command || keeps_command())
}

/// What happens to a value that must not be used as it is, where the agent cannot take another one: it is withheld, or else
/// the user is told.
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

/// A no that stands for another outcome. Its reason is not cut: a model that gets half of a call would make half of it.
fn rejected(by: Vec<String>, refusal: Refusal) -> Answer {
    let mut rejection = Rejection::host(by, Cause::Verdict, String::new());
    rejection.refusal = refusal;
    if rejection.by.is_empty() {
        rejection.by.push("hookhost".to_owned());
    }
    Answer::Rejected(rejection)
}
