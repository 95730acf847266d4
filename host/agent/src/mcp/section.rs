//! The section `[mcp]` of `hookhost.toml`. It has one table per server, and the key of the table is the server's name.

use super::McpError;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;

/// The section `[mcp]`. A server from a project's file starts only if the user has approved this file.
///
/// ```
/// let section: hookhost_agent::mcp::McpSection = toml::from_str(r#"
///     [files]
///     command = "mcp-server-filesystem"
///     args = ["."]
///
///     [issues]
///     url = "https://mcp.example.com/mcp"
///     key-variable = "ISSUES_TOKEN"
/// "#)?;
/// assert!(section.check().is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
#[non_exhaustive]
pub struct McpSection {
    /// Servers by name.
    pub servers: BTreeMap<String, ServerSection>,
}

/// One server: a program (`command`), or a service (`url`).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub struct ServerSection {
    /// Program that speaks the protocol on its standard input and output.
    pub command: Option<String>,
    /// Arguments of the program.
    #[serde(default)]
    pub args: Vec<String>,
    /// Additional environment variables of the program. It does not inherit the keys of providers.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Working directory of the program. Default: the workspace. In a project's file, the default is the directory of
    /// that file, and the path is relative to this directory.
    pub cwd: Option<PathBuf>,
    /// URL of a service that speaks streamable HTTP.
    pub url: Option<String>,
    /// Environment variable with a key, which is sent to the service as `Authorization: Bearer …`.
    pub key_variable: Option<String>,
    /// Additional headers for the service. Each value names the environment variable that holds the header's value.
    #[serde(default)]
    pub header_variables: BTreeMap<String, String>,
    /// Names of the tools to offer. Default: all.
    pub tools: Option<Vec<String>>,
    /// True if the server is started. Default: true.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Time limit for the start in seconds, including the list of tools. Default: 30.
    pub start_seconds: Option<NonZeroU32>,
    /// Time limit for a call in seconds. Default: 120.
    pub call_seconds: Option<NonZeroU32>,
}

fn yes() -> bool {
    true
}

/// Connection to a server.
pub(super) enum Connection<'a> {
    Program(&'a str),
    Service(&'a str),
}

impl McpSection {
    /// Checks that each server has a usable name and exactly one connection.
    ///
    /// # Errors
    /// Returns the fault of the first invalid server.
    pub fn check(&self) -> Result<(), McpError> {
        self.servers.iter().try_for_each(|(name, section)| section.reached(name).map(|_| ()))
    }

    /// Returns the environment variables that hold keys. Processes of the agent do not inherit them.
    #[must_use]
    pub fn key_variables(&self) -> Vec<String> {
        let of = |section: &ServerSection| {
            section.key_variable.iter().chain(section.header_variables.values()).cloned().collect::<Vec<_>>()
        };
        self.servers.values().flat_map(of).collect()
    }
}

impl ServerSection {
    pub(super) fn reached(&self, name: &str) -> Result<Connection<'_>, McpError> {
        let wrong = |problem: &str| Err(McpError::Section { server: name.to_owned(), problem: problem.to_owned() });
        let is_of_a_name = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
        // A server's name contains no `__`, so it ends at the first `__` of a tool's full name after the prefix. Tools
        // of two servers therefore never have the same full name.
        if name.is_empty() || name.len() > 32 || !name.chars().all(is_of_a_name) {
            return wrong(
                "has a name that its tools' names cannot begin with: use 1 to 32 letters, digits, `_` and `-`",
            );
        }
        if name.contains("__") || name.ends_with('_') {
            return wrong("has a name with `__` in it or `_` at its end, as its tools' names may not have: rename it");
        }
        match (self.command.as_deref(), self.url.as_deref()) {
            (Some(_), Some(_)) => wrong("has both `command` and `url`: keep the one by which it is reached"),
            (None, None) => wrong("needs `command`, a program, or `url`, a service"),
            (Some(_), None) if self.key_variable.is_some() || !self.header_variables.is_empty() => {
                wrong("has `key-variable` or `header-variables`, which are for a `url`: give a program its `env`")
            }
            (None, Some(_)) if !self.args.is_empty() || !self.env.is_empty() || self.cwd.is_some() => {
                wrong("has `args`, `env` or `cwd`, which are for a `command`: take them out")
            }
            (Some(command), None) => Ok(Connection::Program(command)),
            (None, Some(url)) => Ok(Connection::Service(url)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        toml::from_str::<McpSection>(text).unwrap().check().unwrap_err().to_string()
    }

    #[test]
    fn a_server_is_reached_in_one_way_and_says_how() {
        assert!(problem("[a]\n").starts_with("[mcp.a] needs `command`, a program, or `url`"));
        assert!(problem("[a]\ncommand = 'x'\nurl = 'http://y'\n").contains("both"));
        assert!(problem("[a]\ncommand = 'x'\nkey-variable = 'K'\n").contains("for a `url`"));
        assert!(problem("[a]\nurl = 'http://y'\nargs = ['x']\n").contains("for a `command`"));
    }

    #[test]
    fn no_two_servers_tools_can_have_a_name_in_common() {
        for name in ["a__b", "a_", "'a.b'", "''"] {
            assert!(problem(&format!("[{name}]\ncommand = 'x'\n")).contains("name"), "{name}");
        }
    }

    #[test]
    fn unknown_keys_and_zero_are_errors() {
        for text in ["[a]\ncomand = 'x'", "[a]\ncommand = 'x'\ncall-seconds = 0"] {
            assert!(toml::from_str::<McpSection>(text).is_err(), "{text}");
        }
    }
}
