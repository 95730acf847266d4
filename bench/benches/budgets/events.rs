//! Measures the cost of an event: a single event, an event for a chain of plugins, events on two threads, and an event beside the events of
//! many sessions.

use crate::bare::{self, Bare};
use crate::concurrent_sessions::{ConcurrentSessions, SESSIONS};
use crate::limits::{AppendFile, MovedRecords};
use crate::plugins::host;
use crate::subject::{self, call};
use bench::measure::{compare, compare_batches, spoken};
use bench::table::{Row, Table};
use hookhost::contract::{Action, ResultSource, ToolCall, ToolCallVerdict, ToolOrigin, ToolResult};
use hookhost::{Decision, Host, PreparedCall, Session, SessionSpec, TransformOutcome};
use serde_json::value::RawValue;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::runtime::{Builder, Runtime};

const COMPONENT: &str = "no-force-push";

/// Budgets of three events: an event with one plugin, an event without subscribers and without a log, and an event without subscribers but
/// with a log.
const MAX_ONE: Duration = Duration::from_micros(11);
const MAX_UNHEARD: Duration = Duration::from_nanos(300);
const MAX_UNHEARD_RECORDED: Duration = Duration::from_micros(1);

/// Budget of the engine's part of a call behind the proxy.
const MAX_PROXIED: Duration = Duration::from_micros(50);

