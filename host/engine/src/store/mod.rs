//! The database: it commits the audit log and the state together, so that a crash leaves both or neither.
//!
//! A commit contains everything that this process recorded before it, in order. What may be written late goes into a
//! queue: the next commit writes it along with its own records, or a background thread, the flusher, does so within 20 ms.
//! Other processes may write to the same file at any time. Waiting for a lock never blocks a thread of the agent.

mod database;
mod error;
mod flusher;
mod log;
mod memory;
mod namespaces;
mod questions;
mod sessions;
mod sink;
mod snapshots;
mod turns;

pub use error::StoreError;
pub use log::{Lines, Log, LogError};
pub(crate) use questions::{FirstAnswer, OpenQuestion, QuestionChange};
pub(crate) use sessions::{Changed, SessionChanges, SessionRow};
pub(crate) use turns::{Turn, TurnQueue};

use crate::audit::AuditSink;
use crate::state::{Lineage, Scope, Source, Time, Writes};
use database::{Created, Identity};
use flusher::Flusher;
use memory::Memory;
use rusqlite::Connection;
use sink::Sink;
use snapshots::{Readers, Reading};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use turns::Turns;

/// How long a commit retries while another process holds the write lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// Upper bound of the delay of a late record, which lets one transaction write several.
const FLUSH_DELAY: Duration = Duration::from_millis(20);

/// Upper bound of the queued records, in bytes. While the queue is longer, [`Store::push`] fails.
const MAX_QUEUED_BYTES: usize = 16 << 20;

/// Commits between two checks of the WAL's size.
const COMMITS_TO_CHECKPOINT: u32 = 256;

/// The audit log and the state of all plugins.
pub(crate) struct Store {
    backend: Backend,
    /// Gets the records, too.
    sink: Sink,
}

enum Backend {
    /// State only; records are dropped.
    InMemory {
        memory: Memory,
        turns: Turns,
    },
    OnDisk {
        shared: Arc<DiskStore>,
        _flusher: Flusher,
    },
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

/// Names a namespace: its plugin, its scope, and the session or tree that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Owner {
    plugin: Arc<str>,
    scope: Scope,
    /// The session, or the root of the tree; empty for the scope `plugin`.
    session: String,
}

