//! Why a provider did not answer. Each message is one sentence that names the provider and the next step; none holds
//! a key.

use super::scripted::ScriptError;
use std::time::Duration;

/// Why a provider did not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProviderError {
    /// The environment variable that should hold the key is not there, or empty.
    #[error(
        "the provider {provider} needs an API key: set the environment variable {variable}, or keep one with `hookhost auth set {provider}`"
    )]
    NoKey {
        /// The provider's name.
        provider: String,
        /// The environment variable.
        variable: String,
    },
    /// The key that is kept for the provider is for another server than the one that is configured now.
    #[error(
        "the provider {provider} needs an API key: the one that is kept is for {kept_for}, and the provider is at {origin}; keep one for that with `hookhost auth set {provider}`, or set the environment variable {variable}"
    )]
    KeyForAnother {
        /// The provider's name.
        provider: String,
        /// The server that the key is for.
        kept_for: String,
        /// The server that is configured.
        origin: String,
        /// The environment variable.
        variable: String,
    },
    /// The key would be sent without encryption to another machine.
    #[error(
        "the provider {provider} is at {url}, and its API key would travel there in the clear: give an https address as base-url, or take the key out of the provider's section"
    )]
    KeyInTheClear {
        /// The provider's name.
        provider: String,
        /// Where the provider is, without credentials.
        url: String,
    },
    /// A configured header cannot be sent.
    #[error("the header {header} of the provider {provider} cannot be sent: {reason}")]
    Header {
        /// The provider's name.
        provider: String,
        /// The header's name.
        header: String,
        /// Why not.
        reason: String,
    },
    /// Status 401 or 403.
    #[error("the provider {provider} refused the API key (HTTP {status}): {}", key_advice(.variable.as_deref()))]
    Unauthorized {
        /// The provider's name.
        provider: String,
        /// 401 or 403.
        status: u16,
        /// The environment variable that the key came from, if one was sent; empty: it was kept by `hookhost auth`.
        variable: Option<String>,
    },
    /// Status 429, or the provider said the same in its stream.
    #[error("the provider {provider} limits the rate of requests (HTTP 429): {}", wait_advice(*.retry_after))]
    RateLimited {
        /// The provider's name.
        provider: String,
        /// How long the server asks to wait.
        retry_after: Option<Duration>,
    },
    /// Status 500 to 599, or the provider said the same in its stream.
    #[error("the provider {provider} failed on its side (HTTP {status}): try again later, or choose another provider")]
    Server {
        /// The provider's name.
        provider: String,
        /// The status, 500 to 599.
        status: u16,
        /// How long the server asks to wait.
        retry_after: Option<Duration>,
    },
    /// Any other status that is no success.
    #[error("the provider {provider} did not accept the request (HTTP {status}): {reason}")]
    Refused {
        /// The provider's name.
        provider: String,
        /// The status.
        status: u16,
        /// What the provider said, at most 300 characters, or what to check.
        reason: String,
    },
    /// No connection, or no answer in time.
    #[error("the provider {provider} cannot be reached at {url}: {reason}; check base-url and whether the server runs")]
    Unreachable {
        /// The provider's name.
        provider: String,
        /// Where it was looked for, without credentials.
        url: String,
        /// What went wrong.
        reason: String,
    },
    /// The program of the provider, or its variant file, cannot be used.
    #[error("{program}, which the provider {provider} names, {reason}")]
    Program {
        /// The provider's name.
        provider: String,
        /// The file.
        program: String,
        /// What is wrong with it, as a clause whose subject is the file.
        reason: String,
    },
    /// The answer's stream ended before the answer did.
    #[error("the answer of the provider {provider} broke off in the middle ({reason})")]
    BrokenStream {
        /// The provider's name.
        provider: String,
        /// How it broke off.
        reason: String,
    },
    /// The answer is not what the provider's protocol says.
    #[error(
        "the provider {provider} answered something that is not its protocol ({reason}): check base-url and the provider's kind"
    )]
    BadAnswer {
        /// The provider's name.
        provider: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A plugin has changed the body of a request into something that is not a request.
    #[error(
        "the request to {model} of {provider} is no longer a valid request as plugins changed it ({reason}): fix the plugin that changes it on request-send"
    )]
    ChangedRequest {
        /// The provider's name.
        provider: String,
        /// The model's name.
        model: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A `scripted` provider cannot play its script.
    #[error(transparent)]
    Script(#[from] ScriptError),
}

impl ProviderError {
    /// Whether the same request may succeed a little later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::RateLimited { .. } | Self::Server { .. } | Self::Unreachable { .. } | Self::BrokenStream { .. }
        )
    }

    /// How long the server asks to wait before the next try.
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
        None => "none was sent; name the environment variable that holds one with key-variable".into(),
    }
}

fn wait_advice(retry_after: Option<Duration>) -> String {
    match retry_after {
        Some(wait) => format!("try again in {} s", wait.as_secs_f64().ceil()),
        None => "try again later".into(),
    }
}
