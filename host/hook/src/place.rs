//! Where the resident host of a user is reached: a directory that is the user's alone.

use etcetera::BaseStrategy as _;
use std::path::{Path, PathBuf};

/// The variable that names the directory of what hookhost remembers.
const STATE_VARIABLE: &str = "HOOKHOST_STATE_DIR";

/// Upper bound of a socket's path, in bytes: `sockaddr_un` has 108 on Linux and 104 on macOS, one of them for its end.
pub const MAX_SOCKET_PATH: usize = 103;

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

    /// The user's place, below the same directory in which the log is: `$HOOKHOST_STATE_DIR`, or `$XDG_STATE_HOME/hookhost`, or
    /// `~/.local/state/hookhost`. Absent where none of these can be found.
    #[must_use]
    pub fn of_user() -> Option<Self> {
        let named = std::env::var_os(STATE_VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
        let state = named.or_else(|| {
            let base = etcetera::choose_base_strategy().ok()?;
            Some(base.state_dir().unwrap_or_else(|| base.cache_dir()).join("hookhost"))
        });
        state.map(|state| Self::below(&state))
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

    /// What several processes settle once, a file each.
    #[must_use]
    pub fn claims(&self) -> PathBuf {
        self.directory.join("claims")
    }

    /// The calls that nobody answered, a line each.
    #[must_use]
    pub fn unanswered(&self) -> PathBuf {
        self.directory.join("unanswered.jsonl")
    }
}
