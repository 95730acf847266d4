//! The journal: a file that makes records durable before they are in the database.
//!
//! A store creates a journal beside the database at the first event that changes nothing but the log. Such an event
//! then needs only one write, to the journal. The flusher later moves the records into the database.
//! `docs/decisions/0043-journal.md` explains why no record is lost or duplicated.

use super::watch::Files;
use crate::config::Digest;
use crate::store::StoreError;
use crate::store::identity::{Identity, identity, identity_of};
use std::fs::{File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The first bytes of a journal.
const MAGIC: [u8; 8] = *b"hkhsrec2";

/// The first bytes of a journal of an earlier version. Such a journal does not contain its own identifier.
const NAMELESS_MAGIC: [u8; 8] = *b"hkhsrec1";

/// Size of the header without the identifier, in bytes. The header contains [`MAGIC`], then the hash of the first line
/// of the log to which the records belong, and then the identifier.
const NAMELESS_HEADER: usize = MAGIC.len() + 32;

/// Length of an identifier, in bytes.
const IDENTIFIER: usize = 16;

/// Number of bytes in a frame before its record. They contain the record's length, the checksum of the length, and the
/// checksum of the record.
const FRAME_HEADER: usize = 12;

/// The part of a journal's name between the name of its database and its identifier.
const ENDING: &str = "-records-";

/// Size of a journal, in bytes, at which the store begins the next journal. New journals should be rare: creating a
/// file changes the directory, and after each change of the directory the store checks all files of the database again.
const FULL: u64 = 16 << 20;

/// Maximum size of one write, in bytes. Larger records go directly into the database.
const LARGEST: usize = 1 << 20;

/// The journals of one open store. At any time, records are appended to at most one journal.
pub(super) struct Journal {
    directory: Directory,
    /// The hash of the log's first line.
    log: Digest,
    /// A random number in the identifiers of the store's journals.
    store: u32,
    files: u32,
    current: Option<Arc<JournalFile>>,
    buffer: Vec<u8>,
    /// The ends of the records of the last write.
    ends: Vec<u64>,
}

/// The file to which records were appended, and the end of each record in the file.
pub(super) struct AppendedRecords<'a> {
    pub(super) file: Arc<JournalFile>,
    pub(super) ends: &'a [u64],
}

/// The directory of a database's journals.
#[derive(Clone, Debug)]
pub(super) struct Directory {
    path: PathBuf,
    /// Beginning of the names of journals.
    begins: String,
}

/// A file of records. The file stays locked as long as its store is open.
pub(super) struct JournalFile {
    id: String,
    path: PathBuf,
    file: File,
    identity: Option<Identity>,
    end: AtomicU64,
    /// Number of bytes that the database has imported.
    taken: AtomicU64,
}

impl JournalFile {
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Returns the number of bytes that the database has imported, as far as this process knows.
    pub(super) fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// Records that the database has imported the file up to this byte.
    pub(super) fn note_taken(&self, end: u64) {
        self.taken.fetch_max(end, Ordering::Relaxed);
    }

    fn is_there(&self) -> bool {
        identity(&self.path) == self.identity
    }
}

