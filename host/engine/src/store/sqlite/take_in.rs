//! Taking in the journals of other stores: of processes that are gone, and of those that had a session's turn before. And
//! reading them beside the database, without taking them in.

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

/// Upper bound of the size of a journal, in bytes. None of ours comes near it.
const LARGEST: u64 = 1 << 30;

impl Inner {
    /// Takes in all journals but those of `is_own`. When this returns, the database has each record that was in one of them when it
    /// began.
    ///
    /// # Errors
    /// If a journal is damaged, after what comes before the damage is taken in; if it cannot be read, or the database cannot be
    /// written.
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
                // A damaged one does not keep others out of the log.
                Err(error) => first_problem = first_problem.and(Err(error)),
            }
        }
        if is_one_removed {
            self.transaction(path, |connection| progress::forget(connection, directory))?;
        }
        first_problem
    }

    /// Takes in one journal. Returns whether it was removed, since its store is gone.
    fn take_in_one(&mut self, path: &Path, directory: &Directory, id: &str) -> Result<bool, StoreError> {
        let journal = directory.file(id);
        let file = match files::open(&journal, Guard::OnlyMineToWrite, Links::Refused) {
            Ok(file) => file,
            // Its store has removed it: the database has all of it.
            Err(error) if error.is_missing() => return Ok(false),
            Err(error) => return Err(StoreError::file(error, &journal)),
        };
        // Locked before it is read: its store writes nothing more then.
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
            // Removed: its store, or another process, has taken in all of it.
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

/// Returns the part of `bytes`, which begin at the byte `before` of a journal, that begins at the byte `taken`.
fn skip_to(taken: u64, bytes: &[u8], before: u64) -> &[u8] {
    let more = taken.checked_sub(before).and_then(|more| usize::try_from(more).ok());
    more.and_then(|more| bytes.get(more..)).unwrap_or_default()
}

/// Reads what is there, which may be less than there was a moment ago.
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

/// The records that only journals have, as the lines that the database would make of them now.
#[derive(Default)]
pub(super) struct UnstoredLines {
    /// The number of the last line of the database.
    pub(super) stored: u64,
    pub(super) lines: Vec<Line>,
}

/// Reads the records that only journals have. Writes nothing.
///
/// # Errors
/// If a journal is damaged, or if it or the database cannot be read.
pub(super) fn unstored(connection: &Connection, path: &Path) -> Result<UnstoredLines, StoreError> {
    let directory = database::journals(path)?;
    loop {
        if let Some(unstored) = read_unstored(connection, path, &directory)? {
            return Ok(unstored);
        }
    }
}

/// Returns `None` if a journal was removed meanwhile: another process has just taken in all of it.
fn read_unstored(
    connection: &Connection,
    path: &Path,
    directory: &Directory,
) -> Result<Option<UnstoredLines>, StoreError> {
    let of = |error: rusqlite::Error| StoreError::of(&error, path);
    let mut journals = Vec::new();
    for id in directory.list().map_err(|error| StoreError::io(&error, path))? {
        let journal = directory.file(&id);
        let file = match files::open(&journal, Guard::OnlyMineToWrite, Links::Refused) {
            Ok(file) => file,
            Err(error) if error.is_missing() => continue,
            Err(error) => return Err(StoreError::file(error, &journal)),
        };
        let before = progress::read(connection, &id).map_err(of)?;
        let bytes = read_after(&file, &journal, before)?;
        journals.push((id, journal, file, before, bytes));
    }
    if journals.is_empty() {
        return Ok(Some(UnstoredLines::default()));
    }
    // One snapshot, so that the rows of the journals belong to the last line.
    let snapshot = connection.unchecked_transaction().map_err(of)?;
    let log = database::first_hash(&snapshot).map_err(of)?;
    let (stored, mut last_hash) = database::head(&snapshot).map_err(of)?;
    let mut lines: Vec<Line> = Vec::new();
    for (id, journal, file, before, bytes) in journals {
        let taken = progress::read(&snapshot, &id).map_err(of)?;
        // While it is there, its row is, too.
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

/// The hash of the first line of the log that a store's own journals are of.
pub(super) fn log_of(created: &WritableDatabase, path: &Path) -> Result<Digest, StoreError> {
    database::first_hash(&created.connection).map_err(|error| StoreError::of(&error, path))
}
