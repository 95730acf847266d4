//! The store in an SQLite database. The log, the state, and the rows of sessions and questions are in one file.

mod archive;
mod database;
mod error;
mod flusher;
mod journal;
mod log;
mod namespaces;
mod outcomes;
mod passkeys;
mod progress;
mod questions;
mod sessions;
mod snapshots;
mod take_in;
mod waiting;
mod watch;

pub(crate) use archive::WrittenArchive;
pub use log::{FollowFrom, FollowedLog, Lines, Log, LogError, Position};

use super::identity::Identity;
use super::turns::Turns;
use super::{
    Backend, FirstAnswer, KeptOutcome, LateWrite, OpenQuestion, QuestionChange, SessionChanges, SessionRow, StoreError,
    TreeValue, Unit,
};
use crate::locked::locked;
use crate::state::{Lineage, Source, Time};
use database::WritableDatabase;
use flusher::Flusher;
use journal::{Directory, Journal};
use rusqlite::Connection;
use snapshots::{Readers, Reading};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;
use waiting::Waiting;
use watch::Files;

/// Maximum delay of a late record. The delay lets one transaction write several records.
const FLUSH_DELAY: Duration = Duration::from_millis(20);

/// Maximum size of the queued records, in bytes. While the queue is larger, [`Store::push`] fails.
const MAX_QUEUED_BYTES: usize = 16 << 20;

/// Commits between two checks of the WAL's size.
const COMMITS_TO_CHECKPOINT: u32 = 256;

/// Number of bytes of queued records that count as one more commit towards [`COMMITS_TO_CHECKPOINT`].
const BYTES_PER_COMMIT: usize = 16 << 10;

/// An open database, with the thread that writes late changes.
pub(super) struct Database {
    shared: Arc<DiskStore>,
    _flusher: Flusher,
}

struct DiskStore {
    path: PathBuf,
    turns: Turns,
    /// The directory of the journals.
    directory: Directory,
    inner: Mutex<Inner>,
    readers: Arc<Readers>,
    queue: Mutex<Queue>,
    wake: Condvar,
}

struct Inner {
    connection: Connection,
    commits: u32,
    /// SQLite's schema version at the last check that found the schema to be hookhost's.
    schema: i64,
    files: Files,
}

/// The changes that the next transaction writes.
struct Queue {
    waiting: Waiting,
    /// An empty list that keeps the memory of the previous list for reuse.
    spare: Waiting,
    /// Makes records durable before they are in the database.
    journal: Journal,
    /// The files of the database. They are checked before each write to a journal.
    files: Files,
    /// True while changes that are in no journal are being written to the database. Later records must not be durable
    /// before these changes.
    is_exposed: bool,
    bytes: usize,
    /// The error of the last attempt to write the queue.
    problem: Option<StoreError>,
    closed: bool,
    checkpoint: bool,
    /// True if tickets are kept until the flusher gives them back.
    keeps_tickets: bool,
    /// True if the flusher is busy. It then cannot give tickets back soon.
    is_flusher_busy: bool,
}

impl Queue {
    fn new(journal: Journal, files: Files) -> Self {
        Self {
            waiting: Waiting::default(),
            spare: Waiting::default(),
            journal,
            files,
            is_exposed: false,
            bytes: 0,
            problem: None,
            closed: false,
            checkpoint: false,
            keeps_tickets: false,
            is_flusher_busy: false,
        }
    }

    /// Returns true if the last attempt to write succeeded, or failed only because another process was writing.
    fn is_well(&self) -> bool {
        self.problem.as_ref().is_none_or(StoreError::is_transient)
    }

    /// Returns true if a record may go into the journal before the database has it. This requires that no earlier
    /// change is waiting which only the database can store. Changes of stored outcomes may wait, because no record
    /// depends on them.
    fn takes_records_alone(&self) -> bool {
        self.is_well() && !self.is_exposed && self.waiting.has_only_records() && self.bytes <= MAX_QUEUED_BYTES
    }

    /// Writes the late records, and then `records`, into the journal. If this is not possible, returns false and
    /// changes nothing.
    fn write_journal(&mut self, records: &[String]) -> Result<bool, StoreError> {
        let all = self.waiting.late().chain(records.iter().map(String::as_str));
        let Some(written) = self.journal.append(&mut self.files, all)? else { return Ok(false) };
        self.bytes += records.iter().map(String::len).sum::<usize>();
        self.waiting.push_written(records.iter().map(String::as_str), written);
        Ok(true)
    }
}

