//! Another configuration is taken up while sessions run: between events, all of it or nothing.

use crate::support::{asking, bash, builder, plugin, recording, spec, written};
use futures_util::future::BoxFuture;
use hookhost::approval::{Approval, ApprovalRequest, Approver};
use hookhost::audit;
use hookhost::capability::{Model, ModelRequest};
use hookhost::config::{Code, Digest, Entry, Settings};
use hookhost::contract::{ToolCall, ToolResult};
use hookhost::{Config, Decision, Host, Session};
use serde_json::json;
use std::collections::{BTreeSet, HashMap};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

const SESSIONS: usize = 4;
const EVENTS: usize = 150;

fn config(entries: Vec<Entry>) -> Config {
    Config::from_entries(entries, Settings::default()).unwrap()
}

/// Appends its mark to a command, once.
fn marks(name: &str, mark: &str) -> Entry {
    let mut entry = plugin(
        name,
        json!({
            "before-tool-call": {"when": {"round": 1}, "verdict": "modify", "value": {"command": format!("{{command}} {mark}")}},
            "stream-end": {"do": [{"log": mark}]}
        }),
    );
    // While others are compiled beside it, it may have to wait for the processor.
    (entry.limits.compute, entry.limits.deadline) = (Some(Duration::from_secs(20)), Some(Duration::from_secs(20)));
    entry
}

/// Two plugins of one generation.
fn generation(number: u32) -> Vec<Entry> {
    ["first", "second"].map(|name| marks(name, &format!("{name}{number}"))).into()
}

fn command(outcome: Decision<ToolCall, ToolResult>) -> String {
    let Decision::Allowed { value } = outcome else { panic!("{outcome:?}") };
    let arguments: serde_json::Value = serde_json::from_str(&value.arguments).unwrap();
    arguments["command"].as_str().unwrap().to_owned()
}

