//! Reads the files and variables that hold secrets, and keeps what was read until they change.

use super::index::Index;
use super::{FoundSecret, UncoveredSecret, dotenv, ordinary};
use crate::facts::AgentProcess;
use crate::files::{self, FileError, Guard, Links};
use crate::locked::locked;
use std::collections::VecDeque;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

/// Maximum number of entries of a directory that are looked through, and of files that are read.
const MAX_ENTRIES: usize = 10_000;
const MAX_FILES: usize = 64;

/// Maximum size of a file, in bytes.
const MAX_SIZE: u64 = 256 << 10;

/// Maximum number of values. Each has up to ten forms.
const MAX_VALUES: usize = 1_000;

/// Parts of the names of files that contain no secrets, but examples.
const EXAMPLES: [&str; 5] = ["example", "sample", "template", "dist", "defaults"];

/// Number of projects whose secrets are kept in memory.
const MAX_KEPT: usize = 16;

/// The secrets that were read last, with all that they were read from. They are kept, because reading and indexing them for each event
/// would take longer than all else.
static KEPT: Mutex<VecDeque<(Origin, Arc<KnownSecrets>)>> = Mutex::new(VecDeque::new());

/// The files and variables that a grant names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sources<'a> {
    /// Paths of files relative to the workspace. The last component may contain `*`.
    pub(crate) files: &'a [String],
    /// Names of environment variables.
    pub(crate) variables: &'a [String],
}

/// The secrets of a project.
#[derive(Debug)]
pub(crate) struct KnownSecrets {
    index: Index,
    pub(crate) uncovered: Vec<UncoveredSecret>,
}

/// All that secrets were read from. If it is the same, the secrets are.
#[derive(Debug, PartialEq, Eq)]
struct Origin {
    workspace: PathBuf,
    files: Vec<(PathBuf, Stamp)>,
    variables: Vec<(String, Result<Option<String>, String>)>,
    uncovered: Vec<UncoveredSecret>,
}

/// Tells one content of a file from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    size: u64,
    modified: Option<SystemTime>,
    identity: (u64, u64),
}

impl KnownSecrets {
    /// Returns the places of values in a text, in order and without overlaps.
    pub(crate) fn find(&self, text: &str) -> Vec<FoundSecret> {
        self.index.find(text)
    }
}

impl Sources<'_> {
    /// Returns the secrets of a project.
    ///
    /// # Errors
    /// Returns the reason if the files cannot be read now, although they could be read otherwise.
    pub(crate) fn read(self, workspace: &Path, process: &dyn AgentProcess) -> Result<Arc<KnownSecrets>, String> {
        let origin = self.origin(workspace, process)?;
        if let Some((_, known)) = locked(&KEPT).iter().find(|(kept, _)| *kept == origin) {
            return Ok(Arc::clone(known));
        }
        let known = Arc::new(origin.secrets()?);
        let mut kept = locked(&KEPT);
        kept.retain(|(other, _)| other.workspace != origin.workspace);
        kept.truncate(MAX_KEPT - 1);
        kept.push_front((origin, Arc::clone(&known)));
        Ok(known)
    }

    /// Returns true if the path is one of the files.
    pub(crate) fn contains(self, workspace: &Path, path: &Path) -> bool {
        let clean: Option<PathBuf> = path.components().try_fold(PathBuf::new(), |mut clean, component| {
            match component {
                Component::ParentDir => clean.pop().then_some(())?,
                Component::CurDir => {}
                other => clean.push(other),
            }
            Some(clean)
        });
        let Some(path) = clean.as_deref().and_then(|path| path.strip_prefix(workspace).ok()) else { return false };
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let directory = path.parent().unwrap_or(path);
        self.files.iter().any(|pattern| {
            let (of, last) = pattern.rsplit_once('/').unwrap_or(("", pattern));
            Path::new(of) == directory && fits(last, name) && (!last.contains('*') || !is_example(name))
        })
    }

    fn origin(self, workspace: &Path, process: &dyn AgentProcess) -> Result<Origin, String> {
        let mut origin = Origin {
            workspace: workspace.to_owned(),
            files: Vec::new(),
            variables: self.variables.iter().map(|name| (name.clone(), process.variable(name))).collect(),
            uncovered: Vec::new(),
        };
        for pattern in self.files {
            let (directory, name) = pattern.rsplit_once('/').unwrap_or(("", pattern));
            let directory = workspace.join(directory);
            if name.contains('*') {
                for path in matching(&directory, name)? {
                    origin.add(path)?;
                }
            } else {
                origin.add(directory.join(name))?;
            }
        }
        Ok(origin)
    }
}