/// Removes the file if the database has imported all of it. Otherwise the file stays, and the next process imports the
/// rest.
impl Drop for JournalFile {
    fn drop(&mut self) {
        if self.taken() >= self.end.load(Ordering::Relaxed) && self.is_there() {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl Directory {
    /// Returns the directory for the journals of the database at this path. The path must not contain a link.
    pub(super) fn of(database: &Path) -> Self {
        let directory = match database.parent() {
            Some(directory) if !directory.as_os_str().is_empty() => directory.to_owned(),
            _ => PathBuf::from("."),
        };
        let name = database.file_name().unwrap_or_default().to_string_lossy();
        Self { path: directory, begins: format!("{name}{ENDING}") }
    }

    /// Returns the path of the journal with this identifier.
    pub(super) fn file(&self, id: &str) -> PathBuf {
        self.path.join(format!("{}{id}", self.begins))
    }

    /// Returns the identifiers of all existing journals.
    pub(super) fn list(&self) -> io::Result<Vec<String>> {
        let mut ids = Vec::new();
        for entry in std::fs::read_dir(&self.path)? {
            let name = entry?.file_name();
            let id = name.to_str().and_then(|name| name.strip_prefix(&self.begins));
            ids.extend(id.filter(|id| is_identifier(id)).map(str::to_owned));
        }
        // This sorts the journals by store, and the journals of one store by the time of their creation.
        ids.sort_unstable();
        Ok(ids)
    }
}

fn is_identifier(id: &str) -> bool {
    id.len() == IDENTIFIER && id.bytes().all(|digit| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit))
}

impl Journal {
    pub(super) fn new(directory: Directory, log: Digest) -> Self {
        Self { directory, log, store: rand::random(), files: 0, current: None, buffer: Vec::new(), ends: Vec::new() }
    }

    pub(super) fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Returns true for a journal of this store.
    pub(super) fn is_own(&self, id: &str) -> bool {
        id.starts_with(&format!("{:08x}", self.store))
    }

    /// Returns true if there is a journal to which records can be appended.
    pub(super) fn is_open(&self) -> bool {
        self.current.is_some()
    }

    /// Appends records in one write. Returns `None` if the records cannot be written to a journal. Then no journal
    /// contains any of them.
    ///
    /// # Errors
    /// If a file of the database was removed or replaced.
    pub(super) fn append<'a>(
        &mut self,
        files: &mut Files,
        records: impl Iterator<Item = &'a str> + Clone,
    ) -> Result<Option<AppendedRecords<'_>>, StoreError> {
        files.check_before_record()?;
        let size: usize = records.clone().map(|record| FRAME_HEADER + record.len()).sum();
        if size > LARGEST {
            return Ok(None);
        }
        let file = self.write(files, records);
        Ok(file.map(|file| AppendedRecords { file, ends: &self.ends }))
    }

    fn write<'a>(&mut self, files: &Files, records: impl Iterator<Item = &'a str>) -> Option<Arc<JournalFile>> {
        let current = match self.current.take() {
            Some(current) if files.is_unchanged() || current.is_there() => current,
            // Another program has removed the journal. The flusher still has its records in memory, and writes them to
            // the database.
            Some(_) => return None,
            None => Arc::new(self.create().inspect_err(|error| tracing::warn!(%error, "there is no journal")).ok()?),
        };
        let begin = current.end.load(Ordering::Relaxed);
        self.buffer.clear();
        if begin == 0 {
            self.buffer.extend(header(self.log, &current.id));
        }
        self.ends.clear();
        for record in records {
            frame(&mut self.buffer, begin, record);
            self.ends.push(begin + self.buffer.len() as u64);
        }
        if (&current.file).write_all(&self.buffer).is_err() {
            // The file may contain a part of these records. This part is ignored, because no later record of this file
            // follows it.
            let _ = current.file.set_len(begin);
            return None;
        }
        let end = begin + self.buffer.len() as u64;
        current.end.store(end, Ordering::Relaxed);
        self.current = (end < FULL).then(|| Arc::clone(&current));
        Some(current)
    }

    /// Creates the next journal. Only the current user can read the file.
    fn create(&mut self) -> io::Result<JournalFile> {
        loop {
            let id = format!("{:08x}{:08x}", self.store, self.files);
            self.files += 1;
            let path = self.directory.file(&id);
            let mut options = File::options();
            options.append(true).create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let file = options.open(&path)?;
            let is_locked = match file.try_lock() {
                Ok(()) => true,
                Err(TryLockError::WouldBlock) => false,
                Err(TryLockError::Error(error)) => {
                    let _ = std::fs::remove_file(&path);
                    return Err(error);
                }
            };
            let identity = identity_of(&file);
            // If not, another process has locked the file first, because that process took the file for a journal whose
            // store is gone. That process removes the file.
            if is_locked && self::identity(&path) == identity {
                return Ok(JournalFile { id, path, file, identity, end: 0.into(), taken: 0.into() });
            }
        }
    }
}

