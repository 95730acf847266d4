//! What a run begins with: a conversation that goes on, tokens that were used, files that the model is told.

use super::conversation::Conversation;
use super::state::Run;
use super::{Agent, AgentEvent};
use crate::context::Context;
use crate::message::{Message, TokenUsage, ToolUse};
use crate::session_store::{Header, INTERRUPTED, Resumed, SessionStore, SessionStoreError, StoredSession};
use hookhost::capability::Reminder;

/// What a session was before this run; nothing for a new one.
#[derive(Debug, Default)]
pub(super) struct ResumedState {
    /// How many messages it had.
    pub(super) messages: usize,
    /// Model calls.
    pub(super) turns: u32,
    /// Model calls of its sub-agents.
    pub(super) subagent_turns: u32,
    /// What both used.
    pub(super) usage: TokenUsage,
    /// What plugins wanted the model to be reminded of.
    pub(super) reminders: Vec<(u32, Reminder)>,
    /// What the user is to be told of it.
    notices: Vec<String>,
}

/// The conversation of a session that begins or goes on.
pub(super) fn open(
    agent: &Agent,
    id: &str,
    resumed: Option<Resumed>,
) -> Result<(Conversation, ResumedState), SessionStoreError> {
    let own = agent.models.own();
    let header = Header {
        id: id.to_owned(),
        provider: own.provider,
        model: own.model,
        workspace: agent.workspace.root().to_owned(),
        parent: agent.config.parent.clone(),
    };
    let Some(Resumed { mut writer, session, reminders, mut notices }) = resumed else {
        let store = agent.config.sessions_dir.as_ref().map(SessionStore::new);
        let writer = store.map(|store| store.create(&header)).transpose()?;
        return Ok((Conversation::new(Vec::new(), writer), ResumedState::default()));
    };
    let StoredSession { header: before, conversation, turns, subagent_turns, usage, .. } = session;
    if (&before.provider, &before.model) != (&header.provider, &header.model) {
        let (old, new) = (format!("{} of {}", before.model, before.provider), &header);
        notices.push(format!("the session was with {old} so far, and goes on with {} of {}", new.model, new.provider));
    }
    if before.workspace != header.workspace {
        let (old, new) = (before.workspace.display(), header.workspace.display());
        notices.push(format!("the session was in {old} so far, and goes on in {new}"));
    }
    writer.take_up(&header)?;
    let messages = conversation.len();
    let resumed_state = ResumedState { messages, turns, subagent_turns, usage, reminders, notices };
    Ok((Conversation::new(conversation, Some(writer)), resumed_state))
}

/// Whether the model was about to answer.
pub(super) fn waits_for_the_model(conversation: &[Message]) -> bool {
    match conversation.last() {
        Some(Message::Assistant { tool_calls, .. }) => !tool_calls.is_empty(),
        Some(Message::User { .. } | Message::Tool { .. }) => true,
        None => false,
    }
}

impl Run<'_> {
    /// Tells what the model is told beside the system prompt.
    pub(super) fn report_context(&self) {
        let Context { instructions, skills, notices } = &self.agent.config.context;
        if !(instructions.is_empty() && skills.is_empty()) {
            self.report(&AgentEvent::ContextGathered {
                instructions: instructions.iter().map(|file| file.path.clone()).collect(),
                skills: skills.iter().map(|skill| skill.name.clone()).collect(),
            });
        }
        for text in notices.iter().cloned() {
            self.report(&AgentEvent::Notice { text });
        }
    }

    /// Tells what there is to tell of the session so far, and gives calls that have no result one that says why.
    pub(super) fn report_resumed_state(&mut self) -> Result<(), SessionStoreError> {
        for text in std::mem::take(&mut self.resumed_state.notices) {
            self.report(&AgentEvent::Notice { text });
        }
        for ToolUse { id, name, .. } in self.conversation.close_calls(INTERRUPTED)? {
            self.report(&AgentEvent::ToolFinished { id, name, text: INTERRUPTED.to_owned(), is_error: true });
        }
        Ok(())
    }
}
