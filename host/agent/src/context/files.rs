//! Reads text files that other people may have written. Only regular files are read, up to a size limit and, where
//! required, only within a given directory.

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt as _};
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};

/// The beginning of a text file, and the size of the whole file in bytes.
#[derive(Debug)]
pub(super) struct FileText {
    pub(super) text: String,
    pub(super) size: u64,
}

/// A directory in which files are read. A symbolic link that leads out of the directory is an error.
#[derive(Debug)]
pub(super) struct ProjectDirectory {
    root: PathBuf,
    directory: Dir,
}

impl ProjectDirectory {
    pub(super) fn open(root: &Path) -> Option<Self> {
        let directory = Dir::open_ambient_dir(root, ambient_authority()).ok()?;
        Some(Self { root: root.to_owned(), directory })
    }

    /// Reads at most `limit` bytes of a file; `None` if the file does not exist. An error gives the reason why the file
    /// cannot be read.
    pub(super) fn text(&self, path: &Path, limit: u64) -> Option<Result<FileText, String>> {
        match self.read(path, limit) {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => None,
            // An error that cap-std itself raised has no system error number.
            Err(error) if error.kind() == ErrorKind::PermissionDenied && error.raw_os_error().is_none() => {
                Some(Err(format!("a symbolic link leads out of {}", self.root.display())))
            }
            read => Some(read.map_err(|error| error.to_string())),
        }
    }

    fn read(&self, path: &Path, limit: u64) -> io::Result<FileText> {
        // Opening the file must not block, not even on a pipe without a writer.
        let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).map_err(io::Error::other)?;
        let file = self.directory.open_with(path, OpenOptions::new().read(true).custom_flags(nonblocking))?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::other("it is no regular file"));
        }
        let mut bytes = Vec::new();
        file.take(limit).read_to_end(&mut bytes)?;
        let whole = metadata.len().max(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            // The limit may cut a character in two.
            Err(error) if error.utf8_error().error_len().is_none() && whole > limit => {
                let end = error.utf8_error().valid_up_to();
                let mut bytes = error.into_bytes();
                bytes.truncate(end);
                String::from_utf8(bytes).map_err(io::Error::other)?
            }
            Err(_) => return Err(io::Error::other("it is no UTF-8 text")),
        };
        Ok(FileText { text, size: whole })
    }

    /// Returns the names in a directory, sorted. If the directory does not exist, the list is empty.
    pub(super) fn names(&self, path: &Path, most: usize) -> Vec<String> {
        let Ok(entries) = self.directory.read_dir(path) else { return Vec::new() };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.take(most).collect();
        names.sort();
        names
    }
}

/// Reads at most `limit` bytes of one of the user's own files. Symbolic links are followed.
pub(super) fn own_text(path: &Path, limit: u64) -> Option<Result<FileText, String>> {
    let path = match path.canonicalize() {
        Ok(path) => path,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return None,
        Err(error) => return Some(Err(error.to_string())),
    };
    ProjectDirectory::open(path.parent()?)?.text(Path::new(path.file_name()?), limit)
}

/// Returns the names in one of the user's own directories, sorted.
pub(super) fn own_names(path: &Path, most: usize) -> Vec<String> {
    path.canonicalize()
        .ok()
        .and_then(|path| ProjectDirectory::open(&path))
        .map_or_else(Vec::new, |directory| directory.names(Path::new("."), most))
}