/// Returns the files of a directory whose names match, without examples.
fn matching(directory: &Path, pattern: &str) -> Result<Vec<PathBuf>, String> {
    let entries = match std::fs::read_dir(directory) {
        Err(error) if is_permanent(&error) => return Ok(Vec::new()),
        entries => entries.map_err(|error| unreadable(directory, &error))?,
    };
    let mut found = Vec::new();
    for (count, entry) in entries.enumerate() {
        if count == MAX_ENTRIES {
            return Err(format!("{} has more than {MAX_ENTRIES} entries", directory.display()));
        }
        let name = entry.map_err(|error| unreadable(directory, &error))?.file_name();
        if name.to_str().is_some_and(|name| fits(pattern, name) && !is_example(name)) {
            found.push(directory.join(name));
        }
    }
    found.sort();
    Ok(found)
}

/// Returns true if a pattern with `*` matches a name.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((begin, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(name) = name.strip_prefix(begin) else { return false };
    (0..=name.len()).filter(|at| name.is_char_boundary(*at)).any(|at| fits(rest, &name[at..]))
}

fn is_example(name: &str) -> bool {
    name.split(['.', '-', '_']).any(|part| EXAMPLES.contains(&part))
}

impl Origin {
    /// Adds a file, if there is one.
    fn add(&mut self, path: PathBuf) -> Result<(), String> {
        let stamp = match Stamp::of(&path) {
            Err(error) if is_permanent(&error) => return Ok(()),
            stamp => stamp.map_err(|error| unreadable(&path, &error))?,
        };
        if self.files.len() == MAX_FILES {
            self.leave_out(&path, "is one file too many");
        } else if files::check_within(&path, &self.workspace).is_err() {
            self.leave_out(&path, "leads out of the workspace");
        } else if self.files.iter().all(|(other, _)| *other != path) {
            self.files.push((path, stamp));
        }
        Ok(())
    }

    fn leave_out(&mut self, path: &Path, reason: &str) {
        let left_out = self.left_out(path, reason);
        self.uncovered.push(left_out);
    }

    fn secrets(&self) -> Result<KnownSecrets, String> {
        let mut uncovered = self.uncovered.clone();
        let mut values = Vec::new();
        for (path, _) in &self.files {
            match files::read(path, Guard::Anybodys, Links::Followed, MAX_SIZE) {
                Ok(bytes) => match String::from_utf8(bytes) {
                    Ok(text) => values.extend(dotenv::variables(&text)),
                    Err(_) => uncovered.push(self.left_out(path, "is not UTF-8")),
                },
                Err(FileError::Io(error)) if is_permanent(&error) => {
                    uncovered.push(self.left_out(path, "cannot be read"));
                }
                Err(FileError::Io(error)) => return Err(unreadable(path, &error)),
                Err(FileError::Refused(_)) => {
                    uncovered.push(self.left_out(path, "is no regular file, or is too large"));
                }
            }
        }
        for (name, value) in &self.variables {
            match value {
                Ok(value) => values.extend(value.iter().map(|value| (name.clone(), value.clone()))),
                Err(reason) => {
                    uncovered.push(UncoveredSecret { name: name.clone(), reason: format!("cannot be read: {reason}") });
                }
            }
        }
        let mut covered = Vec::new();
        for (name, value) in values.into_iter().filter(|(_, value)| !value.is_empty()) {
            let reason = ordinary::reason(&name, &value);
            let reason = reason.or((covered.len() >= MAX_VALUES).then_some("is one value too many"));
            if let Some(reason) = reason {
                uncovered.push(UncoveredSecret { name, reason: reason.to_owned() });
                continue;
            }
            let password = ordinary::password(&value).filter(|password| ordinary::reason(&name, password).is_none());
            covered.extend(password.map(|password| (name.clone(), password.to_owned())));
            covered.push((name, value));
        }
        uncovered.sort_by(|one, other| one.name.cmp(&other.name));
        uncovered.dedup();
        Ok(KnownSecrets { index: Index::new(covered.into_iter()), uncovered })
    }

    fn left_out(&self, path: &Path, reason: &str) -> UncoveredSecret {
        let name = path.strip_prefix(&self.workspace).unwrap_or(path).to_string_lossy().into_owned();
        UncoveredSecret { name, reason: reason.to_owned() }
    }
}

impl Stamp {
    fn of(path: &Path) -> io::Result<Self> {
        let metadata = std::fs::metadata(path)?;
        #[cfg(unix)]
        let identity = {
            use std::os::unix::fs::MetadataExt as _;
            (metadata.ino(), metadata.ctime().cast_unsigned())
        };
        #[cfg(not(unix))]
        let identity = (0, 0);
        Ok(Self { size: metadata.len(), modified: metadata.modified().ok(), identity })
    }
}

