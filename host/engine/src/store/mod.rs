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
mod snapshots;
mod spaces;

pub use error::StoreError;
pub use log::{Lines, Log, LogError, VerifiedLines};

use crate::state::{Lineage, Scope, Source, Time, Writes};
use database::{Created, Identity};
use keeper::Keeper;
use memory::Memory;
use rusqlite::Connection;
use snapshots::{Readers, Reading};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

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
    InMemory(Memory),
    OnDisk {
        shared: Arc<Shared>,
        _keeper: Keeper,
    },
}

struct Shared {
    path: PathBuf,
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
    bodies: Vec<String>,
    bytes: usize,
    /// Why they could not be, when that was last tried.
    problem: Option<StoreError>,
    closed: bool,
    checkpoint: bool,
}

/// What is to hold, all of it or nothing.
#[derive(Debug, Default)]
pub(crate) struct Unit {
    /// Records as JSON, in order; left out where no log is kept.
    pub(crate) records: Vec<String>,
    /// What plugins wrote to their state about one event of one session.
    pub(crate) writes: Vec<(Arc<str>, Writes)>,
    pub(crate) session: String,
    /// The session at the root of its tree.
    pub(crate) root: String,
    pub(crate) time: Time,
}

impl Unit {
    fn lineage(&self) -> Lineage<'_> {
        Lineage { session: &self.session, root: &self.root }
    }
}

impl Store {
    /// State in memory, and no log.
    pub(crate) fn in_memory() -> Self {
        Self(Kept::InMemory(Memory::default()))
    }

    /// The database at `path`, made where there is none.
    ///
    /// # Errors
    /// If it is not ours, damaged, of a later version, locked for longer than 5 s, or cannot be written; or if the name is not
    /// that of a file.
    pub(crate) fn open(path: &Path, now: Time) -> Result<Self, StoreError> {
        let created = database::create(path, now)?;
        match spaces::forget_old_sessions(&created.connection, now).map_err(|error| StoreError::of(&error, path)) {
            // The next one to open it will.
            Err(error) if error.is_passing() => {}
            done => done?,
        }
        let shared = Shared::new(path, created);
        let keeper = Keeper::start(&shared).map_err(|error| StoreError::io(&error, path))?;
        Ok(Self(Kept::OnDisk { shared, _keeper: keeper }))
    }

    fn on_disk(&self) -> Option<&Arc<Shared>> {
        match &self.0 {
            Kept::InMemory(_) => None,
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
            Kept::InMemory(memory) => memory.snapshot(plugin, lineage, now),
            Kept::OnDisk { shared, .. } => Arc::new(Reading(shared.readers.snapshot(plugin, lineage, now))),
        }
    }

    /// Makes it hold; it has reached the operating system when this returns.
    ///
    /// # Errors
    /// If it could not be written: then nothing of it holds.
    pub(crate) async fn commit(&self, unit: &Unit) -> Result<(), StoreError> {
        let shared = match &self.0 {
            Kept::InMemory(memory) => {
                memory.commit(unit);
                return Ok(());
            }
            Kept::OnDisk { shared, .. } => shared,
        };
        let began = Instant::now();
        loop {
            match shared.attempt(unit) {
                Err(error) if error.is_passing() && began.elapsed() < PATIENCE => {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                ended => return ended,
            }
        }
    }

    /// Has a record written soon, in order with all others.
    ///
    /// # Errors
    /// If so much waits to be written that nothing more is taken.
    pub(crate) fn push(&self, record: String) -> Result<(), StoreError> {
        let Some(shared) = self.on_disk() else { return Ok(()) };
        let mut queue = shared.queue();
        if queue.bytes > MOST_KEPT_BACK {
            let full = || StoreError::Io { path: shared.path.clone(), problem: "too slow".into() };
            return Err(queue.problem.clone().unwrap_or_else(full));
        }
        queue.bytes += record.len();
        queue.bodies.push(record);
        if queue.bodies.len() == 1 {
            shared.wake.notify_one();
        }
        Ok(())
    }

    /// Writes what was kept back.
    ///
    /// # Errors
    /// If it could not be written; it is kept.
    pub(crate) async fn flush(&self) -> Result<(), StoreError> {
        let waits = self.on_disk().is_some_and(|shared| !shared.queue().bodies.is_empty());
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

impl Shared {
    fn new(path: &Path, created: Created) -> Arc<Self> {
        let Created { connection, file, schema } = created;
        // Ours, and one for each scope's reading and writing.
        connection.set_prepared_statement_cache_capacity(32);
        let inner = Inner { connection, commits: 0, schema, file, wal: None, wal_path: database::wal(path) };
        Arc::new(Self {
            path: path.to_owned(),
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

    /// Writes what is in the queue, and then `unit`, in one transaction. Where that fails the queue is as it was.
    fn attempt(&self, unit: &Unit) -> Result<(), StoreError> {
        let mut inner = self.inner();
        let waiting = {
            let mut queue = self.queue();
            queue.bytes = 0;
            std::mem::take(&mut queue.bodies)
        };
        let written = inner.write(&self.path, &self.readers, &waiting, unit);
        let mut queue = self.queue();
        match &written {
            Ok(()) => queue.problem = None,
            Err(error) => {
                queue.problem = Some(error.clone());
                queue.bytes += waiting.iter().map(String::len).sum::<usize>();
                queue.bodies.splice(..0, waiting);
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
    fn write(&mut self, path: &Path, readers: &Readers, waiting: &[String], unit: &Unit) -> Result<(), StoreError> {
        if waiting.is_empty() && unit.records.is_empty() && unit.writes.iter().all(|(_, writes)| writes.is_empty()) {
            return Ok(());
        }
        let of = |error: rusqlite::Error| StoreError::of(&error, path);
        // Before the transaction: while it lasts, others wait.
        self.check_files(path)?;
        run(&self.connection, "BEGIN IMMEDIATE").map_err(of)?;
        let written = self.check_schema(path).and_then(|()| {
            let connection = &self.connection;
            append(connection, waiting.iter().chain(&unit.records))
                .and_then(|()| spaces::write(connection, &readers.counts(), unit))
                .and_then(|changed| run(connection, "COMMIT").map(|()| changed))
                .map_err(of)
        });
        match written {
            Ok(changed) => {
                readers.counts().hold(changed);
                Ok(())
            }
            Err(error) => {
                // Where SQLite has rolled back by itself there is nothing left to roll back.
                let _ = run(&self.connection, "ROLLBACK");
                Err(error)
            }
        }
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
        Ok(())
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
