//! The database. It commits the audit log and the state in one transaction. So after a crash it contains both or
//! neither.
//!
//! A commit contains everything that this process has recorded before the commit, in order. Changes that may be written
//! late go into a queue. The next commit writes these changes along with its own records. If there is no commit within
//! 20 ms, a background thread, the flusher, writes them. Other processes may write to the same file at any time. While
//! an event waits for the lock of another process, it does not block its thread.

mod error;
mod identity;
mod memory;
mod rows;
#[cfg(feature = "store")]
mod rule_texts;
mod sink;
#[cfg(feature = "store")]
mod sqlite;
mod turns;

pub use error::StoreError;
pub use rows::KeptOutcome;
pub(crate) use rows::{Changed, FirstAnswer, OpenQuestion, OutcomeChange, QuestionChange, SessionChanges, SessionRow};
#[cfg(feature = "store")]
pub use rule_texts::{RuleText, RuleTexts};
#[cfg(feature = "store")]
pub(crate) use sqlite::WrittenArchive;
#[cfg(feature = "store")]
pub use sqlite::{FollowFrom, FollowedLog, Lines, Log, LogError, Position};
pub(crate) use turns::{Turn, TurnQueue};

use crate::audit::AuditSink;
use crate::state::{Lineage, Scope, Source, Time, Writes};
use futures_util::future::{BoxFuture, Either, Ready, ready};
use memory::Memory;
use sink::Sink;
use std::any::Any;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use turns::Turns;

/// Time during which a commit retries while another process holds the write lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// The audit log and the state of all plugins.
pub(crate) struct Store {
    backend: Arc<dyn Backend>,
    /// The embedder's sink, which receives a copy of each record.
    sink: Sink,
}

/// The storage of state, sessions and questions: memory, or a database.
trait Backend: Any + Send + Sync {
    /// Returns true if records are stored.
    fn keeps_log(&self) -> bool;

    fn turns(&self) -> &Turns;

    /// Returns a snapshot of a plugin's state. The snapshot is taken at its first use at the latest.
    fn snapshot(&self, plugin: &Arc<str>, lineage: Lineage<'_>, now: Time) -> Arc<dyn Source>;

    /// Commits either all of a unit or nothing of it. The caller retries after an error that is
    /// [transient](StoreError::is_transient).
    fn commit(&self, unit: &Unit) -> Result<(), StoreError>;

    /// Queues a change that is written soon.
    fn push(&self, late: LateWrite) -> Result<(), StoreError>;

    /// Writes the records before a time into a file beside the log. Returns `None` if there are none.
    #[cfg(feature = "store")]
    fn write_archive(&self, _before: Time, _now: Time) -> Result<Option<WrittenArchive>, StoreError> {
        Ok(None)
    }

    /// Removes the records of a written archive from the log, and adds a record about it.
    #[cfg(feature = "store")]
    fn commit_archive(&self, _: &WrittenArchive) -> Result<(), StoreError> {
        Ok(())
    }

    /// Returns a session's row; a session without a row has version 0.
    fn session(&self, id: &str) -> Result<SessionRow, StoreError>;

    /// Returns all values of a plugin in the scope `tree`, ordered by the session at the root of the tree and by key.
    fn tree_values(&self, plugin: &str) -> Result<Vec<TreeValue>, StoreError>;

    /// Answers a question, unless it has an answer. Returns the first answer; `None` if there is no such question.
    fn answer(&self, id: &str, answer: &str) -> Result<Option<FirstAnswer>, StoreError>;

    /// Returns the answer to a question: `None` if there is no such question, `Some(None)` if it has no answer yet.
    fn answered(&self, id: &str) -> Result<Option<Option<String>>, StoreError>;

    /// Returns the open questions of all processes, ordered by expiry.
    fn questions(&self) -> Result<Vec<OpenQuestion>, StoreError>;

    /// Returns the records about passkeys, in order, as JSON.
    fn passkey_records(&self) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }

