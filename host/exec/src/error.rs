//! What a person gets to read: errors, and notices while a program runs.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::plan::{optional_path_bytes, path_bytes};

/// The reason why a program is not run, or its end is not known.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExecError {
    /// The system is not Linux.
    #[error("a program cannot be guarded on this system, because it is not Linux: use the agent's own sandbox")]
    NotAvailable,
    /// The command is empty.
    #[error("no program is named: put it after --, as in hookhost exec -- bash")]
    NoProgram,
    /// The helper program cannot be started.
    #[error("{} cannot be started ({error}): install hookhost again", path.display())]
    Helper {
        /// The helper program.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// The kernel cannot hold the plan, so the program is not started.
    #[error("the program is not started, because {0}")]
    Refused(String),
    /// The plan no longer holds, so the program was ended.
    #[error("the program was ended, because {0}: start it again")]
    Ended(String),
    /// There is no such program.
    #[error("{} is not found: check its name and PATH", Path::new(.0).display())]
    NotFound(std::ffi::OsString),
    /// The program exists and cannot be executed.
    #[error("{} cannot be executed ({error}): check its permissions", Path::new(program).display())]
    NotExecutable {
        /// The program.
        program: std::ffi::OsString,
        /// The error of the system.
        error: io::Error,
    },
    /// The helper has ended, and the program with it.
    #[error("the program has ended, because a process of hookhost exec was ended from outside: start it again")]
    Lost,
    /// The system refuses something that the supervision needs.
    #[error("the program cannot be supervised ({0}): check the limits of processes and open files")]
    Io(#[from] io::Error),
}

impl ExecError {
    /// The exit code that a shell expects: 127 if the program is not found, and 126 otherwise.
    pub fn exit_code(&self) -> u8 {
        if matches!(self, Self::NotFound(_)) { 127 } else { 126 }
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn not_started(program: &std::ffi::OsStr, errno: i32) -> Self {
        let error = io::Error::from_raw_os_error(errno);
        // Of a PATH with a directory that the user may not enter, the system says that it is not permitted.
        let is_name = Path::new(program).components().count() == 1 && !program.as_encoded_bytes().contains(&b'/');
        let path = std::env::var_os("PATH").unwrap_or_default();
        let is_in_path = || std::env::split_paths(&path).any(|directory| directory.join(program).exists());
        let is_denied = error.kind() == io::ErrorKind::PermissionDenied;
        if error.kind() == io::ErrorKind::NotFound || is_denied && is_name && !is_in_path() {
            return Self::NotFound(program.to_owned());
        }
        Self::NotExecutable { program: program.to_owned(), error }
    }
}

/// Something that a person should know about a run.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum Notice {
    /// The program runs with less protection.
    Partly {
        /// Why there are no namespaces; `None` if there are.
        because: Option<String>,
        /// What is not protected.
        lacks: Vec<String>,
    },
    /// A guarded path was replaced from outside, and is guarded again.
    Replaced {
        /// The guarded path.
        #[serde(with = "path_bytes")]
        path: PathBuf,
        /// The number of processes inside that were ended, because they could have changed the path.
        ended: usize,
    },
    /// A directory on the way to a guarded path had lost the permissions of its owner, and has them again.
    ModeRestored {
        /// The directory.
        #[serde(with = "path_bytes")]
        path: PathBuf,
    },
    /// A guarded file that did not exist has appeared, and was moved away.
    Quarantined {
        /// The guarded path, or a symbolic link that was made on the way to it.
        #[serde(with = "path_bytes")]
        path: PathBuf,
        /// Where it is now.
        #[serde(with = "path_bytes")]
        moved_to: PathBuf,
    },
    /// Guarded keys of a file have the values of the start again.
    KeysRestored {
        /// The file.
        #[serde(with = "path_bytes")]
        path: PathBuf,
        /// The keys that were changed, as the policy names them.
        keys: Vec<String>,
    },
    /// A file whose guarded keys could not be read has the text of the start again.
    TextRestored {
        /// The file.
        #[serde(with = "path_bytes")]
        path: PathBuf,
        /// Where the unreadable text is now; `None` if there was none.
        #[serde(with = "optional_path_bytes")]
        moved_to: Option<PathBuf>,
    },
    /// The watch was ended from outside.
    WatchEnded,
    /// The program wanted to reach a host that it may not reach.
    HostRefused {
        /// The name or the address of the host.
        host: String,
        /// Why, as the end of a sentence after "because".
        because: String,
    },
    /// A path cannot be watched or put right.
    NotWatched {
        /// The path.
        #[serde(with = "path_bytes")]
        path: PathBuf,
        /// Why, as the end of a sentence after "because".
        because: String,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Partly { because, lacks } => {
                formatter.write_str("second line: partly")?;
                if let Some(because) = because {
                    write!(formatter, ", because {because}")?;
                }
                write!(formatter, "; {}", lacks.join("; "))
            }
            Self::Replaced { path, ended } => {
                write!(formatter, "{} was replaced from outside, and is guarded again", path.display())?;
                match ended {
                    0 => Ok(()),
                    1 => formatter.write_str("; one process that could have changed it was ended"),
                    ended => write!(formatter, "; {ended} processes that could have changed it were ended"),
                }
            }
            Self::ModeRestored { path } => {
                write!(formatter, "{} had lost its owner's permissions, and has them again", path.display())
            }
            Self::Quarantined { path, moved_to } => write!(
                formatter,
                "{} appeared while the program runs, and is guarded, so it was moved to {}: if you made it, move it \
                 back after the run",
                shown(path),
                shown(moved_to)
            ),
            Self::KeysRestored { path, keys } => write!(
                formatter,
                "{} has the values of the start again at {}: change them outside, when the program has ended",
                shown(path),
                keys.join(", ")
            ),
            Self::TextRestored { path, moved_to } => {
                write!(formatter, "{} could not be read, and has the text of the start again", shown(path))?;
                match moved_to {
                    Some(moved_to) => write!(formatter, "; what was there is at {}", shown(moved_to)),
                    None => Ok(()),
                }
            }
            Self::WatchEnded => formatter.write_str(
                "the watch was ended from outside, so guarded files that appear stay, and so do changed keys: start the \
                 program again",
            ),
            Self::HostRefused { host, because } => {
                write!(formatter, "the program was refused {host}, because {because}")
            }
            Self::NotWatched { path, because } => {
                write!(formatter, "{} is not guarded, because {because}", shown(path))
            }
        }
    }
}

/// Shows a path that a program inside may have named. Control characters could change what the person sees.
fn shown(path: &Path) -> String {
    let escape = |letter: char| match letter.is_control() {
        true => letter.escape_default().collect(),
        false => letter.to_string(),
    };
    path.to_string_lossy().chars().map(escape).collect()
}