async fn ask(session: &Session) -> String {
    command(session.before_tool_call(bash(session, "ls")).await.outcome)
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

#[tokio::test]
async fn another_configuration_of_a_plugin_reuses_its_compiled_functions() {
    let directory = tempfile::tempdir().unwrap();
    let cache = directory.path().join("cache");
    let load = async |number| {
        let config = config(vec![marks("first", &format!("mark{number}"))]);
        Host::builder(config).cache(&cache).build().await.unwrap();
    };
    // The file is only written, and then anew, if many functions were compiled.
    let functions = || {
        let files = std::fs::read_dir(&cache).unwrap().map(|file| file.unwrap());
        let mut files = files.filter(|file| file.path().extension().is_some_and(|end| end == "functions"));
        let inode = std::os::unix::fs::DirEntryExt::ino(&files.next().expect("functions"));
        assert!(files.next().is_none());
        inode
    };
    load(0).await;
    let first = functions();
    load(1).await;
    assert_eq!(functions(), first);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_load_each_event_is_settled_by_one_generation_and_none_is_lost_or_doubled() {
    let (_directory, log, builder) = recording(generation(0));
    let host = builder.build().await.unwrap();
    let work = |host: Host| async move {
        let session = host.open_session(spec()).unwrap();
        let mut seen = BTreeSet::new();
        for _ in 0..EVENTS {
            seen.insert(ask(&session).await);
            let _ = session.stream_end("text".into()).await;
        }
        seen
    };
    let sessions: Vec<_> = (0..SESSIONS).map(|_| tokio::spawn(work(host.clone()))).collect();
    let mut reloads = 0;
    while sessions.iter().any(|session| !session.is_finished()) {
        reloads += 1;
        let changes = host.reload(&config(generation(reloads % 2))).await.unwrap();
        assert_eq!(changes.changed, names(&["first", "second"]));
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    let mut seen = BTreeSet::new();
    for session in sessions {
        seen.extend(session.await.unwrap());
    }
    let (zero, one) = ("ls first0 second0".to_owned(), "ls first1 second1".to_owned());
    assert_eq!(seen, [zero, one].into(), "after {reloads} configurations");
    host.drain(Duration::from_secs(10)).await.unwrap();
    assert!(hookhost::store::Log::open(&log).unwrap().verify(None).unwrap().is_sound());

    let generations: Vec<HashMap<String, Digest>> = (0..2)
        .map(|number| {
            let digest = |entry: Entry| {
                let config = serde_json::Value::Object(entry.config).to_string();
                (entry.name, Digest::of_bytes(config.as_bytes()))
            };
            generation(number).into_iter().map(digest).collect()
        })
        .collect();
    let (mut events, mut observed, mut changed) = (BTreeSet::new(), BTreeSet::new(), 0);
    for entry in written(&log) {
        let calls = entry.calls();
        assert!(
            calls.is_empty() || generations.iter().any(|of| calls.iter().all(|call| of[&call.plugin] == call.config)),
            "{calls:?}"
        );
        match entry {
            audit::Record::Event(record) => assert!(events.insert(record.id.clone()), "{} twice", record.id),
            audit::Record::Observed(observer) => {
                assert_eq!(observer.calls.len(), 2);
                assert!(observed.insert(observer.id.clone()), "{} was observed twice", observer.id);
            }
            audit::Record::RulesChanged(rules) => {
                assert_eq!(rules.plugins.len(), 2);
                changed += 1;
            }
            _ => {}
        }
    }
    assert_eq!((events.len(), observed.len()), (2 * SESSIONS * EVENTS, SESSIONS * EVENTS));
    assert_eq!(changed, reloads);
}

#[tokio::test]
async fn a_configuration_of_which_anything_cannot_be_loaded_changes_nothing_and_says_why() {
    let host = builder(config(generation(0))).build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    let mut forged = generation(1);
    let path = forged[1].code.path().unwrap().to_owned();
    forged[1].code = Code::File { path, digest: Digest::of_bytes(b"another") };
    let mut refuses = generation(1);
    refuses.push(plugin("third", json!({"configure": {"error": "not so"}})));
    let mut ungranted = generation(1);
    ungranted[0].grants.state = None;
    for (bad, why) in [(forged, "sha256"), (refuses, "not so"), (ungranted, "state")] {
        let error = host.reload(&config(bad)).await.unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
        assert_eq!(ask(&session).await, "ls first0 second0");
    }
    assert_eq!(host.reload(&config(generation(1))).await.unwrap().changed, names(&["first", "second"]));
    assert_eq!(ask(&session).await, "ls first1 second1");
}

/// Takes up a configuration in which no plugin subscribes to the call, while it is asked about one.
struct Reloads(OnceLock<Host>);

impl Approver for Reloads {
    fn ask(&self, _: ApprovalRequest) -> BoxFuture<'_, Approval> {
        Box::pin(async {
            // Larger, so that it needs a pool of its own.
            let mut other = plugin("other", json!({}));
            other.limits.memory = NonZeroUsize::new(32 << 20).unwrap();
            let host = self.0.get().unwrap();
            let changes = host.reload(&config(vec![other])).await.unwrap();
            assert_eq!(changes.to_string(), "added other; removed asks, marks");
            Approval::yes()
        })
    }
}

#[tokio::test]
async fn a_yes_to_questions_of_plugins_that_are_gone_by_then_counts_for_the_value_that_was_shown() {
    let asks = plugin("asks", json!({"before-tool-call": {"verdict": "escalate", "question": "continue?"}}));
    let reloads = Arc::new(Reloads(OnceLock::new()));
    let entries = vec![asks, marks("marks", "marked")];
    let host = builder(config(entries)).approver(Arc::clone(&reloads) as _).build().await.unwrap();
    assert!(reloads.0.set(host.clone()).is_ok());
    let session = host.open_session(spec()).unwrap();
    assert_eq!(ask(&session).await, "ls marked");
    assert_eq!(ask(&session).await, "ls");
}

/// Takes up other marks, while a plugin asks it something.
struct ReloadsWhenAsked(OnceLock<Host>);

impl Model for ReloadsWhenAsked {
    fn complete<'a>(&'a self, _: &'a str, _: ModelRequest) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async {
            let changes = self.0.get().unwrap().reload(&config(generation(1))).await.unwrap();
            assert_eq!(changes.to_string(), "removed asks; changed first, second");
            Ok(String::new())
        })
    }
}

