//! The agent loop, the reference embedder of the engine: every transition is an event of the contract, and every
//! verdict takes effect.
//!
//! [`Agent::run`] steps a plain state machine (`state`) until it is done; `request` asks the model,
//! `stream` reads its answer, `tool_calls` hands its calls to the `tool_scheduler`, `task` begins
//! and ends tasks, `display` shows what may be shown. A [`Dialogue`] is one session of many runs.
//! `submit_plan` and `subagent` are tools of the loop itself, which reach it through its
//! `run_context`.

mod compaction;
mod conversation;
mod dialogue;
mod display;
mod limits;
mod models;
mod queue;
mod report;
mod request;
mod resumed_state;
mod run_context;
mod state;
mod stream;
mod subagent;
mod submit_plan;
mod task;
mod tool_calls;
mod tool_scheduler;
mod wire_hooks;

pub use dialogue::Dialogue;
pub use report::{AgentEvent, Recorded, Rejected, Reporter};

use crate::context::{Context, SkillTool};
use crate::message::TokenUsage;
use crate::provider::{Provider, RetryPolicy, ToolDefinition, anthropic, openai};
use crate::session_store::{SessionStore, SessionStoreError};
use crate::tool::{Toolbox, ToolboxError, Workspace, WorkspaceError};
use hookhost::Host;
use hookhost::contract::{Rejection, ToolOrigin};
use hookhost::session::SessionError;
use limits::Limits;
use models::Models;
use serde::Serialize;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The system prompt, unless the configuration gives another.
pub const SYSTEM_PROMPT: &str = "\
You are an agent that works on the user's project with the tools you are given. Look before you change anything, make \
the smallest change that does what is asked, and check the result. Policies watch your tool calls: where one refuses a \
call, read its reason, do not repeat the same call, and find another way or say why there is none. When you are done, \
answer with a short summary of what you did.";

/// Most tasks of one run that come from the user and from plans, and most that plugins add beside them. The model and plugins
/// can add tasks whenever one ends: this ends it.
pub const MAX_TASKS: usize = 64;

/// How often the model may repeat a refused call, all arguments the same, before the run ends.
pub(crate) const MAX_REPEATED_REJECTIONS: u32 = 5;

/// How many answers in a row may have nothing but refused calls before the run ends: a model that
/// varies its call a little each time repeats itself, too.
pub const MAX_REJECTED_ANSWERS: u32 = 10;

/// How often a task continues after a plugin has refused its final text or a turn of it, and said that trying again helps. Then
/// the text is withheld, or the task ends.
pub const MAX_REVISIONS: u32 = 3;

/// How an agent runs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AgentConfig {
    /// The project to work on; also the working directory.
    pub workspace: PathBuf,
    /// Name of the model.
    pub model: String,
    /// Default: [`SYSTEM_PROMPT`].
    pub system_prompt: String,
    /// Text that follows the system prompt, and the skills that the model can ask for. Default: nothing.
    pub context: Context,
    /// Most model calls of one task. Default: 50.
    pub max_turns: NonZeroU32,
    /// Longest answer of the model, in tokens. Default: 8192.
    pub max_output_tokens: NonZeroU32,
    /// Longest time of a run; then it is stopped. Default: none.
    pub max_time: Option<Duration>,
    /// Most tokens of a run, read and written, sub-agents included: no request is sent once they
    /// are used. Default: none.
    pub max_tokens: Option<NonZeroU64>,
    /// What the model can read at once, in tokens. Near it, the older part of the conversation is
    /// summarised. Default: not known, so never.
    pub context_window: Option<NonZeroU64>,
    /// How deep sub-agents go: 0 for none at all. Default: 3.
    pub max_depth: u8,
    /// Most requests to models of a run, sub-agents, summaries and repeated tries included; then it
    /// ends. Each prompt of a [`Dialogue`] is a run. Default: 500.
    pub max_requests: NonZeroU32,
    /// Most sub-agents of a run, those that sub-agents start included. Default: 32.
    pub max_subagents: NonZeroU32,
    /// Of those, most that one session starts. Default: 16.
    pub max_subagents_per_session: NonZeroU32,
    /// Most sub-agents of one depth at a time; more wait. Default: 4.
    pub max_concurrent_subagents: NonZeroU32,
    /// 0 for the agent that the user talks to, n for a sub-agent n levels down.
    pub depth: u32,
    /// The session that started this one.
    pub parent: Option<String>,
    /// The session's id; default: a fresh one.
    pub session: Option<String>,
    /// Whether a person is there to be asked. Default: no.
    pub interactive: bool,
    /// Where sessions are kept, one directory each. Default: nowhere.
    pub sessions_dir: Option<PathBuf>,
    /// When a failed request is sent again.
    pub retry: RetryPolicy,
    /// Environment variables that commands do not inherit. Default: those of the known providers' keys.
    pub hidden_variables: Vec<String>,
}

