//! The event that an agent's message reports.

use crate::json::Arguments;
use crate::message::Unreadable;
use hookhost_contract::{EventKind, Inference, Json, SessionMode, ToolHints, ToolOrigin, ToolResult};
use serde_json::{Value, json};
use std::path::PathBuf;

/// A decoded message of an agent.
#[derive(Clone, Debug)]
pub struct HookCall {
    /// The agent's own name of the hook point, such as `PreToolUse`.
    pub point: String,
    /// The agent's session.
    pub session: AgentSession,
    /// The event.
    pub event: HookEvent,
    /// The message itself as JSON, unchanged.
    pub raw: Json,
    /// Key of the event within its session. It is set for an event that has no identifier and that the agent reports
    /// repeatedly. For example, a gateway reports each prompt again with every later request.
    pub once: Option<String>,
    /// The further events of the message, in order. For example, a request to a gateway contains prompts and results,
    /// and a response contains texts and calls.
    pub further: Vec<FurtherEvent>,
    /// The reason, if two parsers could read different tool results from the message. In that case, `event` contains one of the possible
    /// results, and the host withholds the result if the agent accepts a replacement.
    pub unclear: Option<String>,
}

/// An event of a message, in addition to the message's first event.
#[derive(Clone, Debug)]
pub struct FurtherEvent {
    /// The hook point of the event.
    pub point: String,
    /// Like [`HookCall::once`].
    pub once: Option<String>,
    /// The event.
    pub event: HookEvent,
}

impl FurtherEvent {
    /// Creates a further event at `point`.
    pub fn new(point: impl Into<String>, event: HookEvent) -> Self {
        Self { point: point.into(), once: None, event }
    }
}

impl HookCall {
    /// Creates a call for an event at `point` in `session`. All other fields, such as `raw`, are empty.
    pub fn new(point: impl Into<String>, session: AgentSession, event: HookEvent) -> Self {
        let (raw, once, further, unclear) = Default::default();
        Self { point: point.into(), session, event, raw, once, further, unclear }
    }

    /// Creates a call from the session and the event that `decode` returns for `point`. If `decode` fails, adds the hook point to the
    /// error.
    pub(crate) fn decoded(
        point: String,
        decode: impl FnOnce(&str) -> Result<(AgentSession, HookEvent), Unreadable>,
    ) -> Result<Self, Unreadable> {
        let (session, event) = decode(&point).map_err(|error| error.at(&point))?;
        Ok(Self::new(point, session, event))
    }

    /// Splits the message into one call per event, in order. Each call gets its own decision and is degraded
    /// separately. The first call has the whole message as `raw`, and each later call has only its part number.
    pub fn parts(&self) -> Vec<Self> {
        let mut first = self.clone();
        first.further.clear();
        let later = self.further.iter().enumerate().map(|(index, further)| {
            let part = Self::new(further.point.clone(), self.session.clone(), further.event.clone());
            Self { raw: json!({ "part": index + 2 }).into(), once: further.once.clone(), ..part }
        });
        std::iter::once(first).chain(later).collect()
    }

    /// Returns a kind and a key, which together identify this call within its session. Two reports with the same kind and key are
    /// about the same call. An agent can report a call twice, for example if two of its hook configurations or two of its programs
    /// call the hook. Tool calls with an identifier have a key, and so do the events that a gateway repeats with each request
    /// ([`once`](Self::once)).
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

/// A session of an agent, as the agent reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentSession {
    /// The agent's identifier of the session, or `None` if the agent sends no identifier.
    pub id: Option<String>,
    /// The agent's identifier of the sub-agent, or `None` for the main agent.
    pub subagent: Option<String>,
    /// Absolute path of the working directory.
    pub cwd: PathBuf,
    /// Absolute path of the project's root.
    pub workspace: PathBuf,
    /// The agent's version, if the message contains it.
    pub version: Option<String>,
    /// How the agent asks its user about tool calls, if the message contains it.
    pub mode: Option<SessionMode>,
    /// False if the message says that no person is present, and otherwise true.
    pub interactive: bool,
}

