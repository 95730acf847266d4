//! The conversation in no provider's dialect: what the loop keeps, the session store writes and a provider translates.
//!
//! A conversation is valid for every provider if each tool call of an assistant message has exactly one result before
//! the next assistant message; [`unanswered`] finds the calls that have none.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub enum Message {
    /// What the model is asked, in the user's role: not always by the user.
    User {
        /// The text.
        text: String,
        /// Whose words these are.
        #[serde(default, skip_serializing_if = "Author::is_user")]
        author: Author,
    },
    /// One answer of the model.
    Assistant {
        /// Its text; may be empty where it only calls tools.
        text: String,
        /// The tools it calls, in the order in which it named them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolUse>,
        /// What it thought before; nothing of it is part of the answer.
        #[serde(default, skip_serializing_if = "Thoughts::is_empty")]
        thoughts: Thoughts,
    },
    /// The result of one tool call.
    Tool {
        /// The [`ToolUse::id`] that this answers.
        call_id: String,
        /// The tool's name.
        name: String,
        /// What the model reads.
        text: String,
        /// Whether the tool failed, was refused or was aborted.
        is_error: bool,
    },
}

/// Who wrote a message that goes to the model in the user's role.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Author {
    /// The user.
    #[default]
    User,
    /// The model: a task of its own plan, or one that it gave a sub-agent.
    Model,
    /// A plugin: a task that it queued.
    Plugin,
    /// The loop, about what a policy refused.
    Policy,
}

impl Author {
    /// All there are.
    pub const ALL: [Self; 4] = [Self::User, Self::Model, Self::Plugin, Self::Policy];

    /// The word for it, as in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Model => "model",
            Self::Plugin => "plugin",
            Self::Policy => "policy",
        }
    }

    /// The one of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|author| author.name() == name)
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
    fn is_user(&self) -> bool {
        *self == Self::User
    }
}

impl Message {
    /// What the user says.
    #[must_use]
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { text: text.into(), author: Author::User }
    }

    /// Whether it is what a task begins with.
    pub(crate) fn is_prompt(&self) -> bool {
        matches!(self, Self::User { author, .. } if *author != Author::Policy)
    }

    /// An answer without thoughts.
    #[must_use]
    pub fn assistant(text: impl Into<String>, tool_calls: Vec<ToolUse>) -> Self {
        Self::Assistant { text: text.into(), tool_calls, thoughts: Thoughts::default() }
    }

    /// "user", "assistant" or "tool".
    #[must_use]
    pub fn role(&self) -> &'static str {
        match self {
            Self::User { .. } => "user",
            Self::Assistant { .. } => "assistant",
            Self::Tool { .. } => "tool",
        }
    }

    /// Bytes of what it says, calls and thought.
    pub(crate) fn size(&self) -> usize {
        let Self::Assistant { text, tool_calls, thoughts } = self else { return self.text().len() };
        let calls = tool_calls.iter().map(|call| call.name.len() + call.arguments.to_string().len());
        let thinking = thoughts.thinking.iter().map(|thinking| thinking.text.len() + thinking.signature.len());
        text.len() + calls.chain(thinking).sum::<usize>()
    }

    /// The message's text, without its tool calls.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::User { text, .. } | Self::Assistant { text, .. } | Self::Tool { text, .. } => text,
        }
    }
}

/// A tool call as the model asked for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct ToolUse {
    /// Unique in its conversation; the provider's own identifier.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// A JSON object, or, where the model did not write one, its text as a JSON string.
    pub arguments: Value,
}

impl ToolUse {
    /// A call with arguments that are read already.
    #[must_use]
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: Value) -> Self {
        Self { id: id.into(), name: name.into(), arguments }
    }

    /// A call from the text of its arguments: no text at all is the empty object, text that is no JSON object is kept
    /// as it is, so that the model can be told.
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

/// What a model thought before an answer, and which model it was: only that one can make anything of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Thoughts {
    /// The provider's name as configured.
    pub provider: String,
    /// The model's name as it was asked for.
    pub model: String,
    /// The pieces, in the order in which they came.
    pub thinking: Vec<Thinking>,
}

