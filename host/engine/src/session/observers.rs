//! Observers: they get an event after its outcome, outside of the event's path, through a bounded queue.
//!
//! Observers get the events of one session in order; sessions do not wait for each other. Events that the queue has no room
//! for are counted, recorded and reported: a queue without a bound would grow for as long as a model streams faster than a
//! plugin computes. Failures of observers count apart from those of gates, because they come at some later time.

use super::SessionInner;
use super::dispatch::Dispatch;
use super::notice::{Notice, NoticeKind};
use crate::active_config::ActiveConfig;
use crate::audit::{Dropped, Header};
use crate::contract;
use crate::contract::{AuditEntry, EventKind, Json};
use crate::event::{AuditRecord, Kind};
use crate::sandbox::capability::EventFacts;
use crate::store::LateWrite;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use std::collections::{BTreeMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::Notify;

/// Upper bound of the events of one session that wait for their observers.
const MAX_WAITING: usize = 1024;

/// Upper bound of the size of the events of one session that wait for their observers, in bytes of JSON.
const MAX_BYTES: usize = 16 << 20;

/// The events of one session that wait for their observers.
#[derive(Default)]
pub(super) struct Observers(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    jobs: VecDeque<Job>,
    bytes: usize,
    /// The event whose observers are being called.
    current: Option<EventKind>,
    running: bool,
    dropped: BTreeMap<String, u64>,
}

struct Job {
    event: EventKind,
    bytes: usize,
    run: BoxFuture<'static, ()>,
}

/// The sessions of a host with a running observer task.
#[derive(Default)]
pub(crate) struct ObserverTasks {
    sessions: Mutex<Vec<Weak<SessionInner>>>,
    ended: Notify,
}

impl Observers {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn drop_event(&mut self, event: EventKind) {
        *self.dropped.entry(event.name().to_owned()).or_default() += 1;
    }
}

/// Queues a recorded event for its observers.
pub(super) fn enqueue<E: Kind<Return = ()>>(
    session: &Arc<SessionInner>,
    rules: &Arc<ActiveConfig>,
    info: Arc<contract::Session>,
    facts: Arc<EventFacts>,
    payload: E::Payload,
    bytes: usize,
) {
    let (shared, rules) = (Arc::clone(session), Arc::clone(rules));
    let run = async move {
        // The record is written before its observers are called.
        if let Err(error) = shared.services.store.flush().await {
            tracing::error!(%error, event = %E::KIND, "observers do not get an event that cannot be recorded");
            shared.observers.waiting().drop_event(E::KIND);
            return;
        }
        let mut dispatch = Dispatch::for_observers(&shared, &rules, E::KIND, info, facts, bytes);
        dispatch.call_observers::<E>(&payload).await;
        dispatch.conclude_observed().await;
    };
    queue(session, Job { event: E::KIND, bytes, run: Box::pin(run) });
}

/// Queues a record for the observers of the audit log.
pub(super) fn enqueue_record(
    session: &Arc<SessionInner>,
    rules: &Arc<ActiveConfig>,
    info: &Arc<contract::Session>,
    record: String,
) {
    let (id, time) = (session.next_record_id(), session.services.now());
    let facts = Arc::new(EventFacts { id, time, ..EventFacts::default() });
    let record = match Json::new(record) {
        Ok(record) => record,
        Err(error) => return tracing::error!(%error, "observers do not get a record that is not JSON"),
    };
    let bytes = record.len();
    enqueue::<AuditRecord>(session, rules, info.clone(), facts, AuditEntry(record), bytes);
}

fn queue(session: &Arc<SessionInner>, job: Job) {
    let mut waiting = session.observers.waiting();
    let full = waiting.jobs.len() >= MAX_WAITING || waiting.bytes.saturating_add(job.bytes) > MAX_BYTES;
    // An empty queue also takes an event that is larger than its bound.
    if full && !waiting.jobs.is_empty() {
        waiting.drop_event(job.event);
        return;
    }
    let Ok(runtime) = tokio::runtime::Handle::try_current() else {
        waiting.drop_event(job.event);
        return;
    };
    waiting.bytes += job.bytes;
    waiting.jobs.push_back(job);
    if !waiting.running {
        waiting.running = true;
        drop(waiting);
        session.services.observer_tasks.began(session);
        runtime.spawn(work(Running { session: Arc::clone(session), ended: false }));
    }
}

/// A running observer task.
struct Running {
    session: Arc<SessionInner>,
    ended: bool,
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.ended {
            // Its runtime was shut down: the queued events would keep the session alive, and never be handled.
            self.session.abandon();
            self.session.observers.waiting().running = false;
        }
        self.session.services.observer_tasks.ended(&self.session);
    }
}