/// Returns true if there is nothing that the agent, which runs as the same user, could read either.
fn is_permanent(error: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
    matches!(error.kind(), NotFound | NotADirectory | PermissionDenied)
}

fn unreadable(path: &Path, error: &io::Error) -> String {
    format!("{} cannot be read: {}", path.display(), error.kind())
}

#[cfg(test)]
mod tests {
    use super::{KnownSecrets, Sources};
    use crate::facts::{AgentProcess, UnknownProcess};
    use std::fs;
    use std::path::Path;
    use std::sync::Arc;

    const VALUE: &str = "aB3dE5fG7hI9jK1l";
    const OTHER: &str = "Zz9Yy8Xx7Ww6Vv5U";

    /// A process with one variable.
    #[derive(Debug)]
    struct Process;

    impl AgentProcess for Process {
        fn variable(&self, name: &str) -> Result<Option<String>, String> {
            Ok((name == "TOKEN").then(|| OTHER.to_owned()))
        }

        fn user(&self) -> Result<Option<String>, String> {
            Ok(None)
        }

        fn is_sandboxed(&self) -> Result<Option<bool>, String> {
            Ok(None)
        }
    }

    fn read(workspace: &Path, files: &[&str], variables: &[&str], process: &dyn AgentProcess) -> Arc<KnownSecrets> {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let (files, variables) = (owned(files), owned(variables));
        Sources { files: &files, variables: &variables }.read(workspace, process).unwrap()
    }

    fn names(known: &KnownSecrets, text: &str) -> Vec<String> {
        known.find(text).into_iter().map(|found| found.name).collect()
    }

    #[test]
    fn the_values_of_files_and_variables_are_known_until_they_change() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = directory.path();
        fs::write(workspace.join(".env"), format!("A={VALUE}\nB=short\n")).unwrap();
        fs::write(workspace.join(".env.example"), format!("C={OTHER}\n")).unwrap();
        let text = format!("{VALUE} {OTHER}");
        let known = read(workspace, &[".env*"], &[], &UnknownProcess);
        assert_eq!(names(&known, &text), ["A"]);
        assert_eq!(known.uncovered.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["B"]);
        assert!(Arc::ptr_eq(&known, &read(workspace, &[".env*"], &[], &UnknownProcess)), "nothing has changed");
        assert_eq!(names(&read(workspace, &[".env*"], &["TOKEN"], &Process), &text), ["A", "TOKEN"]);
        fs::write(workspace.join(".env.local"), format!("export D='{OTHER}'\n")).unwrap();
        assert_eq!(names(&read(workspace, &[".env*"], &[], &UnknownProcess), &text), ["A", "D"]);
        fs::write(workspace.join(".env"), "A=\n").unwrap();
        assert_eq!(names(&read(workspace, &[".env*"], &[], &UnknownProcess), &text), ["D"]);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let (directory, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let workspace = directory.path();
        fs::write(workspace.join(".env.bin"), [0xFF, 0xFE]).unwrap();
        fs::write(workspace.join(".env.large"), vec![b'a'; 300 << 10]).unwrap();
        fs::write(elsewhere.path().join("env"), format!("A={VALUE}\n")).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(elsewhere.path().join("env"), workspace.join(".env.link")).unwrap();
        let known = read(workspace, &[".env*", "missing/.env", "missing/*"], &["TOKEN"], &UnknownProcess);
        let uncovered: Vec<_> = known.uncovered.iter().map(|one| format!("{} {}", one.name, one.reason)).collect();
        assert_eq!(
            uncovered,
            [
                ".env.bin is not UTF-8",
                ".env.large is no regular file, or is too large",
                ".env.link leads out of the workspace",
                "TOKEN cannot be read: the agent's process is not known",
            ]
        );
        assert!(known.find(VALUE).is_empty());
    }

    #[test]
    fn a_source_is_known_by_its_path() {
        let files = [".env*".to_owned(), "web/.env.local".to_owned()];
        let sources = Sources { files: &files, variables: &[] };
        for (path, expected) in [
            ("/work/.env", true),
            ("/work/a/../.env.local", true),
            ("/work/./web/.env.local", true),
            ("/work/.env.example", false),
            ("/work/web/.env", false),
            ("/work/notes/.env", false),
            ("/other/.env", false),
            ("/work/../.env", false),
            ("/work/env", false),
        ] {
            assert_eq!(sources.contains(Path::new("/work"), Path::new(path)), expected, "{path}");
        }
    }

    #[test]
    fn the_password_of_an_address_is_known_too() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join(".env"), format!("URL=postgres://app:{VALUE}@db/app\n")).unwrap();
        let known = read(directory.path(), &[".env"], &[], &UnknownProcess);
        assert_eq!(names(&known, &format!("PGPASSWORD={VALUE} psql")), ["URL"]);
    }
}
