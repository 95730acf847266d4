//! Writing a file whole or not at all.

use std::{fs, io::Write, path::Path};

use super::Error;

/// Who may read a file that does not exist yet.
#[derive(Clone, Copy)]
pub(super) enum NewFile {
    /// Only the user.
    Private,
    /// Whoever the user's umask lets.
    Usual,
}

/// Puts `content` in place of the file, by a new file beside it that takes its name: a reader sees the old or the new,
/// and a crash leaves one of them. An existing file keeps its permissions; `path` must not be a symbolic link.
pub(super) fn replace(path: &Path, content: &[u8], new: NewFile) -> Result<(), Error> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".hookhost-");
    #[cfg(unix)]
    if let NewFile::Usual = new {
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    }
    #[cfg(not(unix))]
    let _ = new;
    let write = || {
        let mut file = builder.tempfile_in(folder)?;
        file.write_all(content)?;
        if let Ok(present) = fs::metadata(path) {
            file.as_file().set_permissions(present.permissions())?;
        }
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(Error::io("write", path))
}
