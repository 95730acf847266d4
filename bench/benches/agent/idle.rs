//! Measures the memory of a session while it waits for its model.

use crate::subject::{IdleTool, agent, host};
use async_trait::async_trait;
use bench::memory::resident_mib;
use bench::table::{Row, Table};
use futures_util::{StreamExt as _, stream};
use hookhost::SessionSpec;
use hookhost_agent::agent::AgentEvent;
use hookhost_models::{DeltaStream, Provider, ProviderError, Request};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;

/// A model that never answers.
#[derive(Debug, Default)]
struct SilentProvider {
    asked: AtomicUsize,
}

#[async_trait]
impl Provider for SilentProvider {
    fn name(&self) -> &str {
        "silent"
    }

    async fn send(&self, _: Request) -> Result<DeltaStream, ProviderError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Ok(stream::pending().boxed())
    }
}

pub(crate) fn rows(table: &mut Table, sessions: usize) {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let (waiting, open) = runtime.block_on(async {
        let host = host(true, None).await;
        // The first session allocates everything that all sessions share, so it is not counted. It stays open, so that no memory is
        // returned to the system in between.
        let first = host.open_session(spec()).unwrap();
        let before = resident_mib();
        // Open many more sessions, because the memory of one session is small compared with the pages in which memory is counted.
        let open: Vec<_> = (0..sessions * 20).map(|_| host.open_session(spec()).unwrap()).collect();
        let of_engine = each(before, sessions * 20);
        let (provider, cancel) = (Arc::new(SilentProvider::default()), CancellationToken::new());
        let run = |host: &hookhost::Host| {
            let agent = agent(host.clone(), provider.clone(), IdleTool::default(), None);
            let cancel = cancel.clone();
            tokio::spawn(async move { agent.run("Go.", &|_: &AgentEvent| {}, &cancel).await.unwrap() })
        };
        let first_run = run(&host);
        until(|| provider.asked.load(Ordering::Relaxed) == 1).await;
        let before = resident_mib();
        let runs: Vec<_> = (0..sessions).map(|_| run(&host)).collect();
        until(|| provider.asked.load(Ordering::Relaxed) == sessions + 1).await;
        let of_agent = each(before, sessions);
        cancel.cancel();
        for run in runs.into_iter().chain([first_run]) {
            let _ = run.await.unwrap();
        }
        drop((first, open));
        (of_agent, of_engine)
    });
    let what = format!("memory of a session that waits for its model, of {sessions}");
    let row = Row { what: &what, component: "no-force-push", log: "off", why: "" };
    let reference = format!("{open:.1} KiB a session of the engine alone");
    table.figures(&row, &format!("{waiting:.1} KiB"), &reference, waiting / open);
}

fn spec() -> SessionSpec {
    SessionSpec::new("bench", Path::new("/work"))
}

/// Returns the memory that each of `count` sessions has added since `before`, in KiB.
fn each(before: f64, count: usize) -> f64 {
    (resident_mib() - before) * 1024.0 / count as f64
}

async fn until(holds: impl Fn() -> bool) {
    while !holds() {
        tokio::task::yield_now().await;
    }
}
