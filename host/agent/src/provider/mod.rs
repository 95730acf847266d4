//! Where the model's answers come from. One small trait; the loop knows nothing of HTTP or of any provider's dialect.
//!
//! [`anthropic`] and [`openai`] speak the two streaming protocols that most servers offer; [`scripted`] plays a file.

pub mod anthropic;
mod error;
mod http;
mod keys;
pub mod openai;
pub(crate) mod ready;
mod retry;
pub mod scripted;
pub(crate) mod shipped;

pub use error::ProviderError;
pub(crate) use http::client as http_client;
pub use http::{Endpoint, Timeouts};
pub use keys::{Keys, KeysError};
pub use retry::RetryPolicy;

use crate::message::{Message, StopReason, TokenUsage, ToolUse};
use async_trait::async_trait;
use futures_util::stream::BoxStream;
use serde_json::Value;
use std::fmt::Debug;

/// A source of model answers.
#[async_trait]
pub trait Provider: Send + Sync + Debug {
    /// The provider's name in the configuration, as plugins and people see it.
    fn name(&self) -> &str;

    /// What people should be told before the first answer, such as that no model is behind this.
    fn notice(&self) -> Option<String> {
        None
    }

    /// Sends one request. The stream yields an answer's pieces as they arrive and ends behind its one
    /// [`Delta::Stop`]; dropping it drops the connection.
    ///
    /// # Errors
    /// Here, where there is no answer; in the stream, where it breaks off. Nothing follows an error.
    async fn send(&self, request: Request) -> Result<DeltaStream, ProviderError>;
}

/// The pieces of one answer.
pub type DeltaStream = BoxStream<'static, Result<Delta, ProviderError>>;

/// A piece of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Delta {
    /// More text.
    Text(String),
    /// A tool call, complete.
    ToolCall(ToolUse),
    /// What the call has used so far; a later one replaces it.
    Usage(TokenUsage),
    /// The answer is complete.
    Stop(StopReason),
}

/// One request to a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The model's name, passed on as it is.
    pub model: String,
    /// Instructions before the conversation; none where empty.
    pub system_prompt: String,
    /// The conversation, oldest first.
    pub messages: Vec<Message>,
    /// Put behind the conversation, in this request only: what stands before them stays the same from request to
    /// request, and so in the provider's cache.
    pub reminders: Vec<String>,
    /// What the model may call.
    pub tools: Vec<ToolDefinition>,
    /// Longest answer, in tokens.
    pub max_output_tokens: u32,
}

impl Request {
    /// A rough size in tokens: a quarter of the bytes.
    #[must_use]
    pub fn estimated_tokens(&self) -> u64 {
        let messages = self.messages.iter().map(|message| match message {
            Message::Assistant { text, tool_calls } => {
                text.len()
                    + tool_calls.iter().map(|call| call.name.len() + call.arguments.to_string().len()).sum::<usize>()
            }
            Message::User { text } | Message::Tool { text, .. } => text.len(),
        });
        let tools = self.tools.iter().map(|tool| tool.description.len() + tool.input_schema.to_string().len());
        let reminders = self.reminders.iter().map(String::len);
        let bytes = self.system_prompt.len() + messages.chain(tools).chain(reminders).sum::<usize>();
        u64::try_from(bytes.div_ceil(4)).unwrap_or(u64::MAX)
    }
}

/// A tool as the model is told of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDefinition {
    /// What the model calls it.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// A JSON Schema of the arguments object.
    pub input_schema: Value,
}
