//! The actions of each agent's tools, one file per agent.
//!
//! An agent's file lists its own tools and the arguments that they read. Any other tool is looked up in [`common`],
//! which has names that mean the same in every agent. So a tool that an agent gets later is not missed. An agent
//! without a file also gets [`unknown`], which reads ambiguous names in the strict way.
//!
//! To add an agent, add a file here, a line in [`AGENTS`], and its calls in `tests.rs`.

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

/// The agents, by the name in a session.
static AGENTS: [Agent; 21] = [
    Agent::new("acp-proxy", acp_proxy::tools),
    Agent::new("amp", amp::tools),
    Agent::new("antigravity", antigravity::tools),
    Agent::new("claude-code", claude_code::tools),
    // The same agent: a mod gets the same calls in the agent's own process.
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

/// Returns the table of an agent.
pub(super) fn of(agent: &str) -> &'static Table {
    AGENTS.iter().find(|known| known.name == agent).unwrap_or(&UNKNOWN).table()
}

/// Returns the tables of all agents.
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

/// The rows of one agent. A row consists of tools and of the arguments that they read, the preferred spelling first.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: HashMap<String, ToolShape>,
    mcp: Option<McpNames>,
}

/// The agent's format for names of MCP tools, in addition to `mcp__server__tool`, which is read for every agent.
#[derive(Debug)]
struct McpNames {
    prefix: &'static str,
    /// The separator between server and tool; `None` if the name does not separate them.
    separator: Option<&'static str>,
}

impl Table {
    /// Returns the row of a tool, given its [`folded`] name.
    pub(super) fn shape(&self, folded: &str) -> Option<&ToolShape> {
        self.rows.get(folded)
    }

    /// Returns all rows.
    pub(super) fn shapes(&self) -> impl Iterator<Item = &ToolShape> {
        self.rows.values()
    }

    /// Returns the MCP tool with this name.
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

    /// Returns the tool's name from a name that the agent made of this server and the tool. The server's name ends at
    /// the separator, or at a `_` if there is none.
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
