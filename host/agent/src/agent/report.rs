//! Typed events of a run, for terminals, NDJSON output and tests. This module renders nothing.

use super::Status;
use hookhost::contract::{EventKind, Refusal, Rejection, ToolOrigin};
use hookhost_models::message::TokenUsage;
use serde::Serialize;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

/// Receives the events of a run, in order. The run's own task calls the reporter, so a reporter should not block.
pub trait Reporter: Send + Sync {
    /// Receives one event.
    fn report(&self, event: &AgentEvent);
}

impl<F: Fn(&AgentEvent) + Send + Sync> Reporter for F {
    fn report(&self, event: &AgentEvent) {
        self(event);
    }
}

/// Stores every event, for tests and for embedders that read them later.
#[derive(Debug, Default)]
pub struct RecordingReporter(Mutex<Vec<AgentEvent>>);

impl RecordingReporter {
    /// Returns the events so far.
    #[must_use]
    pub fn events(&self) -> Vec<AgentEvent> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }
}

impl Reporter for RecordingReporter {
    fn report(&self, event: &AgentEvent) {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(event.clone());
    }
}

/// An event of a run. In JSON, it is an object whose `type` is the variant's name in kebab-case.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "kebab-case")]
#[non_exhaustive]
pub enum AgentEvent {
    /// The session is open.
    SessionStarted {
        /// Identifier of the session.
        session: String,
        /// Name of the provider.
        provider: String,
        /// Name of the model.
        model: String,
        /// File of the stored session.
        transcript: Option<PathBuf>,
        /// Number of messages that the session already has; 0 for a new session.
        messages: usize,
    },
    /// The model gets instruction files or skills in addition to the system prompt.
    ContextGathered {
        /// Files with instructions, outermost first.
        instructions: Vec<PathBuf>,
        /// Names of the skills that the model can ask for.
        skills: Vec<String>,
    },
    /// A notice for the user. Each notice is reported once.
    Notice {
        /// Text of the notice: one sentence.
        text: String,
    },
    /// A task begins. The first task is the user's prompt.
    TaskStarted {
        /// Prompt for the model, after changes by plugins.
        prompt: String,
        /// Short name, if a plugin gave one.
        title: Option<String>,
    },
    /// Progress of the queue. It is reported before each task, and when a plan joins the queue.
    Queue {
        /// Number of tasks that have ended.
        ended: u32,
        /// Number of tasks that wait.
        waiting: usize,
    },
    /// The model's plan joins the queue.
    PlanSubmitted {
        /// Subject of the plan.
        title: String,
        /// Prompts of the plan's tasks.
        tasks: Vec<String>,
    },
    /// The last task of a plan has ended.
    PlanEnded {
        /// Subject of the plan.
        title: String,
        /// Number of tasks in the plan.
        tasks: u32,
        /// Number of tasks that succeeded.
        completed: u32,
    },
    /// An event of a sub-agent.
    Subagent {
        /// Tool call that started the sub-agent, in its parent's session.
        call: String,
        /// Depth of the sub-agent. A sub-agent of the agent that the user talks to has depth 1.
        depth: u32,
        /// The event.
        event: Box<AgentEvent>,
    },
    /// A summary has replaced the older part of the conversation.
    Compacted {
        /// Number of summarised messages.
        messages: u32,
        /// Estimated size of the next request before the summary, in tokens.
        before: u64,
        /// Estimated size of the next request after the summary, in tokens.
        after: u64,
    },
    /// Plugins changed a prompt, a request, a task, a plan, a summary or a final text.
    Changed {
        /// Event at which the plugins changed the value.
        event: EventKind,
        /// Names of the plugins, in the order of their changes.
        by: Vec<String>,
        /// Value before the changes.
        before: Value,
        /// Value after the changes.
        after: Value,
    },
    /// A plugin rejected an event other than a tool call.
    Rejected {
        /// The rejected event.
        event: EventKind,
        /// The rejecting plugins and their refusal.
        #[serde(flatten)]
        refusal: RejectionReport,
    },
    /// A request is sent to a model.
    TurnStarted {
        /// Number of model calls of the session, including this call.
        turn: u32,
        /// Name of the provider.
        provider: String,
        /// Name of the model.
        model: String,
    },
    /// A request failed and will be sent again after a wait.
    Retrying {
        /// Message of the failure.
        error: String,
        /// Length of the wait. In JSON, this is `wait-ms`, in milliseconds.
        #[serde(rename = "wait-ms", serialize_with = "milliseconds")]
        wait: Duration,
    },
    /// The next piece of an answer's text, after the plugins' checks.
    Text {
        /// Text of the piece. Pieces are joined without a separator.
        text: String,
    },
    /// A piece of the model's reasoning before or within its answer. Reasoning is not part of the answer, and no hook
    /// event carries it. If a plugin checks the text that a person sees, reasoning is not reported, because the plugin
    /// could not check it.
    Reasoning {
        /// Text of the piece.
        text: String,
    },
    /// Text that was held back is not shown, because its answer was interrupted before plugins could see the whole
    /// text.
    TextHeld {
        /// Size of the text, in bytes.
        bytes: usize,
    },
    /// A plugin answered instead of the model.
    Answered {
        /// Name of the plugin.
        by: String,
    },
    /// Plugins changed a tool call before it ran.
    ToolChanged {
        /// Identifier of the call.
        id: String,
        /// Name of the tool.
        name: String,
        /// Names of the plugins, in the order of their changes.
        by: Vec<String>,
        /// Arguments from the model.
        before: Value,
        /// Arguments after the changes.
        after: Value,
    },
    /// A tool call was rejected and does not run.
    ToolRejected {
        /// Identifier of the call.
        id: String,
        /// Name of the tool.
        name: String,
        /// Arguments from the model.
        arguments: Value,
        /// The rejecting plugins and their refusal.
        #[serde(flatten)]
        refusal: RejectionReport,
    },
    /// A plugin gave the result of a tool call, so the tool does not run.
    ToolAnswered {
        /// Identifier of the call.
        id: String,
        /// Name of the tool.
        name: String,
        /// Name of the plugin.
        by: String,
    },
    /// A tool starts.
    ToolStarted {
        /// Identifier of the call.
        id: String,
        /// Name of the tool.
        name: String,
        /// Origin of the tool.
        origin: ToolOrigin,
        /// Arguments of the call.
        arguments: Value,
    },
    /// Plugins changed a result before the model saw it. The original is not reported, because a plugin may have
    /// changed the result in order to hide a part of it.
    ResultChanged {
        /// Identifier of the call.
        id: String,
        /// Name of the tool.
        name: String,
        /// Names of the plugins, in the order of their changes.
        by: Vec<String>,
    },
    /// A result is withheld from the model.
    ResultWithheld {
        /// Identifier of the call.
        id: String,
        /// Name of the tool.
        name: String,
        /// The rejecting plugins and their refusal.
        #[serde(flatten)]
        refusal: RejectionReport,
    },
    /// The result of a tool call is final.
    ToolFinished {
        /// Identifier of the call.
        id: String,
        /// Name of the tool.
        name: String,
        /// Text for the model.
        text: String,
        /// True if the call failed, was rejected or was not run.
        is_error: bool,
    },
    /// Token counts of a model call.
    Usage {
        /// Name of the provider.
        provider: String,
        /// Name of the model.
        model: String,
        /// Tokens of the call.
        call: TokenUsage,
        /// Tokens of the session so far.
        session: TokenUsage,
    },
    /// Final text of a task, after the plugins' checks. The pieces of this text were reported before as [`Self::Text`].
    Answer {
        /// The whole text.
        text: String,
    },
    /// A task has ended.
    TaskEnded {
        /// Status of the task.
        status: Status,
        /// Reason of a status other than success.
        reason: Option<String>,
        /// Number of model calls of the task.
        turns: u32,
    },
    /// The session has ended.
    SessionEnded {
        /// Status of the run.
        status: Status,
        /// Tokens of the session.
        usage: TokenUsage,
    },
}

/// A rejection, as shown to the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RejectionReport {
    /// Names of the plugins.
    pub by: Vec<String>,
    /// Cause of the rejection: `rejected`, `failed`, `timed out`, `disagreed` or `not approved`.
    pub cause: &'static str,
    /// Reason, in the plugin's words.
    pub reason: String,
    /// Identifier of the rule, if it has one.
    pub code: Option<String>,
}

impl From<&Rejection> for RejectionReport {
    fn from(rejection: &Rejection) -> Self {
        let Refusal { reason, code, .. } = rejection.refusal.clone();
        Self { by: rejection.by.clone(), cause: rejection.word(), reason, code }
    }
}

fn milliseconds<S: serde::Serializer>(wait: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests;
