//! Reads the action and the arguments of a tool call. The action describes the effect of the call, whatever the tool
//! is. The arguments can be parsed into your own struct.

use crate::types::{Action, McpTool, ShellCommand, Task, ToolCall, ToolResult};
use serde::de::DeserializeOwned;

/// Parses JSON text, such as the arguments of a tool that the plugin adds.
///
/// # Errors
/// Returns an error if the text is not JSON or does not fit `T`.
pub fn parse<T: DeserializeOwned>(json: &str) -> Result<T, serde_json::Error> {
    serde_json::from_str(json)
}

impl ToolCall {
    /// Returns the arguments as your own struct.
    ///
    /// # Errors
    /// Returns an error if the arguments do not fit `T`. Each agent names the arguments of its tools differently, so a
    /// guard that needs the *effect* of a call should use `call.action` instead.
    ///
    /// ```
    /// # use hookhost_guest::prelude::*;
    /// #[derive(serde::Deserialize)]
    /// struct Arguments {
    ///     path: String,
    /// }
    /// # let call = hookhost_guest::testing::call("read", json!({"path": "a.txt"}), Action::ReadFile("a.txt".into()));
    /// let Arguments { path } = call.arguments().unwrap();
    /// # assert_eq!(path, "a.txt");
    /// ```
    pub fn arguments<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        parse(&self.arguments)
    }
}

impl Action {
    /// Returns the command, if the call runs a command.
    #[must_use]
    pub fn shell(&self) -> Option<&ShellCommand> {
        match self {
            Self::Shell(shell) => Some(shell),
            _ => None,
        }
    }

    /// Returns the path if the call reads a file. The path is exactly as the agent wrote it.
    #[must_use]
    pub fn read_path(&self) -> Option<&str> {
        match self {
            Self::ReadFile(path) => Some(path),
            _ => None,
        }
    }

    /// Returns every path that the call creates, changes or deletes, exactly as the agent wrote them. The list is empty
    /// if the call is not a file operation. Files that a shell command writes are not included.
    #[must_use]
    pub fn written_paths(&self) -> &[String] {
        match self {
            Self::WriteFiles(paths) => paths,
            _ => &[],
        }
    }

    /// Returns the URL, if the call fetches a URL.
    #[must_use]
    pub fn url(&self) -> Option<&str> {
        match self {
            Self::Fetch(url) => Some(url),
            _ => None,
        }
    }

    /// Returns the server and the tool, if the call goes to an MCP server.
    #[must_use]
    pub fn mcp(&self) -> Option<&McpTool> {
        match self {
            Self::Mcp(tool) => Some(tool),
            _ => None,
        }
    }

    /// Returns the task, if the call starts a sub-agent.
    #[must_use]
    pub fn sub_agent_task(&self) -> Option<&str> {
        match self {
            Self::SpawnAgent(task) => Some(task),
            _ => None,
        }
    }
}

impl From<ShellCommand> for Action {
    fn from(shell: ShellCommand) -> Self {
        Self::Shell(shell)
    }
}

impl ShellCommand {
    /// Returns a copy with a different command, and with the same directory and dialect.
    #[must_use]
    pub fn with_command(&self, command: impl Into<String>) -> Self {
        Self { command: command.into(), ..self.clone() }
    }
}

impl ToolResult {
    /// Creates a text result.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: false, raw: None }
    }

    /// Marks the result as an error.
    #[must_use]
    pub fn failed(mut self) -> Self {
        self.is_error = true;
        self
    }
}

impl Task {
    /// Creates a task for the agent. `prompt` is the text for the model.
    #[must_use]
    pub fn new(prompt: impl Into<String>) -> Self {
        Self { prompt: prompt.into(), title: None }
    }

    /// Sets the title that a person sees in a list.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }
}

/// A tool that the plugin adds. See [`Plugin::tools`](crate::Plugin::tools).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// The name under which the model calls the tool.
    pub name: String,
    /// The purpose and use of the tool, for the model.
    pub description: String,
    /// A JSON Schema of the arguments object, as JSON text.
    pub input_schema: String,
}

impl Tool {
    /// Creates a tool with the schema of its arguments. [`json!`](crate::json) is the easiest way to write the schema.
    #[must_use]
    #[expect(clippy::needless_pass_by_value, reason = "so that `json!({…})` needs no `&`")]
    pub fn new(name: impl Into<String>, description: impl Into<String>, input_schema: serde_json::Value) -> Self {
        Self { name: name.into(), description: description.into(), input_schema: input_schema.to_string() }
    }
}
