//! The directories of one case: a new home, project and temporary directory.

use anyhow::{Context as _, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// The directories of a case.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The directory that contains all others of the case.
    pub(crate) root: PathBuf,
    /// The directory of installed agents.
    pub(crate) cache: PathBuf,
    /// The model's address.
    pub(crate) model: String,
}

impl Place {
    /// Makes the directories.
    ///
    /// # Errors
    /// If one cannot be made.
    pub(crate) fn make(root: &Path, cache: &Path, model: String) -> Result<Self> {
        let place = Self { root: root.to_owned(), cache: cache.to_owned(), model };
        for directory in [place.home(), place.project(), place.temporary(), place.bin(), place.recorded()] {
            fs::create_dir_all(&directory).with_context(|| format!("cannot make {}", directory.display()))?;
        }
        Ok(place)
    }

    /// The user's home directory.
    pub(crate) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// The project. The agent starts in it.
    pub(crate) fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    /// The directory for temporary files.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.root.join("tmp")
    }

    /// The directory of the hook program.
    pub(crate) fn bin(&self) -> PathBuf {
        self.root.join("bin")
    }

    /// The directory to which the stand-in writes each message and its reply.
    pub(crate) fn recorded(&self) -> PathBuf {
        self.root.join("recorded")
    }

    /// The directory of compiled plugins, shared by all cases of a run.
    pub(crate) fn compiled(&self) -> PathBuf {
        self.root.ancestors().nth(2).unwrap_or(&self.root).join("compiled")
    }

    /// Returns the text of a file of the project; `None` if the file does not exist.
    pub(crate) fn file(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.project().join(name)).ok()
    }

    /// Writes a file below the home directory.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn write_home(&self, name: &str, text: &str) -> Result<()> {
        write(&self.home().join(name), text)
    }

    /// Writes a file below the project.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn write_project(&self, name: &str, text: &str) -> Result<()> {
        write(&self.project().join(name), text)
    }
}

/// Writes a file, and creates its directories.
///
/// # Errors
/// If it cannot be written.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
    }
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
