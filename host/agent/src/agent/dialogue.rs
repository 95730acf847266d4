//! A session of several prompts within one process: prompt after prompt, each a run of its own,
//! between one start and one end.

use super::limits::Limits;
use super::state::{Ended, Opened, Run, State};
use super::{Agent, AgentError, Reporter, RunOutcome, Status};
use crate::message::TokenUsage;
use crate::session_store::SessionStore;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// A session that stays open from one prompt to the next.
///
/// `session-start` and `provider-resolve` come with the first prompt, `session-end` when it is
/// [ended](Self::end), and keep what they know of it in between. The limits of a run (turns,
/// tokens, time, sub-agents, tasks) count for each prompt separately. To continue with another model or
/// provider, end it and open it again with an agent that has them.
///
/// A dialogue that is dropped is like one whose process was killed: its session has no end, and can be continued.
#[derive(Debug)]
pub struct Dialogue {
    agent: Agent,
    id: String,
    transcript: Option<PathBuf>,
    /// None once it is closed.
    opened: Option<Opened>,
    /// How the last prompt ended.
    last: Option<Ended>,
    turns: u32,
    subagent_turns: u32,
    usage: TokenUsage,
}

impl Agent {
    /// Opens a session for prompt after prompt: a new one, or one of [`AgentConfig::sessions_dir`](super::AgentConfig),
    /// which continues under its id as in [`Self::resume`].
    ///
    /// # Errors
    /// As [`Self::run`] and [`Self::resume`].
    pub fn dialogue(&self, session: Option<&str>) -> Result<Dialogue, AgentError> {
        let resume = |id: &str| {
            let store = SessionStore::new(self.config.sessions_dir.as_ref().ok_or(AgentError::NoStore)?);
            Ok::<_, AgentError>(store.resume(id)?)
        };
        let opened = Opened::new(self, session.map(resume).transpose()?)?;
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
    /// The session's id.
    #[must_use]
    pub fn session(&self) -> &str {
        &self.id
    }

    /// The session's directory on disk.
    #[must_use]
    pub fn transcript(&self) -> Option<&Path> {
        self.transcript.as_deref()
    }

    /// Model calls of the session so far.
    #[must_use]
    pub fn turns(&self) -> u32 {
        self.turns
    }

    /// Model calls of its sub-agents since it was opened.
    #[must_use]
    pub fn subagent_turns(&self) -> u32 {
        self.subagent_turns
    }

    /// What both used.
    #[must_use]
    pub fn usage(&self) -> TokenUsage {
        self.usage
    }

    /// Whether it takes another prompt: not once it could not be written, or a prompt was dropped before its end.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.opened.is_some()
    }

    /// Runs a prompt, and the tasks that follow from it. Cancelling `cancel` stops what runs, as in
    /// [`Agent::run`]; the session stays open. So it does where a refusal ended the prompt.
    ///
    /// # Errors
    /// If the session is closed; nothing has run then.
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
        self.last = (outcome.status != Status::Success).then(|| Ended {
            status: outcome.status,
            ..Ended::error(outcome.reason.clone().unwrap_or_else(|| outcome.status.name().to_owned()))
        });
        if !opened.conversation.is_abandoned() {
            self.opened = Some(opened);
        }
        Ok(outcome)
    }

    /// Ends the session: `session-end` comes, and its file says how the last prompt ended.
    pub async fn end(mut self, reporter: &dyn Reporter) {
        let Some(opened) = self.opened.take().filter(Opened::has_started) else { return };
        let limits = Arc::new(Limits::new(&self.agent.config));
        let Ok(mut run) = Run::within(opened, &self.agent, reporter, &CancellationToken::new(), limits) else { return };
        run.standing = self.last.take();
        run.steps(State::Finish).await;
    }
}