fn owner(plugin: &Arc<str>, lineage: Lineage<'_>, scope: Scope) -> Owner {
    Owner { plugin: Arc::clone(plugin), scope, session: lineage.of(scope).to_owned() }
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

/// What may be written late, in one transaction.
#[derive(Default)]
pub(crate) struct LateWrite {
    /// A record as JSON; ignored by a store without a log.
    pub(crate) record: Option<String>,
    /// A session handle with unwritten changes.
    pub(crate) session: Option<Arc<dyn SessionChanges>>,
    /// The identifier of a settled question, whose row is deleted.
    pub(crate) settles: Option<String>,
}

impl LateWrite {
    /// A record as JSON.
    pub(crate) fn of(record: String) -> Self {
        Self { record: Some(record), ..Self::default() }
    }
}

/// What one transaction writes.
#[derive(Default)]
pub(crate) struct Unit {
    /// Records as JSON, in order; ignored by a store without a log.
    pub(crate) records: Vec<String>,
    /// What plugins wrote to their state during one event of one session.
    pub(crate) writes: Vec<(Arc<str>, Writes)>,
    pub(crate) session: String,
    /// The session at the root of that session's tree.
    pub(crate) root: String,
    pub(crate) time: Time,
    /// The session's handle, if it may have unwritten changes.
    pub(crate) handle: Option<Arc<dyn SessionChanges>>,
    /// A change of a question's row.
    pub(crate) question: Option<QuestionChange>,
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

impl Unit {
    fn is_empty(&self) -> bool {
        self.records.is_empty()
            && self.question.is_none()
            && self.writes.iter().all(|(_, writes)| writes.is_empty())
            && !self.handle.as_ref().is_some_and(|handle| handle.is_changed())
    }

    fn lineage(&self) -> Lineage<'_> {
        Lineage { session: &self.session, root: &self.root }
    }
}

impl Store {
    /// A store that keeps state in memory and has no log.
    pub(crate) fn in_memory() -> Self {
        let backend = Backend::InMemory { memory: Memory::default(), turns: Turns::default() };
        Self { backend, sink: Sink::default() }
    }

    /// Opens the database at `path`, and creates it if it is missing.
    ///
    /// # Errors
    /// If the file is not ours, is damaged, has a later version, stays locked for 5 s or cannot be written; or if SQLite would
    /// not read the path as the name of a file.
    pub(crate) fn open(path: &Path, now: Time) -> Result<Self, StoreError> {
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
        Ok(Self { backend: Backend::OnDisk { shared, _flusher: flusher }, sink: Sink::default() })
    }

    fn on_disk(&self) -> Option<&Arc<DiskStore>> {
        match &self.backend {
            Backend::InMemory { .. } => None,
            Backend::OnDisk { shared, .. } => Some(shared),
        }
    }

    /// The same, giving each record to a sink, too.
    pub(crate) fn with_sink(self, sink: Option<Arc<dyn AuditSink>>) -> Self {
        Self { sink: Sink::new(sink), ..self }
    }

    /// Whether the store has a log.
    pub(crate) fn keeps_log(&self) -> bool {
        self.on_disk().is_some()
    }

    /// Whether the sink runs on this thread, so that what it sends would wait for itself.
    pub(crate) fn is_in_sink(&self) -> bool {
        self.sink.waits()
    }

    /// Whether somebody wants records: the log, or a sink.
    pub(crate) fn wants_records(&self) -> bool {
        self.sink.is_there() || self.keeps_log()
    }

    /// A snapshot of a plugin's state, taken at its first use at the latest.
    pub(crate) fn snapshot(&self, plugin: &Arc<str>, lineage: Lineage<'_>, now: Time) -> Arc<dyn Source> {
        match &self.backend {
            Backend::InMemory { memory, .. } => memory.snapshot(plugin, lineage, now),
            Backend::OnDisk { shared, .. } => Arc::new(Reading(shared.readers.snapshot(plugin, lineage, now))),
        }
    }

    /// Commits a unit. When this returns, the operating system has it.
    ///
    /// # Errors
    /// If it could not be written: then none of it was.
    pub(crate) async fn commit(&self, unit: &Unit) -> Result<(), StoreError> {
        self.sink.give(unit.records.iter())?;
        let shared = match &self.backend {
            Backend::InMemory { memory, .. } => {
                memory.commit(unit);
                return Ok(());
            }
            Backend::OnDisk { shared, .. } => shared,
        };
        retry_while_locked(|| shared.attempt(unit)).await
    }

    /// Queues something to be written soon, after all earlier records and before all later ones. A record that the sink does
    /// not take comes to it again, before the next one.
    ///
    /// # Errors
    /// If the queue is full, or the sink has missed too many records.
    pub(crate) fn push(&self, late: LateWrite) -> Result<(), StoreError> {
        let given = late.record.as_deref().map_or(Ok(()), |record| self.sink.give_late(record));
        self.queue(late)?;
        given
    }

    /// The same where the record counts only if it is taken.
    ///
    /// # Errors
    /// If the queue is full, or the sink does not take the record: then nothing is queued.
    pub(crate) fn push_taken(&self, late: LateWrite) -> Result<(), StoreError> {
        self.sink.give(late.record.iter())?;
        self.queue(late)
    }

    fn queue(&self, late: LateWrite) -> Result<(), StoreError> {
        let shared = match &self.backend {
            Backend::InMemory { memory, .. } => {
                memory.push(late);
                return Ok(());
            }
            Backend::OnDisk { shared, .. } => shared,
        };
        let mut queue = shared.queue();
        if queue.bytes > MAX_QUEUED_BYTES {
            let full = || StoreError::Io { path: shared.path.clone(), problem: "too slow".into() };
            return Err(queue.problem.clone().unwrap_or_else(full));
        }
        let was_empty = queue.waiting.is_empty();
        let LateWrite { record, session, settles } = late;
        queue.bytes += record.as_ref().map_or(0, String::len);
        queue.waiting.records.extend(record);
        queue.waiting.sessions.extend(session);
        queue.waiting.settled.extend(settles);
        if was_empty {
            shared.wake.notify_one();
        }
        Ok(())
    }

    /// The queue in which a session's events wait for their turn.
    pub(crate) fn turn_queue(&self, session: &str) -> TurnQueue {
        self.turns().turn_queue(session)
    }

    fn turns(&self) -> &Turns {
        match &self.backend {
            Backend::InMemory { turns, .. } => turns,
            Backend::OnDisk { shared, .. } => &shared.turns,
        }
    }

    /// A session's row; a session without a row has version 0.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(crate) fn session(&self, id: &str) -> Result<SessionRow, StoreError> {
        match &self.backend {
            Backend::InMemory { memory, .. } => Ok(memory.session(id)),
            Backend::OnDisk { shared, .. } => shared.read(|connection| sessions::read(connection, id)),
        }
    }

    /// The same, waiting for a moment in which it can be read.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(crate) async fn session_now(&self, id: &str) -> Result<SessionRow, StoreError> {
        retry_while_locked(|| self.session(id)).await
    }

    /// Answers a question, unless it has an answer. Returns the answer that counts; `None` if there is no such question.
    ///
    /// # Errors
    /// If it could not be written.
    pub(crate) async fn answer(&self, id: &str, answer: &str) -> Result<Option<FirstAnswer>, StoreError> {
        match &self.backend {
            Backend::InMemory { memory, .. } => Ok(memory.answer(id, answer)),
            Backend::OnDisk { shared, .. } => retry_while_locked(|| shared.answer(id, answer)).await,
        }
    }

    /// The answer to a question: `None` if there is no such question, `Some(None)` if it has no answer yet.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(crate) fn answered(&self, id: &str) -> Result<Option<Option<String>>, StoreError> {
        match &self.backend {
            Backend::InMemory { memory, .. } => Ok(memory.answered(id)),
            Backend::OnDisk { shared, .. } => shared.read(|connection| questions::answered(connection, id)),
        }
    }

    /// The open questions of all processes, ordered by expiry.
    ///
    /// # Errors
    /// If they cannot be read.
    pub(crate) async fn questions(&self) -> Result<Vec<OpenQuestion>, StoreError> {
        match &self.backend {
            Backend::InMemory { memory, .. } => Ok(memory.list()),
            Backend::OnDisk { shared, .. } => retry_while_locked(|| shared.read(questions::list)).await,
        }
    }

    /// The number by which other processes can tell whether this process is alive.
    ///
    /// # Errors
    /// If the file of turns cannot be locked.
    pub(crate) fn asker(&self) -> Result<u32, StoreError> {
        self.turns().alive()
    }

    /// Whether the process with this number is alive.
    ///
    /// # Errors
    /// If the locks cannot be read.
    pub(crate) fn is_alive(&self, asker: u32) -> Result<bool, StoreError> {
        self.turns().is_alive(asker)
    }

    /// Writes what is queued.
    ///
    /// # Errors
    /// If it could not be written: then it stays in the queue.
    pub(crate) async fn flush(&self) -> Result<(), StoreError> {
        // Also where the queue is empty: the flusher may have taken its content, and not written it yet.
        self.commit(&Unit::default()).await
    }

    /// Forgets the cached sizes of the namespaces of a session and of its tree. If the tree is used again, they are
    /// counted again.
    pub(crate) fn forget(&self, lineage: Lineage<'_>) {
        if let Some(shared) = self.on_disk() {
            shared.readers.counts().forget(lineage);
        }
    }
}

/// Retries while other processes hold the write lock, for [`LOCK_TIMEOUT`] at most, without blocking the thread.
async fn retry_while_locked<T>(attempt: impl Fn() -> Result<T, StoreError>) -> Result<T, StoreError> {
    let began = Instant::now();
    loop {
        match attempt() {
            Err(error) if error.is_transient() && began.elapsed() < LOCK_TIMEOUT => {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            ended => return ended,
        }
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
        let (file, wal) = (database::identity(path), database::identity(&self.wal_path));
        if file.is_none() || file != self.file || (self.wal.is_some() && wal != self.wal) {
            return Err(StoreError::Gone(path.to_owned()));
        }
        self.wal = wal;
        // A process that opens another file of turns does not wait for those of this one, and takes them for dead.
        match &self.turns {
            Some((turns, opened)) if database::identity(turns) != *opened => Err(StoreError::Gone(turns.clone())),
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

#[cfg(test)]
mod tests;
