//! The identity of an open file. A store compares identities to find out whether a path now leads to another file.

use std::fs::File;
use std::path::Path;

/// The identity of a file: its device and its inode.
#[cfg(unix)]
pub(super) type Identity = (u64, u64);

/// Returns the identity of the file at a path; `None` if there is no file.
#[cfg(unix)]
pub(super) fn identity(path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

/// Returns the identity of an open file.
#[cfg(unix)]
pub(super) fn identity_of(file: &File) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt as _;
    file.metadata().ok().map(|file| (file.dev(), file.ino()))
}

/// An open file cannot be removed or replaced on this system, so it needs no identity.
#[cfg(not(unix))]
pub(super) type Identity = ();

#[cfg(not(unix))]
pub(super) fn identity_of(_: &File) -> Option<Identity> {
    Some(())
}

#[cfg(not(unix))]
pub(super) fn identity(_: &Path) -> Option<Identity> {
    Some(())
}
