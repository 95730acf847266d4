//! Passes events to observers. Observers get an event after its outcome, through a bounded queue, so the event does not
//! wait for observers.
//!
//! Observers get the events of one session in order; sessions do not wait for each other. The queue is bounded.
//! Otherwise it would grow for as long as a model streams faster than a plugin computes. Events that do not fit into
//! the queue are dropped. The dropped events are counted, recorded and reported. Failures of observers are counted
//! separately from failures of gates, because observers run at some later time.

use super::Dispatch;
use crate::active_config::ActiveConfig;
use crate::audit::{Dropped, Header, ToRecord as _};
use crate::contract::{self, AuditEntry, Json};
use crate::event::{AuditRecord, Kind};
use crate::facts::{AgentContext, FactReader};
use crate::sandbox::capability::EventFacts;
use crate::session::inner::SessionInner;
use crate::session::notice::{Notice, NoticeKind};
use crate::session::observer_queue::{ObservedSession, ObserverJob};
use crate::store::LateWrite;
use futures_util::FutureExt as _;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Weak};

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
        // Write the record before its observers are called.
        if let Err(error) = shared.services.store.flush().await {
            tracing::error!(%error, event = %E::KIND, "observers do not get an event that cannot be recorded");
            shared.observers.waiting().drop_event(E::KIND);
            return;
        }
        let mut dispatch = Dispatch::for_observers(&shared, &rules, E::KIND, info, facts, bytes);
        dispatch.call_observers::<E>(&payload).await;
        dispatch.conclude_observed().await;
    };
    queue(session, ObserverJob { event: E::KIND, bytes, run: Box::pin(run) });
}

/// Queues a record for the observers of the audit log.
pub(super) fn enqueue_record(
    session: &Arc<SessionInner>,
    rules: &Arc<ActiveConfig>,
    info: &Arc<contract::Session>,
    record: String,
) {
    let (id, time) = (session.ids.next_record(), session.services.now());
    let world = FactReader::new(Arc::clone(info), AgentContext::default());
    let facts = Arc::new(EventFacts { id, time, world, ..EventFacts::default() });
    let record = match Json::new(record) {
        Ok(record) => record,
        Err(error) => return tracing::error!(%error, "observers do not get a record that is not JSON"),
    };
    let bytes = record.len();
    enqueue::<AuditRecord>(session, rules, info.clone(), facts, AuditEntry(record), bytes);
}

fn queue(session: &Arc<SessionInner>, job: ObserverJob) {
    let mut waiting = session.observers.waiting();
    let runtime = tokio::runtime::Handle::try_current().ok().filter(|_| !waiting.is_full_for(&job));
    let Some(runtime) = runtime else {
        waiting.drop_event(job.event);
        return;
    };
    waiting.push(job);
    if !waiting.running {
        waiting.running = true;
        drop(waiting);
        session.services.observer_tasks.began(as_observed(session));
        runtime.spawn(work(RunningTask { session: Arc::clone(session), ended: false }));
    }
}

fn as_observed(session: &Arc<SessionInner>) -> Weak<dyn ObservedSession> {
    let session: Weak<SessionInner> = Arc::downgrade(session);
    session
}

/// A running observer task.
struct RunningTask {
    session: Arc<SessionInner>,
    ended: bool,
}

impl Drop for RunningTask {
    fn drop(&mut self) {
        if !self.ended {
            // The runtime was shut down. The queued events would never be handled, but would keep the session alive.
            self.session.abandon_observers();
            self.session.observers.waiting().running = false;
        }
        self.session.services.observer_tasks.ended(&as_observed(&self.session));
    }
}

async fn work(mut running: RunningTask) {
    let session = Arc::clone(&running.session);
    while let Some(job) = session.observers.next() {
        if AssertUnwindSafe(job.run).catch_unwind().await.is_err() {
            tracing::error!(event = %job.event, "calling observers failed");
        }
        report_dropped(&session);
    }
    running.ended = true;
}

/// Records the events that observers missed, and tells the user.
fn report_dropped(session: &SessionInner) {
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
    /// Records the dropped events. This record is not queued for observers, because the queue may be full.
    fn record_dropped(&self, dropped: &Dropped) {
        let store = &self.services.store;
        if store.wants_records()
            && let Err(error) = store.push(LateWrite::of(dropped.body(&self.config().settings().audit)))
        {
            tracing::error!(%error, "the events that observers missed could not be recorded");
        }
    }
}

impl ObservedSession for SessionInner {
    fn abandon_observers(&self) -> u64 {
        let left = self.observers.abandon();
        report_dropped(self);
        left
    }
}
