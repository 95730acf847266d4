//! What a call does, as precisely as a row can say it.

use super::evidence::PastCall;
use hookhost::contract::Action;
use hookhost_conditions::url::Address;
use hookhost_imports::shapes;
use std::path::Path;

/// What a call does.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Subject {
    /// Runs one simple command: a program with its subcommand, and options.
    Command { program: String, flags: Vec<String> },
    /// Reads a file.
    Read(String),
    /// Writes a file.
    Write(String),
    /// Sends a request to a host.
    Host(String),
    /// Calls a tool of an MCP server.
    Mcp { server: String, tool: String },
    /// Calls another tool.
    Tool(String),
}

impl Subject {
    /// Returns what a call does. Returns `None` for a call that does several things, because an answer is about all of them.
    pub(super) fn of(past: &PastCall) -> Option<Self> {
        match &past.call.action {
            Action::Shell(shell) => match shapes(&shell.command)?.as_slice() {
                [one] => Some(Self::Command { program: one.program.clone(), flags: one.flags.clone() }),
                _ => None,
            },
            Action::ReadFile(path) => Some(Self::Read(in_workspace(path, &past.workspace))),
            Action::WriteFiles(paths) => match paths.as_slice() {
                [path] => Some(Self::Write(in_workspace(path, &past.workspace))),
                _ => None,
            },
            Action::Fetch(url) => host(url).map(Self::Host),
            Action::Mcp(mcp) => Some(Self::Mcp { server: mcp.server.clone()?, tool: mcp.tool.clone() }),
            Action::Other(_) => Some(Self::Tool(past.call.name.clone())),
            Action::SpawnAgent(_) => None,
        }
    }

    /// Returns the words for a person.
    pub(super) fn in_words(&self) -> String {
        match self {
            Self::Command { program, flags } => {
                std::iter::once(program).chain(flags).map(String::as_str).collect::<Vec<_>>().join(" ")
            }
            Self::Read(path) => format!("reading {path}"),
            Self::Write(path) => format!("writing {path}"),
            Self::Host(host) => format!("a request to {host}"),
            Self::Mcp { server, tool } => format!("{tool} of {server}"),
            Self::Tool(tool) => tool.clone(),
        }
    }
}

/// Returns the text of a call for an example: the command, the path, the URL, or the name of the tool.
pub(super) fn example(past: &PastCall) -> String {
    match &past.call.action {
        Action::Shell(shell) => shell.command.clone(),
        Action::ReadFile(path) => in_workspace(path, &past.workspace),
        Action::WriteFiles(paths) => paths.first().map(|path| in_workspace(path, &past.workspace)).unwrap_or_default(),
        Action::Fetch(url) => url.clone(),
        Action::Mcp(mcp) => format!("{}/{}", mcp.server.as_deref().unwrap_or_default(), mcp.tool),
        Action::SpawnAgent(task) => task.clone(),
        Action::Other(_) => past.call.name.clone(),
    }
}

/// Returns a path as a pattern of paths names it: relative in the workspace, else absolute.
fn in_workspace(path: &str, workspace: &Path) -> String {
    Path::new(path)
        .strip_prefix(workspace)
        .map_or_else(|_| path.to_owned(), |below| below.to_string_lossy().into_owned())
}

/// Returns the host of a URL, if all programs read the same one.
fn host(url: &str) -> Option<String> {
    let address = Address::of_url(url);
    if address.is_certain() { address.hosts.into_iter().next() } else { None }
}

#[cfg(test)]
mod tests {
    use super::{host, in_workspace};
    use std::path::Path;

    #[test]
    fn a_host_is_taken_only_from_an_address_that_all_programs_read_alike() {
        assert_eq!(host("https://user@Docs.RS:443/a?b").as_deref(), Some("docs.rs"));
        assert_eq!([host(r"https://a\@b/"), host("mailto:a")], [None, None]);
    }

    #[test]
    fn a_path_in_the_workspace_is_relative() {
        assert_eq!(in_workspace("/p/src/a.rs", Path::new("/p")), "src/a.rs");
        assert_eq!(in_workspace("/etc/hosts", Path::new("/p")), "/etc/hosts");
    }
}
