//! One plugin of the allowlist, checked.

use std::{
    borrow::Cow,
    collections::BTreeSet,
    fmt, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{
    ActionKind, Code, CompiledComponent, ComponentBytes, Digest, Grants, Limits, ToolPattern, narrowing::Narrowing,
};
use crate::contract::{EventKind, Stop};
use crate::failure_policy::OnFailure;
use crate::native::Rule;

/// One plugin that may load, and all that the operator says about it.
///
/// ```
/// use hookhost::config::{Entry, OnFailure};
/// use std::time::Duration;
///
/// # let plugins = std::env::var_os("HOOKHOST_PLUGINS").map_or("../../target/plugins".into(), std::path::PathBuf::from);
/// let mut guard = Entry::from_file("path-guard", plugins.join("path_guard.wasm"))?.with("protected", ["infra/**"]);
/// guard.priority = 10;
/// guard.limits.deadline = Some(Duration::from_millis(200));
/// guard.on_failure = Some(OnFailure::Reject);
/// assert_eq!(guard.config["protected"][0], "infra/**");
/// # Ok::<_, std::io::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Entry {
    /// `name`: unique in the allowlist; 1 to 64 of `A–Z a–z 0–9 . _ -`, the first a letter or digit. It is what people
    /// see, and the second key of the chain's order.
    pub name: String,
    /// `path` and `sha256`, or what the program holds.
    pub code: Code,
    /// `priority`: lower is asked first; any 32-bit number, default 100.
    pub priority: i32,
    /// `enabled`: whether it loads without being named on the command line; default `true`.
    pub enabled: bool,
    /// `events`: of those that the component exports, the ones it subscribes to; default all. An
    /// empty list is an error.
    pub events: Option<BTreeSet<EventKind>>,
    /// `actions`: of tool calls, it gets only those that do one of these; default all. An empty list is an error.
    pub actions: Option<BTreeSet<ActionKind>>,
    /// `tools`: of tool calls, it gets only those of tools that fit one of these; default all.
    /// Narrows `actions` further. An empty list is an error.
    pub tools: Option<Vec<ToolPattern>>,
    /// `mode`: whether its verdicts count; default [`Mode::Enforce`].
    pub mode: Mode,
    /// `on-failure`: what replaces a verdict that it failed to give. `None`: reject on gates and transforms, skip on
    /// all others.
    pub on_failure: Option<OnFailure>,
    /// `stop`: what a refusal of its with `stop` ends; default [`Stop::Run`].
    pub stop: Stop,
    /// `[plugin.limits]`: what one call may use up.
    pub limits: Limits,
    /// `[plugin.grants]`: the capabilities it gets; default none.
    pub grants: Grants,
    /// `[plugin.config]`: handed to `setup.configure` as JSON. Dates and times become strings; a number that JSON does
    /// not have (`nan`, `inf`) is an error.
    pub config: serde_json::Map<String, serde_json::Value>,
    /// The place of the entry in a file; `None` for a program's entry.
    pub origin: Option<Origin>,
}

impl Entry {
    /// An entry with every default for the component in a file, of which only the content with this digest may load.
    #[must_use]
    pub fn new(name: impl Into<String>, path: impl Into<PathBuf>, digest: Digest) -> Self {
        Self::of(name, Code::File { path: path.into(), digest })
    }

    fn of(name: impl Into<String>, code: Code) -> Self {
        Self {
            name: name.into(),
            code,
            priority: Self::DEFAULT_PRIORITY,
            enabled: true,
            events: None,
            actions: None,
            tools: None,
            mode: Mode::default(),
            on_failure: None,
            stop: Stop::default(),
            limits: Limits::default(),
            grants: Grants::default(),
            config: serde_json::Map::new(),
            origin: None,
        }
    }

    /// An entry with every default for the component in a file. What the file contains now is what may load.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn from_file(name: impl Into<String>, path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        let digest = Digest::of_file(&path)?;
        Ok(Self::new(name, path, digest))
    }

    /// An entry with every default for a component that the program holds:
    /// `Entry::from_bytes("guard", include_bytes!("guard.wasm"))`.
    #[must_use]
    pub fn from_bytes(name: impl Into<String>, component: impl Into<Cow<'static, [u8]>>) -> Self {
        Self::of(name, Code::Bytes(ComponentBytes::new(component)))
    }

    /// An entry with every default for a component that was compiled ahead. No configuration file can name one.
    #[must_use]
    pub fn from_compiled(name: impl Into<String>, component: CompiledComponent) -> Self {
        Self::of(name, Code::Compiled(component))
    }

    /// An entry with every default for a rule of the program itself. Of the limits, `input`, `deadline`, `log` and
    /// `capability-calls` hold for it; of the grants, it can have `state`, `transcript`, `approve` and `audit`.
    #[must_use]
    pub fn from_rule(name: impl Into<String>, rule: Rule) -> Self {
        Self::of(name, Code::Native(rule))
    }

    /// The same with a value of its configuration: `entry.with("protected", ["infra/**"])`.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<serde_json::Value>) -> Self {
        self.config.insert(key.into(), value.into());
        self
    }

    /// The priority of an entry that gives none.
    pub(super) const DEFAULT_PRIORITY: i32 = 100;

    /// Returns true if two entries differ only in their positions in the files of one layer.
    pub(crate) fn says_the_same(&self, other: &Self) -> bool {
        let layer = |entry: &Self| Layer::of(entry.origin.as_ref());
        layer(self) == layer(other) && Self { origin: None, ..self.clone() } == Self { origin: None, ..other.clone() }
    }

    /// The tool calls that it gets.
    pub(crate) fn narrowing(&self) -> Narrowing<'_> {
        Narrowing { actions: self.actions.as_ref(), tools: self.tools.as_deref() }
    }
}

/// The place of an entry in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Origin {
    /// The file.
    pub file: PathBuf,
    /// The line of its `[[plugin]]`, from 1.
    pub line: usize,
    /// The layer of the file.
    pub layer: Layer,
}

impl Origin {
    /// A line of a file, from 1.
    #[must_use]
    pub fn new(file: impl Into<PathBuf>, line: usize, layer: Layer) -> Self {
        Self { file: file.into(), line, layer }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

/// The owner of the file that an entry or a setting is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Layer {
    /// The user's own, for all projects.
    User,
    /// A project's, which the user has approved.
    Project,
    /// Named by the user, with `--config`; it counts alone.
    Chosen,
}

impl Layer {
    /// Returns true if an `approve` of a plugin whose entry is in this layer's file waives the questions of an `[[ask]]` of
    /// `asking`. A project's plugin waives the questions of projects only, and none of the user's. The file that `--config` names,
    /// and entries of a program, count as the user's.
    pub(crate) fn may_waive(self, asking: Self) -> bool {
        self != Self::Project || asking == Self::Project
    }

    /// The layer of what is written there; of what a program made, [`Chosen`](Self::Chosen).
    pub(crate) fn of(origin: Option<&Origin>) -> Self {
        origin.map_or(Self::Chosen, |origin| origin.layer)
    }
}

/// The effect of a plugin's verdicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Mode {
    /// They count.
    #[default]
    Enforce,
    /// They are recorded and change nothing.
    Audit,
}

impl Mode {
    /// The word in the file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Enforce => "enforce",
            Self::Audit => "audit",
        }
    }
}

/// The directory that relative paths of this file are relative to.
pub(super) fn directory_of(file: &Path) -> &Path {
    file.parent().unwrap_or(Path::new(""))
}
