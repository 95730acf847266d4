//! Native rules: plugins that are part of the program are composed, bounded and recorded like components.

use crate::events::payload;
use crate::support::{builder, component, plugin, recording, spec, written};
use all_events::AllEvents;
use hookhost::approval::Approval;
use hookhost::audit::{CallRecord, CodeId, EventRecord, Record};
use hookhost::command::allow as allow_entry;
use hookhost::config::{Entry, Mode, OnFailure, Settings, StateGrant, UserDirectories};
use hookhost::contract::{Cause, Escalation, EventKind, OutcomeKind, Refusal, ToolCall, ToolCallVerdict, ToolResult};
use hookhost::replay::replay;
use hookhost::session::DispatchOptions;
use hookhost::store::Log;
use hookhost::testing::{self, ScriptedApprover, TestHost};
use hookhost::{Config, FailureKind, Host, Rule, Session};
use hookhost_guest::prelude::{Plugin, plugin as sdk_plugin};
use serde_json::{Value, json};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::time::Duration;

fn refuses(name: &str) -> Option<Refusal> {
    (name == "deploy").then(|| Refusal::new("frozen").code("release.frozen"))
}

/// `all-events` as part of the program, with every grant that a native rule can have.
fn native(name: &str, behaviour: Value) -> Entry {
    let mut entry = Entry::from_rule(name, Rule::of::<AllEvents>());
    entry.grants.state = Some(StateGrant::default());
    entry.grants.transcript = true;
    entry.grants.audit = true;
    let Value::Object(config) = behaviour else { panic!("a behaviour is an object") };
    entry.config = config;
    entry
}

async fn started(entry: Entry) -> TestHost {
    testing::start(builder(Config::empty()).plugin(entry)).await.unwrap()
}

/// A host on which one call of a plugin runs at a time.
fn one_at_a_time(rule: impl Fn(&ToolCall) -> Option<Refusal> + Send + Sync + 'static) -> hookhost::HostBuilder {
    let mut settings = Settings::default();
    settings.concurrent_calls = NonZeroU32::MIN;
    let mut entry = Entry::from_rule("slow", Rule::new().before_tool_call(move |_, call| rule(call)));
    entry.limits.deadline = Some(Duration::from_millis(40));
    entry.limits.compute = Some(Duration::from_millis(40));
    Host::builder(Config::from_entries(vec![entry], settings).unwrap())
}

fn calls(host: &TestHost) -> Vec<CallRecord> {
    host.records().into_iter().flat_map(|record| record.calls).collect()
}

#[tokio::test]
async fn a_closure_refuses_as_a_plugin_does_and_its_record_says_that_it_is_native() {
    let builder =
        Host::builder(Config::empty()).version("1.2.3").rule("no-deploys", |call: &ToolCall| refuses(&call.name));
    let host = testing::start(builder).await.unwrap();
    let outcome = host.check("deploy", json!({})).await;
    assert_eq!(outcome.to_string(), "Rejected by no-deploys: frozen");
    assert_eq!(outcome.rejection().unwrap().refusal.code.as_deref(), Some("release.frozen"));
    assert!(host.check("build", json!({})).await.is_allowed());
    let call = serde_json::to_value(&calls(&host)[0]).unwrap();
    assert_eq!(call["digest"], json!({ "native": "1.2.3" }));
    assert_eq!(call["verdict"]["reject"]["reason"], "frozen");
    assert_eq!(host.records()[0].not_replayable, ["no-deploys: a native rule can read anything outside of the event"]);
}

