//! A program that is careless with what it brings: its clock, its sink, its database, its JSON. None of it hangs the program,
//! panics in the host, or lets a call run that should not.

use crate::support::{bash, builder, plugin, recording, spec};
use hookhost::approval::Approval;
use hookhost::audit::{AuditSink, MemoryLog, Record};
use hookhost::config::{Config, Entry, Settings};
use hookhost::contract::{Cause, Custom, Decision, Escalation, Json, Refusal, ToolCall};
use hookhost::session::Clock;
use hookhost::{Host, HostBuilder, PendingApproval, Rule, Session, blocking};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Runs what may hang on a thread of its own.
fn in_time<T: Send + 'static>(what: &str, run: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, outcome) = mpsc::channel();
    std::thread::spawn(move || done.send(run()));
    outcome.recv_timeout(Duration::from_secs(60)).unwrap_or_else(|error| panic!("{what}: {error}"))
}

fn asks(builder: HostBuilder) -> HostBuilder {
    builder.rule("asks", |call: &ToolCall| (call.name == "bash").then(|| Escalation::new("sure?")))
}

async fn question(session: &Session) -> PendingApproval<ToolCall, hookhost::contract::ToolResult> {
    let open = session.begin_before_tool_call(bash(session, "ls")).await;
    open.into_final().expect_err("nobody asks")
}

#[test]
fn a_sink_that_uses_its_host_while_it_is_given_what_it_missed_waits_for_nobody() {
    let (log, taken) = in_time("the sink waits for itself", || {
        let host: Arc<OnceLock<blocking::Host>> = Arc::default();
        let (log, fails, calls) = (MemoryLog::new(), Arc::new(AtomicBool::new(true)), Arc::new(AtomicU64::new(0)));
        let (within, into, misses, counted) = (host.clone(), log.clone(), fails.clone(), calls.clone());
        let sink = move |record: &str| {
            if misses.load(Ordering::Relaxed) {
                return Err("not yet".to_owned());
            }
            if let Some(host) = within.get() {
                counted.fetch_add(1, Ordering::Relaxed);
                let changed = Config::from_entries(vec![], Settings::default()).unwrap();
                let _ = host.wait(|host| async move { host.reload(&changed).await.map(drop) });
                let _ = host.wait(|host| async move { host.drain(Duration::from_secs(1)).await.map(drop) });
                let _ = host.session("test", "/work").map(drop);
            }
            AuditSink::take(&into, record)
        };
        let built = Host::builder(Config::empty()).audit(sink).build_blocking().unwrap();
        assert!(host.set(built).is_ok());
        let session = host.get().unwrap().session("test", "/work").unwrap();
        assert!(session.check_tool("missed", &json!({})).outcome.rejection().is_some(), "the record is not taken");
        fails.store(false, Ordering::Relaxed);
        assert!(session.check_tool("taken", &json!({})).outcome.is_allowed());
        (log.records(), calls.load(Ordering::Relaxed))
    });
    assert!(taken > 0);
    let events = log.iter().filter(|record| matches!(record, Record::Event(event) if event.outcome.is_no()));
    assert_eq!(events.count(), 1, "the rejection came later, once");
}

/// A clock that shows whatever it is set to.
#[derive(Default)]
struct Anything(AtomicU64);

const TIMES: [fn() -> SystemTime; 4] = [
    || UNIX_EPOCH,
    || UNIX_EPOCH - Duration::from_secs(86_400),
    || UNIX_EPOCH + Duration::from_secs(u64::from(u32::MAX) * 1_000),
    SystemTime::now,
];

impl Clock for Anything {
    fn now(&self) -> SystemTime {
        TIMES[usize::try_from(self.0.load(Ordering::Relaxed)).unwrap()]()
    }
}

#[tokio::test]
async fn whatever_a_clock_shows_questions_are_answered_and_state_is_kept() {
    let clock = Arc::new(Anything::default());
    let directory = tempfile::tempdir().unwrap();
    let counts = plugin("counts", json!({ "before-tool-call": { "do": [{ "increment": ["session", "n", 1] }] } }));
    let config = Config::from_entries(vec![counts], Settings::default()).unwrap();
    let host = asks(builder(config)).clock(clock.clone()).store(directory.path().join("log.db")).share_questions();
    let host = host.build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    for round in [0, 1, 2, 3, 2, 1, 0] {
        clock.0.store(round, Ordering::Relaxed);
        let settled = question(&session).await.resolve(Approval::yes()).await.into_final().expect("not asked again");
        assert!(settled.outcome.is_allowed(), "clock {round}: {}", settled.outcome);
    }
    assert_eq!(session.take_notices(), []);
}

