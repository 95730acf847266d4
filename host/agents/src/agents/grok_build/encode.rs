//! Replies to Grok Build. A denial is exit code 2 and `decision: "deny"`. `allow` means the same as an empty reply.

use super::AGENT;
use crate::claude_shape::{Strictest, denies_by_decision, deny_twice, strictest};
use crate::event::HookCall;
use crate::outcome::{Answer, Outcome};
use crate::reason;
use crate::reply::Reply;

pub(super) fn encode(_call: &HookCall, outcome: &Outcome) -> Reply {
    match &outcome.answer {
        Answer::Rejected(rejection) => deny_twice(&reason::rejected(rejection)),
        _ => Reply::empty(),
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
