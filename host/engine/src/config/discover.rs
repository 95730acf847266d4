//! Finds the files that count: the user's own, and those of the project that the user has approved.
//!
//! A project's files are the `hookhost.toml` of the working directory and of every directory above
//! it. Each is inert until the user has approved its exact content, and an inert one is not even
//! parsed; all that are approved count, outermost first, so that neither an inert nor an approved
//! file further down takes away a rule from further up. What was approved counts as it was
//! approved, even if the file changes. A file counts by where it lies: a link counts for nothing.

use std::{
    collections::BTreeMap,
    fmt, fs,
    path::{Path, PathBuf},
};

use super::project_file::{ProjectFile, UserDirectories, is_there, place};
use super::trust::{Approved, TrustStore};
use super::{Config, ConfigError, Digest, Entry, Layer, file, paths::canonical};
use crate::files::Guard;

/// The result of [`Config::discover`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Discovered {
    /// The configuration that counts.
    pub config: Config,
    /// Project files that do not, nearest first: to be announced, with `hookhost trust`.
    pub inert: Vec<InertFile>,
    /// Project files that are not what the user approved, nearest first: what was approved counts in their place. To be
    /// announced, with `hookhost trust`.
    pub changes: Vec<UnapprovedChange>,
}

impl From<Config> for Discovered {
    /// This configuration, beside which nothing was looked for.
    fn from(config: Config) -> Self {
        Self { config, inert: Vec::new(), changes: Vec::new() }
    }
}

/// A project's file whose approved content counts, since the file itself has another one or is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnapprovedChange {
    /// The path under which the file was approved.
    pub path: PathBuf,
    /// The digest of the content that counts.
    pub approved: Digest,
    /// The present content of that path.
    pub found: Found,
}

/// The present content of an approved file's path.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Found {
    /// A file with another content.
    Changed {
        /// Its digest.
        digest: Digest,
    },
    /// Nothing.
    Nothing,
    /// Something that cannot be read; the text says why.
    Unreadable(String),
}

impl fmt::Display for UnapprovedChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.found {
            Found::Changed { .. } => write!(f, "{path} has changed since you approved it"),
            Found::Nothing => write!(f, "{path} is gone since you approved it"),
            Found::Unreadable(why) => write!(f, "{path} cannot be read since you approved it ({why})"),
        }?;
        f.write_str(": what you approved counts until you approve the change or revoke the approval")
    }
}

/// A project's file that does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InertFile {
    /// The file, symbolic links resolved where that is possible.
    pub path: PathBuf,
    /// The digest of its content; `None` if it cannot be read.
    pub digest: Option<Digest>,
    /// The reason why it does not count.
    pub why: Inert,
}

/// The reason why a project's file does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Inert {
    /// The user has approved no content of this file.
    NeverApproved,
    /// It is a symbolic link, and a project's file counts by where it lies.
    Link,
    /// It is not what the user approved, or is gone, and an earlier version kept only the digest of that.
    Lost {
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
            Inert::Link => write!(
                f,
                "{path} does not count: it is a symbolic link, and a project's file counts by where it lies; put the file \
                 itself there, and approve it there"
            ),
            Inert::Lost { .. } => write!(
                f,
                "{path} does not count: it is not what you approved any more, and an earlier hookhost kept only the digest \
                 of that; approve it again, put the old content back, or revoke the approval"
            ),
            Inert::Unreadable(why) => write!(f, "{path} does not count: {why}"),
        }
    }
}

impl Config {
    /// Reads the one file that the user named; it counts alone.
    ///
    /// # Errors
    /// [`ConfigError::Io`], [`ConfigError::Refused`] or [`ConfigError::Unreadable`] where it cannot be read or others
    /// than the user and root can have written it, and as [`Config::parse`].
    pub fn open(path: &Path, places: &UserDirectories, sections: &[&str]) -> Result<Self, ConfigError> {
        let file = ProjectFile::read_through_links(path, Guard::OnlyMineToWrite)?;
        let parsed = file::parse(&file.text, &places.source(file.path, Layer::Chosen), sections);
        Self::add_up(vec![parsed], canonical)
    }

