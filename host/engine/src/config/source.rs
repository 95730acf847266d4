//! The file that a text comes from.

use std::path::PathBuf;

use super::Layer;

/// The origin of a configuration text. The origin determines the meaning of relative paths in the text.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Source {
    /// The file. Messages name it, and relative paths in the text are relative to its directory. If the paths of the
    /// entries must be absolute, this path must be absolute.
    pub file: PathBuf,
    /// The owner of the file.
    pub layer: Layer,
    /// The directory that `~/` stands for. Without this directory, `~/` is an error.
    pub home: Option<PathBuf>,
}

impl Source {
    /// Creates a source without a directory for `~/`.
    #[must_use]
    pub fn new(file: impl Into<PathBuf>, layer: Layer) -> Self {
        Self { file: file.into(), layer, home: None }
    }

    /// Sets the directory for `~/`.
    #[must_use]
    pub fn with_home(mut self, home: Option<PathBuf>) -> Self {
        self.home = home;
        self
    }
}
