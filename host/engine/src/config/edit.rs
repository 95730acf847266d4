//! Writing an entry into a configuration file.
//!
//! Everything else in the file stays byte for byte as it is: a new entry is appended, a new digest
//! takes the place of the old one's text. What would be written is checked like any configuration
//! first, and the file is replaced whole.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::project_file::{ProjectFile, is_there};
use super::{
    Code, Config, ConfigError, Digest, Entry, Layer, Source, UserDirectories,
    entry::directory_of,
    file::{self, PlacedEntry},
    paths::canonical,
    problem::Problems,
    raw::RawEntry,
};
use crate::files::{self, Guard, Lock, NewFile};

/// The result of [`allow`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Edited {
    /// The configuration file, symbolic links resolved.
    pub file: PathBuf,
    /// The line of the entry's `[[plugin]]`, from 1.
    pub line: usize,
    /// The entry's text: what was appended, or the new digest's line.
    pub text: String,
    /// The kind of change.
    pub change: Change,
    /// The digest of the configuration file before; `None` where there was none.
    pub before: Option<Digest>,
    /// The digest of the configuration file now. A project's file is inert with it, until it is approved: see
    /// [`TrustStore::renew`](super::trust::TrustStore::renew).
    pub after: Digest,
}

/// The change of the configuration file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// A new entry, at the end of the file.
    Added,
    /// An entry of the same name and path has the new digest, and is otherwise as it was.
    DigestUpdated {
        /// The digest that it had.
        from: Digest,
    },
    /// The entry was there already, with that digest.
    Unchanged,
}

/// Writes `entry` into the configuration file `file`, which is made if it does not exist. Where an
/// entry of the same name and path is there, only its digest is changed, and its limits, grants and
/// configuration stay what they are. `sections` as in [`Config::parse`].
///
/// # Errors
/// [`ConfigError::Invalid`] where the file is wrong as it is; [`ConfigError::Entry`] where another entry has
/// the name or the path, or the entry breaks a rule; [`ConfigError::Io`] where the file cannot be read or
/// written. In all of them the file is as it was.
pub fn allow(file: &Path, entry: &Entry, places: &UserDirectories, sections: &[&str]) -> Result<Edited, ConfigError> {
    let refused =
        || ConfigError::Entry { name: entry.name.clone(), why: "a configuration file can name files only".to_owned() };
    let Code::File { path, digest } = &entry.code else { return Err(refused()) };
    let (wasm, digest) = (&without_links(path)?, *digest);
    let entry = &Entry { code: Code::File { path: wasm.clone(), digest }, ..entry.clone() };
    // Two commands that write an entry at the same time both keep theirs.
    let _lock = Lock::take(&places.state).map_err(ConfigError::file("lock", &places.state))?;
    let exists = is_there(file)?;
    let present = if exists { Some(ProjectFile::read_through_links(file, Guard::Anybodys)?) } else { None };
    let path = match &present {
        Some(present) => present.path.clone(),
        None => new_file(file)?,
    };
    let source = Source { file: path.clone(), layer: Layer::Chosen, home: places.home.clone() };
    let before = present.as_ref().map(|present| present.digest);
    let old = present.map_or_else(String::new, |present| present.text);
    let entries = file::parse(&old, &source, sections).map_err(Problems::of)?.entries;

    let edit = match conflict(&entries, &entry.name, wasm)? {
        Some((placed, before)) if before == digest => Edit::nothing(placed, &old),
        Some((placed, before)) => Edit::digest(placed, &old, digest, before),
        None => Edit::append(entry, &old, directory_of(&path))?,
    };
    // The file is only written if it means what was asked for.
    let config = Config::parse(&edit.new, &source, sections)?;
    let line = config.entry(&entry.name).and_then(|entry| entry.origin.as_ref()).map_or(0, |origin| origin.line);
    if edit.change != Change::Unchanged {
        files::replace(&path, edit.new.as_bytes(), NewFile::Usual).map_err(ConfigError::io("write", &path))?;
    }
    let after = Digest::of_bytes(edit.new.as_bytes());
    Ok(Edited { file: path, line, text: edit.text, change: edit.change, before, after })
}

/// The full path of a file that does not exist yet, its directory being made.
fn new_file(file: &Path) -> Result<PathBuf, ConfigError> {
    let file = std::path::absolute(file).map_err(ConfigError::io("write", file))?;
    fs::create_dir_all(directory_of(&file)).map_err(ConfigError::io("make", directory_of(&file)))?;
    without_links(&file)
}

/// The absolute path, its directory without symbolic links: so it is seen whether it lies in a given directory.
fn without_links(file: &Path) -> Result<PathBuf, ConfigError> {
    let file = std::path::absolute(file).map_err(ConfigError::io("find", file))?;
    Ok(match file.file_name() {
        Some(name) => canonical(directory_of(&file)).join(name),
        None => file,
    })
}

/// The entry of the same name and path, with its digest, if there is one; one that shares only one of them is in the way.
fn conflict<'a>(
    entries: &'a [PlacedEntry],
    name: &str,
    wasm: &Path,
) -> Result<Option<(&'a PlacedEntry, Digest)>, ConfigError> {
    let wasm = canonical(wasm);
    for placed in entries {
        let Code::File { path, digest } = &placed.entry.code else { continue };
        let (same_name, same_path) = (placed.entry.name == name, canonical(path) == wasm);
        let at = || format!("{}:{}", placed.name_at.file.path.display(), placed.name_at.line());
        let why = match (same_name, same_path) {
            (false, false) => continue,
            (true, true) => return Ok(Some((placed, *digest))),
            (true, false) => format!("{} has that name for {}: choose another name", at(), path.display()),
            (false, true) => format!("{} has that file, under the name `{}`", at(), placed.entry.name),
        };
        return Err(ConfigError::Entry { name: name.to_owned(), why });
    }
    Ok(None)
}

/// The file's new text.
struct Edit {
    new: String,
    text: String,
    change: Change,
}

impl Edit {
    fn nothing(placed: &PlacedEntry, old: &str) -> Self {
        Self { new: old.to_owned(), text: line_of(old, placed.digest_at.range.start), change: Change::Unchanged }
    }

    fn digest(placed: &PlacedEntry, old: &str, digest: Digest, before: Digest) -> Self {
        let range = placed.digest_at.range.clone();
        let new = format!("{}\"{digest}\"{}", &old[..range.start], &old[range.end..]);
        Self { text: line_of(&new, range.start), new, change: Change::DigestUpdated { from: before } }
    }

    fn append(entry: &Entry, old: &str, directory: &Path) -> Result<Self, ConfigError> {
        let text = RawEntry::of(entry, directory).and_then(|written| written.to_toml());
        let mut text = text.map_err(|why| ConfigError::Entry { name: entry.name.clone(), why })?;
        let line_end = if old.contains("\r\n") { "\r\n" } else { "\n" };
        text = text.replace('\n', line_end);
        let mut new = old.to_owned();
        if !new.is_empty() {
            // One more where the last line has none.
            new.push_str(line_end);
            if !old.ends_with('\n') {
                new.push_str(line_end);
            }
        }
        new.push_str(&text);
        Ok(Self { new, text, change: Change::Added })
    }
}

/// The line around that byte.
fn line_of(text: &str, at: usize) -> String {
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    text[start..].lines().next().unwrap_or("").to_owned()
}
