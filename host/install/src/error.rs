//! Why a file is not changed: one sentence, and what to do.

use hookhost_files::FileError;
use std::io;
use std::path::{Path, PathBuf};

/// A file is left as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} {what}, so it is left as it is: {next}", path.display())]
#[non_exhaustive]
pub struct Refused {
    /// The file.
    pub path: PathBuf,
    /// What is wrong, as the end of a sentence about the file, such as `is read-only`.
    pub what: String,
    /// What to do.
    pub next: String,
}

impl Refused {
    /// This is wrong with the file, and that helps.
    pub fn new(path: &Path, what: impl Into<String>, next: impl Into<String>) -> Self {
        Self { path: path.to_owned(), what: what.into(), next: next.into() }
    }

    /// The finding about the file, for somebody who only looks at it.
    #[must_use]
    pub fn finding(&self) -> String {
        format!("{} {}", self.path.display(), self.what)
    }

    /// It cannot be read.
    pub(crate) fn unreadable(path: &Path, error: FileError) -> Self {
        match error {
            FileError::Refused(refused) => {
                Self::new(path, format!("is not read, since {}", refused.fault), refused.remedy)
            }
            error @ FileError::Io(_) => Self::io(path, "read", &error.into()),
        }
    }

    /// The system does not let it be read or written; `does` is what cannot be done, such as `read`.
    pub(crate) fn io(path: &Path, does: &str, error: &io::Error) -> Self {
        // Some systems say a full disk in other words: EFBIG is the limit of the process, and EDQUOT that of the user.
        let next = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                "make room on its disk, and try again"
            }
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                "check the permissions of it and of its directory, and try again"
            }
            _ => "see what is there, and try again",
        };
        Self::new(path, format!("cannot be {does} ({error})"), next)
    }
}
