//! A counter of work under way, for tasks that wait until there is none.

use tokio::sync::watch;

/// A counter of work under way.
#[derive(Clone, Debug, Default)]
pub struct Busy(watch::Sender<usize>);

/// One unit of work, counted until it is dropped.
#[derive(Debug)]
pub struct One(watch::Sender<usize>);

impl Busy {
    /// Counts one more unit of work.
    #[must_use]
    pub fn one(&self) -> One {
        self.0.send_modify(|count| *count += 1);
        One(self.0.clone())
    }

    /// Returns true if no work is under way.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        *self.0.borrow() == 0
    }

    /// Waits until no work is under way.
    pub async fn idle(&self) {
        // `wait_for` fails only without a sender, and `self` is one.
        let _ = self.0.subscribe().wait_for(|count| *count == 0).await;
    }
}

impl Drop for One {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::Busy;
    use std::time::Duration;
    use tokio::time::timeout;

    #[tokio::test]
    async fn it_is_idle_once_all_are_dropped() {
        let busy = Busy::default();
        busy.idle().await;
        let (one, other) = (busy.one(), busy.one());
        drop(one);
        assert!(timeout(Duration::ZERO, busy.idle()).await.is_err());
        drop(other);
        busy.idle().await;
    }
}
