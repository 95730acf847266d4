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
    /// Creates the directories.
    ///
    /// # Errors
    /// If a directory cannot be created.
    pub(crate) fn make(root: &Path, cache: &Path, model: String) -> Result<Self> {
        let place = Self { root: root.to_owned(), cache: cache.to_owned(), model };
        for directory in [place.home(), place.project(), place.temporary(), place.bin(), place.recorded()] {
            fs::create_dir_all(&directory).with_context(|| format!("cannot make {}", directory.display()))?;
        }
        Ok(place)
    }

    /// Returns the user's home directory.
    pub(crate) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// Returns the directory of the project, in which the agent starts.
    pub(crate) fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    /// Returns the directory for temporary files.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.root.join("tmp")
    }

    /// Returns the directory of the hook program.
    pub(crate) fn bin(&self) -> PathBuf {
        self.root.join("bin")
    }

    /// Returns the directory to which the stand-in writes each message and its reply.
    pub(crate) fn recorded(&self) -> PathBuf {
        self.root.join("recorded")
    }

    /// Returns the directory of compiled plugins, which all cases share.
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
    /// If the file cannot be written.
    pub(crate) fn write_home(&self, name: &str, text: &str) -> Result<()> {
        write(&self.home().join(name), text)
    }

    /// Writes a file below the project.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn write_project(&self, name: &str, text: &str) -> Result<()> {
        write(&self.project().join(name), text)
    }
}

/// Writes a file. Missing directories above it are created.
///
/// # Errors
/// If the file cannot be written.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
    }
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
