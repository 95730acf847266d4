//! The Anthropic Messages API, streaming: <https://docs.anthropic.com/en/api/messages-streaming>.
//!
//! Each request marks the parts that stay the same in the next request, because the provider can then cache these parts. The parts
//! are the tools, the system prompt and the whole conversation. Reminders follow the last mark, because they change.
//!
//! The results of all tool calls of an answer are sent in a single user message, as the API requires. Reminders follow in the same
//! message as text blocks.
//!
//! Thinking is sent back unchanged and in its original place, because the API checks both. For newer models, the API also checks
//! that nothing before the thinking has changed. Reminders, plugins and summaries do change earlier parts, so the request asks the
//! API to drop the thinking after a change instead of refusing the request.
//! <https://platform.claude.com/docs/en/build-with-claude/preserved-thinking>

use crate::endpoint::{Decoder, Endpoint, error_message};
use crate::error::ProviderError;
use crate::message::{Message, StopReason, Thinking, ThinkingKind, TokenUsage, ToolUse};
use crate::provider::{Delta, Request};
use reqwest::header::HeaderName;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const API_VERSION: &str = "2023-06-01";
/// Value of the beta header that enables the field `block_binding` on Anthropic's server.
const THINKING_BETA: &str = "thinking-binding-controls-2026-08-01";

/// Returns the headers of a request with this body.
pub(crate) fn headers(key: Option<&str>, body: &Value) -> Vec<(HeaderName, String)> {
    let mut headers = vec![(HeaderName::from_static("anthropic-version"), API_VERSION.to_owned())];
    if body.pointer("/thinking/block_binding").is_some() {
        headers.push((HeaderName::from_static("anthropic-beta"), THINKING_BETA.to_owned()));
    }
    headers.extend(key.map(|key| (HeaderName::from_static("x-api-key"), key.to_owned())));
    headers
}

/// Builds the request body for a server with this host name. `host` is `None` if the provider is a local program and not a server.
pub(crate) fn body(request: &Request, host: Option<&str>) -> Value {
    let mut body = json!({
        "model": request.model,
        "max_tokens": request.max_output_tokens,
        "stream": true,
        "messages": messages(request),
    });
    if !request.system_prompt.is_empty() {
        body["system"] = json!([{ "type": "text", "text": request.system_prompt, "cache_control": cached() }]);
    }
    if let Some(temperature) = request.temperature {
        body["temperature"] = json!(temperature);
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(
            |tool| json!({ "name": tool.name, "description": tool.description, "input_schema": tool.input_schema }),
        );
        body["tools"] = tools.collect();
        if let Some(last) = body["tools"].as_array_mut().and_then(|tools| tools.last_mut()) {
            last["cache_control"] = cached();
        }
    }
    let has_thinking = |message: &Message| matches!(message, Message::Assistant { thoughts, .. } if thoughts.thinking.iter().any(|one| one.kind.is_signed()));
    // The agent never asks for thinking, so a model that has produced thinking is in its default mode, which is `adaptive`.
    if host == Some("api.anthropic.com") && request.messages.iter().any(has_thinking) {
        let binding = json!({ "prefix_mismatch_behavior": "drop_block" });
        body["thinking"] = json!({ "type": "adaptive", "block_binding": binding });
    }
    body
}

/// Returns a mark. The provider caches the request up to each mark. A request has at most three marks, and the API allows four.
fn cached() -> Value {
    json!({ "type": "ephemeral" })
}

/// Returns the conversation. Adjacent messages with the same role are joined. Empty texts are left out, because the API refuses
/// them.
fn messages(request: &Request) -> Vec<Value> {
    let mut joined: Vec<(&str, Vec<Value>)> = Vec::new();
    let mut push = |role: &'static str, blocks: Vec<Value>| match joined.last_mut() {
        _ if blocks.is_empty() => {}
        Some((last, content)) if *last == role => content.extend(blocks),
        _ => joined.push((role, blocks)),
    };
    for message in &request.messages {
        match message {
            Message::User { text, .. } => push("user", text_block(text)),
            Message::Assistant { text, tool_calls, thoughts } => {
                push("assistant", answer(text, tool_calls, &thoughts.thinking));
            }
            Message::Tool { call_id, text, is_error, .. } => push(
                "user",
                vec![json!({ "type": "tool_result", "tool_use_id": call_id, "content": text, "is_error": is_error })],
            ),
        }
    }
    if let Some(last) = joined.last_mut().and_then(|(_, content)| content.last_mut()) {
        last["cache_control"] = cached();
    }
    for block in request.reminders.iter().flat_map(|reminder| text_block(reminder)) {
        match joined.last_mut() {
            Some(("user", content)) => content.push(block),
            _ => joined.push(("user", vec![block])),
        }
    }
    joined.into_iter().map(|(role, content)| json!({ "role": role, "content": content })).collect()
}

