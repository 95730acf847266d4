//! OpenAI's Chat Completions.

use super::{Body, flat, id, list, text};
use crate::model::conversation::{Answer, Offer, Request, Role, Turn};
use serde_json::{Value, json};

pub(super) fn read(body: &Value) -> Request {
    let mut turns = Vec::new();
    for message in list(body, "messages") {
        let role = match text(message, "role") {
            "user" => Role::User,
            "assistant" => Role::Model,
            "tool" => Role::Tool,
            _ => continue,
        };
        let has_calls = !list(message, "tool_calls").is_empty();
        turns.push(Turn { role, text: flat(&message["content"]), has_calls });
    }
    let tools = list(body, "tools").iter().map(|tool| Offer {
        name: text(&tool["function"], "name").to_owned(),
        namespace: None,
        takes_text: false,
    });
    Request {
        turns,
        tools: tools.collect(),
        streams: body["stream"] == true,
        wants_json: body["response_format"]["json_schema"].is_object(),
    }
}

pub(super) fn write(body: &Value, request: &Request, answer: &Answer) -> Body {
    let calls: Vec<Value> = answer
        .calls
        .iter()
        .enumerate()
        .map(|(index, (call, _))| {
            let function = json!({ "name": call.tool, "arguments": call.arguments.to_string() });
            json!({ "index": index, "id": id("call"), "type": "function", "function": function })
        })
        .collect();
    let finish = if calls.is_empty() { "stop" } else { "tool_calls" };
    let usage = json!({ "prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20 });
    let mut message = json!({ "role": "assistant", "content": answer.text });
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    let name = id("chatcmpl");
    if !request.streams {
        let choice = json!({ "index": 0, "finish_reason": finish, "message": message });
        return Body::json(&json!({
            "id": name, "object": "chat.completion", "created": 0, "model": body["model"], "choices": [choice],
            "usage": usage,
        }));
    }
    let mut stream = Body::stream();
    let mut chunk =
        |choices: Value, usage: &Value| {
            stream.event(None, &json!({
            "id": name, "object": "chat.completion.chunk", "created": 0, "model": body["model"], "choices": choices,
            "usage": usage,
        }));
        };
    chunk(json!([{ "index": 0, "delta": message, "finish_reason": null }]), &Value::Null);
    chunk(json!([{ "index": 0, "delta": {}, "finish_reason": finish }]), &Value::Null);
    chunk(json!([]), &usage);
    stream.text.push_str("data: [DONE]\n\n");
    stream
}
