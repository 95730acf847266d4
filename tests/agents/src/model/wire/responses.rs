//! OpenAI's Responses.

use super::{Body, flat, id, list, text};
use crate::model::conversation::{Answer, Offer, Request, Role, Turn};
use serde_json::{Value, json};

pub(super) fn read(body: &Value) -> Request {
    let mut turns: Vec<Turn> = Vec::new();
    for item in list(body, "input") {
        let kind = text(item, "type");
        let is_call = kind.ends_with("_call");
        let role = match text(item, "role") {
            _ if is_call => Role::Model,
            _ if kind.ends_with("_call_output") => Role::Tool,
            "assistant" => Role::Model,
            "user" => Role::User,
            _ => continue,
        };
        // In this protocol, each call of an answer is a separate item, so the calls of one answer are combined here.
        if is_call && turns.last().is_some_and(|turn| turn.has_calls) {
            continue;
        }
        turns.push(Turn { role, text: flat(&item["content"]), has_calls: is_call });
    }
    let mut tools = Vec::new();
    for tool in list(body, "tools") {
        let mut offer = |tool: &Value, namespace: Option<&str>| {
            tools.push(Offer {
                name: text(tool, "name").to_owned(),
                namespace: namespace.map(str::to_owned),
                takes_text: text(tool, "type") == "custom",
            });
        };
        match text(tool, "type") {
            "namespace" => list(tool, "tools").iter().for_each(|inner| offer(inner, tool["name"].as_str())),
            "function" | "custom" => offer(tool, None),
            _ => {}
        }
    }
    Request { turns, tools, streams: body["stream"] == true, wants_json: body["text"]["format"]["schema"].is_object() }
}

pub(super) fn write(body: &Value, request: &Request, answer: &Answer) -> Body {
    let mut output: Vec<Value> = Vec::new();
    if let Some(said) = &answer.text {
        let content = json!([{ "type": "output_text", "text": said, "annotations": [] }]);
        let item = json!({ "type": "message", "id": id("msg"), "role": "assistant", "content": content });
        output.push(item);
    }
    for (call, offer) in &answer.calls {
        let mut item = json!({ "id": id("fc"), "call_id": id("call"), "name": call.tool, "status": "completed" });
        if offer.takes_text {
            item["type"] = json!("custom_tool_call");
            item["input"] = call.arguments["input"].clone();
        } else {
            item["type"] = json!("function_call");
            item["arguments"] = json!(call.arguments.to_string());
        }
        if let Some(namespace) = &offer.namespace {
            item["namespace"] = json!(namespace);
        }
        output.push(item);
    }
    let usage = json!({
        "input_tokens": 10, "input_tokens_details": { "cached_tokens": 0 },
        "output_tokens": 10, "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": 20,
    });
    let mut response = json!({
        "id": id("resp"), "object": "response", "created_at": 0, "model": body["model"], "status": "in_progress",
        "parallel_tool_calls": true, "tools": [], "output": [],
    });
    let begun = response.clone();
    response["status"] = json!("completed");
    response["output"] = json!(output);
    response["usage"] = usage;
    if !request.streams {
        return Body::json(&response);
    }
    let mut stream = Body::stream();
    let mut number = 0;
    let mut event = |kind: &str, mut data: Value| {
        data["type"] = json!(kind);
        data["sequence_number"] = json!(number);
        number += 1;
        stream.event(Some(kind), &data);
    };
    event("response.created", json!({ "response": begun }));
    for (index, item) in output.iter().enumerate() {
        event("response.output_item.added", json!({ "output_index": index, "item": item }));
        event("response.output_item.done", json!({ "output_index": index, "item": item }));
    }
    event("response.completed", json!({ "response": response }));
    stream
}
