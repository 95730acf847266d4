//! State at the beginning of a run: the resumed conversation, its tokens, and the files that the model gets.

use super::conversation::Conversation;
use super::run::Run;
use super::{Agent, AgentEvent};
use crate::context::Context;
use crate::session_store::{Header, INTERRUPTED, ResumedSession, SessionStore, SessionStoreError, StoredSession};
use hookhost::capability::Reminder;
use hookhost_models::message::{Message, TokenUsage, ToolUse};

/// State of a resumed session. For a new session, the state is empty.
#[derive(Debug, Default)]
pub(super) struct ResumedState {
    /// Number of messages.
    pub(super) messages: usize,
    /// Number of model calls, without sub-agents.
    pub(super) turns: u32,
    /// Number of model calls by sub-agents.
    pub(super) subagent_turns: u32,
    /// Tokens used, sub-agents included.
    pub(super) usage: TokenUsage,
    /// Reminders that plugins set for the model, each with the number of model calls before it.
    pub(super) reminders: Vec<(u32, Reminder)>,
    /// Notices for the user.
    notices: Vec<String>,
}

/// Opens the conversation of a new or resumed session.
pub(super) fn open(
    agent: &Agent,
    id: &str,
    resumed: Option<ResumedSession>,
) -> Result<(Conversation, ResumedState), SessionStoreError> {
    let own = agent.models.own();
    let header = Header {
        id: id.to_owned(),
        provider: own.provider,
        model: own.model,
        workspace: agent.workspace.root().to_owned(),
        parent: agent.config.parent.clone(),
    };
    let Some(ResumedSession { mut writer, session, mut notices }) = resumed else {
        let store = agent.config.sessions_dir.as_ref().map(SessionStore::new);
        let writer = store.map(|store| store.create(&header)).transpose()?;
        return Ok((Conversation::new(Vec::new(), writer), ResumedState::default()));
    };
    let StoredSession { header: before, conversation, reminders, turns, subagent_turns, usage, .. } = session;
    if (&before.provider, &before.model) != (&header.provider, &header.model) {
        let (old, new) = (format!("{} of {}", before.model, before.provider), &header);
        notices.push(format!("the session continues with {} of {}; so far it was with {old}", new.model, new.provider));
    }
    if before.workspace != header.workspace {
        let (old, new) = (before.workspace.display(), header.workspace.display());
        notices.push(format!("the session continues in {new}; so far it was in {old}"));
    }
    writer.continue_with(&header)?;
    let messages = conversation.len();
    let resumed_state = ResumedState { messages, turns, subagent_turns, usage, reminders, notices };
    Ok((Conversation::new(conversation, Some(writer)), resumed_state))
}

/// Returns true if an answer of the model must come next in the conversation.
pub(super) fn waits_for_the_model(conversation: &[Message]) -> bool {
    match conversation.last() {
        Some(Message::Assistant { tool_calls, .. }) => !tool_calls.is_empty(),
        Some(Message::User { .. } | Message::Tool { .. }) => true,
        None => false,
    }
}

impl Run<'_> {
    /// Reports the files and skills that the model gets in addition to the system prompt.
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

    /// Reports the notices of a resumed session. Each tool call without a result gets a result that says that the call
    /// was interrupted.
    pub(super) fn report_resumed_state(&mut self) -> Result<(), SessionStoreError> {
        for text in std::mem::take(&mut self.open.resumed_state.notices) {
            self.report(&AgentEvent::Notice { text });
        }
        for ToolUse { id, name, .. } in self.open.conversation.close_calls(INTERRUPTED)? {
            self.report(&AgentEvent::ToolFinished { id, name, text: INTERRUPTED.to_owned(), is_error: true });
        }
        Ok(())
    }
}