fn text_block(text: &str) -> Vec<Value> {
    if text.trim().is_empty() { Vec::new() } else { vec![json!({ "type": "text", "text": text })] }
}

/// Returns the blocks of an answer, with its thinking in its original place.
fn answer(text: &str, calls: &[ToolUse], thinking: &[Thinking]) -> Vec<Value> {
    // The API refuses a message that contains only thinking.
    if text.trim().is_empty() && calls.is_empty() {
        return Vec::new();
    }
    let call = |call: &ToolUse| {
        let input = if call.arguments.is_object() { call.arguments.clone() } else { json!({}) };
        json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": input })
    };
    let (mut text, mut calls, mut bytes, mut called) = (text, calls, 0, 0);
    let mut blocks = Vec::new();
    for piece in thinking {
        // The positions may be wrong, because a person may have edited the session file from which they were read.
        let (before, rest) = text.split_at(text.floor_char_boundary(piece.text_before.saturating_sub(bytes)));
        let (calls_before, calls_rest) = calls.split_at(piece.calls_before.saturating_sub(called).min(calls.len()));
        (bytes, called) = (bytes + before.len(), called + calls_before.len());
        (text, calls) = (rest, calls_rest);
        blocks.extend(text_block(before));
        blocks.extend(calls_before.iter().map(call));
        blocks.extend(thinking_block(piece));
    }
    blocks.extend(text_block(text));
    blocks.extend(calls.iter().map(call));
    blocks
}

