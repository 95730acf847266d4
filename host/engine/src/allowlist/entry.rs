//! One plugin of the allowlist, checked.

use std::{
    collections::BTreeSet,
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
};

use serde::{Deserialize, Serialize};

use super::{Digest, Grants, Limits};
use crate::event::EventKind;

/// One plugin that may load, and all that the operator says about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// `name`: unique in the allowlist; 1 to 64 of `A–Z a–z 0–9 . _ -`, the first a letter or digit. It is what people
    /// see, and the second key of the chain's order.
    pub name: String,
    /// `path`: the `.wasm` file. Absolute where the entry comes from a file: a relative one is relative to that file's
    /// folder, and `~/` stands for the user's home.
    pub path: PathBuf,
    /// `sha256`, required: the only content of `path` that may load.
    pub digest: Digest,
    /// `priority`: lower is asked first; any 32-bit number, default 100.
    pub priority: i32,
    /// `enabled`: whether it loads without being named on the command line; default `true`.
    pub enabled: bool,
    /// `events`: of those that the component exports, the ones it hears; default all. An empty list is an error.
    pub events: Option<BTreeSet<EventKind>>,
    /// `actions`: it hears only of tool calls that do one of these; default all. An empty list is an error.
    pub actions: Option<BTreeSet<ActionKind>>,
    /// `tools`: it hears only of calls of tools that fit one of these; default all. Narrows `actions` further. An empty
    /// list is an error.
    pub tools: Option<Vec<ToolPattern>>,
    /// `mode`: whether its verdicts count; default [`Mode::Enforce`].
    pub mode: Mode,
    /// `on-failure`: what stands in for a verdict that it failed to give. `None`: reject on gates and transforms, skip on
    /// observers.
    pub on_failure: Option<OnFailure>,
    /// `[plugin.limits]`: what one call may use up.
    pub limits: Limits,
    /// `[plugin.grants]`: the capabilities it gets; default none.
    pub grants: Grants,
    /// `[plugin.config]`: handed to `setup.configure` as JSON. Dates and times become strings; a number that JSON does
    /// not have (`nan`, `inf`) is an error.
    pub config: serde_json::Map<String, serde_json::Value>,
    /// Where it is written; `None` where a program made it.
    pub origin: Option<Origin>,
}

impl Entry {
    /// An entry with every default.
    #[must_use]
    pub fn new(name: impl Into<String>, path: impl Into<PathBuf>, digest: Digest) -> Self {
        Self {
            name: name.into(),
            path: path.into(),
            digest,
            priority: Self::DEFAULT_PRIORITY,
            enabled: true,
            events: None,
            actions: None,
            tools: None,
            mode: Mode::default(),
            on_failure: None,
            limits: Limits::default(),
            grants: Grants::default(),
            config: serde_json::Map::new(),
            origin: None,
        }
    }

    /// The priority of an entry that gives none.
    pub const DEFAULT_PRIORITY: i32 = 100;
}

/// Where an entry is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The file.
    pub file: PathBuf,
    /// The line of its `[[plugin]]`, from 1.
    pub line: usize,
    /// Whose file that is.
    pub layer: Layer,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

/// Whose file an entry or a setting is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// The user's own, for all projects.
    User,
    /// A project's, which the user has approved.
    Project,
    /// Named by the user, with `--config`; it counts alone.
    Chosen,
}

/// Whether a plugin's verdicts count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// They count.
    #[default]
    Enforce,
    /// They are recorded and change nothing.
    Audit,
}

/// What stands in for the verdict of a plugin that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnFailure {
    /// "No": the call does not run, the value is withheld.
    Reject,
    /// Nothing: as if the plugin were not in the chain.
    Skip,
}

/// What a tool call does: the cases of the contract's `action`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ActionKind {
    /// Runs a shell command.
    Shell,
    /// Reads a file.
    ReadFile,
    /// Creates, changes or deletes files.
    WriteFiles,
    /// Fetches a URL.
    Fetch,
    /// Calls a tool of an MCP server.
    Mcp,
    /// Starts a sub-agent.
    SpawnAgent,
    /// None of the others.
    Other,
}

impl ActionKind {
    /// All of them, in the contract's order.
    pub const ALL: &[Self] =
        &[Self::Shell, Self::ReadFile, Self::WriteFiles, Self::Fetch, Self::Mcp, Self::SpawnAgent, Self::Other];

    /// Its name in the contract and in the allowlist.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Shell => "shell",
            Self::ReadFile => "read-file",
            Self::WriteFiles => "write-files",
            Self::Fetch => "fetch",
            Self::Mcp => "mcp",
            Self::SpawnAgent => "spawn-agent",
            Self::Other => "other",
        }
    }

    /// The action of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }
}

impl fmt::Display for ActionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A tool's name, in which `*` stands for any text, also for none. Upper and lower case differ.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ToolPattern(String);

/// The text is no tool pattern.
#[derive(Debug, thiserror::Error)]
#[error(
    "a tool pattern is a tool's name, with `*` for any text: it cannot be empty or hold spaces or control characters"
)]
pub struct InvalidPattern(());

impl ToolPattern {
    /// Whether a tool of that name is meant. Case does not count, as it does not where a call's action is worked out.
    #[must_use]
    pub fn matches(&self, tool: &str) -> bool {
        let (pattern, tool) = (self.0.to_lowercase(), tool.to_lowercase());
        let Some((head, rest)) = pattern.split_once('*') else { return pattern == tool };
        let (middle, tail) = rest.rsplit_once('*').unwrap_or(("", rest));
        // The first fit of each piece leaves the most room for the next.
        let between = tool.strip_prefix(head).and_then(|tool| tool.strip_suffix(tail));
        let left = between.and_then(|text| {
            middle.split('*').try_fold(text, |text, piece| text.find(piece).map(|at| &text[at + piece.len()..]))
        });
        left.is_some()
    }

    /// The pattern as it is written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ToolPattern {
    type Err = InvalidPattern;

    fn from_str(text: &str) -> Result<Self, InvalidPattern> {
        text.to_owned().try_into()
    }
}

impl TryFrom<String> for ToolPattern {
    type Error = InvalidPattern;

    fn try_from(text: String) -> Result<Self, InvalidPattern> {
        if text.is_empty() || text.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(InvalidPattern(()));
        }
        Ok(Self(text))
    }
}

impl From<ToolPattern> for String {
    fn from(pattern: ToolPattern) -> Self {
        pattern.0
    }
}

impl fmt::Display for ToolPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The folder that relative paths of this file are relative to.
pub(super) fn folder_of(file: &Path) -> &Path {
    file.parent().unwrap_or(Path::new(""))
}
