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
use super::project_file::{ProjectFile, UserDirectories, is_rule_file, is_there, place};
use super::rules_section::RuleFile;
use super::trust::{Approved, TrustStore};
use super::{Config, ConfigError, Digest, Entry, Layer, Problem, Source, file, paths::canonical};
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
    /// The project's `hookhost.toml`: the same path, or that of the file that names this file of rules.
    pub named_by: PathBuf,
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
    /// Reads only the file that the user named, and the files of rules that it names. The file can be a file of rules itself.
    ///
    /// # Errors
    /// [`ConfigError::Io`], [`ConfigError::Refused`] or [`ConfigError::Unreadable`] if the file cannot be read, or if
    /// anyone except the user and root could have written it. The errors of [`Config::parse`] are possible, too.
    pub fn open(path: &Path, places: &UserDirectories, sections: &[&str]) -> Result<Self, ConfigError> {
        let file = ProjectFile::read_through_links(path, Guard::OnlyMineToWrite)?;
        // The user's own file can name rules of the profile in `rules.off`, and the profile is not read here.
        let has_all_rules = file.path != canonical(&places.user_file());
        let source = places.source(file.path, Layer::Chosen);
        let parsed = match is_rule_file(path) {
            true => vec![file::parse_rule_file(&file.text, &source)],
            false => with_rule_files(file::parse(&file.text, &source, sections), &source, &read_rule_file),
        };
        Self::add_up(parsed, canonical, has_all_rules)
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
        rules: Option<Parsed>,
        cwd: &Path,
        places: &UserDirectories,
        sections: &[&str],
    ) -> Result<Discovered, ConfigError> {
        let mut counting = of_user(places, sections, rules)?;
        let Project { approved, inert, changes } = Project::of(cwd, places)?;
        counting.extend(approved.iter().flat_map(|file| of_project(file, places.home.as_deref(), sections)));
        let config = Self::add_up(counting, canonical, true)?;
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
        counting.extend(of_project(file, places.home.as_deref(), sections));
        Self::add_up(counting, canonical, true)
    }

    /// Checks a project's file alone, with its files of rules.
    ///
    /// # Errors
    /// [`ConfigError::Invalid`] with all mistakes in the files.
    pub fn of_project_file(file: &ProjectFile, home: Option<&Path>, sections: &[&str]) -> Result<Self, ConfigError> {
        Self::add_up(of_project(file, home, sections), canonical, false)
    }
}

/// A file that was parsed, or its mistakes.
type Parsed = Result<ParsedFile, Vec<Problem>>;

/// Parses a project's file and its files of rules.
fn of_project(file: &ProjectFile, home: Option<&Path>, sections: &[&str]) -> Vec<Parsed> {
    let source = Source::new(&file.path, Layer::Project).with_home(home.map(Path::to_owned));
    with_rule_files(file::parse(&file.text, &source, sections), &source, &|rules| {
        let text = file.rule_files.get(&rules.written);
        let text = text.ok_or_else(|| format!("{} is not approved", rules.path.display()))?;
        Ok((rules.path.clone(), text.clone()))
    })
}

/// The path and the text of a file, or the reason why it cannot be read.
type ReadText = Result<(PathBuf, String), String>;

/// Adds the files of rules that a file names. `read` returns the path and the text of such a file.
fn with_rule_files(main: Parsed, source: &Source, read: &dyn Fn(&RuleFile) -> ReadText) -> Vec<Parsed> {
    let files = main.as_ref().map_or(&[][..], |parsed| &parsed.rules_section.files);
    let parse = |file: &RuleFile| match read(file) {
        Ok((path, text)) => file::parse_rule_file(&text, &Source { file: path, ..source.clone() }),
        Err(why) => Err(vec![file.problem(&why)]),
    };
    let further: Vec<Parsed> = files.iter().map(parse).collect();
    [main].into_iter().chain(further).collect()
}

