//! Many sessions of one process that send events at the same time, with one thread for each processor.

use crate::subject::{call, component, entry};
use hookhost::config::Settings;
use hookhost::{Config, Decision, Host, PreparedCall, Session, SessionSpec};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

/// Number of sessions.
pub(crate) const SESSIONS: u32 = 20;

/// A batch has the requested number of events multiplied by this factor. The log is written some milliseconds late, so in a short batch,
/// the last write would have more influence than in a long stream of events.
const BATCH_FACTOR: u32 = 4;

pub(crate) struct ConcurrentSessions {
    runtime: Runtime,
    host: Host,
    sessions: Vec<Arc<(Session, PreparedCall)>>,
}

impl ConcurrentSessions {
    /// Opens sessions of one host, with a log at this path.
    pub(crate) fn new(log: Option<&Path>) -> Self {
        let runtime = Builder::new_multi_thread().enable_all().build().unwrap();
        let config = Config::from_entries(vec![entry(&component())], Settings::default()).unwrap();
        let mut builder = Host::builder(config).without_cache();
        if let Some(log) = log {
            builder = builder.store(log);
        }
        let host = runtime.block_on(builder.build()).unwrap();
        let open = |_| {
            let session = host.open_session(SessionSpec::new("bench", Path::new("/work"))).unwrap();
            let event = call(&session);
            Arc::new((session, event))
        };
        let sessions = (0..SESSIONS).map(open).collect();
        Self { runtime, host, sessions }
    }

    /// Sends this number of events in each session, one after the other, and waits until all records are in the log.
    pub(crate) fn events(&self, each: u32) {
        self.runtime.block_on(async {
            let mut tasks = JoinSet::new();
            for session in &self.sessions {
                let session = Arc::clone(session);
                tasks.spawn(async move {
                    let (session, event) = &*session;
                    for _ in 0..each {
                        let outcome = session.before_tool_call(event.clone()).await.outcome;
                        assert!(matches!(outcome, Decision::Allowed { .. }));
                    }
                });
            }
            while let Some(ended) = tasks.join_next().await {
                ended.unwrap();
            }
            self.host.flush().await.unwrap();
        });
    }

    /// Returns the time of `events` events of all sessions together, computed from a longer batch.
    pub(crate) fn batch(&self, events: u32) -> Duration {
        let each = (BATCH_FACTOR * events).div_ceil(SESSIONS);
        let began = Instant::now();
        self.events(each);
        began.elapsed() * events / (each * SESSIONS)
    }
}
