//! Writing an entry into a configuration file.
//!
//! A new entry is appended, or a new digest replaces the old digest, or `observe` replaces the mode `audit` of version 0.1. All other
//! bytes of the file stay unchanged. The new text is checked like any configuration before the file is replaced.

use std::{
    fs,
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::project_file::{ProjectFile, is_there};
use super::{
    Code, Config, ConfigError, Digest, Entry, Layer, Source, UserDirectories,
    entry::directory_of,
    file::{self, PlacedEntry},
    paths::canonical,
    place::{Place, Text},
    problem::Problems,
    raw::RawEntry,
    toml,
    tree::{Node, Table, Value},
};
use crate::files::{self, Guard, Lock, NewFile};

/// The result of [`allow`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Edited {
    /// Path of the configuration file, with symbolic links resolved.
    pub file: PathBuf,
    /// Line of the entry's `[[plugin]]`, from 1.
    pub line: usize,
    /// Text of the entry: the appended text, or the line with the new digest.
    pub text: String,
    /// The change.
    pub change: Change,
    /// Digest of the configuration file before the change; `None` if there was no file.
    pub before: Option<Digest>,
    /// Digest of the configuration file after the change. If it is a project's file, this content is not used until it
    /// is approved: see [`TrustStore::renew`](super::trust::TrustStore::renew).
    pub after: Digest,
}

/// The change of a configuration file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// A new entry, at the end of the file.
    Added,
    /// The existing entry with the same name and path got the new digest. The rest of the entry is unchanged.
    DigestUpdated {
        /// The previous digest.
        from: Digest,
    },
    /// The file already had the entry, with this digest.
    Unchanged,
}

/// Writes `entry` into the configuration file `file`, and creates the file if it does not exist. If an entry with the
/// same name and path exists, changes only its digest. If both paths are in [`UserDirectories::plugins`], the name alone
/// identifies the entry, and its path changes, too. `sections` has the same meaning as in [`Config::parse`].
///
/// # Errors
/// - [`ConfigError::Invalid`] if the file already has mistakes.
/// - [`ConfigError::Entry`] if a different entry has the name or the path, or if `entry` breaks a rule for entries.
/// - [`ConfigError::Io`] if the file cannot be read or written.
///
/// After any error the file is unchanged.
pub fn allow(file: &Path, entry: &Entry, places: &UserDirectories, sections: &[&str]) -> Result<Edited, ConfigError> {
    let refused =
        || ConfigError::Entry { name: entry.name.clone(), why: "a configuration file can name files only".to_owned() };
    let Code::File { path, digest } = &entry.code else { return Err(refused()) };
    let (wasm, digest) = (&without_links(path)?, *digest);
    let entry = &Entry { code: Code::File { path: wasm.clone(), digest }, ..entry.clone() };
    let opened = OpenFile::open(file, places, Guard::Anybodys)?;
    let OpenFile { path, old, before, .. } = &opened;
    let source = Source { file: path.clone(), layer: Layer::Chosen, home: places.home.clone() };
    let entries = file::parse(old, &source, sections).map_err(Problems::of)?.entries;

    let edit = match conflict(&entries, &entry.name, wasm, &canonical(&places.plugins()))? {
        Some((placed, before)) if before == digest => Edit::nothing(placed, old),
        Some((placed, before)) => Edit::pin(placed, old, entry, before)?,
        None => Edit::append(entry, old, directory_of(path))?,
    };
    // Check that the new text is valid and contains the entry as requested. Only then write the file.
    let config = Config::parse(&edit.new, &source, sections)?;
    let line = config.entry(&entry.name).and_then(|entry| entry.origin.as_ref()).map_or(0, |origin| origin.line);
    if edit.change != Change::Unchanged {
        opened.replace(&edit.new)?;
    }
    let after = Digest::of_bytes(edit.new.as_bytes());
    Ok(Edited { file: path.clone(), line, text: edit.text, change: edit.change, before: *before, after })
}

