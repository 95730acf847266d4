//! How long after its limit a guest is stopped that computes for ever: the time until the rejection is there, less the limit.
//!
//! `cargo bench --package hookhost --bench runaway`. The component is in the text format, from `tests/hostile/`.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on stops")]

use criterion::{Criterion, criterion_group, criterion_main};
use hookhost::allowlist::{Digest, Entry, Limits, Settings, StateGrant};
use hookhost::{Config, Host, Session, SessionSpec, TransformOutcome};
use std::num::NonZeroU64;
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// The plugin loops as soon as it is asked for room for the event.
const SKELETON: &str = include_str!("../../../tests/hostile/skeleton/component.wat");
const LOOP: &str = include_str!("../../../tests/hostile/loop-in-realloc.wat");

async fn session(folder: &Path, limits: Limits) -> Session {
    let functions = "(func (export \"done\") (param i32)) (func (export \"again\")) \
                     (func $bad (param i32 i32) (result i32) unreachable)";
    let text = SKELETON
        .replace("(;INTERFACE;)", "prompt-submit")
        .replace("(;DEFAULTS;)", functions)
        .replace("(;EXPORTS;)", "")
        .replace("(;MODULE;)", LOOP);
    let path = folder.join("runaway.wasm");
    let bytes = wat::parse_str(text).unwrap();
    std::fs::write(&path, &bytes).unwrap();
    let mut entry = Entry::new("runaway", path, Digest::of_bytes(&bytes));
    entry.limits = limits;
    entry.grants.state = Some(StateGrant::default());
    let host = Host::builder(Config::from_entries(vec![entry], Settings::default()).unwrap()).build().await.unwrap();
    host.open_session(SessionSpec::new("bench", Path::new("/work"))).unwrap()
}

fn beyond_its_limit(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let mut group = criterion.benchmark_group("an endless loop, beyond its limit");
    group.sample_size(10).measurement_time(Duration::from_secs(3));
    for limit in [Duration::from_millis(20), Duration::from_millis(100)] {
        let fuel = NonZeroU64::new(1 << 60).unwrap();
        // One limit at a time, so that it is known which one stops it.
        let hour = Duration::from_secs(3600);
        for (name, compute, deadline) in [("compute", limit, hour), ("deadline", limit, limit)] {
            for (threads, runtime) in [
                ("one thread", tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()),
                ("a pool of threads", Runtime::new().unwrap()),
            ] {
                let limits = Limits { fuel, compute, deadline, ..Limits::default() };
                group.bench_function(format!("{name} = {limit:?}, {threads}"), |bencher| {
                    bencher.iter_custom(|times| {
                        let mut beyond = Duration::ZERO;
                        for _ in 0..times {
                            // A session of its own, since the third failure in a row trips a plugin.
                            let session = runtime.block_on(session(folder.path(), limits.clone()));
                            let began = Instant::now();
                            let outcome = runtime.block_on(session.prompt_submit("text".into())).outcome;
                            beyond += began.elapsed().saturating_sub(limit);
                            assert!(matches!(outcome, TransformOutcome::Withheld(_)), "{outcome:?}");
                        }
                        beyond
                    });
                });
            }
        }
    }
    group.finish();
}

criterion_group!(benches, beyond_its_limit);
criterion_main!(benches);
