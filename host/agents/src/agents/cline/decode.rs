//! Cline's messages: one object with `hookName`, and an object with the name of the hook point.

use crate::event::{AgentSession, HookCall, HookEvent, ToolUse};
use crate::json::{Arguments, Fields, value};
use crate::message::{Message, Unreadable};
use hookhost_contract::ToolResult;
use serde_json::{Map, Value};
use std::path::PathBuf;

pub(super) fn decode(message: &Message<'_>, fields: &Fields) -> Result<HookCall, Unreadable> {
    // Every message of Cline has this field.
    let point = fields.text("hookName")?;
    let event = event(&point, fields).map_err(|error| error.at(&point))?;
    let session = session(message, fields, &event).map_err(|error| error.at(&point))?;
    let raw = fields.to_json();
    Ok(HookCall::new(point, session, event, raw))
}

fn session(message: &Message<'_>, fields: &Fields, event: &HookEvent) -> Result<AgentSession, Unreadable> {
    let root = fields.within("sessionContext").id(&["rootSessionId"])?;
    let id = if root.is_some() { root } else { fields.id(&["taskId"])? };
    let roots = fields.get("workspaceRoots").and_then(Value::as_array);
    let root = roots.and_then(|roots| roots.first()?.as_str()).filter(|root| !root.is_empty());
    let cwd = root.map_or_else(|| message.directory.to_owned(), PathBuf::from);
    let mut session = AgentSession::new(id, cwd);
    // The start and the end of a sub-agent belong to the agent that started it.
    let is_its_own = matches!(event, HookEvent::SubagentStart { .. } | HookEvent::SubagentEnd { .. });
    if fields.some_text("parent_agent_id").is_some() && !is_its_own {
        session.subagent = fields.id(&["agent_id"])?;
    }
    session.version = fields.some_text("clineVersion");
    Ok(session)
}

fn event(point: &str, fields: &Fields) -> Result<HookEvent, Unreadable> {
    let subagent = fields.some_text("parent_agent_id").and_then(|_| fields.some_text("agent_id"));
    Ok(match (point, subagent) {
        ("agent_start" | "agent_resume", Some(id)) => HookEvent::SubagentStart { id, prompt: String::new() },
        ("agent_start" | "TaskStart", _) => HookEvent::SessionStart { is_resumed: false },
        ("agent_resume" | "TaskResume", _) => HookEvent::SessionStart { is_resumed: true },
        ("prompt_submit" | "UserPromptSubmit", _) => {
            HookEvent::PromptSubmit { prompt: fields.within("userPromptSubmit").text("prompt")? }
        }
        ("tool_call" | "PreToolUse", _) => HookEvent::BeforeToolCall(call(fields, "tool_call", "preToolUse")?),
        ("tool_result" | "PostToolUse", _) => {
            HookEvent::AfterToolCall { call: call(fields, "tool_result", "postToolUse")?, result: result(fields) }
        }
        ("agent_end", Some(id)) => {
            HookEvent::SubagentEnd { id, text: last_text(fields).unwrap_or_default(), is_continued: false }
        }
        ("agent_end" | "TaskComplete", _) => HookEvent::Stop { text: last_text(fields), is_continued: false },
        ("agent_error" | "TaskError", _) => HookEvent::AgentError {
            message: fields.within("error").some_text("message").unwrap_or_else(|| "the agent stopped".to_owned()),
        },
        ("PreCompact", _) => HookEvent::BeforeCompaction,
        ("session_shutdown" | "SessionShutdown", _) => HookEvent::SessionEnd,
        _ => HookEvent::Custom { payload: fields.as_value() },
    })
}

fn last_text(fields: &Fields) -> Option<String> {
    let told = fields.within("turn").some_text("outputText");
    told.or_else(|| fields.within("taskComplete").within("taskMetadata").some_text("result"))
}

/// Decodes the call of the command-line agent at `exact`, otherwise the call of the extension, whose arguments are
/// strings.
fn call(fields: &Fields, exact: &str, of_texts: &str) -> Result<ToolUse, Unreadable> {
    if fields.has(exact) {
        let told = fields.within(exact);
        return Ok(ToolUse::new(told.id(&["id"])?, told.text("name")?, told.arguments("input")?));
    }
    let told = fields.within(of_texts);
    Ok(ToolUse::new(None, told.text("toolName")?, with_lists(told.arguments("parameters")?)))
}

/// Turns the JSON string at `commands` into a list. A message whose arguments are all strings has the list in that
/// form.
fn with_lists(mut arguments: Arguments) -> Arguments {
    let Value::Object(object) = arguments.value else { return arguments };
    let read = |(key, argument): (String, Value)| match argument {
        Value::String(text) if key == "commands" => match value(&text) {
            Ok(list @ Value::Array(_)) => (key, list),
            _ => (key, Value::String(text)),
        },
        other => (key, other),
    };
    arguments.value = Value::Object(object.into_iter().map(read).collect::<Map<_, _>>());
    arguments
}

fn result(fields: &Fields) -> ToolResult {
    let exact = fields.within("tool_result");
    let told = fields.within("postToolUse");
    let output = exact.get("output").or_else(|| told.get("result")).cloned().unwrap_or_default();
    let text = match &output {
        Value::Null => exact.some_text("error").unwrap_or_default(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let is_error = exact.some_text("error").is_some() || told.get("success") == Some(&Value::Bool(false));
    ToolResult { text, is_error, raw: Some(output.into()) }
}
