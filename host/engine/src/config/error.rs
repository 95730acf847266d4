//! The errors of a configuration.

use std::{io, path::PathBuf};

use super::Problems;
use crate::files::{FileError, Refused};

/// A reason why a configuration cannot be read, approved or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A configuration file has mistakes, so no part of the file is used.
    #[error(transparent)]
    Invalid(#[from] Problems),
    /// A file or directory could not be used.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The attempted action, such as "read" or "write".
        action: &'static str,
        /// The path of the file or directory.
        path: PathBuf,
        /// The reason that the operating system gave.
        source: io::Error,
    },
    /// A file is not used, because another user may have written it or because it is not a regular file.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The file is not text.
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
    /// An environment variable contains a relative path for one of the user's directories. This is an error, because
    /// the meaning of the path would depend on the working directory of the process.
    #[error("{variable} is {}, which is not an absolute path: write the full path", path.display())]
    Relative {
        /// The variable.
        variable: &'static str,
        /// Value of the variable.
        path: PathBuf,
    },
    /// An entry breaks a rule for entries. A program created this entry, or wants to write it to a file.
    #[error("the entry `{}` cannot be used: {why}", name.escape_debug())]
    Entry {
        /// Name of the entry.
        name: String,
        /// The broken rule.
        why: String,
    },
    /// Settings that a program created are out of range.
    #[error("the settings cannot be used: {why}")]
    Settings {
        /// The setting, and its range.
        why: String,
    },
    /// A project's file is reached through a symbolic link.
    #[error(
        "{} is a symbolic link, but a project's file is approved for its own path only: put the file itself in the link's place",
        path.display()
    )]
    Link {
        /// The link.
        path: PathBuf,
    },
    /// The store of approved project files is full.
    #[error(
        "{} cannot be larger than 16 MiB: revoke approvals that you no longer need with `hookhost trust --revoke PATH`",
        path.display()
    )]
    TrustStoreFull {
        /// The store.
        path: PathBuf,
    },
    /// The store of approved project files does not have the format that the host writes.
    #[error("{} is damaged ({why}): delete it, and approve your projects again with `hookhost trust`", path.display())]
    TrustStore {
        /// The store.
        path: PathBuf,
        /// The reason why the store cannot be used.
        why: String,
    },
}

impl ConfigError {
    pub(super) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }

    /// Creates the error of a file that cannot be used.
    pub(super) fn file(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(FileError) -> Self {
        let path = path.into();
        move |error| match error {
            FileError::Io(source) => Self::Io { action, path, source },
            FileError::Refused(refused) => Self::Refused(refused),
        }
    }
}
