//! The run as a state machine: each step returns the next state. [`Run::step`] shows the whole order of events.

use super::conversation::Conversation;
use super::limits::Limits;
use super::queue::Queued;
use super::request::{Completion, Outgoing};
use super::resumed_state::{self, ResumedState};
use super::run_context::{LoopEvent, RunContext};
use super::subagent::SpawnAgent;
use super::submit_plan::SubmitPlan;
use super::{Agent, AgentError, AgentEvent, Reporter, RunOutcome, Status};
use crate::session_store::{Ending, ResumedSession, SessionStoreError};
use crate::tool::{ToolContext, Toolbox, ToolboxError};
use hookhost::contract::{EventKind, ModelRef, Rejection, Stop, ToolSpec, Turn, TurnSummary};
use hookhost::session::{Session, SessionSpec};
use hookhost_models::DeltaStream;
use hookhost_models::message::TokenUsage;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// State of a run.
pub(super) enum State {
    /// Initial state. It sends `session-start` and `provider-resolve`; then the first task begins. Without a prompt, a
    /// resumed session continues with its model's next answer.
    Start { prompt: Option<String> },
    /// Between tasks. If no task is left, it sends `queue-empty`.
    NextTask,
    /// A task begins. It sends `task-start`, then `prompt-submit` for its prompt.
    Submit(Queued),
    /// A turn begins. It sends `turn-start`, then `before-inference` for its request; if the request would be too
    /// large, `before-compaction` and `after-compaction` come before that.
    Assemble,
    /// The request is sent, possibly again: `request-send`.
    Send(Outgoing),
    /// The answer streams in: `stream-delta`, `stream-end`, and `before-tool-call` for each of its calls. If a plugin
    /// subscribes to `response-receive`, it sees the whole answer first.
    Receive(Outgoing, DeltaStream),
    /// The answer is complete: `after-inference`, `token-usage`. Its tool calls follow: `before-tools`,
    /// `after-tool-call`, `turn-end`.
    Answered(Completion),
    /// The answer has no tool calls, so its text is final: `finalize-content`.
    Finalize(Completion),
    /// The task has ended with any status: `turn-end`, `agent-error`, `task-complete`, `plan-complete`.
    Ended(Ended),
    /// The session ends: `session-end`.
    Finish,
    /// Final state.
    Done,
}

/// End of a task.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    pub(super) status: Status,
    pub(super) reason: Option<String>,
    pub(super) rejection: Option<Rejection>,
    /// Scope that ends beside the task: the session takes no further task, or the whole run ends.
    pub(super) stop: Option<Stop>,
}

impl Ended {
    pub(super) fn success() -> Self {
        Self { status: Status::Success, reason: None, rejection: None, stop: None }
    }

    pub(super) fn rejected(rejection: Rejection) -> Self {
        let stop = rejection.ends;
        Self { status: Status::Rejected, reason: Some(rejection.to_string()), rejection: Some(rejection), stop }
    }

    pub(super) fn error(reason: String) -> Self {
        Self { status: Status::Error, reason: Some(reason), rejection: None, stop: None }
    }
}

/// Result of a step. It is an error if the session cannot be written, since a session that is not on disk must not
/// continue.
pub(super) type Step = Result<State, SessionStoreError>;

/// The part of a run that outlasts it if its session continues.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) session: Arc<Session>,
    pub(super) conversation: Conversation,
    pub(super) turns: u32,
    /// Model calls of the session's sub-agents.
    subagent_turns: u32,
    pub(super) usage: TokenUsage,
    own: ModelRef,
    context_tokens: u64,
    resumed_state: ResumedState,
    turns_begun: u32,
    begun: Begun,
}

/// Completed parts of a session's beginning. Each part happens once per session, not per run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Begun {
    /// True after `session-start`.
    pub(super) started: bool,
    /// True once the session's model is chosen.
    pub(super) settled: bool,
}

