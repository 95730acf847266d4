//! Errors of the session store.

use hookhost::files::FileError;
use std::io;
use std::path::{Path, PathBuf};

/// Reasons why a session cannot be stored, found or continued.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionStoreError {
    /// The session's id cannot name a file.
    #[error("the session id `{}` cannot name a file: use letters, digits, `-`, `_` and `.`, at most 128", .id.escape_debug())]
    Id {
        /// The invalid id.
        id: String,
    },
    /// No session has this id.
    #[error(
        "there is no session `{}` in {}{}",
        .id.escape_debug(), .directory.display(),
        if .similar.is_empty() { String::new() } else { format!("; its whole id is needed, such as {}", .similar.join(", ")) }
    )]
    NotFound {
        /// The unknown id.
        id: String,
        /// Directory of the sessions.
        directory: PathBuf,
        /// Some ids that begin with `id`.
        similar: Vec<String>,
    },
    /// Another process writes the session.
    #[error("the session {id} is in use by another process: wait until that has ended, or end it")]
    InUse {
        /// Identifier of the session.
        id: String,
    },
    /// Another program has changed the session's file without taking the lock.
    #[error("another program has changed the session at the same time: {}; resume the session", .path.display())]
    Overtaken {
        /// Path of the file.
        path: PathBuf,
    },
    /// A line of the session's file is damaged.
    #[error("{}:{line}: {reason}; repair the line, or remove it and continue without it", .path.display())]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// Description of the fault.
        reason: String,
    },
    /// Another user may have written the session.
    #[error(transparent)]
    Refused(#[from] hookhost::files::Refused),
    /// The system refused the access.
    #[error("the session {} cannot be {doing}: {source}", .path.display())]
    Io {
        /// Path of the file or directory.
        path: PathBuf,
        /// "created", "written", "read", "listed", "locked" or "removed".
        doing: &'static str,
        /// Error of the system.
        #[source]
        source: io::Error,
    },
}

impl SessionStoreError {
    pub(super) fn io(path: impl Into<PathBuf>, doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, doing, source }
    }

    pub(super) fn file(path: &Path) -> impl FnOnce(FileError) -> Self {
        move |error| match error {
            FileError::Refused(refused) => Self::Refused(refused),
            error @ FileError::Io(_) => Self::io(path, "read")(error.into()),
        }
    }
}
