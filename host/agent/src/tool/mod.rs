//! Tools of the agent. A [`Tool`] gets arguments that fit its schema and a [`ToolContext`]. A [`Toolbox`] holds the
//! tools of a session and checks the model's calls.
//!
//! File tools reach the workspace through a capability, so they cannot leave the workspace, whatever links it contains. The tool `bash` can
//! do everything that the user can do. Plugins decide on a call before it starts.

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
pub use hookhost_models::ToolDefinition;
pub use hookhost_models::process::{StillRunning, adopt_orphans, kill_started};
pub use list_dir::ListDir;
pub use plugin::PluginTool;
pub use read_file::ReadFile;
pub use toolbox::{Toolbox, ToolboxError};
pub use workspace::{Workspace, WorkspaceError};
pub use write_file::WriteFile;

pub(crate) use capped_output::capped;

use crate::launcher::Launcher;
use async_trait::async_trait;
use hookhost::contract::ToolOrigin;
use hookhost::session::PluginTools;
use serde_json::{Value, json};
use std::fmt::Debug;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// A tool that the model can call.
#[async_trait]
pub trait Tool: Send + Sync + Debug {
    /// Returns the tool's name, its description for the model, and a JSON Schema of the arguments object. The name must be unique in the
    /// [`Toolbox`]. If the schema has `additionalProperties: false`, plugins see no arguments that the tool would ignore.
    fn definition(&self) -> ToolDefinition;

    /// Returns the origin of the tool.
    fn origin(&self) -> ToolOrigin {
        ToolOrigin::Builtin
    }

    /// Runs the call. `arguments` fit the schema of [`Self::definition`]. Dropping the future, or cancelling the context, stops
    /// everything that the call started.
    ///
    /// # Errors
    /// Returns an error if the call failed. The model reads the error's message as the call's result.
    async fn call(&self, arguments: Value, context: &ToolContext) -> Result<ToolOutput, ToolError>;
}

/// Environment of a call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ToolContext {
    /// Project of the agent.
    pub workspace: Arc<Workspace>,
    /// How programs are started.
    pub launcher: Arc<Launcher>,
    /// Cancelled when the call must end at once.
    pub cancel: CancellationToken,
    /// Identifier of the call.
    pub call: String,
    /// The plugins' tools, which run in the session of this run. `None` outside of a session.
    pub plugin_tools: Option<PluginTools>,
}

impl ToolContext {
    /// Creates a context outside of a session, which starts programs directly, with no hidden variables and a new cancellation token.
    #[must_use]
    pub fn new(workspace: Workspace) -> Self {
        Self {
            workspace: Arc::new(workspace),
            launcher: Arc::default(),
            cancel: CancellationToken::new(),
            call: String::new(),
            plugin_tools: None,
        }
    }
}

/// Result of a tool call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolOutput {
    /// Text for the model.
    pub text: String,
    /// True if the model is told that the call failed.
    pub is_error: bool,
    /// The whole result, for plugins. `None` if it is only text.
    pub raw: Option<Value>,
}

impl ToolOutput {
    /// Creates a successful result.
    #[must_use]
    pub fn success(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: false, raw: None }
    }

    /// Creates a result that tells the model that the call failed.
    #[must_use]
    pub fn error(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: true, raw: None }
    }
}

/// Reasons why a call failed. The model reads the message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// The tool does not exist.
    #[error("there is no tool `{name}`; the tools are: {known}")]
    Unknown {
        /// Requested name.
        name: String,
        /// Names of the existing tools.
        known: String,
    },
    /// The arguments do not fit the tool's schema.
    #[error("the arguments do not fit the tool `{tool}`: {problems}")]
    Arguments {
        /// Name of the tool.
        tool: String,
        /// Problems, each with the name of its argument.
        problems: String,
    },
    /// A path leads out of the workspace.
    #[error("the path `{path}` is outside of the workspace, where file tools cannot go")]
    Outside {
        /// Path in the call.
        path: String,
    },
    /// The system or the tool refused the access.
    #[error("`{path}` cannot be {doing}: {reason}")]
    File {
        /// Path in the call.
        path: String,
        /// "read", "written", "listed" or "edited".
        doing: &'static str,
        /// Reason from the system or the tool.
        reason: String,
    },
    /// The text to replace is missing, occurs more than once, or is the same as its replacement.
    #[error("`{path}` was not changed: {reason}")]
    NoEdit {
        /// Path in the call.
        path: String,
        /// Reason, with advice for the model.
        reason: String,
    },
    /// A command could not be started.
    #[error("the command could not be started: {reason}")]
    Start {
        /// Reason from the system.
        reason: String,
    },
    /// A tool of a plugin or of an MCP server gave no result.
    #[error("{reason}")]
    Failed {
        /// A complete sentence that names the plugin or server and the failure.
        reason: String,
    },
    /// The tool panicked.
    #[error("the tool `{tool}` had an internal error: try something else")]
    Panicked {
        /// Name of the tool.
        tool: String,
    },
    /// The run was cancelled.
    #[error("aborted: the run was cancelled before the tool had finished")]
    Aborted,
    /// The run was cancelled after the tool had produced some output.
    #[error("aborted: the run was cancelled before the tool had finished; it had printed:\n{output}")]
    Interrupted {
        /// Output so far.
        output: String,
    },
}

/// Returns a definition whose arguments are these properties and no others.
pub(crate) fn definition(name: &str, description: &str, properties: Value, required: &[&str]) -> ToolDefinition {
    let mut schema = json!({ "type": "object", "required": required, "additionalProperties": false });
    schema["properties"] = properties;
    ToolDefinition::new(name, description, schema)
}

/// Parses the arguments into the tool's own type.
pub(crate) fn parsed<T: serde::de::DeserializeOwned>(tool: &str, arguments: Value) -> Result<T, ToolError> {
    serde_json::from_value(arguments)
        .map_err(|error| ToolError::Arguments { tool: tool.to_owned(), problems: error.to_string() })
}

/// Runs file work on a blocking thread. Work that has started is always finished. Otherwise a file could be half written.
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
