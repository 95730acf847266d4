//! What the user's configuration says of servers: the section `[mcp-proxy]`.

use glob::{MatchOptions, Pattern};
use hookhost_relay::name::ServerName;
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;

/// Upper bound of a result where nothing else is said, in bytes: 4 MiB.
pub const MAX_RESULT: usize = 4 * 1024 * 1024;

/// The section `[mcp-proxy]`: keys for all servers, and below `servers` a table for each that needs others.
///
/// ```
/// use hookhost_mcp::policy::{Pinning, Section};
/// use hookhost_relay::name::ServerName;
///
/// let section: Section = serde_json::from_str(r#"{
///     "definitions": "first-use", "servers": { "files": { "forbidden-tools": ["write_*"], "definitions": "approve" } }
/// }"#)?;
/// let files = section.policy(&ServerName::new("files")?);
/// assert!(files.has("read_file") && !files.has("write_file") && !files.has("Write_File"));
/// assert_eq!(files.definitions, Pinning::Approve);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Section {
    mode: Option<Mode>,
    definitions: Option<Pinning>,
    unseen_characters: Option<Unseen>,
    max_result_bytes: Option<NonZeroUsize>,
    #[serde(default)]
    servers: BTreeMap<String, Server>,
}

/// `[mcp-proxy.servers.NAME]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Server {
    mode: Option<Mode>,
    definitions: Option<Pinning>,
    unseen_characters: Option<Unseen>,
    max_result_bytes: Option<NonZeroUsize>,
    tools: Option<Vec<ToolPattern>>,
    #[serde(default)]
    forbidden_tools: Vec<ToolPattern>,
}

/// What happens after a rejection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// It counts.
    #[default]
    Enforce,
    /// It is recorded, and the request is passed on.
    Audit,
}

/// How a tool's definition is approved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pinning {
    /// By a person.
    #[default]
    Approve,
    /// A server's first listing by itself, and later changes by a person.
    FirstUse,
}

/// What happens to a definition with characters that a person does not see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unseen {
    /// It is held back until a person has approved it, who sees them escaped.
    #[default]
    Show,
    /// It is never listed.
    Refuse,
}

/// A tool's name, in which `*` stands for any characters. Case does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ToolPattern(Pattern);

impl<'de> Deserialize<'de> for ToolPattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Pattern::new(&text).map(Self).map_err(serde::de::Error::custom)
    }
}

/// A pattern of tools in a server's table.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ServerPattern<'a> {
    /// The server.
    pub server: &'a str,
    /// The key that it is in.
    pub key: &'static str,
    /// As it is written.
    pub text: &'a str,
    pattern: &'a Pattern,
}

impl ServerPattern<'_> {
    /// Whether a tool of this name is meant.
    #[must_use]
    pub fn fits(&self, tool: &str) -> bool {
        self.pattern.matches_with(tool, OPTIONS)
    }
}

/// How names are compared: a server may list a tool in another case than the rule that forbids it.
const OPTIONS: MatchOptions =
    MatchOptions { case_sensitive: false, require_literal_separator: false, require_literal_leading_dot: false };

/// What counts for one server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Policy {
    /// What happens after a rejection.
    pub mode: Mode,
    /// How definitions are approved.
    pub definitions: Pinning,
    /// What happens to characters that a person does not see.
    pub unseen: Unseen,
    /// Upper bound of a result, in bytes.
    pub max_result: usize,
    tools: Option<Vec<ToolPattern>>,
    forbidden: Vec<ToolPattern>,
}

impl Section {
    /// Whether each server has a name that it can have.
    ///
    /// # Errors
    /// One sentence about the first that has not.
    pub fn check(&self) -> Result<(), String> {
        let mut names = self.servers.keys().map(|name| ServerName::new(name));
        names.try_for_each(|name| name.map(drop)).map_err(|error| format!("[mcp-proxy.servers]: {error}"))
    }

    /// The servers that have a table of their own.
    pub fn servers(&self) -> impl Iterator<Item = &str> {
        self.servers.keys().map(String::as_str)
    }

    /// The patterns of these tables.
    pub fn patterns(&self) -> impl Iterator<Item = ServerPattern<'_>> {
        self.servers.iter().flat_map(|(server, own)| {
            let tools = own.tools.iter().flatten().map(|pattern| ("tools", pattern));
            let forbidden = own.forbidden_tools.iter().map(|pattern| ("forbidden-tools", pattern));
            tools.chain(forbidden).map(|(key, ToolPattern(pattern))| ServerPattern {
                server,
                key,
                text: pattern.as_str(),
                pattern,
            })
        })
    }

    /// What counts for a server.
    #[must_use]
    pub fn policy(&self, server: &ServerName) -> Policy {
        let own = self.servers.get(server.as_str()).cloned().unwrap_or_default();
        let max_result = own.max_result_bytes.or(self.max_result_bytes).map_or(MAX_RESULT, NonZeroUsize::get);
        Policy {
            mode: own.mode.or(self.mode).unwrap_or_default(),
            definitions: own.definitions.or(self.definitions).unwrap_or_default(),
            unseen: own.unseen_characters.or(self.unseen_characters).unwrap_or_default(),
            max_result,
            tools: own.tools,
            forbidden: own.forbidden_tools,
        }
    }
}

impl Policy {
    /// Whether the server may have a tool of this name. One that it may not have is as if it were not there.
    #[must_use]
    pub fn has(&self, tool: &str) -> bool {
        let fits = |patterns: &[ToolPattern]| patterns.iter().any(|pattern| pattern.0.matches_with(tool, OPTIONS));
        self.tools.as_deref().is_none_or(fits) && !fits(&self.forbidden)
    }
}
