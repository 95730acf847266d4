//! What a run shares with its own tools and with the task that runs tool calls: the session, the
//! queue, the channel of events.

use super::AgentEvent;
use super::queue::Queue;
use super::state::Ended;
use crate::message::TokenUsage;
use hookhost::contract::{Rejection, ToolCall, ToolResult};
use hookhost::session::Session;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use tokio::sync::mpsc::UnboundedSender;

/// A message to the run that waits for its tool calls.
#[derive(Debug)]
pub(super) enum LoopEvent {
    /// For the reporter.
    Report(AgentEvent),
    /// The call at this place of the answer may run: plugins have been asked about it.
    Asked(usize),
    /// The call at this place has a new status.
    Call(usize, CallStatus),
}

/// The status of a tool call.
#[derive(Debug)]
pub(super) enum CallStatus {
    /// Nothing yet: it is asked about, or waits.
    Open,
    /// It runs.
    Started,
    /// It cannot even be asked about.
    Malformed,
    /// It does not run. With the end of the task, if the rejection ends it.
    Refused(Rejection, Option<Box<Ended>>),
    /// A plugin gave its result.
    Responded(ToolCall, ToolResult),
    /// It has run.
    Finished(ToolCall, ToolResult),
    /// It was stopped. With the output that it had printed by then.
    Interrupted(ToolCall, ToolResult),
    /// Its result is part of the conversation.
    Answered,
}

/// What the parts of one run share.
#[derive(Debug)]
pub(super) struct RunContext {
    session: OnceLock<Arc<Session>>,
    queue: Mutex<Queue>,
    events: UnboundedSender<LoopEvent>,
    /// Tokens and model calls of sub-agents that the run has not counted yet.
    used: Mutex<(TokenUsage, u32)>,
    /// How the session must end, if something inside of a tool or a shown text requires it.
    stop: Mutex<Option<Ended>>,
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

    /// The session; there is none until it is open.
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

    /// A run that has ended drops its receiver; then the event is lost on purpose.
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

    /// Ends the session once the current call has its result, if the refusal says so.
    pub(super) fn refused(&self, rejection: &Rejection) {
        if rejection.ends.is_some() {
            self.end(Ended::rejected(rejection.clone()));
        }
    }

    /// Ends the session once the current call has its result.
    pub(super) fn end(&self, ended: Ended) {
        locked(&self.stop).get_or_insert(ended);
    }

    /// Whether a plugin has said that the run is to stop.
    pub(super) fn is_to_stop(&self) -> bool {
        locked(&self.stop).is_some()
    }

    pub(super) fn take_stop(&self) -> Option<Ended> {
        locked(&self.stop).take()
    }

    /// Counts a sub-agent of the session. Returns `false` if that were more than `max`.
    pub(super) fn count_subagent(&self, max: u32) -> bool {
        let more = |count: u32| (count < max).then_some(count + 1);
        self.subagents.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
