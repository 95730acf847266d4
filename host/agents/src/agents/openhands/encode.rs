//! Replies to OpenHands. A denial is exit code 2 with the reason on standard output and standard error, because
//! versions differ in which they read.

use super::AGENT;
use crate::claude_shape::{Strictest, denies_by_decision, deny_twice, prompts, strictest};
use crate::event::HookCall;
use crate::outcome::{Answer, Outcome};
use crate::reason;
use crate::reply::Reply;
use serde_json::json;

pub(super) fn encode(_call: &HookCall, outcome: &Outcome) -> Reply {
    match &outcome.answer {
        Answer::Rejected(rejection) => deny_twice(&reason::rejected(rejection)),
        Answer::GoOn(tasks) if !tasks.is_empty() => deny_twice(&prompts(tasks)),
        _ if outcome.context.is_empty() => Reply::empty(),
        _ => Reply::json(&json!({ "additionalContext": outcome.context.join("\n\n") })),
    }
}

pub(super) fn fail(point: Option<&str>, why: &str) -> Reply {
    match strictest(&AGENT, point) {
        Strictest::Refuse(_) | Strictest::Unknown => deny_twice(why),
        Strictest::Tell(_) | Strictest::Nothing => Reply::empty(),
    }
}

pub(super) fn denies(point: &str, reply: &Reply) -> bool {
    denies_by_decision(&AGENT, point, reply, "deny")
}
