//! Why the database cannot be used.

use rusqlite::ErrorCode;
use std::path::{Path, PathBuf};

/// Why the database cannot be read or written. The file was not changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no such file.
    #[error("there is no audit log at {}", .0.display())]
    Missing(PathBuf),
    /// Another program holds its lock.
    #[error("{} is locked by another program: end that program, or let it finish", .0.display())]
    Locked(PathBuf),
    /// Its content is damaged.
    #[error("{} is damaged ({problem}): move it away, and a new one is begun", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        problem: String,
    },
    /// The file belongs to another program.
    #[error("{} is not an audit log of hookhost: move it away, or name another file", .0.display())]
    Foreign(PathBuf),
    /// Its schema differs from the one that hookhost creates: it has a trigger, a view or another table, or lacks one.
    /// Records could vanish that way.
    #[error(
        "{} holds {what}, so what it says cannot be relied on: find out who changed it, and move it away, and a new one is begun",
        path.display()
    )]
    Altered {
        /// The file.
        path: PathBuf,
        /// The difference, worded as the end of "it holds …".
        what: String,
    },
    /// It was removed, moved or replaced while this process had it open.
    #[error(
        "{} was removed or replaced while it was in use, so nothing can be recorded any more: put it back, or start again",
        .0.display()
    )]
    Gone(PathBuf),
    /// SQLite would not read the name as that of a file.
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
    /// The sink of the embedding program did not take a record.
    #[error("the sink of the audit log did not take a record: {0}")]
    Sink(String),
    /// Another user may have written it.
    #[error(transparent)]
    Refused(#[from] crate::files::Refused),
    /// The disk is full.
    #[error("{} cannot grow: the disk is full", .0.display())]
    Full(PathBuf),
    /// The system reports an error.
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
            // Only the bound on steps interrupts a query.
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
                problem: format!("{problem}; SQLite needs write access to it and to its directory, even to read it"),
            },
            // A missing table, or a value that does not have its column's type.
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

    /// Whether a retry may succeed.
    pub(super) fn is_transient(&self) -> bool {
        matches!(self, Self::Locked(_))
    }
}

/// Whether the shared memory of a WAL could not grow.
fn is_for_lack_of_room(error: &rusqlite::ffi::Error) -> bool {
    error.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE
}
