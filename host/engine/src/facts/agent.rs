//! What the sender of an event knows about the agent.

use super::process::OwnProcess;
use crate::contract::{Fact, FactName, SessionMode, ToolHints};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

/// What the sender of an event knows about the agent. By default, the agent is this process, and its mode and version
/// are not known.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct AgentContext {
    /// How the agent asks its user about tool calls.
    pub mode: Option<SessionMode>,
    /// The version of the agent program.
    pub version: Option<String>,
    /// The annotations of the tool that the event is about.
    pub tool: ToolHints,
    /// The agent's process, or a process that the agent has started in its own environment. If absent, it is this
    /// process.
    pub process: Option<Arc<dyn AgentProcess>>,
    /// Facts in place of those that the host would read.
    #[doc(hidden)]
    pub given: Option<Arc<GivenFacts>>,
}

/// The facts of an event that did not happen now: of a test, or of a transcript.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct GivenFacts {
    /// The facts by name, whatever directory they are about.
    pub facts: BTreeMap<FactName, Fact>,
    /// All other facts.
    pub others: Fact,
}

impl AgentContext {
    pub(super) fn process(&self) -> &dyn AgentProcess {
        self.process.as_deref().unwrap_or(&OwnProcess)
    }
}

/// A process whose environment is the environment of the agent. All methods are called only if a plugin reads a fact
/// that depends on them. If nothing is known of its isolation,
/// `is_sandboxed` returns `Ok(None)`.
pub trait AgentProcess: Debug + Send + Sync {
    /// Returns the value of an environment variable; `None` if it is not set.
    ///
    /// # Errors
    /// Returns the reason if the variable cannot be read.
    fn variable(&self, name: &str) -> Result<Option<String>, String>;

    /// Returns the name of the user of the process, or the user's number if the user has no name.
    ///
    /// # Errors
    /// Returns the reason if the user cannot be found.
    fn user(&self) -> Result<Option<String>, String>;

    /// Returns true if the process runs in `hookhost exec`, where the kernel guards files; `None` if this is not known.
    ///
    /// # Errors
    /// Returns the reason if this cannot be found out.
    fn is_sandboxed(&self) -> Result<Option<bool>, String>;
}
