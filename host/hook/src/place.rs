//! Where the resident host of a user is reached: a directory that is the user's alone.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The variable that names the directory of what hookhost remembers.
const STATE_VARIABLE: &str = "HOOKHOST_STATE_DIR";

/// The variables that say where hookhost's files are. A resident host serves those alone whose environment has the same ones.
pub const DIRECTORIES: [&str; 6] =
    ["HOOKHOST_CONFIG_DIR", STATE_VARIABLE, "HOOKHOST_CACHE_DIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "HOME"];

/// Those of [`DIRECTORIES`] that this process has, with their values.
#[must_use]
pub fn directories() -> Vec<(String, String)> {
    let value = |name: &str| Some((name.to_owned(), std::env::var_os(name)?.to_string_lossy().into_owned()));
    DIRECTORIES.into_iter().filter_map(value).collect()
}

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
    /// `~/.local/state/hookhost`. Absent where no variable says it.
    #[must_use]
    pub fn of_user() -> Option<Self> {
        Self::by_variables(|name| std::env::var_os(name))
    }

    /// The same by the variables alone. The system's list of users would say the home of somebody without `HOME`, too; to read it,
    /// the program would need half of the C library.
    fn by_variables(variable: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let path = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let state = path(STATE_VARIABLE).or_else(|| {
            // A relative path in it is invalid, and ignored: XDG Base Directory Specification.
            let base = path("XDG_STATE_HOME").filter(|path| path.is_absolute());
            Some(base.or_else(|| Some(path("HOME")?.join(".local/state")))?.join("hookhost"))
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

#[cfg(test)]
mod tests {
    use super::Place;
    use std::ffi::OsString;

    fn of(variables: &[(&str, &str)]) -> Option<Place> {
        let value =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value));
        Place::by_variables(value)
    }

    #[test]
    fn the_place_is_where_the_command_keeps_its_log() {
        let home = ("HOME", "/home/me");
        let place = |directory: &str| Some(Place::below(directory.as_ref()));
        assert_eq!(of(&[home]), place("/home/me/.local/state/hookhost"));
        assert_eq!(of(&[home, ("XDG_STATE_HOME", "/state")]), place("/state/hookhost"));
        assert_eq!(of(&[home, ("XDG_STATE_HOME", "state")]), place("/home/me/.local/state/hookhost"));
        assert_eq!(of(&[home, ("XDG_STATE_HOME", "/state"), ("HOOKHOST_STATE_DIR", "/x")]), place("/x"));
        assert_eq!(of(&[home, ("XDG_STATE_HOME", ""), ("HOOKHOST_STATE_DIR", "")]), of(&[home]));
        assert_eq!(of(&[("HOME", "")]), None);
        assert_eq!(of(&[]), None);
    }
}