async fn work(mut running: Running) {
    let session = Arc::clone(&running.session);
    while let Some(job) = next(&session) {
        if AssertUnwindSafe(job.run).catch_unwind().await.is_err() {
            tracing::error!(event = %job.event, "calling observers failed");
        }
        report_dropped(&session);
    }
    running.ended = true;
}

/// The next event. If there is none, the next one that is queued starts a new task.
fn next(session: &SessionInner) -> Option<Job> {
    let mut waiting = session.observers.waiting();
    let job = waiting.jobs.pop_front();
    waiting.current = job.as_ref().map(|job| job.event);
    waiting.bytes -= job.as_ref().map_or(0, |job| job.bytes);
    waiting.running = job.is_some();
    job
}

/// Records the dropped events, and tells the user.
fn report_dropped(session: &Arc<SessionInner>) {
    let events = std::mem::take(&mut session.observers.waiting().dropped);
    if events.is_empty() {
        return;
    }
    let count: u64 = events.values().sum();
    let text = match count {
        1 => "1 event came too fast for the plugins that observe it, and they missed it".into(),
        _ => format!("{count} events came too fast for the plugins that observe them, and they missed these"),
    };
    session.notice(Notice::new(NoticeKind::EventsMissed, text));
    session.record_dropped(&Dropped { header: Header::new(&*session.id, session.services.now()), events });
}

impl SessionInner {
    /// Not queued for observers, as it could be dropped in turn.
    fn record_dropped(&self, dropped: &Dropped) {
        use crate::audit::ToRecord as _;
        let store = &self.services.store;
        if store.wants_records()
            && let Err(error) = store.push(LateWrite::of(dropped.body(&self.config().settings().audit)))
        {
            tracing::error!(%error, "the events that observers missed could not be recorded");
        }
    }

    /// Gives up the events that still wait. Returns how many they were.
    fn abandon(self: &Arc<Self>) -> u64 {
        let mut waiting = self.observers.waiting();
        let current = waiting.current.take();
        let left: Vec<EventKind> = waiting.jobs.iter().map(|job| job.event).chain(current).collect();
        waiting.jobs.clear();
        waiting.bytes = 0;
        for event in &left {
            waiting.drop_event(*event);
        }
        drop(waiting);
        report_dropped(self);
        left.len() as u64
    }
}

impl ObserverTasks {
    fn sessions(&self) -> MutexGuard<'_, Vec<Weak<SessionInner>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn began(&self, session: &Arc<SessionInner>) {
        self.sessions().push(Arc::downgrade(session));
    }

    fn ended(&self, session: &Arc<SessionInner>) {
        let ended = Arc::downgrade(session);
        let mut sessions = self.sessions();
        if let Some(at) = sessions.iter().position(|other| other.ptr_eq(&ended)) {
            sessions.swap_remove(at);
        }
        drop(sessions);
        self.ended.notify_waiters();
    }

    /// Waits until the queues are empty, for `deadline` at most. Gives up the rest, and returns how many events those were.
    pub(crate) async fn drain(&self, deadline: Duration) -> u64 {
        let all_handled = async {
            loop {
                let mut ended = std::pin::pin!(self.ended.notified());
                ended.as_mut().enable();
                if self.sessions().is_empty() {
                    return;
                }
                ended.await;
            }
        };
        if tokio::time::timeout(deadline, all_handled).await.is_ok() {
            return 0;
        }
        let sessions: Vec<_> = self.sessions().iter().filter_map(Weak::upgrade).collect();
        sessions.iter().map(SessionInner::abandon).sum()
    }
}
