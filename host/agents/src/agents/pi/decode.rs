//! pi's events: one object each, with `type`.

use crate::agents::own_plugin::OwnMessage;
use crate::event::{HookCall, HookEvent, ToolUse};
use crate::json::Fields;
use crate::message::{Message, Unreadable};
use hookhost_contract::ToolResult;
use serde_json::Value;

pub(super) fn decode(message: &Message<'_>, fields: &Fields) -> Result<HookCall, Unreadable> {
    let told = OwnMessage::of(message, fields)?;
    let event = event(&told.point, &told.event);
    told.call(event)
}

fn event(point: &str, fields: &Fields) -> Result<HookEvent, Unreadable> {
    Ok(match point {
        "session_start" => HookEvent::SessionStart {
            is_resumed: matches!(fields.some_text("reason").as_deref(), Some("resume" | "reload" | "fork")),
        },
        "session_shutdown" => HookEvent::SessionEnd,
        "input" => HookEvent::PromptSubmit { prompt: fields.text("text")? },
        "tool_call" => HookEvent::BeforeToolCall(call(fields)?),
        "tool_result" => {
            let content = fields.get("content").cloned().unwrap_or_default();
            let result = ToolResult { text: text(&content), is_error: fields.is("isError"), raw: Some(content.into()) };
            HookEvent::AfterToolCall { call: call(fields)?, result }
        }
        "session_before_compact" => HookEvent::BeforeCompaction,
        "session_compact" => HookEvent::AfterCompaction { summary: fields.some_text("summary").unwrap_or_default() },
        "message_end" => {
            let content = fields.within("message").get("content").cloned().unwrap_or_default();
            HookEvent::FinalText { text: text(&content) }
        }
        "agent_before_settle" => match fields.some_text("outcome").as_deref() {
            Some("error") => HookEvent::AgentError { message: "the agent stopped".to_owned() },
            Some("aborted") => HookEvent::Custom { payload: fields.as_value() },
            _ => HookEvent::Stop { text: fields.some_text("text"), is_continued: fields.is("continued") },
        },
        _ => HookEvent::Custom { payload: fields.as_value() },
    })
}

fn call(fields: &Fields) -> Result<ToolUse, Unreadable> {
    Ok(ToolUse::new(fields.id(&["toolCallId"])?, fields.text("toolName")?, fields.arguments("input")?))
}

/// Joins the texts of a content, which may also have images.
fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts: Vec<&str> = parts.iter().filter_map(|part| part.get("text")?.as_str()).collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}
