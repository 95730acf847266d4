//! Gemini's `generateContent`.

use super::{Body, flat, id, list, text};
use crate::model::conversation::{Answer, Offer, Request, Role, Turn};
use serde_json::{Value, json};

pub(super) fn read(body: &Value, path: &str) -> Request {
    let mut turns = Vec::new();
    for content in list(body, "contents") {
        let parts = list(content, "parts");
        let has = |key: &str| parts.iter().any(|part| part[key].is_object());
        let role = match text(content, "role") {
            "model" => Role::Model,
            _ if has("functionResponse") => Role::Tool,
            _ => Role::User,
        };
        turns.push(Turn { role, text: flat(&content["parts"]), has_calls: has("functionCall") });
    }
    let declared = list(body, "tools").iter().flat_map(|tool| list(tool, "functionDeclarations"));
    let tools = declared.map(|tool| Offer { name: text(tool, "name").to_owned(), namespace: None, takes_text: false });
    let config = &body["generationConfig"];
    Request {
        turns,
        tools: tools.collect(),
        streams: path.ends_with(":streamGenerateContent"),
        wants_json: config["responseJsonSchema"].is_object() || config["responseSchema"].is_object(),
    }
}

pub(super) fn write(request: &Request, answer: &Answer) -> Body {
    let mut parts: Vec<Value> = answer.text.iter().map(|said| json!({ "text": said })).collect();
    for (call, _) in &answer.calls {
        parts.push(json!({ "functionCall": { "id": id("call"), "name": call.tool, "args": call.arguments } }));
    }
    let response = json!({
        "candidates": [{ "index": 0, "content": { "role": "model", "parts": parts }, "finishReason": "STOP" }],
        "usageMetadata": { "promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20 },
        "modelVersion": "mock-model",
    });
    if !request.streams {
        return Body::json(&response);
    }
    let mut stream = Body::stream();
    stream.event(None, &response);
    stream
}
