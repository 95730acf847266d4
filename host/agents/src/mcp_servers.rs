//! Describes the files in which an agent names MCP servers, and the keys that lead to the servers. The installer of the
//! proxy edits the files.

use crate::plan::{Context, Scope};
use std::path::{Path, PathBuf};

/// A file that names MCP servers. Each of the objects to which `places` leads has one member per server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServersFile {
    /// Path of the file.
    pub path: PathBuf,
    /// Lists of keys. Each list leads to an object with servers, and begins with the outermost key. [`ANY_KEY`] matches
    /// every key.
    pub places: &'static [&'static [&'static str]],
    /// Format of the file.
    pub format: ServersFormat,
}

/// Stands for any key of an object in [`ServersFile::places`].
pub const ANY_KEY: &str = "*";

/// Format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServersFormat {
    /// JSON, in the dialect that the agent accepts.
    Json,
    /// TOML.
    Toml,
}

/// Number of words between the proxy's program and the server's own command. The words are `mcp --name NAME --`.
pub const PROXY_WORD_COUNT: usize = 4;

/// Returns the words between the proxy's program and the server's own command.
pub const fn proxy_words(name: &str) -> [&str; PROXY_WORD_COUNT] {
    ["mcp", "--name", name, "--"]
}

/// Returns true if the command line starts the proxy at the path `program`. The first word is the program. Returns
/// false for a program with the same name at another path.
pub fn starts_proxy(words: &[String], program: &Path) -> bool {
    words.first().is_some_and(|word| Path::new(word) == program) && looks_like_proxy(words)
}

/// Returns true if the command line looks as if it starts the proxy. Unlike [`starts_proxy`], this function accepts any
/// program with the name `hookhost`, whatever its path is.
pub fn looks_like_proxy(words: &[String]) -> bool {
    let has_name = |program: &String| Path::new(program).file_name().is_some_and(|name| name == "hookhost");
    let between = words.get(1..=PROXY_WORD_COUNT).unwrap_or_default();
    words.first().is_some_and(has_name)
        && matches!(between, [mcp, name, _, end] if mcp == "mcp" && name == "--name" && end == "--")
}

impl ServersFile {
    /// Describes a JSON file with servers at the usual key, `mcpServers`.
    pub(crate) fn json(path: PathBuf) -> Self {
        Self { path, places: &[&["mcpServers"]], format: ServersFormat::Json }
    }

    /// Returns the JSON file for the scope of the context. `user` is absolute or relative to the user's home directory,
    /// and `project` is relative to the project's root. Returns `None` for the machine's scope, because no agent has
    /// such a file.
    pub(crate) fn of_scope(context: &Context<'_>, user: impl AsRef<Path>, project: &str) -> Option<Self> {
        context.path(user, project, Err("")).ok().map(Self::json)
    }

    /// Returns the JSON file for the scope of the context, if the file's path below the user's home directory is the
    /// same as its path below a project.
    pub(crate) fn in_both(context: &Context<'_>, path: &str) -> Option<Self> {
        Self::of_scope(context, path, path)
    }

    /// Returns the JSON file of an agent that has such a file only for the user. Returns `None` in other scopes.
    pub(crate) fn of_user(context: &Context<'_>, path: impl AsRef<Path>) -> Option<Self> {
        (context.scope == Scope::User).then(|| Self::json(context.home.join(path)))
    }
}
