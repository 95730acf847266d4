//! The run as a state machine: each state is a step whose outcome is the next state. The whole order of events can be
//! read off [`Run::step`].

use super::conversation::Conversation;
use super::infer::{Answer, Outgoing};
use super::{Agent, AgentError, AgentEvent, MAX_TASKS, Reporter, RunOutcome, Status};
use crate::message::{TokenUsage, ToolUse};
use crate::provider::DeltaStream;
use crate::tool::ToolContext;
use crate::transcript::{Ending, Header, TranscriptError, TranscriptWriter};
use hookhost::contract::Task;
use hookhost::event::EventKind;
use hookhost::session::{Rejection, Session, SessionSpec, ToolSpec};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Where a run is.
pub(super) enum State {
    /// Nothing has happened. `session-start` comes, then the first task.
    Start { prompt: String },
    /// Between tasks.
    NextTask,
    /// A task's prompt, for `prompt-submit`.
    Submit(Task),
    /// The next request is put together, for `before-inference`.
    Assemble,
    /// The request goes out, perhaps not for the first time.
    Send(Outgoing),
    /// The answer streams in: `stream-delta`, `stream-end`.
    Receive(Outgoing, DeltaStream),
    /// The answer is complete: `after-inference`, `token-usage`.
    Answered(Answer),
    /// Its tool calls: `before-tool-call`, `before-tools`, `after-tool-call`.
    ToolCalls { calls: Vec<ToolUse>, offered: Vec<String> },
    /// It has none, so its text is final: `finalize-content`.
    Finalize(Answer),
    /// The task has ended, well or not: `agent-error`, `task-complete`.
    Ended(Ended),
    /// `session-end`.
    Finish,
    /// Nothing more will happen.
    Done,
}

/// How a task ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) status: Status,
    pub(super) reason: Option<String>,
    pub(super) rejection: Option<Rejection>,
    /// No further task of this session is begun.
    pub(super) stop: bool,
}

impl Ended {
    pub(super) fn success() -> Self {
        Self { status: Status::Success, reason: None, rejection: None, stop: false }
    }

    pub(super) fn cancelled() -> Self {
        let reason = Some("the run was cancelled".into());
        Self { status: Status::Cancelled, reason, rejection: None, stop: true }
    }

    pub(super) fn rejected(rejection: Rejection) -> Self {
        let stop = rejection.refusal.stop;
        Self { status: Status::Rejected, reason: Some(rejection.to_string()), rejection: Some(rejection), stop }
    }

    pub(super) fn error(reason: String) -> Self {
        Self { status: Status::Error, reason: Some(reason), rejection: None, stop: false }
    }
}

/// A step that needs the transcript fails with it: what is not on disk must not go on.
pub(super) type Step = Result<State, TranscriptError>;

/// One run of an agent.
pub(super) struct Run<'a> {
    pub(super) agent: &'a Agent,
    pub(super) session: Session,
    pub(super) reporter: &'a dyn Reporter,
    pub(super) cancel: CancellationToken,
    pub(super) context: ToolContext,
    pub(super) conversation: Conversation,
    pub(super) queue: VecDeque<Task>,
    /// Tasks that joined the queue so far.
    pub(super) queued: usize,
    pub(super) task: TaskSoFar,
    pub(super) turns: u32,
    pub(super) usage: TokenUsage,
    /// The last final text, as it may be shown.
    pub(super) text: String,
    /// The first end of a task that is no success.
    pub(super) standing: Option<Ended>,
}

/// What has happened in the task at hand.
#[derive(Default)]
pub(super) struct TaskSoFar {
    pub(super) turns: u32,
    pub(super) usage: TokenUsage,
    /// How often each call was refused, by tool and arguments.
    pub(super) refusals: HashMap<(String, String), u32>,
}

impl<'a> Run<'a> {
    pub(super) fn open(
        agent: &'a Agent,
        reporter: &'a dyn Reporter,
        cancel: CancellationToken,
    ) -> Result<Self, AgentError> {
        let Agent { host, models, tools, config, workspace } = agent;
        let mut spec = SessionSpec::new("hookhost", workspace.root());
        spec.id.clone_from(&config.session);
        spec.depth = config.depth;
        spec.interactive = config.interactive;
        spec.parent.clone_from(&config.parent);
        spec.tools =
            tools.definitions().map(|tool| ToolSpec { name: tool.name, input_schema: tool.input_schema }).collect();
        spec.models = models.refs();
        let session = host.open_session(spec)?;
        let own = models.own();
        let header = Header {
            id: session.id().to_owned(),
            provider: own.provider,
            model: own.model,
            workspace: workspace.root().to_owned(),
        };
        let folder = config.transcript_dir.as_deref();
        let transcript = folder.map(|folder| TranscriptWriter::create(folder, header)).transpose()?;
        let conversation = Conversation::new(transcript);
        session.set_transcript(conversation.readable());
        let context = ToolContext {
            workspace: Arc::new(workspace.clone()),
            hidden_variables: config.hidden_variables.clone().into(),
            cancel: cancel.clone(),
            plugin_tools: Some(session.plugin_tools()),
        };
        Ok(Self {
            agent,
            session,
            reporter,
            cancel,
            context,
            conversation,
            queue: VecDeque::new(),
            queued: 0,
            task: TaskSoFar::default(),
            turns: 0,
            usage: TokenUsage::default(),
            text: String::new(),
            standing: None,
        })
    }

