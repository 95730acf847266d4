//! Why a session cannot be kept, found or continued.

use hookhost::files::FileError;
use std::io;
use std::path::{Path, PathBuf};

/// Why a session cannot be kept, found or continued.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionStoreError {
    /// The session's id cannot be a directory's name.
    #[error("the session id `{}` cannot name a directory: use letters, digits, `-`, `_` and `.`, at most 128", .id.escape_debug())]
    Id {
        /// The id.
        id: String,
    },
    /// There is none.
    #[error(
        "there is no session `{}` in {}{}",
        .id.escape_debug(), .directory.display(),
        if .similar.is_empty() { String::new() } else { format!("; its whole id is needed, such as {}", .similar.join(", ")) }
    )]
    NotFound {
        /// The id.
        id: String,
        /// The directory of the sessions.
        directory: PathBuf,
        /// Some of the sessions whose ids begin with `id`.
        similar: Vec<String>,
    },
    /// Another process writes it.
    #[error("the session {id} is in use by another process: wait until that has ended, or end it")]
    InUse {
        /// The session.
        id: String,
    },
    /// Another program, which takes no lock, has written a message in between.
    #[error("another program has written to the session at the same time: {} is there already; resume it", .path.display())]
    Overtaken {
        /// The message's file.
        path: PathBuf,
    },
    /// A message's file is damaged.
    #[error("{}: {reason}; repair the file, or remove it and continue without it", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Another user can have written it.
    #[error(transparent)]
    Refused(#[from] hookhost::files::Refused),
    /// The system says no.
    #[error("the session {} cannot be {doing}: {source}", .path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// "created", "written", "read", "removed".
        doing: &'static str,
        /// What the system says.
        #[source]
        source: io::Error,
    },
}

impl SessionStoreError {
    pub(super) fn io(path: impl Into<PathBuf>, doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, doing, source }
    }

    pub(super) fn directory(path: &Path) -> impl FnOnce(FileError) -> Self {
        move |error| match error {
            FileError::Refused(refused) => Self::Refused(refused),
            error @ FileError::Io(_) => Self::io(path, "read")(error.into()),
        }
    }
}
