//! Replies to Qwen Code, which accepts those of Claude Code.

use super::AGENT;
use crate::claude_shape::{self, Dialect, No};
use crate::event::HookCall;
use crate::outcome::Outcome;
use crate::reply::Reply;

const DIALECT: Dialect = Dialect { no, change_needs_allow: false, interrupts: false, needs_reason: false };

fn no(point: &str) -> No {
    match point {
        "PreToolUse" => No::Permission,
        "PermissionRequest" => No::Behavior,
        _ => No::Block,
    }
}

pub(super) fn encode(call: &HookCall, outcome: &Outcome) -> Reply {
    claude_shape::encode(&AGENT, &DIALECT, call, outcome)
}

pub(super) fn fail(point: Option<&str>, why: &str) -> Reply {
    claude_shape::fail(&AGENT, &DIALECT, point, why)
}

pub(super) fn denies(point: &str, reply: &Reply) -> bool {
    claude_shape::denies(&AGENT, &DIALECT, point, reply)
}
