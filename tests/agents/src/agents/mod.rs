//! What each agent needs to run here: its package, its own configuration, how it is started, how its model calls tools.

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

/// The key that agents are given for the model.
pub(crate) const KEY: &str = "sk-test-0000";

/// An agent that can be run here.
pub(crate) trait RealAgent: Sync {
    /// Its name, which is that of its adapter.
    fn name(&self) -> &'static str;

    /// What is installed.
    fn package(&self) -> Package;

    /// Writes its own configuration, without the hook.
    ///
    /// # Errors
    /// If a file cannot be written.
    fn prepare(&self, place: &Place) -> Result<()>;

    /// What a person does after `hookhost install`, such as trusting the hook.
    ///
    /// # Errors
    /// If it cannot be done.
    fn after_install(&self, _place: &Place) -> Result<()> {
        Ok(())
    }

    /// How it is started with a prompt, without a terminal.
    fn start(&self, place: &Place, prompt: &str) -> Start;

    /// The call by which its model runs a shell command.
    fn shell(&self, command: &str) -> Call;

    /// The call by which its model reads a file, an absolute path; `None` where it only has shell commands for that.
    fn read(&self, path: &str) -> Option<Call>;

    /// The call by which its model starts a sub-agent with a prompt; `None` where it has no sub-agents.
    fn subagent(&self, prompt: &str) -> Option<Call>;

    /// The events that it does not tell its hooks where no person is there, though it has a hook point for them.
    fn untold(&self) -> &'static [EventKind] {
        &[]
    }

    /// The hook point that its messages about an event name, where it is another one than that of the installed hook.
    fn says(&self, _event: EventKind) -> Option<&'static str> {
        None
    }

    /// Whether a rejection ends its run, and its model is told nothing.
    fn ends_at_denials(&self) -> bool {
        false
    }

    /// The other ways by which it can ask its hook before a call.
    fn ways(&self) -> &'static [Way] {
        &[]
    }

    /// Writes into its configuration that it asks in this way before each call. It is started with the variable [`TOKEN`].
    ///
    /// # Errors
    /// If a file cannot be written.
    fn ask_by(&self, _way: Way, _place: &Place, _served: &Served) -> Result<()> {
        Ok(())
    }

    /// How it is started so that an editor can talk to it over the Agent Client Protocol, and asks before each shell command; `None`
    /// where it cannot.
    ///
    /// # Errors
    /// If its configuration cannot be written.
    fn acp(&self, _place: &Place) -> Result<Option<Start>> {
        Ok(None)
    }

    /// Whether it says the command about which it asks an editor nowhere but in the title.
    fn names_commands_in_titles(&self) -> bool {
        false
    }

    /// Writes an MCP server with this command into its configuration; `false` where nobody knows here how.
    ///
    /// # Errors
    /// If a file cannot be written.
    fn add_server(&self, _place: &Place, _name: &str, _command: &[String]) -> Result<bool> {
        Ok(false)
    }

    /// The call by which its model calls a tool of an MCP server.
    fn call(&self, server: &str, tool: &str, arguments: Value) -> Call {
        Call::new(&format!("mcp__{server}__{tool}"), arguments)
    }

    /// Whether a call runs where the hook program is missing.
    fn runs_without_hook(&self) -> bool;
}

/// A way besides a process by which an agent asks its hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// It posts the message.
    Http,
    /// It calls a tool of an MCP server to which it is connected.
    McpTool,
}

/// The resident host's HTTP, as an agent has to know it.
#[derive(Clone, Debug)]
pub(crate) struct Served {
    /// The address, without a slash at the end.
    pub(crate) url: String,
    /// The secret that each request has to bring.
    pub(crate) token: String,
}

/// The variable in which an agent gets the secret.
pub(crate) const TOKEN: &str = "HOOKHOST_TOKEN";

/// The settings of a section of `docs/hooks-over-http.md`, a text for each file, with the address and the token of a test.
///
/// # Errors
/// If the page has no such section, or another number of files in it.
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

/// The agents, in the order in which they are run.
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