/// Returns the block for a piece of thinking, or `None` if the piece was received in another protocol.
fn thinking_block(Thinking { kind, text, signature, .. }: &Thinking) -> Option<Value> {
    match kind {
        ThinkingKind::Thinking => Some(json!({ "type": "thinking", "thinking": text, "signature": signature })),
        ThinkingKind::RedactedThinking => Some(json!({ "type": "redacted_thinking", "data": signature })),
        ThinkingKind::ReasoningContent | ThinkingKind::Reasoning | ThinkingKind::ReasoningDetails => None,
    }
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    MessageStart {
        message: MessageStart,
    },
    ContentBlockStart {
        index: u64,
        content_block: Block,
    },
    ContentBlockDelta {
        index: u64,
        delta: BlockDelta,
    },
    ContentBlockStop {
        index: u64,
    },
    MessageDelta {
        delta: MessageEnd,
        #[serde(default)]
        usage: Usage,
    },
    MessageStop,
    Error {
        error: ErrorBody,
    },
    /// `ping`, and events of later API versions.
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
struct MessageStart {
    #[serde(default)]
    usage: Usage,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block {
    Text {
        #[serde(default)]
        text: String,
    },
    ToolUse {
        id: String,
        name: String,
        #[serde(default)]
        input: Value,
    },
    Thinking {
        #[serde(default)]
        thinking: String,
        #[serde(default)]
        signature: String,
    },
    RedactedThinking {
        data: String,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum BlockDelta {
    TextDelta {
        text: String,
    },
    InputJsonDelta {
        partial_json: String,
    },
    ThinkingDelta {
        thinking: String,
    },
    SignatureDelta {
        signature: String,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
struct MessageEnd {
    stop_reason: Option<String>,
}

#[derive(Deserialize)]
struct ErrorBody {
    #[serde(rename = "type", default)]
    kind: String,
}

/// Token counts of the answer so far. `message_delta` repeats the counts that have changed.
#[derive(Default, Deserialize)]
struct Usage {
    input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

impl Usage {
    fn update(&mut self, newer: &Self) {
        self.input_tokens = newer.input_tokens.or(self.input_tokens);
        self.cache_creation_input_tokens = newer.cache_creation_input_tokens.or(self.cache_creation_input_tokens);
        self.cache_read_input_tokens = newer.cache_read_input_tokens.or(self.cache_read_input_tokens);
        self.output_tokens = newer.output_tokens.or(self.output_tokens);
    }

    /// Adds up the counts. The API reports cached tokens separately from `input_tokens`, but the result includes them in the input
    /// tokens.
    fn total(&self) -> TokenUsage {
        let cached = self.cache_read_input_tokens.unwrap_or(0);
        let written = self.cache_creation_input_tokens.unwrap_or(0);
        TokenUsage {
            input_tokens: self.input_tokens.unwrap_or(0).saturating_add(cached).saturating_add(written),
            cached_input_tokens: cached,
            output_tokens: self.output_tokens.unwrap_or(0),
        }
    }
}

/// A block that has begun but not ended.
enum OpenBlock {
    Call(OpenCall),
    Thinking(Thinking),
}

impl OpenBlock {
    fn finish(self) -> Delta {
        match self {
            Self::Call(call) => call.finish(),
            Self::Thinking(thinking) => Delta::Thinking(thinking),
        }
    }
}

struct OpenCall {
    id: String,
    name: String,
    input: Value,
    json: String,
}

impl OpenCall {
    /// Completes the call. Most servers send its input in fragments, but a server that does not stream the input sends it at the
    /// start.
    fn finish(self) -> Delta {
        let arguments = if self.json.is_empty() && self.input.is_object() { self.input.to_string() } else { self.json };
        Delta::ToolCall(ToolUse::parse(self.id, self.name, arguments))
    }
}

/// Decodes the events of one answer.
pub(crate) struct Events {
    endpoint: Endpoint,
    usage: Usage,
    open: BTreeMap<u64, OpenBlock>,
    stop: Option<StopReason>,
}

impl Events {
    pub(crate) fn new(endpoint: Endpoint) -> Self {
        Self { endpoint, usage: Usage::default(), open: BTreeMap::new(), stop: None }
    }

    fn failure(&self, error: &ErrorBody, data: &str) -> ProviderError {
        let provider = self.endpoint.provider().to_owned();
        match error.kind.as_str() {
            "overloaded_error" => ProviderError::Server { provider, status: 529, retry_after: None },
            "api_error" => ProviderError::Server { provider, status: 500, retry_after: None },
            "rate_limit_error" => ProviderError::RateLimited { provider, retry_after: None },
            kind => {
                let message = serde_json::from_str(data).ok().and_then(|body| error_message(&body)).unwrap_or_default();
                let reason = self.endpoint.quoted(&format!("{kind}: {message}"));
                ProviderError::BrokenStream { provider, reason }
            }
        }
    }
}

impl Decoder for Events {
    fn event(&mut self, data: &str) -> Result<Vec<Delta>, ProviderError> {
        let event: Event = serde_json::from_str(data).map_err(|error| ProviderError::BadAnswer {
            provider: self.endpoint.provider().to_owned(),
            reason: format!("an event that cannot be read, {error}"),
        })?;
        Ok(match event {
            Event::MessageStart { message } => {
                self.usage.update(&message.usage);
                vec![Delta::Usage(self.usage.total())]
            }
            Event::ContentBlockStart { index, content_block: Block::ToolUse { id, name, input } } => {
                self.open.insert(index, OpenBlock::Call(OpenCall { id, name, input, json: String::new() }));
                Vec::new()
            }
            Event::ContentBlockStart { index, content_block: Block::Thinking { thinking: text, signature } } => {
                self.open.insert(index, OpenBlock::Thinking(Thinking::new(ThinkingKind::Thinking, text, signature)));
                Vec::new()
            }
            Event::ContentBlockStart { content_block: Block::RedactedThinking { data: signature }, .. } => {
                vec![Delta::Thinking(Thinking::new(ThinkingKind::RedactedThinking, "", signature))]
            }
            Event::ContentBlockStart { content_block: Block::Text { text }, .. }
            | Event::ContentBlockDelta { delta: BlockDelta::TextDelta { text }, .. } => {
                if text.is_empty() {
                    Vec::new()
                } else {
                    vec![Delta::Text(text)]
                }
            }
            Event::ContentBlockDelta { index, delta } => {
                match (self.open.get_mut(&index), delta) {
                    (Some(OpenBlock::Call(call)), BlockDelta::InputJsonDelta { partial_json }) => {
                        call.json.push_str(&partial_json);
                    }
                    (Some(OpenBlock::Thinking(open)), BlockDelta::ThinkingDelta { thinking }) => {
                        open.text.push_str(&thinking);
                    }
                    (Some(OpenBlock::Thinking(open)), BlockDelta::SignatureDelta { signature }) => {
                        open.signature.push_str(&signature);
                    }
                    _ => {}
                }
                Vec::new()
            }
            Event::ContentBlockStop { index } => self.open.remove(&index).map(OpenBlock::finish).into_iter().collect(),
            Event::MessageDelta { delta, usage } => {
                self.usage.update(&usage);
                self.stop = delta.stop_reason.map(stop_reason).or(self.stop.take());
                vec![Delta::Usage(self.usage.total())]
            }
            Event::MessageStop => {
                // If the block of a call is still open, the limit on output tokens has cut off the call. The incomplete call is
                // passed on, because the model must learn that the call failed. Thinking that was cut off is dropped, because it
                // has no signature.
                let open = std::mem::take(&mut self.open).into_values();
                let cut = open.filter(|open| matches!(open, OpenBlock::Call(_))).map(OpenBlock::finish);
                cut.chain([Delta::Stop(self.stop.take().unwrap_or(StopReason::EndTurn))]).collect()
            }
            Event::Error { error } => return Err(self.failure(&error, data)),
            Event::ContentBlockStart { .. } | Event::Unknown => Vec::new(),
        })
    }

    /// Returns `None`, because a complete answer in this protocol always ends with an event.
    fn end(&mut self) -> Option<Vec<Delta>> {
        None
    }
}

fn stop_reason(word: String) -> StopReason {
    match word.as_str() {
        "end_turn" | "stop_sequence" => StopReason::EndTurn,
        "tool_use" => StopReason::ToolCalls,
        "max_tokens" => StopReason::MaxTokens,
        "refusal" => StopReason::Refused,
        _ => StopReason::Other(word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(messages: Vec<Message>) -> Request {
        Request {
            model: "m".into(),
            system_prompt: String::new(),
            messages,
            reminders: vec!["be brief".into()],
            tools: Vec::new(),
            max_output_tokens: 10,
            temperature: None,
        }
    }

    fn result(id: &str) -> Message {
        Message::Tool { call_id: id.into(), name: "bash".into(), text: "ok".into(), is_error: id == "b" }
    }

    #[test]
    fn results_and_reminders_share_one_user_message_after_the_calls() {
        let call = |id: &str| ToolUse { id: id.into(), name: "bash".into(), arguments: json!({}) };
        let assistant = Message::assistant("", vec![call("a"), call("b")]);
        let sent = messages(&request(vec![Message::user("go"), assistant, result("a"), result("b")]));
        assert_eq!(
            sent,
            [
                json!({ "role": "user", "content": [{ "type": "text", "text": "go" }] }),
                json!({ "role": "assistant", "content": [
                    { "type": "tool_use", "id": "a", "name": "bash", "input": {} },
                    { "type": "tool_use", "id": "b", "name": "bash", "input": {} },
                ]}),
                json!({ "role": "user", "content": [
                    { "type": "tool_result", "tool_use_id": "a", "content": "ok", "is_error": false },
                    { "type": "tool_result", "tool_use_id": "b", "content": "ok", "is_error": true,
                      "cache_control": { "type": "ephemeral" } },
                    { "type": "text", "text": "be brief" },
                ]}),
            ]
        );
    }

    fn thoughtful(text: &str, tool_calls: Vec<ToolUse>, thinking: Vec<Thinking>) -> Message {
        let thoughts = crate::message::Thoughts { provider: "anthropic".into(), model: "m".into(), thinking };
        Message::Assistant { text: text.into(), tool_calls, thoughts }
    }

    #[test]
    fn anthropics_own_server_is_asked_to_skip_thinking_after_something_else() {
        let thinking = || vec![Thinking::new(ThinkingKind::Thinking, "", "c2ln")];
        let asked = |host: &str, thinking: Vec<Thinking>| {
            let answer = thoughtful("I look.", Vec::new(), thinking);
            body(&request(vec![Message::user("go"), answer]), Some(host)).get("thinking").cloned()
        };
        let expected = json!({ "type": "adaptive", "block_binding": { "prefix_mismatch_behavior": "drop_block" } });
        assert_eq!(asked("api.anthropic.com", thinking()), Some(expected));
        // The field is not sent if there is no thinking, and it is not sent to other servers, because they do not know it.
        assert_eq!((asked("api.anthropic.com", Vec::new()), asked("localhost", thinking())), (None, None));
    }

    #[test]
    fn places_that_are_not_in_the_answer_do_no_harm() {
        let call = ToolUse { id: "a".into(), name: "bash".into(), arguments: json!({}) };
        let at = |text_before, calls_before| Thinking {
            text_before,
            calls_before,
            ..Thinking::new(ThinkingKind::Thinking, "", "c2ln")
        };
        // The positions are in the middle of a character, after the end of the answer, and before the previous piece.
        let answer = thoughtful("Häuser", vec![call], vec![at(2, 0), at(99, 7), at(0, 0)]);
        let sent = messages(&request(vec![answer]));
        let kinds: Vec<_> = sent[0]["content"].as_array().unwrap().iter().map(|block| block["type"].clone()).collect();
        assert_eq!(kinds, ["text", "thinking", "text", "tool_use", "thinking", "thinking"]);
        assert_eq!((&sent[0]["content"][0]["text"], &sent[0]["content"][2]["text"]), (&json!("H"), &json!("äuser")));
        let alone = thoughtful("", Vec::new(), vec![at(0, 0)]);
        assert_eq!(messages(&request(vec![Message::user("go"), alone])).len(), 1);
    }

    #[test]
    fn an_answer_without_text_and_calls_is_left_out() {
        let silent = Message::assistant(" ", Vec::new());
        let sent = messages(&request(vec![Message::user("go"), silent]));
        assert_eq!(sent.len(), 1);
    }
}