#[tokio::test]
async fn a_closure_answers_with_a_question_or_with_any_verdict() {
    let people = ScriptedApprover::new([Approval::yes()]);
    let builder = Host::builder(Config::empty())
        .rule("asks", |call: &ToolCall| (call.name == "deploy").then(|| Escalation::new("now?")))
        .rule("answers", |call: &ToolCall| match &*call.name {
            "time" => ToolCallVerdict::Respond(ToolResult::text("noon")),
            _ => ToolCallVerdict::Allow,
        });
    let host = testing::start(builder.approver(people.clone())).await.unwrap();
    assert!(host.check("deploy", json!({})).await.is_allowed());
    assert_eq!(host.check("time", json!({})).await.to_string(), "Answered by answers");
    let outcome = host.check("deploy", json!({})).await;
    let said = outcome.rejection().unwrap().to_string();
    assert!(said.contains("the script of the test has 1 answers, and it is asked 2 times"), "{said}");
    assert_eq!((people.asked().len(), people.unused()), (2, 0));
}

#[tokio::test]
async fn rules_and_components_are_one_chain_and_see_each_others_changes() {
    let adds = plugin(
        "adds",
        json!({ "before-tool-call": { "when": { "lacks": "2" }, "verdict": "modify", "value": { "a": 2 } } }),
    );
    let mut first = Entry::from_rule(
        "first",
        Rule::new().before_tool_call(|_, call| (call.arguments.contains('2')).then(|| Refusal::new("two is too many"))),
    );
    first.priority = 1;
    let host = testing::start(builder(Config::empty()).plugin(adds).plugin(first)).await.unwrap();
    let outcome = host.check("any", json!({ "a": 1 })).await;
    assert_eq!(outcome.to_string(), "Rejected by first: two is too many");
    let asked: Vec<_> = calls(&host).iter().map(|call| (call.plugin.clone(), call.round)).collect();
    assert_eq!(asked, [("first".to_owned(), 1), ("adds".to_owned(), 1), ("first".to_owned(), 2)]);
}

#[tokio::test]
async fn a_rule_that_panics_fails_and_is_tripped_until_its_time_has_passed() {
    let well = Arc::new(AtomicBool::new(false));
    let mended = Arc::clone(&well);
    let host = testing::host(move |_: &ToolCall| -> Option<Refusal> {
        assert!(mended.load(Ordering::Relaxed), "no such table");
        None
    })
    .await;
    for _ in 0..3 {
        let outcome = host.check("any", json!({})).await;
        let rejection = outcome.rejection().unwrap();
        assert_eq!(rejection.cause, Cause::Failed(FailureKind::Panic));
        assert_eq!(rejection.to_string(), "Rejected because the plugin rule failed: it panicked: no such table");
    }
    well.store(true, Ordering::Relaxed);
    let outcome = host.check("any", json!({})).await;
    assert_eq!(outcome.rejection().unwrap().cause, Cause::Failed(FailureKind::Tripped));
    host.clock().advance(Duration::from_secs(10));
    assert!(host.check("any", json!({})).await.is_allowed());
}

#[tokio::test]
async fn a_failed_rule_is_skipped_or_only_watched_where_its_entry_says_so() {
    let panics = || Rule::new().before_tool_call(|_, _| -> Option<Refusal> { panic!() });
    for (on_failure, mode) in [(Some(OnFailure::Skip), Mode::Enforce), (None, Mode::Observe)] {
        let mut entry = Entry::from_rule("panics", panics());
        (entry.on_failure, entry.mode) = (on_failure, mode);
        // The trace of a panic may take longer than the default on a busy machine.
        entry.limits.compute = Some(Duration::from_secs(20));
        entry.limits.deadline = Some(Duration::from_secs(20));
        let host = started(entry).await;
        assert!(host.check("any", json!({})).await.is_allowed());
        assert_eq!(calls(&host)[0].failure.as_ref().unwrap().kind, FailureKind::Panic);
    }
}

/// Until it is opened, nobody passes.
#[derive(Default)]
struct Door(Mutex<bool>, Condvar);

impl Door {
    fn pass(&self) {
        let open = self.1.wait_while(self.0.lock().unwrap(), |open| !*open).unwrap();
        assert!(*open);
    }

