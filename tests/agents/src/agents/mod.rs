//! The setup of each agent in these tests: its package, its configuration, its command line, and the tool calls of its model.

mod claude_code;
mod cline;
mod codex;
mod codex_trust;
mod copilot;
mod gemini_cli;
mod opencode;
mod pi;
mod qwen_code;

use crate::model::Call;
use crate::npm::Package;
use crate::place::Place;
use crate::process::Start;
use anyhow::{Result, anyhow};
use hookhost_contract::EventKind;
use serde_json::Value;

/// The API key for the model. All agents get this key.
pub(crate) const KEY: &str = "sk-test-0000";

/// An agent that these tests can run.
pub(crate) trait RealAgent: Sync {
    /// Returns the agent's name, which is also the name of its adapter.
    fn name(&self) -> &'static str;

    /// Returns the package to install.
    fn package(&self) -> Package;

    /// Writes the agent's own configuration, without the hook.
    ///
    /// # Errors
    /// If a file cannot be written.
    fn prepare(&self, place: &Place) -> Result<()>;

    /// Does what a person would do after `hookhost install`, such as trusting the hook.
    ///
    /// # Errors
    /// If one of these steps fails.
    fn after_install(&self, _place: &Place) -> Result<()> {
        Ok(())
    }

    /// Returns the command that starts the agent with a prompt and without a terminal.
    fn start(&self, place: &Place, prompt: &str) -> Start;

    /// Returns the tool call with which the agent's model runs a shell command.
    fn shell(&self, command: &str) -> Call;

    /// Returns the tool call with which the agent's model reads the file at an absolute path, or `None` if the model can read files only
    /// with shell commands.
    fn read(&self, path: &str) -> Option<Call>;

    /// Returns the tool call with which the agent's model writes a file at an absolute path, or `None` if the model can write files only
    /// with shell commands.
    fn write(&self, _path: &str, _text: &str) -> Option<Call> {
        None
    }

    /// Returns the tool call with which the agent's model starts a sub-agent with a prompt, or `None` if the agent has no sub-agents.
    fn subagent(&self, prompt: &str) -> Option<Call>;

    /// Returns the events that the agent does not report in a run without a terminal, although it has a hook point for them.
    fn untold(&self) -> &'static [EventKind] {
        &[]
    }

    /// Returns the hook point that the agent's messages name for an event, if this is not the hook point of the installed hook.
    fn says(&self, _event: EventKind) -> Option<&'static str> {
        None
    }

    /// Returns true if a rejection ends the run without a message to the model.
    fn ends_at_denials(&self) -> bool {
        false
    }

    /// Returns the ways in which the agent can ask its hook before a call, other than starting a process.
    fn ways(&self) -> &'static [Way] {
        &[]
    }

    /// Configures the agent to ask its hook in this way before each call. The agent is started with the variable [`TOKEN`].
    ///
    /// # Errors
    /// If a file cannot be written.
    fn ask_by(&self, _way: Way, _place: &Place, _served: &Served) -> Result<()> {
        Ok(())
    }

    /// Returns the command with which an editor starts the agent for the Agent Client Protocol, or `None` if the agent does not support the
    /// protocol. The agent asks the editor before each shell command.
    ///
    /// # Errors
    /// If the agent's configuration cannot be written.
    fn acp(&self, _place: &Place) -> Result<Option<Start>> {
        Ok(None)
    }

    /// Returns true if only the title of a question to an editor contains the command.
    fn names_commands_in_titles(&self) -> bool {
        false
    }

    /// Adds an MCP server with this command to the agent's configuration. Returns false if this is not implemented for the agent.
    ///
    /// # Errors
    /// If a file cannot be written.
    fn add_server(&self, _place: &Place, _name: &str, _command: &[String]) -> Result<bool> {
        Ok(false)
    }

    /// Returns the tool call with which the agent's model calls a tool of an MCP server.
    fn call(&self, server: &str, tool: &str, arguments: Value) -> Call {
        Call::new(&format!("mcp__{server}__{tool}"), arguments)
    }

    /// Returns true if a call runs although the hook program is missing.
    fn runs_without_hook(&self) -> bool;
}

/// A way in which an agent asks its hook without a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// The agent posts the message.
    Http,
    /// The agent calls a tool of an MCP server to which it is connected.
    McpTool,
}

/// The address and the secret of the resident host's HTTP server, for an agent.
#[derive(Clone, Debug)]
pub(crate) struct Served {
    /// The address, without a slash at the end.
    pub(crate) url: String,
    /// The secret that each request needs.
    pub(crate) token: String,
}

/// The variable that holds the secret for an agent.
pub(crate) const TOKEN: &str = "HOOKHOST_TOKEN";

/// Returns the settings files of a section of `docs/hooks-over-http.md`, with the address and the token of a test.
///
/// # Errors
/// If the page has no such section, or if the section does not have `FILES` files.
pub(crate) fn documented<const FILES: usize>(section: &str, served: &Served) -> Result<[String; FILES]> {
    let page = include_str!("../../../../docs/hooks-over-http.md");
    let section = page.split("\n## ").find(|text| text.lines().next() == Some(section)).unwrap_or_default();
    let blocks = section.split("\n```").skip(1).step_by(2);
    let files = blocks.filter_map(|block| block.split_once('\n')).map(|(_, text)| {
        text.replace("http://127.0.0.1:8750", &served.url).replace("Bearer TOKEN", &format!("Bearer {}", served.token))
    });
    let files: Vec<_> = files.collect();
    files
        .try_into()
        .map_err(|files: Vec<_>| anyhow!("{section:?} has {} files in docs/hooks-over-http.md", files.len()))
}

/// Returns the agents, in the order of their runs.
pub(crate) fn all() -> &'static [&'static dyn RealAgent] {
    &[
        &claude_code::ClaudeCode,
        &codex::Codex,
        &copilot::Copilot,
        &pi::Pi,
        &gemini_cli::GeminiCli,
        &qwen_code::QwenCode,
        &cline::Cline,
        &opencode::OpenCode,
    ]
}
