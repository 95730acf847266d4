//! Imports the journals of other stores into the database. Such a store belongs to a process that has ended, or to a
//! process that had an earlier turn in a session. This module also reads journals without importing them.

use super::database::{self, WritableDatabase};
use super::journal::{self, Directory};
use super::{Inner, progress};
use crate::audit::{self, Line};
use crate::config::Digest;
use crate::files::{self, Guard, Links};
use crate::store::StoreError;
use crate::store::identity::{identity, identity_of};
use rusqlite::Connection;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

/// Maximum size of a journal, in bytes. Journals of hookhost are far smaller.
const LARGEST: u64 = 1 << 30;

impl Inner {
    /// Imports all journals except those for which `is_own` returns true. When the call returns, the database contains
    /// all records that were in these journals when the call began.
    ///
    /// # Errors
    /// If a journal is damaged or cannot be read, or if the database cannot be written. The records before the damage
    /// are imported nevertheless.
    pub(super) fn take_in(
        &mut self,
        path: &Path,
        directory: &Directory,
        is_own: impl Fn(&str) -> bool,
    ) -> Result<(), StoreError> {
        let ids = directory.list().map_err(|error| StoreError::io(&error, path))?;
        let (mut is_one_removed, mut first_problem) = (false, Ok(()));
        for id in ids.iter().filter(|id| !is_own(id)) {
            match self.take_in_one(path, directory, id) {
                Ok(is_removed) => is_one_removed |= is_removed,
                Err(error) if error.is_transient() => return Err(error),
                // Continue after a damaged journal, because the records of the other journals must still reach the log.
                Err(error) => first_problem = first_problem.and(Err(error)),
            }
        }
        if is_one_removed {
            self.transaction(path, |connection| progress::forget(connection, directory))?;
        }
        first_problem
    }

    /// Imports one journal. Returns true if the journal was removed because its store is gone.
    fn take_in_one(&mut self, path: &Path, directory: &Directory, id: &str) -> Result<bool, StoreError> {
        let journal = directory.file(id);
        let Some(file) = open(&journal)? else { return Ok(false) };
        // Lock the journal before it is read. If the lock succeeds, the store of the journal is gone and writes nothing
        // more.
        let is_left = file.try_lock().is_ok();
        self.read_in(path, directory, id, &file)?;
        if is_left && identity(&journal) == identity_of(&file) {
            std::fs::remove_file(&journal).map_err(|error| StoreError::io(&error, &journal))?;
        }
        Ok(is_left)
    }

    fn read_in(&mut self, path: &Path, directory: &Directory, id: &str, file: &File) -> Result<(), StoreError> {
        let journal = directory.file(id);
        let of = |error: rusqlite::Error| StoreError::of(&error, path);
        let before = progress::read(&self.connection, id).map_err(of)?;
        let bytes = read_after(file, &journal, before)?;
        if bytes.is_empty() {
            return Ok(());
        }
        let log = database::first_hash(&self.connection).map_err(of)?;
        let problem = self.transaction(path, |connection| {
            // The journal was removed, so its store or another process has imported all of it.
            if identity(&journal) != identity_of(file) {
                return Ok(None);
            }
            let taken = progress::read(connection, id)?;
            let found = journal::read(skip_to(taken, &bytes, before), taken, log, id);
            if !found.records.is_empty() {
                progress::take_in(connection, directory, id, &found.records, found.end)?;
            }
            Ok(found.problem)
        })?;
        problem.map_or(Ok(()), |problem| Err(damaged(&journal, problem)))
    }
}

/// Opens a journal. Returns `None` if the journal was removed. The database then contains all of its records.
fn open(journal: &Path) -> Result<Option<File>, StoreError> {
    match files::open(journal, Guard::OnlyMineToWrite, Links::Refused) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.is_missing() => Ok(None),
        Err(error) => Err(StoreError::file(error, journal)),
    }
}

fn damaged(journal: &Path, problem: &str) -> StoreError {
    StoreError::Damaged { path: journal.to_owned(), problem: problem.to_owned() }
}

