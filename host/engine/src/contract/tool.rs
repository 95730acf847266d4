//! Tool calls, what they do, and what plugins answer about them.

use super::{Escalation, Json, Refusal, json};
use serde::{Deserialize, Serialize};
use wasmtime::component::{ComponentType, Lift, Lower};

/// A call of a tool that the model asked for.
#[derive(ComponentType, Lift, Lower, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[component(record)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ToolCall {
    /// The provider's identifier of the call.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The whole arguments object.
    #[serde(with = "json")]
    pub arguments: Json,
    /// What the call does, whatever the tool and its arguments are called.
    pub action: Action,
    /// Who brought the tool.
    pub origin: ToolOrigin,
}

/// Who brought a tool.
#[derive(ComponentType, Lift, Lower, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[component(variant)]
#[serde(rename_all = "kebab-case")]
pub enum ToolOrigin {
    /// The agent itself.
    #[component(name = "builtin")]
    Builtin,
    /// The plugin of this name.
    #[component(name = "plugin")]
    Plugin(String),
    /// The MCP server of this name.
    #[component(name = "mcp")]
    Mcp(String),
    /// The agent's surroundings.
    #[component(name = "external")]
    External,
}

/// What a tool call does. Paths are as the agent spelt them.
#[derive(ComponentType, Lift, Lower, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[component(variant)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Runs a shell command.
    #[component(name = "shell")]
    Shell(ShellCommand),
    /// Reads this file or folder.
    #[component(name = "read-file")]
    ReadFile(String),
    /// Creates, changes or deletes these files.
    #[component(name = "write-files")]
    WriteFiles(Vec<String>),
    /// Fetches this URL.
    #[component(name = "fetch")]
    Fetch(String),
    /// Calls a tool of an MCP server.
    #[component(name = "mcp")]
    Mcp(McpTool),
    /// Starts a sub-agent with this task.
    #[component(name = "spawn-agent")]
    SpawnAgent(String),
    /// None of the above; a word for it where the agent has one, else empty. Where the arguments of a tool of a known kind
    /// cannot be read, the kind's name: "shell", "read-file", "write-files", "fetch" or "spawn-agent". A guard of that kind
    /// is asked about these, too.
    #[component(name = "other")]
    Other(String),
}

/// The language of a shell command.
#[derive(ComponentType, Lift, Lower, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[component(enum)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum ShellDialect {
    /// sh, bash, zsh and their kin.
    #[component(name = "posix")]
    Posix,
    /// PowerShell.
    #[component(name = "powershell")]
    Powershell,
    /// cmd.exe.
    #[component(name = "cmd")]
    Cmd,
    /// Nobody said.
    #[component(name = "unknown")]
    Unknown,
}

/// A shell command and where it runs.
#[derive(ComponentType, Lift, Lower, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[component(record)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ShellCommand {
    /// The text that the shell reads.
    pub command: String,
    /// Working directory: the tool's own argument where it has one, else the session's.
    pub cwd: String,
    /// Language of `command`.
    pub dialect: ShellDialect,
}

/// A tool of an MCP server.
#[derive(ComponentType, Lift, Lower, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[component(record)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct McpTool {
    /// The server's name, where it is known.
    pub server: Option<String>,
    /// The tool's name on that server.
    pub tool: String,
}

/// What a tool answered.
#[derive(ComponentType, Lift, Lower, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[component(record)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ToolResult {
    /// What the model reads.
    pub text: String,
    /// Whether the tool failed.
    #[component(name = "is-error")]
    pub is_error: bool,
    /// The whole result where it is more than text.
    #[serde(default, with = "json::optional", skip_serializing_if = "Option::is_none")]
    pub raw: Option<Json>,
}

impl ToolResult {
    /// A result that is text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: false, raw: None }
    }

    /// A failure that is text.
    pub fn error(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: true, raw: None }
    }
}

/// Where a tool result comes from.
#[derive(ComponentType, Lift, Lower, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[component(enum)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum ResultSource {
    /// The tool ran.
    #[component(name = "tool")]
    Tool,
    /// A plugin answered in its place.
    #[component(name = "plugin")]
    Plugin,
}

/// What a plugin answers to `before-tool-call`.
#[derive(ComponentType, Lift, Lower, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[component(variant)]
#[serde(rename_all = "kebab-case")]
pub enum ToolCallVerdict {
    /// No objection.
    #[component(name = "allow")]
    Allow,
    /// No objection, and no person need be asked; the text says why.
    #[component(name = "approve")]
    Approve(String),
    /// Run with these arguments instead: a whole JSON object.
    #[component(name = "modify")]
    Modify(#[serde(with = "json")] Json),
    /// Do this instead.
    #[component(name = "rewrite")]
    Rewrite(Action),
    /// A person must decide.
    #[component(name = "escalate")]
    Escalate(Escalation),
    /// Do not run the tool.
    #[component(name = "reject")]
    Reject(Refusal),
    /// Do not run the tool: this is its result.
    #[component(name = "respond")]
    Respond(ToolResult),
}

/// What a plugin answers to `before-tools`.
#[derive(ComponentType, Lift, Lower, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[component(variant)]
#[serde(rename_all = "kebab-case")]
pub enum BatchVerdict {
    /// No objection.
    #[component(name = "allow")]
    Allow,
    /// A person must decide about the batch.
    #[component(name = "escalate")]
    Escalate(Escalation),
    /// None of the calls runs.
    #[component(name = "reject")]
    Reject(Refusal),
}

/// What a plugin answers to `after-tool-call`.
#[derive(ComponentType, Lift, Lower, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[component(variant)]
#[serde(rename_all = "kebab-case")]
pub enum ToolResultVerdict {
    /// It goes on as it is.
    #[component(name = "keep")]
    Keep,
    /// This result goes on in its place.
    #[component(name = "replace")]
    Replace(ToolResult),
    /// The model gets the refusal instead.
    #[component(name = "reject")]
    Reject(Refusal),
}