/// One run of an agent.
pub(super) struct Run<'a> {
    pub(super) agent: &'a Agent,
    pub(super) session: Arc<Session>,
    pub(super) reporter: &'a dyn Reporter,
    /// Cancelled from outside, or at the run's time limit.
    pub(super) cancel: CancellationToken,
    /// True after the time limit; set by the task in `_clock`.
    time_is_over: Arc<AtomicBool>,
    _clock: JoinSet<()>,
    pub(super) limits: Arc<Limits>,
    /// Tools of the agent and of the run.
    pub(super) tools: Toolbox,
    pub(super) context: ToolContext,
    pub(super) run_context: Arc<RunContext>,
    /// Receives events from the run's own tools and its tool calls.
    pub(super) events: UnboundedReceiver<LoopEvent>,
    /// Model of the session.
    pub(super) own: ModelRef,
    pub(super) conversation: Conversation,
    /// Size of the conversation in tokens, as the provider last counted it; 0 if unknown.
    pub(super) context_tokens: u64,
    /// State of a resumed session, until it is reported.
    pub(super) resumed_state: ResumedState,
    pub(super) task: TaskSoFar,
    /// The current turn.
    pub(super) turn: Option<TurnSoFar>,
    pub(super) turns: u32,
    pub(super) turns_begun: u32,
    /// Model calls of this run's sub-agents.
    pub(super) subagent_turns: u32,
    /// Model calls of sub-agents in earlier runs of the session.
    earlier_subagent_turns: u32,
    pub(super) usage: TokenUsage,
    /// Last final text, as shown to the user.
    pub(super) text: String,
    /// End of the first task that failed.
    pub(super) standing: Option<Ended>,
    /// True if no further task may begin.
    pub(super) stopped: bool,
    pub(super) begun: Begun,
    /// True if the session continues after this run.
    pub(super) stays_open: bool,
}

/// Progress of the current task.
#[derive(Default)]
pub(super) struct TaskSoFar {
    /// Index of the plan that the task belongs to.
    pub(super) plan: Option<usize>,
    pub(super) turns: u32,
    pub(super) turns_begun: u32,
    pub(super) usage: TokenUsage,
    /// Number of continuations after a refused final text or turn.
    pub(super) revisions: u32,
    /// True if a plugin has refused the usage of the last model call.
    pub(super) usage_refused: bool,
    /// True if the user was told that a request exceeds the context window.
    pub(super) told_too_large: bool,
    /// Number of answers in a row that broke off after some of their calls had been handed on.
    pub(super) broken: u32,
}

/// Progress of the current turn.
pub(super) struct TurnSoFar {
    turn: Turn,
    pub(super) usage: TokenUsage,
    pub(super) tool_calls: usize,
}

impl Opened {
    /// Opens a new or resumed session.
    ///
    /// # Errors
    /// Returns an error if the engine refuses the session, or if it cannot be stored.
    pub(super) fn new(agent: &Agent, resumed: Option<ResumedSession>) -> Result<Self, AgentError> {
        let Agent { host, models, config, workspace, .. } = agent;
        // These tools serve only for their definitions: each run creates its own ones with its run context.
        let tools = tools(agent, &Arc::new(RunContext::new(unbounded_channel().0)), &Arc::new(Limits::new(config)))?;
        let mut spec = SessionSpec::new("hookhost", workspace.root());
        spec.id = resumed.as_ref().map(|resumed| resumed.session.header.id.clone()).or_else(|| config.session.clone());
        spec.depth = config.depth;
        spec.interactive = config.interactive;
        spec.parent.clone_from(&config.parent);
        spec.tools = tools.definitions().map(|tool| ToolSpec::new(tool.name, tool.input_schema)).collect();
        spec.models = models.refs();
        let session = Arc::new(host.open_session(spec)?);
        let (mut conversation, resumed_state) = resumed_state::open(agent, session.id(), resumed)?;
        session.set_transcript(conversation.readable());
        session.set_turn(resumed_state.turns);
        session.take_up_reminders(resumed_state.reminders.clone());
        conversation.keep_reminders(session.kept_reminders())?;
        Ok(Self {
            session,
            conversation,
            turns: resumed_state.turns,
            subagent_turns: resumed_state.subagent_turns,
            usage: resumed_state.usage,
            own: models.own(),
            context_tokens: 0,
            turns_begun: resumed_state.turns,
            resumed_state,
            begun: Begun::default(),
        })
    }

    /// Returns true after `session-start`; then `session-end` must come, too.
    pub(super) fn has_started(&self) -> bool {
        self.begun.started
    }
}

impl<'a> Run<'a> {
    pub(super) fn open(
        agent: &'a Agent,
        reporter: &'a dyn Reporter,
        cancel: &CancellationToken,
        limits: Arc<Limits>,
        resumed: Option<ResumedSession>,
    ) -> Result<Self, AgentError> {
        let opened = Opened::new(agent, resumed)?;
        Ok(Self::within(opened, agent, reporter, cancel, limits)?)
    }

