//! The MCP endpoint. An agent that is connected to the endpoint can send events without starting a process. The endpoint has one
//! tool, `hook`, whose arguments are a hook message and the name of the agent.
//!
//! The endpoint supports the methods that a client needs to call a tool (`initialize`, `ping`, `tools/list`, `tools/call`). It has
//! no sessions and no streams, so the answer to each request is in the body of the HTTP response. Source: the specification of
//! 2025-06-18 and of 2025-11-25.

use crate::deadlines::ClientTimeout;
use crate::settler::Settler;
use hookhost::contract::action::arguments::twin;
use hookhost_agents::{Message, by_name};
use serde_json::{Map, Value, json};
use std::path::Path;

/// The supported versions of the protocol, the newest first.
const VERSIONS: &[&str] = &["2025-11-25", "2025-06-18"];

/// The name of the tool.
const TOOL: &str = "hook";

/// Fields that some agents can pass only as a string that contains JSON, because their templates insert only strings.
const JSON_IN_TEXTS: &[&str] = &["tool_input", "tool_response"];

/// Answers a request. Returns `None` for a notification.
pub(crate) async fn answer(settler: &Settler, request: &Value, home: &Path, timeout: ClientTimeout) -> Option<Value> {
    let Some(object) = request.as_object() else {
        return Some(error(&Value::Null, -32600, "a request is one JSON object; batches are not taken"));
    };
    let parameters = object.get("params").and_then(Value::as_object);
    let twin = |object: &Map<String, Value>| twin(object.keys().map(String::as_str)).is_some();
    if twin(object) || parameters.is_some_and(twin) {
        return Some(error(&Value::Null, -32600, "the request has keys that differ only in case"));
    }
    let method = object.get("method").and_then(Value::as_str).unwrap_or_default();
    let Some(id) = object.get("id").filter(|id| !id.is_null()) else {
        return if method.is_empty() { Some(error(&Value::Null, -32600, "`method` is missing")) } else { None };
    };
    Some(match method {
        "initialize" => result(id, &initialize(parameters)),
        "ping" => result(id, &json!({})),
        "tools/list" => result(id, &json!({ "tools": [tool()] })),
        "tools/call" => match call(settler, parameters, home, timeout).await {
            Ok(answer) => result(id, &answer),
            Err(why) => error(id, -32602, &why),
        },
        other => error(id, -32601, &format!("there is no method `{other}` here")),
    })
}

fn result(id: &Value, result: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

pub(crate) fn error(id: &Value, code: i32, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

fn initialize(parameters: Option<&Map<String, Value>>) -> Value {
    let asked = parameters.and_then(|parameters| parameters.get("protocolVersion")).and_then(Value::as_str);
    let version = VERSIONS.iter().find(|known| asked == Some(**known)).or(VERSIONS.first()).copied();
    json!({
        "protocolVersion": version,
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "hookhost", "version": env!("CARGO_PKG_VERSION") },
    })
}

fn tool() -> Value {
    json!({
        "name": TOOL,
        "description": "Decides on an event that an agent reports to its hooks, and returns the hook's reply. It is for \
                        hooks, and not for models.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "agent": { "type": "string", "description": "the agent, such as claude-code" },
                "point": { "type": "string", "description": "the hook point, such as PreToolUse" },
                "message": { "type": "object", "description": "the hook message; otherwise its fields are arguments" },
            },
            "required": ["agent"],
        },
    })
}

async fn call(
    settler: &Settler,
    parameters: Option<&Map<String, Value>>,
    home: &Path,
    timeout: ClientTimeout,
) -> Result<Value, String> {
    let parameters = parameters.ok_or("`params` is missing")?;
    let name = parameters.get("name").and_then(Value::as_str).unwrap_or_default();
    if name != TOOL {
        return Err(format!("there is no tool {name:?} here, only {TOOL:?}"));
    }
    let arguments = parameters.get("arguments").and_then(Value::as_object).cloned().unwrap_or_default();
    let text = |key: &str| arguments.get(key).and_then(Value::as_str);
    let agent = text("agent").ok_or("the argument `agent` is missing")?;
    let adapter = by_name(agent).ok_or_else(|| format!("hookhost knows no agent {agent:?}"))?;
    let message = message(&arguments)?;
    let mut sent = Message::new(&message, home);
    sent.point = text("point");
    let reply = match timeout {
        Ok(timeout) => {
            sent.within = timeout;
            settler.reply(adapter, &sent, &|_| {}).await
        }
        Err(why) => settler.reply_to_unread(adapter, sent.point, home, why),
    };
    let (said, is_error) = match adapter.body(reply) {
        Ok(said) => (said, false),
        Err(why) => (why, true),
    };
    Ok(json!({ "content": [{ "type": "text", "text": said }], "isError": is_error }))
}

/// Returns the hook message in the form in which an agent writes it to the standard input of a hook.
fn message(arguments: &Map<String, Value>) -> Result<Vec<u8>, String> {
    let mut fields = match arguments.get("message") {
        Some(Value::Object(fields)) => fields.clone(),
        Some(_) => return Err("the argument `message` is not an object".to_owned()),
        None => arguments.clone(),
    };
    for key in ["agent", "point", "message"] {
        fields.remove(key);
    }
    for key in JSON_IN_TEXTS {
        if let Some(Value::String(text)) = fields.get(*key)
            && let Ok(value) = hookhost_agents::json::value(text)
        {
            fields.insert((*key).to_owned(), value);
        }
    }
    serde_json::to_vec(&fields).map_err(|error| error.to_string())
}
