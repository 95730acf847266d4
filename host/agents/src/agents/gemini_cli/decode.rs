//! Gemini CLI's messages: Claude Code's shape under other names, and requests to the model.

use super::AGENT;
use crate::claude_shape::{self, Keys, point_of};
use crate::event::{HookCall, HookEvent};
use crate::json::Fields;
use crate::message::{Message, Unreadable};
use hookhost_contract::{EventKind, Inference, Totals};
use serde_json::Value;

const KEYS: Keys = Keys { project: "GEMINI_PROJECT_DIR", call: &[], text: &["prompt_response"], ..Keys::CLAUDE };

/// Approximate number of bytes per token.
const BYTES_PER_TOKEN: u64 = 4;

pub(super) fn decode(message: &Message<'_>, fields: &Fields) -> Result<HookCall, Unreadable> {
    let mut call = claude_shape::decode(message, fields, &AGENT, &KEYS)?;
    match point_of(&AGENT, &call.point).map(|point| point.event) {
        Some(EventKind::BeforeInference) => {
            let request = fields.arguments("llm_request").map_err(|error| error.at(&call.point))?;
            call.event = HookEvent::BeforeInference(inference(&request.value));
        }
        Some(EventKind::AfterInference) => {
            let response = fields.arguments("llm_response").map_err(|error| error.at(&call.point))?;
            call.event = HookEvent::AfterInference { text: answer(&response.value) };
        }
        _ => {}
    }
    let server = fields.get("mcp_context").and_then(|context| context.get("server_name")).and_then(Value::as_str);
    if let (Some(server), Some(tool)) = (server, tool(&mut call.event)) {
        *tool = tool.clone().of_server(server);
    }
    Ok(call)
}

fn tool(event: &mut HookEvent) -> Option<&mut crate::event::ToolUse> {
    match event {
        HookEvent::BeforeToolCall(tool) | HookEvent::AfterToolCall { call: tool, .. } => Some(tool),
        _ => None,
    }
}

fn inference(request: &Value) -> Inference {
    let messages = request.get("messages").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let of = |role: &'static str| messages.iter().filter(move |message| message["role"] == role);
    let content = |message: &Value| parts(message.get("content").unwrap_or(&Value::Null));
    let allowed = request.pointer("/toolConfig/allowedFunctionNames").and_then(Value::as_array);
    let bytes = u64::try_from(request.to_string().len()).unwrap_or(u64::MAX);
    Inference {
        provider: "gemini".to_owned(),
        model: request.get("model").and_then(Value::as_str).unwrap_or_default().to_owned(),
        system_prompt: of("system").map(content).collect::<Vec<_>>().join("\n"),
        prompt: of("user").next_back().map(content).unwrap_or_default(),
        tools: allowed.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect(),
        input_tokens: bytes / BYTES_PER_TOKEN,
        used: Totals::default(),
    }
}

/// Returns the text of the answer, or of a chunk of it.
fn answer(response: &Value) -> String {
    let text = response.get("text").and_then(Value::as_str).filter(|text| !text.is_empty());
    let content = || parts(response.pointer("/candidates/0/content/parts").unwrap_or(&Value::Null));
    text.map_or_else(content, str::to_owned)
}

/// Returns the text of a content, which is a string, or a list of strings and objects with `text`.
fn parts(content: &Value) -> String {
    let part = |part: &Value| part.as_str().or_else(|| part.get("text")?.as_str()).unwrap_or_default().to_owned();
    match content {
        Value::Array(list) => list.iter().map(part).collect(),
        other => part(other),
    }
}
