//! Where the model's answers come from. One small trait; the loop knows nothing of HTTP or of any provider's dialect.
//!
//! [`anthropic`] and [`openai`] speak the two streaming protocols that most servers offer; [`scripted`] plays a file.

pub mod anthropic;
pub(crate) mod builtin;
mod error;
mod http;
mod keys;
pub mod openai;
mod origin;
pub(crate) mod probe;
pub(crate) mod program;
mod reasoning;
mod retry;
pub mod scripted;
pub(crate) mod variant;

pub use error::ProviderError;
pub(crate) use http::client as http_client;
pub use http::{Endpoint, Timeouts};
pub use keys::{Keys, KeysError};
pub use origin::Origin;
pub(crate) use origin::{carries_a_key, is_in_the_clear};
pub use program::{ProgramFacts, ProviderProgram};
pub use retry::RetryPolicy;

use crate::message::{Message, StopReason, Thinking, Thoughts, TokenUsage, ToolUse};
use async_trait::async_trait;
use futures_util::stream::BoxStream;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt::Debug;

/// A source of model answers.
#[async_trait]
pub trait Provider: Send + Sync + Debug {
    /// The provider's name in the configuration, as plugins and people see it.
    fn name(&self) -> &str;

    /// Notices for the user before the first answer, such as that this is not a real model.
    fn notice(&self) -> Option<String> {
        None
    }

    /// Sends one request. The stream yields an answer's pieces as they arrive and ends after its one
    /// [`Delta::Stop`]; dropping it drops the connection.
    ///
    /// # Errors
    /// Here, where there is no answer; in the stream, where it breaks off. Nothing follows an error.
    async fn send(&self, request: Request) -> Result<DeltaStream, ProviderError>;

    /// The body of a request as the provider's protocol has it, without headers and keys: what
    /// plugins see of it. Default: the request itself as JSON.
    fn body(&self, request: &Request) -> Value {
        serde_json::to_value(request).unwrap_or_default()
    }

    /// Sends a request whose [`Self::body`] plugins have seen, and may have changed: what is sent is `body`.
    ///
    /// # Errors
    /// As [`Self::send`], and where `body` is no request any more.
    async fn send_body(&self, request: Request, body: Value) -> Result<DeltaStream, ProviderError> {
        let changed = serde_json::from_value(body).map_err(|error| ProviderError::ChangedRequest {
            provider: self.name().to_owned(),
            model: request.model,
            reason: error.to_string(),
        })?;
        self.send(changed).await
    }
}

/// The pieces of one answer.
pub type DeltaStream = BoxStream<'static, Result<Delta, ProviderError>>;

/// A piece of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Delta {
    /// More text.
    Text(String),
    /// A tool call, complete: it comes as soon as nothing can be added to it, which may be long before the answer ends.
    ToolCall(ToolUse),
    /// Something that the model thought, complete. It is kept for the model. What came before it is
    /// what this stream has said before it.
    Thinking(Thinking),
    /// What the call has used so far; a later one replaces it.
    Usage(TokenUsage),
    /// The answer is complete.
    Stop(StopReason),
}

/// One request to a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Request {
    /// The model's name, passed on as it is.
    pub model: String,
    /// Instructions before the conversation; none where empty.
    pub system_prompt: String,
    /// The conversation, oldest first.
    pub messages: Vec<Message>,
    /// Put after the conversation, in this request only: the messages before them stay the same from request to
    /// request, and so in the provider's cache.
    pub reminders: Vec<String>,
    /// What the model may call.
    pub tools: Vec<ToolDefinition>,
    /// Longest answer, in tokens.
    pub max_output_tokens: u32,
    /// Sampling temperature; absent: the model's own default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f32>,
}

impl Request {
    /// A request with nothing but the conversation, for an answer of `max_output_tokens` at most.
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

    /// Leaves out what other models than this one of `provider` have thought.
    pub(crate) fn forget_thoughts_of_others(&mut self, provider: &str) {
        for message in &mut self.messages {
            if let Message::Assistant { thoughts, .. } = message
                && (thoughts.provider != provider || thoughts.model != self.model)
            {
                *thoughts = Thoughts::default();
            }
        }
    }

    /// A rough size in tokens: a quarter of the bytes.
    #[must_use]
    pub fn estimated_tokens(&self) -> u64 {
        let messages = self.messages.iter().map(Message::size);
        let tools = self.tools.iter().map(|tool| tool.description.len() + tool.input_schema.to_string().len());
        let reminders = self.reminders.iter().map(String::len);
        let bytes = self.system_prompt.len() + messages.chain(tools).chain(reminders).sum::<usize>();
        u64::try_from(bytes.div_ceil(4)).unwrap_or(u64::MAX)
    }
}

/// A tool's definition, as the model gets it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct ToolDefinition {
    /// What the model calls it.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// A JSON Schema of the arguments object.
    pub input_schema: Value,
}

impl ToolDefinition {
    /// The tool of this name and description, with the JSON Schema of its arguments object.
    #[must_use]
    pub fn new(name: impl Into<String>, description: impl Into<String>, input_schema: Value) -> Self {
        Self { name: name.into(), description: description.into(), input_schema }
    }
}
