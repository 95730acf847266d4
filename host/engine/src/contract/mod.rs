//! The contract's types, as `wit/types.wit` writes them down: one Rust type per WIT type, spelt the same.
//!
//! They are handed to a guest and lifted from it as they are, and they serialise as JSON with the WIT's own names
//! (kebab-case), so that the same words stand in a plugin, in a payload file and in the audit log. A `json` field
//! holds JSON *text*; in serialised form it is the JSON value itself.

pub(crate) mod json;
mod provider;
mod subagent;
mod task;
mod tool;

pub use json::canonical;
pub use provider::*;
pub use subagent::*;
pub use task::*;
pub use tool::*;

use serde::{Deserialize, Serialize};
use wasmtime::component::{ComponentType, Lift, Lower};

/// The version of `hookhost:hooks` that this host speaks.
pub const VERSION: &str = "0.1.0";

/// A JSON text (RFC 8259).
pub type Json = String;

/// The agent session in which an event happens.
#[derive(ComponentType, Lift, Lower, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[component(record)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Session {
    /// Unique among all sessions.
    pub id: String,
    /// The agent program: `hookhost`, `claude-code`, `codex`, …
    pub agent: String,
    /// Model calls made so far in this session.
    pub turn: u32,
    /// 0 for the agent that the user talks to, n for a sub-agent n levels down.
    pub depth: u32,
    /// Absolute working directory.
    pub cwd: String,
    /// Absolute root of the project that the agent works on.
    pub workspace: String,
    /// Whether a person is there to be asked.
    pub interactive: bool,
}

/// "No", and what the agent is to learn from it.
#[derive(ComponentType, Lift, Lower, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[component(record)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Refusal {
    /// One sentence that the model may read. The host cuts it at [`Refusal::MAX_REASON`] and names the plugin.
    pub reason: String,
    /// Stable identifier of the rule, such as `shell.rm-rf-root`.
    pub code: Option<String>,
    /// Whether another attempt, differently made, may succeed.
    pub retryable: bool,
    /// `true` ends the whole run, sub-agents included, unless the operator narrows that to the session; `false` lets the
    /// model go on with the refusal as its result.
    pub stop: bool,
}

impl Refusal {
    /// Longest reason that is passed on, in bytes of UTF-8. It is plugin text that a model reads: short enough to
    /// stay one sentence, too short to smuggle a prompt.
    pub const MAX_REASON: usize = 2048;
}

/// "A person must decide."
#[derive(ComponentType, Lift, Lower, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[component(record)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Escalation {
    /// What the person is asked.
    pub question: String,
    /// Stable identifier of the rule that asks.
    pub code: Option<String>,
}

/// A request to a model that is about to be sent.
#[derive(ComponentType, Lift, Lower, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[component(record)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Inference {
    /// Name of the provider as the agent is configured.
    pub provider: String,
    /// Name of the model.
    pub model: String,
    /// The system prompt of this request.
    #[component(name = "system-prompt")]
    pub system_prompt: String,
    /// The last user message.
    pub prompt: String,
    /// Names of the tools that the model is offered.
    pub tools: Vec<String>,
    /// Estimated size of the request, in tokens.
    #[component(name = "input-tokens")]
    pub input_tokens: u64,
    /// What was used before it; in JSON nothing where it is left out.
    #[serde(default)]
    pub used: Totals,
}

/// What was used so far: by the session, and by the whole run: by the session that the user talks to and by all sub-agents
/// below it.
#[derive(ComponentType, Lift, Lower, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[component(record)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Totals {
    /// Tokens read in the session.
    #[component(name = "session-input-tokens")]
    pub session_input_tokens: u64,
    /// Tokens written in the session.
    #[component(name = "session-output-tokens")]
    pub session_output_tokens: u64,
    /// Tokens read in the run.
    #[component(name = "run-input-tokens")]
    pub run_input_tokens: u64,
    /// Tokens written in the run.
    #[component(name = "run-output-tokens")]
    pub run_output_tokens: u64,
    /// Requests to models that were sent in the run, repeated tries included.
    #[component(name = "run-requests")]
    pub run_requests: u32,
}

