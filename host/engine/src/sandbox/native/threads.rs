//! Threads that run jobs. If there is no idle thread for a job, a new thread is started. A thread ends after it has
//! been idle for a while.
//!
//! The threads of the async runtime are not used. Otherwise a job that never ends would block the shutdown of the
//! runtime.

use crate::locked::locked;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::Builder;
use std::time::Duration;

/// Time for which an idle thread waits for its next job.
const IDLE: Duration = Duration::from_secs(10);

pub(super) type Job = Box<dyn FnOnce() + Send>;

/// A group of threads. There are never more threads than concurrent jobs, and the caller limits the number of
/// concurrent jobs.
#[derive(Default)]
pub(super) struct Threads(Arc<ThreadQueue>);

#[derive(Default)]
struct ThreadQueue {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    /// Number of threads that wait for a job.
    idle: usize,
    is_closed: bool,
}

impl ThreadQueue {
    /// Waits for the next job. Returns `None` if the thread must end.
    fn next(&self) -> Option<Job> {
        let mut queue = locked(&self.queue);
        if let Some(job) = queue.jobs.pop_front() {
            return Some(job);
        }
        queue.idle += 1;
        let is_idle = |queue: &mut Queue| queue.jobs.is_empty() && !queue.is_closed;
        let waited = self.changed.wait_timeout_while(queue, IDLE, is_idle);
        let (mut queue, _) = waited.unwrap_or_else(PoisonError::into_inner);
        queue.idle -= 1;
        queue.jobs.pop_front()
    }
}

impl Threads {
    /// Runs a job. If no thread can be started, the job is dropped.
    pub(super) fn start(&self, job: Job) {
        let mut queue = locked(&self.0.queue);
        queue.jobs.push_back(job);
        if queue.idle >= queue.jobs.len() {
            self.0.changed.notify_one();
            return;
        }
        drop(queue);
        let shared = Arc::clone(&self.0);
        let work = move || {
            while let Some(job) = shared.next() {
                job();
            }
        };
        if let Err(error) = Builder::new().name("hookhost-native".into()).spawn(work) {
            tracing::warn!(%error, "a native rule has no thread");
            drop(locked(&self.0.queue).jobs.pop_back());
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        locked(&self.0.queue).is_closed = true;
        self.0.changed.notify_all();
    }
}