/// Appends a frame to `buffer`, which begins at the byte `begin` of a journal.
fn frame(buffer: &mut Vec<u8>, begin: u64, record: &str) {
    let at = begin + buffer.len() as u64;
    // `Journal::append` limits the length.
    let length = u32::try_from(record.len()).unwrap_or(u32::MAX).to_le_bytes();
    buffer.extend(length);
    buffer.extend(checksum(at, &length));
    buffer.extend(checksum(at, record.as_bytes()));
    buffer.extend(record.as_bytes());
}

/// Returns the checksum of `bytes`, a part of the frame that begins at the byte `at`. The checksum includes `at`, so
/// that a frame that was moved to another position is recognised as damaged.
fn checksum(at: u64, bytes: &[u8]) -> [u8; 4] {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&at.to_le_bytes());
    hasher.update(bytes);
    hasher.finalize().to_le_bytes()
}

/// The contents of a journal.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct JournalContents<'a> {
    pub(super) records: Vec<&'a str>,
    /// The byte after the last record.
    pub(super) end: u64,
    /// The problem that was found after the records. An incomplete frame is not a problem, because the store has not
    /// confirmed its record yet.
    pub(super) problem: Option<&'static str>,
}

/// Returns the bytes before the first frame.
fn header(log: Digest, id: &str) -> Vec<u8> {
    [&MAGIC[..], log.as_bytes(), id.as_bytes()].concat()
}

/// Reads the records of the journal `id`. `bytes` begin after the first `taken` bytes of the file, which were
/// imported before.
pub(super) fn read<'a>(mut bytes: &'a [u8], taken: u64, log: Digest, id: &str) -> JournalContents<'a> {
    let mut read = JournalContents { end: taken, ..JournalContents::default() };
    if taken == 0 {
        match read_header(bytes, log, id) {
            Ok(Some(length)) => (bytes, read.end) = (&bytes[length..], length as u64),
            Ok(None) => return read,
            Err(problem) => return JournalContents { problem: Some(problem), ..read },
        }
    }
    loop {
        match next(bytes, read.end) {
            Ok(None) => return read,
            Ok(Some((record, rest))) => {
                read.records.push(record);
                read.end += (bytes.len() - rest.len()) as u64;
                bytes = rest;
            }
            Err(problem) => {
                read.problem = Some(problem);
                return read;
            }
        }
    }
}

/// Returns the length of the header; `None` if the end of the header is missing.
fn read_header(bytes: &[u8], log: Digest, id: &str) -> Result<Option<usize>, &'static str> {
    if is_blank(bytes) {
        return Ok(None);
    }
    let nameless = [&NAMELESS_MAGIC[..], log.as_bytes()].concat();
    for header in [header(log, id), nameless] {
        if bytes.starts_with(&header) {
            return Ok(Some(header.len()));
        }
        if header.starts_with(bytes) {
            return Ok(None);
        }
    }
    if ![MAGIC, NAMELESS_MAGIC].iter().any(|magic| bytes.starts_with(magic)) {
        return Err("it does not begin like a journal");
    }
    if bytes.get(MAGIC.len()..NAMELESS_HEADER) != Some(log.as_bytes()) {
        return Err("its records are those of another log");
    }
    Err("it is a copy of another journal, because the identifier in it differs from its name")
}

/// Returns the record of the frame that begins at the byte `at`, and the bytes after the frame; `None` if the end of
/// the frame is missing.
fn next(bytes: &[u8], at: u64) -> Result<Option<(&str, &[u8])>, &'static str> {
    // After a power cut, a file may have the right length but zeros instead of its content.
    let Some((header, rest)) = bytes.split_at_checked(FRAME_HEADER).filter(|_| !is_blank(bytes)) else {
        return Ok(None);
    };
    let (length, sums) = header.split_at(4);
    let (of_length, of_record) = sums.split_at(4);
    if of_length != checksum(at, length) {
        return Err("the length of a record is not as it was written");
    }
    let length = length.iter().rev().fold(0_usize, |length, byte| length << 8 | usize::from(*byte));
    let Some((record, rest)) = rest.split_at_checked(length) else { return Ok(None) };
    if of_record != checksum(at, record) {
        return Err("a record is not as it was written");
    }
    std::str::from_utf8(record).map(|record| Some((record, rest))).map_err(|_| "a record is not valid UTF-8")
}

fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

#[cfg(test)]
mod tests;