#[tokio::test]
async fn a_yes_after_the_database_was_removed_or_replaced_lets_nothing_run() {
    for replaces in [false, true] {
        let (_directory, log, recording) = recording(vec![]);
        let host = asks(recording).build().await.unwrap();
        let session = host.open_session(spec()).unwrap();
        let pending = question(&session).await;
        std::fs::remove_file(&log).unwrap();
        if replaces {
            std::fs::write(&log, b"").unwrap();
        }
        let settled = pending.resolve(Approval::yes()).await.into_final().expect("not asked again");
        let Some(rejection) = settled.outcome.rejection() else { panic!("it runs without a record") };
        assert_eq!(rejection.cause, Cause::NotRecorded, "{rejection}");
    }
}

/// A host with a store of this name, which shares its questions.
async fn sharing(log: &Path) -> Host {
    asks(Host::builder(Config::empty())).store(log).share_questions().build().await.unwrap()
}

#[tokio::test]
async fn of_many_answers_at_once_from_three_hosts_one_counts() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log.db");
    let (asking, one, other) = (sharing(&log).await, sharing(&log).await, sharing(&log).await);
    let session = asking.open_session(spec()).unwrap();
    for round in 0..10 {
        let pending = question(&session).await;
        let id = pending.request().id.clone();
        let answer = |host: &Host, yes: bool| {
            let (host, id) = (host.clone(), id.clone());
            async move {
                let approval = if yes { Approval::yes() } else { Approval::no() };
                host.answer(&id, approval).await.is_ok()
            }
        };
        let (begun, a, b, c) = tokio::join!(
            pending.resolve(if round % 2 == 0 { Approval::no() } else { Approval::yes() }),
            answer(&one, true),
            answer(&other, false),
            answer(&asking, true)
        );
        let settled = begun.into_final().expect("not asked again");
        let counted = [a, b, c].into_iter().filter(|counts| *counts).count();
        assert!(counted <= 1, "round {round}: {counted} answers from elsewhere count");
        if a || c {
            assert!(settled.outcome.is_allowed(), "round {round}: {}", settled.outcome);
        }
        if b {
            assert!(!settled.outcome.is_allowed(), "round {round}: {}", settled.outcome);
        }
    }
}

#[tokio::test]
async fn json_that_few_programs_read_is_recorded_and_passed_as_it_is() {
    let seen: Arc<std::sync::Mutex<Vec<String>>> = Arc::default();
    let sees = seen.clone();
    let rule = Rule::new().custom_event(move |_, event: &Custom| {
        sees.lock().unwrap().push(event.payload.to_string());
        None::<Refusal>
    });
    let component = plugin("component", json!({ "custom-event": { "verdict": "allow" } }));
    let log = MemoryLog::new();
    let config = Config::from_entries(vec![component, Entry::from_rule("rule", rule)], Settings::default()).unwrap();
    let host = builder(config).audit(log.clone()).build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    let odd = [
        "1e999".to_owned(),
        "\"\\ud800\"".to_owned(),
        "{\"a\":1,\"a\":2}".to_owned(),
        "-0".to_owned(),
        "123456789012345678901234567890.5".to_owned(),
        "\"\\u0000\"".to_owned(),
        "[".repeat(500) + &"]".repeat(500),
        " null ".to_owned(),
    ];
    for text in &odd {
        let payload = Json::new(text.as_str()).unwrap();
        let settled = session.custom_event(Custom { name: "odd".into(), payload }).await;
        let Decision::Allowed { value } = settled.outcome else { panic!("{text}: {:?}", settled.outcome) };
        assert_eq!(value.payload, text.as_str(), "what is allowed is what was asked about");
    }
    assert_eq!(*seen.lock().unwrap(), odd);
    assert!(log.verify().is_sound());
    let recorded = log.records().iter().filter(|record| matches!(record, Record::Event(_))).count();
    assert_eq!(recorded, odd.len());
}

#[tokio::test]
async fn names_and_versions_of_any_spelling_break_no_record() {
    let log = MemoryLog::new();
    let version = "1\n\"}{\u{0}\u{202e}".repeat(10);
    let rule = Rule::new().before_tool_call(|_, _| None::<Refusal>).version(version.as_str());
    let host = Host::builder(Config::empty()).version("\u{1b}[2J").plugin(Entry::from_rule("rule", rule));
    let host = host.rule("other", |_: &ToolCall| None::<Refusal>).audit(log.clone()).build().await.unwrap();
    for agent in ["", "a\nb", "\u{1b}[2J", &"x".repeat(100_000)] {
        let Ok(session) = host.session(agent, "/work") else { continue };
        let name = format!("tool {agent}");
        let outcome = session.check_tool(&name, &Value::Null).await.outcome;
        assert!(outcome.is_allowed(), "{outcome}");
    }
    drop(host);
    let report = log.verify();
    assert!(report.is_sound(), "{report:?}");
    for line in log.to_json_lines().lines() {
        let value: Value = serde_json::from_str(line).unwrap();
        assert!(value.is_object(), "{line}");
    }
}
