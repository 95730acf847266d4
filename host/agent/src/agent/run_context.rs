//! State that a run shares with its own tools and with the task that runs tool calls.

use super::AgentEvent;
use super::queue::Queue;
use super::state::TaskEnd;
use crate::tool::ToolOutput;
use hookhost::contract::{EventKind, Rejection, ToolCall, ToolResult};
use hookhost::session::Session;
use hookhost_models::message::TokenUsage;
use serde::Serialize;
use serde_json::json;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use tokio::sync::mpsc::UnboundedSender;

/// A message to the run that waits for its tool calls.
#[derive(Debug)]
pub(super) enum LoopEvent {
    /// An event for the reporter.
    Report(AgentEvent),
    /// Plugins have allowed the call with this index in the answer.
    Asked(usize),
    /// The call with this index has a new status.
    Call(usize, CallStatus),
}

/// Status of a tool call.
#[derive(Debug)]
pub(super) enum CallStatus {
    /// Plugins have not decided on the call yet, or the call waits for its turn to run.
    Open,
    /// The call runs.
    Started,
    /// The arguments are not a JSON object, so plugins cannot check the call.
    Malformed,
    /// The call was rejected. Contains the end of the task if the rejection ends the task.
    Refused(Rejection, Option<Box<TaskEnd>>),
    /// A plugin gave the result.
    Responded(ToolCall, ToolResult),
    /// The call has run.
    Finished(ToolCall, ToolResult),
    /// The call was stopped. Contains its output so far.
    Interrupted(ToolCall, ToolResult),
    /// The result is part of the conversation.
    Answered,
}

/// State that the parts of one run share.
#[derive(Debug)]
pub(super) struct RunContext {
    session: OnceLock<Arc<Session>>,
    queue: Mutex<Queue>,
    events: UnboundedSender<LoopEvent>,
    /// Tokens and model calls of sub-agents that are not yet counted in the session.
    used: Mutex<(TokenUsage, u32)>,
    /// End of the session, if a tool or a shown text requires it.
    stop: Mutex<Option<TaskEnd>>,
    subagents: AtomicU32,
}

impl RunContext {
    pub(super) fn new(events: UnboundedSender<LoopEvent>) -> Self {
        Self {
            session: OnceLock::new(),
            queue: Mutex::default(),
            events,
            used: Mutex::default(),
            stop: Mutex::default(),
            subagents: AtomicU32::new(0),
        }
    }

    /// Returns the session; `None` until it is open.
    pub(super) fn session(&self) -> Option<&Arc<Session>> {
        self.session.get()
    }

    pub(super) fn open(&self, session: Arc<Session>) {
        let _ = self.session.set(session);
    }

    pub(super) fn queue(&self) -> MutexGuard<'_, Queue> {
        locked(&self.queue)
    }

    pub(super) fn report(&self, event: AgentEvent) {
        self.send(LoopEvent::Report(event));
    }

    /// Sends an event. If the run has ended, there is no receiver any more, and the event is dropped on purpose.
    pub(super) fn send(&self, event: LoopEvent) {
        let _ = self.events.send(event);
    }

    pub(super) fn add_usage(&self, used: TokenUsage, turns: u32) {
        let mut sum = locked(&self.used);
        sum.0.add(used);
        sum.1 = sum.1.saturating_add(turns);
    }

    pub(super) fn take_usage(&self) -> (TokenUsage, u32) {
        std::mem::take(&mut *locked(&self.used))
    }

    /// Reports that plugins rejected the action of a tool, for example the submission of a plan. Returns the rejection as the result of the
    /// tool call.
    pub(super) fn rejected(&self, event: EventKind, rejection: &Rejection) -> ToolOutput {
        self.report(AgentEvent::Rejected { event, refusal: rejection.into() });
        self.end_if_rejection_ends(rejection);
        ToolOutput::error(rejection.to_string())
    }

    /// If the rejection ends the session, ends it after the current call.
    pub(super) fn end_if_rejection_ends(&self, rejection: &Rejection) {
        if rejection.ends.is_some() {
            self.end(TaskEnd::rejected(rejection.clone()));
        }
    }

    /// Reports that the plugins `by` have changed a value. If `by` is empty, nothing is reported.
    pub(super) fn changed(&self, event: EventKind, by: Vec<String>, before: &impl Serialize, after: &impl Serialize) {
        if !by.is_empty() {
            self.report(AgentEvent::Changed { event, by, before: json!(before), after: json!(after) });
        }
    }

    /// Ends the session after the current call.
    pub(super) fn end(&self, ended: TaskEnd) {
        locked(&self.stop).get_or_insert(ended);
    }

    /// Returns true if the session must end after the current call.
    pub(super) fn is_to_stop(&self) -> bool {
        locked(&self.stop).is_some()
    }

    pub(super) fn take_stop(&self) -> Option<TaskEnd> {
        locked(&self.stop).take()
    }

    /// Counts a sub-agent of the session and returns true. If `max` sub-agents were counted before, it returns false instead.
    pub(super) fn count_subagent(&self, max: u32) -> bool {
        let more = |count: u32| (count < max).then_some(count + 1);
        self.subagents.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
