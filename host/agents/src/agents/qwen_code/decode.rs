//! Qwen Code's messages: Claude Code's shape, with `timestamp` and `tool_call_id`.

use super::AGENT;
use crate::claude_shape::{self, Keys};
use crate::event::{HookCall, HookEvent};
use crate::json::Fields;
use crate::message::{Message, Unreadable};

const KEYS: Keys = Keys { project: "QWEN_PROJECT_DIR", ..Keys::CLAUDE };

pub(super) fn decode(message: &Message<'_>, fields: &Fields) -> Result<HookCall, Unreadable> {
    let mut call = claude_shape::decode(message, fields, &AGENT, &KEYS)?;
    if matches!(&call.event, HookEvent::PromptSubmit { prompt } if prompt.is_empty()) {
        // The agent sends this also with tool results for the model, which are no prompt of the user.
        let payload = serde_json::from_str(&call.raw).unwrap_or_default();
        call.event = HookEvent::Custom { payload };
    }
    Ok(call)
}