/// A configuration file that only this process changes.
#[derive(Debug)]
pub(super) struct OpenFile {
    /// Without the lock, two commands that change the file at the same time could overwrite each other's change.
    _lock: Lock,
    pub(super) path: PathBuf,
    /// The text of the file. Empty if there is no file.
    pub(super) old: String,
    before: Option<Digest>,
}

impl OpenFile {
    /// Reads a file, which need not exist.
    pub(super) fn open(file: &Path, places: &UserDirectories, guard: Guard) -> Result<Self, ConfigError> {
        let lock = Lock::take(&places.state).map_err(ConfigError::file("lock", &places.state))?;
        let exists = is_there(file)?;
        let present = if exists { Some(ProjectFile::read_through_links(file, guard)?) } else { None };
        let path = match &present {
            Some(present) => present.path.clone(),
            None => new_file(file)?,
        };
        let before = present.as_ref().map(|present| present.digest);
        Ok(Self { _lock: lock, path, old: present.map_or_else(String::new, |present| present.text), before })
    }

    /// Replaces the text of the file.
    pub(super) fn replace(&self, new: &str) -> Result<(), ConfigError> {
        files::replace(&self.path, new.as_bytes(), NewFile::Usual).map_err(ConfigError::io("write", &self.path))
    }
}

/// Writes `mode = "observe"` for each `mode = "audit"` of version 0.1 in the configuration file `file`. Returns their number.
/// `sections` has the same meaning as in [`Config::parse`].
///
/// # Errors
/// - [`ConfigError::Invalid`] if the file has other mistakes.
/// - [`ConfigError::Io`] if the file cannot be read or written.
///
/// After any error the file is unchanged.
pub fn replace_audit_modes(file: &Path, places: &UserDirectories, sections: &[&str]) -> Result<usize, ConfigError> {
    let opened = OpenFile::open(file, places, Guard::Anybodys)?;
    let source = Source { file: opened.path.clone(), layer: Layer::Chosen, home: places.home.clone() };
    let text = Arc::new(Text { path: opened.path.clone(), layer: source.layer, text: opened.old.clone() });
    let table = toml::parse(&text).map_err(Problems::of)?;
    let edits: Vec<_> = audit_modes(&table).map(|place| (place.range.clone(), "\"observe\"".to_owned())).collect();
    let count = edits.len();
    if count > 0 {
        let new = edited(&opened.old, edits);
        Config::parse(&new, &source, sections)?;
        opened.replace(&new)?;
    }
    Ok(count)
}

/// Returns where plugins and the MCP proxy have the mode `audit`.
fn audit_modes(table: &Table) -> impl Iterator<Item = &Place> {
    let plugins = table.get("plugin").map_or(&[][..], Node::items);
    let proxy = table.get("mcp-proxy");
    let servers = table.at("mcp-proxy.servers").and_then(Node::table);
    let servers = servers.into_iter().flat_map(Table::iter).map(|(_, server)| server);
    let modes = plugins.iter().chain(proxy).chain(servers).filter_map(|node| node.table()?.get("mode"));
    modes.filter(|mode| matches!(&mode.value, Value::String(mode) if mode == "audit")).map(|mode| &mode.place)
}

/// Returns a text with these edits, which do not overlap.
fn edited(text: &str, mut edits: Vec<(Range<usize>, String)>) -> String {
    // An edit does not move what precedes it.
    edits.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
    let mut text = text.to_owned();
    edits.iter().for_each(|(range, new)| text.replace_range(range.clone(), new));
    text
}

/// Returns the full path of a file that does not exist yet, and creates its directory.
fn new_file(file: &Path) -> Result<PathBuf, ConfigError> {
    let file = std::path::absolute(file).map_err(ConfigError::io("write", file))?;
    fs::create_dir_all(directory_of(&file)).map_err(ConfigError::io("make", directory_of(&file)))?;
    without_links(&file)
}

