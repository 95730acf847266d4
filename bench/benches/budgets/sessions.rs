//! Measures the memory of a process with many open sessions and many events.

use crate::plugins::host;
use crate::subject::call;
use bench::memory::resident_mib;
use bench::table::{Row, Table};
use hookhost::{Decision, SessionSpec};
use std::path::Path;
use tokio::runtime::Builder;

const SESSIONS: usize = 1_000;
const PLUGINS: usize = 5;

pub(crate) fn rows(table: &mut Table, events: usize) {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let host = runtime.block_on(host(PLUGINS, Some(&directory.path().join("hookhost.db"))));
    let open = || host.open_session(SessionSpec::new("bench", Path::new("/work"))).unwrap();
    let sessions: Vec<_> = (0..SESSIONS).map(|_| open()).collect();
    let event = call(&sessions[0]);
    // Take ten samples, because a leak would show as growth from sample to sample.
    let mut resident = Vec::new();
    let rounds = (events / SESSIONS).max(10);
    for round in 1..=rounds {
        for session in &sessions {
            let outcome = runtime.block_on(session.before_tool_call(event.clone())).outcome;
            assert!(matches!(outcome, Decision::Allowed { .. }));
        }
        if round % (rounds / 10) == 0 {
            resident.push(resident_mib());
        }
    }
    let (first, last) = (resident[0], resident[resident.len() - 1]);
    let most = resident.iter().copied().fold(0.0, f64::max);
    let what = format!("{SESSIONS} sessions, {PLUGINS} plugins, {} events: memory", rounds * SESSIONS);
    let why = "What grows is the index of the log's WAL, which is shared memory: see `store`.";
    let row = Row { what: &what, component: "no-force-push", log: "on", why };
    let grown = format!("{most:.0} MiB at most; {first:.1} MiB after a tenth, {last:.1} MiB at the end");
    table.plain(&row, grown, "flat, ≤ 80 MiB", Some(most <= 80.0 && last <= first * 1.05));
}
