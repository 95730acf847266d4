//! Taking in the journals of other stores: of processes that are gone, and of those that had a session's turn before.

use super::database::{self, WritableDatabase};
use super::journal::{self, Directory};
use super::watch::Files;
use super::{Inner, progress};
use crate::config::Digest;
use crate::files::{self, Guard, Links};
use crate::store::identity::{identity, identity_of};
use crate::store::{LOCK_TIMEOUT, StoreError};
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

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
        let length = file.metadata().map_err(|error| StoreError::io(&error, &journal))?.len();
        let damaged = |problem: &str| StoreError::Damaged { path: journal.clone(), problem: problem.to_owned() };
        if length <= before {
            return Ok(());
        }
        if length - before > LARGEST {
            return Err(damaged("it is larger than a journal can be"));
        }
        let mut bytes = vec![0; usize::try_from(length - before).unwrap_or_default()];
        let read = read_up_to(file, &mut bytes, before).map_err(|error| StoreError::io(&error, &journal))?;
        bytes.truncate(read);
        let log = database::first_hash(&self.connection).map_err(of)?;
        let problem = self.transaction(path, |connection| {
            // Removed: its store, or another process, has taken in all of it.
            if identity(&journal) != identity_of(file) {
                return Ok(None);
            }
            let taken = progress::read(connection, id)?;
            let rest = taken.checked_sub(before).and_then(|more| bytes.get(usize::try_from(more).ok()?..));
            let found = journal::read(rest.unwrap_or_default(), taken, log, id);
            if !found.records.is_empty() {
                progress::take_in(connection, directory, id, &found.records, found.end)?;
            }
            Ok(found.problem)
        })?;
        problem.map_or(Ok(()), |problem| Err(damaged(problem)))
    }
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

/// Takes in all journals of a database for a reader of its log.
///
/// # Errors
/// As [`Inner::take_in`]; if the database stays locked for 5 s.
pub(super) fn take_in_for_reader(path: &Path) -> Result<(), StoreError> {
    let directory = database::journals(path)?;
    if directory.list().map_err(|error| StoreError::io(&error, path))?.is_empty() {
        return Ok(());
    }
    let WritableDatabase { connection, file, schema } = database::create(path, 0)?;
    let files = Files::new(path, file, database::wal(path), None);
    let mut inner = Inner { connection, commits: 0, schema, files };
    let began = Instant::now();
    loop {
        match inner.take_in(path, &directory, |_| false) {
            Err(error) if error.is_transient() && began.elapsed() < LOCK_TIMEOUT => {
                std::thread::sleep(Duration::from_millis(1));
            }
            done => return done,
        }
    }
}

/// The hash of the first line of the log that a store's own journals are of.
pub(super) fn log_of(created: &WritableDatabase, path: &Path) -> Result<Digest, StoreError> {
    database::first_hash(&created.connection).map_err(|error| StoreError::of(&error, path))
}