/// Returns the absolute path, with symbolic links of the directory resolved. Callers need this form to check if the
/// path is inside a given directory.
fn without_links(file: &Path) -> Result<PathBuf, ConfigError> {
    let file = std::path::absolute(file).map_err(ConfigError::io("find", file))?;
    Ok(match file.file_name() {
        Some(name) => canonical(directory_of(&file)).join(name),
        None => file,
    })
}

/// Returns the existing entry with the same name and path, and its digest. If an entry has the same name but a
/// different path, or the same path but a different name, returns an error. All paths in the directory `versions` are
/// versions of one component if the name is the same.
fn conflict<'a>(
    entries: &'a [PlacedEntry],
    name: &str,
    wasm: &Path,
    versions: &Path,
) -> Result<Option<(&'a PlacedEntry, Digest)>, ConfigError> {
    let wasm = canonical(wasm);
    for placed in entries {
        let Code::File { path, digest } = &placed.entry.code else { continue };
        let same_name = placed.entry.name == name;
        let is_version = |path: &Path| directory_of(path) == versions;
        let other = canonical(path);
        let same_path = other == wasm || (same_name && is_version(&other) && is_version(&wasm));
        let at = || format!("{}:{}", placed.name_at.file.path.display(), placed.name_at.line());
        let why = match (same_name, same_path) {
            (false, false) => continue,
            (true, true) => return Ok(Some((placed, *digest))),
            (true, false) => {
                format!("the entry at {} already has that name for {}: choose another name", at(), path.display())
            }
            (false, true) => {
                format!("the entry at {} already has that file, under the name `{}`", at(), placed.entry.name)
            }
        };
        return Err(ConfigError::Entry { name: name.to_owned(), why });
    }
    Ok(None)
}

/// The new text of the file.
struct Edit {
    new: String,
    text: String,
    change: Change,
}

impl Edit {
    fn nothing(placed: &PlacedEntry, old: &str) -> Self {
        Self { new: old.to_owned(), text: line_of(old, placed.digest_at.range.start), change: Change::Unchanged }
    }

    /// Replaces the digest, and the path if it differs.
    fn pin(placed: &PlacedEntry, old: &str, entry: &Entry, before: Digest) -> Result<Self, ConfigError> {
        let Code::File { path, digest } = &entry.code else { return Ok(Self::nothing(placed, old)) };
        let mut changes = vec![(placed.digest_at.range.clone(), format!("\"{digest}\""))];
        if placed.entry.code.path().is_none_or(|old| canonical(old) != canonical(path)) {
            let path = ::toml::Value::String(path.to_string_lossy().into_owned()).to_string();
            changes.push((placed.path_at.range.clone(), path));
        }
        let new = edited(old, changes);
        let at = new.find(&digest.to_string()).unwrap_or_default();
        Ok(Self { text: line_of(&new, at), new, change: Change::DigestUpdated { from: before } })
    }

    fn append(entry: &Entry, old: &str, directory: &Path) -> Result<Self, ConfigError> {
        let text = RawEntry::of(entry, directory).and_then(|written| written.to_toml());
        let text = text.map_err(|why| ConfigError::Entry { name: entry.name.clone(), why })?;
        let (new, text) = appended(old, &text);
        Ok(Self { new, text, change: Change::Added })
    }
}

/// Returns the file with a text at its end, after an empty line. Also returns the text with the line ends of the file.
pub(super) fn appended(old: &str, text: &str) -> (String, String) {
    let line_end = if old.contains("\r\n") { "\r\n" } else { "\n" };
    let text = text.replace("\r\n", "\n").replace('\n', line_end);
    let mut new = old.to_owned();
    if !new.is_empty() {
        // Add a second line end if the last line has none.
        new.push_str(line_end);
        if !old.ends_with('\n') {
            new.push_str(line_end);
        }
    }
    new.push_str(&text);
    (new, text)
}

/// Returns the line that contains this byte.
fn line_of(text: &str, at: usize) -> String {
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    text[start..].lines().next().unwrap_or("").to_owned()
}