/// Reads a file of rules of the user.
fn read_rule_file(file: &RuleFile) -> ReadText {
    let read = ProjectFile::read_through_links(&file.path, Guard::OnlyMineToWrite);
    read.map(|read| (read.path, read.text)).map_err(|error| file.unreadable(&error))
}

/// Returns the paths of the files of rules that belong to the configuration of `cwd`, even those that do not exist: those that the
/// user's own files name, or the file `chosen`, and those that are approved.
#[must_use]
pub fn rule_files(cwd: &Path, chosen: Option<&Path>, places: &UserDirectories) -> Vec<PathBuf> {
    let named = |file: &Path| {
        let read = ProjectFile::read_through_links(file, Guard::OnlyMineToWrite);
        let files = read.and_then(|read| read.named_rule_files(&places.source(read.path.clone(), Layer::User)));
        files.unwrap_or_default().into_iter().map(|file| file.path).collect::<Vec<_>>()
    };
    if let Some(chosen) = chosen {
        return named(chosen);
    }
    let mut files: Vec<PathBuf> = places.user_files().iter().flat_map(|file| named(file)).collect();
    let projects = ProjectFile::places(cwd);
    let approved = TrustStore::of(places).approved().unwrap_or_default();
    let approved = approved.into_iter().filter(|approved| projects.contains(&approved.path));
    files.extend(approved.flat_map(|Approved { path, rule_files, .. }| {
        rule_files.into_keys().map(move |written| path.with_file_name(written)).collect::<Vec<_>>()
    }));
    files
}

/// Reads the user's own files. `rules` are further rules of the user.
fn of_user(places: &UserDirectories, sections: &[&str], rules: Option<Parsed>) -> Result<Vec<Parsed>, ConfigError> {
    let read = |path: &Path| {
        if !is_there(path)? {
            return Ok::<_, ConfigError>(Vec::new());
        }
        let file = ProjectFile::read_through_links(path, Guard::OnlyMineToWrite)?;
        let source = places.source(file.path, Layer::User);
        Ok(with_rule_files(file::parse(&file.text, &source, sections), &source, &read_rule_file))
    };
    let (mut profile, own) = (read(&places.profile_file())?, read(&places.user_file())?);
    // Only a file that the user wrote replaces a rule of the profile. A proposal with the id of one is a mistake.
    for profile in profile.iter_mut().flatten() {
        own.iter().flatten().for_each(|own| profile.leave_out_entries_of(own, canonical));
    }
    Ok(profile.into_iter().chain(own).chain(rules).collect())
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
            (Some(approved), Ok(file)) if file.digest == approved.digest => self.approve(file, approved.rule_files),
            (Some(Approved { content: None, digest, .. }), read) => {
                let found = read.ok().map(|file| file.digest);
                self.inert.push(InertFile { path, digest: found, why: Inert::Lost { approved: digest } });
            }
            (Some(Approved { content: Some(text), digest, rule_files, .. }), read) => {
                self.add_change(&path, &path, digest, read);
                self.approve(ProjectFile { path, text, digest, rule_files: BTreeMap::new() }, rule_files);
            }
        }
    }

    /// Adds a file with its approved files of rules.
    fn approve(&mut self, file: ProjectFile, rule_files: BTreeMap<String, String>) {
        for (written, text) in &rule_files {
            let (path, approved) = (file.path.with_file_name(written), Digest::of_bytes(text.as_bytes()));
            match ProjectFile::read_below(&path) {
                Ok(read) if read.digest == approved => {}
                read => self.add_change(&path, &file.path, approved, read),
            }
        }
        self.approved.push(ProjectFile { rule_files, ..file });
    }

    fn add_change(&mut self, path: &Path, named_by: &Path, approved: Digest, read: Result<ProjectFile, ConfigError>) {
        let found = match read {
            Ok(file) => Found::Changed { digest: file.digest },
            Err(ConfigError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => Found::Nothing,
            Err(error) => Found::Unreadable(why(&error)),
        };
        self.changes.push(UnapprovedChange { path: path.to_owned(), named_by: named_by.to_owned(), approved, found });
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
