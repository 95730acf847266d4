//! The run as a state machine: each step returns the next state. [`Run::step`] shows the whole order of events.

use super::queue::QueuedTask;
use super::request::{Completion, OutgoingRequest};
use super::run::Run;
use super::{AgentEvent, RunOutcome, Status};
use crate::session_store::SessionStoreError;
use hookhost::contract::{Rejection, Stop};
use hookhost_models::DeltaStream;

/// State of a run.
pub(super) enum State {
    /// The initial state. This state sends `session-start` and `provider-resolve`, and then the first task begins. If
    /// there is no prompt, the session is a resumed session that continues with the next answer of its model.
    Start { prompt: Option<String> },
    /// The state between two tasks. If no task is left, this state sends `queue-empty`.
    NextTask,
    /// A task begins. This state sends `task-start`, then `prompt-submit` for the task's prompt.
    Submit(QueuedTask),
    /// A turn begins. This state sends `turn-start`, then `before-inference` for the turn's request. If the request
    /// would be too large, `before-compaction` and `after-compaction` come between these two events.
    Assemble,
    /// The request is sent, possibly not for the first time. Before the first attempt, this state sends `request-send`.
    Send(OutgoingRequest),
    /// The answer streams in. This state sends `stream-delta`, `stream-end`, and `before-tool-call` for each of the
    /// answer's calls. If a plugin subscribes to `response-receive`, that event comes first and contains the whole
    /// answer.
    Receive(OutgoingRequest, DeltaStream),
    /// The answer is complete. This state sends `after-inference` and `token-usage`. The tool calls of the answer
    /// follow, with `before-tools`, `after-tool-call` and `turn-end`.
    Answered(Completion),
    /// The answer has no tool calls, so its text is final. This state sends `finalize-content`.
    Finalize(Completion),
    /// The task has ended with any status. This state sends `turn-end`, `agent-error`, `task-complete` and
    /// `plan-complete`.
    Ended(TaskEnd),
    /// The session ends. This state sends `session-end`.
    Finish,
    /// Final state.
    Done,
}

/// Result of a step. If the session cannot be written, this is an error, since a session that is not on disk must not
/// continue.
pub(super) type Step = Result<State, SessionStoreError>;

/// End of a task.
#[derive(Clone, Debug)]
pub(super) struct TaskEnd {
    pub(super) status: Status,
    pub(super) reason: Option<String>,
    pub(super) rejection: Option<Rejection>,
    /// What ends together with the task: either the session, which then takes no further task, or the whole run.
    pub(super) stop: Option<Stop>,
}

impl TaskEnd {
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

impl Run<'_> {
    /// Runs a prompt and all tasks that follow from it, until the run is done.
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
            for notice in self.open.session.take_notices() {
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

    /// Ends a run whose session cannot be written. Nothing more is written, but plugins still get `session-end`.
    fn not_written(&mut self, error: &SessionStoreError) -> State {
        self.open.conversation.abandon();
        State::Ended(TaskEnd { stop: Some(Stop::Session), ..TaskEnd::error(error.to_string()) })
    }
}
