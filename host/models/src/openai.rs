//! OpenAI's streaming chat completions. Ollama, llama.cpp, vLLM and many hosted services offer the same protocol:
//! <https://platform.openai.com/docs/api-reference/chat-streaming>.
//!
//! The decoder accepts the deviations of other servers. These servers may omit `index`, the identifier of a call or `[DONE]`, and
//! they may send the usage in the last chunk or after it.
//!
//! OpenAI itself sends no thinking in this protocol. Other servers have fields for thinking: `reasoning_content`
//! (<https://api-docs.deepseek.com/guides/thinking_mode>, <https://docs.z.ai/guides/capabilities/thinking-mode>), `reasoning`
//! (<https://console.groq.com/docs/reasoning>) and `reasoning_details`
//! (<https://openrouter.ai/docs/guides/best-practices/reasoning-tokens>). Servers refuse unknown fields, so thinking is sent back
//! in the field in which it was received.

use crate::endpoint::{Decoder, Endpoint, error_message};
use crate::error::ProviderError;
use crate::message::{Message, StopReason, TokenUsage, ToolUse};
use crate::provider::{Delta, Request};
use crate::reasoning::{self, Reasoning};
use reqwest::header::{AUTHORIZATION, HeaderName};
use serde::Deserialize;
use serde_json::{Value, json};

/// Returns the headers of a request.
pub(crate) fn headers(key: Option<&str>) -> Vec<(HeaderName, String)> {
    key.map(|key| (AUTHORIZATION, format!("Bearer {key}"))).into_iter().collect()
}

/// Builds the request body for a server with this host name. `host` is `None` if the provider is a local program and not a server.
pub(crate) fn body(request: &Request, host: Option<&str>) -> Value {
    let mut body = json!({
        "model": request.model,
        "stream": true,
        "stream_options": { "include_usage": true },
        "messages": messages(request, host == Some("api.deepseek.com")),
    });
    // OpenAI's newer models refuse `max_tokens`, but many other servers know only `max_tokens`.
    let limit = if host == Some("api.openai.com") { "max_completion_tokens" } else { "max_tokens" };
    body[limit] = json!(request.max_output_tokens);
    if let Some(temperature) = request.temperature {
        body["temperature"] = json!(temperature);
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            let function =
                json!({ "name": tool.name, "description": tool.description, "parameters": tool.input_schema });
            json!({ "type": "function", "function": function })
        });
        body["tools"] = tools.collect();
    }
    body
}

fn messages(request: &Request, deepseek: bool) -> Vec<Value> {
    let system =
        (!request.system_prompt.is_empty()).then(|| json!({ "role": "system", "content": request.system_prompt }));
    let conversation = request.messages.iter().map(|message| match message {
        Message::User { text, .. } => json!({ "role": "user", "content": text }),
        Message::Assistant { text, tool_calls, thoughts } if tool_calls.is_empty() => {
            let mut message = json!({ "role": "assistant", "content": text });
            reasoning::write(&mut message, thoughts);
            message
        }
        Message::Assistant { text, tool_calls, thoughts } => {
            let calls = tool_calls.iter().map(|call| {
                // If the arguments are not a JSON object, `{}` is sent instead, because some servers insert the arguments into a prompt and
                // accept only an object.
                let arguments = if call.arguments.is_object() { call.arguments.to_string() } else { "{}".into() };
                let function = json!({ "name": call.name, "arguments": arguments });
                json!({ "id": call.id, "type": "function", "function": function })
            });
            let text = if text.is_empty() { Value::Null } else { json!(text) };
            let mut message = json!({ "role": "assistant", "content": text, "tool_calls": calls.collect::<Vec<_>>() });
            reasoning::write(&mut message, thoughts);
            // DeepSeek refuses messages with tool calls that lack this field, even if there was no thinking.
            if deepseek && message.get(reasoning::CONTENT).is_none() {
                message[reasoning::CONTENT] = json!("");
            }
            message
        }
        Message::Tool { call_id, text, .. } => json!({ "role": "tool", "tool_call_id": call_id, "content": text }),
    });
    let reminders = request.reminders.iter().map(|reminder| json!({ "role": "user", "content": reminder }));
    system.into_iter().chain(conversation).chain(reminders).collect()
}

