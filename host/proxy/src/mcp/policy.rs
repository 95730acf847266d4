//! The user's configuration of MCP servers: the section `[mcp-proxy]`.

use crate::server_name::ServerName;
use hookhost_conditions::glob::{Comparison, Glob};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;

/// Default maximum size of a result, in bytes: 4 MiB.
pub const MAX_RESULT: usize = 4 * 1024 * 1024;

/// The section `[mcp-proxy]`. Its keys apply to all servers. The table `servers` contains a table for each server that needs
/// different values.
///
/// ```
/// use hookhost_proxy::mcp::policy::{Pinning, Section};
/// use hookhost_proxy::server_name::ServerName;
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
    unseen_characters: Option<UnseenCharacters>,
    max_result_bytes: Option<NonZeroUsize>,
    #[serde(default)]
    servers: BTreeMap<String, ServerSection>,
}

/// The table `[mcp-proxy.servers.NAME]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct ServerSection {
    mode: Option<Mode>,
    definitions: Option<Pinning>,
    unseen_characters: Option<UnseenCharacters>,
    max_result_bytes: Option<NonZeroUsize>,
    tools: Option<Vec<ToolPattern>>,
    #[serde(default)]
    forbidden_tools: Vec<ToolPattern>,
}

/// The effect of a rejection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The rejected message is not forwarded.
    #[default]
    Enforce,
    /// The rejection is recorded, but the message is forwarded.
    Observe,
}

/// The way in which a tool's definition is approved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pinning {
    /// A person approves each definition.
    #[default]
    Approve,
    /// A server's first listing is approved automatically. A person approves later changes.
    FirstUse,
}

/// The treatment of definitions that contain invisible characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnseenCharacters {
    /// The definition is held back until a person has approved it. These characters are escaped when the definition is shown to the
    /// person.
    #[default]
    Show,
    /// The definition is never listed.
    Refuse,
}

/// A pattern for names of tools, in which `*` stands for any characters. The case of letters is ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ToolPattern(Glob);

impl<'de> Deserialize<'de> for ToolPattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Glob::new(&text).map(Self).map_err(serde::de::Error::custom)
    }
}

/// A pattern for names of tools in a server's table.
#[derive(Clone, Copy, Debug)]
pub struct ServerPattern<'a> {
    /// The name of the server.
    pub server: &'a str,
    /// The key under which the pattern is listed.
    pub key: &'static str,
    /// The pattern as it is written in the configuration.
    pub text: &'a str,
    pattern: &'a Glob,
}

impl ServerPattern<'_> {
    /// Returns true if the pattern matches a tool's name. Case does not matter, because a server may spell a tool's name in another case
    /// than the rule that forbids the tool.
    pub fn fits(&self, tool: &str) -> bool {
        self.pattern.matches(tool, Comparison::Name)
    }
}

/// The policy for one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The effect of a rejection.
    pub mode: Mode,
    /// The way in which definitions are approved.
    pub definitions: Pinning,
    /// The treatment of definitions that contain invisible characters.
    pub unseen: UnseenCharacters,
    /// Maximum size of a result, in bytes.
    pub max_result: usize,
    tools: Option<Vec<ToolPattern>>,
    forbidden: Vec<ToolPattern>,
}

impl Section {
    /// Checks that each server has a valid name.
    ///
    /// # Errors
    /// One sentence about the first invalid name.
    pub fn check(&self) -> Result<(), String> {
        let mut names = self.servers.keys().map(|name| ServerName::new(name));
        names.try_for_each(|name| name.map(drop)).map_err(|error| format!("[mcp-proxy.servers]: {error}"))
    }

    /// Returns the names of the servers that have their own table.
    pub fn servers(&self) -> impl Iterator<Item = &str> {
        self.servers.keys().map(String::as_str)
    }

    /// Returns the patterns in the servers' tables.
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

    /// Returns the policy for a server.
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
    /// Returns true if the configuration allows a tool of this name. All other tools of the server are treated as if they did not
    /// exist.
    pub fn has(&self, tool: &str) -> bool {
        let fits = |patterns: &[ToolPattern]| patterns.iter().any(|pattern| pattern.0.matches(tool, Comparison::Name));
        self.tools.as_deref().is_none_or(fits) && !fits(&self.forbidden)
    }
}
