//! Claude Code's messages: one object with `hook_event_name`, keys in snake case.

use crate::event::{AgentSession, HookCall, HookEvent, ToolUse};
use crate::json::Fields;
use crate::message::{Message, Unreadable};
use hookhost_contract::ToolResult;
use serde_json::Value;
use std::path::PathBuf;

pub(super) fn decode(message: &Message<'_>) -> Result<HookCall, Unreadable> {
    let fields = Fields::of(message.bytes)?;
    let point = fields.some_text("hook_event_name").or_else(|| message.point.map(str::to_owned));
    let point = point.ok_or_else(|| Unreadable::new("`hook_event_name` is missing"))?;
    let event = event(&point, &fields).map_err(|error| error.at(&point))?;
    let session = session(message, &fields).map_err(|error| error.at(&point))?;
    let raw = fields.to_json();
    Ok(HookCall::new(point, session, event, raw))
}

fn session(message: &Message<'_>, fields: &Fields) -> Result<AgentSession, Unreadable> {
    let cwd = fields.some_text("cwd").map_or_else(|| message.directory.to_owned(), PathBuf::from);
    let mut session = AgentSession::new(Some(fields.text("session_id")?), cwd);
    if let Some(project) = message.variable("CLAUDE_PROJECT_DIR") {
        session.workspace = PathBuf::from(project);
    }
    session.subagent = fields.some_text("agent_id");
    Ok(session)
}

fn event(point: &str, fields: &Fields) -> Result<HookEvent, Unreadable> {
    Ok(match point {
        "SessionStart" => HookEvent::SessionStart {
            is_resumed: fields.some_text("source").is_some_and(|source| source != "startup" && source != "clear"),
        },
        "SessionEnd" => HookEvent::SessionEnd,
        "UserPromptSubmit" => HookEvent::PromptSubmit { prompt: fields.text("prompt")? },
        "PreToolUse" => HookEvent::BeforeToolCall(call(fields)?),
        "PermissionRequest" => HookEvent::PermissionRequest(call(fields)?),
        "PostToolUse" => {
            let result = result(fields.get("tool_response").unwrap_or(&Value::Null));
            HookEvent::AfterToolCall { call: call(fields)?, result }
        }
        "PostToolUseFailure" => {
            let result = ToolResult::error(fields.some_text("error").unwrap_or_default());
            HookEvent::AfterToolCall { call: call(fields)?, result }
        }
        "SubagentStart" => HookEvent::SubagentStart {
            id: fields.text("agent_id")?,
            prompt: fields.some_text("agent_type").unwrap_or_default(),
        },
        "SubagentStop" => HookEvent::SubagentEnd {
            id: fields.some_text("agent_id").unwrap_or_default(),
            text: fields.some_text("last_assistant_message").unwrap_or_default(),
            is_continued: fields.is("stop_hook_active"),
        },
        "PreCompact" => HookEvent::BeforeCompaction,
        "PostCompact" => {
            HookEvent::AfterCompaction { summary: fields.some_text("compact_summary").unwrap_or_default() }
        }
        "Stop" => HookEvent::Stop {
            text: fields.some_text("last_assistant_message"),
            is_continued: fields.is("stop_hook_active"),
        },
        "StopFailure" => HookEvent::AgentError {
            message: fields.first_text(&["error_details", "error"]).unwrap_or_else(|| "the agent stopped".to_owned()),
        },
        _ => HookEvent::Custom { payload: fields.as_value() },
    })
}

fn call(fields: &Fields) -> Result<ToolUse, Unreadable> {
    Ok(ToolUse::new(fields.some_text("tool_use_id"), fields.text("tool_name")?, fields.arguments("tool_input")?))
}

/// The text that the model reads of a result, and the whole of it.
fn result(response: &Value) -> ToolResult {
    let text = match response {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Object(object) if object.contains_key("stdout") || object.contains_key("stderr") => {
            let part = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
            let (stdout, stderr) = (part("stdout"), part("stderr"));
            if stderr.is_empty() { stdout.to_owned() } else { format!("{stdout}\n{stderr}") }
        }
        other => other.to_string(),
    };
    let is_error = response.get("is_error").or_else(|| response.get("isError")) == Some(&Value::Bool(true));
    ToolResult { text, is_error, raw: Some(response.to_string()) }
}
