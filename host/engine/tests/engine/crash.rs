//! A process that is killed at any moment leaves log and state as of one moment.

use crate::events::payload;
use crate::support::{Yes, bash, builder, plugin, recording, spec, state_by, state_in, written};
use hookhost::config::Settings;

use hookhost::contract::EventKind;
use hookhost::session::DispatchOptions;
use hookhost::store::{Log, LogError};
use hookhost::{Config, Decision, StoreError};
use serde_json::json;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

const LOG: &str = "HOOKHOST_TEST_CRASHING_LOG";
const LOOKED_AT: &str = "HOOKHOST_TEST_LOOKED_AT_LOG";
const KILLS: u64 = 100;
/// A log grows with each; a new one now and then keeps the check of it short.
const KILLS_PER_LOG: u64 = 10;

/// Opens and closes a database as another process would.
#[test]
fn the_process_that_looks() {
    let Some(log) = std::env::var_os(LOOKED_AT).map(PathBuf::from) else { return };
    let connection = rusqlite::Connection::open(log).unwrap();
    let records: u32 = connection.query_row("SELECT count(*) FROM audit", [], |row| row.get(0)).unwrap();
    println!("records: {records}");
}

fn records_that_others_see(log: &Path) -> u32 {
    let mut process = Command::new(std::env::current_exe().unwrap());
    process.args(["--exact", "crash::the_process_that_looks", "--nocapture"]).env(LOOKED_AT, log);
    let output = String::from_utf8(process.output().unwrap().stdout).unwrap();
    let (_, records) = output.split_once("records: ").unwrap_or_else(|| panic!("{output}"));
    records.lines().next().unwrap().parse().unwrap()
}

/// To close a file ends the locks of its process on it, also those that SQLite has.
#[tokio::test]
async fn a_log_that_is_read_while_it_is_written_loses_nothing_to_other_processes() {
    let (_directory, log, recording) = recording(vec![]);
    let host = recording.build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    for event in 0..3 {
        let settled = session.before_tool_call(bash(&session, "ls")).await;
        assert!(matches!(settled.outcome, Decision::Allowed { .. }));
        assert!(Log::open(&log).unwrap().verify(None).unwrap().is_sound());
        let config = Config::from_entries(vec![], Settings::default()).unwrap();
        drop(builder(config).store(&log).build().await.unwrap());
        // The log's beginning, the session's, and its events.
        assert_eq!(records_that_others_see(&log), 3 + event);
    }
}

/// Not a test by itself: the process that is killed. It settles events, each of which changes state, until it is.
#[tokio::test]
async fn the_process_that_is_killed() {
    let Some(log) = std::env::var_os(LOG).map(PathBuf::from) else { return };
    let counts = |name: &str, scope: &str| {
        plugin(name, json!({"any": {"do": [{"increment": [scope, "n", 1]}, {"set": [scope, "last", "{id}"]}]}}))
    };
    let asks = plugin("c", json!({"custom-event": {"verdict": "escalate", "question": "continue?"}}));
    let entries = vec![counts("a", "plugin"), counts("b", "session"), asks];
    let config = Config::from_entries(entries, Settings::default()).unwrap();
    let host = builder(config).store(log).approver(Arc::new(Yes)).build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    let events = [EventKind::BeforeToolCall, EventKind::PromptSubmit, EventKind::StreamEnd, EventKind::CustomEvent];
    println!("ready");
    for event in events.into_iter().cycle() {
        let _ = session.dispatch_event(event, payload(event), DispatchOptions::default()).await.unwrap();
        println!("settled");
    }
}

/// Kills the process some time after some of its events, or after it was started.
fn kill_at(moment: u64, log: &Path) {
    let mut process = Command::new(std::env::current_exe().unwrap());
    process.args(["--exact", "crash::the_process_that_is_killed", "--nocapture"]).env(LOG, log);
    let mut process = process.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    // Held until the end: the process must not end by writing to nobody.
    let mut output = BufReader::new(process.stdout.take().unwrap());
    if !moment.is_multiple_of(8) {
        let lines = output.by_ref().lines().map(Result::unwrap);
        let awaited = 1 + moment as usize % 5;
        let came = lines.filter(|line| line.contains("ready") || line.contains("settled")).take(awaited).count();
        assert_eq!(came, awaited, "the process ended before it was killed");
    }
    // A generator of full period, so that the moments are spread and the same each time.
    let spread = moment.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407) >> 33;
    std::thread::sleep(Duration::from_micros(spread % 20_000));
    process.kill().unwrap();
    process.wait().unwrap();
}

#[test]
fn after_100_kills_the_log_is_sound_and_the_state_is_what_it_says() {
    let directory = tempfile::tempdir().unwrap();
    let mut events = 0;
    for first in (0..KILLS).step_by(KILLS_PER_LOG as usize) {
        let log = directory.path().join(format!("{first}.db"));
        for moment in first..first + KILLS_PER_LOG {
            kill_at(moment, &log);
            let report = match Log::open(&log) {
                // It was killed before there was one.
                Err(LogError::Store(StoreError::Missing(_))) => continue,
                log => log.unwrap().verify(None).unwrap(),
            };
            assert!(report.is_sound() && report.cut_at.is_none(), "killed at {moment}: {report:?}");
            assert_eq!(state_in(&log), state_by(&written(&log)), "killed at {moment}");
        }
        events += written(&log).len();
    }
    // The processes were at work when they were killed.
    assert!(events > KILLS as usize, "{events}");
}
