//! The files in which an agent names MCP servers, and the keys above them. This is data: the installer of the proxy
//! edits the files.

use crate::plan::{Context, Scope};
use std::path::{Path, PathBuf};

/// A file that names servers. Each of the objects at `places` has one member per server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServersFile {
    /// Path of the file.
    pub path: PathBuf,
    /// The keys that lead to the objects, outermost first. [`ANY_KEY`] stands for every key.
    pub places: &'static [&'static [&'static str]],
    /// ServersFormat of the file.
    pub format: ServersFormat,
}

/// Stands for any key of an object in [`ServersFile::places`].
pub const ANY_KEY: &str = "*";

/// ServersFormat of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServersFormat {
    /// JSON, in the dialect that the agent accepts.
    Json,
    /// TOML.
    Toml,
}

/// Number of words between the proxy and the server's own command: `mcp --name NAME --`.
pub const PROXY_WORD_COUNT: usize = 4;

/// Returns the words between the proxy and the server's own command.
#[must_use]
pub const fn proxy_words(name: &str) -> [&str; PROXY_WORD_COUNT] {
    ["mcp", "--name", name, "--"]
}

/// Returns true if the command line, program first, starts the proxy `program` and no other program of the same name.
#[must_use]
pub fn starts_proxy(words: &[String], program: &Path) -> bool {
    words.first().is_some_and(|word| Path::new(word) == program) && looks_like_proxy(words)
}

/// Returns true if the command line has the form of one that starts the proxy, with any program called `hookhost`.
#[must_use]
pub fn looks_like_proxy(words: &[String]) -> bool {
    let has_name = |program: &String| Path::new(program).file_name().is_some_and(|name| name == "hookhost");
    let between = words.get(1..=PROXY_WORD_COUNT).unwrap_or_default();
    words.first().is_some_and(has_name)
        && matches!(between, [mcp, name, _, end] if mcp == "mcp" && name == "--name" && end == "--")
}

const MCP_SERVERS: &[&[&str]] = &[&["mcpServers"]];

/// Claude Code keeps servers of the local scope, its default, below the path of the project.
const WITH_PROJECTS: &[&[&str]] = &[&["mcpServers"], &["projects", ANY_KEY, "mcpServers"]];

const TOML_SERVERS: &[&[&str]] = &[&["mcp_servers"]];

const OPENCODE: &[&[&str]] = &[&["mcp"]];

/// Returns the file of this agent in this scope; `None` if unknown.
#[must_use]
pub fn file(agent: &str, context: &Context<'_>) -> Option<ServersFile> {
    let of_user = context.scope == Scope::User;
    let directory = match context.scope {
        Scope::User => context.home,
        Scope::Project => context.project,
        Scope::Managed => return None,
    };
    let (path, places) = match agent {
        "claude-code" if of_user => {
            let directory = (context.variable)("CLAUDE_CONFIG_DIR");
            (directory.as_deref().unwrap_or(context.home).join(".claude.json"), WITH_PROJECTS)
        }
        "claude-code" => (context.project.join(".mcp.json"), MCP_SERVERS),
        "codex" if of_user => {
            let path = context.directory("CODEX_HOME", ".codex").join("config.toml");
            return Some(ServersFile { path, places: TOML_SERVERS, format: ServersFormat::Toml });
        }
        "codex" => {
            let path = context.project.join(".codex/config.toml");
            return Some(ServersFile { path, places: TOML_SERVERS, format: ServersFormat::Toml });
        }
        "copilot-cli" if of_user => {
            (context.directory("COPILOT_HOME", ".copilot").join("mcp-config.json"), MCP_SERVERS)
        }
        "cursor" => (directory.join(".cursor/mcp.json"), MCP_SERVERS),
        "droid" => (directory.join(".factory/mcp.json"), MCP_SERVERS),
        "gemini-cli" => (directory.join(".gemini/settings.json"), MCP_SERVERS),
        "kiro" => (directory.join(".kiro/settings/mcp.json"), MCP_SERVERS),
        "opencode" if of_user => (context.home.join(".config/opencode/opencode.json"), OPENCODE),
        "opencode" => (context.project.join("opencode.json"), OPENCODE),
        "qwen-code" => (directory.join(".qwen/settings.json"), MCP_SERVERS),
        "windsurf" if of_user => (context.home.join(".codeium/windsurf/mcp_config.json"), MCP_SERVERS),
        _ => return None,
    };
    Some(ServersFile { path, places, format: ServersFormat::Json })
}
