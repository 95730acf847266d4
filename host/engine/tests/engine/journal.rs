//! Events that change nothing but the log: what was acted on is in it, wherever processes are killed and disks are full.

use crate::events::payload;
use crate::support::{builder, plugin, spec, state_by, state_in, written};
use hookhost::audit::Record;
use hookhost::config::{Entry, Settings};
use hookhost::contract::EventKind;
use hookhost::session::DispatchOptions;
use hookhost::store::{Log, LogError};
use hookhost::{Config, Host, Session, StoreError};
use rustix::process::{Resource, Rlimit, setrlimit};
use serde_json::json;
use std::collections::HashMap;
use std::error::Error;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

const LOG: &str = "HOOKHOST_TEST_JOURNAL_LOG";
/// The size that no file of the process can have, in bytes.
const LIMIT: &str = "HOOKHOST_TEST_JOURNAL_LIMIT";
/// Bytes that the journal of the process can still grow by after [`BEFORE`] events, of which none changes state.
const ROOM: &str = "HOOKHOST_TEST_JOURNAL_ROOM";
/// From here on the process has the numbers of thousands of events, and needs the database for none of them.
const BEFORE: usize = 1_400;
/// How many processes are killed, where another number than [`KILLS`] is wanted. `cargo run -p bench -- kills` sets both.
const MANY: &str = "HOOKHOST_TEST_KILLS";
const KILLS: u64 = 24;
/// What the moments of the kills begin with, as a failure names it: the same moments again.
const SEED: &str = "HOOKHOST_TEST_KILLS_SEED";
/// At how many sizes of the files the disk is full, where another number than [`FULL_DISKS`] is wanted.
const MANY_FULL: &str = "HOOKHOST_TEST_FULL_DISKS";
const FULL_DISKS: u64 = 24;
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

/// A host with this log, a session of its own, and one that it shares with other processes.
async fn begun(log: &Path, plugins: Vec<Entry>) -> Result<(Host, Session, Session), Box<dyn Error>> {
    let config = Config::from_entries(plugins, Settings::default()).unwrap();
    let host = builder(config).store(log).build().await?;
    let (own, shared) = (host.open_session(spec())?, host.open_session(spec().id("shared"))?);
    Ok((host, own, shared))
}

/// Not a test by itself: the process that is killed. It says of each event that it may act on it, until one is rejected.
#[tokio::test]
async fn the_process_that_acts() {
    let Some(log) = std::env::var_os(LOG).map(PathBuf::from) else { return };
    if let Ok(limit) = std::env::var(LIMIT) {
        limit_files(limit.parse().unwrap());
    }
    let room: Option<u64> = std::env::var(ROOM).ok().map(|room| room.parse().unwrap());
    let plugins = if room.is_some() { vec![] } else { vec![counts()] };
    let (_host, own, shared) = match begun(&log, plugins).await {
        Ok(begun) => begun,
        Err(error) => return println!("refused: {error}"),
    };
    let calls = [EventKind::BeforeToolCall; 5];
    let changes = room.is_none().then_some(EventKind::PromptSubmit);
    let events = calls.into_iter().chain(changes).chain([EventKind::StreamEnd]).cycle();
    // More than come before a process is killed, or before its disk is full.
    for (number, event) in events.take(100_000).enumerate() {
        if let Some(room) = room.filter(|_| number == BEFORE) {
            println!("journal: {}", journal(&log));
            limit_files(journal(&log) + room);
        }
        let session = if room.is_some() || number / 3 % 2 == 0 { &own } else { &shared };
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

/// From here on no file of this process can be larger than this.
fn limit_files(size: u64) {
    setrlimit(Resource::Fsize, Rlimit { current: Some(size), maximum: Some(size) }).unwrap();
}

/// The size of the largest journal beside a log.
fn journal(log: &Path) -> u64 {
    let files = std::fs::read_dir(log.parent().unwrap()).unwrap().map(Result::unwrap);
    let journals = files.filter(|file| file.file_name().to_string_lossy().contains("-records-"));
    journals.map(|file| file.metadata().unwrap().len()).max().unwrap_or_default()
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

/// A number for each moment, spread by a generator of full period. What it begins with is another one in each run.
fn spread(moment: u64, seed: u64) -> u64 {
    (moment ^ seed).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407) >> 33
}

/// Kills a process some time after some of its events, or after it was started. Returns the events that it may have acted on.
fn kill_at(moment: u64, process: &mut Child, output: ChildStdout) -> Vec<String> {
    let mut lines = BufReader::new(output).lines().map(Result::unwrap);
    let mut acts = Vec::new();
    let is_early = moment.is_multiple_of(8);
    let awaited = if is_early { 0 } else { 1 + usize::try_from(moment / 8 % 40).unwrap() };
    let note = |line: String, acts: &mut Vec<String>| {
        assert!(!is_last(&line), "the process ended before it was killed: {line}");
        acts.extend(acted(&line));
    };
    while acts.len() < awaited {
        note(lines.next().expect("the process said why it ended"), &mut acts);
    }
    // A start takes longer than an event.
    let within = if is_early { 200_000 } else { 30_000 };
    std::thread::sleep(Duration::from_micros(moment / 320 % within));
    process.kill().unwrap();
    process.wait().unwrap();
    lines.for_each(|line| note(line, &mut acts));
    acts
}

/// Whether a line says that the process acts on no more events, and why.
fn is_last(line: &str) -> bool {
    line.contains("rejected: ") || line.contains("refused: ")
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
    let seed = std::env::var(SEED).map_or_else(|_| RandomState::new().hash_one(kills), |seed| seed.parse().unwrap());
    let mut all_acts = 0;
    let (mut directory, mut acts) = (tempfile::tempdir().unwrap(), Vec::new());
    for (round, first) in (0..kills).step_by(AT_ONCE as usize).enumerate() {
        if round > 0 && (round as u64).is_multiple_of(ROUNDS_PER_LOG) {
            directory = tempfile::tempdir().unwrap();
            acts.clear();
        }
        let log = directory.path().join("killed.db");
        let mut processes: Vec<Child> = (0..AT_ONCE).map(|_| process(&log).spawn().unwrap()).collect();
        std::thread::scope(|scope| {
            let killing = processes.iter_mut().zip(first..).map(|(process, number)| {
                let output = process.stdout.take().unwrap();
                scope.spawn(move || kill_at(spread(number, seed), process, output))
            });
            let killing: Vec<_> = killing.collect();
            acts.extend(killing.into_iter().map(|killed| killed.join().unwrap()));
        });
        check(&log, &acts, &format!("after the kills from {first} on, {SEED}={seed}"));
        all_acts += acts.iter().rev().take(AT_ONCE as usize).map(Vec::len).sum::<usize>();
    }
    // The processes were at work when they were killed.
    assert!(all_acts as u64 > 5 * kills, "{all_acts}");
}

/// What a process says whose files cannot grow for ever: all lines, and the last one of its own.
fn with_full_disk(log: &Path, (limit, size): (&str, u64)) -> (String, String) {
    let inner = process(log);
    // A write beyond the limit is an error then, and no signal. What is before the limit is written.
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""]).arg(inner.get_program()).args(inner.get_args());
    let output = shell.env(LOG, log).env(limit, size.to_string()).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{limit}={size}: {said}{}", String::from_utf8_lossy(&output.stderr));
    let last = said.lines().find(|line| is_last(line)).unwrap_or_else(|| panic!("{limit}={size}: {said}")).to_owned();
    (said, last)
}

