//! The agent loop, which is also the reference embedder of the engine. Each transition of the loop is an event of the
//! contract, and the verdict on each event takes effect.
//!
//! [`Agent::run`] steps a plain state machine (`state`) until the run is done. `request` sends requests to the model,
//! `stream` reads the model's answer, and `tool_calls` hands the calls in the answer to the `tool_scheduler`. `task`
//! begins and ends tasks, and `display` shows text. A [`Dialogue`] is one session of many runs. The tools `submit_plan`
//! and `subagent` belong to the loop and reach the current run through its `run_context`.

mod compaction;
mod conversation;
mod dialogue;
mod display;
mod limits;
mod models;
mod open_session;
mod queue;
mod report;
mod request;
mod resumed_state;
mod run;
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
pub use report::{AgentEvent, RecordingReporter, RejectionReport, Reporter};

use crate::context::{Context, SkillTool};
use crate::launcher::Launcher;
use crate::session_store::{SessionStore, SessionStoreError};
use crate::tool::{Tool as _, Toolbox, ToolboxError, Workspace, WorkspaceError};
use hookhost::Host;
use hookhost::contract::{Rejection, ToolOrigin};
use hookhost::session::SessionError;
use hookhost_models::message::TokenUsage;
use hookhost_models::{Provider, RetryPolicy, ToolDefinition, builtin};
use limits::Limits;
use models::Models;
use serde::Serialize;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Default system prompt.
pub const SYSTEM_PROMPT: &str = "\
You are an agent that works on the user's project with the tools you are given. Look before you change anything, make \
the smallest change that does what is asked, and check the result. Policies watch your tool calls: where one refuses a \
call, read its reason, do not repeat the same call, and find another way or say why there is none. When you are done, \
answer with a short summary of what you did.";

/// Maximum number of tasks per run that come from the user and from plans. The same maximum applies separately to tasks
/// that plugins add. These limits end a run in which the model or a plugin adds another task whenever a task ends.
pub const MAX_TASKS: usize = 64;

/// Number of times that the model may repeat a refused call with the same arguments before the run ends.
pub(crate) const MAX_REPEATED_REJECTIONS: u32 = 5;

/// Maximum number of consecutive answers in which calls were refused and no call ran. After that many answers the run
/// ends. This stops a model that changes a refused call slightly and tries again.
pub const MAX_REJECTED_ANSWERS: u32 = 10;

/// Maximum number of retries per task. The task is retried if a plugin refuses a turn or the final text and its verdict
/// allows a retry. After the last retry, a refused final text is withheld, and a refused turn ends the task.
pub const MAX_REVISIONS: u32 = 3;

/// Settings of an agent.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AgentConfig {
    /// Project directory, and working directory of tools.
    pub workspace: PathBuf,
    /// Name of the model.
    pub model: String,
    /// System prompt. Default: [`SYSTEM_PROMPT`].
    pub system_prompt: String,
    /// Text after the system prompt, and the skills that the model can ask for. Default: empty.
    pub context: Context,
    /// Maximum number of model calls per task. Default: 50.
    pub max_turns: NonZeroU32,
    /// Maximum length of a model answer, in tokens. Default: 8192.
    pub max_output_tokens: NonZeroU32,
    /// Time limit of a run, after which the run is stopped. Default: none.
    pub max_time: Option<Duration>,
    /// Maximum number of input and output tokens of a run, sub-agents included. Once these tokens are used, no further
    /// request is sent. Default: none.
    pub max_tokens: Option<NonZeroU64>,
    /// Context window of the model, in tokens. When the conversation nears this size, its older part is summarised.
    /// Default: unknown, so nothing is summarised.
    pub context_window: Option<NonZeroU64>,
    /// Maximum depth of sub-agents. 0: no sub-agents. Default: 3.
    pub max_depth: u8,
    /// Maximum number of requests to models per run, including requests for sub-agents, summaries and retries. Each
    /// prompt of a [`Dialogue`] is a run. Default: 500.
    pub max_requests: NonZeroU32,
    /// Maximum number of sub-agents per run at all depths. Default: 32.
    pub max_subagents: NonZeroU32,
    /// Maximum number of sub-agents that one session starts. Default: 16.
    pub max_subagents_per_session: NonZeroU32,
    /// Maximum number of sub-agents of one depth that run at the same time. Further sub-agents wait. Default: 4.
    pub max_concurrent_subagents: NonZeroU32,
    /// Depth of this agent: 0 for the agent that the user talks to, n for a sub-agent n levels below it.
    pub depth: u32,
    /// Identifier of the session that started this session. `None` if no session did.
    pub parent: Option<String>,
    /// Identifier of the session. Default: a new identifier.
    pub session: Option<String>,
    /// True if a person can answer questions. Default: false.
    pub interactive: bool,
    /// Directory of the stored sessions. Each session is one file. Default: sessions are not stored.
    pub sessions_dir: Option<PathBuf>,
    /// Policy for retries of failed requests.
    pub retry: RetryPolicy,
    /// How programs are started. Default: directly, without `ANTHROPIC_API_KEY` and `OPENAI_API_KEY`.
    pub launcher: Launcher,
}

impl AgentConfig {
    /// Creates the default settings.
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
            launcher: Launcher { hidden_variables: builtin::key_variables(), ..Launcher::default() },
        }
    }

    /// Returns all tools that are offered to the model with these settings. These are `tools` and the loop's own tools.
    /// If a tool in `tools` has the name of one of the loop's tools, the loop's tool is left out.
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

