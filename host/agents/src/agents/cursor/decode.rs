//! Cursor's messages: one object with `hook_event_name` in camel case, the other keys in snake case.

use super::COMPATIBLE;
use crate::event::{AgentSession, HookCall, HookEvent, ToolUse};
use crate::json::{Fields, value};
use crate::message::{Message, Unreadable};
use hookhost_contract::{ToolOrigin, ToolResult};
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// Prefix of MCP tools. The name does not contain the server.
pub(super) const MCP: &str = "MCP:";

pub(super) fn decode(message: &Message<'_>, fields: &Fields) -> Result<HookCall, Unreadable> {
    let named = fields.text("hook_event_name")?;
    // Cursor runs the hook in Claude Code's file: the message is Cursor's, the reply has to be Claude Code's.
    let is_compatible = named == "preToolUse" && message.point == Some(COMPATIBLE);
    let point = if is_compatible { COMPATIBLE.to_owned() } else { named };
    let event = event(&point, fields).map_err(|error| error.at(&point))?;
    let session = session(message, fields, &event).map_err(|error| error.at(&point))?;
    let raw = fields.to_json();
    Ok(HookCall::new(point, session, event, raw))
}

/// Decodes the session. If `cwd` is missing or empty, the first root of the workspace is used.
fn session(message: &Message<'_>, fields: &Fields, event: &HookEvent) -> Result<AgentSession, Unreadable> {
    let own = fields.id(&["conversation_id"])?;
    if own.is_none() && !fields.has("cursor_version") {
        return Err(Unreadable::new("`conversation_id` is missing: is it a message of another agent?"));
    }
    let id = match event {
        HookEvent::SubagentStart { .. } => fields.id(&["parent_conversation_id"])?.or(own),
        _ => own,
    };
    let root = fields.get("workspace_roots").and_then(Value::as_array).and_then(|roots| roots.first()?.as_str());
    let root = root.filter(|root| !root.is_empty()).or_else(|| message.variable("CURSOR_PROJECT_DIR"));
    let workspace = root.map_or_else(|| message.directory.to_owned(), PathBuf::from);
    let cwd = fields.some_text("cwd").map_or_else(|| workspace.clone(), PathBuf::from);
    let mut session = AgentSession::new(id, cwd);
    session.workspace = workspace;
    session.version = fields.some_text("cursor_version");
    session.interactive = !fields.is("is_background_agent");
    Ok(session)
}

fn event(point: &str, fields: &Fields) -> Result<HookEvent, Unreadable> {
    Ok(match point {
        "sessionStart" => HookEvent::SessionStart { is_resumed: false },
        "sessionEnd" => HookEvent::SessionEnd,
        "beforeSubmitPrompt" => HookEvent::PromptSubmit { prompt: fields.text("prompt")? },
        "preToolUse" | COMPATIBLE => HookEvent::BeforeToolCall(call(fields)?),
        "beforeShellExecution" => HookEvent::BeforeToolCall(shell(fields)?),
        "beforeMCPExecution" => HookEvent::BeforeToolCall(mcp(fields)?),
        "beforeReadFile" => HookEvent::BeforeToolCall(file("Read", fields, &[])?),
        "beforeTabFileRead" => HookEvent::BeforeToolCall(file("TabRead", fields, &[])?),
        "postToolUse" => HookEvent::AfterToolCall { call: call(fields)?, result: result(fields.get("tool_output")) },
        "postToolUseFailure" => {
            let why = fields.some_text("error_message").unwrap_or_default();
            HookEvent::AfterToolCall { call: call(fields)?, result: ToolResult::error(why) }
        }
        "afterShellExecution" => {
            HookEvent::AfterToolCall { call: shell(fields)?, result: result(fields.get("output")) }
        }
        "afterMCPExecution" => {
            HookEvent::AfterToolCall { call: mcp(fields)?, result: result(fields.get("result_json")) }
        }
        "afterFileEdit" => HookEvent::AfterToolCall { call: file("Write", fields, &["edits"])?, result: result(None) },
        "afterTabFileEdit" => {
            HookEvent::AfterToolCall { call: file("TabWrite", fields, &["edits"])?, result: result(None) }
        }
        "subagentStart" => HookEvent::SubagentStart {
            id: fields.text("subagent_id")?,
            prompt: fields.first_text(&["task", "subagent_type"]).unwrap_or_default(),
        },
        "subagentStop" => HookEvent::SubagentEnd {
            id: fields.first_text(&["subagent_id", "conversation_id"]).unwrap_or_default(),
            text: fields.some_text("summary").unwrap_or_default(),
            is_continued: is_continued(fields),
        },
        "preCompact" => HookEvent::BeforeCompaction,
        "afterAgentResponse" => HookEvent::FinalText { text: fields.text("text")? },
        "stop" => match fields.some_text("status").as_deref() {
            // A message would restart an agent that the user has stopped.
            Some("aborted") => HookEvent::Custom { payload: fields.as_value() },
            Some("error") => HookEvent::AgentError {
                message: fields.some_text("error_message").unwrap_or_else(|| "the agent stopped".to_owned()),
            },
            _ => HookEvent::Stop { text: None, is_continued: is_continued(fields) },
        },
        _ => HookEvent::Custom { payload: fields.as_value() },
    })
}