    /// Returns the records about passkeys as the log contains them, in order, as JSON. This reads the whole log.
    fn logged_passkey_records(&self) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }

    /// Returns the stored outcomes that are valid at this time.
    fn outcomes(&self, _: Time) -> Result<Vec<KeptOutcome>, StoreError> {
        Ok(Vec::new())
    }

    /// Imports records of other processes that the database does not have yet.
    fn take_in(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Removes the cached data of a session and its tree.
    fn forget(&self, _: Lineage<'_>) {}
}

/// A value in the scope `tree`.
pub(crate) struct TreeValue {
    /// The session at the root of the tree.
    pub(crate) session: String,
    pub(crate) key: String,
    pub(crate) value: Vec<u8>,
}

/// Identifies a namespace of the state by its plugin, its scope, and its session or tree.
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

/// Changes that need not be written immediately. They are written in one transaction.
#[derive(Default)]
pub(crate) struct LateWrite {
    /// A record as JSON. A store without a log ignores it.
    pub(crate) record: Option<String>,
    /// A session handle with unwritten changes.
    pub(crate) session: Option<Arc<dyn SessionChanges>>,
    /// The identifier of an answered question, whose row is deleted.
    pub(crate) settles: Option<String>,
    /// A change of the stored outcomes. A store in memory ignores it, because no other host can read such a store.
    pub(crate) outcome: Option<OutcomeChange>,
}

impl LateWrite {
    /// Creates a late write of a record, as JSON.
    pub(crate) fn of(record: String) -> Self {
        Self { record: Some(record), ..Self::default() }
    }
}

/// The writes of one transaction.
#[derive(Default)]
pub(crate) struct Unit {
    /// Records as JSON, in order. A store without a log ignores them.
    pub(crate) records: Vec<String>,
    /// The plugins' writes to their state during one event of one session.
    pub(crate) writes: Vec<(Arc<str>, Writes)>,
    pub(crate) session: Arc<str>,
    /// The session at the root of that session's tree.
    pub(crate) root: Arc<str>,
    pub(crate) time: Time,
    /// The session's handle, if it may have unwritten changes.
    pub(crate) handle: Option<Arc<dyn SessionChanges>>,
    /// A change of a question's row.
    pub(crate) question: Option<QuestionChange>,
    /// The number of records about passkeys before this unit, if its last record is a further one. The unit is not
    /// written if another process has added one meanwhile.
    pub(crate) passkeys_before: Option<u32>,
}

impl Unit {
    fn is_empty(&self) -> bool {
        self.records.is_empty() && self.has_no_effect()
    }

    fn has_no_effect(&self) -> bool {
        self.question.is_none()
            && self.passkeys_before.is_none()
            && self.writes.iter().all(|(_, writes)| writes.is_empty())
            && !self.handle.as_ref().is_some_and(|handle| handle.is_changed())
    }

    /// Returns true if the unit has only records.
    fn is_only_records(&self) -> bool {
        !self.records.is_empty() && self.has_no_effect()
    }

    fn lineage(&self) -> Lineage<'_> {
        Lineage { session: &self.session, root: &self.root }
    }
}

impl Store {
    /// Creates a store that keeps state in memory and has no log.
    pub(crate) fn in_memory() -> Self {
        Self { backend: Arc::<Memory>::default(), sink: Sink::default() }
    }

    /// Opens the database at `path`, and creates it if it is missing.
    ///
    /// # Errors
    /// If the file is not a database of hookhost, is damaged, has a later version, stays locked for 5 s or cannot be
    /// written, or if SQLite would not use the path as the name of a file. Without the feature `store`, this always
    /// fails.
    pub(crate) fn open(path: &Path, now: Time) -> Result<Self, StoreError> {
        #[cfg(feature = "store")]
        return Ok(Self { backend: Arc::new(sqlite::Database::open(path, now)?), sink: Sink::default() });
        #[cfg(not(feature = "store"))]
        return {
            let _ = now;
            Err(StoreError::NotBuilt(path.to_owned()))
        };
    }

    /// Returns the store with a sink that also gets each record.
    pub(crate) fn with_sink(self, sink: Option<Arc<dyn AuditSink>>) -> Self {
        Self { sink: Sink::new(sink), ..self }
    }

    /// Returns true if the sink is running on this thread. Then an event must not be dispatched, because it would wait
    /// for the sink, and the sink would wait for the event.
    pub(crate) fn is_in_sink(&self) -> bool {
        self.sink.waits()
    }

