//! Which files count: the user's own, and those of the project that the user has approved.
//!
//! A project's files are the `hookhost.toml` of the working directory and of every folder above it. Each is inert until
//! the user has approved its exact content, and an inert one is not even parsed; all that are approved count, outermost
//! first, so that neither an inert nor an approved file further down takes away a rule from further up.

use std::{
    fmt, fs,
    io::Read,
    path::{Path, PathBuf},
};

use etcetera::BaseStrategy;

use super::{Config, Digest, Error, Layer, Source, TrustStore, file, paths::canonical};

/// The name of a configuration file.
pub const FILE_NAME: &str = "hookhost.toml";

/// The largest configuration file, in bytes: 4 MiB.
const LARGEST: u64 = 4 << 20;

/// Where the user's own files are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// The folder of the user-wide `hookhost.toml`.
    pub config: PathBuf,
    /// The folder of what the host remembers: which project files are approved.
    pub state: PathBuf,
    /// What `~/` stands for.
    pub home: Option<PathBuf>,
}

impl Places {
    /// The platform's folders: `$XDG_CONFIG_HOME/hookhost` (`~/.config/hookhost`) and `$XDG_STATE_HOME/hookhost`
    /// (`~/.local/state/hookhost`), also on macOS, where command-line programs keep theirs; on Windows
    /// `%APPDATA%\hookhost` and `%LOCALAPPDATA%\hookhost`. The environment variables `HOOKHOST_CONFIG_DIR` and
    /// `HOOKHOST_STATE_DIR` name other folders; an empty one counts as unset.
    ///
    /// # Errors
    /// [`Error::NoHome`] where a folder is neither named nor can be found.
    pub fn of_user() -> Result<Self, Error> {
        let base = etcetera::choose_base_strategy().ok();
        let named = |variable| std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
        let config = || Some(base.as_ref()?.config_dir().join("hookhost"));
        let state = || {
            let base = base.as_ref()?;
            Some(base.state_dir().unwrap_or_else(|| base.cache_dir()).join("hookhost"))
        };
        Ok(Self {
            config: named("HOOKHOST_CONFIG_DIR").or_else(config).ok_or(Error::NoHome)?,
            state: named("HOOKHOST_STATE_DIR").or_else(state).ok_or(Error::NoHome)?,
            home: base.as_ref().map(|base| base.home_dir().to_owned()),
        })
    }

    /// The user-wide configuration file, whether or not it exists.
    #[must_use]
    pub fn user_file(&self) -> PathBuf {
        self.config.join(FILE_NAME)
    }

    fn source(&self, file: PathBuf, layer: Layer) -> Source {
        Source { file, layer, home: self.home.clone() }
    }
}

/// What [`Config::discover`] finds.
#[derive(Clone, Debug)]
pub struct Discovered {
    /// What counts.
    pub config: Config,
    /// Project files that do not, nearest first: to be announced, with `hookhost trust`.
    pub inert: Vec<InertFile>,
}

/// A project's file that does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InertFile {
    /// The file, symbolic links resolved where that is possible.
    pub path: PathBuf,
    /// What it holds; `None` where it cannot be read.
    pub digest: Option<Digest>,
    /// Why it does not count.
    pub why: Inert,
}

/// Why a project's file does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inert {
    /// The user has approved no content of this file.
    NeverApproved,
    /// It is not what the user approved.
    Changed {
        /// The digest of what the user approved.
        approved: Digest,
    },
    /// It cannot be read; the text says why.
    Unreadable(String),
}

impl fmt::Display for InertFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.why {
            Inert::NeverApproved => write!(f, "{path} does not count: you have not approved it"),
            Inert::Changed { .. } => write!(f, "{path} does not count: it has changed since you approved it"),
            Inert::Unreadable(why) => write!(f, "{path} does not count: {why}"),
        }
    }
}

/// A project's configuration file as it was at one moment: what is shown to the user is what is approved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectFile {
    /// The file, symbolic links resolved.
    pub path: PathBuf,
    /// Its content.
    pub text: String,
    /// The digest of its content.
    pub digest: Digest,
}

