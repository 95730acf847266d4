//! Configuration files as they lie on the disk: the directories of the user, and the files of a project.

use std::{
    fs,
    path::{Path, PathBuf},
};

use etcetera::BaseStrategy;

use super::{ConfigError, Digest, Layer, Source, paths::canonical};
use crate::files::{self, FileError, Guard, Links};

/// The name of a configuration file.
pub const FILE_NAME: &str = "hookhost.toml";

/// The largest configuration file, in bytes: 4 MiB.
const MAX_SIZE: u64 = 4 << 20;

/// The directories of the user's own files.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UserDirectories {
    /// The directory of the user-wide `hookhost.toml`.
    pub config: PathBuf,
    /// The directory of what the host remembers: which project files are approved.
    pub state: PathBuf,
    /// The directory for `~/`.
    pub home: Option<PathBuf>,
}

impl UserDirectories {
    /// Two directories of a program's choice, and none for `~/`.
    #[must_use]
    pub fn new(config: impl Into<PathBuf>, state: impl Into<PathBuf>) -> Self {
        Self { config: config.into(), state: state.into(), home: None }
    }

    /// The platform's directories: `$XDG_CONFIG_HOME/hookhost` (`~/.config/hookhost`) and `$XDG_STATE_HOME/hookhost`
    /// (`~/.local/state/hookhost`), also on macOS, where command-line programs keep theirs; on Windows
    /// `%APPDATA%\hookhost` and `%LOCALAPPDATA%\hookhost`. The environment variables `HOOKHOST_CONFIG_DIR` and
    /// `HOOKHOST_STATE_DIR` name other directories; an empty one counts as unset.
    ///
    /// # Errors
    /// [`ConfigError::NoHome`] where a directory is neither named nor can be found; [`ConfigError::Relative`] where it is named by a
    /// path that does not begin at the root.
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

    /// The user-wide configuration file, whether or not it exists.
    #[must_use]
    pub fn user_file(&self) -> PathBuf {
        self.config.join(FILE_NAME)
    }

    pub(super) fn source(&self, file: PathBuf, layer: Layer) -> Source {
        Source { file, layer, home: self.home.clone() }
    }
}

/// A project's configuration file as it was at one moment: what is shown to the user is what is approved.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProjectFile {
    /// The file, symbolic links resolved.
    pub path: PathBuf,
    /// Its content.
    pub text: String,
    /// The digest of its content.
    pub digest: Digest,
}

impl ProjectFile {
    /// Reads a project's file, once. A symbolic link is not followed: a project's file counts by where it lies.
    ///
    /// # Errors
    /// [`ConfigError::Io`] where it cannot be read; [`ConfigError::Link`] where it is a symbolic link;
    /// [`ConfigError::Refused`] where it is not a regular file, or larger than 4 MiB;
    /// [`ConfigError::Unreadable`] where it is not UTF-8.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let path = place(path);
        match files::read(&path, Guard::Anybodys, Links::Refused, MAX_SIZE) {
            Err(FileError::Refused(_)) if is_link(&path) => Err(ConfigError::Link { path }),
            read => Self::of(path.clone(), read),
        }
    }

    /// Reads a file that the user has named, also through a symbolic link: it is the file that the link leads to.
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

    /// The `hookhost.toml` of this directory and of those above it, nearest first, whether or not they can be read.
    #[must_use]
    pub fn find(cwd: &Path) -> Vec<PathBuf> {
        Self::places(cwd).into_iter().filter(|file| fs::symlink_metadata(file).is_ok()).collect()
    }

    /// The possible paths of a `hookhost.toml` of the project that `cwd` is in, nearest first: in this
    /// directory and those above it.
    #[must_use]
    pub fn places(cwd: &Path) -> Vec<PathBuf> {
        let cwd = canonical(&std::path::absolute(cwd).unwrap_or_else(|_| cwd.to_owned()));
        cwd.ancestors().map(|directory| directory.join(FILE_NAME)).collect()
    }
}

/// The absolute path of a file, with its directory without symbolic links. The file itself may be one.
pub(super) fn place(file: &Path) -> PathBuf {
    let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    match (file.parent(), file.file_name()) {
        (Some(directory), Some(name)) => canonical(directory).join(name),
        _ => file,
    }
}

/// True if the user's own file is there. A directory that cannot be looked into, or a link that leads nowhere, may hide one: rules
/// that nobody can read are not no rules.
///
/// # Errors
/// [`ConfigError::Io`] where that cannot be told.
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
