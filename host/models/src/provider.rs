//! The trait that all sources of model answers implement. It hides HTTP and the protocols of the providers from the agent loop.

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

    /// Returns a notice that the user gets before the first answer. For example, the notice says that no real model answers.
    fn notice(&self) -> Option<String> {
        None
    }

    /// Sends one request. The stream yields the pieces of the answer as they arrive. The last piece is [`Delta::Stop`]. Dropping
    /// the stream closes the connection.
    ///
    /// # Errors
    /// Returns an error if there is no answer. If the answer breaks off, the stream yields an error and ends.
    async fn send(&self, request: Request) -> Result<DeltaStream, ProviderError>;

    /// Returns the request body in the provider's protocol, without headers and keys. Plugins can read and change this body. By
    /// default, the body is the request as JSON.
    fn body(&self, request: &Request) -> Value {
        serde_json::to_value(request).unwrap_or_default()
    }

    /// Sends a request with `body`, which plugins may have changed, instead of [`Self::body`].
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
    /// A complete tool call. It is yielded as soon as the call can no longer change, which may be long before the end of the
    /// answer.
    ToolCall(ToolUse),
    /// A complete piece of thinking, which must be sent back to the model. Its position in the answer is after all pieces that the
    /// stream has yielded before.
    Thinking(Thinking),
    /// Tokens used by the call so far. A later value replaces an earlier value.
    Usage(TokenUsage),
    /// The answer is complete.
    Stop(StopReason),
}

/// One request to a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Request {
    /// Name of the model, which is sent unchanged.
    pub model: String,
    /// Instructions before the conversation, or an empty string if there are none.
    pub system_prompt: String,
    /// Conversation, with the oldest message first.
    pub messages: Vec<Message>,
    /// Texts that follow the conversation in this request only. Because they are at the end, the next request begins with the same
    /// messages, and the provider can use its cache for them.
    pub reminders: Vec<String>,
    /// Tools that the model may call.
    pub tools: Vec<ToolDefinition>,
    /// Maximum length of the answer, in tokens.
    pub max_output_tokens: u32,
    /// Sampling temperature. `None` selects the model's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f32>,
}

impl Request {
    /// Creates a request that contains only a conversation. The answer is limited to `max_output_tokens`.
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

    /// Removes all thinking that was not produced by the request's model of the provider `provider`.
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
    /// Description of the tool's purpose and use, for the model.
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
