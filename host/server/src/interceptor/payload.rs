//! Payloads of MCP as events. A request's payload is its `params`, alone or within the whole request.

use super::exposed::Phase;
use super::{Intercepted, Outcome};
use crate::events;
use hookhost::contract::{EventKind, Json, ToolResult};
use hookhost_adapters::{AgentSession, HookCall, HookEvent, ToolUse};
use serde_json::{Map, Value, json};

/// What is asked about a payload.
pub(super) struct Asked {
    call: HookCall,
    shape: Shape,
}

/// What an outcome is put back into.
enum Shape {
    /// The arguments of a call: `arguments` of a tool and of a prompt, otherwise all parameters.
    Arguments { key: Option<&'static str> },
    /// The content of a result.
    Result,
    /// The payload itself.
    Custom,
}

impl Asked {
    /// # Errors
    /// If the payload is not one of this event.
    pub(super) fn of(message: &Intercepted, server: &str) -> Result<Self, String> {
        let parameters = message.payload.get("params").unwrap_or(&message.payload);
        let (event, shape) = match (message.event.as_str(), message.phase) {
            ("tools/call", Phase::Request) => {
                let name = parameters.get("name").and_then(Value::as_str).ok_or("`name` is missing")?;
                (before(name, arguments(parameters)?, server), Shape::Arguments { key: Some("arguments") })
            }
            ("prompts/get", Phase::Request) => {
                (before("prompts/get", parameters.clone(), server), Shape::Arguments { key: None })
            }
            ("resources/read", Phase::Request) => {
                (before("resources/read", parameters.clone(), server), Shape::Arguments { key: None })
            }
            (name @ ("tools/call" | "prompts/get" | "resources/read"), Phase::Response) => {
                let call = ToolUse::new(None, name, json!({})).of_server(server);
                (HookEvent::AfterToolCall { call, result: result(&message.payload) }, Shape::Result)
            }
            _ => (HookEvent::Custom { payload: message.payload.clone() }, Shape::Custom),
        };
        let point = format!("{}/{}", message.event, message.phase.name());
        let session = AgentSession::new(None, "/".into());
        Ok(Self { call: HookCall::new(point, session, event, Json::from(json!({}))), shape })
    }

    pub(super) fn kind(&self) -> EventKind {
        self.call.event.kind()
    }

    pub(super) fn parameters(&self) -> Value {
        events::payload("mcp", &self.call, 0)
    }

    /// The payload with the value that was allowed.
    pub(super) fn after(&self, value: &Value, payload: &Value) -> Outcome {
        let mut after = payload.clone();
        match &self.shape {
            Shape::Arguments { key } => {
                let HookEvent::BeforeToolCall(tool) = &self.call.event else { return Outcome::Passes };
                if value["arguments"] == tool.arguments {
                    return Outcome::Passes;
                }
                let parameters = match after.get("params") {
                    Some(_) => &mut after["params"],
                    None => &mut after,
                };
                match key {
                    Some(key) => parameters[*key] = value["arguments"].clone(),
                    None => *parameters = value["arguments"].clone(),
                }
            }
            Shape::Result => {
                let HookEvent::AfterToolCall { result: before, .. } = &self.call.event else { return Outcome::Passes };
                match serde_json::from_value::<ToolResult>(value.clone()) {
                    Ok(result) if result == *before => return Outcome::Passes,
                    Ok(result) => match replaced(&mut after, &result) {
                        Ok(()) => {}
                        Err(why) => return Outcome::Denied { why, by: Vec::new(), code: None },
                    },
                    Err(error) => return Outcome::Failed(format!("the result cannot be read: {error}")),
                }
            }
            Shape::Custom => {
                if value["payload"] == *payload {
                    return Outcome::Passes;
                }
                after = value["payload"].clone();
            }
        }
        Outcome::Becomes(after)
    }
}

fn before(name: &str, arguments: Value, server: &str) -> HookEvent {
    HookEvent::BeforeToolCall(ToolUse::new(None, name, arguments).of_server(server))
}

fn arguments(parameters: &Value) -> Result<Value, String> {
    match parameters.get("arguments") {
        None | Some(Value::Null) => Ok(Value::Object(Map::new())),
        Some(arguments @ Value::Object(_)) => Ok(arguments.clone()),
        Some(_) => Err("`arguments` is not an object".to_owned()),
    }
}

/// The list of a result's parts that have texts, by the name of the list.
fn parts(payload: &Value) -> impl Iterator<Item = (&'static str, usize, &str)> {
    ["content", "contents", "messages"].into_iter().flat_map(|list| {
        let parts = payload.get(list).and_then(Value::as_array).into_iter().flatten().enumerate();
        parts.filter_map(move |(at, part)| Some((list, at, text_of(part)?)))
    })
}

/// A part's text: its own, or that of a message's content.
fn text_of(part: &Value) -> Option<&str> {
    part.get("text").or_else(|| part.get("content")?.get("text"))?.as_str()
}

fn result(payload: &Value) -> ToolResult {
    let texts: Vec<&str> = parts(payload).map(|(_, _, text)| text).collect();
    ToolResult {
        text: texts.join("\n"),
        is_error: payload.get("isError").and_then(Value::as_bool).unwrap_or_default(),
        raw: Some(Json::from(payload)),
    }
}

/// Puts another result in the place of one: the text takes the place of the first, the other texts are empty, and what says the
/// same as data is gone. A plugin that gives the whole result is taken at its word.
fn replaced(payload: &mut Value, result: &ToolResult) -> Result<(), String> {
    let raw: Option<Value> = result.raw.as_ref().and_then(|raw| raw.read().ok());
    if let Some(raw) = raw.filter(|raw| raw != payload && raw.is_object()) {
        *payload = raw;
        return Ok(());
    }
    let places: Vec<(&str, usize)> = parts(payload).map(|(list, at, _)| (list, at)).collect();
    if places.is_empty() {
        return Err("a plugin gave a text where the result has none".to_owned());
    }
    for (order, (list, at)) in places.into_iter().enumerate() {
        let part = &mut payload[list][at];
        let text = json!(if order == 0 { result.text.as_str() } else { "" });
        if part.get("text").is_some() { part["text"] = text } else { part["content"]["text"] = text }
    }
    if let Some(object) = payload.as_object_mut() {
        object.remove("structuredContent");
    }
    if payload.get("isError").is_some() || result.is_error {
        payload["isError"] = json!(result.is_error);
    }
    Ok(())
}
