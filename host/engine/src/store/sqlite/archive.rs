//! Archives: old records of a log, moved into files beside it.
//!
//! An archive is a file of JSON Lines, compressed with lzip, in the directory whose name is that of the log with `-archive`
//! at the end. It contains the lines as they were stored, so the chain of hashes leads through it. First the file is
//! complete on the disk. Then one transaction removes the records from the database and records where they are. A process
//! that is killed in between leaves a file that no record names, and the next archive replaces it.

use super::database::{self, ReadableDatabase, one_row};
use super::{DiskStore, log, passkeys};
use crate::audit::{Archived, Line, ToRecord as _};
use crate::config::{AuditSettings, Digest};
use crate::files::{self, Guard, Links};
use crate::locked::locked;
use crate::state::Time;
use crate::store::StoreError;
use lzma_rust2::{LzipOptions, LzipReader, LzipWriter};
use rusqlite::{Connection, OptionalExtension as _};
use serde::Deserialize;
use sha2::Digest as _;
use sha2::Sha256;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};

/// Maximum number of records in one archive. The transaction that removes them takes some tenths of a second.
pub(crate) const MAX_RECORDS: u64 = 20_000;

/// Preset of the compression, 0 to 9.
const PRESET: u32 = 6;

/// Beginning of the names of unfinished files.
const UNFINISHED: &str = ".hookhost-";

/// The archives of a log.
#[derive(Clone, Debug)]
pub(super) struct Archives {
    directory: PathBuf,
}

/// A file of archived records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ArchiveFile {
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) path: PathBuf,
}

/// An archive that is complete on the disk. Its records are still in the database.
pub(crate) struct WrittenArchive {
    record: Archived,
    /// Held until the records are removed, so that no other process archives the same records.
    _lock: File,
}

impl Archives {
    /// Returns the archives of the log at this path. All processes use the same directory, even if they have opened the
    /// database by different names.
    pub(super) fn of(log: &Path) -> Self {
        let log = log.canonicalize().unwrap_or_else(|_| log.to_owned());
        let mut name = log.into_os_string();
        name.push("-archive");
        Self { directory: name.into() }
    }

    /// Returns the files, in the order of their records. There are none if the directory is missing.
    pub(super) fn list(&self) -> io::Result<Vec<ArchiveFile>> {
        let entries = match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut files = Vec::new();
        for entry in entries {
            let path = entry?.path();
            let numbers = path.file_name().and_then(|name| name.to_str()).and_then(numbers);
            files.extend(numbers.map(|(first, last)| ArchiveFile { first, last, path }));
        }
        files.sort_by_key(|file| (file.first, file.last));
        Ok(files)
    }

    fn lock(&self) -> Result<File, StoreError> {
        let path = self.directory.join("lock");
        let lock = files::open_lock(&path).map_err(|error| StoreError::file(error, &path))?;
        match lock.try_lock() {
            Ok(()) => Ok(lock),
            Err(fs::TryLockError::WouldBlock) => Err(StoreError::Io {
                path: self.directory.clone(),
                problem: "another hookhost archives these records: let that one finish".to_owned(),
            }),
            Err(fs::TryLockError::Error(error)) => Err(StoreError::io(&error, &path)),
        }
    }