/// Changes to an [`Inference`]; what is absent stays as it is.
#[derive(ComponentType, Lift, Lower, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[component(record)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct InferenceChanges {
    /// Another configured provider.
    pub provider: Option<String>,
    /// Another configured model.
    pub model: Option<String>,
    /// Another system prompt.
    #[component(name = "system-prompt")]
    pub system_prompt: Option<String>,
    /// Another last user message.
    pub prompt: Option<String>,
    /// Fewer tools.
    pub tools: Option<Vec<String>>,
}

/// What a plugin answers to `before-inference`.
#[derive(ComponentType, Lift, Lower, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[component(variant)]
#[serde(rename_all = "kebab-case")]
pub enum InferenceVerdict {
    /// No objection.
    #[component(name = "allow")]
    Allow,
    /// Change this request.
    #[component(name = "modify")]
    Modify(InferenceChanges),
    /// A person must decide.
    #[component(name = "escalate")]
    Escalate(Escalation),
    /// Do not send it.
    #[component(name = "reject")]
    Reject(Refusal),
    /// Do not send it: this is the answer.
    #[component(name = "respond")]
    Respond(String),
}

/// What the model answered.
#[derive(ComponentType, Lift, Lower, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[component(record)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Response {
    /// The text of the answer, possibly empty.
    pub text: String,
    /// The tool calls that it asks for, in order.
    #[component(name = "tool-calls")]
    pub tool_calls: Vec<ToolCall>,
    /// Why the model stopped, as the provider says it.
    #[component(name = "stop-reason")]
    pub stop_reason: String,
}

/// Tokens of the last model call, of the session so far, and of the whole run so far: of the session that the user talks
/// to and of all sub-agents below it.
#[derive(ComponentType, Lift, Lower, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[component(record)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Usage {
    /// Name of the provider.
    pub provider: String,
    /// Name of the model.
    pub model: String,
    /// Tokens read in the last call, cached ones included.
    #[component(name = "input-tokens")]
    pub input_tokens: u64,
    /// Of those, the ones that the provider had cached.
    #[component(name = "cached-input-tokens")]
    pub cached_input_tokens: u64,
    /// Tokens written in the last call.
    #[component(name = "output-tokens")]
    pub output_tokens: u64,
    /// Tokens read in the session so far.
    #[component(name = "session-input-tokens")]
    pub session_input_tokens: u64,
    /// Tokens written in the session so far.
    #[component(name = "session-output-tokens")]
    pub session_output_tokens: u64,
    /// Tokens read in the whole run so far; in JSON 0 where it is left out.
    #[component(name = "run-input-tokens")]
    #[serde(default)]
    pub run_input_tokens: u64,
    /// Tokens written in the whole run so far; in JSON 0 where it is left out.
    #[component(name = "run-output-tokens")]
    #[serde(default)]
    pub run_output_tokens: u64,
}

/// What a plugin answers to `token-usage`.
#[derive(ComponentType, Lift, Lower, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[component(variant)]
#[serde(rename_all = "kebab-case")]
pub enum UsageVerdict {
    /// No objection.
    #[component(name = "allow")]
    Allow,
    /// No further model call in this task.
    #[component(name = "reject")]
    Reject(Refusal),
}

/// What a plugin answers to an event about a text on its way.
#[derive(ComponentType, Lift, Lower, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[component(variant)]
#[serde(rename_all = "kebab-case")]
pub enum TextVerdict {
    /// It goes on as it is.
    #[component(name = "keep")]
    Keep,
    /// This text goes on in its place.
    #[component(name = "replace")]
    Replace(String),
    /// It is withheld.
    #[component(name = "reject")]
    Reject(Refusal),
}

/// An event that an embedding program defines for itself.
#[derive(ComponentType, Lift, Lower, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[component(record)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Custom {
    /// Which event.
    pub name: String,
    /// What it carries.
    #[serde(with = "json")]
    pub payload: Json,
}

/// What a plugin answers to `custom-event`.
#[derive(ComponentType, Lift, Lower, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[component(variant)]
#[serde(rename_all = "kebab-case")]
pub enum CustomVerdict {
    /// No objection.
    #[component(name = "allow")]
    Allow,
    /// This payload instead.
    #[component(name = "modify")]
    Modify(#[serde(with = "json")] Json),
    /// A person must decide.
    #[component(name = "escalate")]
    Escalate(Escalation),
    /// The program is told no.
    #[component(name = "reject")]
    Reject(Refusal),
}