impl Thoughts {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.thinking.is_empty()
    }
}

/// A piece of thinking as the provider gave it. It goes back to the same model unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Thinking {
    /// Under which name it came, and goes back.
    pub kind: ThinkingKind,
    /// What it says; of [`ThinkingKind::ReasoningDetails`] a JSON array.
    pub text: String,
    /// The provider's signature of it; of [`ThinkingKind::RedactedThinking`] all that there is. Empty if there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub signature: String,
    /// How much of the answer's text came before it, in bytes.
    #[serde(default)]
    pub text_before: usize,
    /// How many of the answer's tool calls came before it.
    #[serde(default)]
    pub calls_before: usize,
}

impl Thinking {
    /// The text for a person; `None` where there is none, such as of an encrypted piece.
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

    /// Before all else that the answer says.
    #[must_use]
    pub fn new(kind: ThinkingKind, text: impl Into<String>, signature: impl Into<String>) -> Self {
        Self { kind, text: text.into(), signature: signature.into(), text_before: 0, calls_before: 0 }
    }
}

/// What the protocols call thinking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ThinkingKind {
    /// A block `thinking` of Anthropic's protocol.
    Thinking,
    /// A block `redacted_thinking` of it: encrypted.
    RedactedThinking,
    /// The field `reasoning_content` of DeepSeek, z.ai, Fireworks and llama.cpp.
    ReasoningContent,
    /// The field `reasoning` of Groq, Ollama, vLLM and OpenRouter.
    Reasoning,
    /// The field `reasoning_details` of OpenRouter, which has the signatures of the models behind it.
    ReasoningDetails,
}

impl ThinkingKind {
    /// Whether its provider checks that the messages before it are unchanged.
    #[must_use]
    pub(crate) fn is_signed(self) -> bool {
        matches!(self, Self::Thinking | Self::RedactedThinking)
    }

    const ALL: [Self; 5] =
        [Self::Thinking, Self::RedactedThinking, Self::ReasoningContent, Self::Reasoning, Self::ReasoningDetails];

    /// The protocol's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Thinking => "thinking",
            Self::RedactedThinking => "redacted_thinking",
            Self::ReasoningContent => "reasoning_content",
            Self::Reasoning => "reasoning",
            Self::ReasoningDetails => "reasoning_details",
        }
    }

    /// The one of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// What a model call used, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct TokenUsage {
    /// All tokens of the request, those read from and written to the provider's cache included.
    pub input_tokens: u64,
    /// The part of `input_tokens` that the provider read from its cache.
    pub cached_input_tokens: u64,
    /// Tokens of the answer.
    pub output_tokens: u64,
}

impl TokenUsage {
    /// What a call used, with nothing read from a cache.
    #[must_use]
    pub const fn new(input_tokens: u64, output_tokens: u64) -> Self {
        Self { input_tokens, cached_input_tokens: 0, output_tokens }
    }

    /// The same, where the provider read `cached` of the input from its cache.
    #[must_use]
    pub const fn cached(self, cached: u64) -> Self {
        Self { cached_input_tokens: cached, ..self }
    }

    /// Adds what another model call used; stops at [`u64::MAX`].
    pub fn add(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.cached_input_tokens = self.cached_input_tokens.saturating_add(other.cached_input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
    }

    /// What was used since it was `before`.
    #[must_use]
    pub const fn since(self, before: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_sub(before.input_tokens),
            cached_input_tokens: self.cached_input_tokens.saturating_sub(before.cached_input_tokens),
            output_tokens: self.output_tokens.saturating_sub(before.output_tokens),
        }
    }
}

/// Why an answer ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum StopReason {
    /// The model had said what it wanted to say.
    EndTurn,
    /// It waits for the results of its tool calls.
    ToolCalls,
    /// The limit on output tokens cut it.
    MaxTokens,
    /// The provider's own filter stopped it, or the model declined.
    Refused,
    /// Another reason, in the provider's words.
    Other(String),
}

impl StopReason {
    /// The reason as plugins are told it: `end-turn`, `tool-calls`, `max-tokens`, `refused`, or the provider's word.
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

/// The calls of the last assistant message that have no result yet, in call order.
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
