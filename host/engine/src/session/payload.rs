//! Payloads of events as JSON, in which a tool call need not say what the host works out itself.

use super::Session;
use crate::contract::{EventKind, ToolOrigin};
use crate::event::Kind;
use serde::Deserialize as _;
use serde::de::Error as _;
use serde_json::{Error, Map, Value};

/// Reads the parameters of an event.
///
/// # Errors
/// If the payload is not of the event's type.
pub(super) fn read<E: Kind>(session: &Session, payload: Value) -> Result<E::Payload, Error> {
    let mut parameters: Map<String, Value> = serde_json::from_value(payload)?;
    for call in tool_calls(E::KIND, &mut parameters) {
        complete(call, session);
    }
    let Some(parameter) = E::PARAMETER else { return serde_json::from_value(Value::Object(parameters)) };
    let value = parameters.remove(parameter).ok_or_else(|| Error::missing_field(parameter))?;
    match parameters.keys().next() {
        Some(other) => Err(Error::custom(format!("unknown field `{other}`: {} has `{parameter}` alone", E::KIND))),
        None => serde_json::from_value(value),
    }
}

/// The tool calls of a payload.
fn tool_calls(event: EventKind, parameters: &mut Map<String, Value>) -> Vec<&mut Value> {
    let calls = match event {
        EventKind::BeforeToolCall | EventKind::AfterToolCall => {
            return parameters.get_mut("call").into_iter().collect();
        }
        EventKind::BeforeTools => parameters.get_mut("calls"),
        EventKind::AfterInference => parameters.get_mut("response").and_then(|response| response.get_mut("tool-calls")),
        _ => None,
    };
    calls.and_then(Value::as_array_mut).into_iter().flatten().collect()
}

/// Fills in what an agent need not say. What is there stays.
fn complete(call: &mut Value, session: &Session) {
    let Some(call) = call.as_object_mut() else { return };
    let origin = call.entry("origin").or_insert_with(|| "builtin".into());
    let Ok(origin) = ToolOrigin::deserialize(&*origin) else { return };
    if call.contains_key("action") {
        return;
    }
    let Some(name) = call.get("name").and_then(Value::as_str) else { return };
    let arguments = call.get("arguments").cloned().unwrap_or_default();
    let worked_out = session.tool_call("", name, &arguments, origin).into_call().action;
    if let Ok(action) = serde_json::to_value(worked_out) {
        call.insert("action".to_owned(), action);
    }
}
