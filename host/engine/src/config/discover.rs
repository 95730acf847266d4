//! The configuration files that apply: the user's own files, and the project files that the user has approved.
//!
//! A project's files are the files named `hookhost.toml` in the working directory and in every directory above it.
//! hookhost parses a file only after the user has approved its exact content. All approved files apply, outermost
//! first, and no file can remove a rule of another file. The approved content stays in use, even if the file changes. A
//! project file cannot be a symbolic link: hookhost ignores such a link.

use std::{
    collections::BTreeMap,
    fmt, fs,
    path::{Path, PathBuf},
};

use super::file::ParsedFile;
use super::project_file::{ProjectFile, UserDirectories, is_there, place};
use super::trust::{Approved, TrustStore};
use super::{Config, ConfigError, Digest, Entry, Layer, Problem, file, paths::canonical};
use crate::files::Guard;

/// The result of [`Config::discover`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Discovered {
    /// The configuration that applies.
    pub config: Config,
    /// Project files that are not used, nearest first. The caller should report them to the user, and mention
    /// `hookhost trust`.
    pub inert: Vec<InertFile>,
    /// Project files that differ from their approved content, nearest first. The approved content applies. The caller
    /// should report these files to the user and mention `hookhost trust`.
    pub changes: Vec<UnapprovedChange>,
}

impl From<Config> for Discovered {
    /// Creates a result that has only this configuration, for use without a search for project files.
    fn from(config: Config) -> Self {
        Self { config, inert: Vec::new(), changes: Vec::new() }
    }
}

/// A project's file that differs from its approved content, or that no longer exists. The approved content still
/// applies.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnapprovedChange {
    /// Path of the file when it was approved.
    pub path: PathBuf,
    /// Digest of the content that applies.
    pub approved: Digest,
    /// Current state of the file.
    pub found: Found,
}

/// State of an approved file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Found {
    /// The file has content that differs from the approved content.
    Changed {
        /// Digest of the current content.
        digest: Digest,
    },
    /// There is no file.
    Nothing,
    /// The file cannot be read, for this reason.
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
        f.write_str(": the approved content is used until you approve the change or revoke the approval")
    }
}

/// A project's file that is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InertFile {
    /// Path of the file, with symbolic links resolved if possible.
    pub path: PathBuf,
    /// Digest of the file's content; `None` if the file cannot be read.
    pub digest: Option<Digest>,
    /// Reason why the file is not used.
    pub why: Inert,
}

/// Reason why a project's file is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Inert {
    /// The user has approved no content of this file.
    NeverApproved,
    /// The file is a symbolic link.
    Link,
    /// The file differs from the approved content or does not exist. The approved content cannot be used, because an
    /// earlier version of hookhost stored only its digest.
    Lost {
        /// Digest of the approved content.
        approved: Digest,
    },
    /// The file cannot be read, for this reason.
    Unreadable(String),
}

impl fmt::Display for InertFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.why {
            Inert::NeverApproved => write!(f, "{path} is not used: you have not approved it"),
            Inert::Link => write!(
                f,
                "{path} is not used: it is a symbolic link, and hookhost uses a project's file only at its own path; put the \
                 file itself there, and approve it there"
            ),
            Inert::Lost { .. } => write!(
                f,
                "{path} is not used: it is not what you approved any more, and an earlier hookhost kept only the digest \
                 of that; approve it again, put the old content back, or revoke the approval"
            ),
            Inert::Unreadable(why) => write!(f, "{path} is not used: {why}"),
        }
    }
}

impl Config {
    /// Reads only the file that the user named.
    ///
    /// # Errors
    /// [`ConfigError::Io`], [`ConfigError::Refused`] or [`ConfigError::Unreadable`] if the file cannot be read, or if
    /// anyone except the user and root could have written it. The errors of [`Config::parse`] are possible, too.
    pub fn open(path: &Path, places: &UserDirectories, sections: &[&str]) -> Result<Self, ConfigError> {
        let file = ProjectFile::read_through_links(path, Guard::OnlyMineToWrite)?;
        let parsed = file::parse(&file.text, &places.source(file.path, Layer::Chosen), sections);
        Self::add_up(vec![parsed], canonical)
    }

    /// Combines the user's own files, if they exist, with the approved content of the project files in `cwd` and above it.
    /// In the user's own files, an entry or a setting of `hookhost.toml` replaces that of the profile. A project's file can add entries and keys. It cannot loosen a setting, reuse a name, name a file that
    /// already has an entry, or repeat a key.
    ///
    /// # Errors
    /// - [`ConfigError::Invalid`] with all mistakes in the files that apply.
    /// - [`ConfigError::Io`], [`ConfigError::Refused`] or [`ConfigError::Unreadable`] if the user's own file cannot be
    ///   read, or if other users could have written it.
    /// - [`ConfigError::TrustStore`] if the approvals cannot be read.
    /// - [`ConfigError::Entry`] if a directory that a project grants is a link out of the project.
    pub fn discover(cwd: &Path, places: &UserDirectories, sections: &[&str]) -> Result<Discovered, ConfigError> {
        Self::discover_beside(None, cwd, places, sections)
    }

