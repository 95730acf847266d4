//! Configuration files on the disk: the directories of the user, and the files of a project.

use std::{
    fs,
    path::{Path, PathBuf},
};

use etcetera::BaseStrategy;

use super::{ConfigError, Digest, Layer, Source, paths::canonical};
use crate::files::{self, FileError, Guard, Links};

/// The name of a configuration file.
pub const FILE_NAME: &str = "hookhost.toml";

/// The name of the file that contains the profile in force.
const PROFILE_NAME: &str = "profile.toml";

/// Maximum size of a configuration file, in bytes: 4 MiB.
const MAX_SIZE: u64 = 4 << 20;

/// The directories of the user's own files.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UserDirectories {
    /// The directory of the user-wide `hookhost.toml`.
    pub config: PathBuf,
    /// Directory of the approvals of project files.
    pub state: PathBuf,
    /// The directory that `~/` stands for.
    pub home: Option<PathBuf>,
}

impl UserDirectories {
    /// Creates a value with two directories that the program chooses. It has no directory for `~/`.
    #[must_use]
    pub fn new(config: impl Into<PathBuf>, state: impl Into<PathBuf>) -> Self {
        Self { config: config.into(), state: state.into(), home: None }
    }

    /// Returns the platform's directories. On Linux and macOS, these are `$XDG_CONFIG_HOME/hookhost` (by default
    /// `~/.config/hookhost`) and `$XDG_STATE_HOME/hookhost` (by default `~/.local/state/hookhost`), as for other
    /// command-line programs. On Windows, they are `%APPDATA%\hookhost` and `%LOCALAPPDATA%\hookhost`. The environment
    /// variables `HOOKHOST_CONFIG_DIR` and `HOOKHOST_STATE_DIR` override these directories. An empty variable is
    /// treated as unset.
    ///
    /// # Errors
    /// [`ConfigError::NoHome`] if no variable names a directory, and the user's home is unknown.
    /// [`ConfigError::Relative`] if a variable contains a relative path.
    pub fn of_user() -> Result<Self, ConfigError> {
        let base = etcetera::choose_base_strategy().ok();
        let named = |variable| std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
        let config = || Some(base.as_ref()?.config_dir().join("hookhost"));
        let state = || {
            let base = base.as_ref()?;
            Some(base.state_dir().unwrap_or_else(|| base.cache_dir()).join("hookhost"))
        };
        let whole = |variable, path: PathBuf| match path.is_absolute() {
            true => Ok(path),
            false => Err(ConfigError::Relative { variable, path }),
        };
        let one = |variable, usual: Option<PathBuf>| match named(variable) {
            Some(path) => whole(variable, path),
            None => whole("HOME", usual.ok_or(ConfigError::NoHome)?),
        };
        Ok(Self {
            config: one("HOOKHOST_CONFIG_DIR", config())?,
            state: one("HOOKHOST_STATE_DIR", state())?,
            home: base.as_ref().map(|base| base.home_dir().to_owned()),
        })
    }

    /// Returns the path of the user-wide configuration file, which need not exist.
    #[must_use]
    pub fn user_file(&self) -> PathBuf {
        self.config.join(FILE_NAME)
    }

    /// Returns the path of the file that contains the profile in force. The file need not exist. It is a configuration file
    /// that the program writes, and the user-wide configuration file overrides it.
    #[must_use]
    pub fn profile_file(&self) -> PathBuf {
        self.config.join(PROFILE_NAME)
    }

    /// Returns the paths of the user's own files, [`profile_file`](Self::profile_file) and
    /// [`user_file`](Self::user_file). They apply everywhere and need no approval.
    #[must_use]
    pub fn user_files(&self) -> [PathBuf; 2] {
        [self.profile_file(), self.user_file()]
    }

    /// Returns the directory of the components that the program itself contains. Their file names contain their digests, so
    /// the components of several versions can be there.
    #[must_use]
    pub fn plugins(&self) -> PathBuf {
        self.state.join("plugins")
    }

    pub(super) fn source(&self, file: PathBuf, layer: Layer) -> Source {
        Source { file, layer, home: self.home.clone() }
    }
}

