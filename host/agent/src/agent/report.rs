//! The events of a run, typed: for a terminal, for NDJSON, for a test. No rendering here.

use super::Status;
use crate::message::TokenUsage;
use hookhost::contract::{EventKind, Refusal, Rejection, ToolOrigin};
use serde::Serialize;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

/// Gets the events of a run, in order. It is called on the run's own task: it should not block.
pub trait Reporter: Send + Sync {
    /// Something happened.
    fn report(&self, event: &AgentEvent);
}

impl<F: Fn(&AgentEvent) + Send + Sync> Reporter for F {
    fn report(&self, event: &AgentEvent) {
        self(event);
    }
}

/// Keeps every event, for tests and for embedders that look afterwards.
#[derive(Debug, Default)]
pub struct Recorded(Mutex<Vec<AgentEvent>>);

impl Recorded {
    /// The events so far.
    #[must_use]
    pub fn events(&self) -> Vec<AgentEvent> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }
}

impl Reporter for Recorded {
    fn report(&self, event: &AgentEvent) {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(event.clone());
    }
}

/// Something that happened in a run. As JSON: an object whose `type` is the variant's name in kebab-case.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "kebab-case")]
#[non_exhaustive]
pub enum AgentEvent {
    /// The session is open.
    SessionStarted {
        /// Its id.
        session: String,
        /// Name of the provider.
        provider: String,
        /// Name of the model.
        model: String,
        /// The session's directory on disk.
        transcript: Option<PathBuf>,
        /// Messages that it has already: 0 for a new one.
        messages: usize,
    },
    /// The files and skills that the model gets beside the system prompt, if there are any.
    ContextGathered {
        /// The files with instructions, outermost first.
        instructions: Vec<PathBuf>,
        /// The names of the skills that it can ask for.
        skills: Vec<String>,
    },
    /// A notice for the user; each comes once.
    Notice {
        /// A sentence.
        text: String,
    },
    /// A task begins. The first one is the user's prompt.
    TaskStarted {
        /// What the model is asked, as plugins left it.
        prompt: String,
        /// A short name, where a plugin gave one.
        title: Option<String>,
    },
    /// The progress of the queue: before each task, and when a plan joins it.
    Queue {
        /// Tasks that have ended.
        ended: u32,
        /// Tasks that wait.
        waiting: usize,
    },
    /// The model's plan joins the queue.
    PlanSubmitted {
        /// What it is about.
        title: String,
        /// The prompts of its tasks.
        tasks: Vec<String>,
    },
    /// No task of a plan is left.
    PlanEnded {
        /// What it is about.
        title: String,
        /// How many tasks it had.
        tasks: u32,
        /// How many of them succeeded.
        completed: u32,
    },
    /// Something happened in a sub-agent.
    Subagent {
        /// The tool call that started it, or, further down, the one that started that.
        call: String,
        /// How deep it is: 1 for one that the user's own agent has started.
        depth: u32,
        /// What happened.
        event: Box<AgentEvent>,
    },
    /// A summary has taken the place of the conversation's older part.
    Compacted {
        /// How many messages were summarised.
        messages: u32,
        /// Estimated size of the next request before, in tokens.
        before: u64,
        /// The same after.
        after: u64,
    },
    /// Plugins changed a prompt, a request, a task, a plan, a summary or a final text.
    Changed {
        /// Which event they changed it on.
        event: EventKind,
        /// The plugins, in the order of their changes.
        by: Vec<String>,
        /// The value before.
        before: Value,
        /// The value after.
        after: Value,
    },
    /// A plugin rejected an event that is not about a tool call.
    Rejected {
        /// On which event.
        event: EventKind,
        /// The plugins, and the refusal.
        #[serde(flatten)]
        refusal: Rejected,
    },
    /// A request is sent to a model.
    TurnStarted {
        /// Model calls of the session, this one included.
        turn: u32,
        /// Name of the provider.
        provider: String,
        /// Name of the model.
        model: String,
    },
    /// A request failed and is sent again after a wait.
    Retrying {
        /// Why it failed.
        error: String,
        /// How long is waited.
        #[serde(rename = "wait-ms", serialize_with = "milliseconds")]
        wait: Duration,
    },
    /// More of an answer's text, as it may be shown.
    Text {
        /// The text; pieces follow each other without anything between.
        text: String,
    },
    /// The model's reasoning before or within its answer, a piece at a time. It is not part of the answer. No event carries it, so
    /// it is not reported where a plugin judges the text that a person sees.
    Reasoning {
        /// The text of the piece.
        text: String,
    },
    /// Text that waited for plugins to see it whole is not shown, since its answer was interrupted.
    TextHeld {
        /// How many bytes.
        bytes: usize,
    },
    /// A plugin answered in the model's place.
    Answered {
        /// The plugin.
        by: String,
    },
    /// Plugins changed a tool call before it ran.
    ToolChanged {
        /// The call.
        id: String,
        /// The tool.
        name: String,
        /// The plugins, in the order of their changes.
        by: Vec<String>,
        /// The arguments that the model gave.
        before: Value,
        /// The arguments that count.
        after: Value,
    },
    /// A tool call does not run.
    ToolRejected {
        /// The call.
        id: String,
        /// The tool.
        name: String,
        /// The arguments that the model gave.
        arguments: Value,
        /// The plugins, and the refusal.
        #[serde(flatten)]
        refusal: Rejected,
    },
    /// A plugin gave a tool call's result; the tool does not run.
    ToolAnswered {
        /// The call.
        id: String,
        /// The tool.
        name: String,
        /// The plugin.
        by: String,
    },
    /// A tool starts.
    ToolStarted {
        /// The call.
        id: String,
        /// The tool.
        name: String,
        /// Who brought it.
        origin: ToolOrigin,
        /// The arguments it is given.
        arguments: Value,
    },
    /// Plugins changed a result before the model saw it. The result before is not reported: a
    /// plugin may have changed it to hide it.
    ResultChanged {
        /// The call.
        id: String,
        /// The tool.
        name: String,
        /// The plugins, in the order of their changes.
        by: Vec<String>,
    },
    /// The model does not see a result.
    ResultWithheld {
        /// The call.
        id: String,
        /// The tool.
        name: String,
        /// The plugins, and the refusal.
        #[serde(flatten)]
        refusal: Rejected,
    },
    /// A tool call has its result.
    ToolFinished {
        /// The call.
        id: String,
        /// The tool.
        name: String,
        /// What the model reads.
        text: String,
        /// Whether it failed, was rejected or was not run.
        is_error: bool,
    },
    /// What a model call used.
    Usage {
        /// Name of the provider.
        provider: String,
        /// Name of the model.
        model: String,
        /// The call's tokens.
        call: TokenUsage,
        /// The session's tokens so far.
        session: TokenUsage,
    },
    /// A task's final text, as it may be shown. Its pieces came as [`Self::Text`] before.
    Answer {
        /// All of it.
        text: String,
    },
    /// A task has ended.
    TaskEnded {
        /// How.
        status: Status,
        /// Why it did not succeed.
        reason: Option<String>,
        /// Model calls of the task.
        turns: u32,
    },
    /// The session has ended.
    SessionEnded {
        /// How the run ended.
        status: Status,
        /// What it used.
        usage: TokenUsage,
    },
}

/// A rejection, for the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Rejected {
    /// The plugins.
    pub by: Vec<String>,
    /// `rejected`, `failed`, `timed out`, `disagreed` or `not approved`.
    pub cause: &'static str,
    /// The plugin's words.
    pub reason: String,
    /// The rule's identifier, where it has one.
    pub code: Option<String>,
}

impl From<&Rejection> for Rejected {
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
