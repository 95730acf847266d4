//! Where audit log and state are kept: committed together, so that a crash leaves both or neither.
//!
//! A commit holds everything that came before it in this process, in order. What may come late is put in a queue, which
//! the next commit takes along; else a thread, the keeper, writes it within 20 ms. Other processes may write to the
//! same file at any time. Nobody waits for a lock while holding up a thread of the agent.

mod database;
mod error;
mod keeper;
mod log;
mod memory;
mod questions;
mod sessions;
mod snapshots;
mod spaces;
mod turns;

pub use error::StoreError;
pub use log::{Lines, Log, LogError};
pub(crate) use questions::{FirstAnswer, OpenQuestion, QuestionChange};
pub(crate) use sessions::{Changed, KeepsSession, SessionRow};
pub(crate) use turns::{Line, Turn};

use crate::state::{Lineage, Scope, Source, Time, Writes};
use database::{Created, Identity};
use keeper::Keeper;
use memory::Memory;
use rusqlite::Connection;
use snapshots::{Readers, Reading};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use turns::Turns;

/// How long a commit waits while other processes write.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long a record that may come late is kept back at most, so that others can be written with it.
const KEPT_BACK: Duration = Duration::from_millis(20);

/// Bytes of records that are kept while they cannot be written; then nothing more is let through.
const MOST_KEPT_BACK: usize = 16 << 20;

/// Commits between two looks at the size of the WAL.
const COMMITS_TO_CHECKPOINT: u32 = 256;

/// The audit log and the state of all plugins.
pub(crate) struct Store(Kept);

enum Kept {
    /// State alone.
    InMemory {
        memory: Memory,
        turns: Turns,
    },
    OnDisk {
        shared: Arc<Shared>,
        _keeper: Keeper,
    },
}

struct Shared {
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
    /// The schema's version when it was last found to be ours.
    schema: i64,
    /// Which file the database is.
    file: Option<Identity>,
    /// Which file its WAL is, once it has been written to.
    wal: Option<Identity>,
    wal_path: PathBuf,
    /// The file of turns, and which file it was when it was opened.
    turns: Option<(PathBuf, Option<Identity>)>,
}

/// Whose a space is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Owner {
    plugin: Arc<str>,
    scope: Scope,
    /// The session, or the root of the tree; empty where the space is of all sessions.
    session: String,
}

fn owner(plugin: &Arc<str>, lineage: Lineage<'_>, scope: Scope) -> Owner {
    Owner { plugin: Arc::clone(plugin), scope, session: lineage.of(scope).to_owned() }
}

/// Records that are not yet written.
#[derive(Default)]
struct Queue {
    waiting: Waiting,
    bytes: usize,
    /// Why they could not be, when that was last tried.
    problem: Option<StoreError>,
    closed: bool,
    checkpoint: bool,
}

/// What is written with the next transaction.
#[derive(Default)]
struct Waiting {
    records: Vec<String>,
    /// Handles of sessions that have something to write.
    sessions: Vec<Arc<dyn KeepsSession>>,
    /// Questions that are settled.
    settled: Vec<String>,
}

/// What may be written late, all of it or nothing.
#[derive(Default)]
pub(crate) struct Late {
    /// A record as JSON; left out where no log is kept.
    pub(crate) record: Option<String>,
    /// A handle of a session that has something to write.
    pub(crate) session: Option<Arc<dyn KeepsSession>>,
    /// A question that is settled.
    pub(crate) settles: Option<String>,
}

impl Late {
    /// A record as JSON.
    pub(crate) fn of(record: String) -> Self {
        Self { record: Some(record), ..Self::default() }
    }
}

/// What is to hold, all of it or nothing.
#[derive(Default)]
pub(crate) struct Unit {
    /// Records as JSON, in order; left out where no log is kept.
    pub(crate) records: Vec<String>,
    /// What plugins wrote to their state about one event of one session.
    pub(crate) writes: Vec<(Arc<str>, Writes)>,
    pub(crate) session: String,
    /// The session at the root of its tree.
    pub(crate) root: String,
    pub(crate) time: Time,
    /// The handle of that session, which may have something to write.
    pub(crate) handle: Option<Arc<dyn KeepsSession>>,
    /// What becomes of a question.
    pub(crate) question: Option<QuestionChange>,
}

impl Waiting {
    fn is_empty(&self) -> bool {
        self.records.is_empty() && self.sessions.is_empty() && self.settled.is_empty()
    }

    /// Puts what could not be written before what has come since.
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
    /// State in memory, and no log.
    pub(crate) fn in_memory() -> Self {
        Self(Kept::InMemory { memory: Memory::default(), turns: Turns::default() })
    }

