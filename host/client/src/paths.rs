//! The paths of a user's resident host, in a directory that only the user can reach.

use hookhost_agents::directories::{DIRECTORY_VARIABLES, Directories};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Returns the directories of hookhost's files that the environment of this process sets.
pub fn directories() -> Directories {
    Directories::of_environment(&|name| std::env::var_os(name))
}

/// Returns the variables in [`DIRECTORY_VARIABLES`] that are set in this process, with their values.
pub fn variables() -> Vec<(String, String)> {
    let value = |name: &str| Some((name.to_owned(), std::env::var_os(name)?.to_string_lossy().into_owned()));
    DIRECTORY_VARIABLES.into_iter().filter_map(value).collect()
}

/// Maximum length of a socket's path, in bytes. The path in `sockaddr_un` has 108 bytes on Linux and 104 bytes on macOS, and the last byte
/// is NUL.
pub const MAX_SOCKET_PATH: usize = 103;

/// Beginning of the names of the sockets of supervisors.
const NOTES_PREFIX: &str = "exec-";

/// Maximum length of a path, in bytes. This is `PATH_MAX` of Linux.
const MAX_PATH: u64 = 4096;

/// The directory of the resident host's socket and of its locks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPaths {
    directory: PathBuf,
}

impl HostPaths {
    /// Returns the paths below a state directory.
    pub fn below(state: &Path) -> Self {
        Self { directory: state.join("run") }
    }

    /// Returns the directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the path of the socket.
    pub fn socket(&self) -> PathBuf {
        self.directory.join("host.sock")
    }

    /// Returns the path of the lock that the resident host holds while it runs.
    pub fn lock(&self) -> PathBuf {
        self.directory.join("host.lock")
    }

    /// Returns the path of the lock that a process holds while it starts the resident host.
    pub fn starting(&self) -> PathBuf {
        self.directory.join("starting.lock")
    }

    /// Returns the path of the log. A resident host that a hook has started prints its errors to this file.
    pub fn log(&self) -> PathBuf {
        self.directory.join("host.log")
    }

    /// Returns the path of a file that contains the path of a socket in another directory. The file exists only if the file system of this
    /// directory does not support sockets.
    pub fn socket_name(&self) -> PathBuf {
        self.directory.join("host.path")
    }

    /// Returns the path of the socket that is stored in the file [`Self::socket_name`].
    pub fn other_socket(&self) -> Option<PathBuf> {
        let mut name = String::new();
        let file = std::fs::File::open(self.socket_name()).ok()?;
        file.take(MAX_PATH).read_to_string(&mut name).ok()?;
        Some(PathBuf::from(name)).filter(|path| path.is_absolute())
    }

    /// Returns the path of the file that lists the user's own configuration files that were active before, one per line.
    pub fn users_file(&self) -> PathBuf {
        self.directory.join("users-file")
    }

    /// Returns the path of a socket to which hooks in `hookhost exec` send the calls that no resident host answered. `process` is the
    /// supervisor that listens there.
    pub fn notes(&self, process: u32) -> PathBuf {
        self.directory.join(format!("{NOTES_PREFIX}{process}.sock"))
    }

    /// Returns the paths of the sockets that [`Self::notes`] names, also those of supervisors that have ended.
    pub fn all_notes(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let is_socket = |name: &std::ffi::OsStr| name.as_encoded_bytes().starts_with(NOTES_PREFIX.as_bytes());
        entries.filter(|entry| is_socket(&entry.file_name())).map(|entry| entry.path()).collect()
    }

    /// Returns the path of the file that lists the calls that no resident host answered, one per line.
    pub fn unanswered(&self) -> PathBuf {
        self.directory.join("unanswered.jsonl")
    }
}
