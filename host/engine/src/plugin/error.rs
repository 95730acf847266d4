//! Reasons why a plugin is not loaded.

use super::ContractError;
use crate::config::Digest;
use std::path::{Path, PathBuf};

/// The reason why a plugin is not loaded. Nothing of it has run, unless `configure` refused or failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The file could not be read.
    #[error("plugin `{name}`: {} cannot be read: {source}", path.display())]
    Unreadable {
        /// Name of the entry.
        name: String,
        /// Its file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The file is not the one that was allowed.
    #[error("plugin `{name}`: {} is not the file that was allowed\n  allowed: sha256 {allowed}\n  found:   sha256 {found}", path.display())]
    OtherDigest {
        /// Name of the entry.
        name: String,
        /// Its file.
        path: PathBuf,
        /// The digest in the allowlist.
        allowed: Digest,
        /// The file's digest.
        found: Digest,
    },
    /// It is no component, or not one of this contract.
    #[error("plugin `{name}`: {} {problem}", place(path.as_deref()))]
    Unfit {
        /// Name of the entry.
        name: String,
        /// Its file; none of a component that the program holds.
        path: Option<PathBuf>,
        /// The problem.
        problem: ContractError,
    },
    /// It imports a capability that the entry does not grant.
    #[error("plugin `{name}` imports `{import}`, which is not granted: add to [plugin.grants] of `{name}`\n  {line}")]
    NotGranted {
        /// Name of the entry.
        name: String,
        /// The import.
        import: String,
        /// The line to add to `[plugin.grants]`.
        line: String,
    },
    /// It is granted a capability that the program around the host does not bring.
    #[error(
        "plugin `{name}` is granted the capability `{capability}`, which this program does not bring (it brings {})",
        if known.is_empty() { "none" } else { known }
    )]
    NoCapability {
        /// Name of the entry.
        name: String,
        /// The name in its `capabilities`.
        capability: String,
        /// The names that there are.
        known: String,
    },
    /// It would have to be compiled, which this program cannot.
    #[error(
        "plugin `{name}` is a component that has to be compiled, and this program was built without the feature `compile` of \
         hookhost: build it with the feature, or hand over the component compiled ahead (Entry::from_compiled)"
    )]
    NoCompiler {
        /// Name of the entry.
        name: String,
    },
    /// It is granted what this program was built without.
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
        /// The guest's path of it.
        guest: String,
        /// The directory on the host.
        directory: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The entry's `events` names one that the plugin does not export.
    #[error("plugin `{name}` does not subscribe to `{event}`, which its `events` names: it subscribes to {subscribes}")]
    NotExported {
        /// Name of the entry.
        name: String,
        /// The event.
        event: &'static str,
        /// Its exported events.
        subscribes: String,
    },
    /// A native rule has a function for no event.
    #[error(
        "plugin `{name}` is a native rule that is asked about nothing: give it a function for an event; a plugin of the SDK \
         has them by `#[plugin]`"
    )]
    NativeWithoutEvents {
        /// Name of the entry.
        name: String,
    },
    /// `setup.configure` said no.
    #[error("plugin `{name}` refuses its configuration: {message}")]
    Refused {
        /// Name of the entry.
        name: String,
        /// Its message.
        message: String,
    },
    /// The tools that it brings cannot be offered to a model.
    #[error("plugin `{name}` cannot bring its tools: {problem}")]
    Tools {
        /// Name of the entry.
        name: String,
        /// The problem with the tools, and its correction.
        problem: String,
    },
    /// `setup.configure` failed, or no instance could be made.
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

/// The user's next step after a [`LoadError`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Advice<'a> {
    /// Allow the file as it now is.
    Allow(&'a Path),
    /// See what it exports and imports.
    Inspect(&'a Path),
    /// Nothing that a command could do.
    None,
}

impl LoadError {
    /// The user's next step.
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