#[derive(Deserialize)]
struct Chunk {
    choices: Option<Vec<Choice>>,
    usage: Option<Usage>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    delta: Option<ChoiceDelta>,
    finish_reason: Option<String>,
}

#[derive(Default, Deserialize)]
struct ChoiceDelta {
    content: Option<String>,
    refusal: Option<String>,
    tool_calls: Option<Vec<CallPiece>>,
    #[serde(flatten)]
    reasoning: reasoning::ReasoningPiece,
}

#[derive(Deserialize)]
struct CallPiece {
    index: Option<u64>,
    id: Option<String>,
    function: Option<FunctionPiece>,
}

#[derive(Deserialize)]
struct FunctionPiece {
    name: Option<String>,
    arguments: Option<String>,
}

#[derive(Deserialize)]
struct Usage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
}

#[derive(Deserialize)]
struct PromptDetails {
    cached_tokens: Option<u64>,
}

impl Usage {
    fn total(&self) -> TokenUsage {
        TokenUsage {
            input_tokens: self.prompt_tokens.unwrap_or(0),
            cached_input_tokens: self
                .prompt_tokens_details
                .as_ref()
                .and_then(|details| details.cached_tokens)
                .unwrap_or(0),
            output_tokens: self.completion_tokens.unwrap_or(0),
        }
    }
}

#[derive(Default)]
struct OpenCall {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    /// True if the call was already passed on, because its arguments were complete and another call had begun.
    is_handed_on: bool,
}

impl OpenCall {
    fn is_whole(&self) -> bool {
        self.arguments.ends_with('}') && serde_json::from_str::<serde_json::Map<String, Value>>(&self.arguments).is_ok()
    }

    fn finish(self) -> Delta {
        Delta::ToolCall(ToolUse::parse(self.id, self.name, self.arguments))
    }
}

/// Decodes the chunks of one answer.
pub(crate) struct Chunks {
    endpoint: Endpoint,
    /// A number that makes generated identifiers unique in the conversation. They are needed if the server sends no identifiers.
    salt: usize,
    calls: Vec<OpenCall>,
    reasoning: Reasoning,
    finish: Option<StopReason>,
}

impl Chunks {
    pub(crate) fn new(endpoint: Endpoint, salt: usize) -> Self {
        Self { endpoint, salt, calls: Vec::new(), reasoning: Reasoning::default(), finish: None }
    }

    /// Adds a piece of a call. The piece continues the last call that has the same identifier and the same index. An identifier or index
    /// that the piece lacks is not compared. If there is no such call, the piece begins a new call.
    fn call(&mut self, piece: CallPiece) -> Result<(), ProviderError> {
        let id = piece.id.filter(|id| !id.is_empty());
        let continues = |call: &OpenCall| match (&id, piece.index) {
            (Some(id), index) => call.id == *id && (index.is_none() || call.index == index),
            (None, Some(index)) => call.index == Some(index),
            (None, None) => true,
        };
        let place = self.calls.iter().rposition(continues).unwrap_or_else(|| {
            let id = id.clone().unwrap_or_else(|| format!("call_{}_{}", self.salt, self.calls.len()));
            self.calls.push(OpenCall { index: piece.index, id, ..OpenCall::default() });
            self.calls.len() - 1
        });
        let call = &mut self.calls[place];
        if let Some(function) = piece.function {
            let arguments = function.arguments.unwrap_or_default();
            if call.is_handed_on {
                // The call was passed on and may already be running, so its arguments cannot change any more.
                return if arguments.trim().is_empty() { Ok(()) } else { Err(self.continued_too_late()) };
            }
            if let Some(name) = function.name.filter(|name| !name.is_empty()) {
                call.name = name;
            }
            call.arguments.push_str(&arguments);
        }
        Ok(())
    }

