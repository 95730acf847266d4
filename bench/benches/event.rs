//! Measures one event in the host, and the same call in wasmtime alone, with the same component and the same limits. Both are measured in
//! one run, so the ratio shows the cost of the host.
//!
//! `cargo run -p bench -- budgets --only distributions` runs this benchmark.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot continue stops")]

#[path = "subject/bare.rs"]
mod bare;
mod subject;
/// The types with which the engine passes the contract's values to wasmtime. They are private in the engine, so the file is included here
/// for the bare call.
#[expect(dead_code, reason = "one event of all is called")]
#[path = "../../host/engine/src/wire/mod.rs"]
mod wire;

use bare::Bare;
use criterion::{Criterion, criterion_group, criterion_main};
use hookhost::config::Entry;
use hookhost::contract;
use hookhost::contract::{Action, Refusal, ToolCall, ToolCallVerdict};
use hookhost::{Config, Decision, Host, Rule};
use no_force_push::NoForcePush;
use subject::{call, component, entry, session_of};
use tokio::runtime::Runtime;

fn one_event(criterion: &mut Criterion) {
    let runtime = Runtime::new().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let mut group = criterion.benchmark_group("one event, one pristine plugin");

    let event = call(&runtime.block_on(session_of(entry(&component()), None, None)));

    for (name, log) in [
        ("hookhost, log off", None),
        ("hookhost, log on (a commit before each outcome)", Some(directory.path().join("hookhost.db"))),
    ] {
        let session = runtime.block_on(session_of(entry(&component()), log.as_deref(), None));
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let outcome = runtime.block_on(session.before_tool_call(event.clone())).outcome;
                assert!(matches!(outcome, Decision::Allowed { .. }));
            });
        });
    }

    let bare = Bare::new();
    let info = bare::info();
    group.bench_function("bare wasmtime: store + instance + call", |bencher| {
        bencher.iter(|| assert_eq!(runtime.block_on(bare.call(&info, &event)), ToolCallVerdict::Allow));
    });
    group.finish();
}

/// Measures the same plugin as a component and as a native plugin in the program, and the same rule as a closure.
fn one_rule(criterion: &mut Criterion) {
    let runtime = Runtime::new().unwrap();
    let mut group = criterion.benchmark_group("one event, one rule, log off");
    let closure = |call: &ToolCall| {
        let is_force_push = matches!(&call.action, Action::Shell(shell) if shell.command.contains("push --force"));
        is_force_push.then(|| Refusal::new("force-push rewrites shared history"))
    };
    for (name, entry) in [
        ("component", entry(&component())),
        ("native plugin", Entry::from_rule("subject", Rule::of::<NoForcePush>())),
        ("closure", Entry::from_rule("subject", Rule::new().before_tool_call(move |_, call| closure(call)))),
    ] {
        let session = runtime.block_on(session_of(entry, None, None));
        let event = call(&session);
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let outcome = runtime.block_on(session.before_tool_call(event.clone())).outcome;
                assert!(matches!(outcome, Decision::Allowed { .. }));
            });
        });
    }
    group.finish();
    let mut group = criterion.benchmark_group("a host of one rule");
    let build = |entry: Entry| runtime.block_on(Host::builder(Config::empty()).plugin(entry).build()).unwrap();
    group.sample_size(10);
    group.bench_function("component, compiled", |bencher| {
        bencher.iter(|| build(entry(&component())));
    });
    group.bench_function("native plugin", |bencher| {
        bencher.iter(|| build(Entry::from_rule("subject", Rule::of::<NoForcePush>())));
    });
    group.finish();
}

fn nobody_asked(criterion: &mut Criterion) {
    let runtime = Runtime::new().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let mut group = criterion.benchmark_group("an event without subscribers");
    for (name, log) in [("log off", None), ("log on (batched)", Some(directory.path().join("hookhost.db")))] {
        let session = runtime.block_on(session_of(entry(&component()), log.as_deref(), None));
        group.bench_function(name, |bencher| bencher.iter(|| runtime.block_on(session.stream_end("text".into()))));
    }
    group.finish();
}

/// Measures the disk alone. Appends a record of the same size as in the log to a file, with one write.
fn one_append(criterion: &mut Criterion) {
    use std::io::Write as _;
    let mut file = tempfile::tempfile().unwrap();
    let record = vec![b'x'; 1200];
    criterion.bench_function("1.2 KB appended to a file", |bencher| bencher.iter(|| file.write_all(&record).unwrap()));
}

criterion_group!(benches, one_event, one_rule, nobody_asked, one_append);
criterion_main!(benches);
