//! One checked plugin of the allowlist.

use std::{
    borrow::Cow,
    collections::BTreeSet,
    fmt, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{
    ActionKind, Code, CompiledComponent, ComponentBytes, Digest, Grants, Limits, OnQuestion, ToolPattern,
    narrowing::Narrowing,
};
use crate::contract::{EventKind, Stop};
use crate::failure_policy::OnFailure;
use crate::native::Rule;

/// One plugin that may load, with all its settings.
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
    /// `name`: the plugin's name in messages, unique in the allowlist. It has 1 to 64 of the characters
    /// `A–Z a–z 0–9 . _ -` and begins with a letter or digit. Plugins with the same priority are called in the order of
    /// their names.
    pub name: String,
    /// The code of the plugin: a file, given by `path` and `sha256`, or code in the memory of the program.
    pub code: Code,
    /// `priority`: any 32-bit number, default 100. The plugin with the lowest number is called first.
    pub priority: i32,
    /// `enabled`: if `false`, the plugin loads only if the command line names the plugin; default `true`.
    pub enabled: bool,
    /// `events`: the exported events to which the plugin subscribes; default all. An empty list is an error.
    pub events: Option<BTreeSet<EventKind>>,
    /// `actions`: the plugin gets only tool calls with one of these actions; default all. An empty list is an error.
    pub actions: Option<BTreeSet<ActionKind>>,
    /// `tools`: the plugin gets only calls of tools that match one of these patterns; default all. With `actions`, a
    /// call must match both. An empty list is an error.
    pub tools: Option<Vec<ToolPattern>>,
    /// `mode`: effect of the verdicts; default [`Mode::Enforce`].
    pub mode: Mode,
    /// `on-failure`: the decision if the plugin fails to give a verdict. `None` means [`OnFailure::Reject`] for gates
    /// and transforms, and [`OnFailure::Skip`] for all other events.
    pub on_failure: Option<OnFailure>,
    /// `on-question`: the consequence if the plugin asks a person; default [`OnQuestion::Ask`]. `on-question` in
    /// `[settings]` applies to all plugins, and the stricter value counts.
    pub on_question: OnQuestion,
    /// `stop`: the scope of the plugin's refusals with `stop`; default [`Stop::Run`].
    pub stop: Stop,
    /// `[plugin.limits]`: the limits of one call.
    pub limits: Limits,
    /// `[plugin.grants]`: the granted capabilities; default none.
    pub grants: Grants,
    /// `[plugin.config]`: passed to `setup.configure` as JSON. Dates and times become strings. A number that JSON
    /// cannot express (`nan`, `inf`) is an error.
    pub config: serde_json::Map<String, serde_json::Value>,
    /// File and line of the entry; `None` for an entry that a program created.
    pub origin: Option<Origin>,
    /// True for the entry that [`Config::with_rules_plugin`](super::Config::with_rules_plugin) creates.
    pub(crate) judges_rows: bool,
}

impl Entry {
    /// Returns an entry with default values for the component in a file. The entry loads only if the content of the
    /// file has this digest.
    #[must_use]
    pub fn new(name: impl Into<String>, path: impl Into<PathBuf>, digest: Digest) -> Self {
        Self::of(name, Code::File { path: path.into(), digest })
    }

    pub(super) fn of(name: impl Into<String>, code: Code) -> Self {
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
            on_question: OnQuestion::default(),
            stop: Stop::default(),
            limits: Limits::default(),
            grants: Grants::default(),
            config: serde_json::Map::new(),
            origin: None,
            judges_rows: false,
        }
    }

    /// Returns an entry with default values for the component in a file. The entry loads only while the file has its
    /// present content.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn from_file(name: impl Into<String>, path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        let digest = Digest::of_file(&path)?;
        Ok(Self::new(name, path, digest))
    }

    /// Returns an entry with default values for a component in the memory of the program:
    /// `Entry::from_bytes("guard", include_bytes!("guard.wasm"))`.
    #[must_use]
    pub fn from_bytes(name: impl Into<String>, component: impl Into<Cow<'static, [u8]>>) -> Self {
        Self::of(name, Code::Bytes(ComponentBytes::new(component)))
    }

    /// Returns an entry with default values for a component that was compiled in advance. A configuration file cannot
    /// contain such an entry.
    #[must_use]
    pub fn from_compiled(name: impl Into<String>, component: CompiledComponent) -> Self {
        Self::of(name, Code::Compiled(component))
    }

    /// Returns an entry with default values for a native rule of the program. The limits `input`, `deadline`, `log` and
    /// `capability-calls` apply to the rule. It can have the grants `state`, `transcript`, `approve` and `audit`.
    #[must_use]
    pub fn from_rule(name: impl Into<String>, rule: Rule) -> Self {
        Self::of(name, Code::Native(rule))
    }

    /// Sets a value of the configuration: `entry.with("protected", ["infra/**"])`.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<serde_json::Value>) -> Self {
        self.config.insert(key.into(), value.into());
        self
    }

    /// Priority of an entry that does not set it.
    pub(super) const DEFAULT_PRIORITY: i32 = 100;

    /// Returns true if two entries are in the same layer and are equal except for their positions in the files.
    pub(crate) fn says_the_same(&self, other: &Self) -> bool {
        let layer = |entry: &Self| Layer::of(entry.origin.as_ref());
        layer(self) == layer(other) && Self { origin: None, ..self.clone() } == Self { origin: None, ..other.clone() }
    }

    /// Returns the selection of tool calls that the plugin gets.
    pub(crate) fn narrowing(&self) -> Narrowing<'_> {
        Narrowing { actions: self.actions.as_ref(), tools: self.tools.as_deref() }
    }
}

/// The position of an entry in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Origin {
    /// The file.
    pub file: PathBuf,
    /// Line of the entry's `[[plugin]]`, from 1.
    pub line: usize,
    /// Layer of the file.
    pub layer: Layer,
}

impl Origin {
    /// Creates the position at `line` of a file. The first line is 1.
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

/// The origin of a configuration file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Layer {
    /// The user's own file, for all projects.
    User,
    /// A project's file, which the user has approved.
    Project,
    /// The file that the user named with `--config`. No other file is then read.
    Chosen,
}

impl Layer {
    /// Returns true if the verdict `approve` of a plugin in this layer waives the question of a `[[rule]]` in the
    /// layer `asking`. A plugin of a project waives only questions of projects. The file of `--config` and everything
    /// that a program created have the same rights as the user's file.
    pub(crate) fn may_waive(self, asking: Self) -> bool {
        self != Self::Project || asking == Self::Project
    }

    /// Returns the layer of a position in a file. Entries and rules that a program created have no position and are in
    /// the layer [`Chosen`](Self::Chosen).
    pub(crate) fn of(origin: Option<&Origin>) -> Self {
        origin.map_or(Self::Chosen, |origin| origin.layer)
    }
}

/// The effect of a plugin's verdicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Mode {
    /// Verdicts take effect.
    #[default]
    Enforce,
    /// Verdicts are recorded but change nothing.
    Observe,
}

impl Mode {
    /// Returns the name in the configuration file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Enforce => "enforce",
            Self::Observe => "observe",
        }
    }
}

/// Returns the directory of the file. Relative paths in the file are relative to this directory.
pub(super) fn directory_of(file: &Path) -> &Path {
    file.parent().unwrap_or(Path::new(""))
}
