//! The identity of an open file, so that another file in its place is noticed.

use std::fs::{File, metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// The identity of a file: its device and its inode.
pub(super) type Identity = (u64, u64);

/// The identity of the file at a path; `None` if there is no file.
pub(super) fn identity(path: &Path) -> Option<Identity> {
    metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

/// The identity of an open file.
pub(super) fn identity_of(file: &File) -> Option<Identity> {
    file.metadata().ok().map(|file| (file.dev(), file.ino()))
}
