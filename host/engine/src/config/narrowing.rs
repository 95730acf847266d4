//! The keys `actions` and `tools`, with which entries select tool calls.

use std::{collections::BTreeSet, fmt};

use serde::{Deserialize, Serialize};

use super::ToolPattern;
use crate::contract::action::supposed_commands;
use crate::contract::{Action, ToolCall};

/// The kind of a tool call's action. There is one kind for each case of the contract's `action`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ActionKind {
    /// Runs a shell command.
    Shell,
    /// Reads a file.
    ReadFile,
    /// Creates, changes or deletes files.
    WriteFiles,
    /// Fetches a URL.
    Fetch,
    /// Calls a tool of an MCP server.
    Mcp,
    /// Starts a sub-agent.
    SpawnAgent,
    /// Anything else.
    Other,
}

impl ActionKind {
    /// All kinds, in the contract's order.
    pub const ALL: &[Self] =
        &[Self::Shell, Self::ReadFile, Self::WriteFiles, Self::Fetch, Self::Mcp, Self::SpawnAgent, Self::Other];

    /// Returns the kind of an action.
    #[must_use]
    pub fn of(action: &Action) -> Self {
        match action {
            Action::Shell(_) => Self::Shell,
            Action::ReadFile(_) => Self::ReadFile,
            Action::WriteFiles(_) => Self::WriteFiles,
            Action::Fetch(_) => Self::Fetch,
            Action::Mcp(_) => Self::Mcp,
            Action::SpawnAgent(_) => Self::SpawnAgent,
            Action::Other(_) => Self::Other,
        }
    }

    /// Returns the name in the contract and in the allowlist.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Shell => "shell",
            Self::ReadFile => "read-file",
            Self::WriteFiles => "write-files",
            Self::Fetch => "fetch",
            Self::Mcp => "mcp",
            Self::SpawnAgent => "spawn-agent",
            Self::Other => "other",
        }
    }

    /// Returns the kind with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// Returns true if the action is, or may be, of this kind. If the arguments of a call cannot be parsed but its tool
    /// is known, every action that the tool can have is possible.
    fn may_be_of(self, action: &Action) -> bool {
        self == Self::of(action) || matches!(action, Action::Other(word) if word == self.name())
    }
}

impl fmt::Display for ActionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A selection of calls by action and by tool. `None` selects all actions or all tools.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Narrowing<'a> {
    pub(crate) actions: Option<&'a BTreeSet<ActionKind>>,
    pub(crate) tools: Option<&'a [ToolPattern]>,
}

impl Narrowing<'_> {
    /// Returns true if the selection contains this call.
    pub(crate) fn admits(self, call: &ToolCall) -> bool {
        self.actions.is_none_or(|actions| actions.iter().any(|kind| kind.may_be_of(&call.action)))
            && self.tools.is_none_or(|tools| tools.iter().any(|tool| tool.matches(&call.name)))
    }

    /// Returns true if a plugin whose entry has this selection gets the call. If the selection includes shell commands,
    /// the plugin also gets calls of unknown tools whose arguments may contain a command.
    pub(crate) fn concerns(self, call: &ToolCall) -> bool {
        let is_for_shells = || self.actions.is_some_and(|actions| actions.contains(&ActionKind::Shell));
        let may_run_a_shell = || {
            matches!(call.action, Action::Mcp(_) | Action::Other(_))
                && call.arguments.read().is_ok_and(|arguments| !supposed_commands(&call.name, &arguments).is_empty())
        };
        self.admits(call) || Self { actions: None, ..self }.admits(call) && is_for_shells() && may_run_a_shell()
    }
}