impl AgentConfig {
    /// The defaults, in `workspace`, with `model`.
    #[must_use]
    pub fn new(workspace: impl Into<PathBuf>, model: impl Into<String>) -> Self {
        Self {
            workspace: workspace.into(),
            model: model.into(),
            system_prompt: SYSTEM_PROMPT.into(),
            context: Context::default(),
            max_turns: NonZeroU32::new(50).unwrap_or(NonZeroU32::MIN),
            max_output_tokens: NonZeroU32::new(8192).unwrap_or(NonZeroU32::MIN),
            max_time: None,
            max_tokens: None,
            context_window: None,
            max_depth: 3,
            max_requests: NonZeroU32::new(500).unwrap_or(NonZeroU32::MIN),
            max_subagents: NonZeroU32::new(32).unwrap_or(NonZeroU32::MIN),
            max_subagents_per_session: NonZeroU32::new(16).unwrap_or(NonZeroU32::MIN),
            max_concurrent_subagents: NonZeroU32::new(4).unwrap_or(NonZeroU32::MIN),
            depth: 0,
            parent: None,
            session: None,
            interactive: false,
            sessions_dir: None,
            retry: RetryPolicy::default(),
            hidden_variables: vec![anthropic::KEY_VARIABLE.into(), openai::KEY_VARIABLE.into()],
        }
    }

    /// All tools that the model of such an agent is offered: `tools`, and the loop's own tools
    /// unless `tools` has one of the same name.
    #[must_use]
    pub fn offered(&self, tools: &Toolbox) -> Vec<OfferedTool> {
        let given = tools.definitions().map(|definition| {
            let origin = tools.get(&definition.name).map_or(ToolOrigin::Builtin, |tool| tool.origin());
            OfferedTool { definition, origin }
        });
        let skill = (!self.context.skills.is_empty()).then(|| SkillTool::new(self.context.skills.clone()).definition());
        let deeper = self.depth < u32::from(self.max_depth);
        let own = skill.into_iter().chain([submit_plan::definition()]).chain(deeper.then(subagent::definition));
        let own = own.filter(|definition| tools.get(&definition.name).is_none());
        given.chain(own.map(|definition| OfferedTool { definition, origin: ToolOrigin::Builtin })).collect()
    }
}

/// A tool that a model is offered.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct OfferedTool {
    /// Its definition, as the model gets it.
    pub definition: ToolDefinition,
    /// Who brings it.
    pub origin: ToolOrigin,
}