impl DiskStore {
    fn new(path: &Path, inner: Inner, turns: Turns, journal: Journal, file: Option<Identity>) -> Arc<Self> {
        // 32 is enough for the store's own statements and for the statements of each scope.
        inner.connection.set_prepared_statement_cache_capacity(32);
        let files = inner.files.clone();
        Arc::new(Self {
            path: path.to_owned(),
            turns,
            directory: journal.directory().clone(),
            inner: Mutex::new(inner),
            readers: Readers::new(path.to_owned(), file),
            queue: Mutex::new(Queue::new(journal, files)),
            wake: Condvar::new(),
        })
    }

    /// Runs a query over a free connection for reading.
    fn read<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        self.readers.read(read)
    }

    /// Reads a row that is found quickly. Uses the connection for writing if nobody writes and no connection for
    /// reading is open. So a process that sends a single event usually needs no second connection.
    fn read_row<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        if !self.readers.is_one_open()
            && let Ok(inner) = self.inner.try_lock()
        {
            return read(&inner.connection).map_err(|error| StoreError::of(&error, &self.path));
        }
        self.read(read)
    }

    /// Queues a change for the flusher.
    fn push(&self, late: LateWrite) -> Result<(), StoreError> {
        let mut queue = locked(&self.queue);
        if queue.bytes > MAX_QUEUED_BYTES {
            let full = || StoreError::Io {
                path: self.path.clone(),
                problem: "records arrive faster than they can be written".into(),
            };
            return Err(queue.problem.clone().unwrap_or_else(full));
        }
        let was_empty = queue.waiting.is_empty();
        let LateWrite { record, session, settles, outcome } = late;
        if let Some(record) = record {
            queue.bytes += record.len();
            queue.waiting.push_late(&record);
            self.keep_tickets(&mut queue);
        }
        queue.waiting.sessions.extend(session);
        queue.waiting.settled.extend(settles);
        if let Some(change) = outcome {
            queue.bytes += change.bytes();
            queue.waiting.outcomes.push(change);
        }
        if was_empty {
            self.wake.notify_one();
        }
        Ok(())
    }

    /// Answers a question, unless it has an answer.
    fn answer(&self, id: &str, answer: &str) -> Result<Option<FirstAnswer>, StoreError> {
        let mut inner = locked(&self.inner);
        inner.transaction(&self.path, |connection| questions::answer(connection, id, answer))
    }

    /// Writes a unit that contains only records into the journal. Returns false if this is not possible. The unit must
    /// then be written to the database.
    fn write_journal(&self, unit: &Unit) -> Result<bool, StoreError> {
        let mut queue = locked(&self.queue);
        let was_empty = queue.waiting.is_empty();
        let is_done = queue.takes_records_alone() && queue.write_journal(&unit.records)?;
        if is_done {
            self.keep_tickets(&mut queue);
        }
        if is_done && was_empty {
            self.wake.notify_one();
        }
        Ok(is_done)
    }

    /// Keeps the tickets of events until the flusher gives them back. Otherwise each event of a series would have to
    /// lock a new ticket.
    fn keep_tickets(&self, queue: &mut Queue) {
        // Tickets are not kept after a failure, because the flusher then pauses for longer than another process should
        // wait for a ticket.
        if queue.is_well() && !queue.keeps_tickets && !queue.is_flusher_busy && !queue.closed {
            queue.keeps_tickets = true;
            self.turns.keep();
            self.wake.notify_one();
        }
    }

    /// Gives back the kept tickets.
    fn give_back_tickets(&self) {
        locked(&self.queue).keeps_tickets = false;
        self.turns.give_back();
    }

    /// Imports the journals of other stores.
    fn take_in(&self) -> Result<(), StoreError> {
        let mut inner = locked(&self.inner);
        inner.take_in(&self.path, &self.directory, |id| locked(&self.queue).journal.is_own(id))
    }

    /// Writes the changes in the queue, and then `unit`, in one transaction. If this fails, the queue keeps its
    /// changes.
    fn attempt(&self, unit: &Unit) -> Result<(), StoreError> {
        let mut inner = locked(&self.inner);
        let waiting = {
            let mut queue = locked(&self.queue);
            // Write late records to the journal first. Then events need not wait for the transaction.
            let has_late = queue.waiting.has_late();
            if unit.is_empty() && has_late && queue.journal.is_open() && queue.takes_records_alone() {
                queue.write_journal(&[])?;
            }
            queue.bytes = 0;
            queue.is_exposed = queue.waiting.has_late() || !queue.waiting.has_only_records();
            let spare = std::mem::take(&mut queue.spare);
            std::mem::replace(&mut queue.waiting, spare)
        };
        let commits = 1 + u32::try_from(waiting.bytes() / BYTES_PER_COMMIT).unwrap_or(u32::MAX >> 1);
        let written = inner.write(self, &waiting, unit);
        let (problem, left) = match &written {
            Ok(()) => {
                waiting.journals().iter().for_each(|(file, end)| file.note_taken(*end));
                // This may remove a journal's file, so it is done before the queue is locked.
                (None, waiting.cleared())
            }
            Err(error) => (Some(error.clone()), waiting),
        };
        let mut queue = locked(&self.queue);
        queue.is_exposed = false;
        match &problem {
            None => queue.spare = left,
            Some(_) => {
                queue.bytes += left.bytes();
                queue.waiting.put_back(left);
                // The flusher may have found the queue empty meanwhile, so it must be woken.
                self.wake.notify_one();
            }
        }
        queue.problem = problem;
        inner.commits += commits;
        if inner.commits >= COMMITS_TO_CHECKPOINT {
            inner.commits = 0;
            queue.checkpoint = true;
            self.wake.notify_one();
        }
        written
    }
}

