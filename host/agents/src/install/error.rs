//! The error for a file that hookhost does not change. The error consists of a sentence about the file and the next
//! step for a person.

use hookhost_files::FileError;
use std::io;
use std::path::{Path, PathBuf};

/// The error for a file that is left unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} {what}, so it is left as it is: {next}", path.display())]
pub struct FileRefusal {
    /// Path of the file.
    pub path: PathBuf,
    /// The problem, as the end of a sentence whose subject is the file, such as `is read-only`.
    pub what: String,
    /// The next step for a person.
    pub next: String,
}

impl FileRefusal {
    /// Creates an error from the problem and the next step.
    pub fn new(path: &Path, what: impl Into<String>, next: impl Into<String>) -> Self {
        Self { path: path.to_owned(), what: what.into(), next: next.into() }
    }

    /// Returns a sentence about the problem, for a command that only reads the file.
    pub fn finding(&self) -> String {
        format!("{} {}", self.path.display(), self.what)
    }

    /// Creates the error for a file that cannot be read.
    pub(crate) fn unreadable(path: &Path, error: FileError) -> Self {
        match error {
            FileError::Refused(refused) => {
                Self::new(path, format!("is not read, since {}", refused.fault), refused.remedy)
            }
            error @ FileError::Io(_) => Self::io(path, "read", &error.into()),
        }
    }

    /// Creates the error for a failed system call. `does` is the participle of the failed operation, such as `read` in
    /// `cannot be read`.
    pub(crate) fn io(path: &Path, does: &str, error: &io::Error) -> Self {
        // A write fails if the disk is full or if a limit is reached. EFBIG reports the limit of the process, and
        // EDQUOT reports the limit of the user.
        let next = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                "make room on its disk, and try again"
            }
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                "check the permissions of it and of its directory, and try again"
            }
            _ => "check the file, and try again",
        };
        Self::new(path, format!("cannot be {does} ({error})"), next)
    }
}