    /// Steps until nothing more happens.
    pub(super) async fn finish(mut self, prompt: &str) -> RunOutcome {
        let mut state = State::Start { prompt: prompt.to_owned() };
        while !matches!(state, State::Done) {
            state = match self.step(state).await {
                Ok(next) => next,
                Err(error) => self.transcript_failed(&error),
            };
            for text in self.session.take_notices() {
                self.report(&AgentEvent::Notice { text });
            }
        }
        self.outcome()
    }

    async fn step(&mut self, state: State) -> Step {
        Ok(match state {
            State::Start { prompt } => self.start(prompt).await,
            State::NextTask => self.next_task(),
            State::Submit(task) => return self.submit(task).await,
            State::Assemble => self.assemble().await,
            State::Send(outgoing) => self.send(outgoing).await,
            State::Receive(outgoing, stream) => self.receive(outgoing, stream).await,
            State::Answered(answer) => return self.answered(answer).await,
            State::ToolCalls { calls, offered } => return self.tool_calls(calls, &offered).await,
            State::Finalize(answer) => return self.finalize(answer).await,
            State::Ended(ended) => return self.ended(ended).await,
            State::Finish => self.end_session().await,
            State::Done => State::Done,
        })
    }

    /// The rest of `future`, unless the run is cancelled first.
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

    /// Tells that plugins changed something, if they did.
    pub(super) fn report_change(&self, event: EventKind, by: &[String], before: &str, after: &str) {
        if !by.is_empty() {
            let (before, after) = (before.into(), after.into());
            self.report(&AgentEvent::Changed { event, by: by.to_vec(), before, after });
        }
    }

    pub(super) fn report_refusal(&self, event: EventKind, rejection: &Rejection) {
        self.report(&AgentEvent::Refused { event, refusal: rejection.into() });
    }

    /// Tasks of plugins join the queue, up to the cap.
    pub(super) fn enqueue(&mut self, tasks: Vec<Task>) {
        let room = MAX_TASKS.saturating_sub(self.queued);
        let left_out = tasks.len().saturating_sub(room);
        self.queued += tasks.len() - left_out;
        self.queue.extend(tasks.into_iter().take(room));
        if left_out > 0 {
            let text = format!("a run has at most {MAX_TASKS} tasks: {left_out} that plugins added were left out");
            self.report(&AgentEvent::Notice { text });
        }
    }

    async fn end_session(&mut self) -> State {
        let usage = self.contract_usage(&self.agent.models.own(), TokenUsage::default());
        let _ = self.session.session_end(usage).await;
        let (status, reason) = match &self.standing {
            Some(ended) => (ended.status, ended.reason.clone()),
            None => (Status::Success, None),
        };
        if let Err(error) =
            self.conversation.end(Ending { status: status.name().to_owned(), reason, usage: self.usage })
        {
            self.standing.get_or_insert_with(|| Ended::error(error.to_string()));
        }
        let status = self.standing.as_ref().map_or(Status::Success, |ended| ended.status);
        self.report(&AgentEvent::SessionEnded { status, usage: self.usage });
        State::Done
    }

    /// Without a transcript the run ends as it can: nothing more is written, the plugins still hear of the end.
    fn transcript_failed(&mut self, error: &TranscriptError) -> State {
        self.conversation.abandon();
        self.queue.clear();
        State::Ended(Ended { stop: true, ..Ended::error(error.to_string()) })
    }

    fn outcome(self) -> RunOutcome {
        let Ended { status, reason, rejection, .. } = self.standing.unwrap_or_else(Ended::success);
        RunOutcome {
            session: self.session.id().to_owned(),
            status,
            reason,
            rejection,
            text: self.text,
            turns: self.turns,
            usage: self.usage,
            transcript: self.conversation.path(),
        }
    }
}
