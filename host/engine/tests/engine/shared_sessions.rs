//! One session, held by several processes at once.

use crate::support::{bash, builder, plugin, recording, spec, state_by, state_in, texts, written};
use futures_util::future::BoxFuture;
use hookhost::audit;
use hookhost::capability::{Model, ModelRequest};
use hookhost::config::{Entry, Settings};
use hookhost::contract::{FailureKind, OutcomeKind};
use hookhost::store::Log;
use hookhost::{Config, Decision, Host, Session};
use serde_json::json;
use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

const SHARED: &str = "HOOKHOST_TEST_SHARED_LOG";
const PROCESSES: usize = 4;
const EVENTS: usize = 60;

fn config(entries: Vec<Entry>) -> Config {
    Config::from_entries(entries, Settings::default()).unwrap()
}

/// Appends a dot to what it knows of the session: what is read and written by two at once is lost once.
fn counts() -> Entry {
    plugin(
        "counts",
        json!({"before-tool-call": {"do": [{"get": ["session", "n"]}, {"set": ["session", "n", "{last}."]}]}}),
    )
}

async fn host_at(log: &Path, entries: Vec<Entry>) -> Host {
    builder(config(entries)).store(log).build().await.unwrap()
}

fn shared(host: &Host) -> Session {
    let mut spec = spec();
    spec.id = Some("shared".to_owned());
    host.open_session(spec).unwrap()
}

/// Not a test by itself: one of the processes that share a session.
#[tokio::test]
async fn the_process_that_shares() {
    let Some(log) = std::env::var_os(SHARED).map(PathBuf::from) else { return };
    let host = host_at(&log, vec![counts()]).await;
    let session = shared(&host);
    println!("ready");
    for _ in 0..EVENTS {
        let settled = session.before_tool_call(bash(&session, "ls")).await;
        assert!(matches!(settled.outcome, Decision::Allowed { .. }), "{:?}", settled.outcome);
        println!("settled: {}", settled.record.id);
    }
    println!("done");
}

fn start(log: &Path) -> (Child, BufReader<ChildStdout>) {
    let mut process = Command::new(std::env::current_exe().unwrap());
    process.args(["--exact", "shared_sessions::the_process_that_shares", "--nocapture"]).env(SHARED, log);
    let mut process = process.stdout(Stdio::piped()).spawn().unwrap();
    let output = BufReader::new(process.stdout.take().unwrap());
    (process, output)
}

#[test]
fn four_processes_on_one_session_lose_nothing_also_when_one_of_them_is_killed() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("hookhost.db");
    let mut processes: Vec<_> = (0..PROCESSES).map(|_| start(&log)).collect();
    let (mut killed, mut output) = processes.remove(0);
    // It is killed in the middle of its events.
    let mut told = String::new();
    while told.matches("settled: ").count() < EVENTS / 4 {
        assert_ne!(output.read_line(&mut told).unwrap(), 0, "{told}");
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    let mut ids = Vec::new();
    for (mut process, output) in processes {
        let lines: Vec<String> = output.lines().map(Result::unwrap).collect();
        assert!(process.wait().unwrap().success(), "{lines:?}");
        let settled = lines.iter().filter_map(|line| Some(line.split_once("settled: ")?.1.to_owned()));
        ids.extend(settled);
    }
    assert_eq!(ids.len(), (PROCESSES - 1) * EVENTS);
    let entries = written(&log);
    let events: Vec<&str> = entries
        .iter()
        .filter_map(|entry| match entry {
            audit::Record::Event(record) => Some(&*record.id),
            _ => None,
        })
        .collect();
    // What was told is in the log, each event has an identifier of its own, and each counts once.
    let unique: BTreeSet<&str> = events.iter().copied().collect();
    assert_eq!(unique.len(), events.len());
    assert!(ids.iter().all(|id| unique.contains(&**id)));
    let dots = state_in(&log).values().next().unwrap().matches('.').count();
    assert_eq!(dots, events.len());
    assert_eq!(state_in(&log), state_by(&entries));
    // Numbers ascend in the order in which the events are recorded.
    let numbers: Vec<u64> = events.iter().map(|id| id.rsplit_once('.').unwrap().1.parse().unwrap()).collect();
    assert!(numbers.is_sorted(), "{numbers:?}");
    assert!(Log::open(&log).unwrap().verify(None).unwrap().is_sound());
}