impl Inner {
    fn write(&mut self, store: &DiskStore, waiting: &Waiting, unit: &Unit) -> Result<(), StoreError> {
        let DiskStore { path, readers, directory, .. } = store;
        if waiting.is_empty() && unit.is_empty() {
            return Ok(());
        }
        // Each handle is listed only once, because a handle writes all of its changes together.
        let mut handles: Vec<&Arc<dyn SessionChanges>> = Vec::new();
        for handle in unit.handle.iter().chain(&waiting.sessions).filter(|handle| handle.is_changed()) {
            if handles.iter().all(|other| other.handle() != handle.handle()) {
                handles.push(handle);
            }
        }
        let (counted, sessions) = self.transaction(path, |connection| {
            let taken = progress::claim(connection, directory, waiting.journals())?;
            append(connection, waiting.new_ones(&taken).chain(unit.records.iter().map(|record| &**record)))?;
            for id in &waiting.settled {
                questions::change(connection, &QuestionChange::Settle(id.clone()))?;
            }
            for change in &waiting.outcomes {
                outcomes::change(connection, change)?;
            }
            if let Some(change) = &unit.question {
                questions::change(connection, change)?;
            }
            if let (Some(before), Some(record)) = (unit.passkeys_before, unit.records.last()) {
                passkeys::add(connection, record, before)?;
            }
            let mut sessions = Vec::new();
            for handle in handles {
                sessions.push((Arc::clone(handle), sessions::write(connection, &**handle)?));
            }
            Ok((namespaces::write(connection, &locked(&readers.counts), unit)?, sessions))
        })?;
        locked(&readers.counts).hold(counted);
        for (handle, changed) in sessions {
            handle.note_written(changed);
        }
        Ok(())
    }

    /// Runs `change` in one transaction.
    fn transaction<T>(
        &mut self,
        path: &Path,
        change: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let of = |error: rusqlite::Error| StoreError::of(&error, path);
        // The files are checked before the transaction begins, because other writers wait until the transaction ends.
        self.files.check()?;
        run(&self.connection, "BEGIN IMMEDIATE").map_err(of)?;
        let written = self.check_schema(path).and_then(|()| {
            let connection = &self.connection;
            change(connection).and_then(|changed| run(connection, "COMMIT").map(|()| changed)).map_err(of)
        });
        if written.is_err() {
            // This fails if SQLite has already rolled back the transaction by itself. The failure can be ignored.
            let _ = run(&self.connection, "ROLLBACK");
        }
        written
    }

    /// Fails if the schema is no longer hookhost's. The check is made once in a transaction, because the schema cannot
    /// change before the transaction ends.
    fn check_schema(&mut self, path: &Path) -> Result<(), StoreError> {
        let schema = database::schema_version(&self.connection).map_err(|error| StoreError::of(&error, path))?;
        if schema != self.schema {
            database::check_schema(&self.connection, path)?;
            self.schema = schema;
        }
        Ok(())
    }
}

fn append<'a>(connection: &Connection, bodies: impl Iterator<Item = &'a str>) -> rusqlite::Result<()> {
    let mut bodies = bodies.peekable();
    if bodies.peek().is_none() {
        return Ok(());
    }
    let head = database::head(connection)?;
    bodies.try_fold(head, |head, body| database::append(connection, head, body)).map(drop)
}

