//! Replies to Claude Code.

use super::AGENT;
use crate::agents::claude_shape::{self, Dialect, No};
use crate::event::HookCall;
use crate::outcome::Outcome;
use crate::reply::Reply;
use serde_json::Value;

const DIALECT: Dialect = Dialect { no, change_needs_allow: false, interrupts: true };

fn no(point: &str) -> No {
    match point {
        "PreToolUse" => No::Permission,
        "PermissionRequest" => No::Behavior,
        // A result that was refused, or could not be looked at, does not reach the model.
        "PostToolUse" => No::Result,
        "MessageDisplay" => No::Instead("displayContent"),
        _ => No::Block,
    }
}

pub(super) fn encode(call: &HookCall, outcome: &Outcome) -> Reply {
    claude_shape::encode(&AGENT, &DIALECT, call, outcome)
}

/// Whether the agent takes a reply for a no. With exit code 2 it reads nothing else; a JSON object counts with any other exit
/// code, and its part for the hook point only under the hook point's own name.
pub(super) fn denies(point: &str, reply: &Reply) -> bool {
    if reply.exit == 2 {
        return AGENT.abilities(point).rejects;
    }
    let Ok(value) = serde_json::from_str::<Value>(reply.stdout.trim()) else { return false };
    let specific = value.get("hookSpecificOutput").filter(|part| part["hookEventName"] == point);
    match point {
        "PreToolUse" => specific.is_some_and(|part| part["permissionDecision"] == "deny"),
        "PermissionRequest" => specific.is_some_and(|part| part["decision"]["behavior"] == "deny"),
        _ => value["decision"] == "block" && AGENT.abilities(point).rejects,
    }
}

pub(super) fn fail(point: Option<&str>, why: &str) -> Reply {
    claude_shape::fail(&AGENT, &DIALECT, point, why)
}

pub(super) fn unsettled(call: &HookCall, why: &str) -> Reply {
    claude_shape::unsettled(&AGENT, &DIALECT, call, why)
}
