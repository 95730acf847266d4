//! A conversation in a form that does not depend on the provider. The agent loop keeps the conversation in this form, the session
//! store writes it to a file, and each provider translates it to its protocol.
//!
//! A conversation is valid for every provider if each tool call of an assistant message has exactly one result before the next
//! assistant message. [`unanswered`] returns the calls that have no result yet.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub enum Message {
    /// A text in the user's role. Its author can also be the model, a plugin or the agent loop.
    User {
        /// The text.
        text: String,
        /// Author of the text.
        #[serde(default, skip_serializing_if = "Author::is_user")]
        author: Author,
    },
    /// One answer of the model.
    Assistant {
        /// Text of the answer. It may be empty if the answer only calls tools.
        text: String,
        /// Tool calls, in the model's order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolUse>,
        /// Thinking before the answer. It is not part of the answer.
        #[serde(default, skip_serializing_if = "Thoughts::is_empty")]
        thoughts: Thoughts,
    },
    /// The result of one tool call.
    Tool {
        /// The [`ToolUse::id`] of the call.
        call_id: String,
        /// Name of the tool.
        name: String,
        /// Text for the model.
        text: String,
        /// True if the tool failed, was refused or was aborted.
        is_error: bool,
    },
}

/// Author of a message in the user's role.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Author {
    /// The user.
    #[default]
    User,
    /// The model. The message is a task from a plan of the model, or a task that the model gave to a sub-agent.
    Model,
    /// A plugin. The message is a task that the plugin queued.
    Plugin,
    /// The agent loop. The message reports that a policy refused something.
    Policy,
}

impl Author {
    /// All authors.
    pub const ALL: [Self; 4] = [Self::User, Self::Model, Self::Plugin, Self::Policy];

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
    fn is_user(&self) -> bool {
        *self == Self::User
    }
}

impl Message {
    /// Creates a message of the user.
    #[must_use]
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { text: text.into(), author: Author::User }
    }

    /// Returns true if a new task begins with this message.
    #[must_use]
    pub fn is_prompt(&self) -> bool {
        matches!(self, Self::User { author, .. } if *author != Author::Policy)
    }

    /// Creates an answer without thoughts.
    #[must_use]
    pub fn assistant(text: impl Into<String>, tool_calls: Vec<ToolUse>) -> Self {
        Self::Assistant { text: text.into(), tool_calls, thoughts: Thoughts::default() }
    }

    /// Returns "user", "assistant" or "tool".
    #[must_use]
    pub fn role(&self) -> &'static str {
        match self {
            Self::User { .. } => "user",
            Self::Assistant { .. } => "assistant",
            Self::Tool { .. } => "tool",
        }
    }

    /// Returns the total size of the text, the tool calls and the thinking, in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        let Self::Assistant { text, tool_calls, thoughts } = self else { return self.text().len() };
        let calls = tool_calls.iter().map(|call| call.name.len() + call.arguments.to_string().len());
        let thinking = thoughts.thinking.iter().map(|thinking| thinking.text.len() + thinking.signature.len());
        text.len() + calls.chain(thinking).sum::<usize>()
    }

    /// Returns the text, without tool calls.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::User { text, .. } | Self::Assistant { text, .. } | Self::Tool { text, .. } => text,
        }
    }
}

/// A tool call of the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct ToolUse {
    /// Identifier from the provider, unique in the conversation.
    pub id: String,
    /// Name of the tool.
    pub name: String,
    /// The arguments as a JSON object. If the model's arguments are not a JSON object, their text is stored as a JSON string.
    pub arguments: Value,
}

impl ToolUse {
    /// Creates a call with parsed arguments.
    #[must_use]
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: Value) -> Self {
        Self { id: id.into(), name: name.into(), arguments }
    }

    /// Parses the arguments of a call. Empty text becomes the empty object. Text that is not a JSON object is kept as a string,
    /// because the model must learn about its mistake.
    #[must_use]
    pub fn parse(id: String, name: String, arguments: String) -> Self {
        let arguments = match serde_json::from_str::<Value>(&arguments) {
            Ok(value @ Value::Object(_)) => value,
            _ if arguments.trim().is_empty() => Value::Object(serde_json::Map::new()),
            _ => Value::String(arguments),
        };
        Self { id, name, arguments }
    }
}

/// Thinking before an answer, with the name of the model that produced it. Only that model can use the thinking again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Thoughts {
    /// Name of the provider in the configuration.
    pub provider: String,
    /// Name of the model in the request.
    pub model: String,
    /// Pieces of thinking, in order of arrival.
    pub thinking: Vec<Thinking>,
}

impl Thoughts {
    /// Creates the thinking of an answer, from its pieces.
    #[must_use]
    pub fn new(provider: impl Into<String>, model: impl Into<String>, thinking: Vec<Thinking>) -> Self {
        Self { provider: provider.into(), model: model.into(), thinking }
    }

    /// Returns true if there is no thinking.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.thinking.is_empty()
    }
}

/// A piece of thinking, as the provider sent it. It is sent back to the same model unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Thinking {
    /// Element of the protocol in which the piece was received and in which it is sent back.
    pub kind: ThinkingKind,
    /// Text of the piece. For [`ThinkingKind::ReasoningDetails`], this is a JSON array.
    pub text: String,
    /// The provider's signature, or an empty string if there is none. For [`ThinkingKind::RedactedThinking`], this is the encrypted
    /// content, and the text is empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub signature: String,
    /// Number of bytes of the answer's text before this piece.
    #[serde(default)]
    pub text_before: usize,
    /// Number of the answer's tool calls before this piece.
    #[serde(default)]
    pub calls_before: usize,
}