    /// The database at `path`, made where there is none.
    ///
    /// # Errors
    /// If it is not ours, damaged, of a later version, locked for longer than 5 s, or cannot be written; or if the name is not
    /// that of a file.
    pub(crate) fn open(path: &Path, now: Time) -> Result<Self, StoreError> {
        let created = database::create(path, now)?;
        let forgotten = spaces::forget_old_sessions(&created.connection, now)
            .and_then(|()| sessions::forget_old(&created.connection, now));
        match forgotten.map_err(|error| StoreError::of(&error, path)) {
            // The next one to open it will.
            Err(error) if error.is_passing() => {}
            done => done?,
        }
        let turns = Turns::open(&database::turns(path)?)?;
        let shared = Shared::new(path, created, turns);
        let keeper = Keeper::start(&shared).map_err(|error| StoreError::io(&error, path))?;
        Ok(Self(Kept::OnDisk { shared, _keeper: keeper }))
    }

    fn on_disk(&self) -> Option<&Arc<Shared>> {
        match &self.0 {
            Kept::InMemory { .. } => None,
            Kept::OnDisk { shared, .. } => Some(shared),
        }
    }

    /// Whether records are kept.
    pub(crate) fn keeps_log(&self) -> bool {
        self.on_disk().is_some()
    }

    /// The state of a plugin at one moment: when it is first used, or before.
    pub(crate) fn snapshot(&self, plugin: &Arc<str>, lineage: Lineage<'_>, now: Time) -> Arc<dyn Source> {
        match &self.0 {
            Kept::InMemory { memory, .. } => memory.snapshot(plugin, lineage, now),
            Kept::OnDisk { shared, .. } => Arc::new(Reading(shared.readers.snapshot(plugin, lineage, now))),
        }
    }

    /// Makes it hold; it has reached the operating system when this returns.
    ///
    /// # Errors
    /// If it could not be written: then nothing of it holds.
    pub(crate) async fn commit(&self, unit: &Unit) -> Result<(), StoreError> {
        let shared = match &self.0 {
            Kept::InMemory { memory, .. } => {
                memory.commit(unit);
                return Ok(());
            }
            Kept::OnDisk { shared, .. } => shared,
        };
        patiently(|| shared.attempt(unit)).await
    }

    /// Has something written soon, in order with all records.
    ///
    /// # Errors
    /// If so much waits to be written that nothing more is taken.
    pub(crate) fn push(&self, late: Late) -> Result<(), StoreError> {
        let shared = match &self.0 {
            Kept::InMemory { memory, .. } => {
                memory.push(late);
                return Ok(());
            }
            Kept::OnDisk { shared, .. } => shared,
        };
        let mut queue = shared.queue();
        if queue.bytes > MOST_KEPT_BACK {
            let full = || StoreError::Io { path: shared.path.clone(), problem: "too slow".into() };
            return Err(queue.problem.clone().unwrap_or_else(full));
        }
        let was_empty = queue.waiting.is_empty();
        let Late { record, session, settles } = late;
        queue.bytes += record.as_ref().map_or(0, String::len);
        queue.waiting.records.extend(record);
        queue.waiting.sessions.extend(session);
        queue.waiting.settled.extend(settles);
        if was_empty {
            shared.wake.notify_one();
        }
        Ok(())
    }

    /// The line in which the events of a session wait for their turn.
    pub(crate) fn line(&self, session: &str) -> Line {
        self.turns().line(session)
    }

    fn turns(&self) -> &Turns {
        match &self.0 {
            Kept::InMemory { turns, .. } => turns,
            Kept::OnDisk { shared, .. } => &shared.turns,
        }
    }

