//! Replaces a file completely or not at all.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

/// The users that may read a newly created file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NewFile {
    /// Only the user.
    Private,
    /// The readers that the user's umask permits.
    Usual,
}

/// Replaces the content of a file, by writing a new file beside it and renaming the new file. A reader sees either
/// the old or the new content, even after a crash. An existing file keeps its permissions. `path` must not be a
/// symbolic link.
///
/// # Errors
/// Fails if the file cannot be written. The file is then unchanged.
pub fn replace(path: &Path, content: &[u8], new: NewFile) -> io::Result<()> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".hookhost-");
    #[cfg(unix)]
    if let NewFile::Usual = new {
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    }
    #[cfg(not(unix))]
    let _ = new;
    let mut file = builder.tempfile_in(super::directory_of(path))?;
    file.write_all(content)?;
    if let Ok(present) = fs::metadata(path) {
        file.as_file().set_permissions(present.permissions())?;
    }
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