impl AgentSession {
    /// Creates the session `id` in `cwd`, which is also the project's root.
    pub fn new(id: Option<String>, cwd: PathBuf) -> Self {
        Self { id, subagent: None, workspace: cwd.clone(), cwd, version: None, mode: None, interactive: true }
    }

    /// Returns an error message if the working directory is a Windows path and this hookhost runs on another system.
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

/// An event in an agent.
#[derive(Clone, Debug)]
pub enum HookEvent {
    /// The session begins, or continues after an interruption.
    SessionStart {
        /// True if the agent says that the session continues.
        is_resumed: bool,
    },
    /// The session ends.
    SessionEnd,
    /// The user has sent a prompt.
    PromptSubmit {
        /// Text of the prompt.
        prompt: String,
    },
    /// A tool is about to be called.
    BeforeToolCall(ToolUse),
    /// The agent is about to ask its user about a call. The agent may have reported the same call before.
    PermissionRequest(ToolUse),
    /// A tool has been called.
    AfterToolCall {
        /// The call, as the agent made it.
        call: ToolUse,
        /// The tool's result.
        result: ToolResult,
    },
    /// A sub-agent is about to be started.
    SubagentStart {
        /// The agent's identifier of the sub-agent.
        id: String,
        /// Task of the sub-agent, or its kind if the agent reports only that.
        prompt: String,
    },
    /// A sub-agent is about to end.
    SubagentEnd {
        /// The agent's identifier of the sub-agent.
        id: String,
        /// Final text of the sub-agent.
        text: String,
        /// True if a hook has already made the sub-agent continue.
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
    /// A complete text is about to be shown to the user.
    FinalText {
        /// The text.
        text: String,
    },
    /// The agent is about to stop because no work is left.
    Stop {
        /// The agent's last text, if the message contains it.
        text: Option<String>,
        /// True if a hook has already made the agent continue.
        is_continued: bool,
    },
    /// The agent could not continue.
    AgentError {
        /// Error message.
        message: String,
    },
    /// An event for which hookhost has no kind of its own. Plugins observe it as the custom event `AGENT/POINT`.
    Custom {
        /// The agent's data about the event.
        payload: Value,
    },
}

impl HookEvent {
    /// Returns the tool call that the event is about.
    pub fn tool(&self) -> Option<&ToolUse> {
        match self {
            Self::BeforeToolCall(call) | Self::PermissionRequest(call) | Self::AfterToolCall { call, .. } => Some(call),
            _ => None,
        }
    }

    /// Returns the kind of event that plugins get.
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

/// A tool call, as the agent reports it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolUse {
    /// The agent's identifier of the call, if it has one.
    pub id: Option<String>,
    /// The agent's name of the tool.
    pub name: String,
    /// The arguments, which are a JSON object.
    pub arguments: Value,
    /// True if the arguments can be written again without change. Otherwise, rules cannot change the arguments.
    pub is_exact: bool,
    /// The provider of the tool.
    pub origin: ToolOrigin,
    /// The annotations of the tool, if the message contains them.
    pub hints: ToolHints,
}

impl ToolUse {
    /// Creates a call of the agent's own tool `name`. If the name has the form `mcp__SERVER__TOOL`, the tool belongs to that MCP server
    /// instead.
    pub fn new(id: Option<String>, name: impl Into<String>, arguments: impl Into<Arguments>) -> Self {
        let name = name.into();
        let Arguments { value: arguments, is_exact } = arguments.into();
        let server = name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")).map(|(server, _)| server);
        let origin = server.map_or(ToolOrigin::Builtin, |server| ToolOrigin::Mcp(server.to_owned()));
        Self { id, name, arguments, is_exact, origin, hints: ToolHints::default() }
    }

    /// Sets the name of the MCP server that provides the tool.
    #[must_use]
    pub fn of_server(mut self, server: impl Into<String>) -> Self {
        self.origin = ToolOrigin::Mcp(server.into());
        self
    }
}

/// Returns true if a path begins with a drive or a network share of Windows.
pub(crate) fn is_of_windows(path: &str) -> bool {
    let has_drive = path.as_bytes().get(1) == Some(&b':') && path.starts_with(|c: char| c.is_ascii_alphabetic());
    has_drive || path.starts_with(r"\\")
}
