//! Selects tool calls: the keys `actions` and `tools`, which an entry and an ask rule share.

use std::{collections::BTreeSet, fmt};

use serde::{Deserialize, Serialize};

use super::ToolPattern;
use crate::contract::action::supposed_commands;
use crate::contract::{Action, ToolCall};

/// The kind of action of a tool call: the cases of the contract's `action`.
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
    /// None of the others.
    Other,
}

impl ActionKind {
    /// All of them, in the contract's order.
    pub const ALL: &[Self] =
        &[Self::Shell, Self::ReadFile, Self::WriteFiles, Self::Fetch, Self::Mcp, Self::SpawnAgent, Self::Other];

    /// The kind of an action.
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

    /// Its name in the contract and in the allowlist.
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

    /// The action of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// Returns true if the action is of this kind, or may be: a call of a known tool whose arguments cannot be read may do anything
    /// that such a tool does.
    fn may_be_of(self, action: &Action) -> bool {
        self == Self::of(action) || matches!(action, Action::Other(word) if word == self.name())
    }
}

impl fmt::Display for ActionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The calls that do one of `actions` and are of one of `tools`; `None` means all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Narrowing<'a> {
    pub(crate) actions: Option<&'a BTreeSet<ActionKind>>,
    pub(crate) tools: Option<&'a [ToolPattern]>,
}

impl Narrowing<'_> {
    /// Returns true if it matches this call.
    pub(crate) fn admits(self, call: &ToolCall) -> bool {
        self.actions.is_none_or(|actions| actions.iter().any(|kind| kind.may_be_of(&call.action)))
            && self.tools.is_none_or(|tools| tools.iter().any(|tool| tool.matches(&call.name)))
    }

    /// Returns true if a plugin for these calls is asked about this one. This includes a call of an unknown tool whose arguments
    /// may hold a command.
    pub(crate) fn concerns(self, call: &ToolCall) -> bool {
        let is_for_shells = || self.actions.is_some_and(|actions| actions.contains(&ActionKind::Shell));
        let may_run_a_shell = || {
            matches!(call.action, Action::Mcp(_) | Action::Other(_))
                && call.arguments.read().is_ok_and(|arguments| !supposed_commands(&call.name, &arguments).is_empty())
        };
        self.admits(call) || Self { actions: None, ..self }.admits(call) && is_for_shells() && may_run_a_shell()
    }
}