    fn open(&self) {
        *self.0.lock().unwrap() = true;
        self.1.notify_all();
    }
}

#[tokio::test]
async fn a_rule_that_does_not_return_holds_neither_the_event_nor_more_threads_than_calls_at_once() {
    let door = Arc::new(Door::default());
    let passes = Arc::clone(&door);
    let rule = move |_: &ToolCall| {
        passes.pass();
        None
    };
    let host = testing::start(one_at_a_time(rule)).await.unwrap();
    let outcome = host.check("any", json!({})).await;
    let said = "Rejected because the plugin slow timed out: it did not answer within 40ms (limits.deadline)";
    assert_eq!(outcome.to_string(), said);
    let outcome = host.check("any", json!({})).await;
    assert_eq!(outcome.rejection().unwrap().cause, Cause::Failed(FailureKind::Deadline));
    assert!(outcome.to_string().ends_with("it has not returned from 1 earlier calls, so it is not called again yet"));
    door.open();
    // Its thread has to see that.
    tokio::time::timeout(Duration::from_secs(60), async {
        while !host.check("any", json!({})).await.is_allowed() {
            host.session().reset_failures("slow");
            tokio::task::yield_now().await;
        }
    })
    .await
    .expect("the rule has returned");
}

struct Reports;

static RETURNED: Mutex<Option<mpsc::Sender<()>>> = Mutex::new(None);
static BEGUN: tokio::sync::Notify = tokio::sync::Notify::const_new();
static STUCK: Door = Door(Mutex::new(false), Condvar::new());

/// Tells when it ends, also by unwinding.
struct Tells(Option<mpsc::Sender<()>>);

impl Drop for Tells {
    fn drop(&mut self) {
        let _ = self.0.take().map(|sender| sender.send(()));
    }
}

#[sdk_plugin]
impl Plugin for Reports {
    fn before_tool_call(
        _session: &hookhost_guest::types::Session,
        _call: &hookhost_guest::types::ToolCall,
    ) -> hookhost_guest::types::ToolCallVerdict {
        let tells = Tells(RETURNED.lock().unwrap().clone());
        BEGUN.notify_one();
        STUCK.pass();
        hookhost_guest::state::increment(hookhost_guest::state::Scope::Plugin, "n", 1).unwrap();
        drop(tells);
        panic!("nobody waits for this call, so that its capabilities end it");
    }
}

#[tokio::test]
async fn what_a_rule_does_after_its_event_was_cancelled_has_no_effect() {
    let (sender, returned) = mpsc::channel();
    *RETURNED.lock().unwrap() = Some(sender);
    let mut entry = Entry::from_rule("reports", Rule::of::<Reports>());
    entry.grants.state = Some(StateGrant::default());
    entry.limits.deadline = Some(Duration::from_secs(600));
    let (_directory, log, builder) = recording(vec![entry]);
    let host = builder.build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    let arguments = json!({});
    tokio::select! {
        _ = session.check_tool("any", &arguments) => panic!("it waits for the door"),
        () = BEGUN.notified() => {}
    }
    STUCK.open();
    returned.recv_timeout(Duration::from_secs(60)).expect("the rule has ended");
    drop(session);
    host.drain(Duration::from_secs(60)).await.unwrap();
    let cancelled = written(&log).into_iter().find_map(|record| match record {
        Record::Event(event) if event.outcome == OutcomeKind::Cancelled => Some(event),
        _ => None,
    });
    assert!(cancelled.unwrap().calls.iter().all(|call| call.wrote.is_empty()));
}

/// The outcome of an event, and what is recorded of it, as far as both kinds of plugin have it.
async fn settled(session: &Session, event: EventKind) -> (Value, Value) {
    let mut options = DispatchOptions::default();
    options.await_observers = true;
    let settled = session.dispatch_event(event, payload(event), options).await.unwrap();
    let call = settled.record.calls.first().map(|call| {
        let log: Vec<_> = call.log.iter().map(|line| &line.message).collect();
        json!({ "verdict": call.verdict, "failure": call.failure, "findings": call.findings, "log": log, "wrote": call.wrote })
    });
    (settled.outcome, json!(call))
}

