//! The flusher: a thread that writes queued records and runs checkpoints, which copy the WAL into the database.

use super::{DiskStore, FLUSH_DELAY, database};
use crate::locked::locked;
use crate::store::{LOCK_TIMEOUT, StoreError, Unit};
use rusqlite::Connection;
use std::sync::{Arc, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Minimum size of the WAL, in bytes, at which a checkpoint runs while the store is open.
const CHECKPOINT_ABOVE: u64 = 4 << 20;

/// Minimum size of the WAL, in bytes, at which a checkpoint runs when the store is closed. This size is large enough
/// that a process that records a single event rarely runs a checkpoint, which would flush the disk. It is not larger,
/// because the next process has to read the rest of the WAL.
const MAX_WAL_AT_CLOSE: u64 = 256 << 10;

/// Time that a checkpoint waits for a reader while writers wait for the checkpoint.
const READER_TIMEOUT: Duration = Duration::from_millis(10);

/// Delay after a failed write.
const RETRY_DELAY: Duration = Duration::from_millis(500);

/// The handle of the thread. Dropping it writes all queued changes and ends the thread.
pub(super) struct Flusher {
    shared: Arc<DiskStore>,
    thread: Option<JoinHandle<()>>,
}

impl Flusher {
    pub(super) fn start(shared: &Arc<DiskStore>) -> std::io::Result<Self> {
        let for_the_thread = Arc::clone(shared);
        let thread = thread::Builder::new().name("hookhost-log".into()).spawn(move || run(&for_the_thread))?;
        Ok(Self { shared: Arc::clone(shared), thread: Some(thread) })
    }
}

impl Drop for Flusher {
    fn drop(&mut self) {
        locked(&self.shared.queue).closed = true;
        self.shared.wake.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(shared: &DiskStore) {
    let mut connection = None;
    loop {
        let (closed, checkpoint) = wait(shared);
        if closed {
            shared.give_back_tickets();
            let began = Instant::now();
            while let Err(error) = shared.attempt(&Unit::default()) {
                if !error.is_transient() || began.elapsed() > LOCK_TIMEOUT {
                    tracing::error!(%error, "the last records of the audit log could not be written");
                    break;
                }
                thread::sleep(Duration::from_millis(1));
            }
            checkpoint_if_large(shared, &mut connection, MAX_WAL_AT_CLOSE);
            return;
        }
        // Wait for more records, so that one transaction can write all of them. If the WAL may be large already, do not
        // wait.
        if !checkpoint {
            sleep_unless_closed(shared, FLUSH_DELAY);
        }
        let written = shared.attempt(&Unit::default());
        shared.give_back_tickets();
        if let Err(error) = written
            && !error.is_transient()
        {
            tracing::error!(%error, "records of the audit log are kept in memory, since they cannot be written");
            sleep_unless_closed(shared, RETRY_DELAY);
        }
        if checkpoint {
            locked(&shared.queue).is_flusher_busy = true;
            shared.give_back_tickets();
            checkpoint_if_large(shared, &mut connection, CHECKPOINT_ABOVE);
            locked(&shared.queue).is_flusher_busy = false;
        }
    }
}

/// Waits for work. Returns two flags. The first is true if the store is closed, and the second if the size of the WAL
/// must be checked.
fn wait(shared: &DiskStore) -> (bool, bool) {
    let mut queue = locked(&shared.queue);
    while queue.waiting.is_empty() && !queue.closed && !queue.checkpoint && !queue.keeps_tickets {
        queue = shared.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
    }
    (queue.closed, std::mem::take(&mut queue.checkpoint))
}

/// Sleeps for `time`, or until the store is closed.
fn sleep_unless_closed(shared: &DiskStore, time: Duration) {
    let rested = shared.wake.wait_timeout_while(locked(&shared.queue), time, |queue| !queue.closed);
    drop(rested);
}

/// Runs a checkpoint if the WAL has at least `large` bytes. The checkpoint uses a separate connection. The connection
/// is opened at its first use, because most processes end without running a checkpoint.
fn checkpoint_if_large(shared: &DiskStore, connection: &mut Option<Connection>, large: u64) {
    let size = std::fs::metadata(database::wal(&shared.path)).map_or(0, |wal| wal.len());
    if size < large {
        return;
    }
    let done = checkpoint(shared, connection).and_then(|is_done| {
        // Events that are still reading use snapshots in memory from here on.
        if is_done || !shared.readers.end_transactions() {
            return Ok(is_done);
        }
        checkpoint(shared, connection)
    });
    if let Err(error) = done {
        tracing::warn!(%error, "the audit log's WAL could not be moved into the database");
    }
}

/// Copies the WAL into the database in two steps. The first step copies most of the WAL while others can write. The
/// second step copies the small rest while others wait. Without the second step, the WAL would grow forever under
/// constant events, because SQLite restarts a WAL only after all of it was copied. Returns true if all of the WAL was
/// copied. If a reader still needs a part, this part stays until the next checkpoint.
/// <https://sqlite.org/c3ref/wal_checkpoint_v2.html>
fn checkpoint(shared: &DiskStore, connection: &mut Option<Connection>) -> Result<bool, StoreError> {
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
        // Pause the writer of this process. Otherwise, it would often get the lock before the checkpoint.
        let _paused = locked(&shared.inner);
        run(READER_TIMEOUT, "PRAGMA wal_checkpoint(TRUNCATE)")
    });
    done.map_err(|error| StoreError::of(&error, path))
}
