//! Measures what a recorded event costs while its records are sent to other programs, how fast a backlog is sent, and how much memory that
//! takes.

use crate::events::allowed;
use crate::subject::{self, call};
use bench::measure::compare;
use bench::memory::resident_mib;
use bench::table::{Row, Table};
use hookhost::contract::ToolResult;
use hookhost::{Config, Decision, Host, PreparedCall, Session};
use hookhost_telemetry::settings::Directories;
use hookhost_telemetry::{Environment, FirstRecord, Readers, TelemetrySettings, states};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::runtime::Builder;

/// Maximum cost of an event whose records are sent, in comparison with an event whose records are not.
const MOST: f64 = 1.05;

/// Number of sessions in the backlog. Each has two records.
const SESSIONS: u64 = 50_000;

/// Minimum number of records of a backlog that are sent in a second.
const MIN_RATE: f64 = 5_000.0;

/// The sinks of OTLP that have a position. That of the metrics is the one of the counters.
const SINKS: [&str; 3] = ["otlp-logs", "otlp-traces", "metrics"];

/// Maximum memory that the sinks take for a backlog, in MiB.
const MAX_MEMORY: f64 = 5.0;

/// Number of calls whose tools have names of their own. Each call has a result.
const TOOLS: u64 = 100_000;

/// Maximum number of series of the metrics.
const MAX_SERIES: usize = 2_000;

pub(crate) fn rows(table: &mut Table) {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let entry = || subject::entry(&subject::component());
    let session = |name: &str| {
        let log = directory.path().join(name).join("hookhost.db");
        std::fs::create_dir(directory.path().join(name)).unwrap();
        (runtime.block_on(subject::session_of(entry(), Some(&log), None)), log)
    };
    let (off, _) = session("off");
    let of_off = call(&off);
    let asks = |session: &Session, event: &PreparedCall| allowed(&runtime, session, event);
    let row = |what: &'static str| Row { what, component: "no-force-push", log: "on", why: "" };

    // How far two sessions differ of which neither sends anything.
    let (other, _) = session("other");
    // Each session asks about a call of its own. It would prepare that of another session again, and that takes a twentieth of an event.
    let event = call(&other);
    let compared = compare(|| asks(&other, &event), || asks(&off, &of_off));
    table.compared(&row("one recorded event of another session"), &compared, "nothing is sent", None);
    drop(other);

    let (answered, log) = session("answered");
    let readers = start(&log, &serve());
    let event = call(&answered);
    let compared = compare(|| asks(&answered, &event), || asks(&off, &of_off));
    table.compared(
        &row("one recorded event that is sent as a log record, a span and metrics"),
        &compared,
        "nothing is sent",
        Some(MOST),
    );
    drop(readers);

    let (dead, log) = session("dead");
    let readers = start(&log, "http://127.0.0.1:9");
    let event = call(&dead);
    let compared = compare(|| asks(&dead, &event), || asks(&off, &of_off));
    table.compared(&row("one recorded event while no receiver answers"), &compared, "nothing is sent", Some(MOST));
    drop(readers);

    let log = directory.path().join("backlog/hookhost.db");
    std::fs::create_dir(directory.path().join("backlog")).unwrap();
    runtime.block_on(async {
        let host = Host::builder(Config::empty()).store(&log).build().await.unwrap();
        for number in 0..SESSIONS {
            drop(host.session("bench", "/work").unwrap());
            if number % 500 == 0 {
                host.drain(Duration::from_secs(60)).await.unwrap();
            }
        }
        host.drain(Duration::from_secs(60)).await.unwrap();
    });
    let (time, memory) = catch_up(&log, |_| ());
    let rate = (2 * SESSIONS) as f64 / time.as_secs_f64();
    let what = "100 000 records that are left are sent to three sinks";
    table.plain(&row(what), format!("{rate:.0} records/s"), "≥ 5000 records/s", Some(rate >= MIN_RATE));
    let what = "memory for that, the receiver in the same process included";
    table.plain(&row(what), format!("+{memory:.1} MiB"), "≤ +5 MiB", Some(memory <= MAX_MEMORY));

    let log = directory.path().join("tools/hookhost.db");
    std::fs::create_dir(directory.path().join("tools")).unwrap();
    runtime.block_on(async {
        let host = Host::builder(Config::empty()).store(&log).build().await.unwrap();
        let mut session = host.session("bench", "/work").unwrap();
        for number in 0..TOOLS {
            if number % 100 == 0 {
                session = host.session("bench", "/work").unwrap();
                host.flush().await.unwrap();
            }
            let checked = session.check_tool(&format!("tool-{number}"), &serde_json::json!({})).await.outcome;
            let Decision::Allowed { value } = checked else { panic!("no rule rejects it") };
            let _ = session.check_result(&value, ToolResult::text("done")).await;
        }
        host.drain(Duration::from_secs(60)).await.unwrap();
    });
    let mut series = 0;
    let (_, memory) = catch_up(&log, |readers| {
        let text = readers.metrics(None).unwrap().unwrap();
        series = text.lines().filter(|line| !line.starts_with('#')).count();
    });
    let what = "series of the metrics after 100 000 calls of tools with names of their own";
    table.plain(&row(what), series, "≤ 2000", Some(series <= MAX_SERIES));
    let what = "memory for sending their records, the receiver in the same process included";
    table.plain(&row(what), format!("+{memory:.1} MiB"), "≤ +5 MiB", Some(memory <= MAX_MEMORY));
}

/// Sends all records of a log to three sinks. Returns the time, and the memory that this takes at most, in MiB. `then` gets the sinks at the
/// end.
fn catch_up(log: &Path, then: impl FnOnce(&Readers)) -> (Duration, f64) {
    let address = serve();
    let before = resident_mib();
    let began = Instant::now();
    let readers = start(log, &address);
    let is_sent = || {
        let (states, last) = states(log).unwrap();
        let is_at_end = |sink: &&str| {
            let state = states.iter().find(|state| state.name == **sink);
            state.and_then(|state| state.position).is_some_and(|position| position.seq >= last)
        };
        SINKS.iter().all(is_at_end)
    };
    let mut most = before;
    while !is_sent() {
        most = most.max(resident_mib());
        std::thread::sleep(Duration::from_millis(10));
    }
    let time = began.elapsed();
    then(&readers);
    (time, most - before)
}

fn start(log: &Path, address: &str) -> Readers {
    let mut settings = TelemetrySettings::default();
    settings.otlp = Some(address.to_owned());
    settings.from = FirstRecord::Beginning;
    let directories = Directories { config: Path::new("/"), home: None };
    let (sinks, problems) = settings.sinks(&Environment::default(), directories);
    assert!(problems.is_empty(), "{problems:?}");
    Readers::start(sinks, log, None).unwrap()
}

/// Starts a receiver that accepts everything. Returns its address.
fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || while answer(&stream).is_some() {});
        }
    });
    address
}

/// Answers one request. Returns `None` at the end of the connection.
fn answer(mut stream: &TcpStream) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line == "\r\n" {
            break;
        }
    }
    std::io::copy(&mut reader.take(length), &mut std::io::sink()).ok()?;
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").ok()
}