    /// The row of a session; of version 0 where there is none.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(crate) fn session(&self, id: &str) -> Result<SessionRow, StoreError> {
        match &self.0 {
            Kept::InMemory { memory, .. } => Ok(memory.session(id)),
            Kept::OnDisk { shared, .. } => shared.read(|connection| sessions::read(connection, id)),
        }
    }

    /// The same, waiting for a moment in which it can be read.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(crate) async fn session_now(&self, id: &str) -> Result<SessionRow, StoreError> {
        patiently(|| self.session(id)).await
    }

    /// Answers a question that has no answer yet. Gives the answer that counts; `None` where there is no such question.
    ///
    /// # Errors
    /// If it could not be written.
    pub(crate) async fn answer(&self, id: &str, answer: &str) -> Result<Option<FirstAnswer>, StoreError> {
        match &self.0 {
            Kept::InMemory { memory, .. } => Ok(memory.answer(id, answer)),
            Kept::OnDisk { shared, .. } => patiently(|| shared.answer(id, answer)).await,
        }
    }

    /// The answer to a question: `None` where there is no such question, `Some(None)` where it has none yet.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(crate) fn answered(&self, id: &str) -> Result<Option<Option<String>>, StoreError> {
        match &self.0 {
            Kept::InMemory { memory, .. } => Ok(memory.answered(id)),
            Kept::OnDisk { shared, .. } => shared.read(|connection| questions::answered(connection, id)),
        }
    }

    /// The questions that wait, of all processes, the first to expire first.
    ///
    /// # Errors
    /// If they cannot be read.
    pub(crate) async fn questions(&self) -> Result<Vec<OpenQuestion>, StoreError> {
        match &self.0 {
            Kept::InMemory { memory, .. } => Ok(memory.list()),
            Kept::OnDisk { shared, .. } => patiently(|| shared.read(questions::list)).await,
        }
    }

    /// The number by which other processes can tell whether this one waits for an answer.
    ///
    /// # Errors
    /// If the file of turns cannot be locked.
    pub(crate) fn asker(&self) -> Result<u32, StoreError> {
        self.turns().alive()
    }

    /// Whether the process of this number is there.
    ///
    /// # Errors
    /// If the locks cannot be read.
    pub(crate) fn is_alive(&self, asker: u32) -> Result<bool, StoreError> {
        self.turns().is_alive(asker)
    }

    /// Writes what was kept back.
    ///
    /// # Errors
    /// If it could not be written; it is kept.
    pub(crate) async fn flush(&self) -> Result<(), StoreError> {
        let waits = self.on_disk().is_some_and(|shared| !shared.queue().waiting.is_empty());
        if waits { self.commit(&Unit::default()).await } else { Ok(()) }
    }

    /// Forgets what is known in memory of the state of a session, and of its tree, in the database. Whoever of the tree
    /// goes on has it counted anew.
    pub(crate) fn forget(&self, lineage: Lineage<'_>) {
        if let Some(shared) = self.on_disk() {
            shared.readers.counts().forget(lineage);
        }
    }
}

/// Tries again while other processes write, without holding up a thread.
async fn patiently<T>(attempt: impl Fn() -> Result<T, StoreError>) -> Result<T, StoreError> {
    let began = Instant::now();
    loop {
        match attempt() {
            Err(error) if error.is_passing() && began.elapsed() < PATIENCE => {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            ended => return ended,
        }
    }
}

impl Shared {
    fn new(path: &Path, created: Created, turns: Turns) -> Arc<Self> {
        let Created { connection, file, schema } = created;
        // Ours, and one for each scope's reading and writing.
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

    /// Reads with a connection that nobody uses.
    fn read<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        self.readers.read(read)
    }

    /// Answers a question, unless it has an answer.
    fn answer(&self, id: &str, answer: &str) -> Result<Option<FirstAnswer>, StoreError> {
        let mut inner = self.inner();
        inner.transaction(&self.path, |connection| questions::answer(connection, id, answer))
    }

    /// Writes what is in the queue, and then `unit`, in one transaction. Where that fails the queue is as it was.
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
        // Each handle once: what it writes is all that it has to write.
        let mut handles: Vec<&Arc<dyn KeepsSession>> = Vec::new();
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
            Ok((spaces::write(connection, &readers.counts(), unit)?, sessions))
        })?;
        readers.counts().hold(counted);
        for (handle, changed) in sessions {
            handle.note_written(changed);
        }
        Ok(())
    }

    /// One transaction: all of it, or nothing.
    fn transaction<T>(
        &mut self,
        path: &Path,
        change: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let of = |error: rusqlite::Error| StoreError::of(&error, path);
        // Before the transaction: while it lasts, others wait.
        self.check_files(path)?;
        run(&self.connection, "BEGIN IMMEDIATE").map_err(of)?;
        let written = self.check_schema(path).and_then(|()| {
            let connection = &self.connection;
            change(connection).and_then(|changed| run(connection, "COMMIT").map(|()| changed)).map_err(of)
        });
        if written.is_err() {
            // Where SQLite has rolled back by itself there is nothing left to roll back.
            let _ = run(&self.connection, "ROLLBACK");
        }
        written
    }

    /// Whether the schema is still ours; it cannot change while the transaction lasts.
    fn check_schema(&mut self, path: &Path) -> Result<(), StoreError> {
        let schema = database::schema_version(&self.connection).map_err(|error| StoreError::of(&error, path))?;
        if schema != self.schema {
            database::check_schema(&self.connection, path)?;
            self.schema = schema;
        }
        Ok(())
    }

    /// Whether the files that are open are those that stand at the path, so that others read what is written.
    fn check_files(&mut self, path: &Path) -> Result<(), StoreError> {
        let (file, wal) = (database::identity(path), database::identity(&self.wal_path));
        if file.is_none() || file != self.file || (self.wal.is_some() && wal != self.wal) {
            return Err(StoreError::Gone(path.to_owned()));
        }
        self.wal = wal;
        // Whoever opens another file of turns waits for nobody of this one, and takes its processes for dead.
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