    /// Like [`Self::discover`], with further rules of the user that are not in force yet. `text` has only `[[rule]]` tables, and
    /// mistakes in it are reported as mistakes of `file`.
    ///
    /// # Errors
    /// The errors of [`Self::discover`].
    pub fn discover_with_rules(
        text: &str,
        file: &Path,
        cwd: &Path,
        places: &UserDirectories,
        sections: &[&str],
    ) -> Result<Discovered, ConfigError> {
        let rules = file::parse_rules(text, &places.source(file.to_owned(), Layer::User));
        Self::discover_beside(Some(rules), cwd, places, sections)
    }

    fn discover_beside(
        rules: Option<Result<ParsedFile, Vec<Problem>>>,
        cwd: &Path,
        places: &UserDirectories,
        sections: &[&str],
    ) -> Result<Discovered, ConfigError> {
        let mut counting = of_user(places, sections, rules)?;
        let Project { approved, inert, changes } = Project::of(cwd, places)?;
        for project in approved {
            counting.push(file::parse(&project.text, &places.source(project.path, Layer::Project), sections));
        }
        let config = Self::add_up(counting, canonical)?;
        config.entries().iter().try_for_each(directories_stay_in_the_project)?;
        Ok(Discovered { config, inert, changes })
    }

    /// Combines the user's own files with a project's file that is not approved yet. So a mistake that appears only beside the
    /// user's files is found before the approval.
    ///
    /// # Errors
    /// The errors of [`Self::discover`].
    pub fn with_project_file(
        file: &ProjectFile,
        places: &UserDirectories,
        sections: &[&str],
    ) -> Result<Self, ConfigError> {
        let mut counting = of_user(places, sections, None)?;
        counting.push(file::parse(&file.text, &places.source(file.path.clone(), Layer::Project), sections));
        Self::add_up(counting, canonical)
    }
}

/// Reads the user's own files. `rules` are further rules of the user.
fn of_user(
    places: &UserDirectories,
    sections: &[&str],
    rules: Option<Result<ParsedFile, Vec<Problem>>>,
) -> Result<Vec<Result<ParsedFile, Vec<Problem>>>, ConfigError> {
    let read = |path: &Path| {
        if !is_there(path)? {
            return Ok::<_, ConfigError>(None);
        }
        let file = ProjectFile::read_through_links(path, Guard::OnlyMineToWrite)?;
        Ok(Some(file::parse(&file.text, &places.source(file.path, Layer::User), sections)))
    };
    let (mut profile, user) = (read(&places.profile_file())?, read(&places.user_file())?);
    if let Some(Ok(profile)) = &mut profile {
        let own = [&user, &rules].into_iter().flatten().flatten();
        own.for_each(|own| profile.leave_out_entries_of(own, canonical));
    }
    Ok(profile.into_iter().chain(user).chain(rules).collect())
}

/// The files of a project.
#[derive(Default)]
struct Project {
    /// Files that apply, outermost first.
    approved: Vec<ProjectFile>,
    /// Files that are not used, nearest first.
    inert: Vec<InertFile>,
    /// Files that differ from their approved content, nearest first.
    changes: Vec<UnapprovedChange>,
}

impl Project {
    fn of(cwd: &Path, places: &UserDirectories) -> Result<Self, ConfigError> {
        let user_file = canonical(&places.user_file());
        let approvals = TrustStore::of(places).approved()?.into_iter();
        let mut approvals: BTreeMap<_, _> = approvals.map(|approved| (approved.path.clone(), approved)).collect();
        let mut project = Self::default();
        for path in ProjectFile::places(cwd) {
            // The user's own file needs no approval, even if it is in one of these directories.
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

/// Returns the reason why a file cannot be read. The text does not contain the path.
fn why(error: &ConfigError) -> String {
    match error {
        ConfigError::Io { source, .. } => source.to_string(),
        ConfigError::Refused(refused) => refused.fault.clone(),
        ConfigError::Link { .. } => "it is a symbolic link".to_owned(),
        ConfigError::Unreadable { why, .. } => why.clone(),
        other => other.to_string(),
    }
}

/// Checks that the directories that a project's file grants by relative paths are inside the project. The user has
/// approved only the paths, so a link that is later put at such a path must not lead out of the project.
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
