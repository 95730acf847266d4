//! An agent's message and its origin.

use std::path::Path;
use std::time::Duration;

/// Environment variables in which agents pass the project's directory to their hooks. The hook passes on only these variables,
/// because some agents give each hook a variable with the API key of their model.
pub const VARIABLES: &[&str] = &[
    "CLAUDE_PROJECT_DIR",
    "CRUSH_PROJECT_DIR",
    "CURSOR_PROJECT_DIR",
    "FACTORY_PROJECT_DIR",
    "GEMINI_PROJECT_DIR",
    "GROK_WORKSPACE_ROOT",
    "OPENHANDS_PROJECT_DIR",
    "QWEN_PROJECT_DIR",
];

/// A message of an agent, as it was received.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// The hook's standard input, or the body of the agent's request.
    pub bytes: &'a [u8],
    /// The hook point from the command line or the address. The hook point in the message itself has priority.
    pub point: Option<&'a str>,
    /// The directory in which the hook was started.
    pub directory: &'a Path,
    /// The variables of [`VARIABLES`] that were set.
    pub variables: &'a [(String, String)],
    /// The process that waits for the reply, if it is known. The agent has started it, so it has the agent's environment.
    pub process: Option<u32>,
    /// True if that process runs in `hookhost exec`.
    pub is_sandboxed: bool,
    /// Time that the sender waits for the reply, if the agent's own settings do not determine it. If this is `None`,
    /// the timeout of the agent's hook point applies.
    pub within: Option<Duration>,
}

impl<'a> Message<'a> {
    /// Creates a message without a hook point, variables, a process or a waiting time.
    pub fn new(bytes: &'a [u8], directory: &'a Path) -> Self {
        Self { bytes, point: None, directory, variables: &[], process: None, is_sandboxed: false, within: None }
    }

    /// Returns the value of a variable that is set and not empty.
    pub fn variable(&self, name: &str) -> Option<&'a str> {
        let found = self.variables.iter().find(|(known, value)| known == name && !value.is_empty());
        found.map(|(_, value)| value.as_str())
    }
}

/// The reason why a message cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Unreadable {
    /// The hook point, if known.
    pub point: Option<String>,
    /// The reason, as one sentence.
    pub why: String,
}

impl Unreadable {
    /// Creates the error with this reason.
    pub fn new(why: impl Into<String>) -> Self {
        Self { point: None, why: why.into() }
    }

    /// Sets the hook point.
    #[must_use]
    pub fn at(mut self, point: &str) -> Self {
        self.point = Some(point.to_owned());
        self
    }
}
