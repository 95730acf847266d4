//! The events of mods. Claude Code puts a call's arguments beside the tool's name; the hookhost mod puts them into
//! `input`.

use crate::agents::own_plugin::OwnMessage;
use crate::event::{HookCall, HookEvent, ToolUse};
use crate::json::{Arguments, Fields};
use crate::message::{Message, Unreadable};
use hookhost_contract::ToolResult;
use serde_json::Value;

/// Keys beside the arguments of a call that are no arguments, if `input` is missing.
const RESERVED: &[&str] = &["tool", "tool_use_id", "agentId", "consent"];

pub(super) fn decode(message: &Message<'_>, fields: &Fields) -> Result<HookCall, Unreadable> {
    let mut told = OwnMessage::of(message, fields)?;
    if told.session.subagent.is_none() && told.point.starts_with("tool.") {
        told.session.subagent = told.event.some_text("agentId");
    }
    let event = event(&told.point, &told.event);
    told.call(event)
}

fn event(point: &str, fields: &Fields) -> Result<HookEvent, Unreadable> {
    Ok(match (point, fields.some_text("agentId")) {
        ("session.start", _) => HookEvent::SessionStart { is_resumed: false },
        ("session.end", _) => HookEvent::SessionEnd,
        ("prompt.submit", _) => HookEvent::PromptSubmit { prompt: fields.text("text")? },
        ("tool.call", _) => HookEvent::BeforeToolCall(call(fields)?),
        ("tool.check", _) => HookEvent::PermissionRequest(call(fields)?),
        ("tool.result", _) => {
            let text = fields.some_text("text").unwrap_or_default();
            let result = ToolResult { text, is_error: fields.is("isError"), raw: None };
            HookEvent::AfterToolCall { call: call(fields)?, result }
        }
        ("agent.spawn", _) => {
            HookEvent::SubagentStart { id: fields.text("tool_use_id")?, prompt: fields.text("prompt")? }
        }
        ("session.compact", _) => HookEvent::BeforeCompaction,
        ("session.compacted", _) => {
            HookEvent::AfterCompaction { summary: fields.some_text("summary").unwrap_or_default() }
        }
        ("turn.complete", Some(id)) => {
            HookEvent::SubagentEnd { id, text: fields.some_text("answer").unwrap_or_default(), is_continued: false }
        }
        ("turn.complete", None) => match fields.some_text("reason").as_deref() {
            Some("error") => HookEvent::AgentError { message: "the agent stopped".to_owned() },
            // A prompt would restart an agent that the user has stopped.
            Some("aborted") => HookEvent::Custom { payload: fields.as_value() },
            _ => HookEvent::Stop { text: fields.some_text("answer"), is_continued: fields.is("continued") },
        },
        _ => HookEvent::Custom { payload: fields.as_value() },
    })
}

fn call(fields: &Fields) -> Result<ToolUse, Unreadable> {
    let arguments: Arguments = if fields.get("input").is_some_and(Value::is_object) {
        fields.arguments("input")?
    } else {
        let Value::Object(mut all) = fields.as_value() else {
            return Err(Unreadable::new("the call is not an object"));
        };
        all.retain(|key, _| !RESERVED.contains(&key.as_str()));
        Value::Object(all).into()
    };
    Ok(ToolUse::new(fields.id(&["tool_use_id"])?, fields.text("tool")?, arguments))
}
