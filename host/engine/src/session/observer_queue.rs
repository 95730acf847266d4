//! The events that wait for their observers.

use crate::contract::EventKind;
use crate::locked::locked;
use futures_util::future::BoxFuture;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;
use tokio::sync::Notify;

/// Maximum number of events of one session that wait for their observers.
const MAX_WAITING: usize = 1024;

/// Maximum size of the events of one session that wait for their observers, in bytes of JSON.
const MAX_BYTES: usize = 16 << 20;

/// The events of one session that wait for their observers.
#[derive(Default)]
pub(super) struct ObserverQueue(Mutex<WaitingJobs>);

#[derive(Default)]
pub(super) struct WaitingJobs {
    jobs: VecDeque<ObserverJob>,
    bytes: usize,
    /// The event whose observers are being called.
    current: Option<EventKind>,
    /// True while a task calls observers.
    pub(super) running: bool,
    /// By name of the event, the number of events that observers missed and that are not reported yet.
    pub(super) dropped: BTreeMap<String, u64>,
}

/// The work of calling the observers of one event.
pub(super) struct ObserverJob {
    pub(super) event: EventKind,
    /// The size of the event, in bytes of JSON.
    pub(super) bytes: usize,
    pub(super) run: BoxFuture<'static, ()>,
}

impl ObserverQueue {
    pub(super) fn waiting(&self) -> MutexGuard<'_, WaitingJobs> {
        locked(&self.0)
    }

    /// Takes the next job. If there is none, the task ends, and the next queued job starts a new task.
    pub(super) fn next(&self) -> Option<ObserverJob> {
        let mut waiting = self.waiting();
        let job = waiting.jobs.pop_front();
        waiting.current = job.as_ref().map(|job| job.event);
        waiting.bytes -= job.as_ref().map_or(0, |job| job.bytes);
        waiting.running = job.is_some();
        job
    }

    /// Drops the events that still wait. Returns their number.
    pub(super) fn abandon(&self) -> u64 {
        let mut waiting = self.waiting();
        let current = waiting.current.take();
        let left: Vec<EventKind> = waiting.jobs.iter().map(|job| job.event).chain(current).collect();
        waiting.jobs.clear();
        waiting.bytes = 0;
        for event in &left {
            waiting.drop_event(*event);
        }
        left.len() as u64
    }
}

impl WaitingJobs {
    /// Counts an event that observers miss.
    pub(super) fn drop_event(&mut self, event: EventKind) {
        *self.dropped.entry(event.name().to_owned()).or_default() += 1;
    }

    /// Returns true if the queue is too full for a job. An empty queue also accepts an event that is larger than the
    /// maximum.
    pub(super) fn is_full_for(&self, job: &ObserverJob) -> bool {
        let full = self.jobs.len() >= MAX_WAITING || self.bytes.saturating_add(job.bytes) > MAX_BYTES;
        full && !self.jobs.is_empty()
    }

    pub(super) fn push(&mut self, job: ObserverJob) {
        self.bytes += job.bytes;
        self.jobs.push_back(job);
    }
}

/// A session whose observers are being called.
pub(crate) trait ObservedSession: Send + Sync {
    /// Drops the events that still wait for observers, and reports them. Returns their number.
    fn abandon_observers(&self) -> u64;
}

/// The sessions of a host with a running observer task.
#[derive(Default)]
pub(crate) struct ObserverTasks {
    sessions: Mutex<Vec<Weak<dyn ObservedSession>>>,
    ended: Notify,
}

impl ObserverTasks {
    pub(super) fn began(&self, session: Weak<dyn ObservedSession>) {
        locked(&self.sessions).push(session);
    }

    pub(super) fn ended(&self, session: &Weak<dyn ObservedSession>) {
        let mut sessions = locked(&self.sessions);
        if let Some(at) = sessions.iter().position(|other| other.ptr_eq(session)) {
            sessions.swap_remove(at);
        }
        drop(sessions);
        self.ended.notify_waiters();
    }

    /// Waits until the queues are empty, for `deadline` at most. Drops the events that are left, and returns their
    /// number.
    pub(crate) async fn drain(&self, deadline: Duration) -> u64 {
        let all_handled = async {
            loop {
                let mut ended = std::pin::pin!(self.ended.notified());
                ended.as_mut().enable();
                if locked(&self.sessions).is_empty() {
                    return;
                }
                ended.await;
            }
        };
        if tokio::time::timeout(deadline, all_handled).await.is_ok() {
            return 0;
        }
        let sessions: Vec<Arc<_>> = locked(&self.sessions).iter().filter_map(Weak::upgrade).collect();
        sessions.iter().map(|session| session.abandon_observers()).sum()
    }
}
