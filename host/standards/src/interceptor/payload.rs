//! Converts payloads of MCP to events. The payload of a request is either the whole request or only its `params`.

use super::named::Phase;
use super::{InterceptedMessage, PayloadOutcome};
use hookhost::contract::action::arguments::folded;
use hookhost::contract::{
    Cause, Custom, Decision, Json, Rejection, ResultSource, ToolOrigin, ToolOutcome, ToolResult, TransformOutcome,
};
use hookhost::event_types::{AfterToolCall, CustomEvent};
use hookhost::session::DispatchOptions;
use hookhost::{OpenOutcome, Session};
use serde_json::{Map, Value, json};

/// The event of an intercepted payload.
pub(super) enum InterceptedEvent {
    /// A call before it is sent. `key` is the member of the parameters that contains the arguments. If `key` is `None`, all
    /// parameters are the arguments.
    ToolCall { name: String, arguments: Value, key: Option<&'static str> },
    /// The result of a call.
    ToolResult { name: String, result: ToolResult },
    /// A payload for which the contract defines no event.
    Custom { name: String },
}

impl InterceptedEvent {
    /// Creates the event for a payload.
    ///
    /// # Errors
    /// Returns an error if the payload does not fit the event that the message names.
    pub(super) fn new(message: &InterceptedMessage, server: &str) -> Result<Self, String> {
        let parameters = parameters(message)?;
        Ok(match (message.event.as_str(), message.phase) {
            ("tools/call", Phase::Request) => {
                let name = parameters.get("name").and_then(Value::as_str).ok_or("`name` is missing")?;
                let name = format!("mcp__{server}__{name}");
                Self::ToolCall { name, arguments: arguments(parameters)?, key: Some("arguments") }
            }
            (name @ ("prompts/get" | "resources/read"), Phase::Request) => {
                Self::ToolCall { name: name.to_owned(), arguments: parameters.clone(), key: None }
            }
            (name @ ("tools/call" | "prompts/get" | "resources/read"), Phase::Response) => {
                Self::ToolResult { name: name.to_owned(), result: result(&message.payload)? }
            }
            (event, phase) => Self::Custom { name: format!("mcp/{event}/{}", phase.name()) },
        })
    }

    /// Lets the plugins decide on the event. If a person would have to be asked, the event is rejected immediately,
    /// because the client cannot ask a person and its other requests would have to wait.
    pub(super) async fn settle(self, session: &Session, payload: &Value, server: &str) -> PayloadOutcome {
        let raw = Json::from(payload);
        let mut options = DispatchOptions::default();
        options.raw = Some(raw.clone());
        let origin = ToolOrigin::Mcp(server.to_owned());
        match self {
            Self::ToolCall { name, arguments, key } => {
                let call = session.tool_call("", &name, &arguments, origin).raw(raw);
                let call = match allowed(session.begin_before_tool_call(call).await).await {
                    Ok(call) => call,
                    Err(outcome) => return outcome,
                };
                match call.arguments.read::<Value>() {
                    Ok(changed) if changed == arguments => PayloadOutcome::Unchanged,
                    Ok(changed) => PayloadOutcome::Changed(with_arguments(payload, key, changed)),
                    Err(error) => PayloadOutcome::Failed(format!("the arguments cannot be read: {error}")),
                }
            }
            Self::ToolResult { name, result } => {
                let call = session.tool_call("", &name, &json!({}), origin).into_call();
                let outcome = ToolOutcome { call, tool_result: result.clone(), source: ResultSource::Tool };
                match session.begin::<AfterToolCall>(outcome, options).await.outcome {
                    TransformOutcome::Passed { value } if value == result => PayloadOutcome::Unchanged,
                    TransformOutcome::Passed { value } => {
                        let mut changed = payload.clone();
                        match replace(&mut changed, &value) {
                            Ok(()) => PayloadOutcome::Changed(changed),
                            Err(why) => PayloadOutcome::Denied { why, by: Vec::new(), code: None },
                        }
                    }
                    TransformOutcome::Withheld(rejection) => denied(&rejection),
                }
            }
            Self::Custom { name } => {
                let custom = Custom { name, payload: Json::from(payload) };
                let custom = match allowed(session.begin::<CustomEvent>(custom, options).await).await {
                    Ok(custom) => custom,
                    Err(outcome) => return outcome,
                };
                match custom.payload.read::<Value>() {
                    Ok(changed) if changed == *payload => PayloadOutcome::Unchanged,
                    Ok(changed) => PayloadOutcome::Changed(changed),
                    Err(error) => PayloadOutcome::Failed(format!("the payload cannot be read: {error}")),
                }
            }
        }
    }
}

/// Returns the allowed value.
///
/// # Errors
/// Returns the outcome as the error if the value is not allowed.
async fn allowed<V: 'static, R: 'static>(open: OpenOutcome<V, R>) -> Result<V, PayloadOutcome> {
    let settled = match open.into_final() {
        Ok(settled) => settled,
        Err(pending) => pending.reject_unattended().await,
    };
    match settled.outcome {
        Decision::Allowed { value } => Ok(value),
        Decision::Responded { by, .. } => Err(PayloadOutcome::Denied {
            why: "a plugin answers in the server's place, which an interceptor cannot do".to_owned(),
            by: vec![by],
            code: None,
        }),
        Decision::Rejected(rejection) => Err(denied(&rejection)),
    }
}

fn denied(rejection: &Rejection) -> PayloadOutcome {
    match rejection.cause {
        Cause::Verdict | Cause::Disagreement | Cause::NotApproved | Cause::Overridable | Cause::TooManyQuestions => {
            let Rejection { by, refusal, .. } = rejection.clone();
            PayloadOutcome::Denied { why: refusal.reason, by, code: refusal.code }
        }
        _ => PayloadOutcome::Failed(rejection.to_string()),
    }
}

/// Returns the payload with its arguments replaced by `arguments`.
fn with_arguments(payload: &Value, key: Option<&str>, arguments: Value) -> Value {
    let mut payload = payload.clone();
    let parameters = match payload.get("method") {
        Some(_) => &mut payload["params"],
        None => &mut payload,
    };
    match key {
        Some(key) => parameters[key] = arguments,
        None => *parameters = arguments,
    }
    payload
}

fn arguments(parameters: &Value) -> Result<Value, String> {
    match parameters.get("arguments") {
        None | Some(Value::Null) => Ok(Value::Object(Map::new())),
        Some(arguments @ Value::Object(_)) => Ok(arguments.clone()),
        Some(_) => Err("`arguments` is not an object".to_owned()),
    }
}

/// The keys that are read from a request and from its parameters.
const KEYS: [&str; 5] = ["method", "params", "name", "arguments", "uri"];

/// Checks that no key differs only in case from a key that is read here, because a server could read that other key
/// instead.
fn check_keys(value: &Value) -> Result<(), String> {
    let keys = value.as_object().into_iter().flat_map(Map::keys);
    let mut others = keys.filter(|key| !KEYS.contains(&key.as_str()));
    match others.find(|key| KEYS.contains(&folded(key).as_str())) {
        Some(key) => Err(format!("the payload has the key {key:?}, which differs from another one only in case")),
        None => Ok(()),
    }
}

/// Returns the parameters of a request: the payload itself, or its `params`. Refuses a payload that a server could read
/// in another way.
fn parameters(message: &InterceptedMessage) -> Result<&Value, String> {
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
            Err("the payload has `params` but no `method`, so it is unclear if it is a whole request".to_owned())
        }
        _ => Ok(payload),
    }
}

