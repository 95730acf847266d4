//! Telling observers: after the outcome, off the path of the event, through a bounded queue.
//!
//! The events of one session are told in order; sessions beside each other. What the queue has no room for is counted,
//! recorded and reported, never passed over in silence.

use super::dispatch::Dispatch;
use super::{Shared, now};
use crate::active_config::ActiveConfig;
use crate::audit::Dropped;
use crate::contract;
use crate::contract::{AuditEntry, EventKind};
use crate::event::{AuditRecord, Kind};
use crate::sandbox::capability::EventFacts;
use crate::store::Late;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use std::collections::{BTreeMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::Notify;

/// Most events of one session that wait to be told.
pub const MAX_WAITING: usize = 1024;

/// Most bytes, as JSON, of the events of one session that wait to be told.
const MAX_BYTES: usize = 16 << 20;

/// The events of one session that wait to be told.
#[derive(Default)]
pub(super) struct Observers(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    jobs: VecDeque<Job>,
    bytes: usize,
    /// The event that is being told.
    current: Option<EventKind>,
    running: bool,
    dropped: BTreeMap<String, u64>,
}

struct Job {
    event: EventKind,
    bytes: usize,
    tell: BoxFuture<'static, ()>,
}

/// The sessions of a host whose observers are being told.
#[derive(Default)]
pub(crate) struct Telling {
    sessions: Mutex<Vec<Weak<Shared>>>,
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

/// Tells the observers of an event that has been recorded, later.
pub(super) fn tell<E: Kind<Return = ()>>(
    session: &Arc<Shared>,
    rules: &Arc<ActiveConfig>,
    info: Arc<contract::Session>,
    facts: EventFacts,
    payload: E::Payload,
    bytes: usize,
) {
    let (shared, rules) = (Arc::clone(session), Arc::clone(rules));
    let tell = async move {
        // What they hear of has been written before.
        if let Err(error) = shared.services.store.flush().await {
            tracing::error!(%error, event = %E::KIND, "observers do not hear of what cannot be recorded");
            shared.observers.waiting().drop_event(E::KIND);
            return;
        }
        let mut dispatch = Dispatch::to_tell(&shared, &rules, E::KIND, info, facts, bytes);
        dispatch.hear::<E>(&payload).await;
        dispatch.conclude_observed().await;
    };
    queue(session, Job { event: E::KIND, bytes, tell: Box::pin(tell) });
}

/// Tells those who subscribe to the audit log of a record, later.
pub(super) fn tell_record(
    session: &Arc<Shared>,
    rules: &Arc<ActiveConfig>,
    info: &Arc<contract::Session>,
    record: String,
) {
    let facts = EventFacts { id: session.next_record_id(), time: now(), round: 1, ..EventFacts::default() };
    let bytes = record.len();
    tell::<AuditRecord>(session, rules, info.clone(), facts, AuditEntry(record), bytes);
}

fn queue(session: &Arc<Shared>, job: Job) {
    let mut waiting = session.observers.waiting();
    let full = waiting.jobs.len() >= MAX_WAITING || waiting.bytes.saturating_add(job.bytes) > MAX_BYTES;
    // A queue that holds nothing takes what is larger than it.
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
        session.services.telling.began(session);
        runtime.spawn(work(Running { session: Arc::clone(session), ended: false }));
    }
}

/// The task that tells.
struct Running {
    session: Arc<Shared>,
    ended: bool,
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.ended {
            // Its runtime was shut down: what waits would hold the session, and never be told.
            self.session.abandon();
            self.session.observers.waiting().running = false;
        }
        self.session.services.telling.ended(&self.session);
    }
}

async fn work(mut running: Running) {
    let session = Arc::clone(&running.session);
    while let Some(job) = next(&session) {
        if AssertUnwindSafe(job.tell).catch_unwind().await.is_err() {
            tracing::error!(event = %job.event, "telling observers failed");
        }
        report_dropped(&session);
    }
    running.ended = true;
}

/// The next event to tell; where there is none, whoever queues one starts a task anew.
fn next(session: &Shared) -> Option<Job> {
    let mut waiting = session.observers.waiting();
    let job = waiting.jobs.pop_front();
    waiting.current = job.as_ref().map(|job| job.event);
    waiting.bytes -= job.as_ref().map_or(0, |job| job.bytes);
    waiting.running = job.is_some();
    job
}

/// Records what was dropped, and tells the user.
fn report_dropped(session: &Arc<Shared>) {
    let events = std::mem::take(&mut session.observers.waiting().dropped);
    if events.is_empty() {
        return;
    }
    let count: u64 = events.values().sum();
    session.notice(match count {
        1 => "1 event came too fast for the plugins that observe it, and they did not hear of it".into(),
        _ => format!("{count} events came too fast for the plugins that observe them, and they did not hear of these"),
    });
    session.record_dropped(&Dropped { session: session.id.clone(), time: now(), events });
}

impl Shared {
    /// Not told in turn: that could be dropped as well.
    fn record_dropped(&self, dropped: &Dropped) {
        use crate::audit::ToRecord as _;
        let store = &self.services.store;
        if store.keeps_log()
            && let Err(error) = store.push(Late::of(dropped.body(&self.config().settings().audit)))
        {
            tracing::error!(%error, "events that observers did not hear of could not be recorded");
        }
    }

    /// Gives up on the events that still wait; how many they were.
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

impl Telling {
    fn sessions(&self) -> MutexGuard<'_, Vec<Weak<Shared>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn began(&self, session: &Arc<Shared>) {
        self.sessions().push(Arc::downgrade(session));
    }

    fn ended(&self, session: &Arc<Shared>) {
        let ended = Arc::downgrade(session);
        let mut sessions = self.sessions();
        if let Some(at) = sessions.iter().position(|other| other.ptr_eq(&ended)) {
            sessions.swap_remove(at);
        }
        drop(sessions);
        self.ended.notify_waiters();
    }

    /// Waits until all has been told, for `deadline` at most; gives up on the rest, and says how much that was.
    pub(crate) async fn drain(&self, deadline: Duration) -> u64 {
        let all_told = async {
            loop {
                let mut ended = std::pin::pin!(self.ended.notified());
                ended.as_mut().enable();
                if self.sessions().is_empty() {
                    return;
                }
                ended.await;
            }
        };
        if tokio::time::timeout(deadline, all_told).await.is_ok() {
            return 0;
        }
        let sessions: Vec<_> = self.sessions().iter().filter_map(Weak::upgrade).collect();
        sessions.iter().map(Shared::abandon).sum()
    }
}
