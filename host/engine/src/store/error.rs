//! The errors of the database.

use std::path::{Path, PathBuf};

/// The reason why the database cannot be read or written. The failed operation has not changed the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no such file.
    #[error("there is no audit log at {}", .0.display())]
    Missing(PathBuf),
    /// Another program has locked the file.
    #[error("{} is locked by another program: end that program, or let it finish", .0.display())]
    Locked(PathBuf),
    /// The file system does not support locks, for example because it is a network file system without a lock service.
    #[error(
        "{} lies on a file system without locks, so nothing can be recorded there: name a directory on another file system in HOOKHOST_STATE_DIR",
        .0.display()
    )]
    NoLocks(PathBuf),
    /// The content is damaged.
    #[error("{} is damaged ({problem}): move it away, and a new one is begun", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// A description of the damage, for example the error message of SQLite.
        problem: String,
    },
    /// The file belongs to another program.
    #[error("{} is not an audit log of hookhost: move it away, or name another file", .0.display())]
    Foreign(PathBuf),
    /// The database's schema differs from the schema that hookhost creates: it has a trigger, a view or another table,
    /// or lacks a table. Such a difference could cause records to be lost.
    #[error(
        "{} holds {what}, so its records cannot be trusted: find out who changed it, and move it away, and a new one is begun",
        path.display()
    )]
    Altered {
        /// The file.
        path: PathBuf,
        /// A description of the difference, which completes the sentence "it holds …".
        what: String,
    },
    /// The file was removed, moved or replaced while this process had it open.
    #[error(
        "{} was removed or replaced while it was in use, so nothing can be recorded any more: put it back, or start again",
        .0.display()
    )]
    Gone(PathBuf),
    /// This program was built without the feature `store`.
    #[error("{} cannot be opened, since this program was built without the feature `store` of hookhost: build it with the feature, or name no store", .0.display())]
    NotBuilt(PathBuf),
    /// SQLite would not use this name as the name of a file.
    #[error("`{}` cannot be the name of an audit log, since {problem}: name a file", path.display())]
    Name {
        /// The name.
        path: PathBuf,
        /// The mistake in the name.
        problem: &'static str,
    },
    /// A later version has written the file.
    #[error("{} has format {found}, and this hookhost knows format {known}: use the version that wrote it", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Format of the file.
        found: i64,
        /// The format of this version.
        known: u32,
    },
    /// The sink of the embedding program did not accept a record.
    #[error("the sink of the audit log did not take a record: {0}")]
    Sink(String),
    /// Another user may have written the file.
    #[error(transparent)]
    Refused(#[from] crate::files::Refused),
    /// The disk is full.
    #[error("{} cannot grow: the disk is full", .0.display())]
    Full(PathBuf),
    /// The operating system reports an error.
    #[error("{} cannot be used: {problem}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error message of the operating system.
        problem: String,
    },
}

impl StoreError {
    pub(super) fn file(error: crate::files::FileError, path: &Path) -> Self {
        match error {
            crate::files::FileError::Refused(refused) => Self::Refused(refused),
            crate::files::FileError::Io(error) => Self::io(&error, path),
        }
    }

    pub(super) fn io(error: &std::io::Error, path: &Path) -> Self {
        Self::Io { path: path.to_owned(), problem: error.to_string() }
    }

    /// Returns true if a retry may succeed.
    pub(super) fn is_transient(&self) -> bool {
        matches!(self, Self::Locked(_))
    }
}
