//! Copilot's messages, in two dialects. Only the dialect in snake case always names its hook point.

use super::AGENT;
use crate::checks::misplaced_call;
use crate::event::{AgentSession, HookCall, HookEvent, ToolUse};
use crate::json::Fields;
use crate::message::{Message, Unreadable};
use hookhost_contract::{Json, ToolResult};
use serde_json::Value;
use std::path::PathBuf;

pub(super) fn decode(message: &Message<'_>, fields: &Fields) -> Result<HookCall, Unreadable> {
    let point = point(fields, message.point)?;
    let event = event(&point, fields).map_err(|error| error.at(&point))?;
    let session = session(message, fields).map_err(|error| error.at(&point))?;
    let raw = fields.to_json();
    Ok(HookCall::new(point, session, event, raw))
}

/// Returns the hook point: from the message, otherwise from the command line, otherwise from the message's keys.
fn point(fields: &Fields, named: Option<&str>) -> Result<String, Unreadable> {
    let is_pascal = fields.some_text("hook_event_name").is_some_and(|named| named.starts_with(char::is_uppercase));
    if fields.has("hook_event_name") && !fields.has("session_id") && !is_pascal {
        return Err(Unreadable::new("the message is of another agent, whose hook points are in camel case"));
    }
    if fields.has("session_id") || is_pascal {
        return fields.text("hook_event_name");
    }
    if fields.has("hookEventName") {
        return Err(Unreadable::new("the message is of another agent, which says `hookEventName`"));
    }
    if let Some(said) = fields.some_text("hookName") {
        return Ok(said);
    }
    // A hooks file that was edited by hand can name the hook point of the other dialect.
    if let Some(named) = named.filter(|named| AGENT.point(named).is_some() && named.starts_with(char::is_lowercase)) {
        let has_run = fields.has("toolResult") || fields.has("toolError") || fields.has("error");
        if named.starts_with("postToolUse") && !has_run {
            return Err(misplaced_call(&AGENT, named));
        }
        return Ok(named.to_owned());
    }
    let of_keys: &[(&str, &str)] = &[
        ("toolResult", "postToolUse"),
        ("toolError", "postToolUseFailure"),
        ("notification_type", "notification"),
        ("permissionSuggestions", "permissionRequest"),
        ("transformedPrompt", "userPromptTransformed"),
        ("prompt", "userPromptSubmitted"),
        ("errorContext", "errorOccurred"),
        ("agentId", "subagentStop"),
        ("agentName", "subagentStart"),
        ("stopReason", "agentStop"),
        ("trigger", "preCompact"),
        ("source", "sessionStart"),
    ];
    let is_failed_call = fields.has("toolName") && fields.has("error");
    let shown = of_keys.iter().find(|(key, _)| fields.has(key)).map(|(_, point)| *point);
    let shown = match shown {
        _ if is_failed_call => Some("postToolUseFailure"),
        None if fields.has("toolName") => Some("preToolUse"),
        None if fields.has("reason") => Some("sessionEnd"),
        shown => shown,
    };
    shown.or(named).map(str::to_owned).ok_or_else(|| Unreadable::new("the message does not show its hook point"))
}

fn session(message: &Message<'_>, fields: &Fields) -> Result<AgentSession, Unreadable> {
    let id = fields.id(&["sessionId", "session_id"])?;
    let cwd = fields.some_text("cwd").map_or_else(|| message.directory.to_owned(), PathBuf::from);
    Ok(AgentSession::new(id, cwd))
}

fn event(point: &str, fields: &Fields) -> Result<HookEvent, Unreadable> {
    Ok(match point {
        "sessionStart" | "SessionStart" => {
            HookEvent::SessionStart { is_resumed: fields.some_text("source").as_deref() == Some("resume") }
        }
        "sessionEnd" | "SessionEnd" => HookEvent::SessionEnd,
        "userPromptSubmitted" | "UserPromptSubmit" => HookEvent::PromptSubmit { prompt: fields.text("prompt")? },
        // The prompt, and the agent's text around it.
        "userPromptTransformed" => HookEvent::PromptSubmit { prompt: fields.text("transformedPrompt")? },
        "preToolUse" | "PreToolUse" => HookEvent::BeforeToolCall(call(fields)?),
        "permissionRequest" | "PermissionRequest" => HookEvent::PermissionRequest(call(fields)?),
        "postToolUse" | "PostToolUse" => HookEvent::AfterToolCall { call: call(fields)?, result: result(fields) },
        "postToolUseFailure" | "PostToolUseFailure" => {
            HookEvent::AfterToolCall { call: call(fields)?, result: ToolResult::error(failure(fields)) }
        }
        "subagentStart" | "SubagentStart" => HookEvent::SubagentStart {
            id: fields.first_text(&["agentId", "agent_id", "agentName", "agent_name"]).unwrap_or_default(),
            prompt: fields.first_text(&["agentDescription", "agent_description", "agentName"]).unwrap_or_default(),
        },
        "subagentStop" | "SubagentStop" => HookEvent::SubagentEnd {
            id: fields.first_text(&["agentId", "agent_id", "agentName", "agent_name"]).unwrap_or_default(),
            text: fields.first_text(&["response", "last_assistant_message"]).unwrap_or_default(),
            is_continued: fields.is("stop_hook_active"),
        },
        "preCompact" | "PreCompact" => HookEvent::BeforeCompaction,
        "agentStop" | "Stop" => HookEvent::Stop { text: None, is_continued: fields.is("stop_hook_active") },
        "errorOccurred" | "ErrorOccurred" => HookEvent::AgentError {
            message: fields.within("error").some_text("message").unwrap_or_else(|| "the agent stopped".to_owned()),
        },
        _ => HookEvent::Custom { payload: fields.as_value() },
    })
}

/// Decodes the call. Depending on the version, the arguments of `permissionRequest` are `toolInput` or `toolArgs`; they
/// may be JSON in a string.
fn call(fields: &Fields) -> Result<ToolUse, Unreadable> {
    let key = ["toolArgs", "toolInput", "tool_input"].into_iter().find(|key| fields.has(key)).unwrap_or("toolArgs");
    let name = fields.first_text(&["toolName", "tool_name"]);
    let name = name.ok_or_else(|| Unreadable::new("`toolName` is missing"))?;
    let id = fields.id(&["toolCallId", "tool_call_id", "tool_use_id"])?;
    Ok(ToolUse::new(id, name, fields.arguments(key)?))
}

fn result(fields: &Fields) -> ToolResult {
    let key = if fields.has("tool_result") { "tool_result" } else { "toolResult" };
    let told = fields.within(key);
    let text = told.first_text(&["textResultForLlm", "text_result_for_llm"]).unwrap_or_default();
    let kind = told.first_text(&["resultType", "result_type"]);
    let is_error = kind.is_some_and(|kind| kind != "success");
    ToolResult { text, is_error, raw: fields.get(key).map(Json::from) }
}

fn failure(fields: &Fields) -> String {
    fields.some_text("error").unwrap_or_else(|| match fields.get("toolError") {
        Some(Value::String(text)) => text.clone(),
        Some(error) => error.get("stderr").and_then(Value::as_str).map_or_else(|| error.to_string(), str::to_owned),
        None => String::new(),
    })
}
