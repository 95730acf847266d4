//! Replies to Antigravity: one object with `decision`. After a reply without `decision`, Antigravity asks its user
//! about each call.

use super::AGENT;
use crate::claude_shape::{Strictest, deny_twice, filled, point_of, strictest};
use crate::event::HookCall;
use crate::outcome::{Answer, Outcome};
use crate::reason;
use crate::reply::Reply;
use serde_json::json;

pub(super) fn encode(call: &HookCall, outcome: &Outcome) -> Reply {
    match &outcome.answer {
        Answer::Rejected(rejection) => decide("deny", &reason::rejected(rejection)),
        Answer::Ask { questions, .. } => decide("force_ask", &reason::asked(questions)),
        _ => neutral(Some(&call.point)),
    }
}

pub(super) fn fail(point: Option<&str>, why: &str) -> Reply {
    match strictest(&AGENT, point) {
        Strictest::Refuse(_) => decide("deny", filled(why)),
        Strictest::Tell(_) | Strictest::Nothing => Reply::empty(),
        // The message may be about a call, and Antigravity understands both forms of a denial there.
        Strictest::Unknown => deny_twice(why),
    }
}

pub(super) fn neutral(point: Option<&str>) -> Reply {
    match point.and_then(|name| point_of(&AGENT, name)) {
        Some(known) if known.abilities.rejects => Reply::json(&json!({ "decision": "allow" })),
        _ => Reply::empty(),
    }
}

pub(super) fn denies(point: &str, reply: &Reply) -> bool {
    AGENT.abilities(point).rejects && reply.said()["decision"] == "deny"
}

fn decide(decision: &str, reason: &str) -> Reply {
    Reply::json(&json!({ "decision": decision, "reason": reason }))
}
