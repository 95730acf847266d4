//! Errors of a configuration.

use std::{io, path::PathBuf};

use super::Problems;
use crate::files::{FileError, Refused};

/// The reason why a configuration cannot be read, trusted or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// Something in a file is wrong; nothing of it counts.
    #[error(transparent)]
    Invalid(#[from] Problems),
    /// A file or directory could not be used.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The attempted action: "read", "write", …
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Another user may have written a file that would count, or it is not a file.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// It is not text.
    #[error("{} cannot be a configuration: {why}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// The user has no home directory, so there is no user-wide configuration.
    #[error(
        "the user's home directory is not known: set HOME, or name the directories with HOOKHOST_CONFIG_DIR and HOOKHOST_STATE_DIR"
    )]
    NoHome,
    /// An environment variable names one of the user's directories from the working directory on, which is another one in each
    /// process.
    #[error("{variable} is {}, which does not begin at the root: give the whole path", path.display())]
    Relative {
        /// The variable.
        variable: &'static str,
        /// The value of the variable.
        path: PathBuf,
    },
    /// An entry that a program made, or asks to write, breaks a rule of the allowlist.
    #[error("the entry `{}` cannot be used: {why}", name.escape_debug())]
    Entry {
        /// Its name.
        name: String,
        /// The rule that it breaks.
        why: String,
    },
    /// An ask rule that a program made breaks a rule of the file.
    #[error("an ask rule cannot be used: {why}")]
    Ask {
        /// The rule that it breaks.
        why: String,
    },
    /// Settings that a program made are out of the range of the file's.
    #[error("the settings cannot be used: {why}")]
    Settings {
        /// The setting, and its range.
        why: String,
    },
    /// A project's file is reached through a symbolic link.
    #[error(
        "{} is a symbolic link, and a project's file counts by where it lies: put the file itself in the link's place",
        path.display()
    )]
    Link {
        /// The link.
        path: PathBuf,
    },
    /// The record of approved project files has no room for another one.
    #[error(
        "{} cannot hold more than 16 MiB: take approvals that you no longer need back with `hookhost trust --revoke PATH`",
        path.display()
    )]
    TrustStoreFull {
        /// The store.
        path: PathBuf,
    },
    /// The record of approved project files is not as the host wrote it.
    #[error("{} is damaged ({why}): delete it, and approve your projects again with `hookhost trust`", path.display())]
    TrustStore {
        /// The store.
        path: PathBuf,
        /// The damage.
        why: String,
    },
}

impl ConfigError {
    pub(super) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }

    /// A file that cannot be had.
    pub(super) fn file(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(FileError) -> Self {
        let path = path.into();
        move |error| match error {
            FileError::Io(source) => Self::Io { action, path, source },
            FileError::Refused(refused) => Self::Refused(refused),
        }
    }
}
