//! The event that a message means.

use crate::json::Arguments;
use hookhost_contract::{EventKind, Inference, Json, ToolOrigin, ToolResult};
use serde_json::{Value, json};
use std::path::PathBuf;

/// A message of an agent as it is understood.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HookCall {
    /// The agent's own name of the hook point, such as `PreToolUse`.
    pub point: String,
    /// In which of its sessions.
    pub session: AgentSession,
    /// What happens there.
    pub event: HookEvent,
    /// The message itself, a JSON text. Nothing of it is lost.
    pub raw: Json,
    /// What tells the event from all others of its session, where it has no identifier and its agent reports it more than once: a
    /// gateway sees each prompt again with every later request.
    pub once: Option<String>,
    /// What else the message means, in order: one request to a gateway carries prompts and results, one response texts and calls.
    pub further: Vec<FurtherEvent>,
    /// Why two readers could read different results in the message. Then the result is one of them, and is withheld where the agent
    /// takes another one in its place.
    pub unclear: Option<String>,
}

/// One more event of a message.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FurtherEvent {
    /// Its hook point.
    pub point: String,
    /// As [`HookCall::once`].
    pub once: Option<String>,
    /// What happens there.
    pub event: HookEvent,
}

impl FurtherEvent {
    /// What else happens, at `point`.
    #[must_use]
    pub fn new(point: impl Into<String>, event: HookEvent) -> Self {
        Self { point: point.into(), once: None, event }
    }

    /// The same, with what tells it from all others of its session.
    #[must_use]
    pub fn once(mut self, once: impl Into<String>) -> Self {
        self.once = Some(once.into());
        self
    }
}

impl HookCall {
    /// What happens at `point` in `session`.
    #[must_use]
    pub fn new(point: impl Into<String>, session: AgentSession, event: HookEvent, raw: Json) -> Self {
        Self { point: point.into(), session, event, raw, once: None, further: Vec::new(), unclear: None }
    }

    /// Each event of the message as a call of its own, in order, to be settled and degraded one by one. The first has the
    /// message; each later one says which part of it it is.
    #[must_use]
    pub fn parts(&self) -> Vec<Self> {
        let mut first = self.clone();
        first.further.clear();
        let later = self.further.iter().enumerate().map(|(index, further)| {
            let raw = json!({ "part": index + 2 }).into();
            let mut part = Self::new(further.point.clone(), self.session.clone(), further.event.clone(), raw);
            part.once.clone_from(&further.once);
            part
        });
        std::iter::once(first).chain(later).collect()
    }

    /// What tells this call from all others of its session: two reports with the same one are of the same call, which two
    /// hook files or two programs of the agent may make. Tool calls that the agent numbers have one, and what a gateway
    /// sees again with each request ([`once`](Self::once)).
    #[must_use]
    pub fn key(&self) -> Option<(&'static str, &str)> {
        let (kind, call) = match &self.event {
            HookEvent::BeforeToolCall(call) => ("before", call),
            HookEvent::PermissionRequest(call) => ("permission", call),
            HookEvent::AfterToolCall { call, .. } => ("after", call),
            _ => return self.once.as_deref().map(|once| ("text", once)),
        };
        call.id.as_deref().map(|id| (kind, id))
    }
}

/// A session of an agent, as the agent names it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AgentSession {
    /// The agent's own identifier of it; absent where the agent says none.
    pub id: Option<String>,
    /// The sub-agent in which it happens, by the agent's identifier; absent for the agent that the user talks to.
    pub subagent: Option<String>,
    /// Working directory, an absolute path.
    pub cwd: PathBuf,
    /// Root of the project, an absolute path.
    pub workspace: PathBuf,
    /// The agent's own version, where the message says it.
    pub version: Option<String>,
    /// Whether a person is there, as far as the message says.
    pub interactive: bool,
}

impl AgentSession {
    /// The session `id` in `cwd`, which is also the project's root.
    #[must_use]
    pub fn new(id: Option<String>, cwd: PathBuf) -> Self {
        Self { id, subagent: None, workspace: cwd.clone(), cwd, version: None, interactive: true }
    }

    /// Why nothing can be settled in its directory, if that is one of another operating system than this one.
    #[must_use]
    pub fn is_elsewhere(&self) -> Option<String> {
        let shown = self.cwd.to_string_lossy();
        let is_elsewhere = !cfg!(windows) && is_of_windows(&shown);
        is_elsewhere.then(|| {
            format!(
                "its working directory `{shown}` is one of Windows, and this hookhost runs on another system: install hookhost \
                 on the system where the agent runs"
            )
        })
    }
}

