//! Where audit log and state are kept: committed together, so that a crash leaves both or neither.
//!
//! A commit holds everything that came before it in this process, in order. What may come late is put in a queue, which
//! the next commit takes along; else a thread, the keeper, writes it within [`KEPT_BACK`]. Other processes may write to the
//! same file at any time. Nobody waits for a lock while holding up a thread of the agent.

mod database;
mod error;
mod keeper;
mod spaces;

pub use error::StoreError;

pub(crate) use database::read;

use crate::state::{Snapshot, Time, Writes};
use keeper::Keeper;
use rusqlite::Connection;
use spaces::SpaceCache;
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
pub(crate) struct Store {
    shared: Arc<Shared>,
    /// None where nothing is kept back.
    _keeper: Option<Keeper>,
}

struct Shared {
    /// None: in memory, without a log.
    path: Option<PathBuf>,
    inner: Mutex<Inner>,
    queue: Mutex<Queue>,
    wake: Condvar,
}

struct Inner {
    connection: Connection,
    spaces: SpaceCache,
    commits: u32,
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
    pub(crate) time: Time,
}

impl Store {
    /// State in memory, and no log.
    pub(crate) fn in_memory() -> Result<Self, StoreError> {
        let path = Path::new(":memory:");
        let connection = database::in_memory().map_err(|error| StoreError::of(&error, path))?;
        Ok(Self { shared: Shared::new(None, connection), _keeper: None })
    }

    /// The database at `path`, made where there is none.
    ///
    /// # Errors
    /// If it is not ours, damaged, of a later version, locked for longer than 5 s, or cannot be written.
    pub(crate) fn open(path: &Path, now: Time) -> Result<Self, StoreError> {
        let connection = database::create(path, now)?;
        match spaces::forget_old_sessions(&connection, now).map_err(|error| StoreError::of(&error, path)) {
            // The next one to open it will.
            Err(error) if error.is_passing() => {}
            done => done?,
        }
        let shared = Shared::new(Some(path.to_owned()), connection);
        let keeper = Keeper::start(&shared).map_err(|error| StoreError::io(&error, path))?;
        Ok(Self { shared, _keeper: Some(keeper) })
    }

    /// Whether records are kept.
    pub(crate) fn keeps_log(&self) -> bool {
        self.shared.path.is_some()
    }

    /// The state of a plugin as it is when it is first read.
    pub(crate) fn snapshot(&self, plugin: &Arc<str>, session: &str, now: Time) -> Arc<Snapshot> {
        let (shared, plugin, session) = (Arc::clone(&self.shared), Arc::clone(plugin), session.to_owned());
        Snapshot::new(move || {
            let mut inner = shared.inner();
            let Inner { connection, spaces, .. } = &mut *inner;
            let read = spaces.read(connection, &plugin, &session, now);
            read.map_err(|error| StoreError::of(&error, shared.path()).to_string())
        })
    }

    /// Makes it hold; it has reached the operating system when this returns.
    ///
    /// # Errors
    /// If it could not be written: then nothing of it holds.
    pub(crate) async fn commit(&self, unit: &Unit) -> Result<(), StoreError> {
        let began = Instant::now();
        loop {
            match self.shared.attempt(unit) {
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
        let mut queue = self.shared.queue();
        if queue.bytes > MOST_KEPT_BACK {
            let full = || StoreError::Io { path: self.shared.path().to_owned(), problem: "too slow".into() };
            return Err(queue.problem.clone().unwrap_or_else(full));
        }
        queue.bytes += record.len();
        queue.bodies.push(record);
        if queue.bodies.len() == 1 {
            self.shared.wake.notify_one();
        }
        Ok(())
    }

    /// Writes what was kept back.
    ///
    /// # Errors
    /// If it could not be written; it is kept.
    pub(crate) async fn flush(&self) -> Result<(), StoreError> {
        if self.shared.queue().bodies.is_empty() { Ok(()) } else { self.commit(&Unit::default()).await }
    }

    /// Forgets what is in memory of a session.
    pub(crate) fn forget(&self, session: &str) {
        self.shared.inner().spaces.forget(session);
    }
}

impl Shared {
    fn new(path: Option<PathBuf>, connection: Connection) -> Arc<Self> {
        // Ours, and one for each scope's reading and writing.
        connection.set_prepared_statement_cache_capacity(32);
        let inner = Inner { connection, spaces: SpaceCache::default(), commits: 0 };
        Arc::new(Self { path, inner: Mutex::new(inner), queue: Mutex::default(), wake: Condvar::new() })
    }

    fn path(&self) -> &Path {
        self.path.as_deref().unwrap_or_else(|| Path::new(":memory:"))
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
        let written = inner.write(&waiting, unit).map_err(|error| StoreError::of(&error, self.path()));
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
    fn write(&mut self, waiting: &[String], unit: &Unit) -> rusqlite::Result<()> {
        if waiting.is_empty() && unit.records.is_empty() && unit.writes.iter().all(|(_, writes)| writes.is_empty()) {
            return Ok(());
        }
        let Self { connection, spaces, .. } = self;
        run(connection, "BEGIN IMMEDIATE")?;
        let written = append(connection, waiting.iter().chain(&unit.records))
            .and_then(|()| spaces.write(connection, unit))
            .and_then(|changed| run(connection, "COMMIT").map(|()| changed));
        match written {
            Ok(changed) => {
                spaces.hold(changed, unit);
                Ok(())
            }
            Err(error) => {
                // Where SQLite has rolled back by itself there is nothing left to roll back.
                let _ = run(connection, "ROLLBACK");
                Err(error)
            }
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