    /// Reads the user's own file, if there is one, and what the user has approved of the files of
    /// the project that `cwd` is in, and adds them up. A project's file can add entries and keys;
    /// it cannot loosen a setting, reuse a name, name a file that has an entry, or give a key that
    /// is given already.
    ///
    /// # Errors
    /// [`ConfigError::Invalid`] with all that is wrong in the files that count; [`ConfigError::Io`],
    /// [`ConfigError::Refused`] or [`ConfigError::Unreadable`] where the user's own cannot be read or others
    /// can have written it; [`ConfigError::TrustStore`] where it is not known what is approved;
    /// [`ConfigError::Entry`] where a directory that a project grants is a link out of the project.
    pub fn discover(cwd: &Path, places: &UserDirectories, sections: &[&str]) -> Result<Discovered, ConfigError> {
        let mut counting = Vec::new();
        let user_file = places.user_file();
        if is_there(&user_file)? {
            let user = ProjectFile::read_through_links(&user_file, Guard::OnlyMineToWrite)?;
            counting.push(file::parse(&user.text, &places.source(user.path, Layer::User), sections));
        }
        let Project { approved, inert, changes } = Project::of(cwd, places)?;
        for project in approved {
            counting.push(file::parse(&project.text, &places.source(project.path, Layer::Project), sections));
        }
        let config = Self::add_up(counting, canonical)?;
        config.entries().iter().try_for_each(directories_stay_in_the_project)?;
        Ok(Discovered { config, inert, changes })
    }
}

/// The files of a project.
#[derive(Default)]
struct Project {
    /// The files that count, outermost first.
    approved: Vec<ProjectFile>,
    /// Those that do not count, nearest first.
    inert: Vec<InertFile>,
    /// Those that are not what counts in their place, nearest first.
    changes: Vec<UnapprovedChange>,
}

impl Project {
    fn of(cwd: &Path, places: &UserDirectories) -> Result<Self, ConfigError> {
        let user_file = canonical(&places.user_file());
        let approvals = TrustStore::of(places).approved()?.into_iter();
        let mut approvals: BTreeMap<_, _> = approvals.map(|approved| (approved.path.clone(), approved)).collect();
        let mut project = Self::default();
        for path in ProjectFile::places(cwd) {
            // The user's own file needs no approval, also where the working directory lies beside it.
            if path != user_file && path != place(&places.user_file()) {
                project.add(approvals.remove(&path), path);
            }
        }
        project.approved.reverse();
        Ok(project)
    }

    fn add(&mut self, approval: Option<Approved>, path: PathBuf) {
        let read = ProjectFile::read(&path);
        let is_missing = |error: &ConfigError| matches!(error, ConfigError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound);
        match (approval, read) {
            (None, Err(_)) if fs::symlink_metadata(&path).is_err() => {}
            (None, Err(ConfigError::Link { .. })) => {
                self.inert.push(InertFile { path, digest: None, why: Inert::Link });
            }
            (None, Err(error)) => {
                self.inert.push(InertFile { path, digest: None, why: Inert::Unreadable(why(&error)) });
            }
            (None, Ok(file)) => {
                self.inert.push(InertFile { path, digest: Some(file.digest), why: Inert::NeverApproved });
            }
            (Some(approved), Ok(file)) if file.digest == approved.digest => self.approved.push(file),
            (Some(Approved { content: None, digest, .. }), read) => {
                let found = read.ok().map(|file| file.digest);
                self.inert.push(InertFile { path, digest: found, why: Inert::Lost { approved: digest } });
            }
            (Some(Approved { content: Some(text), digest, .. }), read) => {
                let found = match read {
                    Ok(file) => Found::Changed { digest: file.digest },
                    Err(error) if is_missing(&error) => Found::Nothing,
                    Err(error) => Found::Unreadable(why(&error)),
                };
                self.changes.push(UnapprovedChange { path: path.clone(), approved: digest, found });
                self.approved.push(ProjectFile { path, text, digest });
            }
        }
    }
}

/// The reason why a file cannot be read, without its path.
fn why(error: &ConfigError) -> String {
    match error {
        ConfigError::Io { source, .. } => source.to_string(),
        ConfigError::Refused(refused) => refused.fault.clone(),
        ConfigError::Link { .. } => "it is a symbolic link".to_owned(),
        ConfigError::Unreadable { why, .. } => why.clone(),
        other => other.to_string(),
    }
}

/// A directory that a project's file grants by a path inside of the project lies inside of it: what
/// was approved is the path, and a link that comes into its place with the next change of the
/// project must not lead elsewhere.
fn directories_stay_in_the_project(entry: &Entry) -> Result<(), ConfigError> {
    let Some(origin) = entry.origin.as_ref().filter(|origin| origin.layer == Layer::Project) else { return Ok(()) };
    let Some(project) = origin.file.parent() else { return Ok(()) };
    let directories = entry.grants.read_dirs.values().map(|directory| ("read-dirs", directory));
    for (key, directory) in
        directories.chain(entry.grants.write_dirs.values().map(|directory| ("write-dirs", directory)))
    {
        if super::paths::lexical(directory).starts_with(project) && !canonical(directory).starts_with(project) {
            let why = format!(
                "the directory {} of its `{key}` is a symbolic link that leads out of the project to {}: take the link away, \
                 or grant the directory itself",
                directory.display(),
                canonical(directory).display()
            );
            return Err(ConfigError::Entry { name: entry.name.clone(), why });
        }
    }
    Ok(())
}
