//! The section `[mcp]` of `hookhost.toml`: a table for each server, under its name.

use super::McpError;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;

/// The section `[mcp]`. A server of a project's file starts only where the user has approved that file, like everything
/// in it.
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
    /// The servers by name.
    pub servers: BTreeMap<String, ServerSection>,
}

/// One server: a program (`command`), or a service (`url`).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub struct ServerSection {
    /// The program, which speaks the protocol on its standard input and output.
    pub command: Option<String>,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// Environment variables that it has beside those of hookhost. It does not inherit the providers' keys.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Where it runs. Default: the workspace; who reads a project's file sets that file's directory.
    pub cwd: Option<PathBuf>,
    /// The address of a service that speaks streamable HTTP.
    pub url: Option<String>,
    /// The environment variable with a key, sent to the service as `Authorization: Bearer …`.
    pub key_variable: Option<String>,
    /// Further headers for the service; each value is the name of the environment variable that holds it.
    #[serde(default)]
    pub header_variables: BTreeMap<String, String>,
    /// Only these of its tools are offered. Default: all.
    pub tools: Option<Vec<String>>,
    /// Whether it is started. Default: yes.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// How long its start may take, the list of its tools included. Default: 30.
    pub start_seconds: Option<NonZeroU32>,
    /// How long a call may take. Default: 120.
    pub call_seconds: Option<NonZeroU32>,
}

fn yes() -> bool {
    true
}

/// How a server is reached.
pub(super) enum Reached<'a> {
    Program(&'a str),
    Service(&'a str),
}

impl McpSection {
    /// Whether each server has a usable name and says how it is reached.
    ///
    /// # Errors
    /// What is wrong with the first that does not.
    pub fn check(&self) -> Result<(), McpError> {
        self.servers.iter().try_for_each(|(name, section)| section.reached(name).map(|_| ()))
    }

    /// The environment variables that hold keys: nothing that the agent starts inherits them.
    #[must_use]
    pub fn key_variables(&self) -> Vec<String> {
        let of = |section: &ServerSection| {
            section.key_variable.iter().chain(section.header_variables.values()).cloned().collect::<Vec<_>>()
        };
        self.servers.values().flat_map(of).collect()
    }
}

impl ServerSection {
    pub(super) fn reached(&self, name: &str) -> Result<Reached<'_>, McpError> {
        let wrong = |problem: &str| Err(McpError::Section { server: name.to_owned(), problem: problem.to_owned() });
        let is_of_a_name = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
        // Then no two servers' tools can have a name in common: it ends where the next `__` begins.
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
            (Some(command), None) => Ok(Reached::Program(command)),
            (None, Some(url)) => Ok(Reached::Service(url)),
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