    /// Removes the unfinished files that killed processes have left.
    fn remove_unfinished(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.directory)? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }

    /// Finds a complete archive that begins with this record and whose records are still in the database: the process
    /// that wrote it was killed before it could remove them. Returns the hash of its last record and its own digest.
    fn complete_one(
        &self,
        connection: &Connection,
        first: u64,
    ) -> rusqlite::Result<Option<(ArchiveFile, Digest, Digest)>> {
        let files = self.list().unwrap_or_default();
        for file in files.into_iter().filter(|file| file.first == first) {
            let hash = connection
                .query_row("SELECT hash FROM audit WHERE seq = ?1", [file.last.cast_signed()], |row| {
                    row.get::<_, [u8; 32]>(0)
                })
                .optional()?;
            if let Some(hash) = hash.map(Digest::from_bytes)
                && let Ok(digest) = checked(&file.path, file.last - first + 1, hash)
            {
                return Ok(Some((file, hash, digest)));
            }
        }
        Ok(None)
    }

    /// Writes an archive that begins with this record of the database.
    fn write(
        &self,
        log: &Path,
        database: &ReadableDatabase,
        first: u64,
        before: Time,
        now: Time,
    ) -> Result<Option<Archived>, StoreError> {
        let ReadableDatabase { connection, steps, .. } = database;
        let of = |error: rusqlite::Error| StoreError::of(&error, log);
        let in_directory = |error: io::Error| StoreError::io(&error, &self.directory);
        let altered = |seq: u64| StoreError::Damaged {
            path: log.to_owned(),
            problem: format!(
                "record {seq} is not as it was written, so nothing is archived; see `hookhost audit verify`"
            ),
        };
        steps.begin();
        let mut head = match first {
            2 => database::first_hash(connection).map_err(of)?,
            _ => archived_with(connection, first - 1).map_err(of)?.ok_or_else(|| altered(first - 1))?.hash,
        };
        let mut file =
            tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(&self.directory).map_err(in_directory)?;
        let mut writer = LzipWriter::new(BufWriter::new(file.as_file_mut()), LzipOptions::with_preset(PRESET));
        let mut next = first;
        'pages: loop {
            steps.begin();
            let rows = log::read_page(connection, next.cast_signed()).map_err(of)?;
            if rows.is_empty() {
                break;
            }
            for (seq, hash, text) in rows {
                let line = Line::parse(&text).map_err(|_| altered(next))?;
                let is_next = (seq.cast_unsigned(), line.seq(), line.previous()) == (next, next, head);
                let Ok(When { time }) = serde_json::from_str(&text) else { return Err(altered(next)) };
                if !is_next || line.hash() != Digest::from_bytes(hash) {
                    return Err(altered(next));
                }
                if time >= before || next - first >= MAX_RECORDS {
                    break 'pages;
                }
                writeln!(writer, "{text}").map_err(in_directory)?;
                (next, head) = (next + 1, line.hash());
            }
        }
        if next == first {
            return Ok(None);
        }
        let written = writer.finish().and_then(|mut writer| writer.flush());
        written.and_then(|()| file.as_file().sync_all()).map_err(in_directory)?;
        let target = ArchiveFile { first, last: next - 1, path: PathBuf::new() };
        let name = target.name();
        let path = self.directory.join(&name);
        // A file of this name has other records, perhaps of another copy of this log. It is not replaced.
        file.persist_noclobber(&path).map_err(|error| StoreError::io(&error.error, &path))?;
        File::open(&self.directory).and_then(|directory| directory.sync_all()).map_err(in_directory)?;
        let digest = checked(&path, next - first, head)?;
        let passkeys = Vec::new();
        Ok(Some(Archived { time: now, first, through: next - 1, hash: head, file: name, digest, passkeys }))
    }
}

impl ArchiveFile {
    fn name(&self) -> String {
        format!("log-{}-{}.jsonl.lz", self.first, self.last)
    }
}

/// Returns the numbers of the first and the last record in a file of this name.
fn numbers(name: &str) -> Option<(u64, u64)> {
    let (first, last) = name.strip_prefix("log-")?.strip_suffix(".jsonl.lz")?.split_once('-')?;
    Some((first.parse().ok()?, last.parse().ok()?))
}

/// Opens an archive. Its lines are read without their line breaks.
pub(super) fn open(path: &Path) -> Result<impl Iterator<Item = io::Result<String>> + use<>, files::FileError> {
    let file = files::open(path, Guard::OnlyMineToWrite, Links::Refused)?;
    Ok(BufReader::new(LzipReader::new(BufReader::new(file))).lines())
}

/// Returns what the database says about the archive that contains the record with this number; `None` if there is none.
pub(super) fn archived_with(connection: &Connection, seq: u64) -> rusqlite::Result<Option<Archived>> {
    let mut rows =
        connection.prepare_cached("SELECT line FROM audit WHERE instr(line, '\"kind\":\"archived\"') > 0")?;
    let mut rows = rows.query([])?;
    while let Some(row) = rows.next()? {
        let text = row.get_ref(0)?.as_str().unwrap_or_default();
        if let Ok(crate::audit::Record::Archived(archived)) = crate::audit::Record::from_json(text)
            && (archived.first..=archived.through).contains(&seq)
        {
            return Ok(Some(archived));
        }
    }
    Ok(None)
}

