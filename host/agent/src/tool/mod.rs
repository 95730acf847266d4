//! What the agent can do. A [`Tool`] gets arguments that fit its schema and a [`ToolContext`]; a [`Toolbox`] holds the
//! tools of a session and checks what the model asks for.
//!
//! File tools reach the workspace through a capability and cannot leave it, whatever links are in it; `bash` is as
//! free as the user is. What a call may do is for plugins to say, before it starts.

mod bash;
mod capped_output;
mod edit_file;
mod list_dir;
mod plugin;
mod read_file;
mod toolbox;
mod workspace;
mod write_file;

pub use bash::Bash;
pub use edit_file::EditFile;
pub use hookhost_processes::{StillRunning, adopt_orphans, kill_started};
pub use list_dir::ListDir;
pub use plugin::PluginTool;
pub use read_file::ReadFile;
pub use toolbox::{Toolbox, ToolboxError};
pub use workspace::{Workspace, WorkspaceError};
pub use write_file::WriteFile;

pub(crate) use capped_output::capped;

use async_trait::async_trait;
use hookhost::contract::ToolOrigin;
use hookhost::session::PluginTools;
use serde_json::Value;
use std::fmt::Debug;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Something that the model can call.
#[async_trait]
pub trait Tool: Send + Sync + Debug {
    /// What the model calls it; unique in its [`Toolbox`].
    fn name(&self) -> &str;

    /// What it does and when to use it, for the model.
    fn description(&self) -> &str;

    /// A JSON Schema of the arguments object. `additionalProperties: false` keeps what a plugin sees and what the tool
    /// reads the same.
    fn input_schema(&self) -> Value;

    /// Who brought the tool.
    fn origin(&self) -> ToolOrigin {
        ToolOrigin::Builtin
    }

    /// Does it. `arguments` fit [`Self::input_schema`]. Dropping the future stops what the call started; so does the
    /// context's cancellation.
    ///
    /// # Errors
    /// If it could not be done; the model reads the error as the call's result.
    async fn call(&self, arguments: Value, context: &ToolContext) -> Result<ToolOutput, ToolError>;
}

/// Where and under which conditions a tool runs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ToolContext {
    /// The project that the agent works on.
    pub workspace: Arc<Workspace>,
    /// Environment variables that commands must not inherit, such as the provider's API key.
    pub hidden_variables: Arc<[String]>,
    /// Cancelled when the call is to end now.
    pub cancel: CancellationToken,
    /// Identifier of the call.
    pub call: String,
    /// The tools of plugins, in the session of the run.
    pub plugin_tools: Option<PluginTools>,
}

impl ToolContext {
    /// A context in `workspace`, with nothing hidden, that nobody cancels, outside of any session.
    #[must_use]
    pub fn new(workspace: Workspace) -> Self {
        Self {
            workspace: Arc::new(workspace),
            hidden_variables: Arc::new([]),
            cancel: CancellationToken::new(),
            call: String::new(),
            plugin_tools: None,
        }
    }
}

/// What a tool answers.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolOutput {
    /// What the model reads.
    pub text: String,
    /// Whether the model is to take it as a failure.
    pub is_error: bool,
    /// The whole result where it is more than text, such as images; for plugins.
    pub raw: Option<Value>,
}

impl ToolOutput {
    /// A success.
    #[must_use]
    pub fn success(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: false, raw: None }
    }

    /// What the model is to take as a failure.
    #[must_use]
    pub fn error(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: true, raw: None }
    }
}

/// Why a tool did not do what it was asked; the model reads this.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// There is no such tool.
    #[error("there is no tool `{name}`; the tools are: {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// The arguments do not fit the tool's schema.
    #[error("the arguments do not fit the tool `{tool}`: {problems}")]
    Arguments {
        /// The tool.
        tool: String,
        /// Each problem with the argument that it is about.
        problems: String,
    },
    /// A path leads out of the workspace.
    #[error("the path `{path}` is outside of the workspace, where file tools cannot go")]
    Outside {
        /// As it was given.
        path: String,
    },
    /// The system says no.
    #[error("`{path}` cannot be {doing}: {reason}")]
    File {
        /// As it was given.
        path: String,
        /// "read", "written", "listed".
        doing: &'static str,
        /// What the system, or the tool, says.
        reason: String,
    },
    /// The text to be replaced is not there exactly once.
    #[error("`{path}` was not changed: {reason}")]
    NoEdit {
        /// As it was given.
        path: String,
        /// What to do differently.
        reason: String,
    },
    /// A command could not be started.
    #[error("the command could not be started: {reason}")]
    Start {
        /// What the system says.
        reason: String,
    },
    /// A plugin's or a server's tool gave no result.
    #[error("{reason}")]
    Failed {
        /// Who failed and how, a whole sentence.
        reason: String,
    },
    /// The tool has a bug.
    #[error("the tool `{tool}` failed inside: try something else")]
    Panicked {
        /// The tool.
        tool: String,
    },
    /// The run was cancelled.
    #[error("aborted: the run was cancelled before the tool had finished")]
    Aborted,
    /// The run was cancelled while the tool had answered in part.
    #[error("aborted: the run was cancelled before the tool had finished; it had printed:\n{output}")]
    Interrupted {
        /// What there was of its answer.
        output: String,
    },
}

/// The arguments as the tool's own type.
pub(crate) fn parsed<T: serde::de::DeserializeOwned>(tool: &str, arguments: Value) -> Result<T, ToolError> {
    serde_json::from_value(arguments)
        .map_err(|error| ToolError::Arguments { tool: tool.to_owned(), problems: error.to_string() })
}

/// Runs file work beside the async tasks. Once started it is finished, so that no file is half written.
async fn blocking<F>(context: &ToolContext, work: F) -> Result<ToolOutput, ToolError>
where
    F: FnOnce(&Workspace) -> Result<ToolOutput, ToolError> + Send + 'static,
{
    if context.cancel.is_cancelled() {
        return Err(ToolError::Aborted);
    }
    let workspace = Arc::clone(&context.workspace);
    tokio::task::spawn_blocking(move || work(&workspace)).await.unwrap_or(Err(ToolError::Aborted))
}

#[cfg(test)]
mod tests;
