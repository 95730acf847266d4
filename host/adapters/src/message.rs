//! What an agent sent, and from where.

use std::path::Path;
use std::time::Duration;

/// The environment variables that an agent sets for its hooks and that say where its project is. No other variable is read
/// or handed on: some agents pass the key of their model to each hook.
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

/// A message of an agent, as it came.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// What the agent wrote to the hook's standard input, or the body of its request.
    pub bytes: &'a [u8],
    /// The hook point, where the command line or the address names it. The message itself counts more.
    pub point: Option<&'a str>,
    /// The directory in which the hook was started.
    pub directory: &'a Path,
    /// Those of [`VARIABLES`] that were set.
    pub variables: &'a [(String, String)],
    /// How long the sender waits for the reply, where the message does not come by the agent's own settings; absent: as long as
    /// the agent's hook point waits.
    pub within: Option<Duration>,
}

impl<'a> Message<'a> {
    /// A message alone.
    #[must_use]
    pub fn new(bytes: &'a [u8], directory: &'a Path) -> Self {
        Self { bytes, point: None, directory, variables: &[], within: None }
    }

    /// The value of a variable that is set and not empty.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<&'a str> {
        let found = self.variables.iter().find(|(known, value)| known == name && !value.is_empty());
        found.map(|(_, value)| value.as_str())
    }
}

/// Why a message cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
#[non_exhaustive]
pub struct Unreadable {
    /// The hook point, as far as it is known.
    pub point: Option<String>,
    /// One sentence.
    pub why: String,
}

impl Unreadable {
    /// For this reason.
    pub fn new(why: impl Into<String>) -> Self {
        Self { point: None, why: why.into() }
    }

    /// At this hook point.
    #[must_use]
    pub fn at(mut self, point: &str) -> Self {
        self.point = Some(point.to_owned());
        self
    }
}
