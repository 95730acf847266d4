//! Codex's messages: Claude Code's shape, with `turn_id` and `model`.

use super::AGENT;
use crate::claude_shape::{self, Keys};
use crate::event::HookCall;
use crate::json::Fields;
use crate::message::{Message, Unreadable};

const KEYS: Keys = Keys { project: "", ..Keys::CLAUDE };

pub(super) fn decode(message: &Message<'_>, fields: &Fields) -> Result<HookCall, Unreadable> {
    claude_shape::decode(message, fields, &AGENT, &KEYS)
}
