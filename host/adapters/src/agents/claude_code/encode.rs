//! Replies to Claude Code.

use super::{AGENT, result};
use crate::agents::claude_shape::{self, Dialect, Draft, No};
use crate::event::{HookCall, HookEvent};
use crate::outcome::Outcome;
use crate::reply::Reply;

const DIALECT: Dialect = Dialect { no, change_needs_allow: false, interrupts: true };

fn no(point: &str) -> No {
    match point {
        "PreToolUse" => No::Permission,
        "PermissionRequest" => No::Behavior,
        "MessageDisplay" => No::Instead("displayContent"),
        _ => No::Block,
    }
}

pub(super) fn encode(call: &HookCall, outcome: &Outcome) -> Reply {
    if let HookEvent::AfterToolCall { call: tool, result: original } = &call.event {
        let mut draft = Draft::new(&call.point);
        if call.point == "PostToolUse" && result::answer(&mut draft, tool, original, outcome) {
            draft.beside(outcome);
            return draft.finish();
        }
    }
    claude_shape::encode(&AGENT, &DIALECT, call, outcome)
}

pub(super) fn fail(point: Option<&str>, why: &str) -> Reply {
    if point == Some("PostToolUse") {
        return result::withhold(why);
    }
    claude_shape::fail(&AGENT, &DIALECT, point, why)
}
