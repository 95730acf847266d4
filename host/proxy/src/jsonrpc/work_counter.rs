//! A counter of running work. A task can wait until no work is running.

use tokio::sync::watch;
use tokio::task::AbortHandle;

/// A counter of running work.
#[derive(Clone, Debug, Default)]
pub struct WorkCounter(watch::Sender<usize>);

/// A piece of work. It is counted as running until this value is dropped.
#[derive(Debug)]
pub struct WorkGuard(watch::Sender<usize>);

impl WorkCounter {
    /// Counts a new piece of work as running until the returned guard is dropped.
    #[must_use]
    pub fn begin(&self) -> WorkGuard {
        self.0.send_modify(|count| *count += 1);
        WorkGuard(self.0.clone())
    }

    /// Starts a task that is counted as running work until it ends. Must be called within a Tokio runtime.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        let work = self.begin();
        let task = tokio::spawn(async move {
            let _work = work;
            task.await;
        });
        task.abort_handle()
    }

    /// Returns true if no work is running.
    pub fn is_idle(&self) -> bool {
        *self.0.borrow() == 0
    }

    /// Waits until no work is running.
    pub async fn idle(&self) {
        // `wait_for` fails only if there is no sender, and `self` is a sender.
        let _ = self.0.subscribe().wait_for(|count| *count == 0).await;
    }
}

impl Drop for WorkGuard {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::WorkCounter;
    use std::time::Duration;
    use tokio::time::timeout;

    #[tokio::test]
    async fn it_is_idle_once_all_are_dropped() {
        let counter = WorkCounter::default();
        counter.idle().await;
        let (one, other) = (counter.begin(), counter.begin());
        drop(one);
        assert!(timeout(Duration::ZERO, counter.idle()).await.is_err());
        drop(other);
        counter.idle().await;
    }
}
