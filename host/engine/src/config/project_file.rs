//! Configuration files on the disk: the directories of the user, and the files of a project.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use etcetera::BaseStrategy;

use super::{
    ConfigError, Digest, Layer, Problems, Source, names,
    paths::canonical,
    place::Text,
    rules_section::{RULE_FILE_SUFFIX, RuleFile, RulesSection},
    toml,
};
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
    /// The texts of the files of rules that the file names, by their paths as it writes them.
    pub rule_files: BTreeMap<String, String>,
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

    /// Also reads the files of rules that the file names, each once. None of them can be a symbolic link, or be in a linked
    /// directory.
    ///
    /// # Errors
    /// [`ConfigError::Invalid`] if the file is not TOML, or if a file of rules cannot be used.
    pub fn with_rule_files(mut self) -> Result<Self, ConfigError> {
        let mut problems = Vec::new();
        for file in self.named_rule_files(&Source::new(&self.path, Layer::Project))? {
            match Self::read_below(&file.path) {
                Ok(read) => _ = self.rule_files.insert(file.written, read.text),
                Err(error) => problems.push(file.problem(&file.unreadable(&error))),
            }
        }
        Ok(Problems::none_or(problems, self)?)
    }

    /// Returns the files of rules that the file names.
    pub(super) fn named_rule_files(&self, source: &Source) -> Result<Vec<RuleFile>, ConfigError> {
        let text = Text { path: self.path.clone(), layer: source.layer, text: self.text.clone() };
        let table = toml::parse(&Arc::new(text)).map_err(Problems::of)?;
        let Some(node) = table.get("rules") else { return Ok(Vec::new()) };
        let mut problems = Vec::new();
        let files = RulesSection::read(node, source, false, &mut problems).files;
        Ok(Problems::none_or(problems, files)?)
    }

    /// Reads a file of rules of a project. `path` has no `..`, and its project's directory has no symbolic links.
    pub(super) fn read_below(path: &Path) -> Result<Self, ConfigError> {
        let file = Self::read(path)?;
        if file.path == path { Ok(file) } else { Err(ConfigError::Link { path: path.to_owned() }) }
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
            Ok(text) => Ok(Self { path, text, digest, rule_files: BTreeMap::new() }),
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

impl RuleFile {
    /// Returns the reason why the file cannot be read, and the nearest file of rules if it does not exist.
    pub(super) fn unreadable(&self, error: &ConfigError) -> String {
        let is_missing =
            matches!(error, ConfigError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound);
        if !is_missing {
            return error.to_string();
        }
        let entries =
            self.path.parent().and_then(|directory| fs::read_dir(directory).ok()).into_iter().flatten().flatten();
        let others: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        let others = others.iter().map(String::as_str).filter(|name| is_rule_file(Path::new(name)));
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let advice = names::nearest(&name, others).map_or("take it out, or write it".to_owned(), |near| {
            let written = self.written.strip_suffix(&*name).unwrap_or_default();
            format!("did you mean `{written}{near}`?")
        });
        format!("there is no file {}: {advice}", self.path.display())
    }
}

/// Returns true if the name of a file says that it has only rules.
#[must_use]
pub fn is_rule_file(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(RULE_FILE_SUFFIX))
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