fn run(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}

impl Database {
    /// Opens the database at `path`, and creates it if it is missing.
    pub(super) fn open(path: &Path, now: Time) -> Result<Self, StoreError> {
        let created = database::create(path, now)?;
        let forgotten = sessions::forget_old(&created.connection, now);
        match forgotten.map_err(|error| StoreError::of(&error, path)) {
            // Another process is writing. The next process that opens the file deletes the old sessions.
            Err(error) if error.is_transient() => {}
            // The store can still be opened. Each event that cannot be recorded reports the reason itself.
            Err(error @ (StoreError::Full(_) | StoreError::Io { .. })) => {
                tracing::warn!(%error, "old sessions are not deleted");
            }
            done => done?,
        }
        let turns = Turns::open(&database::turns(path)?)?;
        let journal = Journal::new(database::journals(path)?, take_in::log_of(&created, path)?);
        let WritableDatabase { connection, file, schema } = created;
        let mut files = Files::new(path, file, database::wal(path), turns.file());
        // This also finds the identity of the WAL, which the journal needs.
        files.check()?;
        let inner = Inner { connection, commits: 0, schema, files };
        let shared = DiskStore::new(path, inner, turns, journal, file);
        match shared.take_in() {
            // Another process is writing. A later turn imports the journals of processes that have ended.
            Err(error) if error.is_transient() => {}
            done => done?,
        }
        let flusher = Flusher::start(&shared).map_err(|error| StoreError::io(&error, path))?;
        Ok(Self { shared, _flusher: flusher })
    }
}

impl Backend for Database {
    fn keeps_log(&self) -> bool {
        true
    }

    fn turns(&self) -> &Turns {
        &self.shared.turns
    }

    fn snapshot(&self, plugin: &Arc<str>, lineage: Lineage<'_>, now: Time) -> Arc<dyn Source> {
        Arc::new(Reading(self.shared.readers.snapshot(plugin, lineage, now)))
    }

    fn commit(&self, unit: &Unit) -> Result<(), StoreError> {
        if unit.is_only_records() && self.shared.write_journal(unit)? {
            return Ok(());
        }
        self.shared.attempt(unit)
    }

    fn take_in(&self) -> Result<(), StoreError> {
        self.shared.take_in()
    }

    fn push(&self, late: LateWrite) -> Result<(), StoreError> {
        self.shared.push(late)
    }

    fn write_archive(&self, before: Time, now: Time) -> Result<Option<WrittenArchive>, StoreError> {
        self.shared.write_archive(before, now)
    }

    fn commit_archive(&self, written: &WrittenArchive) -> Result<(), StoreError> {
        self.shared.commit_archive(written)
    }

    fn session(&self, id: &str) -> Result<SessionRow, StoreError> {
        self.shared.read_row(|connection| sessions::read(connection, id))
    }

    fn tree_values(&self, plugin: &str) -> Result<Vec<TreeValue>, StoreError> {
        self.shared.read(|connection| namespaces::tree_values(connection, plugin))
    }

    fn answer(&self, id: &str, answer: &str) -> Result<Option<FirstAnswer>, StoreError> {
        self.shared.answer(id, answer)
    }

    fn answered(&self, id: &str) -> Result<Option<Option<String>>, StoreError> {
        self.shared.read(|connection| questions::answered(connection, id))
    }

    fn questions(&self) -> Result<Vec<OpenQuestion>, StoreError> {
        if self.shared.read_row(questions::is_one_open)? { self.shared.read(questions::list) } else { Ok(Vec::new()) }
    }

    fn passkey_records(&self) -> Result<Vec<String>, StoreError> {
        self.shared.read_row(passkeys::list)
    }

    fn logged_passkey_records(&self) -> Result<Vec<String>, StoreError> {
        Ok(self.shared.read(passkeys::logged)?.into_values().collect())
    }

    fn outcomes(&self, now: Time) -> Result<Vec<KeptOutcome>, StoreError> {
        self.shared.read_row(|connection| outcomes::list(connection, now))
    }

    fn forget(&self, lineage: Lineage<'_>) {
        locked(&self.shared.readers.counts).forget(lineage);
    }
}

#[cfg(test)]
impl super::Store {
    fn on_disk(&self) -> Option<&Arc<DiskStore>> {
        let backend: &dyn std::any::Any = &*self.backend;
        backend.downcast_ref::<Database>().map(|database| &database.shared)
    }
}

#[cfg(test)]
mod tests;
