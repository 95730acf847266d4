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
    /// Format of the file.
    pub format: ServersFormat,
}

/// Stands for any key of an object in [`ServersFile::places`].
pub const ANY_KEY: &str = "*";

/// Format of a file.
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

impl ServersFile {
    /// Creates a JSON file with servers at the usual key.
    pub(crate) fn json(path: PathBuf) -> Self {
        Self { path, places: &[&["mcpServers"]], format: ServersFormat::Json }
    }

    /// Returns the JSON file that has the same path below the user's home and below a project.
    pub(crate) fn in_both(context: &Context<'_>, path: &str) -> Option<Self> {
        match context.scope {
            Scope::User => Some(Self::json(context.home.join(path))),
            Scope::Project => Some(Self::json(context.project.join(path))),
            Scope::Managed => None,
        }
    }
}
