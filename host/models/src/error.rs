//! Failures of providers. Each message is one sentence that names the provider and says what the user can do next. No message
//! contains a key.

use crate::script::ScriptError;
use std::time::Duration;

/// Reasons why a provider did not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProviderError {
    /// The environment variable for the key is absent or empty, and no key is stored.
    #[error(
        "the provider {provider} needs an API key: set the environment variable {variable}, or store one with `hookhost auth set {provider}`"
    )]
    NoKey {
        /// Name of the provider.
        provider: String,
        /// Name of the environment variable.
        variable: String,
    },
    /// The stored key of the provider does not belong to the configured server.
    #[error(
        "the provider {provider} needs an API key: the stored key is for {kept_for}, but the provider is at {origin}; store a key for that server with `hookhost auth set {provider}`, or set the environment variable {variable}"
    )]
    KeyForAnother {
        /// Name of the provider.
        provider: String,
        /// Server of the stored key.
        kept_for: String,
        /// Configured server.
        origin: String,
        /// Name of the environment variable.
        variable: String,
    },
    /// The key would be sent without encryption to another machine.
    #[error(
        "the provider {provider} is at {url}, and its API key would travel there in the clear: give an https address as base-url, or take the key out of the provider's section"
    )]
    KeyInTheClear {
        /// Name of the provider.
        provider: String,
        /// URL of the provider, without credentials.
        url: String,
    },
    /// A configured header cannot be sent.
    #[error("the header {header} of the provider {provider} cannot be sent: {reason}")]
    Header {
        /// Name of the provider.
        provider: String,
        /// Name of the header.
        header: String,
        /// Reason of the failure.
        reason: String,
    },
    /// The server answered with status 401 or 403.
    #[error("the provider {provider} refused the API key (HTTP {status}): {}", key_advice(.variable.as_deref()))]
    Unauthorized {
        /// Name of the provider.
        provider: String,
        /// HTTP status, 401 or 403.
        status: u16,
        /// Environment variable of the key. It is an empty string for a key stored by `hookhost auth`, and `None` if no key was
        /// sent.
        variable: Option<String>,
    },
    /// The server answered with status 429, or reported a rate limit in its stream.
    #[error("the provider {provider} limits the rate of requests (HTTP 429): {}", wait_advice(*.retry_after))]
    RateLimited {
        /// Name of the provider.
        provider: String,
        /// Wait that the server asks for.
        retry_after: Option<Duration>,
    },
    /// The server answered with status 500 to 599, or reported such a failure in its stream.
    #[error("the provider {provider} failed on its side (HTTP {status}): try again later, or choose another provider")]
    Server {
        /// Name of the provider.
        provider: String,
        /// HTTP status, 500 to 599.
        status: u16,
        /// Wait that the server asks for.
        retry_after: Option<Duration>,
    },
    /// The server answered with any other status that is not a success.
    #[error("the provider {provider} did not accept the request (HTTP {status}): {reason}")]
    Refused {
        /// Name of the provider.
        provider: String,
        /// HTTP status.
        status: u16,
        /// The provider's message, at most 300 characters, or advice for the user.
        reason: String,
    },
    /// The connection failed, or no answer came in time.
    #[error("the provider {provider} cannot be reached at {url}: {reason}; check base-url and whether the server runs")]
    Unreachable {
        /// Name of the provider.
        provider: String,
        /// URL of the provider, without credentials.
        url: String,
        /// Reason of the failure.
        reason: String,
    },
    /// The provider's program or variant file cannot be used.
    #[error("{program}, which the provider {provider} names, {reason}")]
    Program {
        /// Name of the provider.
        provider: String,
        /// Path of the file.
        program: String,
        /// Reason, which completes a sentence whose subject is the file.
        reason: String,
    },
    /// The stream ended before the answer was complete.
    #[error("the answer of the provider {provider} broke off in the middle ({reason})")]
    BrokenStream {
        /// Name of the provider.
        provider: String,
        /// Reason of the failure.
        reason: String,
    },
    /// The answer does not follow the provider's protocol.
    #[error(
        "the provider {provider} answered something that is not its protocol ({reason}): check base-url and the provider's kind"
    )]
    BadAnswer {
        /// Name of the provider.
        provider: String,
        /// Description of the fault.
        reason: String,
    },
    /// A plugin changed the body of a request into an invalid request.
    #[error(
        "plugins made the request to {model} of {provider} invalid ({reason}): fix the plugin that changes requests on request-send"
    )]
    ChangedRequest {
        /// Name of the provider.
        provider: String,
        /// Name of the model.
        model: String,
        /// Description of the fault.
        reason: String,
    },
    /// A `scripted` provider cannot play its script.
    #[error(transparent)]
    Script(#[from] ScriptError),
}

impl ProviderError {
    /// Returns true if the same request may succeed a little later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::RateLimited { .. } | Self::Server { .. } | Self::Unreachable { .. } | Self::BrokenStream { .. }
        )
    }

    /// Returns the time that the server asks the client to wait before the next attempt.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after, .. } | Self::Server { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

fn key_advice(variable: Option<&str>) -> String {
    match variable {
        Some("") => "set it again with `hookhost auth set`".into(),
        Some(variable) => format!("check the value of the environment variable {variable}"),
        None => "no key was sent; set key-variable to the environment variable that holds the key".into(),
    }
}

fn wait_advice(retry_after: Option<Duration>) -> String {
    match retry_after {
        Some(wait) => format!("try again in {} s", wait.as_secs_f64().ceil()),
        None => "try again later".into(),
    }
}
