//! Replies to Codex. Its schemas know no other keys: with a foreign one, or an empty reason, the whole reply counts as a hook
//! that failed, and the call runs.

use super::AGENT;
use crate::agents::claude_shape::{self, Dialect, No};
use crate::event::{HookCall, HookEvent};
use crate::outcome::{Answer, Outcome};
use crate::reason;
use crate::reply::Reply;
use hookhost_contract::{Cause, Rejection};

const DIALECT: Dialect = Dialect { no, change_needs_allow: true, interrupts: false, needs_reason: true };

/// The tools whose only argument is `command`, a text.
const OF_COMMANDS: &[&str] = &["Bash", "apply_patch"];

fn no(point: &str) -> No {
    match point {
        "PreToolUse" => No::Permission,
        "PermissionRequest" => No::Behavior,
        "PreCompact" => No::Veto,
        _ => No::Block,
    }
}

pub(super) fn encode(call: &HookCall, outcome: &Outcome) -> Reply {
    if let (HookEvent::BeforeToolCall(tool), Answer::Changed { arguments, by }) = (&call.event, &outcome.answer) {
        let has_command = arguments.get("command").is_some_and(serde_json::Value::is_string);
        if OF_COMMANDS.contains(&tool.name.as_str()) && !has_command {
            // Codex refuses such a change itself; older versions let the unchanged call run.
            let why = reason::make_this_call(by, arguments);
            let answer = Answer::Rejected(Rejection::host(by.clone(), Cause::Invalid, why));
            return claude_shape::encode(&AGENT, &DIALECT, call, &Outcome { answer, ..outcome.clone() });
        }
    }
    claude_shape::encode(&AGENT, &DIALECT, call, outcome)
}

pub(super) fn fail(point: Option<&str>, why: &str) -> Reply {
    claude_shape::fail(&AGENT, &DIALECT, point, why)
}

pub(super) fn denies(point: &str, reply: &Reply) -> bool {
    claude_shape::denies(&AGENT, &DIALECT, point, reply)
}
