//! Converts payloads of MCP to events. A request's payload is its `params`, alone or within the whole request.

use super::exposed::Phase;
use super::{Intercepted, Outcome};
use crate::events;
use hookhost::contract::action::arguments::folded;
use hookhost::contract::{EventKind, Json, ToolResult};
use hookhost_agents::{AgentSession, HookCall, HookEvent, ToolUse};
use serde_json::{Map, Value, json};

/// The event for a payload.
pub(super) struct Asked {
    call: HookCall,
    shape: Shape,
}

/// The part of the payload that an outcome changes.
enum Shape {
    /// The arguments of a call: the member `key` of the parameters, or all parameters.
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
        let parameters = parameters(message)?;
        let (event, shape) = match (message.event.as_str(), message.phase) {
            ("tools/call", Phase::Request) => {
                let name = parameters.get("name").and_then(Value::as_str).ok_or("`name` is missing")?;
                (
                    before(&format!("mcp__{server}__{name}"), arguments(parameters)?, server),
                    Shape::Arguments { key: Some("arguments") },
                )
            }
            ("prompts/get", Phase::Request) => {
                (before("prompts/get", parameters.clone(), server), Shape::Arguments { key: None })
            }
            ("resources/read", Phase::Request) => {
                (before("resources/read", parameters.clone(), server), Shape::Arguments { key: None })
            }
            (name @ ("tools/call" | "prompts/get" | "resources/read"), Phase::Response) => {
                let call = ToolUse::new(None, name, json!({})).of_server(server);
                (HookEvent::AfterToolCall { call, result: result(&message.payload)? }, Shape::Result)
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

    /// Returns the outcome for the payload, given the value that the rules allowed.
    pub(super) fn after(&self, value: &Value, payload: &Value) -> Outcome {
        let mut after = payload.clone();
        match &self.shape {
            Shape::Arguments { key } => {
                let HookEvent::BeforeToolCall(tool) = &self.call.event else { return Outcome::Passes };
                if value["arguments"] == tool.arguments {
                    return Outcome::Passes;
                }
                let parameters = match after.get("method") {
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

/// The keys of a request, and of its parameters.
const KEYS: [&str; 5] = ["method", "params", "name", "arguments", "uri"];

/// Checks that no key differs only in case from one that is read: a server could read the other one.
fn check_keys(value: &Value) -> Result<(), String> {
    let keys = value.as_object().into_iter().flat_map(Map::keys);
    let mut others = keys.filter(|key| !KEYS.contains(&key.as_str()));
    match others.find(|key| KEYS.contains(&folded(key).as_str())) {
        Some(key) => Err(format!("the payload has the key {key:?}, which differs from another one in case alone")),
        None => Ok(()),
    }
}

/// Returns the parameters of a request: the payload, or its `params`. Refuses what a server could read in another way.
fn parameters(message: &Intercepted) -> Result<&Value, String> {
    let payload = &message.payload;
    if message.phase == Phase::Response {
        return Ok(payload);
    }
    if is_known(&message.event) {
        check_keys(payload)?;
        payload.get("params").map_or(Ok(()), check_keys)?;
    }
    match (payload.get("method"), payload.get("params")) {
        (Some(method), Some(params)) if *method == message.event => Ok(params),
        (Some(_), Some(_)) => Err(format!("the payload's `method` is not {:?}", message.event)),
        (Some(_), None) if is_known(&message.event) => Err("the payload has a `method`, and no `params`".to_owned()),
        (None, Some(_)) if is_known(&message.event) => {
            Err("the payload has `params`, and no `method`: whether it is a whole request cannot be told".to_owned())
        }
        _ => Ok(payload),
    }
}

fn is_known(event: &str) -> bool {
    matches!(event, "tools/call" | "prompts/get" | "resources/read")
}

/// Returns the JSON pointers of the texts in a result: in its parts, their embedded resources, and messages.
fn places(payload: &Value) -> Vec<String> {
    let mut places = Vec::new();
    for list in ["content", "contents", "messages"] {
        let parts = payload.get(list).and_then(Value::as_array).into_iter().flatten().enumerate();
        for (at, part) in parts {
            for inside in ["/text", "/resource/text", "/content/text", "/content/resource/text"] {
                if part.pointer(inside).is_some_and(Value::is_string) {
                    places.push(format!("/{list}/{at}{inside}"));
                }
            }
        }
    }
    places
}

/// Returns true if `text` contains each string, number and boolean of a value.
fn is_said(value: &Value, text: &str) -> bool {
    match value {
        Value::Null => true,
        Value::String(said) => text.contains(said.as_str()),
        Value::Array(list) => list.iter().all(|value| is_said(value, text)),
        Value::Object(object) => object.values().all(|value| is_said(value, text)),
        said => text.contains(&said.to_string()),
    }
}

/// Reads a result. Structured content is added to the text unless the other texts already say the same.
fn result(payload: &Value) -> Result<ToolResult, String> {
    let is_list = |list: &&str| payload.get(list).is_some_and(Value::is_array);
    let lists = ["content", "contents", "messages"];
    if let Some(odd) = lists.into_iter().find(|list| payload.get(*list).is_some() && !is_list(list)) {
        return Err(format!("the result's `{odd}` is not a list"));
    }
    if !lists.iter().any(is_list) && payload.get("structuredContent").is_none() {
        return Err("the payload is no result: it has neither `content` nor `contents` nor `messages`".to_owned());
    }
    if payload.get("isError").is_some_and(|is_error| !is_error.is_boolean()) {
        return Err("the result's `isError` is neither true nor false".to_owned());
    }
    let places = places(payload);
    let texts: Vec<&str> = places.iter().filter_map(|place| payload.pointer(place)?.as_str()).collect();
    let mut text = texts.join("\n");
    if let Some(structured) = payload.get("structuredContent").filter(|structured| !is_said(structured, &text)) {
        text = [text, structured.to_string()].join("\n");
    }
    Ok(ToolResult {
        text,
        is_error: payload.get("isError").and_then(Value::as_bool).unwrap_or_default(),
        raw: Some(Json::from(payload)),
    })
}

/// Replaces a result in the payload: the new text takes the place of the first text, the other texts become empty, and the structured
/// content is removed. A whole result from a plugin replaces the payload as it is.
fn replaced(payload: &mut Value, result: &ToolResult) -> Result<(), String> {
    let raw: Option<Value> = result.raw.as_ref().and_then(|raw| raw.read().ok());
    if let Some(raw) = raw.filter(|raw| raw != payload && raw.is_object()) {
        *payload = raw;
        return Ok(());
    }
    let places = places(payload);
    if places.is_empty() {
        return Err("a plugin gave a text where the result has none".to_owned());
    }
    for (order, place) in places.iter().enumerate() {
        if let Some(text) = payload.pointer_mut(place) {
            *text = json!(if order == 0 { result.text.as_str() } else { "" });
        }
    }
    if let Some(object) = payload.as_object_mut() {
        object.remove("structuredContent");
    }
    if payload.get("isError").is_some() || result.is_error {
        payload["isError"] = json!(result.is_error);
    }
    Ok(())
}