#[tokio::test]
async fn observers_get_an_event_under_the_rules_that_it_was_settled_under() {
    let mut asks = plugin("asks", json!({"stream-end": {"do": [{"model": ["x", "y"]}]}}));
    asks.priority = 0;
    asks.limits.deadline = Some(Duration::from_secs(20));
    let (_directory, log, builder) = recording([vec![asks], generation(0)].concat());
    let model = Arc::new(ReloadsWhenAsked(OnceLock::new()));
    let host = builder.model(Arc::clone(&model) as _).build().await.unwrap();
    assert!(model.0.set(host.clone()).is_ok());
    let session = host.open_session(spec()).unwrap();
    for _ in 0..2 {
        let _ = session.stream_end("text".into()).await;
        host.drain(Duration::from_secs(20)).await.unwrap();
    }
    let marks = written(&log).into_iter().filter_map(|entry| match entry {
        audit::Record::Observed(observer) => {
            let marks = observer.calls.into_iter().filter(|call| call.plugin != "asks");
            let lines = marks.flat_map(|call| call.log).map(|line| line.message);
            Some(lines.collect::<Vec<_>>())
        }
        _ => None,
    });
    assert_eq!(marks.collect::<Vec<_>>(), [["first0", "second0"], ["first1", "second1"]]);
}

#[tokio::test]
async fn what_is_the_same_is_not_a_change_and_makes_no_record() {
    let (_directory, log, builder) = recording(generation(0));
    let host = builder.build().await.unwrap();
    let changes = host.reload(&config(generation(0))).await.unwrap();
    assert_eq!((changes.is_empty(), changes.to_string()), (true, "nothing changed".to_owned()));
    let changes = host.reload(&asking("*", "", generation(0))).await.unwrap();
    assert_eq!(changes.to_string(), "added rules");
    let session = host.open_session(spec()).unwrap();
    // Nobody is there to be asked.
    let outcome = session.before_tool_call(bash(&session, "ls")).await.outcome;
    assert!(matches!(outcome, Decision::Rejected(_)), "{outcome:?}");
    drop(session);
    host.drain(Duration::from_secs(5)).await.unwrap();
    let changed = written(&log).iter().filter(|entry| matches!(entry, audit::Record::RulesChanged(_))).count();
    assert_eq!(changed, 1);
}

#[tokio::test]
async fn a_plugin_that_was_fixed_is_asked_again_and_one_that_is_as_it_was_stays_tripped() {
    let broken = || plugin("p", json!({"before-tool-call": {"misbehave": "trap"}}));
    let host = builder(config(vec![broken()])).build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    let calls =
        |settled: hookhost::RecordedOutcome<_>| settled.record.calls[0].failure.clone().map(|failure| failure.kind);
    for _ in 0..3 {
        let settled: hookhost::RecordedOutcome<Decision<ToolCall, ToolResult>> =
            session.before_tool_call(bash(&session, "ls")).await;
        assert_eq!(calls(settled), Some(hookhost::FailureKind::Trap));
    }
    let beside = vec![broken(), marks("z", "marked")];
    assert_eq!(host.reload(&config(beside)).await.unwrap().added, names(&["z"]));
    assert_eq!(calls(session.before_tool_call(bash(&session, "ls")).await), Some(hookhost::FailureKind::Tripped));
    host.reload(&config(vec![plugin("p", json!({}))])).await.unwrap();
    assert_eq!(ask(&session).await, "ls");
}

struct Counts(AtomicU32);

impl Model for Counts {
    fn complete<'a>(&'a self, _: &'a str, _: ModelRequest) -> BoxFuture<'a, Result<String, String>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Box::pin(async { Ok("answer".into()) })
    }
}

#[tokio::test]
async fn another_configuration_gives_no_new_budget_of_model_calls() {
    let asks = |text: &str| {
        let mut entry = plugin("p", json!({"before-tool-call": {"do": [{"model": [text, "x"]}]}}));
        entry.grants.model.as_mut().unwrap().max_calls = 1.try_into().unwrap();
        entry
    };
    let model = Arc::new(Counts(AtomicU32::new(0)));
    let host = builder(config(vec![asks("a")])).model(Arc::clone(&model) as _).build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    ask(&session).await;
    host.reload(&config(vec![asks("b")])).await.unwrap();
    ask(&session).await;
    assert_eq!(model.0.load(Ordering::Relaxed), 1);
}