/// Returns true if a hook has already made the agent continue. `loop_count` counts from 0.
fn is_continued(fields: &Fields) -> bool {
    fields.get("loop_count").and_then(Value::as_u64).is_some_and(|count| count > 0)
}

fn call(fields: &Fields) -> Result<ToolUse, Unreadable> {
    let mut call =
        ToolUse::new(fields.id(&["tool_use_id"])?, fields.text("tool_name")?, fields.arguments("tool_input")?);
    if call.name.starts_with(MCP) {
        call.origin = ToolOrigin::External;
    }
    Ok(call)
}

fn shell(fields: &Fields) -> Result<ToolUse, Unreadable> {
    let mut arguments = Map::new();
    arguments.insert("command".to_owned(), json!(fields.text("command")?));
    if let Some(cwd) = fields.some_text("cwd") {
        arguments.insert("working_directory".to_owned(), json!(cwd));
    }
    Ok(ToolUse::new(None, "Shell", Value::Object(arguments)))
}

/// Decodes an MCP call. `tool_input` is JSON in a string. The message has only the server's command or address, not its
/// name.
fn mcp(fields: &Fields) -> Result<ToolUse, Unreadable> {
    let name = fields.text("tool_name")?;
    let name = if name.starts_with(MCP) { name } else { format!("{MCP}{name}") };
    let mut call = ToolUse::new(None, name, fields.arguments("tool_input")?);
    call.origin = ToolOrigin::External;
    Ok(call)
}

/// Decodes a call about a file. Cursor also sends the file's content, which is no argument.
fn file(tool: &str, fields: &Fields, further: &[&str]) -> Result<ToolUse, Unreadable> {
    let mut arguments = Map::new();
    arguments.insert("file_path".to_owned(), json!(fields.text("file_path")?));
    for &key in further {
        if let Some(value) = fields.get(key) {
            arguments.insert(key.to_owned(), value.clone());
        }
    }
    Ok(ToolUse::new(None, tool, Value::Object(arguments)))
}

/// Decodes a result, which is a string. For a shell command or an MCP tool, the string contains JSON.
fn result(output: Option<&Value>) -> ToolResult {
    let Some(output) = output else { return ToolResult::default() };
    let Some(text) = output.as_str() else {
        return ToolResult { text: output.to_string(), is_error: false, raw: Some(output.into()) };
    };
    let Ok(Value::Object(object)) = value(text) else { return ToolResult::text(text) };
    let part = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    let is_error = object.get("isError") == Some(&Value::Bool(true))
        || object.get("exitCode").and_then(Value::as_i64).is_some_and(|code| code != 0);
    let shown = match (part("stdout"), part("stderr")) {
        ("", "") => text.to_owned(),
        (text, "") | ("", text) => text.to_owned(),
        (stdout, stderr) => format!("{stdout}\n{stderr}"),
    };
    ToolResult { text: shown, is_error, raw: text.parse().ok() }
}