/// Returns the number of the first record after the first of the log; `None` if there is no such record.
pub(super) fn first_kept(connection: &Connection) -> rusqlite::Result<Option<u64>> {
    let first: Option<i64> = connection.query_row("SELECT min(seq) FROM audit WHERE seq > 1", [], |row| row.get(0))?;
    Ok(first.map(i64::cast_unsigned))
}

impl DiskStore {
    /// Writes the records before a time into an archive, at most [`MAX_RECORDS`] of them. Returns `None` if there are no
    /// such records. The records stay in the database.
    pub(super) fn write_archive(&self, before: Time, now: Time) -> Result<Option<WrittenArchive>, StoreError> {
        let path = &self.path;
        let archives = Archives::of(path);
        let in_directory = |error: io::Error| StoreError::io(&error, &archives.directory);
        files::make_own_directory(&archives.directory).map_err(in_directory)?;
        let lock = archives.lock()?;
        archives.remove_unfinished().map_err(in_directory)?;
        let database = database::read(path)?;
        if let Some(what) = database.foreign.first() {
            return Err(StoreError::Altered { path: path.clone(), what: what.clone() });
        }
        let of = |error: rusqlite::Error| StoreError::of(&error, path);
        database.steps.begin();
        let Some(first) = first_kept(&database.connection).map_err(of)? else { return Ok(None) };
        let found = archives.complete_one(&database.connection, first).map_err(of)?;
        let mut record = match found {
            Some((file, hash, digest)) => {
                let (through, file) = (file.last, file.name());
                Archived { time: now, first, through, hash, file, digest, passkeys: Vec::new() }
            }
            None => {
                let Some(record) = archives.write(path, &database, first, before, now)? else { return Ok(None) };
                record
            }
        };
        let passkeys = passkeys::logged(&database.connection).map_err(of)?;
        let archived = passkeys.range(record.first..=record.through);
        record.passkeys = archived.map(|(_, line)| line.clone()).collect();
        Ok(Some(WrittenArchive { record, _lock: lock }))
    }

    /// Removes the records of an archive from the database, and records where they are.
    pub(super) fn commit_archive(&self, written: &WrittenArchive) -> Result<(), StoreError> {
        let Archived { first, through, hash, .. } = &written.record;
        let mut inner = locked(&self.inner);
        inner.transaction(&self.path, |connection| {
            let stored: [u8; 32] =
                connection
                    .query_row("SELECT hash FROM audit WHERE seq = ?1", [through.cast_signed()], |row| row.get(0))?;
            one_row(usize::from(Digest::from_bytes(stored) == *hash))?;
            // The record comes first, so that the log never ends with a record that is removed.
            let head = database::head(connection)?;
            database::append(connection, head, &written.record.body(&AuditSettings::default()))?;
            let range = (first.cast_signed(), through.cast_signed());
            let removed = connection.execute("DELETE FROM audit WHERE seq BETWEEN ?1 AND ?2", range)?;
            one_row(usize::from(removed as u64 == through - first + 1))
        })
    }
}

impl WrittenArchive {
    pub(crate) fn record(&self) -> &Archived {
        &self.record
    }
}

/// The time of any record.
#[derive(Deserialize)]
struct When {
    time: u64,
}

/// Reads an archive back from the disk. Returns its digest. Fails unless it has this number of lines, and the last of them
/// this hash.
fn checked(path: &Path, lines: u64, head: Digest) -> Result<Digest, StoreError> {
    let damaged = |problem: String| StoreError::Damaged { path: path.to_owned(), problem };
    let (mut count, mut last) = (0, None);
    for line in open(path).map_err(|error| StoreError::file(error, path))? {
        let line = line.map_err(|error| damaged(error.to_string()))?;
        (count, last) = (count + 1, Some(line));
    }
    if count != lines || last.map(|line| Digest::of_bytes(line.as_bytes())) != Some(head) {
        return Err(damaged("what was written to it cannot be read back".to_owned()));
    }
    let mut hash = Sha256::new();
    let copied = File::open(path).and_then(|mut file| io::copy(&mut file, &mut hash));
    copied.map_err(|error| StoreError::io(&error, path))?;
    Ok(Digest::from_bytes(hash.finalize().into()))
}

#[cfg(test)]
mod tests;
