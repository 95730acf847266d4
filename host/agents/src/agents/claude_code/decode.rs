//! Claude Code's messages: one object with `hook_event_name`, keys in snake case.

use super::AGENT;
use crate::claude_shape::{self, Keys};
use crate::event::HookCall;
use crate::json::Fields;
use crate::message::{Message, Unreadable};

pub(super) fn decode(message: &Message<'_>, fields: &Fields) -> Result<HookCall, Unreadable> {
    let mut call = claude_shape::decode(message, fields, &AGENT, &Keys::CLAUDE)?;
    // In this mode the agent asks nobody, and refuses any call that is not allowed.
    call.session.interactive = fields.some_text("permission_mode").as_deref() != Some("dontAsk");
    Ok(call)
}