    /// Returns true if the log or a sink needs records.
    pub(crate) fn wants_records(&self) -> bool {
        self.sink.is_there() || self.keeps_log()
    }

    /// Returns true if the store has a log.
    pub(crate) fn keeps_log(&self) -> bool {
        self.backend.keeps_log()
    }

    /// Returns a snapshot of a plugin's state. The snapshot is taken at its first use at the latest.
    pub(crate) fn snapshot(&self, plugin: &Arc<str>, lineage: Lineage<'_>, now: Time) -> Arc<dyn Source> {
        self.backend.snapshot(plugin, lineage, now)
    }

    /// Commits a unit. When this returns, the operating system has the data.
    ///
    /// # Errors
    /// If the unit could not be written. Then no part of it was written.
    pub(crate) fn commit<'a>(&'a self, unit: &'a Unit) -> CommitFuture<'a, ()> {
        match self.sink.give(unit.records.iter()) {
            Ok(()) => retry_while_locked(|| self.backend.commit(unit)),
            Err(error) => Either::Left(ready(Err(error))),
        }
    }

    /// Queues a change that is written soon, after all earlier records and before all later ones. If the sink does not
    /// accept the record, the sink gets it again before the next record.
    ///
    /// # Errors
    /// If the queue is full, or the sink has missed too many records.
    pub(crate) fn push(&self, late: LateWrite) -> Result<(), StoreError> {
        let given = late.record.as_deref().map_or(Ok(()), |record| self.sink.give_late(record));
        self.backend.push(late)?;
        given
    }

    /// Queues a record that is valid only if the sink accepts it.
    ///
    /// # Errors
    /// If the queue is full, or the sink does not accept the record. Then nothing is queued.
    pub(crate) fn push_taken(&self, late: LateWrite) -> Result<(), StoreError> {
        self.sink.give(late.record.iter())?;
        self.backend.push(late)
    }

    /// Returns the stored outcomes that are valid at this time.
    ///
    /// # Errors
    /// If they cannot be read.
    pub(crate) async fn outcomes(&self, now: Time) -> Result<Vec<KeptOutcome>, StoreError> {
        retry_while_locked(|| self.backend.outcomes(now)).await
    }

    /// Returns the records about passkeys, in order, as JSON.
    ///
    /// # Errors
    /// If they cannot be read.
    pub(crate) async fn passkey_records(&self) -> Result<Vec<String>, StoreError> {
        retry_while_locked(|| self.backend.passkey_records()).await
    }

    /// Returns the records about passkeys as the log contains them, in order, as JSON. This reads the whole log, on a
    /// thread for blocking work.
    ///
    /// # Errors
    /// If they cannot be read.
    pub(crate) async fn logged_passkey_records(&self) -> Result<Vec<String>, StoreError> {
        if !self.keeps_log() {
            return Ok(Vec::new());
        }
        let began = Instant::now();
        loop {
            let backend = Arc::clone(&self.backend);
            let reading = tokio::task::spawn_blocking(move || backend.logged_passkey_records());
            let read = reading.await.unwrap_or_else(|error| {
                Err(StoreError::Io { path: PathBuf::new(), problem: format!("reading the log failed: {error}") })
            });
            match read {
                Err(error) if error.is_transient() && began.elapsed() < LOCK_TIMEOUT => {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                ended => return ended,
            }
        }
    }

    /// Returns the queue in which a session's events wait for their turn.
    pub(crate) fn turn_queue(&self, session: &str) -> TurnQueue {
        self.backend.turns().turn_queue(session)
    }

    /// Returns a session's row; a session without a row has version 0.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(crate) fn session(&self, id: &str) -> Result<SessionRow, StoreError> {
        self.backend.session(id)
    }

