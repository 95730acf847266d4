//! Decodes messages: the `params` of a request, whose method is the hook point.

use super::content::{joined, texts};
use crate::event::{AgentSession, FurtherEvent, HookCall, HookEvent, ToolUse};
use crate::json::Fields;
use crate::message::{Message, Unreadable};
use hookhost_contract::{Json, ToolResult};
use serde_json::{Map, Value, json};

/// Tool name for the call in `raw_command`.
const SHELL: &str = "bash";

pub(super) fn decode(message: &Message<'_>, fields: &Fields) -> Result<HookCall, Unreadable> {
    let point = message.point.ok_or_else(|| Unreadable::new("its method is not known"))?;
    read(message, fields, point).map_err(|unreadable| unreadable.at(point))
}

fn read(message: &Message<'_>, fields: &Fields, point: &str) -> Result<HookCall, Unreadable> {
    let metadata = fields.within("metadata");
    let mut session = AgentSession::new(Some(metadata.text("session_id")?), message.directory.to_owned());
    // The message does not say if a person is present, so hookhost asks through its own queue.
    session.interactive = false;
    let payload = fields.get("payload").cloned().unwrap_or_default();
    let event = event(point, fields, &payload)?;
    let mut call = HookCall::new(point, session, event, fields.to_json());
    call.further.extend(shell_command(point, &payload)?);
    Ok(call)
}

fn event(point: &str, fields: &Fields, payload: &Value) -> Result<HookEvent, Unreadable> {
    let inside = fields.within("payload");
    let text = |key: &str| joined(&texts(payload, key));
    Ok(match point {
        "steps/sessionStart" => HookEvent::SessionStart { is_resumed: false },
        "steps/sessionEnd" => HookEvent::SessionEnd,
        "steps/userMessage" => HookEvent::PromptSubmit { prompt: text("content") },
        "steps/agentResponse" => HookEvent::FinalText { text: text("content") },
        "steps/toolCallRequest" => {
            let id = fields.text("request_id")?;
            HookEvent::BeforeToolCall(ToolUse::new(Some(id), tool_name(&inside)?, arguments(payload)?))
        }
        "steps/toolCallResult" => {
            // The message has no arguments, and does not reliably identify its call.
            let call = ToolUse::new(None, tool_name(&inside)?, json!({}));
            let mut result = ToolResult::text(text("outputs"));
            result.is_error = inside.some_text("exit_status").is_some_and(|status| status != "success");
            result.raw = payload.get("outputs").map(Json::from);
            HookEvent::AfterToolCall { call, result }
        }
        "steps/preCompact" => HookEvent::BeforeCompaction,
        "steps/postCompact" => HookEvent::AfterCompaction { summary: text("summary") },
        "steps/subagentStart" => {
            let intent = inside.within("subagent_intent").some_text("raw").unwrap_or_default();
            HookEvent::SubagentStart { id: inside.text("subagent_session_id")?, prompt: intent }
        }
        "steps/subagentStop" => HookEvent::SubagentEnd {
            id: inside.text("subagent_session_id")?,
            text: text("summary"),
            is_continued: false,
        },
        _ => HookEvent::Custom { payload: payload.clone() },
    })
}

fn tool_name(payload: &Fields) -> Result<String, Unreadable> {
    payload.within("tool").text("name").map_err(|_| Unreadable::new("`payload.tool.name` is missing"))
}

/// Returns the arguments without their provenance.
fn arguments(payload: &Value) -> Result<Value, Unreadable> {
    let given = payload.get("arguments").and_then(Value::as_object);
    let given = given.ok_or_else(|| Unreadable::new("`payload.arguments` is not an object"))?;
    let mut arguments = Map::new();
    for (name, argument) in given {
        let value = argument.get("value");
        let value = value.ok_or_else(|| Unreadable::new(format!("`payload.arguments.{name}.value` is missing")))?;
        arguments.insert(name.clone(), value.clone());
    }
    Ok(Value::Object(arguments))
}

/// Turns `raw_command` into a shell event, so that shell rules see it under any tool name.
fn shell_command(point: &str, payload: &Value) -> Result<Option<FurtherEvent>, Unreadable> {
    let Some(command) = payload.get("raw_command").filter(|_| point == "steps/toolCallRequest") else {
        return Ok(None);
    };
    let command = command.as_str().ok_or_else(|| Unreadable::new("`payload.raw_command` is not a text"))?;
    let is_shell = payload["tool"]["name"].as_str().is_some_and(|name| name.eq_ignore_ascii_case(SHELL));
    let is_said = is_shell && payload["arguments"]["command"]["value"] == command;
    let call = ToolUse::new(None, SHELL, json!({ "command": command }));
    Ok((!is_said).then(|| FurtherEvent::new(point, HookEvent::BeforeToolCall(call))))
}