    /// Returns the calls that are complete, in order. A call is complete if its arguments are a valid JSON object and another call
    /// has begun.
    fn complete(&mut self) -> Vec<Delta> {
        let Some((_, earlier)) = self.calls.split_last_mut() else { return Vec::new() };
        let mut complete = Vec::new();
        let reasoning = &mut self.reasoning;
        for call in earlier.iter_mut().skip_while(|call| call.is_handed_on) {
            if !call.is_whole() {
                break;
            }
            call.is_handed_on = true;
            // Thinking before a call is passed on with the call, because it would be lost if the answer broke off later.
            complete.extend(reasoning.take());
            let whole = OpenCall { id: call.id.clone(), name: call.name.clone(), ..OpenCall::default() };
            complete.push(OpenCall { arguments: std::mem::take(&mut call.arguments), ..whole }.finish());
        }
        complete
    }

    fn continued_too_late(&self) -> ProviderError {
        let reason = "a tool call continues after its end".into();
        ProviderError::BadAnswer { provider: self.endpoint.provider().to_owned(), reason }
    }

    fn stop(&mut self, reason: StopReason) -> Vec<Delta> {
        let calls = std::mem::take(&mut self.calls).into_iter();
        let calls = calls.filter(|call| !call.is_handed_on).map(OpenCall::finish);
        self.reasoning.take().into_iter().chain(calls).chain([Delta::Stop(reason)]).collect()
    }

    fn failure(&self, body: &Value) -> ProviderError {
        let message = error_message(body).unwrap_or_else(|| "it reported an error".into());
        ProviderError::BrokenStream {
            provider: self.endpoint.provider().to_owned(),
            reason: self.endpoint.quoted(&message),
        }
    }
}

impl Decoder for Chunks {
    fn event(&mut self, data: &str) -> Result<Vec<Delta>, ProviderError> {
        if data.trim() == "[DONE]" {
            let reason = self.finish.take().unwrap_or(StopReason::EndTurn);
            return Ok(self.stop(reason));
        }
        let chunk: Chunk = serde_json::from_str(data).map_err(|error| ProviderError::BadAnswer {
            provider: self.endpoint.provider().to_owned(),
            reason: format!("a chunk that cannot be read, {error}"),
        })?;
        if let Some(error) = chunk.error {
            return Err(self.failure(&json!({ "error": error })));
        }
        let mut deltas = Vec::new();
        // There is only one choice, because each request asks for one choice.
        if let Some(choice) = chunk.choices.into_iter().flatten().next() {
            let piece = choice.delta.unwrap_or_default();
            self.reasoning.push(piece.reasoning);
            let texts = [piece.content, piece.refusal].into_iter().flatten();
            deltas.extend(texts.filter(|text| !text.is_empty()).map(Delta::Text));
            for call in piece.tool_calls.into_iter().flatten() {
                self.call(call)?;
            }
            deltas.extend(self.complete());
            if let Some(word) = choice.finish_reason {
                self.finish = Some(stop_reason(word));
            }
        }
        deltas.extend(chunk.usage.map(|usage| Delta::Usage(usage.total())));
        Ok(deltas)
    }

    /// Ends the answer if it has a finish reason, because some servers close the connection without sending `[DONE]`.
    fn end(&mut self) -> Option<Vec<Delta>> {
        let reason = self.finish.take()?;
        Some(self.stop(reason))
    }
}