impl Thinking {
    /// Returns the text that people can read, or `None` if there is no such text, for example in an encrypted piece.
    #[must_use]
    pub fn readable(&self) -> Option<String> {
        let text = match self.kind {
            ThinkingKind::RedactedThinking => return None,
            ThinkingKind::ReasoningDetails => {
                let details: Vec<Value> = serde_json::from_str(&self.text).ok()?;
                let texts = details.iter().filter_map(|detail| detail.get("text").or(detail.get("summary"))?.as_str());
                texts.collect::<Vec<_>>().join("\n")
            }
            _ => self.text.clone(),
        };
        (!text.trim().is_empty()).then_some(text)
    }

    /// Creates a piece that comes before everything else in its answer.
    #[must_use]
    pub fn new(kind: ThinkingKind, text: impl Into<String>, signature: impl Into<String>) -> Self {
        Self { kind, text: text.into(), signature: signature.into(), text_before: 0, calls_before: 0 }
    }
}

/// Elements of the protocols that contain thinking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ThinkingKind {
    /// Block `thinking` of Anthropic's protocol.
    Thinking,
    /// Block `redacted_thinking` of Anthropic's protocol, which is encrypted.
    RedactedThinking,
    /// Field `reasoning_content` of DeepSeek, z.ai, Fireworks and llama.cpp.
    ReasoningContent,
    /// Field `reasoning` of Groq, Ollama, vLLM and OpenRouter.
    Reasoning,
    /// Field `reasoning_details` of OpenRouter, with the signatures of the upstream models.
    ReasoningDetails,
}

impl ThinkingKind {
    /// Returns true if the provider checks that the messages before a piece of this kind are unchanged.
    #[must_use]
    pub fn is_signed(self) -> bool {
        matches!(self, Self::Thinking | Self::RedactedThinking)
    }
}

/// Token counts of one or more model calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct TokenUsage {
    /// Input tokens, including those read from and written to the provider's cache.
    pub input_tokens: u64,
    /// Part of `input_tokens` that came from the provider's cache.
    pub cached_input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
}

impl TokenUsage {
    /// Creates a count without cached tokens.
    #[must_use]
    pub const fn new(input_tokens: u64, output_tokens: u64) -> Self {
        Self { input_tokens, cached_input_tokens: 0, output_tokens }
    }

    /// Sets the number of cached input tokens.
    #[must_use]
    pub const fn cached(self, cached: u64) -> Self {
        Self { cached_input_tokens: cached, ..self }
    }

    /// Adds another count. The sums saturate at [`u64::MAX`].
    pub fn add(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.cached_input_tokens = self.cached_input_tokens.saturating_add(other.cached_input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
    }

    /// Returns the difference between this count and an earlier count.
    #[must_use]
    pub const fn since(self, before: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_sub(before.input_tokens),
            cached_input_tokens: self.cached_input_tokens.saturating_sub(before.cached_input_tokens),
            output_tokens: self.output_tokens.saturating_sub(before.output_tokens),
        }
    }
}

/// Reason why an answer ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum StopReason {
    /// The model has finished.
    EndTurn,
    /// The model waits for the results of its tool calls.
    ToolCalls,
    /// The answer reached the limit on output tokens.
    MaxTokens,
    /// The provider's filter stopped the answer, or the model declined to answer.
    Refused,
    /// Another reason, as the provider names it.
    Other(String),
}

impl StopReason {
    /// Returns the name that plugins get, which is `end-turn`, `tool-calls`, `max-tokens`, `refused`, or the provider's own name of
    /// another reason.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::EndTurn => "end-turn",
            Self::ToolCalls => "tool-calls",
            Self::MaxTokens => "max-tokens",
            Self::Refused => "refused",
            Self::Other(word) => word,
        }
    }
}

/// Returns the tool calls of the last assistant message that have no result yet, in the order of the message.
#[must_use]
pub fn unanswered(messages: &[Message]) -> Vec<&ToolUse> {
    let Some(last) = messages.iter().rposition(|message| matches!(message, Message::Assistant { .. })) else {
        return Vec::new();
    };
    let Message::Assistant { tool_calls, .. } = &messages[last] else { return Vec::new() };
    let answered = |id: &str| {
        messages[last + 1..].iter().any(|message| matches!(message, Message::Tool { call_id, .. } if call_id == id))
    };
    tool_calls.iter().filter(|call| !answered(&call.id)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn calls_without_a_result_are_found_in_call_order() {
        let call = |id: &str| ToolUse { id: id.into(), name: "bash".into(), arguments: json!({}) };
        let result =
            |id: &str| Message::Tool { call_id: id.into(), name: "bash".into(), text: String::new(), is_error: false };
        let mut messages =
            vec![Message::user("go"), Message::assistant("", vec![call("a"), call("b"), call("c")]), result("b")];
        let ids = |messages: &[Message]| unanswered(messages).iter().map(|call| call.id.clone()).collect::<Vec<_>>();
        assert_eq!(ids(&messages), ["a", "c"]);
        messages.extend([result("a"), result("c")]);
        assert!(ids(&messages).is_empty());
    }

    #[test]
    fn arguments_that_are_not_an_object_are_kept_as_text() {
        let parsed = |text: &str| ToolUse::parse("1".into(), "bash".into(), text.into()).arguments;
        assert_eq!(parsed(""), json!({}));
        assert_eq!(parsed(r#"{"a":1}"#), json!({"a": 1}));
        assert_eq!(parsed(r#"{"a":"#), json!(r#"{"a":"#));
        assert_eq!(parsed("[1]"), json!("[1]"));
    }
}
