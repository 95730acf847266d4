//! Payloads of events as JSON. A tool call may leave out the fields that the host derives itself, and a later version
//! may add fields that this version does not know.

use super::handle::Session;
use crate::config::names;
use crate::contract::{EventKind, ToolOrigin};
use crate::event::Kind;
use serde::Deserialize as _;
use serde::de::Error as _;
use serde_ignored::Path;
use serde_json::{Error, Map, Value};

/// Reads the parameters of an event.
///
/// # Errors
/// If the payload does not have the event's type, or if `refuse_unknown` is set and a field is unknown.
pub(super) fn read<E: Kind>(session: &Session, payload: Value, refuse_unknown: bool) -> Result<E::Payload, Error> {
    let mut parameters: Map<String, Value> = serde_json::from_value(payload)?;
    for call in tool_calls(E::KIND, &mut parameters) {
        complete(call, session);
    }
    let value = match E::PARAMETER {
        Some(parameter) => parameters.remove(parameter).ok_or_else(|| Error::missing_field(parameter))?,
        None => Value::Object(std::mem::take(&mut parameters)),
    };
    let mut unknown: Vec<Vec<String>> = parameters.keys().map(|key| vec![key.clone()]).collect();
    let read: E::Payload = serde_ignored::deserialize(value, |path| {
        let mut fields: Vec<String> = E::PARAMETER.into_iter().map(str::to_owned).collect();
        push(&path, &mut fields);
        unknown.push(fields);
    })?;
    match unknown.first() {
        Some(field) if refuse_unknown => Err(refused::<E>(field, &read)),
        Some(field) => {
            tracing::debug!(event = %E::KIND, field = field.join("."), "an unknown field is ignored");
            Ok(read)
        }
        None => Ok(read),
    }
}

/// Adds the fields and indices of a path, outermost first.
fn push(path: &Path<'_>, fields: &mut Vec<String>) {
    let (parent, field) = match path {
        Path::Root => return,
        Path::Seq { parent, index } => (parent, Some(index.to_string())),
        Path::Map { parent, key } => (parent, Some(key.clone())),
        Path::Some { parent } | Path::NewtypeStruct { parent } | Path::NewtypeVariant { parent } => (parent, None),
    };
    push(parent, fields);
    fields.extend(field);
}

/// Returns an error that names the unknown field, and the known field with the nearest name.
fn refused<E: Kind>(field: &[String], read: &E::Payload) -> Error {
    let mut around = serde_json::to_value(read).unwrap_or_default();
    if let Some(parameter) = E::PARAMETER {
        around = Value::Object(Map::from_iter([(parameter.to_owned(), around)]));
    }
    let (name, parents) = field.split_last().map_or(("", field), |(name, parents)| (name.as_str(), parents));
    let around = around.pointer(&parents.iter().map(|parent| format!("/{parent}")).collect::<String>());
    let known = around.and_then(Value::as_object).into_iter().flat_map(Map::keys).map(String::as_str);
    let advice = match names::nearest(name, known) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => format!("{} has no such field", E::KIND),
    };
    Error::custom(format!("unknown field `{}`: {advice}", field.join(".")))
}

/// Returns the tool calls of a payload.
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

/// Adds the optional fields that the agent left out.
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
