//! The database of SQLite: the log, the state and the rows of sessions and questions in one file.

mod database;
mod error;
mod flusher;
mod log;
mod namespaces;
mod questions;
mod sessions;
mod snapshots;

pub use log::{Lines, Log, LogError};

use super::identity::{Identity, identity};
use super::turns::Turns;
use super::{
    Backend, FirstAnswer, LateWrite, OpenQuestion, QuestionChange, SessionChanges, SessionRow, StoreError, Unit,
};
use crate::state::{Lineage, Source, Time};
use database::Created;
use flusher::Flusher;
use rusqlite::Connection;
use snapshots::{Readers, Reading};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Upper bound of the delay of a late record, which lets one transaction write several.
const FLUSH_DELAY: Duration = Duration::from_millis(20);

/// Upper bound of the queued records, in bytes. While the queue is longer, [`Store::push`] fails.
const MAX_QUEUED_BYTES: usize = 16 << 20;

/// Commits between two checks of the WAL's size.
const COMMITS_TO_CHECKPOINT: u32 = 256;

/// An open database, with the thread that writes what may be late.
pub(super) struct Database {
    shared: Arc<DiskStore>,
    _flusher: Flusher,
}

struct DiskStore {
    path: PathBuf,
    turns: Turns,
    inner: Mutex<Inner>,
    readers: Arc<Readers>,
    queue: Mutex<Queue>,
    wake: Condvar,
}

struct Inner {
    connection: Connection,
    commits: u32,
    /// SQLite's schema version at the last check that found the schema to be ours.
    schema: i64,
    /// The identity of the open database file.
    file: Option<Identity>,
    /// The identity of the WAL file, once something was written to it.
    wal: Option<Identity>,
    wal_path: PathBuf,
    /// The file of turns, and which file it was when it was opened.
    turns: Option<(PathBuf, Option<Identity>)>,
}

/// What waits to be written.
#[derive(Default)]
struct Queue {
    waiting: Waiting,
    bytes: usize,
    /// Why the last attempt to write it failed.
    problem: Option<StoreError>,
    closed: bool,
    checkpoint: bool,
}

/// What the next transaction writes first.
#[derive(Default)]
struct Waiting {
    records: Vec<String>,
    /// Session handles with unwritten changes.
    sessions: Vec<Arc<dyn SessionChanges>>,
    /// Identifiers of settled questions, whose rows are deleted.
    settled: Vec<String>,
}

impl Waiting {
    fn is_empty(&self) -> bool {
        self.records.is_empty() && self.sessions.is_empty() && self.settled.is_empty()
    }

    /// Puts back what could not be written, before what was queued meanwhile.
    fn put_back(&mut self, first: Self) {
        self.records.splice(..0, first.records);
        self.sessions.splice(..0, first.sessions);
        self.settled.splice(..0, first.settled);
    }
}

impl DiskStore {
    fn new(path: &Path, created: Created, turns: Turns) -> Arc<Self> {
        let Created { connection, file, schema } = created;
        // Room for the store's own statements and for those of each scope.
        connection.set_prepared_statement_cache_capacity(32);
        let (wal_path, ticket_file) = (database::wal(path), turns.file());
        let inner = Inner { connection, commits: 0, schema, file, wal: None, wal_path, turns: ticket_file };
        Arc::new(Self {
            path: path.to_owned(),
            turns,
            inner: Mutex::new(inner),
            readers: Readers::new(path.to_owned(), file),
            queue: Mutex::default(),
            wake: Condvar::new(),
        })
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads over a free connection.
    fn read<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        self.readers.read(read)
    }

    /// Queues something for the flusher.
    fn push(&self, late: LateWrite) -> Result<(), StoreError> {
        let mut queue = self.queue();
        if queue.bytes > MAX_QUEUED_BYTES {
            let full = || StoreError::Io { path: self.path.clone(), problem: "too slow".into() };
            return Err(queue.problem.clone().unwrap_or_else(full));
        }
        let was_empty = queue.waiting.is_empty();
        let LateWrite { record, session, settles } = late;
        queue.bytes += record.as_ref().map_or(0, String::len);
        queue.waiting.records.extend(record);
        queue.waiting.sessions.extend(session);
        queue.waiting.settled.extend(settles);
        if was_empty {
            self.wake.notify_one();
        }
        Ok(())
    }

    /// Answers a question, unless it has an answer.
    fn answer(&self, id: &str, answer: &str) -> Result<Option<FirstAnswer>, StoreError> {
        let mut inner = self.inner();
        inner.transaction(&self.path, |connection| questions::answer(connection, id, answer))
    }

