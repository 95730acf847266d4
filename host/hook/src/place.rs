//! Where the resident host of a user is reached: a directory that is the user's alone.

use hookhost_adapters::directories::{DIRECTORY_VARIABLES, Directories};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Returns the directories of hookhost's files to which the environment of this process leads.
#[must_use]
pub fn directories() -> Directories {
    Directories::of_environment(&|name| std::env::var_os(name))
}

/// Returns those of [`DIRECTORY_VARIABLES`] that this process has, with their values.
#[must_use]
pub fn variables() -> Vec<(String, String)> {
    let value = |name: &str| Some((name.to_owned(), std::env::var_os(name)?.to_string_lossy().into_owned()));
    DIRECTORY_VARIABLES.into_iter().filter_map(value).collect()
}

/// Upper bound of a socket's path, in bytes: `sockaddr_un` has 108 on Linux and 104 on macOS, one of them for its end.
pub const MAX_SOCKET_PATH: usize = 103;

/// Upper bound of a path, in bytes: `PATH_MAX` of Linux.
const MAX_PATH: u64 = 4096;

/// The directory of the resident host's socket and of its locks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    directory: PathBuf,
}

impl Place {
    /// The place below a directory of state.
    #[must_use]
    pub fn below(state: &Path) -> Self {
        Self { directory: state.join("run") }
    }

    /// The directory.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.directory.join("host.sock")
    }

    /// The lock that the resident host holds as long as it lives.
    #[must_use]
    pub fn lock(&self) -> PathBuf {
        self.directory.join("host.lock")
    }

    /// The lock of anyone who starts the resident host.
    #[must_use]
    pub fn starting(&self) -> PathBuf {
        self.directory.join("starting.lock")
    }

    /// What a resident host that a hook has started says of what goes wrong.
    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.directory.join("host.log")
    }

    /// The file that names a socket elsewhere, where the file system of the directory holds none.
    #[must_use]
    pub fn socket_name(&self) -> PathBuf {
        self.directory.join("host.path")
    }

    /// Returns the socket that [`Self::socket_name`] names.
    #[must_use]
    pub fn other_socket(&self) -> Option<PathBuf> {
        let mut name = String::new();
        let file = std::fs::File::open(self.socket_name()).ok()?;
        file.take(MAX_PATH).read_to_string(&mut name).ok()?;
        Some(PathBuf::from(name)).filter(|path| path.is_absolute())
    }

    /// The path of the user's own file, written once the file has counted.
    #[must_use]
    pub fn users_file(&self) -> PathBuf {
        self.directory.join("users-file")
    }

    /// The calls that nobody answered, a line each.
    #[must_use]
    pub fn unanswered(&self) -> PathBuf {
        self.directory.join("unanswered.jsonl")
    }
}