pub(crate) fn rows(table: &mut Table) {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("hookhost.db");
    let session = |log| runtime.block_on(subject::session_of(subject::entry(&subject::component()), log, None));
    let (off, on) = (session(None), session(Some(log.as_path())));
    let event = call(&off);
    let asks = |session: &Session| allowed(&runtime, session, &event);
    let (bare, info) = (Bare::new(), bare::info());
    let bare_call = || assert_eq!(runtime.block_on(bare.call(&info, &event)), ToolCallVerdict::Allow);

    let row = |what: &'static str, log: &'static str| Row { what, component: COMPONENT, log, why: "" };
    let one = compare(|| asks(&off), bare_call);
    let what = "one event, one pristine plugin";
    let why = "The host's own code and records do not stay in the first-level caches, because the reset of the \
               guest's memory fills them.";
    table.compared(&Row { why, ..row(what, "off") }, &one, "bare wasmtime: store + instance + call", Some(1.2));
    let within = one.subject.median <= MAX_ONE;
    table.plain(&Row { why, ..row(what, "off") }, spoken(one.subject.median), "≤ 11 µs", Some(within));
    let record = runtime.block_on(off.before_tool_call(event.clone())).record;
    let least = || {
        bare_call();
        drop(black_box((event.clone(), serde_json::value::to_raw_value(&*event).unwrap(), record.clone())));
    };
    let reference = "the same, bare, with copies of the call, of its JSON and of its record";
    table.compared(&row(what, "off"), &compare(|| asks(&off), least), reference, None);
    // The difference between this row and its reference is the host's work for a plugin. In addition, host and guest evict each other from
    // the processor's caches.
    let nobody = runtime.block_on(host(0, None)).open_session(SessionSpec::new("bench", Path::new("/work"))).unwrap();
    let both = || {
        bare_call();
        asks(&nobody);
    };
    let reference = "the same, bare, and the same event in a host without plugins";
    table.compared(&row(what, "off"), &compare(|| asks(&off), both), reference, None);
    table.compared(&row(what, "on"), &compare(|| asks(&on), bare_call), "the same, bare", None);
    let why = "A record is written before its event takes effect. Before that, the host asks whether another \
               process had a turn.";
    table.compared(&Row { why, ..row(what, "on") }, &compare(|| asks(&on), || asks(&off)), "the log off", Some(1.6));

    let (mut file, line) = (AppendFile::new(directory.path()), [b'x'; 1200]);
    let appended = "1.2 KB, as a record of it has, appended to a file with one `write`";
    table.compared(&row(what, "on"), &compare(|| asks(&on), || file.append(&line)), appended, None);

    of_a_proxied_call(table, &runtime, &on);

    let ten = |log: Option<&Path>| {
        let host = runtime.block_on(host(10, log));
        host.open_session(SessionSpec::new("bench", Path::new("/work"))).unwrap()
    };
    let (ten_off, ten_on) = (ten(None), ten(Some(&directory.path().join("ten.db"))));
    let what = "one event, a chain of 10";
    table.compared(&row(what, "off"), &compare(|| asks(&ten_off), || asks(&off)), "one plugin", Some(10.5));
    table.compared(&row(what, "on"), &compare(|| asks(&ten_on), || asks(&on)), "one plugin", Some(10.5));

    let without_subscribers = |session: &Session| drop(runtime.block_on(session.stream_end("text".into())));
    let what = "an event without subscribers";
    let without = compare(|| without_subscribers(&off), || native(&event));
    let (took, reference) = (without.subject.median, spoken(without.reference.median));
    let why = "Its record is made even without a log, because the sender of the event gets it.";
    let reference = format!("{reference} the rule as a native function");
    table.beside(&Row { why, ..row(what, "off") }, &spoken(took), &reference, "≤ 300 ns", took <= MAX_UNHEARD);
    let record = runtime.block_on(off.stream_end("text".into())).record;
    let mut blank = (*record).clone();
    (blank.id, blank.original) = (String::new(), RawValue::NULL.to_owned());
    let made = || {
        let mut made = Box::new(blank.clone());
        made.id = [off.id(), ".", black_box("1000")].concat();
        made.header.time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64;
        made.original = serde_json::value::to_raw_value(black_box("text")).unwrap();
        drop(black_box(made));
    };
    let reference = "its record alone: a copy of a blank one, with an identifier, a time and JSON of its own";
    table.compared(&row(what, "off"), &compare(|| without_subscribers(&off), made), reference, None);
    let recorded = compare(|| without_subscribers(&on), || without_subscribers(&off));
    let (took, reference) = (recorded.subject.median, format!("{} the log off", spoken(recorded.reference.median)));
    let why = "The host asks with a system call whether another process had a turn. A stream of such events is \
               only as fast as the thread of the log moves records into the database: see the last row of events.";
    table.beside(&Row { why, ..row(what, "on") }, &spoken(took), &reference, "≤ 1 µs", took <= MAX_UNHEARD_RECORDED);
    let appended = "600 bytes, as a record of it has, appended to a file with one `write`";
    let recorded = compare(|| without_subscribers(&on), || file.append(&line[..600]));
    table.compared(&row(what, "on"), &recorded, appended, None);

    let host = runtime.block_on(host(1, None));
    let why = "The gain of arithmetic is all that the machine can give. Bare calls also share memory and \
               wasmtime's pool.";
    // The host's pool has the same number of slots.
    let bare = Bare::with_slots(128);
    two_threads(table, &Row { why, ..row("two threads, a session each: throughput", "off") }, &host, &bare);
    concurrent_sessions(table, &directory.path().join("at-once.db"));
}

/// Measures the cost of the log if many sessions of one process record events at the same time. The value is the total time divided by the
/// number of events, with one thread for each processor.
fn concurrent_sessions(table: &mut Table, log: &Path) {
    let what = format!("recorded event, {SESSIONS} sessions at once: all their time by all their events");
    let why = "The thread of the log and the sessions share the processors.";
    let row = Row { what: &what, component: COMPONENT, log: "on", why };
    let (off, on) = (ConcurrentSessions::new(None), ConcurrentSessions::new(Some(log)));
    let compared = compare_batches(|events| on.batch(events), |events| off.batch(events));
    table.compared(&row, &compared, "the log off, as many sessions at once", Some(1.3));
    // With the log, the ratio of an event is at least 1 plus the ratio of this row.
    let mut least = MovedRecords::new(log.parent().unwrap());
    let what = "as many records alone, by two threads: a `write` each, and moved into SQLite with their hash";
    let row = Row { what, component: "–", log: "on", why: "" };
    let compared = compare_batches(|records| least.batch(records), |events| off.batch(events));
    table.compared(&row, &compared, "the log off, as many sessions at once", None);
}

