//! How long a guest that computes for ever is left alone beyond its limit.

use crate::measure::{spoken, times_of};
use crate::plugins::{all_events, component_called};
use crate::table::{Row, Table};
use hookhost::allowlist::Settings;
use hookhost::{Config, FailureKind, Host, SessionSpec};
use std::num::NonZeroU64;
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::runtime::Builder;

const LIMIT: Duration = Duration::from_millis(20);

pub(crate) fn rows(table: &mut Table) {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let mut entry =
        all_events(&component_called("all_events.wasm"), &serde_json::json!({"prompt-submit": {"misbehave": "loop"}}));
    entry.limits.fuel = NonZeroU64::MAX.min(NonZeroU64::new(i64::MAX as u64).unwrap());
    (entry.limits.compute, entry.limits.deadline) = (LIMIT, LIMIT);
    let config = Config::from_entries(vec![entry], Settings::default()).unwrap();
    let host = runtime.block_on(Host::builder(config).build()).unwrap();
    let beyond = || {
        // A new session each time: after three failures a plugin is not asked again.
        let session = host.open_session(SessionSpec::new("bench", Path::new("/work"))).unwrap();
        let began = Instant::now();
        let settled = runtime.block_on(session.prompt_submit("text".into()));
        let took = began.elapsed();
        let failure = settled.record.calls[0].failure.clone().unwrap();
        assert!(matches!(failure.kind, FailureKind::Compute | FailureKind::Deadline), "{failure:?}");
        took.saturating_sub(LIMIT)
    };
    let times = times_of(50, beyond);
    let row =
        Row { what: "a runaway guest, stopped after its limit of 20 ms", component: "all-events", log: "off", why: "" };
    let measured = format!("{} (to {})", spoken(times.median), spoken(times.high));
    table.plain(&row, measured, "≤ 2 ms", Some(times.high <= Duration::from_millis(2)));
}
