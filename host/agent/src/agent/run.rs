//! One run of an agent, and the functions that several of its steps use.

use super::limits::Limits;
use super::open_session::{self, OpenSession};
use super::run_context::{LoopEvent, RunContext};
use super::state::{State, TaskEnd};
use super::{Agent, AgentError, AgentEvent, Reporter, RunOutcome, Status};
use crate::session_store::{Ending, ResumedSession};
use crate::tool::{ToolContext, Toolbox, ToolboxError};
use hookhost::RecordedOutcome;
use hookhost::contract::{Decision, EventKind, Rejection, Stop, TransformOutcome, Turn, TurnSummary};
use hookhost_models::message::TokenUsage;
use serde::Serialize;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// One run of an agent.
pub(super) struct Run<'a> {
    pub(super) agent: &'a Agent,
    /// The session, which may outlast the run.
    pub(super) open: OpenSession,
    pub(super) reporter: &'a dyn Reporter,
    /// Cancelled by the caller of the run, or at the run's time limit.
    pub(super) cancel: CancellationToken,
    /// True after the time limit. The task in `_clock` sets this flag.
    time_is_over: Arc<AtomicBool>,
    _clock: JoinSet<()>,
    pub(super) limits: Arc<Limits>,
    /// Tools of the agent and of the run.
    pub(super) tools: Toolbox,
    pub(super) context: ToolContext,
    pub(super) run_context: Arc<RunContext>,
    /// Receives events from the run's own tools and its tool calls.
    pub(super) events: UnboundedReceiver<LoopEvent>,
    pub(super) task: TaskProgress,
    /// The current turn.
    pub(super) turn: Option<TurnProgress>,
    /// Model calls of this run's sub-agents.
    pub(super) subagent_turns: u32,
    /// Last final text, as shown to the user.
    pub(super) text: String,
    /// End of the first task that failed.
    pub(super) standing: Option<TaskEnd>,
    /// True if no further task may begin.
    pub(super) stopped: bool,
    /// True if the session continues after this run.
    pub(super) stays_open: bool,
}

/// Progress of the current task.
#[derive(Default)]
pub(super) struct TaskProgress {
    /// Index of the plan that the task belongs to.
    pub(super) plan: Option<usize>,
    pub(super) turns: u32,
    pub(super) turns_begun: u32,
    pub(super) usage: TokenUsage,
    /// Number of continuations after a refused final text or turn.
    pub(super) revisions: u32,
    /// True if a plugin has refused the usage of the last model call.
    pub(super) usage_refused: bool,
    /// True if the user got a notice that a request exceeds the context window.
    pub(super) told_too_large: bool,
    /// Number of consecutive answers that broke off after some of their calls were scheduled.
    pub(super) broken: u32,
}

/// Progress of the current turn.
pub(super) struct TurnProgress {
    turn: Turn,
    pub(super) usage: TokenUsage,
    pub(super) tool_calls: usize,
}

impl<'a> Run<'a> {
    /// Opens a new or resumed session, and creates a run in it.
    pub(super) fn begin(
        agent: &'a Agent,
        reporter: &'a dyn Reporter,
        cancel: &CancellationToken,
        limits: Arc<Limits>,
        resumed: Option<ResumedSession>,
    ) -> Result<Self, AgentError> {
        let opened = OpenSession::new(agent, resumed)?;
        Ok(Self::within(opened, agent, reporter, cancel, limits)?)
    }

    /// Creates a run in an open session.
    pub(super) fn within(
        open: OpenSession,
        agent: &'a Agent,
        reporter: &'a dyn Reporter,
        cancel: &CancellationToken,
        limits: Arc<Limits>,
    ) -> Result<Self, ToolboxError> {
        let Agent { config, workspace, .. } = agent;
        let (sender, events) = unbounded_channel();
        let run_context = Arc::new(RunContext::new(sender));
        let tools = open_session::tools(agent, &run_context, &limits)?;
        run_context.open(Arc::clone(&open.session));
        if config.depth == 0 {
            limits.begin_at(open.usage);
        }
        let cancel = cancel.child_token();
        let context = ToolContext {
            workspace: Arc::new(workspace.clone()),
            launcher: Arc::new(config.launcher.clone()),
            cancel: cancel.clone(),
            call: String::new(),
            plugin_tools: Some(open.session.plugin_tools()),
        };
        let time_is_over = Arc::new(AtomicBool::new(false));
        let mut clock = JoinSet::new();
        if let Some(most) = config.max_time {
            let (cancel, is_over) = (cancel.clone(), Arc::clone(&time_is_over));
            clock.spawn(async move {
                tokio::time::sleep(most).await;
                is_over.store(true, Ordering::Relaxed);
                cancel.cancel();
            });
        }
        Ok(Self {
            agent,
            open,
            reporter,
            cancel,
            time_is_over,
            _clock: clock,
            limits,
            tools,
            context,
            run_context,
            events,
            task: TaskProgress::default(),
            turn: None,
            subagent_turns: 0,
            text: String::new(),
            standing: None,
            stopped: false,
            stays_open: false,
        })
    }