fn all_acted(said: &str) -> Vec<String> {
    said.lines().filter_map(acted).collect()
}

fn many_full_disks() -> u64 {
    std::env::var(MANY_FULL).map_or(FULL_DISKS, |many| many.parse().unwrap())
}

/// The bytes over which the sizes are spread at which a disk is full: more than a record of these events has.
const SPREAD: u64 = 400;

#[test]
fn wherever_the_disk_is_full_within_a_record_its_event_is_rejected_and_the_records_before_it_are_in_the_log() {
    let (many, mut full) = (many_full_disks(), 0);
    for room in (0..many).map(|number| number * SPREAD / many) {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("full.db");
        let (said, last) = with_full_disk(&log, (ROOM, room));
        assert!(last.contains(r#"rejected: "not-recorded""#), "full after {room}: {last}");
        let before = said.lines().find_map(|line| line.strip_prefix("journal: ")?.parse::<u64>().ok()).unwrap();
        let left = journal(&log);
        // The process removes it at its end where the database has all of it, and so was not full.
        if left > 0 {
            // The next record had no room.
            let unused = (before + room).checked_sub(left).expect("the journal could not grow further");
            assert!(unused < SPREAD, "full after {room}: {unused}");
            full += 1;
        }
        check(&log, &[all_acted(&said)], &format!("full after {room}"));
    }
    assert!(full > many / 2, "{full}");
}

#[test]
fn wherever_the_disk_is_full_for_the_database_an_event_is_rejected_and_what_was_acted_on_is_in_the_log() {
    let many = many_full_disks();
    let mut all_acts = 0;
    // More than the file of turns can have: there, only its first cells could be written.
    for limit in (0..many).map(|number| 528 * 1024 + number * SPREAD / many) {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("full.db");
        let (said, last) = with_full_disk(&log, (LIMIT, limit));
        let acts = all_acted(&said);
        assert!(last.contains(r#"rejected: "not-recorded""#), "full at {limit}: {last}");
        all_acts += acts.len();
        check(&log, &[acts], &format!("full at {limit}"));
        assert!(!state_in(&log).is_empty(), "full at {limit}: plugins wrote state before");
    }
    // How many events fit depends on how often the records went into the database in between.
    assert!(all_acts as u64 > 10 * many, "{all_acts}");
}

#[test]
fn wherever_the_disk_is_full_while_a_log_begins_the_process_says_so_and_the_next_one_begins_it() {
    // The database has 28 KiB then, and the file that its readers share 32 KiB.
    let (refused, rejected) = ([0, 31, 32, 4_095, 4_096, 20_480, 28_671, 28_672, 32_767], [32_768, 40_000, 65_536]);
    for (limit, says) in
        refused.map(|limit| (limit, "refused: ")).into_iter().chain(rejected.map(|limit| (limit, "rejected: ")))
    {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("full.db");
        let (said, last) = with_full_disk(&log, (LIMIT, limit));
        assert!(last.contains(says), "full at {limit}: {last}");
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let after = runtime.block_on(begun(&log, vec![counts()]));
        drop(after.unwrap_or_else(|error| panic!("after it was full at {limit}: {error}")));
        check(&log, &[all_acted(&said)], &format!("full at {limit}"));
    }
}
