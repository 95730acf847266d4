//! Records events in the background. Events are sent to the resident host in order, but a message is forwarded without waiting
//! until its event is sent.

use crate::acp::memory_size::memory_size;
use crate::resident_host::{self, UserNotifier};
use hookhost_agents::acp_proxy::{Event, NAME};
use hookhost_agents::proxies::ProxyReply;
use hookhost_client::async_client::AsyncClient;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

/// Maximum number of waiting events.
const MAX_QUEUED: usize = 256;

/// Maximum size of waiting events, in bytes: 32 MiB.
const MAX_BYTES: usize = 32 * 1024 * 1024;

/// Maximum time for recording the last events of a connection.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// A task of the recorder.
enum RecorderTask {
    /// Record this event. The number is its size in bytes.
    Record(Box<Event>, usize),
    Flush(oneshot::Sender<()>),
}

/// The sending end of the recorder.
#[derive(Debug)]
pub struct EventRecorder {
    work: mpsc::Sender<RecorderTask>,
    waiting: Arc<AtomicUsize>,
    losses: Arc<LossCounter>,
}

/// Counts lost events, and tells the user about the first lost event.
#[derive(Debug)]
struct LossCounter {
    count: AtomicUsize,
    notifier: UserNotifier,
}

impl LossCounter {
    fn add(&self, why: &str) {
        if self.count.fetch_add(1, Ordering::Relaxed) == 0 {
            self.notifier.tell(&format!("an event could not be recorded: {why}"));
        }
    }
}

impl EventRecorder {
    /// Starts a recorder that sends events to this resident host. `notifier` shows the notices of rules. Must be called within a
    /// Tokio runtime.
    pub(crate) fn new(host: Arc<AsyncClient>, notifier: UserNotifier) -> Self {
        let (send, work) = mpsc::channel(MAX_QUEUED);
        let records = Self::over(send, notifier.clone());
        let (waiting, losses) = (Arc::clone(&records.waiting), Arc::clone(&records.losses));
        tokio::spawn(record(work, host, notifier, waiting, losses));
        records
    }

    fn over(work: mpsc::Sender<RecorderTask>, notifier: UserNotifier) -> Self {
        let losses = LossCounter { count: AtomicUsize::new(0), notifier };
        Self { work, waiting: Arc::default(), losses: Arc::new(losses) }
    }

    /// Queues an event. If the queue is full, or if the event would make it too large, the event is counted as lost.
    pub fn add(&self, event: Event) {
        let bytes = memory_size_of(&event);
        let before = self.waiting.fetch_add(bytes, Ordering::Relaxed);
        let has_room = before == 0 || before + bytes <= MAX_BYTES;
        if !has_room || self.work.try_send(RecorderTask::Record(Box::new(event), bytes)).is_err() {
            self.waiting.fetch_sub(bytes, Ordering::Relaxed);
            self.losses.add("too many other events wait");
        }
    }

    /// Returns the number of lost events.
    pub fn lost(&self) -> usize {
        self.losses.count.load(Ordering::Relaxed)
    }

    /// Queues the last events, and waits until all events are recorded or a time limit has passed.
    pub async fn finish(&self, last: Vec<Event>) {
        let (flushed, done) = oneshot::channel();
        let all = async {
            for event in last {
                let _ = self.work.send(RecorderTask::Record(Box::new(event), 0)).await;
            }
            let _ = self.work.send(RecorderTask::Flush(flushed)).await;
            let _ = done.await;
        };
        let _ = timeout(FLUSH_TIMEOUT, all).await;
    }
}

/// Sends events to the resident host one after the other, until the sending end is dropped.
async fn record(
    mut work: mpsc::Receiver<RecorderTask>,
    host: Arc<AsyncClient>,
    notifier: UserNotifier,
    waiting: Arc<AtomicUsize>,
    losses: Arc<LossCounter>,
) {
    while let Some(work) = work.recv().await {
        let (event, bytes) = match work {
            RecorderTask::Record(event, bytes) => (event, bytes),
            RecorderTask::Flush(flushed) => {
                let _ = flushed.send(());
                continue;
            }
        };
        let settled = resident_host::ask(&host, NAME, &event.cwd, &*event, &|_| {}).await;
        drop(event);
        waiting.fetch_sub(bytes, Ordering::Relaxed);
        match settled {
            ProxyReply::Allowed { notices } => notifier.tell_all(&notices),
            ProxyReply::Failed { why } => losses.add(&why),
            _ => {}
        }
    }
}

/// Returns the approximate memory that an event takes, in bytes.
fn memory_size_of(event: &Event) -> usize {
    let of_result = event
        .result
        .as_ref()
        .map_or(0, |result| result.text.len() + result.raw.as_ref().map_or(0, |raw| raw.as_str().len()));
    memory_size(&event.arguments) + of_result
}

#[cfg(test)]
mod tests {
    use super::{EventRecorder, MAX_BYTES, MAX_QUEUED, UserNotifier, mpsc};
    use hookhost_agents::acp_proxy::{Event, Point};
    use serde_json::json;
    use std::sync::{Arc, Mutex};

    fn event(bytes: usize) -> Event {
        let fields = json!({ "point": Point::Observed, "session": "s", "cwd": "/", "agent": "a", "arguments": "x".repeat(bytes) });
        serde_json::from_value(fields).unwrap()
    }

    #[test]
    fn what_waits_is_bounded_by_its_bytes_and_what_is_lost_is_counted_and_the_first_of_it_reported() {
        let (said, (send, mut work)) = (Arc::new(Mutex::new(Vec::new())), mpsc::channel(MAX_QUEUED));
        let own = Arc::clone(&said);
        let records =
            EventRecorder::over(send, UserNotifier::new(move |text: &str| own.lock().unwrap().push(text.to_owned())));
        for _ in 0..8 {
            records.add(event(MAX_BYTES / 5));
        }
        let mut waiting = 0;
        while work.try_recv().is_ok() {
            waiting += 1;
        }
        assert_eq!((waiting, records.lost()), (4, 4));
        assert_eq!(*said.lock().unwrap(), ["an event could not be recorded: too many other events wait"]);
    }
}
