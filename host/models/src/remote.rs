//! A provider that uses one of the two protocols that most servers speak.

use crate::endpoint::Endpoint;
use crate::error::ProviderError;
use crate::provider::{DeltaStream, Provider, Request};
use crate::{anthropic, openai};
use async_trait::async_trait;
use serde_json::Value;

/// A server, or a local program in the place of a server, that answers in Anthropic's or OpenAI's protocol.
#[derive(Clone, Debug)]
pub struct RemoteProvider {
    protocol: Protocol,
    endpoint: Endpoint,
}

#[derive(Clone, Copy, Debug)]
enum Protocol {
    Anthropic,
    OpenAi,
}

impl RemoteProvider {
    /// Creates a provider that speaks the Anthropic Messages API.
    #[must_use]
    pub fn anthropic(endpoint: Endpoint) -> Self {
        Self { protocol: Protocol::Anthropic, endpoint }
    }

    /// Creates a provider that speaks OpenAI's chat completions.
    #[must_use]
    pub fn openai(endpoint: Endpoint) -> Self {
        Self { protocol: Protocol::OpenAi, endpoint }
    }
}

#[async_trait]
impl Provider for RemoteProvider {
    fn name(&self) -> &str {
        self.endpoint.provider()
    }

    fn notice(&self) -> Option<String> {
        self.endpoint.notice()
    }

    async fn send(&self, request: Request) -> Result<DeltaStream, ProviderError> {
        let body = self.body(&request);
        self.send_body(request, body).await
    }

    fn body(&self, request: &Request) -> Value {
        let host = self.endpoint.host();
        match self.protocol {
            Protocol::Anthropic => anthropic::body(request, host),
            Protocol::OpenAi => openai::body(request, host),
        }
    }

    async fn send_body(&self, request: Request, body: Value) -> Result<DeltaStream, ProviderError> {
        let endpoint = &self.endpoint;
        match self.protocol {
            Protocol::Anthropic => {
                let headers = anthropic::headers(endpoint.key(), &body);
                endpoint.post("messages", &headers, &body, anthropic::Events::new(endpoint.clone())).await
            }
            Protocol::OpenAi => {
                let chunks = openai::Chunks::new(endpoint.clone(), request.messages.len());
                endpoint.post("chat/completions", &openai::headers(endpoint.key()), &body, chunks).await
            }
        }
    }
}
