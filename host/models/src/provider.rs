//! A source of model answers behind one small trait. The agent loop knows nothing of HTTP or of any provider's dialect.

use crate::error::ProviderError;
use crate::message::{Message, StopReason, Thinking, Thoughts, TokenUsage, ToolUse};
use async_trait::async_trait;
use futures_util::stream::BoxStream;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt::Debug;

/// A source of model answers.
#[async_trait]
pub trait Provider: Send + Sync + Debug {
    /// Returns the provider's name in the configuration, which plugins and people see.
    fn name(&self) -> &str;

    /// Returns a notice for the user before the first answer, such as that no real model answers.
    fn notice(&self) -> Option<String> {
        None
    }

    /// Sends one request. The stream yields the pieces of the answer as they arrive, and ends after its only
    /// [`Delta::Stop`]. Dropping the stream closes the connection.
    ///
    /// # Errors
    /// Returns an error if there is no answer. The stream yields an error if the answer breaks off, and nothing after
    /// it.
    async fn send(&self, request: Request) -> Result<DeltaStream, ProviderError>;

    /// Returns the request body in the provider's protocol, without headers and keys, for plugins. Default: the request
    /// as JSON.
    fn body(&self, request: &Request) -> Value {
        serde_json::to_value(request).unwrap_or_default()
    }

    /// Sends a request with a body that plugins may have changed. `body` is sent, not [`Self::body`] of the request.
    ///
    /// # Errors
    /// Returns the errors of [`Self::send`], and an error if `body` is no longer a valid request.
    async fn send_body(&self, request: Request, body: Value) -> Result<DeltaStream, ProviderError> {
        let changed = serde_json::from_value(body).map_err(|error| ProviderError::ChangedRequest {
            provider: self.name().to_owned(),
            model: request.model,
            reason: error.to_string(),
        })?;
        self.send(changed).await
    }
}

/// Stream of the pieces of one answer.
pub type DeltaStream = BoxStream<'static, Result<Delta, ProviderError>>;

/// A piece of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Delta {
    /// Additional text.
    Text(String),
    /// A complete tool call. It comes as soon as the call can no longer change, possibly long before the answer ends.
    ToolCall(ToolUse),
    /// A complete piece of thinking, to be sent back to the model. Its place is after everything that the stream has
    /// yielded before.
    Thinking(Thinking),
    /// Tokens used by the call so far. A later value replaces an earlier one.
    Usage(TokenUsage),
    /// The answer is complete.
    Stop(StopReason),
}

/// One request to a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Request {
    /// Name of the model, passed on unchanged.
    pub model: String,
    /// Instructions before the conversation; empty for none.
    pub system_prompt: String,
    /// Conversation, oldest message first.
    pub messages: Vec<Message>,
    /// Texts after the conversation in this request only. The messages before them stay the same in the next request,
    /// so the provider's cache can hold them.
    pub reminders: Vec<String>,
    /// Tools that the model may call.
    pub tools: Vec<ToolDefinition>,
    /// Maximum length of the answer, in tokens.
    pub max_output_tokens: u32,
    /// Sampling temperature. `None`: the model's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f32>,
}

impl Request {
    /// Creates a request with only a conversation, for an answer of at most `max_output_tokens`.
    #[must_use]
    pub fn new(model: impl Into<String>, messages: Vec<Message>, max_output_tokens: u32) -> Self {
        Self {
            model: model.into(),
            system_prompt: String::new(),
            messages,
            reminders: Vec::new(),
            tools: Vec::new(),
            max_output_tokens,
            temperature: None,
        }
    }

    /// Removes thinking that this model of `provider` did not produce.
    pub fn forget_thoughts_of_others(&mut self, provider: &str) {
        for message in &mut self.messages {
            if let Message::Assistant { thoughts, .. } = message
                && (thoughts.provider != provider || thoughts.model != self.model)
            {
                *thoughts = Thoughts::default();
            }
        }
    }

    /// Estimates the size in tokens as a quarter of the bytes.
    #[must_use]
    pub fn estimated_tokens(&self) -> u64 {
        let messages = self.messages.iter().map(Message::size);
        let tools = self.tools.iter().map(|tool| tool.description.len() + tool.input_schema.to_string().len());
        let reminders = self.reminders.iter().map(String::len);
        let bytes = self.system_prompt.len() + messages.chain(tools).chain(reminders).sum::<usize>();
        u64::try_from(bytes.div_ceil(4)).unwrap_or(u64::MAX)
    }
}

/// Definition of a tool for the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct ToolDefinition {
    /// Name of the tool.
    pub name: String,
    /// Description for the model: purpose and use.
    pub description: String,
    /// JSON Schema of the arguments object.
    pub input_schema: Value,
}

impl ToolDefinition {
    /// Creates a definition. `input_schema` is the JSON Schema of the arguments object.
    #[must_use]
    pub fn new(name: impl Into<String>, description: impl Into<String>, input_schema: Value) -> Self {
        Self { name: name.into(), description: description.into(), input_schema }
    }
}
