//! Sub-agents: before one is started, and what came of it.

use super::{Escalation, Refusal};
use serde::{Deserialize, Serialize};
use wasmtime::component::{ComponentType, Lift, Lower};

/// A sub-agent that is about to be started.
#[derive(ComponentType, Lift, Lower, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[component(record)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Subagent {
    /// The tool call that asks for it.
    #[component(name = "call-id")]
    pub call_id: String,
    /// How deep it will be: 1 for one that the user's own agent starts.
    pub depth: u32,
    /// Its task.
    pub prompt: String,
}

/// What a plugin answers to `subagent-start`.
#[derive(ComponentType, Lift, Lower, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[component(variant)]
#[serde(rename_all = "kebab-case")]
pub enum SubagentVerdict {
    /// No objection.
    #[component(name = "allow")]
    Allow,
    /// This prompt instead.
    #[component(name = "modify")]
    Modify(String),
    /// A person must decide.
    #[component(name = "escalate")]
    Escalate(Escalation),
    /// It is not started.
    #[component(name = "reject")]
    Reject(Refusal),
}

/// What came of a sub-agent.
#[derive(ComponentType, Lift, Lower, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[component(record)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SubagentSummary {
    /// Its own session's id.
    pub session: String,
    /// The tool call that asked for it.
    #[component(name = "call-id")]
    pub call_id: String,
    /// As [`super::Completion::status`].
    pub status: String,
    /// Its final text, as it may be shown.
    pub text: String,
    /// Model calls of its session.
    pub turns: u32,
    /// Tokens read in its session.
    #[component(name = "input-tokens")]
    pub input_tokens: u64,
    /// Tokens written in its session.
    #[component(name = "output-tokens")]
    pub output_tokens: u64,
}
