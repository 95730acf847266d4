//! The actions of each agent's tools.
//!
//! Each agent has a function in [`tables`] that lists the agent's tools and their arguments. Any other tool is looked
//! up in [`tables::common`], which contains names that mean the same in every agent. In this way, a tool of a later
//! version of the agent is recognised, too. An agent without a function also uses [`tables::unknown`], which gives
//! ambiguous names their strictest meaning.
//!
//! To add an agent, add a function in [`tables`], a line in [`AGENTS`], and its calls in `tests.rs`.

mod tables;

use super::{ToolShape, folded};
use crate::{McpTool, ShellDialect};
use std::collections::HashMap;
use std::sync::OnceLock;

/// The agents, sorted by the names that sessions use.
static AGENTS: [Agent; 21] = [
    Agent::new("acp-proxy", tables::acp_proxy),
    Agent::new("amp", tables::amp),
    Agent::new("antigravity", tables::antigravity),
    Agent::new("claude-code", tables::claude_code),
    // A mod runs inside Claude Code and gets the same calls.
    Agent::new("claude-code-mods", tables::claude_code),
    Agent::new("cline", tables::cline),
    Agent::new("codex", tables::codex),
    Agent::new("copilot-cli", tables::copilot_cli),
    Agent::new("crush", tables::crush),
    Agent::new("cursor", tables::cursor),
    Agent::new("droid", tables::droid),
    Agent::new("gemini-cli", tables::gemini_cli),
    Agent::new("goose", tables::goose),
    Agent::new("grok-build", tables::grok_build),
    Agent::new("hookhost", tables::hookhost),
    Agent::new("kiro", tables::kiro),
    Agent::new("opencode", tables::opencode),
    Agent::new("openhands", tables::openhands),
    Agent::new("pi", tables::pi),
    Agent::new("qwen-code", tables::qwen_code),
    Agent::new("windsurf", tables::windsurf),
];

static UNKNOWN: Agent = Agent::new("", tables::unknown);

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
            tables::common(&mut table);
            (self.rows)(&mut table);
            table
        })
    }
}

/// The rows of one agent. A row consists of tools and of the names of their arguments, the preferred name first.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: HashMap<String, ToolShape>,
    mcp: Option<McpNames>,
}

/// The agent's format for names of MCP tools, in addition to `mcp__server__tool`, which is recognised for every
/// agent.
#[derive(Debug)]
struct McpNames {
    prefix: &'static str,
    /// The separator between server and tool; `None` if the name has no clear separator.
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

    /// Returns the server's own name of a tool. `name` is the name that the agent composed of the server and the
    /// tool. In this name, the server ends at the separator, or at a `_` if there is no separator.
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
