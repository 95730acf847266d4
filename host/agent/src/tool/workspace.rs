//! The directory that file tools may use, as a capability. Every path is resolved from one directory handle, so neither
//! `..` nor a symbolic link leads out of the directory. This also holds for a link that another process creates during
//! a call.

use super::ToolError;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, OpenOptions, OpenOptionsExt as _};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Project directory of an agent.
#[derive(Clone, Debug)]
pub struct Workspace {
    given: PathBuf,
    root: PathBuf,
    directory: Arc<Dir>,
}

/// Error of opening a workspace.
#[derive(Debug, thiserror::Error)]
#[error("the workspace {} cannot be opened: {source}", .path.display())]
#[non_exhaustive]
pub struct WorkspaceError {
    /// Path of the directory.
    pub path: PathBuf,
    /// Error of the system.
    #[source]
    pub source: io::Error,
}

impl Workspace {
    /// Opens a directory.
    ///
    /// # Errors
    /// Returns an error if the path does not exist, is not a directory, or cannot be read.
    pub fn open(path: &Path) -> Result<Self, WorkspaceError> {
        let error = |source| WorkspaceError { path: path.to_owned(), source };
        let root = path.canonicalize().map_err(error)?;
        let directory = Dir::open_ambient_dir(&root, ambient_authority()).map_err(error)?;
        let given = std::path::absolute(path).map_err(error)?;
        Ok(Self { given, root, directory: Arc::new(directory) })
    }

    /// Returns the directory's canonical path.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn directory(&self) -> &Dir {
        &self.directory
    }

    /// Makes `path` relative to the workspace. Only absolute paths are checked here. A relative path is checked when it
    /// is opened.
    pub(super) fn relative(&self, path: &str) -> Result<PathBuf, ToolError> {
        let asked = Path::new(path);
        let relative = if asked.is_absolute() {
            let inside = asked.strip_prefix(&self.root).or_else(|_| asked.strip_prefix(&self.given));
            inside.map_err(|_| ToolError::Outside { path: path.to_owned() })?
        } else {
            asked
        };
        let empty = relative.as_os_str().is_empty();
        Ok(if empty { PathBuf::from(".") } else { relative.to_owned() })
    }

    /// Opens a regular file. It never blocks, not even on a pipe without a writer.
    pub(super) fn open_file(&self, path: &Path, options: &mut OpenOptions) -> io::Result<File> {
        let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).map_err(io::Error::other)?;
        let file = self.directory.open_with(path, options.custom_flags(nonblocking))?;
        let kind = file.metadata()?;
        if kind.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        if !kind.is_file() {
            return Err(io::Error::other("it is no regular file"));
        }
        Ok(file)
    }
}

/// Converts a system error to the tool's error. If a path leads out of the workspace, cap-std reports a permission
/// error without a system error number.
pub(super) fn file_error(path: &str, doing: &'static str, error: &io::Error) -> ToolError {
    let escaped = error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none();
    if escaped {
        return ToolError::Outside { path: path.to_owned() };
    }
    let reason = match error.kind() {
        io::ErrorKind::NotFound => "there is no such file or directory".into(),
        io::ErrorKind::IsADirectory => "it is a directory".into(),
        io::ErrorKind::NotADirectory => "a part of the path is no directory".into(),
        _ => error.to_string(),
    };
    ToolError::File { path: path.to_owned(), doing, reason }
}