fn stop_reason(word: String) -> StopReason {
    match word.as_str() {
        "stop" => StopReason::EndTurn,
        "tool_calls" | "function_call" => StopReason::ToolCalls,
        "length" => StopReason::MaxTokens,
        "content_filter" => StopReason::Refused,
        _ => StopReason::Other(word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::Timeouts;
    use crate::message::{Thinking, ThinkingKind};

    fn chunks() -> Chunks {
        let endpoint = Endpoint::new("local", "http://localhost:1/v1", None, Timeouts::default()).unwrap();
        Chunks::new(endpoint, 0)
    }

    fn piece(index: u64, id: Option<&str>, arguments: &str) -> String {
        let call = json!({ "index": index, "id": id, "function": { "name": "bash", "arguments": arguments } });
        json!({ "choices": [{ "delta": { "tool_calls": [call] } }] }).to_string()
    }

    fn ids(deltas: &[Delta]) -> Vec<&str> {
        let calls = deltas.iter().filter_map(|delta| if let Delta::ToolCall(call) = delta { Some(call) } else { None });
        calls.map(|call| call.id.as_str()).collect()
    }

    #[test]
    fn deepseek_gets_the_field_that_it_asks_for_with_each_answer_that_calls() {
        let call = || ToolUse { id: "a".into(), name: "bash".into(), arguments: json!({}) };
        let thought = crate::message::Thoughts {
            thinking: vec![Thinking::new(ThinkingKind::ReasoningContent, "I wonder.", "")],
            ..crate::message::Thoughts::default()
        };
        let request = Request {
            model: "m".into(),
            system_prompt: String::new(),
            messages: vec![
                Message::assistant("", vec![call()]),
                Message::Assistant { text: String::new(), tool_calls: vec![call()], thoughts: thought },
                Message::assistant("Done.", Vec::new()),
            ],
            reminders: Vec::new(),
            tools: Vec::new(),
            max_output_tokens: 10,
            temperature: None,
        };
        let reasoning = |deepseek: bool| -> Vec<Option<Value>> {
            let messages = messages(&request, deepseek);
            messages.iter().map(|message| message.get("reasoning_content").cloned()).collect()
        };
        assert_eq!(reasoning(true), [Some(json!("")), Some(json!("I wonder.")), None]);
        assert_eq!(reasoning(false), [None, Some(json!("I wonder.")), None]);
    }

    #[test]
    fn a_call_comes_when_another_begins_and_its_arguments_are_whole() {
        let mut chunks = chunks();
        assert!(chunks.event(&piece(0, Some("a"), "{\"command\":")).unwrap().is_empty());
        assert!(chunks.event(&piece(0, None, "\"ls\"}")).unwrap().is_empty());
        let deltas = chunks.event(&piece(1, Some("b"), "{")).unwrap();
        assert_eq!(ids(&deltas), ["a"]);
        let Delta::ToolCall(call) = &deltas[0] else { panic!("{deltas:?}") };
        assert_eq!(call.arguments, json!({ "command": "ls" }));
        assert!(chunks.event(&piece(1, None, "}")).unwrap().is_empty());
        // The last call is returned at the end, and the first call is not returned again.
        assert_eq!(ids(&chunks.event("[DONE]").unwrap()), ["b"]);
    }

    #[test]
    fn calls_whose_pieces_take_turns_wait_until_they_are_whole() {
        let mut chunks = chunks();
        for (index, id, arguments) in [(0, Some("a"), "{"), (1, Some("b"), "{"), (1, None, "}")] {
            assert!(chunks.event(&piece(index, id, arguments)).unwrap().is_empty());
        }
        assert_eq!(ids(&chunks.event(&piece(0, None, "}")).unwrap()), ["a"]);
        assert_eq!(ids(&chunks.event("[DONE]").unwrap()), ["b"]);
    }

    #[test]
    fn what_still_comes_for_a_call_that_may_be_running_is_an_error() {
        let mut chunks = chunks();
        chunks.event(&piece(0, Some("a"), "{}")).unwrap();
        chunks.event(&piece(1, Some("b"), "{}")).unwrap();
        assert!(chunks.event(&piece(0, None, " ")).unwrap().is_empty());
        let error = chunks.event(&piece(0, None, "{\"command\":\"rm\"}")).unwrap_err();
        assert!(matches!(error, ProviderError::BadAnswer { .. }), "{error}");
    }
}
