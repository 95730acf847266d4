//! Anthropic's Messages.

use super::{Body, flat, id, list, text};
use crate::model::conversation::{Answer, Offer, Request, Role, Turn};
use serde_json::{Value, json};

pub(super) fn read(body: &Value) -> Request {
    let mut turns = Vec::new();
    for message in list(body, "messages") {
        let parts = list(message, "content");
        let has = |kind: &str| parts.iter().any(|part| text(part, "type") == kind);
        let role = match text(message, "role") {
            "assistant" => Role::Model,
            _ if has("tool_result") && !has("text") => Role::Tool,
            _ => Role::User,
        };
        turns.push(Turn { role, text: flat(&message["content"]), has_calls: has("tool_use") });
    }
    let tools = list(body, "tools").iter().filter(|tool| tool["input_schema"].is_object()).map(|tool| Offer {
        name: text(tool, "name").to_owned(),
        namespace: None,
        takes_text: false,
    });
    Request {
        turns,
        tools: tools.collect(),
        streams: body["stream"] == true,
        wants_json: body["output_config"]["format"].is_object() || body["output_format"].is_object(),
    }
}

pub(super) fn write(body: &Value, request: &Request, answer: &Answer) -> Body {
    let mut content: Vec<Value> = answer.text.iter().map(|said| json!({ "type": "text", "text": said })).collect();
    for (call, _) in &answer.calls {
        content.push(json!({ "type": "tool_use", "id": id("toolu"), "name": call.tool, "input": call.arguments }));
    }
    let stop = if answer.calls.is_empty() { "end_turn" } else { "tool_use" };
    let usage = json!({
        "input_tokens": 10, "output_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
    });
    let mut message = json!({
        "id": id("msg"), "type": "message", "role": "assistant", "model": body["model"], "content": content,
        "stop_reason": stop, "stop_sequence": null, "usage": usage,
    });
    if !request.streams {
        return Body::json(&message);
    }
    let mut stream = Body::stream();
    let mut event = |name: &str, data: &Value| stream.event(Some(name), data);
    message["content"] = json!([]);
    message["stop_reason"] = Value::Null;
    event("message_start", &json!({ "type": "message_start", "message": message }));
    for (index, part) in content.iter().enumerate() {
        let (start, delta) = if part["type"] == "text" {
            (json!({ "type": "text", "text": "" }), json!({ "type": "text_delta", "text": part["text"] }))
        } else {
            let mut start = part.clone();
            start["input"] = json!({});
            (start, json!({ "type": "input_json_delta", "partial_json": part["input"].to_string() }))
        };
        let start = json!({ "type": "content_block_start", "index": index, "content_block": start });
        event("content_block_start", &start);
        event("content_block_delta", &json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        event("content_block_stop", &json!({ "type": "content_block_stop", "index": index }));
    }
    let delta = json!({ "stop_reason": stop, "stop_sequence": null });
    event("message_delta", &json!({ "type": "message_delta", "delta": delta, "usage": usage }));
    event("message_stop", &json!({ "type": "message_stop" }));
    stream
}