impl ProjectFile {
    /// Reads a file, once.
    ///
    /// # Errors
    /// [`Error::Io`] where it cannot be read; [`Error::Unreadable`] where it is no regular file, larger than 4 MiB, or
    /// not UTF-8.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let path = path.canonicalize().map_err(Error::io("read", path))?;
        let unreadable = |why: &str| Error::Unreadable { path: path.clone(), why: why.to_owned() };
        // A named pipe would be waited on for ever.
        if !fs::metadata(&path).map_err(Error::io("read", &path))?.is_file() {
            return Err(unreadable("it is not a regular file"));
        }
        let file = fs::File::open(&path).map_err(Error::io("read", &path))?;
        let mut bytes = Vec::new();
        file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(Error::io("read", &path))?;
        if bytes.len() as u64 > LARGEST {
            return Err(unreadable("it is larger than 4 MiB"));
        }
        let digest = Digest::of_bytes(&bytes);
        let text = String::from_utf8(bytes).map_err(|_| unreadable("it is not UTF-8 text"))?;
        Ok(Self { path, text, digest })
    }

    /// The `hookhost.toml` of this folder and of those above it, nearest first, whether or not they can be read.
    #[must_use]
    pub fn find(cwd: &Path) -> Vec<PathBuf> {
        let cwd = canonical(&std::path::absolute(cwd).unwrap_or_else(|_| cwd.to_owned()));
        let files = cwd.ancestors().map(|folder| folder.join(FILE_NAME));
        files.filter(|file| fs::symlink_metadata(file).is_ok()).collect()
    }
}

impl Config {
    /// Reads the one file that the user named; it counts alone.
    ///
    /// # Errors
    /// As [`ProjectFile::read`] where it cannot be read, and as [`Config::parse`].
    pub fn open(path: &Path, places: &Places, sections: &[&str]) -> Result<Self, Error> {
        let file = ProjectFile::read(path)?;
        let parsed = file::parse(&file.text, &places.source(file.path, Layer::Chosen), sections);
        Self::add_up(vec![parsed], canonical)
    }

    /// Reads the user's own file, if there is one, and the approved files of the project that `cwd` is in, and adds them
    /// up. A project's file can add entries and keys; it cannot loosen a setting, reuse a name, name a file that has an
    /// entry, or give a key that is given already.
    ///
    /// # Errors
    /// [`Error::Invalid`] with all that is wrong in the files that count; [`Error::Io`] or [`Error::Unreadable`] where the
    /// user's own cannot be read; [`Error::TrustStore`] where it is not known what is approved.
    pub fn discover(cwd: &Path, places: &Places, sections: &[&str]) -> Result<Discovered, Error> {
        let mut counting = Vec::new();
        let user_file = places.user_file();
        if fs::symlink_metadata(&user_file).is_ok() {
            let user = ProjectFile::read(&user_file)?;
            counting.push(file::parse(&user.text, &places.source(user.path, Layer::User), sections));
        }
        let (approved, inert) = project_files(cwd, places)?;
        for project in approved {
            counting.push(file::parse(&project.text, &places.source(project.path, Layer::Project), sections));
        }
        Ok(Discovered { config: Self::add_up(counting, canonical)?, inert })
    }
}

/// The project's files that are approved, outermost first, and those that are not, nearest first.
fn project_files(cwd: &Path, places: &Places) -> Result<(Vec<ProjectFile>, Vec<InertFile>), Error> {
    let store = TrustStore::of(places);
    let user_file = canonical(&places.user_file());
    let (mut approved, mut inert) = (Vec::new(), Vec::new());
    for path in ProjectFile::find(cwd).into_iter().filter(|path| canonical(path) != user_file) {
        match ProjectFile::read(&path) {
            Err(error) => inert.push(InertFile { path, digest: None, why: Inert::Unreadable(error.to_string()) }),
            Ok(file) => match store.objection(&file)? {
                None => approved.push(file),
                Some(why) => inert.push(InertFile { path: file.path, digest: Some(file.digest), why }),
            },
        }
    }
    approved.reverse();
    Ok((approved, inert))
}
