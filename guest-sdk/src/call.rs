//! Reading a tool call without knowing the tool: what it does, and its arguments as a struct of your own.

use crate::types::{Action, McpTool, ShellCommand, Task, ToolCall, ToolResult};
use serde::de::DeserializeOwned;

/// Reads JSON text, such as the arguments of a tool that the plugin brings.
///
/// # Errors
/// If it is not JSON, or does not fit `T`.
pub fn parse<T: DeserializeOwned>(json: &str) -> Result<T, serde_json::Error> {
    serde_json::from_str(json)
}

impl ToolCall {
    /// The arguments as a struct of your own.
    ///
    /// # Errors
    /// If they do not fit `T`. A tool's arguments are the agent's affair: a guard that cares for what the call *does*
    /// asks `call.action` instead.
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
    /// The command, where the call runs one.
    #[must_use]
    pub fn shell(&self) -> Option<&ShellCommand> {
        match self {
            Self::Shell(shell) => Some(shell),
            _ => None,
        }
    }

    /// The path, as the agent spelt it, where the call reads a file.
    #[must_use]
    pub fn read_path(&self) -> Option<&str> {
        match self {
            Self::ReadFile(path) => Some(path),
            _ => None,
        }
    }

    /// Every path, as the agent spelt it, that the call creates, changes or deletes. Empty where it is no file
    /// operation; what a shell command writes is not in it.
    #[must_use]
    pub fn written_paths(&self) -> &[String] {
        match self {
            Self::WriteFiles(paths) => paths,
            _ => &[],
        }
    }

    /// The URL, where the call fetches one.
    #[must_use]
    pub fn url(&self) -> Option<&str> {
        match self {
            Self::Fetch(url) => Some(url),
            _ => None,
        }
    }

    /// The server and the tool, where the call goes to an MCP server.
    #[must_use]
    pub fn mcp(&self) -> Option<&McpTool> {
        match self {
            Self::Mcp(tool) => Some(tool),
            _ => None,
        }
    }

    /// The task, where the call starts a sub-agent.
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
    /// Another command, in the same directory and dialect.
    #[must_use]
    pub fn with_command(&self, command: impl Into<String>) -> Self {
        Self { command: command.into(), ..self.clone() }
    }
}

impl ToolResult {
    /// A result that is text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: false, raw: None }
    }

    /// The same, as an error.
    #[must_use]
    pub fn failed(mut self) -> Self {
        self.is_error = true;
        self
    }
}

impl Task {
    /// Work for the agent: `prompt` is what the model is asked to do.
    #[must_use]
    pub fn new(prompt: impl Into<String>) -> Self {
        Self { prompt: prompt.into(), title: None }
    }

    /// What a person sees of it in a list.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }
}

/// A tool that the plugin brings; see [`Plugin::tools`](crate::Plugin::tools).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// What the model calls it by.
    pub name: String,
    /// What it does and when to use it, for the model.
    pub description: String,
    /// A JSON Schema of the arguments object, as JSON text.
    pub input_schema: String,
}

impl Tool {
    /// A tool with the schema of its arguments, which [`json!`](crate::json) writes most easily.
    #[must_use]
    #[expect(clippy::needless_pass_by_value, reason = "so that `json!({…})` needs no `&`")]
    pub fn new(name: impl Into<String>, description: impl Into<String>, input_schema: serde_json::Value) -> Self {
        Self { name: name.into(), description: description.into(), input_schema: input_schema.to_string() }
    }
}