/// A tool as offered to the model.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct OfferedTool {
    /// Definition for the model.
    pub definition: ToolDefinition,
    /// Origin of the tool.
    pub origin: ToolOrigin,
}

/// Reasons why a run cannot begin, or its session cannot be stored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// Two different providers have the same name.
    #[error("there are two providers named {name}: give one of them another name")]
    DuplicateProvider {
        /// The shared name.
        name: String,
    },
    /// A tool uses the name of one of the loop's tools: `submit_plan`, `agent` or, if there are skills, `skill`.
    #[error(transparent)]
    Toolbox(#[from] ToolboxError),
    /// The workspace is not a directory.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// The engine refuses to open the session.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The session cannot be stored or continued.
    #[error(transparent)]
    Store(#[from] SessionStoreError),
    /// A session cannot be continued without a configured directory of sessions.
    #[error("there is no directory of sessions: name one in `sessions_dir`")]
    NoStore,
    /// The resumed session needs a prompt, because its model has already answered everything.
    #[error("the session {id} waits for a prompt: give one")]
    NoPrompt {
        /// Identifier of the session.
        id: String,
    },
    /// The session is closed and accepts no further prompt.
    #[error("the session {id} is closed, since it could not be written or a prompt was cancelled: resume it")]
    Closed {
        /// Identifier of the session.
        id: String,
    },
}

/// A configured agent.
#[derive(Clone, Debug)]
pub struct Agent {
    host: Host,
    models: Models,
    tools: Toolbox,
    config: AgentConfig,
    workspace: Workspace,
}

/// Builder of an [`Agent`].
#[derive(Debug)]
pub struct AgentBuilder {
    host: Host,
    models: Models,
    tools: Toolbox,
    config: AgentConfig,
}

impl Agent {
    /// Creates a builder. The agent gets answers from `provider` and uses the model that `config` names. It asks the
    /// plugins of `host` about every step.
    #[must_use]
    pub fn builder(host: Host, provider: Arc<dyn Provider>, tools: Toolbox, config: AgentConfig) -> AgentBuilder {
        AgentBuilder { host, models: Models::new(provider, config.model.clone()), tools, config }
    }

    /// Runs a prompt in a new session, and then the tasks that plugins add. Cancelling `cancel` stops the model's
    /// stream and kills the processes of tools. After that, the run ends in order, with [`Status::Cancelled`].
    ///
    /// # Errors
    /// Returns an error if the session cannot be opened or stored. In that case nothing has run.
    pub async fn run(
        &self,
        prompt: &str,
        reporter: &dyn Reporter,
        cancel: &CancellationToken,
    ) -> Result<RunOutcome, AgentError> {
        let limits = Arc::new(Limits::new(&self.config));
        Ok(run::Run::begin(self, reporter, cancel, limits, None)?.finish(Some(prompt)).await)
    }

    /// Continues a session that is stored in [`AgentConfig::sessions_dir`], under the same identifier. The model gets
    /// the stored conversation, and plugins get their stored state. The session uses the provider, the model and the
    /// tools of this agent, even if it had others before. A tool call without a result gets a result that says that the
    /// call was interrupted. Without a prompt, the model continues where the session was interrupted.
    ///
    /// # Errors
    /// Returns the errors of [`Self::run`], and an error if the session does not exist, is in use by another process or
    /// has a damaged message. If there is no prompt and the model had already answered, this is an error, too.
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
        Ok(run::Run::begin(self, reporter, cancel, limits, Some(resumed))?.finish(prompt).await)
    }
}

impl Agent {
    /// Returns all tools that this agent offers to the model.
    #[must_use]
    pub fn offered(&self) -> Vec<OfferedTool> {
        self.config.offered(&self.tools)
    }
}

impl AgentBuilder {
    /// Adds models that a plugin may choose for a request.
    ///
    /// # Errors
    /// Returns an error if a different provider of that name exists.
    pub fn models(mut self, provider: Arc<dyn Provider>, models: Vec<String>) -> Result<Self, AgentError> {
        self.models.add(provider, models)?;
        Ok(self)
    }

    /// Builds the agent. If there are skills, it adds the tool `skill`.
    ///
    /// # Errors
    /// Returns an error if the workspace cannot be opened, or if another tool is named `skill`.
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

/// Final status of a task or a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// The model gave a final answer.
    Success,
    /// A plugin, or a person whom a plugin asked, rejected the task or the run.
    Rejected,
    /// The task used all its model calls, or the run used all its requests.
    MaxTurns,
    /// The run used all its tokens.
    MaxTokens,
    /// The run reached its time limit.
    MaxTime,
    /// A provider failed permanently, or the session could not be written.
    Error,
    /// The run was cancelled.
    Cancelled,
}

impl Status {
    /// Returns the name that plugins see.
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
    /// Identifier of the session.
    pub session: String,
    /// Success if every task succeeded; otherwise the status of the first task that failed. If a plugin answered a
    /// failure with new tasks, the failure is ignored.
    pub status: Status,
    /// Reason of a status other than success.
    pub reason: Option<String>,
    /// Rejection that ended the run, if any.
    pub rejection: Option<Rejection>,
    /// Last final text of the run, as shown to the user.
    pub text: String,
    /// Number of model calls of the session.
    pub turns: u32,
    /// Number of model calls by sub-agents of this run.
    pub subagent_turns: u32,
    /// Tokens used by the session, sub-agents included.
    pub usage: TokenUsage,
    /// File of the stored session.
    pub transcript: Option<PathBuf>,
}
