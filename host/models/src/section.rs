//! The configuration of a provider, which is an entry of `[agent.providers]` or `[agent.plugin-models]`.
//!
//! A section contains no keys. Keys are in environment variables that the section names, or in the user's [`Keys`](crate::Keys).

use crate::error::ProviderError;
use hookhost::config::Digest;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;

/// One provider of `[agent.providers]`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub struct ProviderSection {
    /// Protocol of the provider. The default is the protocol of the built-in provider of this name.
    pub kind: Option<ProviderKind>,
    /// Base URL, such as `https://host/v1`. The default is the base URL of the built-in provider of this name.
    pub base_url: Option<String>,
    /// Environment variable that contains the key. The default is the variable of the built-in provider of this name. If `base-url`
    /// is given, there is no default, because a key must never be sent to another server.
    pub key_variable: Option<String>,
    /// Script of a scripted provider, relative to the working directory.
    pub script: Option<PathBuf>,
    /// Default model of the provider.
    pub model: Option<String>,
    /// Models that a plugin may choose for a request.
    #[serde(default)]
    pub models: Vec<String>,
    /// Additional headers of each request. They must not contain a key.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Limits of the provider's models, by model name.
    #[serde(default)]
    pub limits: BTreeMap<String, ModelLimits>,
    /// Absolute path of a program that takes the place of a server.
    pub program: Option<PathBuf>,
    /// Environment variables that the program gets besides the common variables. By default, the program gets the variables that it
    /// names itself.
    pub variables: Option<Vec<String>>,
    /// Absolute path of a variant file, which names a protocol, a URL and a model.
    pub variant: Option<PathBuf>,
    /// Required SHA-256 digest of the program or the variant file.
    pub sha256: Option<Digest>,
    /// The line with which the program describes itself.
    #[serde(skip)]
    pub(crate) description: Option<String>,
}

/// One model of `[agent.plugin-models]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub struct PluginModelSection {
    /// Name of the provider, as in the key `provider` of `[agent]`. There is no default.
    pub provider: String,
    /// Name of the model. The default is the provider's default model, if the provider has a default model.
    pub model: Option<String>,
}

/// Known limits of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub struct ModelLimits {
    /// Maximum size of a request and its answer together, in tokens.
    pub context_window: Option<NonZeroU64>,
    /// Maximum length of an answer, in tokens.
    pub max_output_tokens: Option<NonZeroU32>,
}

/// Protocol of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ProviderKind {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI's chat completions, which most other servers also offer.
    #[serde(rename = "openai")]
    OpenAi,
    /// A script that is played instead of asking a model.
    Scripted,
}

/// Reasons why no provider can be created from a section.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SectionError {
    /// No provider has this name.
    #[error("there is no provider named `{name}`: use {known}, or add [agent.providers.{name}]")]
    UnknownProvider {
        /// The unknown name.
        name: String,
        /// The existing names, separated by commas.
        known: String,
    },
    /// The section of a provider that is not built in has no `kind`.
    #[error("[agent.providers.{name}] needs `kind`, the protocol: `anthropic` or `openai`")]
    NoKind {
        /// Name of the provider.
        name: String,
    },
    /// Neither the section nor a flag names a model, and the provider has no default.
    #[error("the provider {provider} needs a model: name one with --model, or with `model` in [agent]")]
    NoModel {
        /// Name of the provider.
        provider: String,
    },
    /// A scripted provider has no script.
    #[error("the provider {provider} needs a script: name one with --script, or with `script` in the configuration")]
    NoScript {
        /// Name of the provider.
        provider: String,
    },
    /// The provider cannot be used.
    #[error(transparent)]
    Provider(#[from] ProviderError),
}
