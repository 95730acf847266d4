//! Reads a small file, and tells a missing file from a file that cannot be read.

use super::{Found, not_understood};
use crate::files::{self, FileError, Guard, Links};
use std::io;
use std::path::Path;

/// Maximum size of a configuration file, in bytes.
pub(super) const MAX_CONFIG: u64 = 1 << 20;

/// Reads a file. Returns `None` if there is no file at the path.
///
/// # Errors
/// Returns the reason if there is a file that cannot be read, is no regular file, or is larger than `most` bytes.
pub(super) fn bytes(path: &Path, most: u64) -> Found<Vec<u8>> {
    match files::read(path, Guard::Anybodys, Links::Followed, most) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(FileError::Io(error)) if is_missing(&error) => Ok(None),
        Err(FileError::Io(error)) => Err(not_understood(path, &format!("cannot be read: {}", error.kind()))),
        Err(FileError::Refused(_)) => Err(not_understood(path, "is no regular file, or is too large")),
    }
}

/// Reads a text of at most [`MAX_CONFIG`] bytes. Returns `None` if there is no file at the path.
///
/// # Errors
/// The errors of [`bytes`], and an error if the file is not UTF-8.
pub(super) fn text(path: &Path) -> Found {
    let Some(bytes) = bytes(path, MAX_CONFIG)? else { return Ok(None) };
    String::from_utf8(bytes).map(Some).map_err(|_| not_understood(path, "is not UTF-8"))
}

/// Returns true if there is something at the path. A link counts itself, wherever it leads.
///
/// # Errors
/// Returns the reason if a directory of the path cannot be searched.
pub(super) fn exists(path: &Path) -> Found<bool> {
    match path.symlink_metadata() {
        Ok(_) => Ok(Some(true)),
        Err(error) if is_missing(&error) => Ok(Some(false)),
        Err(error) => Err(not_understood(path, &format!("cannot be looked up: {}", error.kind()))),
    }
}

/// Returns true if the error says that there is no file.
pub(super) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