fn is_known(event: &str) -> bool {
    matches!(event, "tools/call" | "prompts/get" | "resources/read")
}

/// Returns the JSON pointers of all texts in a result. A text can be in a part, in a resource that is embedded in a
/// part, or in a message.
fn text_pointers(payload: &Value) -> Vec<String> {
    let mut pointers = Vec::new();
    for list in ["content", "contents", "messages"] {
        let parts = payload.get(list).and_then(Value::as_array).into_iter().flatten().enumerate();
        for (at, part) in parts {
            for inside in ["/text", "/resource/text", "/content/text", "/content/resource/text"] {
                if part.pointer(inside).is_some_and(Value::is_string) {
                    pointers.push(format!("/{list}/{at}{inside}"));
                }
            }
        }
    }
    pointers
}

/// Returns true if `text` contains each string, number and boolean of a value.
fn contains_all(value: &Value, text: &str) -> bool {
    match value {
        Value::Null => true,
        Value::String(said) => text.contains(said.as_str()),
        Value::Array(list) => list.iter().all(|value| contains_all(value, text)),
        Value::Object(object) => object.values().all(|value| contains_all(value, text)),
        said => text.contains(&said.to_string()),
    }
}

/// Parses a result. Structured content is added to the text, unless the other texts already contain all of its values.
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
    let pointers = text_pointers(payload);
    let texts: Vec<&str> = pointers.iter().filter_map(|pointer| payload.pointer(pointer)?.as_str()).collect();
    let mut text = texts.join("\n");
    if let Some(structured) = payload.get("structuredContent").filter(|structured| !contains_all(structured, &text)) {
        text = [text, structured.to_string()].join("\n");
    }
    Ok(ToolResult {
        text,
        is_error: payload.get("isError").and_then(Value::as_bool).unwrap_or_default(),
        raw: Some(Json::from(payload)),
    })
}

/// Replaces the result in a payload. If a plugin gave a complete result, this result becomes the payload. Otherwise,
/// the new text replaces the first text, the other texts become empty, and the structured content is removed.
fn replace(payload: &mut Value, result: &ToolResult) -> Result<(), String> {
    let raw: Option<Value> = result.raw.as_ref().and_then(|raw| raw.read().ok());
    if let Some(raw) = raw.filter(|raw| raw != payload && raw.is_object()) {
        *payload = raw;
        return Ok(());
    }
    let pointers = text_pointers(payload);
    if pointers.is_empty() {
        return Err("a plugin gave a text where the result has none".to_owned());
    }
    for (order, pointer) in pointers.iter().enumerate() {
        if let Some(text) = payload.pointer_mut(pointer) {
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
