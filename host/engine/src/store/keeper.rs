//! The keeper: a thread that writes what was kept back, and moves what the WAL holds into the database.

use super::{KEPT_BACK, PATIENCE, Shared, StoreError, Unit, database};
use rusqlite::Connection;
use std::sync::{Arc, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Bytes from which on the WAL is moved into the database.
const LARGE_WAL: u64 = 4 << 20;

/// The same when the store is closed. Moving it flushes the disk, so a process that records one event seldom should; the
/// next process reads what is left, so it must be little.
const WAL_TO_LEAVE: u64 = 256 << 10;

/// How long a checkpoint keeps writers waiting for a reader.
const FOR_A_READER: Duration = Duration::from_millis(10);

/// How long it rests when nothing can be written.
const REST: Duration = Duration::from_millis(500);

/// Writes what is left, and ends, when it is dropped.
pub(super) struct Keeper {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    pub(super) fn start(shared: &Arc<Shared>) -> std::io::Result<Self> {
        let keeping = Arc::clone(shared);
        let thread = thread::Builder::new().name("hookhost-log".into()).spawn(move || keep(&keeping))?;
        Ok(Self { shared: Arc::clone(shared), thread: Some(thread) })
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.shared.queue().closed = true;
        self.shared.wake.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn keep(shared: &Shared) {
    let mut connection = None;
    loop {
        let (closed, checkpoint) = wait(shared);
        if closed {
            let began = Instant::now();
            while let Err(error) = shared.attempt(&Unit::default()) {
                if !error.is_passing() || began.elapsed() > PATIENCE {
                    tracing::error!(%error, "the last records of the audit log could not be written");
                    break;
                }
                thread::sleep(Duration::from_millis(1));
            }
            make_room(shared, &mut connection, WAL_TO_LEAVE);
            return;
        }
        // Others may come, to be written with it.
        rest(shared, KEPT_BACK);
        if let Err(error) = shared.attempt(&Unit::default())
            && !error.is_passing()
        {
            tracing::error!(%error, "records of the audit log are kept in memory, since they cannot be written");
            rest(shared, REST);
        }
        if checkpoint {
            make_room(shared, &mut connection, LARGE_WAL);
        }
    }
}

/// Until there is something to do; whether to end, and whether to look at the WAL.
fn wait(shared: &Shared) -> (bool, bool) {
    let mut queue = shared.queue();
    while queue.waiting.is_empty() && !queue.closed && !queue.checkpoint {
        queue = shared.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
    }
    (queue.closed, std::mem::take(&mut queue.checkpoint))
}

/// Waits so long, or until it is to end.
fn rest(shared: &Shared, time: Duration) {
    let rested = shared.wake.wait_timeout_while(shared.queue(), time, |queue| !queue.closed);
    drop(rested);
}

/// A checkpoint, where the WAL is so large. Its connection is its own, opened when it is first needed: most processes end
/// before.
fn make_room(shared: &Shared, connection: &mut Option<Connection>, large: u64) {
    let size = std::fs::metadata(database::wal(&shared.path)).map_or(0, |wal| wal.len());
    if size < large {
        return;
    }
    let done = checkpoint(shared, connection).and_then(|is_done| {
        // Whatever event reads the state for so long has it in memory from here on.
        if is_done || !shared.readers.end_transactions() {
            return Ok(is_done);
        }
        checkpoint(shared, connection)
    });
    if let Err(error) = done {
        tracing::warn!(%error, "the audit log's WAL could not be moved into the database");
    }
}

/// Moves what the WAL holds while others write, and then, with them waiting, the little that they have written meanwhile:
/// only a WAL that has been moved as a whole is begun anew, and under events without a pause it would grow for ever. What
/// a reader still needs stays until the next time; whether there was none. <https://sqlite.org/c3ref/wal_checkpoint_v2.html>
fn checkpoint(shared: &Shared, connection: &mut Option<Connection>) -> Result<bool, StoreError> {
    let path = &shared.path;
    let connection = match connection {
        Some(connection) => connection,
        None => connection.insert(database::read(path)?.connection),
    };
    let run = |patience, checkpoint| {
        let ready = connection.busy_timeout(patience);
        ready.and_then(|()| connection.query_row(checkpoint, [], |row| Ok(row.get::<_, i64>(0)? == 0)))
    };
    let done = run(Duration::ZERO, "PRAGMA wal_checkpoint(PASSIVE)").and_then(|_| {
        // Our own writer would have the lock again whenever this looked for it.
        let _paused = shared.inner();
        run(FOR_A_READER, "PRAGMA wal_checkpoint(TRUNCATE)")
    });
    done.map_err(|error| StoreError::of(&error, path))
}
