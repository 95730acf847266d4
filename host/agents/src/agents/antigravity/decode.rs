//! Antigravity's messages. They do not name their hook point; the command line does.

use super::AGENT;
use crate::checks::{has_call, misplaced_call};
use crate::claude_shape::{absolute, first, point_of, result, text};
use crate::event::{AgentSession, HookCall, HookEvent, ToolUse};
use crate::json::Fields;
use crate::message::{Message, Unreadable};
use hookhost_contract::{EventKind, ToolResult};
use serde_json::Value;

pub(super) fn decode(message: &Message<'_>, fields: &Fields) -> Result<HookCall, Unreadable> {
    let named = text(fields, &["hookEventName"])?;
    let name = named.as_deref().or(message.point);
    let name = name.ok_or_else(|| Unreadable::new("the command line has to name the hook point"))?;
    let tool = call(fields).map_err(|error| error.at(name))?;
    let known = point_of(&AGENT, name).map(|point| point.event);
    let event = match (known, tool) {
        (Some(EventKind::BeforeToolCall), Some(call)) => HookEvent::BeforeToolCall(call),
        (Some(EventKind::BeforeToolCall), None) => return Err(Unreadable::new("`toolCall` is missing").at(name)),
        (Some(EventKind::AfterToolCall), Some(call)) => HookEvent::AfterToolCall { call, result: outcome(fields) },
        (_, Some(_)) => return Err(misplaced_call(&AGENT, name)),
        (_, None) if has_call(fields) => return Err(misplaced_call(&AGENT, name)),
        (Some(EventKind::SessionStart), None) => HookEvent::SessionStart { is_resumed: false },
        (Some(EventKind::QueueEmpty), None) => HookEvent::Stop { text: None, is_continued: false },
        // The result of a step without a call, or an event without counterpart.
        (_, None) => HookEvent::Custom { payload: fields.as_value() },
    };
    let point = point_of(&AGENT, name).map_or(name, |point| point.name);
    let session = session(message, fields).map_err(|error| error.at(point))?;
    Ok(HookCall::new(point, session, event, fields.to_json()))
}

fn session(message: &Message<'_>, fields: &Fields) -> Result<AgentSession, Unreadable> {
    let here = message.directory;
    let workspace = fields.get("workspacePaths").and_then(|paths| paths.get(0)).and_then(Value::as_str);
    let cwd = text(fields, &["cwd"])?.or_else(|| workspace.map(str::to_owned));
    let cwd = cwd.map_or_else(|| here.to_owned(), |cwd| absolute(cwd, here));
    let mut session = AgentSession::new(fields.id(&["conversationId", "sessionId"])?, cwd);
    if let Some(workspace) = workspace {
        session.workspace = absolute(workspace.to_owned(), here);
    }
    Ok(session)
}

/// Returns the call in `toolCall`, or the call whose parts are fields of the message; `None` after a step without a
/// call. Two calls of a step share `stepIdx`, so it is no identifier.
fn call(fields: &Fields) -> Result<Option<ToolUse>, Unreadable> {
    if let Some(call) = first(fields, &["toolCall"]) {
        let name = call.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
        let arguments = call.get("args").filter(|arguments| arguments.is_object());
        let (Some(name), Some(arguments)) = (name, arguments) else {
            return Err(Unreadable::new("`toolCall` is not an object with a text `name` and an object `args`"));
        };
        return Ok(Some(ToolUse::new(None, name, arguments.clone())));
    }
    match text(fields, &["toolName"])? {
        Some(name) => Ok(Some(ToolUse::new(None, name, fields.arguments("toolInput")?))),
        None if first(fields, &["toolInput"]).is_some() => Err(Unreadable::new("`toolName` is missing")),
        None => Ok(None),
    }
}

fn outcome(fields: &Fields) -> ToolResult {
    match (text(fields, &["error"]), first(fields, &["toolResponse", "toolResult", "output"])) {
        (Ok(Some(error)), _) => ToolResult::error(error),
        (Err(_), _) => ToolResult::error(first(fields, &["error"]).unwrap_or(&Value::Null).to_string()),
        (_, Some(response)) => result(response),
        (Ok(None), None) => ToolResult::text(""),
    }
}
