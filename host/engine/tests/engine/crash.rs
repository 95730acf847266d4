//! A process that is killed at any moment leaves log and state as of one moment.

use crate::events::payload;
use crate::support::{builder, plugin, spec, state_by, state_in, written};
use hookhost::allowlist::Settings;
use hookhost::audit::{Log, LogError, verify};
use hookhost::event::EventKind;
use hookhost::session::DispatchOptions;
use hookhost::{Config, StoreError};
use serde_json::json;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const LOG: &str = "HOOKHOST_TEST_CRASHING_LOG";
const KILLS: u64 = 100;
/// A log grows with each; a new one now and then keeps the check of it short.
const KILLS_PER_LOG: u64 = 10;

/// Not a test by itself: the process that is killed. It settles events, each of which changes state, until it is.
#[tokio::test]
async fn the_process_that_is_killed() {
    let Some(log) = std::env::var_os(LOG).map(PathBuf::from) else { return };
    let counts = |name: &str, scope: &str| {
        plugin(name, json!({"any": {"do": [{"increment": [scope, "n", 1]}, {"set": [scope, "last", "{id}"]}]}}))
    };
    let entries = vec![counts("a", "plugin"), counts("b", "session")];
    let config = Config::from_entries(entries, Settings::default()).unwrap();
    let host = builder(config).store(log).build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    let events = [EventKind::BeforeToolCall, EventKind::PromptSubmit, EventKind::StreamEnd, EventKind::CustomEvent];
    println!("ready");
    for event in events.into_iter().cycle() {
        let _ = session.dispatch_event(event, payload(event), DispatchOptions::default()).await.unwrap();
    }
}

/// Kills the process some microseconds after it has begun with its events, or some milliseconds after it was started.
fn kill_at(moment: u64, log: &Path) {
    let mut process = Command::new(std::env::current_exe().unwrap());
    process.args(["--exact", "crash::the_process_that_is_killed", "--nocapture"]).env(LOG, log);
    let mut process = process.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    if !moment.is_multiple_of(8) {
        let output = BufReader::new(process.stdout.take().unwrap());
        let ready = output.lines().any(|line| line.unwrap().contains("ready"));
        assert!(ready, "the process ended before it was killed");
    }
    // A generator of full period, so that the moments are spread and the same each time.
    let spread = moment.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407) >> 33;
    std::thread::sleep(Duration::from_micros(spread % 20_000));
    process.kill().unwrap();
    process.wait().unwrap();
}

#[test]
fn after_100_kills_the_log_is_sound_and_the_state_is_what_it_says() {
    let folder = tempfile::tempdir().unwrap();
    let mut events = 0;
    for first in (0..KILLS).step_by(KILLS_PER_LOG as usize) {
        let log = folder.path().join(format!("{first}.db"));
        for moment in first..first + KILLS_PER_LOG {
            kill_at(moment, &log);
            let report = match Log::open(&log) {
                // It was killed before there was one.
                Err(LogError::Store(StoreError::Missing(_))) => continue,
                log => verify(&log.unwrap(), None).unwrap(),
            };
            assert!(report.is_sound() && report.cut_at.is_none(), "killed at {moment}: {report:?}");
            assert_eq!(state_in(&log), state_by(&written(&log)), "killed at {moment}");
        }
        events += written(&log).len();
    }
    // The processes were at work when they were killed.
    assert!(events > KILLS as usize, "{events}");
}
