//! Why the database cannot be used.

use rusqlite::ErrorCode;
use std::path::{Path, PathBuf};

/// The audit log and the state of plugins cannot be read or written. Nothing in the file was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no such file.
    #[error("there is no audit log at {}", .0.display())]
    Missing(PathBuf),
    /// Another program holds its lock.
    #[error("{} is locked by another program: end that program, or let it finish", .0.display())]
    Locked(PathBuf),
    /// Its content is not what SQLite wrote.
    #[error("{} is damaged ({problem}): move it away, and a new one is begun", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        problem: String,
    },
    /// It is a database of something else.
    #[error("{} is not an audit log of hookhost: move it away, or name another file", .0.display())]
    Foreign(PathBuf),
    /// It holds, or lacks, something that hookhost did not make so: a trigger, a view, another table. Records could
    /// vanish by it.
    #[error(
        "{} holds {what}, so what it says cannot be relied on: find out who changed it, and move it away, and a new one is begun",
        path.display()
    )]
    Altered {
        /// The file.
        path: PathBuf,
        /// What it holds or lacks, as the end of "it holds …".
        what: String,
    },
    /// It was removed, moved or replaced while this process had it open.
    #[error(
        "{} was removed or replaced while it was in use, so nothing can be recorded any more: put it back, or start again",
        .0.display()
    )]
    Gone(PathBuf),
    /// The name is not one of a file, or SQLite would read it as something else.
    #[error("`{}` cannot be the name of an audit log, since {problem}: name a file", path.display())]
    Name {
        /// The name.
        path: PathBuf,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// It was written by a later version.
    #[error("{} has format {found}, and this hookhost knows format {known}: use the version that wrote it", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: i64,
        /// The format of this version.
        known: u32,
    },
    /// Another user can have written it.
    #[error(transparent)]
    Refused(#[from] crate::files::Refused),
    /// There is no room on the disk.
    #[error("{} cannot grow: the disk is full", .0.display())]
    Full(PathBuf),
    /// The system refuses.
    #[error("{} cannot be used: {problem}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        problem: String,
    },
}

impl StoreError {
    pub(crate) fn of(error: &rusqlite::Error, path: &Path) -> Self {
        let path = path.to_owned();
        let problem = error.to_string();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked(path),
            Some(ErrorCode::DatabaseCorrupt) => Self::Damaged { path, problem },
            // By the bound on steps: nothing else interrupts.
            Some(ErrorCode::OperationInterrupted) => {
                Self::Damaged { path, problem: "reading it takes more steps than a file of its size can need".into() }
            }
            Some(ErrorCode::NotADatabase) => Self::Foreign(path),
            Some(ErrorCode::DiskFull) => Self::Full(path),
            Some(ErrorCode::SystemIoFailure) if error.sqlite_error().is_some_and(is_for_lack_of_room) => {
                Self::Full(path)
            }
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen) => Self::Io {
                path,
                problem: format!("{problem}; SQLite has to be able to write to it and its folder, also to read it"),
            },
            // A table that is not there, and what is not of its column's type.
            Some(ErrorCode::Unknown) => Self::Damaged { path, problem },
            None if !matches!(error, rusqlite::Error::SqliteFailure(..)) => Self::Damaged { path, problem },
            _ => Self::Io { path, problem },
        }
    }

    pub(super) fn file(error: crate::files::FileError, path: &Path) -> Self {
        match error {
            crate::files::FileError::Refused(refused) => Self::Refused(refused),
            crate::files::FileError::Io(error) => Self::io(&error, path),
        }
    }

    pub(super) fn io(error: &std::io::Error, path: &Path) -> Self {
        Self::Io { path: path.to_owned(), problem: error.to_string() }
    }

    /// Whether it may be otherwise in a moment.
    pub(super) fn is_passing(&self) -> bool {
        matches!(self, Self::Locked(_))
    }
}

/// The memory that processes share beside a WAL could not be made as large as it has to be.
fn is_for_lack_of_room(error: &rusqlite::ffi::Error) -> bool {
    error.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE
}
