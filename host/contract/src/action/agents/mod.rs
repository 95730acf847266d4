//! What the tools of each agent do: a file per agent.
//!
//! An agent's file lists its own tools and the arguments that it reads. A tool that it does not list is looked up in
//! [`common`]: names that mean the same in every agent, so that a tool which an agent gets tomorrow is not overlooked.
//! An agent that has no file gets [`unknown`] on top, which reads ambiguous names the strict way.
//!
//! To add an agent: a file here, a line in [`AGENTS`], and its calls in `tests.rs`.

mod acp_proxy;
mod amp;
mod antigravity;
mod claude_code;
mod cline;
mod codex;
mod common;
mod copilot_cli;
mod crush;
mod cursor;
mod droid;
mod gemini_cli;
mod goose;
mod grok_build;
mod hookhost;
mod kiro;
mod opencode;
mod openhands;
mod pi;
mod qwen_code;
mod unknown;
mod windsurf;

use super::{ToolShape, folded};
use crate::{McpTool, ShellDialect};
use std::collections::HashMap;
use std::sync::OnceLock;

/// The agents, by the name that a session has of them.
static AGENTS: [Agent; 21] = [
    Agent::new("acp-proxy", acp_proxy::tools),
    Agent::new("amp", amp::tools),
    Agent::new("antigravity", antigravity::tools),
    Agent::new("claude-code", claude_code::tools),
    // The same agent: a mod is told its calls in the agent's own process.
    Agent::new("claude-code-mods", claude_code::tools),
    Agent::new("cline", cline::tools),
    Agent::new("codex", codex::tools),
    Agent::new("copilot-cli", copilot_cli::tools),
    Agent::new("crush", crush::tools),
    Agent::new("cursor", cursor::tools),
    Agent::new("droid", droid::tools),
    Agent::new("gemini-cli", gemini_cli::tools),
    Agent::new("goose", goose::tools),
    Agent::new("grok-build", grok_build::tools),
    Agent::new("hookhost", hookhost::tools),
    Agent::new("kiro", kiro::tools),
    Agent::new("opencode", opencode::tools),
    Agent::new("openhands", openhands::tools),
    Agent::new("pi", pi::tools),
    Agent::new("qwen-code", qwen_code::tools),
    Agent::new("windsurf", windsurf::tools),
];

static UNKNOWN: Agent = Agent::new("", unknown::tools);

/// What the tools of an agent do.
pub(super) fn of(agent: &str) -> &'static Table {
    AGENTS.iter().find(|known| known.name == agent).unwrap_or(&UNKNOWN).table()
}

/// What the tools of each agent do.
pub(super) fn all() -> impl Iterator<Item = &'static Table> {
    AGENTS.iter().chain([&UNKNOWN]).map(Agent::table)
}

struct Agent {
    name: &'static str,
    rows: fn(&mut Table),
    table: OnceLock<Table>,
}

impl Agent {
    const fn new(name: &'static str, rows: fn(&mut Table)) -> Self {
        Self { name, rows, table: OnceLock::new() }
    }

    fn table(&self) -> &Table {
        self.table.get_or_init(|| {
            let mut table = Table::default();
            common::tools(&mut table);
            (self.rows)(&mut table);
            table
        })
    }
}

/// The rows of one agent. A row names tools, and then the arguments that they read, the preferred spelling first.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: HashMap<String, ToolShape>,
    mcp: Option<McpNames>,
}

/// How an agent spells the tools of MCP servers, beside `mcp__server__tool`, which is read in every agent.
#[derive(Debug)]
struct McpNames {
    prefix: &'static str,
    /// The separator of server and tool; `None` where the name does not tell them apart.
    separator: Option<&'static str>,
}

impl Table {
    /// The row of a tool, by its name as [`folded`] has it.
    pub(super) fn shape(&self, folded: &str) -> Option<&ToolShape> {
        self.rows.get(folded)
    }

    /// Its rows.
    pub(super) fn shapes(&self) -> impl Iterator<Item = &ToolShape> {
        self.rows.values()
    }

    /// The tool of an MCP server that a name means.
    pub(super) fn mcp_tool(&self, name: &str) -> Option<McpTool> {
        if let Some((server, tool)) = name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
            return Some(McpTool { server: Some(server.to_owned()), tool: tool.to_owned() });
        }
        let McpNames { prefix, separator } = self.mcp.as_ref()?;
        let rest = name.strip_prefix(prefix)?;
        match separator {
            Some(separator) => {
                let (server, tool) = rest.split_once(separator)?;
                Some(McpTool { server: Some(server.to_owned()), tool: tool.to_owned() })
            }
            None => Some(McpTool { server: None, tool: rest.to_owned() }),
        }
    }

    /// The tool in a name that the agent made of this server's and it. The server's name ends at a `_` or at the separator.
    pub(super) fn tool_of_server<'a>(&self, name: &'a str, server: &str) -> Option<&'a str> {
        let McpNames { prefix, separator } = self.mcp.as_ref()?;
        name.strip_prefix(prefix)?.strip_prefix(server)?.strip_prefix(separator.unwrap_or("_"))
    }

    fn shell(&mut self, tools: &[&str], command: &[&str], cwd: &[&str]) {
        self.shell_in(ShellDialect::Posix, tools, command, cwd);
    }

    fn shell_in(&mut self, dialect: ShellDialect, tools: &[&str], command: &[&str], cwd: &[&str]) {
        self.add(tools, &ToolShape::Shell { command: owned(command), cwd: owned(cwd), dialect });
    }

    fn commands(&mut self, tools: &[&str], commands: &[&str], cwd: &[&str]) {
        let dialect = ShellDialect::Posix;
        self.add(tools, &ToolShape::Commands { commands: owned(commands), cwd: owned(cwd), dialect });
    }

    fn reads(&mut self, tools: &[&str], path: &[&str]) {
        self.add(tools, &ToolShape::ReadFile(owned(path)));
    }

    fn writes(&mut self, tools: &[&str], path: &[&str]) {
        self.add(tools, &ToolShape::WriteFile(owned(path)));
    }

    fn edits(&mut self, tools: &[&str], path: &[&str]) {
        self.add(tools, &ToolShape::Editor { command: owned(&["command"]), path: owned(path) });
    }

    fn patches(&mut self, tools: &[&str], patch: &[&str]) {
        self.add(tools, &ToolShape::Patch(owned(patch)));
    }

    fn fetches(&mut self, tools: &[&str], url: &[&str]) {
        self.add(tools, &ToolShape::Fetch(owned(url)));
    }

    fn spawns(&mut self, tools: &[&str], task: &[&str]) {
        self.add(tools, &ToolShape::SpawnAgent(owned(task)));
    }

    fn calls_mcp(&mut self, tools: &[&str], server: &[&str], tool: &[&str]) {
        self.add(tools, &ToolShape::McpCall { server: owned(server), tool: owned(tool) });
    }

    fn other(&mut self, tools: &[&str], word: &str) {
        self.add(tools, &ToolShape::Other(word.to_owned()));
    }

    fn mcp_names(&mut self, prefix: &'static str, separator: Option<&'static str>) {
        self.mcp = Some(McpNames { prefix, separator });
    }

    fn add(&mut self, tools: &[&str], shape: &ToolShape) {
        for tool in tools {
            self.rows.insert(folded(tool), shape.clone());
        }
    }
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

#[cfg(test)]
mod tests;
