//! Events that change nothing but the log: what was acted on is in it, wherever processes are killed and disks are full.

use crate::events::payload;
use crate::support::{builder, plugin, spec, state_by, state_in, written};
use hookhost::audit::Record;
use hookhost::config::{Entry, Settings};
use hookhost::contract::EventKind;
use hookhost::session::DispatchOptions;
use hookhost::store::{Log, LogError};
use hookhost::{Config, Host, StoreError};
use serde_json::json;
use std::collections::HashMap;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

const LOG: &str = "HOOKHOST_TEST_JOURNAL_LOG";
const WITHOUT_PLUGINS: &str = "HOOKHOST_TEST_JOURNAL_WITHOUT_PLUGINS";
/// How many processes are killed, where another number than [`KILLS`] is wanted.
const MANY: &str = "HOOKHOST_TEST_KILLS";
const KILLS: u64 = 24;
const AT_ONCE: u64 = 4;
/// Rounds with one log. It grows with each; a new one now and then keeps the check of it short.
const ROUNDS_PER_LOG: u64 = 5;

/// A plugin to which one event in seven is of effect.
fn counts() -> Entry {
    plugin(
        "counts",
        json!({"prompt-submit": {"do": [{"increment": ["plugin", "n", 1]}, {"set": ["session", "last", "{id}"]}]}}),
    )
}

async fn host(log: &Path, entries: Vec<Entry>) -> Host {
    let config = Config::from_entries(entries, Settings::default()).unwrap();
    builder(config).store(log).build().await.unwrap()
}

/// Not a test by itself: the process that is killed. It says of each event that it may act on it, until one is rejected.
#[tokio::test]
async fn the_process_that_acts() {
    let Some(log) = std::env::var_os(LOG).map(PathBuf::from) else { return };
    let entries = if std::env::var_os(WITHOUT_PLUGINS).is_some() { vec![] } else { vec![counts()] };
    let host = host(&log, entries).await;
    let own = host.open_session(spec()).unwrap();
    let shared = host.open_session(spec().id("shared")).unwrap();
    let calls = [EventKind::BeforeToolCall; 5];
    let events = calls.into_iter().chain([EventKind::PromptSubmit, EventKind::StreamEnd]).cycle();
    for (number, event) in events.enumerate() {
        let session = if number / 3 % 2 == 0 { &own } else { &shared };
        let settled = session.dispatch_event(event, payload(event), DispatchOptions::default()).await.unwrap();
        if settled.outcome["kind"] == "rejected" {
            println!("rejected: {}", settled.outcome["cause"]);
            return;
        }
        // Others may be recorded soon after.
        if event == EventKind::BeforeToolCall {
            println!("acts on {}", settled.record.id);
        }
    }
}

fn process(log: &Path) -> Command {
    let mut process = Command::new(std::env::current_exe().unwrap());
    process.args(["--exact", "journal::the_process_that_acts", "--nocapture"]).env(LOG, log);
    process.stdout(Stdio::piped()).stderr(Stdio::null());
    process
}

/// The event that a line of the process says it may act on.
fn acted(line: &str) -> Option<String> {
    line.split_once("acts on ").map(|(_, id)| id.to_owned())
}

/// Kills a process some time after some of its events, or after it was started. Returns the events that it may have acted on.
fn kill_at(moment: u64, process: &mut Child, output: ChildStdout) -> Vec<String> {
    let mut lines = BufReader::new(output).lines().map(Result::unwrap);
    let mut acts = Vec::new();
    if !moment.is_multiple_of(8) {
        let awaited = 1 + usize::try_from(moment % 40).unwrap();
        let mut said = String::new();
        while acts.len() < awaited {
            said = lines.next().unwrap_or_else(|| panic!("the process ended before it was killed: {said}"));
            acts.extend(acted(&said));
        }
    }
    // A generator of full period, so that the moments are spread and the same each time.
    let spread = moment.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407) >> 33;
    std::thread::sleep(Duration::from_micros(spread % 30_000));
    process.kill().unwrap();
    process.wait().unwrap();
    acts.extend(lines.filter_map(|line| acted(&line)));
    acts
}