/// What happens in an agent.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum HookEvent {
    /// The session begins; or continues, where it was interrupted.
    SessionStart {
        /// Whether the agent says that it continues.
        is_resumed: bool,
    },
    /// The session ends.
    SessionEnd,
    /// The user has sent a prompt.
    PromptSubmit {
        /// Its text.
        prompt: String,
    },
    /// A tool is about to be called.
    BeforeToolCall(ToolUse),
    /// The agent is about to ask its user about a call, which it has told before, or not.
    PermissionRequest(ToolUse),
    /// A tool has been called.
    AfterToolCall {
        /// The call, as the agent made it.
        call: ToolUse,
        /// What it answered.
        result: ToolResult,
    },
    /// A sub-agent is about to be started.
    SubagentStart {
        /// The agent's identifier of it.
        id: String,
        /// Its task, or its kind where the agent says no more.
        prompt: String,
    },
    /// A sub-agent is about to end.
    SubagentEnd {
        /// The agent's identifier of it.
        id: String,
        /// Its final text.
        text: String,
        /// Whether a hook has kept it going before.
        is_continued: bool,
    },
    /// The agent is about to send a request to its model.
    BeforeInference(Inference),
    /// The model has answered.
    AfterInference {
        /// The text of the answer.
        text: String,
    },
    /// The conversation is about to be summarised.
    BeforeCompaction,
    /// The conversation was summarised.
    AfterCompaction {
        /// The summary.
        summary: String,
    },
    /// A text is about to be shown to the user, whole.
    FinalText {
        /// The text.
        text: String,
    },
    /// The agent is about to stop: nothing is left to do.
    Stop {
        /// Its last text, where the agent says it.
        text: Option<String>,
        /// Whether a hook has kept it going before.
        is_continued: bool,
    },
    /// The agent could not continue.
    AgentError {
        /// Why.
        message: String,
    },
    /// Something that has no counterpart; plugins observe it as the custom event `AGENT/POINT`.
    Custom {
        /// What the agent said about it.
        payload: Value,
    },
}

impl HookEvent {
    /// The event that plugins are asked about.
    #[must_use]
    pub fn kind(&self) -> EventKind {
        match self {
            Self::SessionStart { .. } => EventKind::SessionStart,
            Self::SessionEnd => EventKind::SessionEnd,
            Self::PromptSubmit { .. } => EventKind::PromptSubmit,
            Self::BeforeToolCall(_) | Self::PermissionRequest(_) => EventKind::BeforeToolCall,
            Self::AfterToolCall { .. } => EventKind::AfterToolCall,
            Self::SubagentStart { .. } => EventKind::SubagentStart,
            Self::SubagentEnd { .. } => EventKind::SubagentEnd,
            Self::BeforeInference(_) => EventKind::BeforeInference,
            Self::AfterInference { .. } => EventKind::AfterInference,
            Self::BeforeCompaction => EventKind::BeforeCompaction,
            Self::AfterCompaction { .. } => EventKind::AfterCompaction,
            Self::FinalText { .. } => EventKind::FinalizeContent,
            Self::Stop { .. } => EventKind::QueueEmpty,
            Self::AgentError { .. } => EventKind::AgentError,
            Self::Custom { .. } => EventKind::CustomEvent,
        }
    }
}

/// A call of a tool, as the agent names it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolUse {
    /// The agent's identifier of the call, where it has one.
    pub id: Option<String>,
    /// The tool's name, as the agent's table of tools has it.
    pub name: String,
    /// Its arguments, an object.
    pub arguments: Value,
    /// Whether the arguments would be the same if they were written again: otherwise no changed call can take the place of this one.
    pub is_exact: bool,
    /// Who brought the tool.
    pub origin: ToolOrigin,
}

impl ToolUse {
    /// A call of the agent's own tool `name`. One that is called `mcp__SERVER__TOOL` is of that server.
    #[must_use]
    pub fn new(id: Option<String>, name: impl Into<String>, arguments: impl Into<Arguments>) -> Self {
        let name = name.into();
        let Arguments { value: arguments, is_exact } = arguments.into();
        let server = name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")).map(|(server, _)| server);
        let origin = server.map_or(ToolOrigin::Builtin, |server| ToolOrigin::Mcp(server.to_owned()));
        Self { id, name, arguments, is_exact, origin }
    }

    /// The same of this MCP server.
    #[must_use]
    pub fn of_server(mut self, server: impl Into<String>) -> Self {
        self.origin = ToolOrigin::Mcp(server.into());
        self
    }
}

/// True if a path begins with a drive of Windows, or with one of its shares.
pub(crate) fn is_of_windows(path: &str) -> bool {
    let has_drive = path.as_bytes().get(1) == Some(&b':') && path.starts_with(|c: char| c.is_ascii_alphabetic());
    has_drive || path.starts_with(r"\\")
}