#[tokio::test]
async fn failures_in_a_row_count_over_all_processes_and_the_user_is_told_once() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("hookhost.db");
    let fails = plugin("fails", json!({"before-tool-call": {"misbehave": "trap"}}));
    let mut told = Vec::new();
    for _ in 0..4 {
        // A host for each event, as of a process for each.
        let host = host_at(&log, vec![fails.clone()]).await;
        let session = shared(&host);
        let settled = session.before_tool_call(bash(&session, "ls")).await;
        assert!(matches!(settled.outcome, Decision::Rejected(_)));
        told.push((settled.record.calls[0].failure.as_ref().unwrap().kind, texts(session.take_notices())));
        drop(session);
        host.drain(Duration::from_secs(10)).await.unwrap();
    }
    let kinds: Vec<_> = told.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds[..3], [kinds[0]; 3]);
    assert_eq!(told[3].0, FailureKind::Tripped);
    assert_eq!(told.iter().map(|(_, notices)| notices.len()).sum::<usize>(), 1, "{told:?}");
}

#[tokio::test]
async fn what_one_process_reminds_of_the_other_one_tells_its_model() {
    let reminds = plugin("reminds", json!({"before-tool-call": {"do": [{"remind": "be brief"}]}}));
    let (_directory, log, recording) = recording(vec![reminds.clone()]);
    let (one, other) = (recording.build().await.unwrap(), host_at(&log, vec![reminds]).await);
    let (a, b) = (shared(&one), shared(&other));
    let _ = a.before_tool_call(bash(&a, "ls")).await;
    assert!(b.reminders().is_empty(), "it has settled nothing since");
    let _ = b.before_tool_call(bash(&b, "ls")).await;
    assert_eq!(b.reminders().len(), 2);
    let _ = a.session_end(Default::default()).await;
    assert_eq!(a.reminders().len(), 2);
}

#[tokio::test]
async fn a_session_is_not_started_by_opening_it_nor_ended_by_closing_it() {
    let (_directory, log, recording) = recording(vec![counts()]);
    let host = recording.build().await.unwrap();
    for _ in 0..3 {
        let (one, other) = (shared(&host), shared(&host));
        let _ = one.before_tool_call(bash(&one, "ls")).await;
        drop(one);
        let _ = other.before_tool_call(bash(&other, "ls")).await;
    }
    drop(host);
    assert_eq!(state_in(&log).values().next().unwrap().matches('.').count(), 6);
    let told = written(&log).iter().filter(|entry| entry.kind() == "event").count();
    assert_eq!(told, 6, "no session-start, no session-end");
}

/// Never answers.
struct Never;

impl Model for Never {
    fn complete<'a>(&'a self, _: &'a str, _: ModelRequest) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn an_event_that_is_given_up_shares_its_identifier_with_no_other() {
    let mut waits = plugin("waits", json!({"before-tool-call": {"do": [{"model": ["a", "b"]}]}}));
    waits.limits.deadline = Some(Duration::from_secs(60));
    for _ in 0..10 {
        let (_directory, log, recording) = recording(vec![waits.clone()]);
        let one = recording.model(Arc::new(Never)).build().await.unwrap();
        let other = host_at(&log, vec![counts()]).await;
        let (a, b) = (shared(&one), shared(&other));
        // The second one waits for its turn, and has it before the first one's record is written, or after.
        let mut first = Box::pin(a.before_tool_call(bash(&a, "ls")));
        assert!(futures_util::poll!(&mut first).is_pending());
        let mut second = Box::pin(b.before_tool_call(bash(&b, "ls")));
        assert!(futures_util::poll!(&mut second).is_pending());
        drop(first);
        let settled = second.await;
        one.drain(Duration::from_secs(10)).await.unwrap();
        let records = written(&log);
        let events = records.iter().filter_map(|record| match record {
            audit::Record::Event(event) => Some((&*event.id, event.outcome)),
            _ => None,
        });
        let events: Vec<_> = events.collect();
        assert_eq!(events.len(), 2, "{events:?}");
        assert_ne!(events[0].0, events[1].0, "{events:?}");
        assert!(events.contains(&(&*settled.record.id, OutcomeKind::Allowed)), "{events:?}");
        assert!(events.iter().any(|(_, outcome)| *outcome == OutcomeKind::Cancelled), "{events:?}");
    }
}
