//! Replies to Grok Build. A no is exit code 2 and `decision: "deny"`; `allow` says no more than nothing does.

use super::AGENT;
use crate::agents::claude_shape::{Strictest, filled, strictest};
use crate::event::HookCall;
use crate::outcome::{Answer, Outcome};
use crate::reason;
use crate::reply::Reply;
use serde_json::json;

pub(super) fn encode(_call: &HookCall, outcome: &Outcome) -> Reply {
    match &outcome.answer {
        Answer::Rejected(rejection) => deny(&reason::rejected(rejection)),
        _ => Reply::empty(),
    }
}

pub(super) fn fail(point: Option<&str>, why: &str) -> Reply {
    match strictest(&AGENT, point) {
        Strictest::Refuse(_) | Strictest::Unknown => deny(why),
        Strictest::Tell(_) | Strictest::Nothing => Reply::empty(),
    }
}

fn deny(reason: &str) -> Reply {
    let reason = filled(reason);
    Reply { exit: 2, stderr: reason.to_owned(), ..Reply::json(&json!({ "decision": "deny", "reason": reason })) }
}