/// Checks a log that processes were killed over: each of these events is in it, those of one process in order.
fn check(log: &Path, acts: &[Vec<String>], when: &str) {
    let report = match Log::open(log) {
        // All were killed before there was one.
        Err(LogError::Store(StoreError::Missing(_))) if acts.iter().all(Vec::is_empty) => return,
        log => log.unwrap().verify(None).unwrap(),
    };
    assert!(report.is_sound() && report.cut_at.is_none(), "{when}: {report:?}");
    let records = written(log);
    assert_eq!(state_in(log), state_by(&records), "{when}");
    let mut places = HashMap::new();
    for (place, record) in records.iter().enumerate() {
        if let Record::Event(event) = record {
            assert!(places.insert(&*event.id, place).is_none(), "{when}: {} is there twice", event.id);
        }
    }
    for acts in acts {
        let of_process: Vec<usize> =
            acts.iter().map(|id| *places.get(&**id).unwrap_or_else(|| panic!("{when}: {id} is missing"))).collect();
        assert!(of_process.is_sorted(), "{when}: {acts:?} are at {of_process:?}");
    }
}

#[test]
fn wherever_four_processes_are_killed_what_they_acted_on_is_in_the_log() {
    let kills = std::env::var(MANY).map_or(KILLS, |many| many.parse().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let mut all_acts = 0;
    let (mut log, mut acts) = (PathBuf::new(), Vec::new());
    for (round, first) in (0..kills).step_by(AT_ONCE as usize).enumerate() {
        if (round as u64).is_multiple_of(ROUNDS_PER_LOG) {
            log = directory.path().join(format!("{first}.db"));
            acts.clear();
        }
        let mut processes: Vec<Child> = (0..AT_ONCE).map(|_| process(&log).spawn().unwrap()).collect();
        std::thread::scope(|scope| {
            let killing = processes.iter_mut().zip(first..).map(|(process, moment)| {
                let output = process.stdout.take().unwrap();
                scope.spawn(move || kill_at(moment, process, output))
            });
            let killing: Vec<_> = killing.collect();
            acts.extend(killing.into_iter().map(|killed| killed.join().unwrap()));
        });
        check(&log, &acts, &format!("after the kills from {first} on"));
        all_acts += acts.iter().rev().take(AT_ONCE as usize).map(Vec::len).sum::<usize>();
    }
    // The processes were at work when they were killed.
    assert!(all_acts as u64 > 5 * kills, "{all_acts}");
}

#[test]
fn wherever_the_disk_is_full_an_event_is_rejected_and_what_was_acted_on_is_in_the_log() {
    let directory = tempfile::tempdir().unwrap();
    let mut all_acts = 0;
    // More than the file of turns can have: there, only its first cells could be written.
    for blocks in (1030..1100).step_by(7) {
        let log = directory.path().join(format!("{blocks}.db"));
        drop(tokio::runtime::Runtime::new().unwrap().block_on(host(&log, vec![])));
        let inner = process(&log);
        // A write beyond the limit fails as on a full disk.
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
        let mut shell = Command::new("sh");
        shell.args(["-c", &script]).arg(inner.get_program()).args(inner.get_args()).env(LOG, &log);
        shell.env(WITHOUT_PLUGINS, "").stderr(Stdio::null());
        let output = String::from_utf8(shell.output().unwrap().stdout).unwrap();
        assert!(output.contains(r#"rejected: "not-recorded""#), "{blocks}: {output}");
        let acts: Vec<String> = output.lines().filter_map(acted).collect();
        all_acts += acts.len();
        check(&log, &[acts], &format!("{blocks} blocks"));
    }
    assert!(all_acts > 500, "{all_acts}");
}
