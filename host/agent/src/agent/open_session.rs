//! An open session of an agent, which later runs can continue.

use super::conversation::Conversation;
use super::limits::Limits;
use super::resumed_state::{self, ResumedState};
use super::run_context::RunContext;
use super::subagent::SpawnAgent;
use super::submit_plan::SubmitPlan;
use super::{Agent, AgentError};
use crate::session_store::ResumedSession;
use crate::tool::{Toolbox, ToolboxError};
use hookhost::contract::{ModelRef, ToolSpec};
use hookhost::session::{Session, SessionSpec};
use hookhost_models::message::TokenUsage;
use std::sync::Arc;
use tokio::sync::mpsc::unbounded_channel;

/// The part of a run that the next run takes over if the session continues.
#[derive(Debug)]
pub(super) struct OpenSession {
    pub(super) session: Arc<Session>,
    pub(super) conversation: Conversation,
    pub(super) turns: u32,
    /// Model calls of the session's sub-agents in earlier runs.
    pub(super) subagent_turns: u32,
    pub(super) usage: TokenUsage,
    /// Model of the session.
    pub(super) own: ModelRef,
    /// Size of the conversation in tokens, as the provider last counted it; 0 if unknown.
    pub(super) context_tokens: u64,
    /// State of a resumed session, until the run reports this state.
    pub(super) resumed_state: ResumedState,
    pub(super) turns_begun: u32,
    pub(super) begun: SessionProgress,
}

/// Completed parts of a session's beginning. Each part happens once per session, not per run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SessionProgress {
    /// True after `session-start`.
    pub(super) started: bool,
    /// True once the session's model is chosen.
    pub(super) settled: bool,
}

impl OpenSession {
    /// Opens a new or resumed session.
    ///
    /// # Errors
    /// Returns an error if the engine refuses the session, or if the session cannot be stored.
    pub(super) fn new(agent: &Agent, resumed: Option<ResumedSession>) -> Result<Self, AgentError> {
        let Agent { host, models, config, workspace, .. } = agent;
        // Only the definitions of these tools are used. Each run creates its own tools with its run context.
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
            begun: SessionProgress::default(),
        })
    }

    /// Returns true after `session-start`. From then on, `session-end` must be sent at the end.
    pub(super) fn has_started(&self) -> bool {
        self.begun.started
    }
}

/// Returns the agent's tools and the run's own tools. If one of the agent's tools has the name of a tool of the run,
/// the tool of the run is left out.
pub(super) fn tools(
    agent: &Agent,
    run_context: &Arc<RunContext>,
    limits: &Arc<Limits>,
) -> Result<Toolbox, ToolboxError> {
    let mut tools = agent.tools.clone();
    if tools.get(super::submit_plan::NAME).is_none() {
        tools = tools.with(Arc::new(SubmitPlan(Arc::clone(run_context))))?;
    }
    // An agent at the maximum depth has no tool for sub-agents.
    if agent.config.depth < u32::from(agent.config.max_depth) && tools.get(super::subagent::NAME).is_none() {
        let (agent, run_context, limits) = (agent.clone(), Arc::clone(run_context), Arc::clone(limits));
        tools = tools.with(Arc::new(SpawnAgent { agent, run_context, limits }))?;
    }
    Ok(tools)
}