/// Measures the engine's part of a call behind the MCP proxy: the event before the call and the event after it.
fn of_a_proxied_call(table: &mut Table, runtime: &Runtime, session: &Session) {
    let arguments = serde_json::json!({ "text": "the quick brown fox", "number": 1 });
    let event = session.tool_call("call-1", "mcp__bench__say", &arguments, ToolOrigin::Mcp("bench".into()));
    let both = || {
        allowed(runtime, session, &event);
        let result = ToolResult::text("done");
        let after = runtime.block_on(session.after_tool_call(&event, result, ResultSource::Tool)).outcome;
        assert!(matches!(after, TransformOutcome::Passed { .. }));
    };
    let compared = compare(both, || allowed(runtime, session, &event));
    let row = Row {
        what: "the events of a call of an MCP server: before and after",
        component: COMPONENT,
        log: "on",
        why: "",
    };
    let within = compared.subject.median <= MAX_PROXIED;
    table.plain(&row, spoken(compared.subject.median), "≤ 50 µs", Some(within));
    table.compared(&row, &compared, "the event before alone", None);
}

pub(crate) fn allowed(runtime: &Runtime, session: &Session, event: &PreparedCall) {
    let outcome = runtime.block_on(session.before_tool_call(event.clone())).outcome;
    assert!(matches!(outcome, Decision::Allowed { .. }));
}

/// The same rule as a native rule, without a sandbox.
fn native(event: &ToolCall) {
    let event = black_box(event);
    let rejects = matches!(&event.action, Action::Shell(shell) if shell.command.contains("push --force"));
    assert!(!black_box(rejects));
}

/// Measures the throughput of two threads in relation to one thread. The host, bare calls, and arithmetic on threads that share nothing are
/// measured alternately. The arithmetic shows how much a second processor of this machine can add.
fn two_threads(table: &mut Table, row: &Row<'_>, host: &Host, bare: &Bare) {
    let begin = || {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let session = host.open_session(SessionSpec::new("bench", Path::new("/work"))).unwrap();
        let event = call(&session);
        (runtime, session, event)
    };
    let hosts = || {
        let (runtime, session, event) = begin();
        (0..EVENTS).for_each(|_| allowed(&runtime, &session, &event));
    };
    let bares = || {
        let ((runtime, _session, event), info) = (begin(), bare::info());
        (0..EVENTS).for_each(|_| drop(runtime.block_on(bare.call(&info, &event))));
    };
    let mut gains = [const { Vec::new() }; 3];
    for _ in 0..15 {
        for (gains, gain) in gains.iter_mut().zip([twice(&hosts), twice(&bares), twice(&arithmetic)]) {
            gains.push(gain);
        }
    }
    let [ratio, bare, arithmetic] = gains.map(|mut gains| {
        gains.sort_by(f64::total_cmp);
        gains[gains.len() / 2]
    });
    let measured = format!("{ratio:.2} × that of one (bare: {bare:.2} ×, arithmetic: {arithmetic:.2} ×)");
    table.plain(row, measured, "≥ 0.95 × what arithmetic gains", Some(ratio >= 0.95 * arithmetic));
}

/// Computes for about as long as the events take.
fn arithmetic() {
    let mut numbers = [1_u64; 8];
    for round in 0..10_000_000_u64 {
        for (place, number) in numbers.iter_mut().enumerate() {
            *number = number.rotate_left(5) ^ (round + place as u64);
        }
    }
    black_box(numbers);
}

const EVENTS: u32 = 2_000;

/// Returns the throughput of two threads in relation to one.
fn twice(work: &(impl Fn() + Sync)) -> f64 {
    let time = |threads: usize| {
        let began = Instant::now();
        std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
        began.elapsed().as_secs_f64()
    };
    2.0 * time(1) / time(2)
}