    /// Returns a session's row, like [`Self::session`]. If the database is locked, waits until the row can be read.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(crate) async fn session_now(&self, id: &str) -> Result<SessionRow, StoreError> {
        retry_while_locked(|| self.session(id)).await
    }

    /// Returns all values of a plugin in the scope `tree`, ordered by the session at the root of the tree and by key.
    ///
    /// # Errors
    /// If they cannot be read.
    pub(crate) async fn tree_values(&self, plugin: &str) -> Result<Vec<TreeValue>, StoreError> {
        retry_while_locked(|| self.backend.tree_values(plugin)).await
    }

    /// Answers a question, unless it has an answer. Returns the first answer; `None` if there is no such question.
    ///
    /// # Errors
    /// If it could not be written.
    pub(crate) async fn answer(&self, id: &str, answer: &str) -> Result<Option<FirstAnswer>, StoreError> {
        retry_while_locked(|| self.backend.answer(id, answer)).await
    }

    /// Returns the answer to a question: `None` if there is no such question, `Some(None)` if it has no answer yet.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(crate) fn answered(&self, id: &str) -> Result<Option<Option<String>>, StoreError> {
        self.backend.answered(id)
    }

    /// Returns the open questions of all processes, ordered by expiry.
    ///
    /// # Errors
    /// If they cannot be read.
    pub(crate) async fn questions(&self) -> Result<Vec<OpenQuestion>, StoreError> {
        retry_while_locked(|| self.backend.questions()).await
    }

    /// Returns the number by which other processes can tell whether this process is alive.
    ///
    /// # Errors
    /// If the file of turns cannot be locked.
    pub(crate) fn asker(&self) -> Result<u32, StoreError> {
        self.backend.turns().alive()
    }

    /// Returns true if the process with this number is alive.
    ///
    /// # Errors
    /// If the locks cannot be read.
    pub(crate) fn is_alive(&self, asker: u32) -> Result<bool, StoreError> {
        self.backend.turns().is_alive(asker)
    }

    /// Writes all queued changes.
    ///
    /// # Errors
    /// If the changes could not be written. Then they stay in the queue.
    pub(crate) async fn flush(&self) -> Result<(), StoreError> {
        // Commits even if the queue is empty, because the flusher may have taken changes from the queue and not have
        // written them yet.
        self.commit(&Unit::default()).await
    }

    /// Writes the records before a time into a file beside the log. Blocks the thread while it reads and writes.
    ///
    /// # Errors
    /// If the log or the file cannot be used, or a record is not as it was written.
    #[cfg(feature = "store")]
    pub(crate) fn write_archive(&self, before: Time, now: Time) -> Result<Option<WrittenArchive>, StoreError> {
        self.backend.write_archive(before, now)
    }

    /// Removes the records of a written archive from the log.
    ///
    /// # Errors
    /// If the database cannot be written. It then still has the records.
    #[cfg(feature = "store")]
    pub(crate) async fn commit_archive(&self, written: &WrittenArchive) -> Result<(), StoreError> {
        retry_while_locked(|| self.backend.commit_archive(written)).await
    }

    /// Imports records of other processes that the database does not have yet. This ensures that the records of a turn
    /// come after the records of earlier turns in other processes.
    ///
    /// # Errors
    /// If these records cannot be read, or the database cannot be written.
    pub(crate) async fn take_in(&self) -> Result<(), StoreError> {
        retry_while_locked(|| self.backend.take_in()).await
    }

    /// Forgets the cached sizes of the namespaces of a session and of its tree. If the tree is used again, its sizes
    /// are counted again.
    pub(crate) fn forget(&self, lineage: Lineage<'_>) {
        self.backend.forget(lineage);
    }
}

/// The result of an operation that ended at its first attempt, or a future that retries the operation.
pub(crate) type CommitFuture<'a, T> = Either<Ready<Result<T, StoreError>>, BoxFuture<'a, Result<T, StoreError>>>;

/// Retries while other processes hold the write lock, for [`LOCK_TIMEOUT`] at most, without blocking the thread.
fn retry_while_locked<'a, T: Send + 'a>(
    attempt: impl Fn() -> Result<T, StoreError> + Send + 'a,
) -> CommitFuture<'a, T> {
    match attempt() {
        // This future is rarely needed, so it is boxed: see the module `boxed`.
        Err(error) if error.is_transient() => Either::Right(Box::pin(retry(attempt))),
        ended => Either::Left(ready(ended)),
    }
}

async fn retry<T>(attempt: impl Fn() -> Result<T, StoreError>) -> Result<T, StoreError> {
    let began = Instant::now();
    loop {
        tokio::time::sleep(Duration::from_millis(1)).await;
        match attempt() {
            Err(error) if error.is_transient() && began.elapsed() < LOCK_TIMEOUT => {}
            ended => return ended,
        }
    }
}
