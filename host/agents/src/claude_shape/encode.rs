//! Replies in the shape of Claude Code. A denial is JSON with exit code 0, because with exit code 2 the model would
//! read the path of the hook. The whole reply is built before it is written, because an incomplete reply lets the call
//! run.

use super::draft::{Draft, filled};
use super::strictest::{Strictest, strictest};
use crate::agent::Agent;
use crate::event::HookCall;
use crate::outcome::{Answer, Outcome};
use crate::reason;
use crate::reply::Reply;
use hookhost_contract::Task;
use serde_json::{Value, json};

/// The form of a denial at a hook point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum No {
    /// `hookSpecificOutput.permissionDecision` with `deny`, `ask` or `allow`.
    Permission,
    /// `hookSpecificOutput.decision`, an object with `behavior`.
    Behavior,
    /// This key of `hookSpecificOutput`: the reason replaces the value.
    Instead(&'static str),
    /// `hookSpecificOutput.updatedToolOutput`: the reason replaces the result, in its shape.
    Result,
    /// `decision: "block"` with a reason. After a tool has run, the reason replaces its result.
    Block,
    /// `continue: false`: the agent does not do what it was about to do.
    Veto,
}

/// The differences between the replies to the agents of this shape.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dialect {
    /// Returns the form of a denial at the hook point of this name.
    pub(crate) no: fn(&str) -> No,
    /// True if a changed call needs `permissionDecision: "allow"` beside it. Otherwise the reply has no decision, so
    /// that the agent's own permissions apply to the changed call.
    pub(crate) change_needs_allow: bool,
    /// True if the agent understands `decision.interrupt`.
    pub(crate) interrupts: bool,
    /// True if the agent treats a denial without a reason as a failed hook.
    pub(crate) needs_reason: bool,
}

/// Encodes the reply to a call.
pub(crate) fn encode(agent: &Agent, dialect: &Dialect, call: &HookCall, outcome: &Outcome) -> Reply {
    let mut draft = Draft::new(&call.point);
    let mut context = outcome.context.clone();
    let no = (dialect.no)(&call.point);
    match &outcome.answer {
        Answer::Rejected(rejection) => {
            let why = reason::rejected(rejection);
            let has_place = draft.refuse(no, &why, Some(call), dialect.interrupts && rejection.ends.is_some());
            if !has_place {
                context.insert(0, why);
            }
            if agent.abilities(&call.point).stops && no != No::Behavior {
                draft.end(rejection);
            }
        }
        Answer::Approved { by } => draft.approve(no, by),
        Answer::Changed { arguments, .. } if no == No::Behavior => {
            draft.specific("decision", json!({ "behavior": "allow", "updatedInput": arguments }));
        }
        Answer::Changed { arguments, .. } => {
            if dialect.change_needs_allow {
                draft.specific("permissionDecision", json!("allow"));
            }
            draft.specific("updatedInput", arguments.clone());
        }
        Answer::Ask { questions, arguments } => {
            draft.decide("ask", &reason::asked(questions));
            if let Some(arguments) = arguments {
                draft.specific("updatedInput", arguments.clone());
            }
        }
        Answer::ReplacedResult(result) => draft.replace_result(no, result, call),
        Answer::Replaced(text) => draft.replace(no, text),
        Answer::GoOn(tasks) if !tasks.is_empty() => draft.block(&prompts(tasks)),
        Answer::GoOn(_) | Answer::Responded { .. } | Answer::Neutral => {}
    }
    if !context.is_empty() {
        draft.specific("additionalContext", json!(context.join("\n\n")));
    }
    if !outcome.notices.is_empty() {
        draft.top("systemMessage", json!(outcome.notices.join("\n")));
    }
    draft.finish()
}

/// Encodes the reply to a call that could not be settled.
pub(crate) fn unsettled(agent: &'static Agent, dialect: &Dialect, call: &HookCall, why: &str) -> Reply {
    refuse(agent, dialect, Some(&call.point), Some(call), why)
}

/// Encodes the reply to a message that could not be read.
pub(crate) fn fail(agent: &'static Agent, dialect: &Dialect, point: Option<&str>, why: &str) -> Reply {
    refuse(agent, dialect, point, None, why)
}

/// Encodes a denial if the agent accepts one; otherwise a notice if the user reads one.
fn refuse(agent: &'static Agent, dialect: &Dialect, point: Option<&str>, call: Option<&HookCall>, why: &str) -> Reply {
    let why = filled(why);
    match strictest(agent, point) {
        Strictest::Refuse(point) => {
            let mut draft = Draft::new(point.name);
            if !draft.refuse((dialect.no)(point.name), why, call, false) {
                draft.specific("additionalContext", json!(why));
            }
            draft.finish()
        }
        Strictest::Tell(point) => {
            let mut draft = Draft::new(point.name);
            draft.top("systemMessage", json!(why));
            draft.finish()
        }
        Strictest::Nothing => Reply::empty(),
        Strictest::Unknown => Reply::exit_2(why),
    }
}

/// Returns true if an agent treats the reply as a denial. With exit code 2 the agent reads only the standard error. The
/// part for a hook point counts only with that hook point's name.
pub(crate) fn denies(agent: &Agent, dialect: &Dialect, point: &str, reply: &Reply) -> bool {
    let has_reason = |reason: &str| !dialect.needs_reason || !reason.trim().is_empty();
    if reply.exit == 2 {
        return agent.abilities(point).rejects && has_reason(&reply.stderr);
    }
    let said = reply.said();
    let specific = &said["hookSpecificOutput"];
    let is_own = specific["hookEventName"] == point;
    let reason = |value: &Value| has_reason(value.as_str().unwrap_or_default());
    match (dialect.no)(point) {
        No::Permission => {
            is_own && specific["permissionDecision"] == "deny" && reason(&specific["permissionDecisionReason"])
        }
        No::Behavior => is_own && specific["decision"]["behavior"] == "deny",
        No::Veto => said["continue"] == false,
        _ => said["decision"] == "block" && reason(&said["reason"]) && agent.abilities(point).rejects,
    }
}

/// Joins the tasks into one prompt.
pub(crate) fn prompts(tasks: &[Task]) -> String {
    tasks.iter().map(|task| task.prompt.as_str()).collect::<Vec<_>>().join("\n\n")
}
