//! A session of several prompts in one process. Each prompt is a run, but the session starts and ends only once.

use super::limits::Limits;
use super::open_session::OpenSession;
use super::run::Run;
use super::state::{State, TaskEnd};
use super::{Agent, AgentError, Reporter, RunOutcome, Status};
use crate::session_store::SessionStore;
use hookhost_models::message::TokenUsage;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// A session that stays open from one prompt to the next.
///
/// `session-start` and `provider-resolve` come with the first prompt, and `session-end` when the dialogue is
/// [ended](Self::end). In between, plugins keep their state of the session. The limits of a run (turns, tokens, time,
/// sub-agents, tasks) apply to each prompt separately. To change the model or provider, end the dialogue and open its
/// session again with another agent.
///
/// Dropping a dialogue is like killing its process: the session has no end and can be continued.
#[derive(Debug)]
pub struct Dialogue {
    agent: Agent,
    id: String,
    transcript: Option<PathBuf>,
    /// `None` once the session is closed.
    opened: Option<OpenSession>,
    /// End of the last prompt, if it failed.
    last: Option<TaskEnd>,
    turns: u32,
    subagent_turns: u32,
    usage: TokenUsage,
}

impl Agent {
    /// Opens a new session, or continues a session of [`AgentConfig::sessions_dir`](super::AgentConfig) under the same
    /// identifier, as [`Self::resume`] does.
    ///
    /// # Errors
    /// Returns the errors of [`Self::run`] and [`Self::resume`].
    pub fn dialogue(&self, session: Option<&str>) -> Result<Dialogue, AgentError> {
        let resume = |id: &str| {
            let store = SessionStore::new(self.config.sessions_dir.as_ref().ok_or(AgentError::NoStore)?);
            Ok::<_, AgentError>(store.resume(id)?)
        };
        let opened = OpenSession::new(self, session.map(resume).transpose()?)?;
        Ok(Dialogue {
            agent: self.clone(),
            id: opened.session.id().to_owned(),
            transcript: opened.conversation.path(),
            last: None,
            turns: opened.turns,
            subagent_turns: 0,
            usage: opened.usage,
            opened: Some(opened),
        })
    }
}

impl Dialogue {
    /// Returns the session's identifier.
    #[must_use]
    pub fn session(&self) -> &str {
        &self.id
    }

    /// Returns the file of the stored session.
    #[must_use]
    pub fn transcript(&self) -> Option<&Path> {
        self.transcript.as_deref()
    }

    /// Returns the number of model calls of the session so far.
    #[must_use]
    pub fn turns(&self) -> u32 {
        self.turns
    }

    /// Returns the number of model calls by sub-agents since the dialogue was opened.
    #[must_use]
    pub fn subagent_turns(&self) -> u32 {
        self.subagent_turns
    }

    /// Returns the tokens of the session, sub-agents included.
    #[must_use]
    pub fn usage(&self) -> TokenUsage {
        self.usage
    }

    /// Returns true if the session accepts another prompt. It accepts none after a failed write, or after the future of
    /// a prompt was dropped.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.opened.is_some()
    }

    /// Runs a prompt and the tasks that follow from it. Cancelling `cancel` stops the run as in [`Agent::run`]. The
    /// session stays open after that, and also after a refusal that ends the prompt.
    ///
    /// # Errors
    /// Returns an error if the session is closed. In that case nothing has run.
    pub async fn prompt(
        &mut self,
        prompt: &str,
        reporter: &dyn Reporter,
        cancel: &CancellationToken,
    ) -> Result<RunOutcome, AgentError> {
        let opened = self.opened.take().ok_or_else(|| AgentError::Closed { id: self.id.clone() })?;
        let limits = Arc::new(Limits::new(&self.agent.config));
        let mut run = Run::within(opened, &self.agent, reporter, cancel, limits)?;
        run.stays_open = true;
        run.steps(State::Start { prompt: Some(prompt.to_owned()) }).await;
        let (outcome, opened) = run.close();
        self.turns = outcome.turns;
        self.subagent_turns = self.subagent_turns.saturating_add(outcome.subagent_turns);
        self.usage = outcome.usage;
        self.last = (outcome.status != Status::Success).then(|| TaskEnd {
            status: outcome.status,
            ..TaskEnd::error(outcome.reason.clone().unwrap_or_else(|| outcome.status.name().to_owned()))
        });
        if !opened.conversation.is_abandoned() {
            self.opened = Some(opened);
        }
        Ok(outcome)
    }

    /// Ends the session: sends `session-end` and stores how the last prompt ended.
    pub async fn end(mut self, reporter: &dyn Reporter) {
        let Some(opened) = self.opened.take().filter(OpenSession::has_started) else { return };
        let limits = Arc::new(Limits::new(&self.agent.config));
        let Ok(mut run) = Run::within(opened, &self.agent, reporter, &CancellationToken::new(), limits) else { return };
        run.standing = self.last.take();
        run.steps(State::Finish).await;
    }
}