    /// Creates a run in an open session.
    pub(super) fn within(
        opened: Opened,
        agent: &'a Agent,
        reporter: &'a dyn Reporter,
        cancel: &CancellationToken,
        limits: Arc<Limits>,
    ) -> Result<Self, ToolboxError> {
        let Agent { config, workspace, .. } = agent;
        let Opened {
            session,
            conversation,
            turns,
            subagent_turns: earlier_subagent_turns,
            usage,
            own,
            context_tokens,
            resumed_state,
            turns_begun,
            begun,
        } = opened;
        let (sender, events) = unbounded_channel();
        let run_context = Arc::new(RunContext::new(sender));
        let tools = tools(agent, &run_context, &limits)?;
        run_context.open(Arc::clone(&session));
        if config.depth == 0 {
            limits.begin_at(usage);
        }
        let cancel = cancel.child_token();
        let context = ToolContext {
            workspace: Arc::new(workspace.clone()),
            hidden_variables: config.hidden_variables.clone().into(),
            cancel: cancel.clone(),
            call: String::new(),
            plugin_tools: Some(session.plugin_tools()),
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
            session,
            reporter,
            cancel,
            time_is_over,
            _clock: clock,
            limits,
            tools,
            context,
            run_context,
            events,
            own,
            conversation,
            context_tokens,
            resumed_state,
            task: TaskSoFar::default(),
            turn: None,
            turns,
            turns_begun,
            subagent_turns: 0,
            earlier_subagent_turns,
            usage,
            text: String::new(),
            standing: None,
            stopped: false,
            begun,
            stays_open: false,
        })
    }

    /// Runs a prompt and all tasks that follow from it to their end.
    pub(super) async fn finish(mut self, prompt: Option<&str>) -> RunOutcome {
        self.steps(State::Start { prompt: prompt.map(str::to_owned) }).await;
        self.outcome()
    }

    /// Steps from `state` until the run is done.
    pub(super) async fn steps(&mut self, mut state: State) {
        while !matches!(state, State::Done) {
            state = match self.step(state).await {
                Ok(next) => next,
                Err(error) => self.not_written(&error),
            };
            for notice in self.session.take_notices() {
                self.report(&AgentEvent::Notice { text: notice.text });
            }
        }
    }

    async fn step(&mut self, state: State) -> Step {
        Ok(match state {
            State::Start { prompt } => return self.start(prompt).await,
            State::NextTask => self.next_task().await,
            State::Submit(task) => return self.submit(task).await,
            State::Assemble => return self.assemble().await,
            State::Send(outgoing) => self.send(outgoing).await,
            State::Receive(outgoing, stream) => self.receive(outgoing, stream).await,
            State::Answered(answer) => return self.answered(answer).await,
            State::Finalize(answer) => return self.finalize(answer).await,
            State::Ended(ended) => return self.ended(ended).await,
            State::Finish if self.stays_open => State::Done,
            State::Finish => self.end_session().await,
            State::Done => State::Done,
        })
    }

    /// Awaits `future`; returns `None` if the run is cancelled first.
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

    /// Reports the plugins' changes, if there are any.
    pub(super) fn report_change(&self, event: EventKind, by: &[String], before: &str, after: &str) {
        if !by.is_empty() {
            let (before, after) = (before.into(), after.into());
            self.report(&AgentEvent::Changed { event, by: by.to_vec(), before, after });
        }
    }

    pub(super) fn report_refusal(&self, event: EventKind, rejection: &Rejection) {
        self.report(&AgentEvent::Rejected { event, refusal: rejection.into() });
    }

    /// Returns the end of a run that was cancelled or reached its time limit.
    pub(super) fn interrupted(&self) -> Ended {
        match self.agent.config.max_time {
            Some(most) if self.time_is_over.load(Ordering::Relaxed) => {
                let reason = format!("the run has used all of its {most:?}");
                Ended { status: Status::MaxTime, stop: Some(Stop::Session), ..Ended::error(reason) }
            }
            _ => Ended {
                status: Status::Cancelled,
                stop: Some(Stop::Session),
                ..Ended::error("the run was cancelled".into())
            },
        }
    }

    /// Counts a new turn.
    pub(super) fn begin_turn(&mut self) {
        self.turns_begun = self.turns_begun.saturating_add(1);
        self.task.turns_begun = self.task.turns_begun.saturating_add(1);
        let turn = Turn { number: self.turns_begun, number_in_task: self.task.turns_begun };
        self.turn = Some(TurnSoFar { turn, usage: TokenUsage::default(), tool_calls: 0 });
    }

    /// Sends `turn-end` if a turn has begun.
    pub(super) async fn end_turn(&mut self) {
        let Some(TurnSoFar { turn, usage, tool_calls }) = self.turn.take() else { return };
        let summary = TurnSummary {
            number: turn.number,
            number_in_task: turn.number_in_task,
            tool_calls: u32::try_from(tool_calls).unwrap_or(u32::MAX),
            input_tokens: usage.input_tokens,
            cached_input_tokens: usage.cached_input_tokens,
            output_tokens: usage.output_tokens,
        };
        let _ = self.session.turn_end(summary).await;
    }

    async fn end_session(&mut self) -> State {
        let usage = self.contract_usage(&self.own, TokenUsage::default());
        let _ = self.session.session_end(usage).await;
        let (status, reason) = match &self.standing {
            Some(ended) => (ended.status, ended.reason.clone()),
            None => (Status::Success, None),
        };
        if let Err(error) = self.conversation.keep_reminders(self.session.kept_reminders()) {
            self.standing.get_or_insert_with(|| Ended::error(error.to_string()));
        }
        let ending = Ending {
            status: status.name().to_owned(),
            reason,
            turns: self.turns,
            subagent_turns: self.session_subagent_turns(),
            usage: self.usage,
        };
        if let Err(error) = self.conversation.end(&ending) {
            self.standing.get_or_insert_with(|| Ended::error(error.to_string()));
        }
        let status = self.standing.as_ref().map_or(Status::Success, |ended| ended.status);
        self.report(&AgentEvent::SessionEnded { status, usage: self.usage });
        State::Done
    }

    /// Ends a run whose session cannot be written. It writes nothing more, but still sends `session-end`.
    fn not_written(&mut self, error: &SessionStoreError) -> State {
        self.conversation.abandon();
        State::Ended(Ended { stop: Some(Stop::Session), ..Ended::error(error.to_string()) })
    }

    pub(super) fn outcome(mut self) -> RunOutcome {
        self.take_outcome()
    }

    /// Returns the outcome of the run, and its session for the next run.
    pub(super) fn close(mut self) -> (RunOutcome, Opened) {
        let (outcome, subagent_turns) = (self.take_outcome(), self.session_subagent_turns());
        let Self {
            session, conversation, turns, usage, own, context_tokens, resumed_state, turns_begun, begun, ..
        } = self;
        let opened = Opened {
            session,
            conversation,
            turns,
            subagent_turns,
            usage,
            own,
            context_tokens,
            resumed_state,
            turns_begun,
            begun,
        };
        (outcome, opened)
    }

    fn session_subagent_turns(&self) -> u32 {
        self.earlier_subagent_turns.saturating_add(self.subagent_turns)
    }

    fn take_outcome(&mut self) -> RunOutcome {
        let Ended { status, reason, rejection, .. } = self.standing.take().unwrap_or_else(Ended::success);
        RunOutcome {
            session: self.session.id().to_owned(),
            status,
            reason,
            rejection,
            text: std::mem::take(&mut self.text),
            turns: self.turns,
            subagent_turns: self.subagent_turns,
            usage: self.usage,
            transcript: self.conversation.path(),
        }
    }
}

/// Returns the agent's tools, and the run's own tools whose names the agent does not use.
fn tools(agent: &Agent, run_context: &Arc<RunContext>, limits: &Arc<Limits>) -> Result<Toolbox, ToolboxError> {
    let mut tools = agent.tools.clone();
    if tools.get(super::submit_plan::NAME).is_none() {
        tools = tools.with(Arc::new(SubmitPlan(Arc::clone(run_context))))?;
    }
    // An agent at the maximum depth has no such tool.
    if agent.config.depth < u32::from(agent.config.max_depth) && tools.get(super::subagent::NAME).is_none() {
        let (agent, run_context, limits) = (agent.clone(), Arc::clone(run_context), Arc::clone(limits));
        tools = tools.with(Arc::new(SpawnAgent { agent, run_context, limits }))?;
    }
    Ok(tools)
}
