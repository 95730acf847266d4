//! The name of an MCP server. The name is part of the names that the server's tools have in plugins and in the log.

pub use hookhost_contract::action::arguments::folded;

use std::fmt;

/// Maximum length of a server's name, in characters.
const MAX_NAME: usize = 32;

/// The name of a server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ServerName(String);

/// The error if a text cannot be the name of an MCP server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} cannot be the name of an MCP server: {problem}")]
pub struct ServerNameError {
    name: String,
    problem: &'static str,
}

impl ServerName {
    /// Checks and creates a name.
    ///
    /// # Errors
    /// If the name is invalid. For example, some names are not allowed because the tools of two servers could then get the same
    /// full name.
    pub fn new(name: &str) -> Result<Self, ServerNameError> {
        let wrong = |problem| Err(ServerNameError { name: name.chars().take(40).collect(), problem });
        let is_of_a_name = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
        if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(is_of_a_name) {
            return wrong("use 1 to 32 letters, digits, `_` and `-`");
        }
        // In the full name of a tool, the server's name ends at the first `__` after `mcp__`.
        if name.contains("__") || name.ends_with('_') {
            return wrong("it has `__` in it or `_` at its end");
        }
        Ok(Self(name.to_owned()))
    }

    /// Creates a name from arbitrary words, such as the words of a command. Drops the characters that a name cannot contain.
    pub fn made_of(words: &str) -> Option<Self> {
        let plain: String =
            words.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect();
        let parts: Vec<&str> = plain.split('-').filter(|part| !part.is_empty()).collect();
        let mut name = parts.join("-");
        name.truncate(MAX_NAME);
        Self::new(name.trim_end_matches('-')).ok()
    }

    /// Returns the name as a string.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the full name of one of the server's tools, which plugins and the log use.
    pub fn tool(&self, tool: &str) -> String {
        format!("mcp__{}__{tool}", self.0)
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::ServerName;

    #[test]
    fn no_two_servers_tools_can_have_a_name_in_common() {
        for name in ["a__b", "a_", "a.b", "", "ä", &"x".repeat(33)] {
            assert!(ServerName::new(name).is_err(), "{name}");
        }
        assert_eq!(ServerName::new("git-hub_2").unwrap().tool("search"), "mcp__git-hub_2__search");
    }

    #[test]
    fn a_name_is_made_of_a_commands_words() {
        let made = |words| ServerName::made_of(words).map(|name| name.to_string());
        assert_eq!(
            made("@modelcontextprotocol/server-filesystem"),
            Some("modelcontextprotocol-server-file".to_owned())
        );
        assert_eq!(made("My Server_"), Some("my-server".to_owned()));
        assert_eq!(made("…"), None);
    }
}