#[tokio::test]
async fn a_plugin_of_the_sdk_answers_each_event_as_its_component_does() {
    let behaviours = [
        json!({ "any": { "do": [
            { "increment": ["session", "n", 2] }, { "get": ["session", "n"] }, { "log": "{event} {last} {round} {turn}" },
            { "report": "found" }, { "remind": "remember" },
        ] } }),
        json!({ "any": { "verdict": "reject", "reason": "no {event}" } }),
        json!({ "any": { "verdict": "escalate", "question": "really?" } }),
    ];
    for behaviour in behaviours {
        let component = plugin("p", behaviour.clone());
        for event in EventKind::ALL.iter().copied().filter(|event| *event != EventKind::AuditRecord) {
            let host = |entry: Entry| async {
                let config = Config::from_entries(vec![entry], Settings::default()).unwrap();
                builder(config).build().await.unwrap()
            };
            let session = host(component.clone()).await.open_session(spec()).unwrap();
            let rule = host(native("p", behaviour.clone())).await.open_session(spec()).unwrap();
            let (as_component, natively) = (settled(&session, event).await, settled(&rule, event).await);
            assert_eq!(as_component, natively, "{event} {behaviour}");
        }
    }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Word {
    word: String,
}

static WORD: hookhost_guest::Configured<String> = hookhost_guest::Configured::new();

struct Forbids;

#[sdk_plugin]
impl Plugin for Forbids {
    fn configure(config: Word) -> Result<(), String> {
        WORD.set(config.word);
        Ok(())
    }

    fn before_tool_call(
        _session: &hookhost_guest::types::Session,
        call: &hookhost_guest::types::ToolCall,
    ) -> hookhost_guest::types::ToolCallVerdict {
        let word = WORD.get();
        match call.arguments.contains(word) {
            true => hookhost_guest::types::Refusal::new(word).into(),
            false => hookhost_guest::types::ToolCallVerdict::Allow,
        }
    }
}

#[tokio::test]
async fn two_rules_of_one_plugin_have_a_configuration_each() {
    let forbids = |word: &str| json!({ "word": word });
    let builder = Host::builder(Config::empty())
        .native::<Forbids>("one", forbids("alpha"))
        .native::<Forbids>("other", forbids("beta"));
    let host = testing::start(builder).await.unwrap();
    for (word, by) in [("alpha", "one"), ("beta", "other"), ("alpha", "one")] {
        let outcome = host.check("any", json!({ "word": word })).await;
        assert_eq!(outcome.to_string(), format!("Rejected by {by}: {word}"));
    }
    let id = CodeId::clone(host.host().plugins()[0].code_id());
    assert_eq!(id.to_string(), concat!("native ", env!("CARGO_PKG_VERSION")));
}

#[tokio::test]
async fn state_expires_by_the_clock_that_the_test_turns() {
    let seen = json!({ "do": [{ "get": ["session", "seen"] }, { "set-for": ["session", "seen", "yes", 60] }] });
    let host = started(native("once", json!({ "before-tool-call": seen }))).await;
    for turned in [0, 59, 60] {
        host.clock().advance(Duration::from_secs(turned));
        assert!(host.check("any", json!({})).await.is_allowed());
    }
    let seen: Vec<_> = calls(&host).iter().map(|call| call.log[0].message.ends_with("= yes")).collect();
    assert_eq!(seen, [false, true, false]);
    let times: Vec<_> = host.records().iter().map(|record: &EventRecord| record.header.time).collect();
    assert_eq!((times[1] - times[0], times[2] - times[1]), (59_000, 60_000));
}

#[tokio::test]
async fn what_is_not_granted_is_an_error_and_never_an_answer() {
    let use_state = json!({ "before-tool-call": { "do": [{ "get": ["session", "n"] }] } });
    let mut entry = native("p", use_state);
    entry.grants.state = None;
    let host = started(entry).await;
    assert!(host.check("any", json!({})).await.is_allowed());
    let line = &calls(&host)[0].log[0].message;
    assert!(line.contains("the entry grants no `state`"), "{line}");

    let mut entry = native("p", json!({ "before-tool-call": { "do": [{ "transcript": [0, 9] }] } }));
    entry.grants.transcript = false;
    let host = started(entry).await;
    let said = host.check("any", json!({})).await.to_string();
    assert!(said.contains("asked for the transcript, which its entry does not grant"), "{said}");

    let host = started(native("p", json!({ "before-tool-call": { "do": [{ "model": ["?", ""] }] } }))).await;
    assert!(host.check("any", json!({})).await.is_allowed());
    let line = &calls(&host)[0].log[0].message;
    assert!(line.contains("a native rule has no capability `model`"), "{line}");
}

#[tokio::test]
async fn capabilities_are_counted_and_their_bounds_end_the_call() {
    let mut entry = native("p", json!({ "before-tool-call": { "misbehave": "flood" } }));
    entry.limits.capability_calls = const { NonZeroU32::new(10).unwrap() };
    let host = started(entry).await;
    let outcome = host.check("any", json!({})).await;
    assert_eq!(outcome.rejection().unwrap().cause, Cause::Failed(FailureKind::CapabilityCalls));
    let call = &calls(&host)[0];
    assert!((1..10).contains(&call.log.len()), "{:?}", call.log);
}

#[tokio::test]
async fn what_cannot_be_a_native_rule_is_refused_with_the_reason() {
    let mut http = Entry::from_rule("p", Rule::new().before_tool_call(|_, _| None::<Refusal>));
    http.grants.http = vec!["example.com".into()];
    let mut configured = Entry::from_rule("p", Rule::new().before_tool_call(|_, _| None::<Refusal>));
    configured.config.insert("a".into(), 1.into());
    let mut audits = native("p", json!({}));
    audits.grants.audit = false;
    let mut large = Entry::from_bytes("p", vec![0; 70 << 20]);
    large.priority = 2;
    for (entry, said) in [
        (http, "it is a native rule, for which the grant `http` has no effect"),
        (configured, "refuses its configuration: it takes no configuration"),
        (audits, "audit-record (by exporting it)"),
        (
            native("p", json!({ "configure": { "error": "I do not like it" } })),
            "refuses its configuration: I do not like it",
        ),
        (Entry::from_rule("p", Rule::new()), "is a native rule without a function for any event"),
        (Entry::from_bytes("p", b"\0asm".as_slice()), "plugin `p`: the component in the program "),
        (large, "has 73400320 bytes"),
    ] {
        let error = builder(Config::empty()).plugin(entry).build().await.unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
    let error = Host::builder(Config::empty()).native::<AllEvents>("p", json!([])).build().await.unwrap_err();
    assert!(error.to_string().contains("neither a JSON object nor `null`"), "{error}");
}

#[tokio::test]
async fn a_component_of_the_program_is_loaded_from_its_bytes() {
    let bytes = std::fs::read(component("path_guard.wasm")).unwrap();
    let digest = hookhost::config::Digest::of_bytes(&bytes);
    let guard = Entry::from_bytes("guard", bytes).with("protected", ["infra/**"]);
    let host = started(guard).await;
    let outcome = host.check("write_file", json!({ "path": "infra/x", "content": "" })).await;
    assert!(outcome.to_string().starts_with("Rejected by guard: "), "{outcome}");
    assert_eq!(calls(&host)[0].code, CodeId::Component(digest));
}

#[test]
fn a_configuration_file_can_name_files_only() {
    let directory = tempfile::tempdir().unwrap();
    let places = UserDirectories::new(directory.path(), directory.path());
    let file = directory.path().join("hookhost.toml");
    for entry in [native("p", json!({})), Entry::from_bytes("p", b"".as_slice())] {
        let error = allow_entry(&file, &entry, &places, &[]).unwrap_err().to_string();
        assert!(error.contains("a configuration file can name files only"), "{error}");
    }
    assert!(!file.exists());
}

#[tokio::test]
async fn a_rule_of_the_program_holds_under_each_configuration() {
    let host = Host::builder(Config::empty()).rule("no-deploys", |call: &ToolCall| refuses(&call.name));
    let host = testing::start(host).await.unwrap();
    host.host().reload(&Config::empty()).await.unwrap();
    assert!(host.check("deploy", json!({})).await.rejection().is_some());
    let rules = host.host().load_rules(&Config::empty()).await.unwrap();
    assert_eq!(rules.plugins().len(), 1);
    // A file cannot take its name.
    let taken = vec![plugin("no-deploys", json!({}))];
    let error = host.host().reload(&Config::from_entries(taken, Settings::default()).unwrap()).await.unwrap_err();
    assert!(error.to_string().contains("another entry has this name"), "{error}");
    assert!(host.check("deploy", json!({})).await.rejection().is_some());
}

#[tokio::test]
async fn its_records_are_read_back_and_verified_and_a_replay_says_that_it_cannot_repeat_them() {
    let (_directory, log, builder) = recording(Vec::new());
    let host = builder.rule("no-deploys", |call: &ToolCall| refuses(&call.name)).build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    let outcome = session.check_tool("deploy", &json!({})).await.outcome;
    assert!(outcome.rejection().is_some());
    drop(session);
    host.drain(Duration::from_secs(60)).await.unwrap();
    let event = written(&log).into_iter().find_map(|record| match record {
        Record::Event(event) => Some(event),
        _ => None,
    });
    assert_eq!(event.unwrap().calls[0].code.to_string(), "native unknown");
    let log = Log::open(&log).unwrap();
    assert!(log.verify(None).unwrap().flaws.is_empty());
    let rule = Host::builder(Config::empty()).rule("no-deploys", |call: &ToolCall| refuses(&call.name));
    let mut compared = Vec::new();
    let summary = replay(&rule.build().await.unwrap(), &log, |event| compared.push(event.clone())).await.unwrap();
    assert_eq!((summary.events, summary.not_replayable), (1, 1));
    assert_eq!(compared[0].not_replayable, ["no-deploys: a native rule can read anything outside of the event"]);
}

#[tokio::test]
async fn a_native_plugin_brings_its_tools() {
    let tools = json!({
        "tools": [{ "name": "run", "description": "runs", "input-schema": { "type": "object" } }],
        "call-tool": { "value": "done: {value}" },
    });
    let host = started(native("kit", tools)).await;
    assert_eq!(host.host().tools()[0].full_name, "kit__run");
    let result = host.session().plugin_tools().call("kit", "run", &json!({ "n": 1 })).await.unwrap();
    assert!(result.text.contains("{\"n\":1}"), "{result:?}");
}

#[tokio::test]
async fn rules_run_at_the_same_time_in_sessions_beside_each_other() {
    let both = Arc::new(std::sync::Barrier::new(2));
    let meets = Arc::clone(&both);
    let rule = Rule::new().before_tool_call(move |_, _| {
        meets.wait();
        None::<Refusal>
    });
    let mut entry = Entry::from_rule("meets", rule);
    entry.limits.deadline = Some(Duration::from_secs(60));
    let host = Host::builder(Config::empty()).plugin(entry).build().await.unwrap();
    let (one, other) = (host.open_session(spec()).unwrap(), host.open_session(spec()).unwrap());
    let arguments = json!({});
    let (one, other) = tokio::join!(one.check_tool("a", &arguments), other.check_tool("b", &arguments));
    assert!(one.outcome.is_allowed() && other.outcome.is_allowed());
}
