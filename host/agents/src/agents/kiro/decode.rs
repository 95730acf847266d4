//! Kiro's messages: Claude Code's shape. Older messages do not name their session.

use super::AGENT;
use crate::claude_shape::{self, Keys};
use crate::event::HookCall;
use crate::json::Fields;
use crate::message::{Message, Unreadable};

const KEYS: Keys = Keys { project: "", text: &["assistant_response", "last_assistant_message"], ..Keys::CLAUDE };

pub(super) fn decode(message: &Message<'_>, fields: &Fields) -> Result<HookCall, Unreadable> {
    claude_shape::decode(message, fields, &AGENT, &KEYS)
}