    /// Awaits `future`. Returns `None` if the run is cancelled before the future is ready.
    pub(super) async fn unless_cancelled<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => None,
            value = future => Some(value),
        }
    }

    pub(super) fn report(&self, event: &AgentEvent) {
        self.reporter.report(event);
    }

    /// Waits for the plugins' decision about an event. Returns the value, the plugin's response with the plugin's name, and the names of
    /// the plugins that changed the value.
    ///
    /// # Errors
    /// Returns the end of the task if the event was rejected or the run was cancelled. A rejection is also reported.
    pub(super) async fn gated<V, R>(
        &self,
        event: EventKind,
        asking: impl Future<Output = RecordedOutcome<Decision<V, R>>>,
    ) -> Result<(V, Option<(R, String)>, Vec<String>), TaskEnd> {
        let settled = self.unless_cancelled(asking).await.ok_or_else(|| self.interrupted())?;
        match settled.outcome {
            Decision::Allowed { value } => Ok((value, None, settled.record.changed_by)),
            Decision::Responded { value, response, by } => Ok((value, Some((response, by)), settled.record.changed_by)),
            Decision::Rejected(rejection) => Err(self.refused(event, rejection)),
        }
    }

    /// Waits for a value that plugins may replace. Returns the value and the names of the plugins that replaced the value.
    ///
    /// # Errors
    /// Returns the end of the task if the value was withheld or the run was cancelled. A rejection is also reported.
    pub(super) async fn passed<V>(
        &self,
        event: EventKind,
        asking: impl Future<Output = RecordedOutcome<TransformOutcome<V>>>,
    ) -> Result<(V, Vec<String>), TaskEnd> {
        let settled = self.unless_cancelled(asking).await.ok_or_else(|| self.interrupted())?;
        match settled.outcome {
            TransformOutcome::Passed { value } => Ok((value, settled.record.changed_by)),
            TransformOutcome::Withheld(rejection) => Err(self.refused(event, rejection)),
        }
    }

    fn refused(&self, event: EventKind, rejection: Rejection) -> TaskEnd {
        self.report_refusal(event, &rejection);
        TaskEnd::rejected(rejection)
    }

    /// Reports the plugins' changes, if there are any.
    pub(super) fn report_change(&self, event: EventKind, by: &[String], before: impl Serialize, after: impl Serialize) {
        if !by.is_empty() {
            let (before, after) = (json!(before), json!(after));
            self.report(&AgentEvent::Changed { event, by: by.to_vec(), before, after });
        }
    }

    pub(super) fn report_refusal(&self, event: EventKind, rejection: &Rejection) {
        self.report(&AgentEvent::Rejected { event, refusal: rejection.into() });
    }

    /// Returns the end of a run that was cancelled or reached its time limit.
    pub(super) fn interrupted(&self) -> TaskEnd {
        match self.agent.config.max_time {
            Some(most) if self.time_is_over.load(Ordering::Relaxed) => {
                let reason = format!("the run has reached its time limit of {most:?}");
                TaskEnd { status: Status::MaxTime, stop: Some(Stop::Session), ..TaskEnd::error(reason) }
            }
            _ => TaskEnd {
                status: Status::Cancelled,
                stop: Some(Stop::Session),
                ..TaskEnd::error("the run was cancelled".into())
            },
        }
    }

    /// Counts a new turn.
    pub(super) fn begin_turn(&mut self) {
        self.open.turns_begun = self.open.turns_begun.saturating_add(1);
        self.task.turns_begun = self.task.turns_begun.saturating_add(1);
        let turn = Turn { number: self.open.turns_begun, number_in_task: self.task.turns_begun };
        self.turn = Some(TurnProgress { turn, usage: TokenUsage::default(), tool_calls: 0 });
    }

    /// Sends `turn-end` if a turn has begun.
    pub(super) async fn end_turn(&mut self) {
        let Some(TurnProgress { turn, usage, tool_calls }) = self.turn.take() else { return };
        let summary = TurnSummary {
            number: turn.number,
            number_in_task: turn.number_in_task,
            tool_calls: u32::try_from(tool_calls).unwrap_or(u32::MAX),
            input_tokens: usage.input_tokens,
            cached_input_tokens: usage.cached_input_tokens,
            output_tokens: usage.output_tokens,
        };
        let _ = self.open.session.turn_end(summary).await;
    }

    pub(super) async fn end_session(&mut self) -> State {
        let usage = self.contract_usage(&self.open.own, TokenUsage::default());
        let _ = self.open.session.session_end(usage).await;
        let (status, reason) = match &self.standing {
            Some(ended) => (ended.status, ended.reason.clone()),
            None => (Status::Success, None),
        };
        if let Err(error) = self.open.conversation.keep_reminders(self.open.session.kept_reminders()) {
            self.standing.get_or_insert_with(|| TaskEnd::error(error.to_string()));
        }
        let ending = Ending {
            status: status.name().to_owned(),
            reason,
            turns: self.open.turns,
            subagent_turns: self.session_subagent_turns(),
            usage: self.open.usage,
        };
        if let Err(error) = self.open.conversation.end(&ending) {
            self.standing.get_or_insert_with(|| TaskEnd::error(error.to_string()));
        }
        let status = self.standing.as_ref().map_or(Status::Success, |ended| ended.status);
        self.report(&AgentEvent::SessionEnded { status, usage: self.open.usage });
        State::Done
    }

    pub(super) fn outcome(mut self) -> RunOutcome {
        self.take_outcome()
    }

    /// Returns the outcome of the run, and its session for the next run.
    pub(super) fn close(mut self) -> (RunOutcome, OpenSession) {
        let outcome = self.take_outcome();
        self.open.subagent_turns = self.session_subagent_turns();
        (outcome, self.open)
    }

    fn session_subagent_turns(&self) -> u32 {
        self.open.subagent_turns.saturating_add(self.subagent_turns)
    }

    fn take_outcome(&mut self) -> RunOutcome {
        let TaskEnd { status, reason, rejection, .. } = self.standing.take().unwrap_or_else(TaskEnd::success);
        RunOutcome {
            session: self.open.session.id().to_owned(),
            status,
            reason,
            rejection,
            text: std::mem::take(&mut self.text),
            turns: self.open.turns,
            subagent_turns: self.subagent_turns,
            usage: self.open.usage,
            transcript: self.open.conversation.path(),
        }
    }
}
