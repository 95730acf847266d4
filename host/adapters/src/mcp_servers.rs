//! Which files of an agent name MCP servers, and below which keys. This is data: anyone who puts the proxy into their place edits
//! the files.

use crate::install::{Context, Scope};
use std::path::{Path, PathBuf};

/// A file that names servers: an object at these keys has a member for each.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServersFile {
    /// Where it is.
    pub path: PathBuf,
    /// The keys that lead to the object, outermost first.
    pub keys: &'static [&'static str],
    /// How it is written.
    pub format: Format,
}

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// JSON, in what the agent reads of it.
    Json,
    /// TOML.
    Toml,
}

/// How many words are between the proxy and the server's own command: `mcp --name NAME --`.
pub const BETWEEN: usize = 4;

/// The words that the proxy has before the server's own command.
#[must_use]
pub const fn between(name: &str) -> [&str; BETWEEN] {
    ["mcp", "--name", name, "--"]
}

/// Whether a command, its program first, starts the proxy.
#[must_use]
pub fn starts_proxy(words: &[String]) -> bool {
    let is_ours = |program: &String| Path::new(program).file_name().is_some_and(|name| name == "hookhost");
    let between = words.get(1..=BETWEEN).unwrap_or_default();
    words.first().is_some_and(is_ours)
        && matches!(between, [mcp, name, _, end] if mcp == "mcp" && name == "--name" && end == "--")
}

const MCP_SERVERS: &[&str] = &["mcpServers"];

/// The file of this agent in this scope; `None` where it is not known.
#[must_use]
pub fn file(agent: &str, context: &Context<'_>) -> Option<ServersFile> {
    let of_user = context.scope == Scope::User;
    let directory = match context.scope {
        Scope::User => context.home,
        Scope::Project => context.project,
        Scope::Managed => return None,
    };
    let (path, keys) = match agent {
        "claude-code" if of_user => match (context.variable)("CLAUDE_CONFIG_DIR") {
            Some(directory) => (directory.join(".claude.json"), MCP_SERVERS),
            None => (context.home.join(".claude.json"), MCP_SERVERS),
        },
        "claude-code" => (context.project.join(".mcp.json"), MCP_SERVERS),
        "codex" if of_user => {
            let path = context.directory("CODEX_HOME", ".codex").join("config.toml");
            return Some(ServersFile { path, keys: &["mcp_servers"], format: Format::Toml });
        }
        "codex" => {
            let path = context.project.join(".codex/config.toml");
            return Some(ServersFile { path, keys: &["mcp_servers"], format: Format::Toml });
        }
        "copilot-cli" if of_user => {
            (context.directory("COPILOT_HOME", ".copilot").join("mcp-config.json"), MCP_SERVERS)
        }
        "cursor" => (directory.join(".cursor/mcp.json"), MCP_SERVERS),
        "droid" => (directory.join(".factory/mcp.json"), MCP_SERVERS),
        "gemini-cli" => (directory.join(".gemini/settings.json"), MCP_SERVERS),
        "kiro" => (directory.join(".kiro/settings/mcp.json"), MCP_SERVERS),
        "opencode" if of_user => (context.home.join(".config/opencode/opencode.json"), &["mcp"][..]),
        "opencode" => (context.project.join("opencode.json"), &["mcp"][..]),
        "qwen-code" => (directory.join(".qwen/settings.json"), MCP_SERVERS),
        "windsurf" if of_user => (context.home.join(".codeium/windsurf/mcp_config.json"), MCP_SERVERS),
        _ => return None,
    };
    Some(ServersFile { path, keys, format: Format::Json })
}