    /// Writes what is in the queue, and then `unit`, in one transaction. If that fails, the queue is unchanged.
    fn attempt(&self, unit: &Unit) -> Result<(), StoreError> {
        let mut inner = self.inner();
        let waiting = {
            let mut queue = self.queue();
            queue.bytes = 0;
            std::mem::take(&mut queue.waiting)
        };
        let written = inner.write(&self.path, &self.readers, &waiting, unit);
        let mut queue = self.queue();
        match &written {
            Ok(()) => queue.problem = None,
            Err(error) => {
                queue.problem = Some(error.clone());
                queue.bytes += waiting.records.iter().map(String::len).sum::<usize>();
                queue.waiting.put_back(waiting);
            }
        }
        inner.commits += 1;
        if inner.commits >= COMMITS_TO_CHECKPOINT {
            inner.commits = 0;
            queue.checkpoint = true;
            self.wake.notify_one();
        }
        written
    }
}

impl Inner {
    fn write(&mut self, path: &Path, readers: &Readers, waiting: &Waiting, unit: &Unit) -> Result<(), StoreError> {
        if waiting.is_empty() && unit.is_empty() {
            return Ok(());
        }
        // Each handle once, since a handle writes all of its changes at once.
        let mut handles: Vec<&Arc<dyn SessionChanges>> = Vec::new();
        for handle in unit.handle.iter().chain(&waiting.sessions).filter(|handle| handle.is_changed()) {
            if handles.iter().all(|other| other.handle() != handle.handle()) {
                handles.push(handle);
            }
        }
        let (counted, sessions) = self.transaction(path, |connection| {
            append(connection, waiting.records.iter().chain(&unit.records))?;
            for id in &waiting.settled {
                questions::change(connection, &QuestionChange::Settle(id.clone()))?;
            }
            if let Some(change) = &unit.question {
                questions::change(connection, change)?;
            }
            let mut sessions = Vec::new();
            for handle in handles {
                sessions.push((Arc::clone(handle), sessions::write(connection, &**handle)?));
            }
            Ok((namespaces::write(connection, &readers.counts(), unit)?, sessions))
        })?;
        readers.counts().hold(counted);
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
        // Before the transaction begins, since other writers wait until it ends.
        self.check_files(path)?;
        run(&self.connection, "BEGIN IMMEDIATE").map_err(of)?;
        let written = self.check_schema(path).and_then(|()| {
            let connection = &self.connection;
            change(connection).and_then(|changed| run(connection, "COMMIT").map(|()| changed)).map_err(of)
        });
        if written.is_err() {
            // If SQLite has rolled back by itself, this fails, and nothing is left to roll back.
            let _ = run(&self.connection, "ROLLBACK");
        }
        written
    }

    /// Fails if the schema is no longer ours. It cannot change during the transaction.
    fn check_schema(&mut self, path: &Path) -> Result<(), StoreError> {
        let schema = database::schema_version(&self.connection).map_err(|error| StoreError::of(&error, path))?;
        if schema != self.schema {
            database::check_schema(&self.connection, path)?;
            self.schema = schema;
        }
        Ok(())
    }

    /// Fails if the path no longer leads to the open files: then other processes would not read what is written.
    fn check_files(&mut self, path: &Path) -> Result<(), StoreError> {
        let (file, wal) = (identity(path), identity(&self.wal_path));
        if file.is_none() || file != self.file || (self.wal.is_some() && wal != self.wal) {
            return Err(StoreError::Gone(path.to_owned()));
        }
        self.wal = wal;
        // A process that opens another file of turns does not wait for those of this one, and takes them for dead.
        match &self.turns {
            Some((turns, opened)) if identity(turns) != *opened => Err(StoreError::Gone(turns.clone())),
            _ => Ok(()),
        }
    }
}

fn append<'a>(connection: &Connection, bodies: impl Iterator<Item = &'a String>) -> rusqlite::Result<()> {
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
        let forgotten = namespaces::forget_old_sessions(&created.connection, now)
            .and_then(|()| sessions::forget_old(&created.connection, now));
        match forgotten.map_err(|error| StoreError::of(&error, path)) {
            // Another process writes. The next process that opens the file forgets them.
            Err(error) if error.is_transient() => {}
            done => done?,
        }
        let turns = Turns::open(&database::turns(path)?)?;
        let shared = DiskStore::new(path, created, turns);
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
        self.shared.attempt(unit)
    }

    fn push(&self, late: LateWrite) -> Result<(), StoreError> {
        self.shared.push(late)
    }

    fn session(&self, id: &str) -> Result<SessionRow, StoreError> {
        self.shared.read(|connection| sessions::read(connection, id))
    }

    fn answer(&self, id: &str, answer: &str) -> Result<Option<FirstAnswer>, StoreError> {
        self.shared.answer(id, answer)
    }

    fn answered(&self, id: &str) -> Result<Option<Option<String>>, StoreError> {
        self.shared.read(|connection| questions::answered(connection, id))
    }

    fn questions(&self) -> Result<Vec<OpenQuestion>, StoreError> {
        self.shared.read(questions::list)
    }

    fn forget(&self, lineage: Lineage<'_>) {
        self.shared.readers.counts().forget(lineage);
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
