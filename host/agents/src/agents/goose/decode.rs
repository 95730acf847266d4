//! goose's messages: one object with `event`, keys in snake case.

use crate::event::{AgentSession, HookCall, HookEvent, ToolUse};
use crate::json::Fields;
use crate::message::{Message, Unreadable};
use hookhost_contract::ToolResult;
use serde_json::Value;
use std::path::PathBuf;

/// The extensions that are part of goose. All others are MCP servers.
const OWN: &[&str] = &["developer", "summon", "todo", "platform", "skills", "extensionmanager"];

pub(super) fn decode(message: &Message<'_>, fields: &Fields) -> Result<HookCall, Unreadable> {
    // Every message of goose has both fields.
    let point = fields.text("event")?;
    if !fields.has("matcher_context") {
        return Err(Unreadable::new("`matcher_context` is missing").at(&point));
    }
    let event = event(&point, fields).map_err(|error| error.at(&point))?;
    let id = fields.id(&["session_id"]).map_err(|error| error.at(&point))?;
    let cwd = fields.some_text("working_dir").map_or_else(|| message.directory.to_owned(), PathBuf::from);
    let raw = fields.to_json();
    Ok(HookCall::new(point, AgentSession::new(id, cwd), event, raw))
}

fn event(point: &str, fields: &Fields) -> Result<HookEvent, Unreadable> {
    Ok(match point {
        "SessionStart" => HookEvent::SessionStart { is_resumed: false },
        "SessionEnd" => HookEvent::SessionEnd,
        "UserPromptSubmit" => HookEvent::PromptSubmit { prompt: fields.text("message")? },
        "PreToolUse" => HookEvent::BeforeToolCall(call(fields)?),
        "PostToolUse" => HookEvent::AfterToolCall { call: call(fields)?, result: result(fields, false) },
        "PostToolUseFailure" => HookEvent::AfterToolCall { call: call(fields)?, result: result(fields, true) },
        "Stop" => HookEvent::Stop { text: fields.some_text("last_assistant_message"), is_continued: false },
        _ => HookEvent::Custom { payload: fields.as_value() },
    })
}

fn call(fields: &Fields) -> Result<ToolUse, Unreadable> {
    let name = fields.text("tool_name")?;
    let server = name.split_once("__").map(|(extension, _)| extension.to_owned());
    let call = ToolUse::new(fields.id(&["tool_call_id"])?, name, fields.arguments("tool_input")?);
    Ok(match server {
        Some(server) if !OWN.contains(&server.as_str()) => call.of_server(server),
        _ => call,
    })
}

fn result(fields: &Fields, is_error: bool) -> ToolResult {
    let output = fields.get("tool_output").cloned().unwrap_or_default();
    let text = match &output {
        Value::Null => fields.some_text("message").unwrap_or_default(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    ToolResult { text, is_error, raw: Some(output.into()) }
}