/// A project's configuration file. The file is read only once, so the user approves exactly the text that was shown.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProjectFile {
    /// The path of the file, with symbolic links resolved.
    pub path: PathBuf,
    /// The content of the file.
    pub text: String,
    /// The digest of the content.
    pub digest: Digest,
}

impl ProjectFile {
    /// Reads a project's file once. A symbolic link is an error, because an approval belongs to the path of the file
    /// itself.
    ///
    /// # Errors
    /// - [`ConfigError::Io`] if the file cannot be read.
    /// - [`ConfigError::Link`] if it is a symbolic link.
    /// - [`ConfigError::Refused`] if it is not a regular file, or if it is larger than 4 MiB.
    /// - [`ConfigError::Unreadable`] if it is not UTF-8.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let path = place(path);
        match files::read(&path, Guard::Anybodys, Links::Refused, MAX_SIZE) {
            Err(FileError::Refused(_)) if is_link(&path) => Err(ConfigError::Link { path }),
            read => Self::of(path.clone(), read),
        }
    }

    /// Reads a file that the user has named, following a symbolic link.
    pub(super) fn read_through_links(path: &Path, guard: Guard) -> Result<Self, ConfigError> {
        let path = &std::path::absolute(path).map_err(ConfigError::io("find", path))?;
        let read = files::read(path, guard, Links::Followed, MAX_SIZE);
        let path = path.canonicalize().map_err(ConfigError::io("read", path))?;
        Self::of(path, read)
    }

    fn of(path: PathBuf, read: Result<Vec<u8>, FileError>) -> Result<Self, ConfigError> {
        let bytes = read.map_err(ConfigError::file("read", &path))?;
        let digest = Digest::of_bytes(&bytes);
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Self { path, text, digest }),
            Err(_) => Err(ConfigError::Unreadable { path, why: "it is not UTF-8 text".to_owned() }),
        }
    }

    /// Returns the paths of the existing `hookhost.toml` files of this directory and of the directories above it,
    /// nearest first. This includes unreadable files.
    #[must_use]
    pub fn find(cwd: &Path) -> Vec<PathBuf> {
        Self::places(cwd).into_iter().filter(|file| fs::symlink_metadata(file).is_ok()).collect()
    }

    /// Returns the paths at which a `hookhost.toml` would be a project file for `cwd`, nearest first. The paths are in
    /// `cwd` and in the directories above it.
    #[must_use]
    pub fn places(cwd: &Path) -> Vec<PathBuf> {
        let cwd = canonical(&std::path::absolute(cwd).unwrap_or_else(|_| cwd.to_owned()));
        cwd.ancestors().map(|directory| directory.join(FILE_NAME)).collect()
    }
}

/// Returns the absolute path of a file, with symbolic links of its directory resolved. The file itself may be a link.
pub(super) fn place(file: &Path) -> PathBuf {
    let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    match (file.parent(), file.file_name()) {
        (Some(directory), Some(name)) => canonical(directory).join(name),
        _ => file,
    }
}

/// Returns true if the user's own file exists. An unreadable directory and a broken link are errors, because they may
/// hide a file with rules.
///
/// # Errors
/// [`ConfigError::Io`] if this cannot be determined.
pub(super) fn is_there(file: &Path) -> Result<bool, ConfigError> {
    let is_missing = |error: &std::io::Error| error.kind() == std::io::ErrorKind::NotFound;
    match fs::symlink_metadata(file) {
        Ok(_) => return Ok(true),
        Err(error) if !is_missing(&error) => return Err(ConfigError::io("look for", file)(error)),
        Err(_) => {}
    }
    for directory in file.ancestors().skip(1) {
        match fs::symlink_metadata(directory) {
            Ok(_) => return fs::metadata(directory).map(|_| false).map_err(ConfigError::io("look into", directory)),
            Err(error) if is_missing(&error) => {}
            Err(error) => return Err(ConfigError::io("look for", directory)(error)),
        }
    }
    Ok(false)
}

fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink())
}
