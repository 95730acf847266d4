//! A provider's side of a request, and a conversation that nears its limit.

use super::{Escalation, Json, Refusal, json};
use serde::{Deserialize, Serialize};
use wasmtime::component::{ComponentType, Lift, Lower};

/// A model of a configured provider.
#[derive(ComponentType, Lift, Lower, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[component(record)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ModelChoice {
    /// Name of the provider.
    pub provider: String,
    /// Name of the model.
    pub model: String,
}

/// The model that a session is to use, and those that it can use.
#[derive(ComponentType, Lift, Lower, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[component(record)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Resolution {
    /// The one it is to use.
    pub chosen: ModelChoice,
    /// All that are configured.
    pub candidates: Vec<ModelChoice>,
}

/// What a plugin answers to `provider-resolve`.
#[derive(ComponentType, Lift, Lower, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[component(variant)]
#[serde(rename_all = "kebab-case")]
pub enum ResolutionVerdict {
    /// No objection.
    #[component(name = "allow")]
    Allow,
    /// This one of the candidates instead.
    #[component(name = "modify")]
    Modify(ModelChoice),
    /// The session uses none.
    #[component(name = "reject")]
    Reject(Refusal),
}

/// A request as the provider's protocol has it.
#[derive(ComponentType, Lift, Lower, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[component(record)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RawRequest {
    /// Name of the provider.
    pub provider: String,
    /// Name of the model.
    pub model: String,
    /// The body alone, never a header or a key.
    #[serde(with = "json")]
    pub body: Json,
}

/// What a plugin answers to `request-send`.
#[derive(ComponentType, Lift, Lower, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[component(variant)]
#[serde(rename_all = "kebab-case")]
pub enum RequestVerdict {
    /// No objection.
    #[component(name = "allow")]
    Allow,
    /// This body instead.
    #[component(name = "modify")]
    Modify(#[serde(with = "json")] Json),
    /// A person must decide.
    #[component(name = "escalate")]
    Escalate(Escalation),
    /// Do not send it.
    #[component(name = "reject")]
    Reject(Refusal),
}

/// An answer as it came, put together where it came in pieces.
#[derive(ComponentType, Lift, Lower, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[component(record)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RawResponse {
    /// Name of the provider.
    pub provider: String,
    /// Name of the model.
    pub model: String,
    /// An object of `text`, `tool-calls`, `stop-reason` and, where the provider counts, `usage`.
    #[serde(with = "json")]
    pub body: Json,
}

/// What a plugin answers to `response-receive`.
#[derive(ComponentType, Lift, Lower, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[component(variant)]
#[serde(rename_all = "kebab-case")]
pub enum ResponseVerdict {
    /// It goes on as it is.
    #[component(name = "keep")]
    Keep,
    /// This answer goes on in its place.
    #[component(name = "replace")]
    Replace(#[serde(with = "json")] Json),
    /// Nothing of it is used.
    #[component(name = "reject")]
    Reject(Refusal),
}

/// A conversation that nears its limit.
#[derive(ComponentType, Lift, Lower, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[component(record)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Compaction {
    /// How many messages would be summarised.
    pub messages: u32,
    /// Estimated size of the next request, in tokens.
    #[component(name = "input-tokens")]
    pub input_tokens: u64,
    /// The model's context window, in tokens.
    #[component(name = "context-window")]
    pub context_window: u64,
}

/// What a plugin answers to `before-compaction`.
#[derive(ComponentType, Lift, Lower, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[component(variant)]
#[serde(rename_all = "kebab-case")]
pub enum CompactionVerdict {
    /// No objection.
    #[component(name = "allow")]
    Allow,
    /// It is not compacted.
    #[component(name = "reject")]
    Reject(Refusal),
    /// This text is the summary.
    #[component(name = "respond")]
    Respond(String),
}
