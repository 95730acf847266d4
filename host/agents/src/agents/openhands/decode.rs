//! OpenHands' messages: Claude Code's shape, with `event_type`, `working_dir` and `message`.

use super::AGENT;
use crate::claude_shape::{self, Keys};
use crate::event::HookCall;
use crate::json::Fields;
use crate::message::{Message, Unreadable};

const KEYS: Keys = Keys {
    point: &["event_type", "hook_event_name"],
    cwd: &["working_dir", "cwd"],
    project: "OPENHANDS_PROJECT_DIR",
    call: &[],
    response: &["tool_response", "tool_output"],
    prompt: &["message", "prompt"],
    text: &["message"],
    ..Keys::CLAUDE
};

pub(super) fn decode(message: &Message<'_>, fields: &Fields) -> Result<HookCall, Unreadable> {
    claude_shape::decode(message, fields, &AGENT, &KEYS)
}
