//! A path that the kernel guards.

use std::path::PathBuf;

/// The way in which a path is guarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Treatment {
    /// The path can be read, and not changed.
    ReadOnly,
    /// The path can be neither read nor changed.
    Hidden,
    /// A socket that must not be reachable.
    Masked,
    /// An exception inside a directory that is read-only.
    Writable,
}

/// A path that the kernel guards.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Guard {
    /// Absolute path.
    pub path: PathBuf,
    /// The way in which the path is guarded.
    pub treatment: Treatment,
    /// Why the path is guarded, such as `settings of claude-code`.
    pub reason: String,
}
