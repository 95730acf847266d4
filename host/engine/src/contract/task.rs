//! Tasks, plans and turns, and what plugins answer about their beginning.

use super::{Escalation, Refusal};
use serde::{Deserialize, Serialize};
use wasmtime::component::{ComponentType, Lift, Lower};

/// Work for the agent's queue.
#[derive(ComponentType, Lift, Lower, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[component(record)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Task {
    /// What the agent is told to do.
    pub prompt: String,
    /// A short name for people.
    pub title: Option<String>,
}

/// Tasks that the agent proposes.
#[derive(ComponentType, Lift, Lower, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[component(record)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Plan {
    /// A short name for people.
    pub title: String,
    /// The tasks, in order.
    pub tasks: Vec<Task>,
    /// Whether the waiting tasks of its own earlier plans are dropped first.
    #[component(name = "clear-existing")]
    pub clear_existing: bool,
}

/// What a plugin answers to `plan-submit`.
#[derive(ComponentType, Lift, Lower, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[component(variant)]
#[serde(rename_all = "kebab-case")]
pub enum PlanVerdict {
    /// No objection.
    #[component(name = "allow")]
    Allow,
    /// This plan instead.
    #[component(name = "modify")]
    Modify(Plan),
    /// A person must decide.
    #[component(name = "escalate")]
    Escalate(Escalation),
    /// Nothing is queued.
    #[component(name = "reject")]
    Reject(Refusal),
}

/// How a task ended.
#[derive(ComponentType, Lift, Lower, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[component(record)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Completion {
    /// `success`, `rejected`, `max-turns`, `max-tokens`, `max-time`, `error` or `cancelled`.
    pub status: String,
    /// Model calls of the task.
    pub turns: u32,
    /// Tokens read in the task.
    #[component(name = "input-tokens")]
    pub input_tokens: u64,
    /// Tokens written in the task.
    #[component(name = "output-tokens")]
    pub output_tokens: u64,
}

/// What a plugin answers to `task-complete`, `queue-empty` and `agent-error`.
#[derive(ComponentType, Lift, Lower, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[component(variant)]
#[serde(rename_all = "kebab-case")]
pub enum CompletionVerdict {
    /// Nothing to add.
    #[component(name = "finish")]
    Finish,
    /// These tasks join the queue.
    #[component(name = "go-on")]
    GoOn(Vec<Task>),
}

/// What a plugin answers to `task-start`.
#[derive(ComponentType, Lift, Lower, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[component(variant)]
#[serde(rename_all = "kebab-case")]
pub enum TaskVerdict {
    /// No objection.
    #[component(name = "allow")]
    Allow,
    /// This task instead.
    #[component(name = "modify")]
    Modify(Task),
    /// A person must decide.
    #[component(name = "escalate")]
    Escalate(Escalation),
    /// The task does not begin.
    #[component(name = "reject")]
    Reject(Refusal),
}

/// What became of a plan's tasks.
#[derive(ComponentType, Lift, Lower, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[component(record)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PlanSummary {
    /// The plan's title.
    pub title: String,
    /// How many tasks it had.
    pub tasks: u32,
    /// How many of them ended as `success`.
    pub completed: u32,
}

/// What a session has done so far.
#[derive(ComponentType, Lift, Lower, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[component(record)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Progress {
    /// Tasks that have ended.
    pub tasks: u32,
    /// Model calls.
    pub turns: u32,
    /// Tokens read.
    #[component(name = "input-tokens")]
    pub input_tokens: u64,
    /// Tokens written.
    #[component(name = "output-tokens")]
    pub output_tokens: u64,
}

/// A turn of the agent: one request to a model, its answer, and the tool calls of that answer.
#[derive(ComponentType, Lift, Lower, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[component(record)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Turn {
    /// Turns begun in the session, this one included.
    pub number: u32,
    /// Turns begun in the task, this one included.
    #[component(name = "number-in-task")]
    pub number_in_task: u32,
}

/// What a plugin answers to `turn-start`.
#[derive(ComponentType, Lift, Lower, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[component(variant)]
#[serde(rename_all = "kebab-case")]
pub enum TurnVerdict {
    /// No objection.
    #[component(name = "allow")]
    Allow,
    /// A person must decide.
    #[component(name = "escalate")]
    Escalate(Escalation),
    /// The turn does not begin.
    #[component(name = "reject")]
    Reject(Refusal),
}

/// What a turn came to.
#[derive(ComponentType, Lift, Lower, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[component(record)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TurnSummary {
    /// As in [`Turn`].
    pub number: u32,
    /// As in [`Turn`].
    #[component(name = "number-in-task")]
    pub number_in_task: u32,
    /// How many tools its answer called.
    #[component(name = "tool-calls")]
    pub tool_calls: u32,
    /// Tokens read by its model call, cached ones included.
    #[component(name = "input-tokens")]
    pub input_tokens: u64,
    /// Of those, the ones that the provider had cached.
    #[component(name = "cached-input-tokens")]
    pub cached_input_tokens: u64,
    /// Tokens written by its model call.
    #[component(name = "output-tokens")]
    pub output_tokens: u64,
}