/// Reads a journal from the byte `before` on.
fn read_after(file: &File, journal: &Path, before: u64) -> Result<Vec<u8>, StoreError> {
    let length = file.metadata().map_err(|error| StoreError::io(&error, journal))?.len();
    let rest = length.saturating_sub(before);
    if rest > LARGEST {
        return Err(damaged(journal, "it is larger than a journal can be"));
    }
    let mut bytes = vec![0; usize::try_from(rest).unwrap_or_default()];
    let read = read_up_to(file, &mut bytes, before).map_err(|error| StoreError::io(&error, journal))?;
    bytes.truncate(read);
    Ok(bytes)
}

/// Returns the part of `bytes` that begins at the byte `taken` of a journal. `bytes` begin at the byte `before` of
/// the journal.
fn skip_to(taken: u64, bytes: &[u8], before: u64) -> &[u8] {
    let more = taken.checked_sub(before).and_then(|more| usize::try_from(more).ok());
    more.and_then(|more| bytes.get(more..)).unwrap_or_default()
}

/// Reads until the end of the file. The file may have become shorter since its size was read.
fn read_up_to(file: &File, bytes: &mut [u8], from: u64) -> std::io::Result<usize> {
    let mut read = 0;
    while read < bytes.len() {
        match file.read_at(&mut bytes[read..], from + read as u64) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}

/// The records that are only in journals, as the lines that they would become if they were imported now.
#[derive(Default)]
pub(super) struct UnstoredLines {
    /// The number of the last line of the database.
    pub(super) stored: u64,
    pub(super) lines: Vec<Line>,
}

/// Reads the records that are only in journals. Writes nothing.
///
/// # Errors
/// If a journal is damaged, or if a journal or the database cannot be read.
pub(super) fn unstored(connection: &Connection, path: &Path) -> Result<UnstoredLines, StoreError> {
    let directory = database::journals(path)?;
    loop {
        if let Some(unstored) = read_unstored(connection, path, &directory)? {
            return Ok(unstored);
        }
    }
}

/// Returns `None` if a journal was removed meanwhile, because another process has just imported all of it.
fn read_unstored(
    connection: &Connection,
    path: &Path,
    directory: &Directory,
) -> Result<Option<UnstoredLines>, StoreError> {
    let of = |error: rusqlite::Error| StoreError::of(&error, path);
    let mut journals = Vec::new();
    for id in directory.list().map_err(|error| StoreError::io(&error, path))? {
        let journal = directory.file(&id);
        let Some(file) = open(&journal)? else { continue };
        let before = progress::read(connection, &id).map_err(of)?;
        let bytes = read_after(&file, &journal, before)?;
        journals.push((id, journal, file, before, bytes));
    }
    if journals.is_empty() {
        return Ok(Some(UnstoredLines::default()));
    }
    // Everything is read from one snapshot, because the progress of the journals must match the last line of the log.
    let snapshot = connection.unchecked_transaction().map_err(of)?;
    let log = database::first_hash(&snapshot).map_err(of)?;
    let (stored, mut last_hash) = database::head(&snapshot).map_err(of)?;
    let mut lines: Vec<Line> = Vec::new();
    for (id, journal, file, before, bytes) in journals {
        let taken = progress::read(&snapshot, &id).map_err(of)?;
        // The row of a journal exists as long as the journal. So if the journal still exists, `taken` is correct.
        if identity(&journal) != identity_of(&file) {
            return Ok(None);
        }
        let found = journal::read(skip_to(taken, &bytes, before), taken, log, &id);
        if let Some(problem) = found.problem {
            return Err(damaged(&journal, problem));
        }
        for record in found.records {
            let line = audit::next(lines.last().map_or(stored, Line::seq), &last_hash, record);
            last_hash = line.hash();
            lines.push(line);
        }
    }
    Ok(Some(UnstoredLines { stored, lines }))
}

/// Returns the hash of the first line of the log to which a store's own journals belong.
pub(super) fn log_of(created: &WritableDatabase, path: &Path) -> Result<Digest, StoreError> {
    database::first_hash(&created.connection).map_err(|error| StoreError::of(&error, path))
}
