//! The errors of loading a plugin.

use super::ContractError;
use crate::config::{Digest, Problems};
use std::path::{Path, PathBuf};

/// The reason why a plugin is not loaded. Code of a component runs only after its digest, its exports and its imports
/// were checked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The file could not be read.
    #[error("plugin `{name}`: {} cannot be read: {source}", path.display())]
    Unreadable {
        /// Name of the entry.
        name: String,
        /// Path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The file does not have the digest that was allowed.
    #[error("plugin `{name}`: {} is not the file that was allowed\n  allowed: sha256 {allowed}\n  found:   sha256 {found}", path.display())]
    OtherDigest {
        /// Name of the entry.
        name: String,
        /// Path of the file.
        path: PathBuf,
        /// The digest in the allowlist.
        allowed: Digest,
        /// The file's digest.
        found: Digest,
    },
    /// The file is not a component, or does not fit this contract.
    #[error("plugin `{name}`: {} {problem}", place(path.as_deref()))]
    Unfit {
        /// Name of the entry.
        name: String,
        /// Path of the file; `None` for a component in the memory of the program.
        path: Option<PathBuf>,
        /// The mistake.
        problem: ContractError,
    },
    /// The plugin imports a capability that the entry does not grant.
    #[error("plugin `{name}` imports `{import}`, which is not granted: add to [plugin.grants] of `{name}`\n  {line}")]
    NotGranted {
        /// Name of the entry.
        name: String,
        /// The import.
        import: String,
        /// The line to add to `[plugin.grants]`.
        line: String,
    },
    /// The entry grants a capability that the embedding program does not provide.
    #[error(
        "plugin `{name}` is granted the capability `{capability}`, which this program does not provide (it provides {})",
        if known.is_empty() { "none" } else { known }
    )]
    NoCapability {
        /// Name of the entry.
        name: String,
        /// The name in the entry's `capabilities`.
        capability: String,
        /// The names of the program's capabilities.
        known: String,
    },
    /// The plugin would have to be compiled, and this program has no compiler.
    #[error(
        "plugin `{name}` is a component that has to be compiled, and this program was built without the feature `compile` of \
         hookhost: build it with the feature, or hand over the component compiled ahead (Entry::from_compiled)"
    )]
    NoCompiler {
        /// Name of the entry.
        name: String,
    },
    /// The entry grants a capability whose Cargo feature this program was built without.
    #[error(
        "plugin `{name}` is granted `{grant}`, and this program was built without the feature `{feature}` of hookhost: build it \
         with the feature, or take the grant out of the entry"
    )]
    NotBuilt {
        /// Name of the entry.
        name: String,
        /// The key of `[plugin.grants]`.
        grant: &'static str,
        /// The Cargo feature.
        feature: &'static str,
    },
    /// A directory that the entry grants cannot be opened.
    #[error(
        "plugin `{name}`: the directory {}, which its `{grant}` gives it as {guest}, cannot be opened: {source}; make the directory, or \
         take it out of [plugin.grants]",
        directory.display()
    )]
    NoDirectory {
        /// Name of the entry.
        name: String,
        /// `read-dirs` or `write-dirs`.
        grant: &'static str,
        /// Path in the plugin.
        guest: String,
        /// The directory on the host.
        directory: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The entry's `events` names an event that the plugin does not export.
    #[error("plugin `{name}` does not subscribe to `{event}`, which its `events` names: it subscribes to {subscribes}")]
    NotExported {
        /// Name of the entry.
        name: String,
        /// The event.
        event: &'static str,
        /// The exported events.
        subscribes: String,
    },
    /// A native rule has no function for any event.
    #[error(
        "plugin `{name}` is a native rule without a function for any event, so it would never be called: give it one; in a plugin \
         of the SDK, `#[plugin]` does this"
    )]
    NativeWithoutEvents {
        /// Name of the entry.
        name: String,
    },
    /// `setup.configure` rejected the configuration.
    #[error("plugin `{name}` refuses its configuration: {message}")]
    Refused {
        /// Name of the entry.
        name: String,
        /// The plugin's message.
        message: String,
    },
    /// The rules in words have mistakes that only their plugin can find, such as an example that a rule does not match.
    #[error(transparent)]
    InvalidRules(Problems),
    /// The configuration has rules in words, and nothing that judges them.
    #[error(
        "the configuration has `[[rule]]` tables, and this program does not have the plugin `rules`, which judges them: a program \
         that embeds hookhost adds it with Config::with_rules_plugin"
    )]
    NoRulesPlugin,
    /// The plugin's tools cannot be offered to a model.
    #[error("plugin `{name}` cannot bring its tools: {problem}")]
    Tools {
        /// Name of the entry.
        name: String,
        /// The mistake, and its remedy.
        problem: String,
    },
    /// `setup.configure` failed, or no instance could be created.
    #[error("plugin `{name}` failed while it was set up: it {failure}")]
    Failed {
        /// Name of the entry.
        name: String,
        /// The failure.
        failure: crate::contract::Failure,
    },
}

fn place(path: Option<&Path>) -> std::borrow::Cow<'_, str> {
    path.map_or("the component in the program".into(), Path::to_string_lossy)
}

/// The next step of a user after a [`LoadError`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Advice<'a> {
    /// Allow the file with its present content.
    Allow(&'a Path),
    /// Look at the plugin's exports and imports.
    Inspect(&'a Path),
    /// No command helps.
    None,
}

impl LoadError {
    /// Returns what the user can do about the error.
    #[doc(hidden)]
    #[must_use]
    pub fn advice(&self) -> Advice<'_> {
        match self {
            Self::OtherDigest { path, .. } => Advice::Allow(path),
            Self::Unfit { path: Some(path), .. } => Advice::Inspect(path),
            _ => Advice::None,
        }
    }
}
