//! Events about which nobody waits: what has happened is told to the resident host in its order, beside the messages.

use hookhost_adapters::acp_proxy::{Event, NAME};
use hookhost_adapters::proxies::Settled;
use hookhost_relay::resident::Resident;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

/// Upper bound of the events that wait.
const MAX_WAITING: usize = 256;

/// How long the last ones have at the end.
const FOR_THE_LAST: Duration = Duration::from_secs(5);

/// What there is to do.
enum Work {
    Record(Box<Event>),
    Flush(oneshot::Sender<()>),
}

/// Where events are handed in.
#[derive(Debug)]
pub struct Records {
    work: mpsc::Sender<Work>,
    lost: Arc<AtomicUsize>,
}

impl Records {
    /// Tells them to this resident host; what rules say to it is told to the user. To be called within the runtime.
    pub fn new(resident: Arc<Resident>, tell: Arc<dyn Fn(&str) + Send + Sync>) -> Self {
        let (send, mut work) = mpsc::channel(MAX_WAITING);
        let lost = Arc::new(AtomicUsize::new(0));
        let losing = Arc::clone(&lost);
        tokio::spawn(async move {
            while let Some(work) = work.recv().await {
                let event = match work {
                    Work::Record(event) => event,
                    Work::Flush(flushed) => {
                        let _ = flushed.send(());
                        continue;
                    }
                };
                let why = match resident.settle(NAME, &event.cwd, &*event, &|_| {}).await {
                    Ok(Settled::Allowed { notices }) => {
                        notices.iter().for_each(|notice| tell(notice));
                        continue;
                    }
                    Ok(Settled::Failed { why }) | Err(why) => why,
                    Ok(_) => continue,
                };
                if losing.fetch_add(1, Ordering::Relaxed) == 0 {
                    tell(&format!("an event could not be recorded: {why}"));
                }
            }
        });
        Self { work: send, lost }
    }

    /// Hands an event in. Where too many wait, it is lost, and counted.
    pub fn add(&self, event: Event) {
        if self.work.try_send(Work::Record(Box::new(event))).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many events were lost.
    #[must_use]
    pub fn lost(&self) -> usize {
        self.lost.load(Ordering::Relaxed)
    }

    /// Hands the last events in, and waits until all are recorded, or a moment.
    pub async fn finish(&self, last: Vec<Event>) {
        let (flushed, done) = oneshot::channel();
        let all = async {
            for event in last {
                let _ = self.work.send(Work::Record(Box::new(event))).await;
            }
            let _ = self.work.send(Work::Flush(flushed)).await;
            let _ = done.await;
        };
        let _ = timeout(FOR_THE_LAST, all).await;
    }
}