/// Why a run cannot begin, or its session cannot be kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// Two different providers of one name.
    #[error("there are two providers named {name}: give one of them another name")]
    DuplicateProvider {
        /// The name.
        name: String,
    },
    /// A tool has the name of one of the loop's own: `submit_plan`, `agent`, or, where there are skills, `skill`.
    #[error(transparent)]
    Toolbox(#[from] ToolboxError),
    /// The workspace is not a directory.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// The engine does not open the session.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The session cannot be kept or continued.
    #[error(transparent)]
    Store(#[from] SessionStoreError),
    /// A session is to be continued, and no directory of sessions is configured.
    #[error("there is no directory of sessions: name one in `sessions_dir`")]
    NoStore,
    /// A session is to be continued without a prompt, and its model has answered everything.
    #[error("the session {id} waits for a prompt: give one")]
    NoPrompt {
        /// The session.
        id: String,
    },
    /// A session that is to take another prompt is closed.
    #[error("the session {id} is closed, since it could not be written or a prompt was cancelled: resume it")]
    Closed {
        /// The session.
        id: String,
    },
}

/// An agent, ready to run.
#[derive(Clone, Debug)]
pub struct Agent {
    host: Host,
    models: Models,
    tools: Toolbox,
    config: AgentConfig,
    workspace: Workspace,
}

/// What an agent is built from.
#[derive(Debug)]
pub struct AgentBuilder {
    host: Host,
    models: Models,
    tools: Toolbox,
    config: AgentConfig,
}

impl Agent {
    /// An agent that asks `provider` for the model that `config` names, and `host`'s plugins about every step.
    #[must_use]
    pub fn builder(host: Host, provider: Arc<dyn Provider>, tools: Toolbox, config: AgentConfig) -> AgentBuilder {
        AgentBuilder { host, models: Models::new(provider, config.model.clone()), tools, config }
    }

    /// Runs a prompt in a session of its own, and the tasks that plugins add. Cancelling `cancel` stops the model's
    /// stream and kills what tools have started; the run then ends in order, as [`Status::Cancelled`].
    ///
    /// # Errors
    /// If the session cannot be opened or kept; nothing has run then.
    pub async fn run(
        &self,
        prompt: &str,
        reporter: &dyn Reporter,
        cancel: &CancellationToken,
    ) -> Result<RunOutcome, AgentError> {
        let limits = Arc::new(Limits::new(&self.config));
        Ok(state::Run::open(self, reporter, cancel, limits, None)?.finish(Some(prompt)).await)
    }

    /// Continues a session of [`AgentConfig::sessions_dir`] under its id: the model gets its
    /// conversation, plugins get their state of it. Provider, model and tools are this agent's,
    /// whichever the session had before. A call without a result gets one that says so. Without a
    /// prompt, the model continues where it was interrupted.
    ///
    /// # Errors
    /// As [`Self::run`]; if there is no such session, another process writes it, or a message of it
    /// is damaged; without a prompt, if the model had answered.
    pub async fn resume(
        &self,
        session: &str,
        prompt: Option<&str>,
        reporter: &dyn Reporter,
        cancel: &CancellationToken,
    ) -> Result<RunOutcome, AgentError> {
        let store = SessionStore::new(self.config.sessions_dir.as_ref().ok_or(AgentError::NoStore)?);
        let resumed = store.resume(session)?;
        if prompt.is_none() && !resumed_state::waits_for_the_model(&resumed.session.conversation) {
            return Err(AgentError::NoPrompt { id: session.to_owned() });
        }
        let limits = Arc::new(Limits::new(&self.config));
        Ok(state::Run::open(self, reporter, cancel, limits, Some(resumed))?.finish(prompt).await)
    }
}

impl Agent {
    /// All that its model is offered.
    #[must_use]
    pub fn offered(&self) -> Vec<OfferedTool> {
        self.config.offered(&self.tools)
    }
}

impl AgentBuilder {
    /// Further models that a plugin may move a request to.
    ///
    /// # Errors
    /// If another provider of that name is there already.
    pub fn models(mut self, provider: Arc<dyn Provider>, models: Vec<String>) -> Result<Self, AgentError> {
        self.models.add(provider, models)?;
        Ok(self)
    }

    /// The agent; where there are skills, with the tool `skill`.
    ///
    /// # Errors
    /// If the workspace cannot be opened, or another tool is named `skill`.
    pub fn build(self) -> Result<Agent, AgentError> {
        let Self { host, models, mut tools, mut config } = self;
        let workspace = Workspace::open(&config.workspace)?;
        config.system_prompt = config.context.extend(&config.system_prompt);
        if !config.context.skills.is_empty() {
            tools = tools.with(Arc::new(SkillTool::new(config.context.skills.clone())))?;
        }
        Ok(Agent { host, models, tools, config, workspace })
    }
}

/// How a task, or a run, ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// The model gave its final answer.
    Success,
    /// A plugin, or a person that one asked for, said no to the whole of it.
    Rejected,
    /// The model was called as often as it may be.
    MaxTurns,
    /// The run has used as many tokens as it may.
    MaxTokens,
    /// The run has lasted as long as it may.
    MaxTime,
    /// A provider failed for good, or the session could not be written.
    Error,
    /// The run was cancelled.
    Cancelled,
}

impl Status {
    /// The status in one word, as plugins get it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Rejected => "rejected",
            Self::MaxTurns => "max-turns",
            Self::MaxTokens => "max-tokens",
            Self::MaxTime => "max-time",
            Self::Error => "error",
            Self::Cancelled => "cancelled",
        }
    }
}

/// The outcome of a run.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct RunOutcome {
    /// The session's id.
    pub session: String,
    /// Success only if every task succeeded; else how the first task ended that did not. A failure that a plugin
    /// answered with new tasks does not count.
    pub status: Status,
    /// Why it did not succeed.
    pub reason: Option<String>,
    /// The rejection that ended the run, if one did.
    pub rejection: Option<Rejection>,
    /// The final text of the last task that had one, as it may be shown.
    pub text: String,
    /// Model calls of the session.
    pub turns: u32,
    /// Model calls of the sub-agents of this run.
    pub subagent_turns: u32,
    /// What both used.
    pub usage: TokenUsage,
    /// The session's directory on disk.
    pub transcript: Option<PathBuf>,
}
