//! What an embedding program sees: every record in a sink of its own, and a trace of each event.

use crate::support::{bash, builder, host, plugin, spec, texts};
use hookhost::audit::{CodeId, MemoryLog, Record};
use hookhost::config::{Code, Config, Entry, Settings};
use hookhost::contract::{Cause, Decision, EventKind, OutcomeKind, Usage};
use hookhost::session::NoticeKind;
use hookhost::store::Log;
use hookhost::{HostBuilder, Rule, StoreError};
use serde_json::json;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record as SpanRecord};
use tracing::{Event, Metadata, Subscriber};

fn with(behaviour: serde_json::Value) -> HostBuilder {
    with_settings(behaviour, Settings::default())
}

fn with_settings(behaviour: serde_json::Value, settings: Settings) -> HostBuilder {
    builder(Config::from_entries(vec![plugin("p", behaviour)], settings).unwrap())
}

/// One rejected call, one that an observer is told of, and the end of the session.
async fn a_little_session(builder: HostBuilder) {
    let host = builder.build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    let rejected = session.before_tool_call(bash(&session, "deploy")).await;
    assert!(matches!(rejected.outcome, Decision::Rejected(_)));
    let _ = session.stream_end("all of it".into()).await;
    let _ = session.session_end(Usage::default()).await;
    drop(session);
    host.drain(Duration::from_secs(20)).await.unwrap();
}

fn rejects_and_observes() -> serde_json::Value {
    json!({
        "before-tool-call": { "verdict": "reject", "reason": "no" },
        "stream-end": {},
    })
}

fn kinds(records: &[Record]) -> Vec<(&'static str, Option<OutcomeKind>)> {
    records.iter().map(|record| (record.kind(), record.outcome())).collect()
}

#[tokio::test]
async fn a_memory_log_has_each_record_without_a_store_and_verifies() {
    let log = MemoryLog::new();
    a_little_session(with(rejects_and_observes()).audit(log.clone())).await;
    let records = log.records();
    let expected = ["session", "event", "event", "observed", "event", "observed", "session-ended"];
    let mut found = records.iter().map(Record::kind).collect::<Vec<_>>();
    // The observer works beside the agent.
    found.sort_unstable();
    let mut sorted = expected;
    sorted.sort_unstable();
    assert_eq!(found, sorted);
    assert_eq!(kinds(&records)[1], ("event", Some(OutcomeKind::Rejected)));
    assert!(log.verify().is_sound() && log.verify().lines == 8, "{:?}", log.verify());

    let directory = tempfile::tempdir().unwrap();
    let export = directory.path().join("log.jsonl");
    std::fs::write(&export, log.to_json_lines()).unwrap();
    assert!(Log::open(&export).unwrap().verify(None).unwrap().is_sound());
    std::fs::write(&export, log.to_json_lines().replace(r#""reason":"no""#, r#""reason":"yes""#)).unwrap();
    assert!(!Log::open(&export).unwrap().verify(None).unwrap().is_sound());
}

#[tokio::test]
async fn a_sink_beside_a_store_gets_what_the_log_holds_in_its_order() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("log.db");
    let log = MemoryLog::new();
    a_little_session(with(rejects_and_observes()).store(&file).audit(log.clone())).await;
    let stored = Log::open(&file).unwrap();
    let stored: Vec<_> = stored.lines().unwrap().map(|line| line.unwrap().entry().unwrap()).skip(1).collect();
    let of_events = |records: &[Record]| -> Vec<_> {
        records
            .iter()
            .filter(|record| record.kind() != "observed")
            .map(|record| (record.kind(), record.event()))
            .collect()
    };
    assert_eq!(of_events(&log.records()), of_events(&stored));
    assert_eq!(log.records().len(), stored.len());
}

#[tokio::test]
async fn a_gate_whose_record_no_sink_takes_is_rejected() {
    for panics in [false, true] {
        let is_full = Arc::new(AtomicBool::new(false));
        let full = Arc::clone(&is_full);
        let sink = move |_: &str| match (full.load(Ordering::Relaxed), panics) {
            (true, true) => panic!("a bug of the program"),
            (true, false) => Err("the queue is full".to_owned()),
            (false, _) => Ok(()),
        };
        let host = with(json!({ "before-tool-call": { "verdict": "allow" } })).audit(sink).build().await.unwrap();
        let session = host.open_session(spec()).unwrap();
        assert!(matches!(session.before_tool_call(bash(&session, "ls")).await.outcome, Decision::Allowed { .. }));
        is_full.store(true, Ordering::Relaxed);
        let Decision::Rejected(rejection) = session.before_tool_call(bash(&session, "ls")).await.outcome else {
            panic!("nothing may run without its record");
        };
        assert_eq!(rejection.cause, Cause::NotRecorded);
        let why = if panics { "it panicked" } else { "the queue is full" };
        assert!(rejection.to_string().contains(why), "{rejection}");
        is_full.store(false, Ordering::Relaxed);
        assert!(matches!(session.before_tool_call(bash(&session, "ls")).await.outcome, Decision::Allowed { .. }));
    }
}

#[tokio::test]
async fn a_sink_gets_no_value_that_the_configuration_masks() {
    let mut settings = Settings::default();
    settings.audit.mask = vec!["command".parse().unwrap()];
    let log = MemoryLog::new();
    a_little_session(with_settings(rejects_and_observes(), settings).audit(log.clone())).await;
    assert!(!log.to_json_lines().contains("deploy"), "{}", log.to_json_lines());
}

#[tokio::test]
async fn sqlite_s_names_for_no_file_are_no_stores_and_nothing_is_created() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["", ":memory:", "file:x?mode=memory", "file:/tmp/x.db"] {
        let built = with(json!({})).store(name).build().await;
        assert!(matches!(built, Err(hookhost::Error::Store(StoreError::Name { .. }))), "{name}: {built:?}");
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_database_that_is_removed_under_a_running_host_stops_the_next_gate() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("log.db");
    let host = with(json!({ "before-tool-call": { "verdict": "allow" } })).store(&file).build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    assert!(matches!(session.before_tool_call(bash(&session, "ls")).await.outcome, Decision::Allowed { .. }));
    std::fs::rename(&file, directory.path().join("elsewhere.db")).unwrap();
    let Decision::Rejected(rejection) = session.before_tool_call(bash(&session, "ls")).await.outcome else {
        panic!("what is written there nobody reads");
    };
    assert_eq!(rejection.cause, Cause::NotRecorded);
    assert!(rejection.to_string().contains("was removed or replaced"), "{rejection}");
}

#[tokio::test]
async fn a_notice_says_what_it_is_about() {
    let host = host(vec![plugin("p", json!({ "before-tool-call": { "misbehave": "trap" } }))]).await;
    let session = host.open_session(spec()).unwrap();
    for _ in 0..3 {
        let _ = session.before_tool_call(bash(&session, "ls")).await;
    }
    let notices = session.take_notices();
    let [tripped] = &notices[..] else { panic!("{notices:?}") };
    assert_eq!((tripped.kind, tripped.plugin.as_deref()), (NoticeKind::Tripped, Some("p")));
    assert_eq!(tripped.to_string(), texts(notices.clone())[0]);
}

/// What a subscriber was told: spans with their fields, and events with their level and message.
#[derive(Clone, Default)]
struct Traced(Arc<Mutex<Vec<String>>>, Arc<Mutex<Vec<bool>>>);

impl Traced {
    fn note(&self, text: String) {
        self.0.lock().unwrap().push(text);
    }
}

#[derive(Default)]
struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        use std::fmt::Write as _;
        let _ = write!(self.0, " {}={value:?}", field.name());
    }
}

impl Subscriber for Traced {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("hookhost")
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut fields = Fields::default();
        span.record(&mut fields);
        self.note(format!("{}{}", span.metadata().name(), fields.0));
        let mut spans = self.1.lock().unwrap();
        spans.push(fields.0.contains("s-traced"));
        Id::from_u64(spans.len() as u64)
    }

    fn record(&self, span: &Id, values: &SpanRecord<'_>) {
        let mut fields = Fields::default();
        values.record(&mut fields);
        let is_ours = self.1.lock().unwrap()[span.into_u64() as usize - 1];
        self.note(format!("{}{}", if is_ours { "s-traced" } else { "" }, fields.0));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        self.note(format!("{}{}", event.metadata().level(), fields.0));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[tokio::test]
async fn each_event_is_a_span_with_its_outcome_and_failures_and_trips_are_warnings() {
    // Of the whole process: one of a thread misses what other threads were the first to come by.
    let traced = Traced::default();
    tracing::subscriber::set_global_default(traced.clone()).unwrap();
    let behaviour = json!({
        "before-tool-call": { "misbehave": "trap" },
        "prompt-submit": { "verdict": "replace", "value": "a secret" },
    });
    let host = host(vec![plugin("traced", behaviour)]).await;
    let session = host.open_session(spec().id("s-traced")).unwrap();
    let _ = session.prompt_submit("my password".into()).await;
    for _ in 0..3 {
        let _ = session.before_tool_call(bash(&session, "ls")).await;
    }
    let traced = traced.0.lock().unwrap().clone();
    let has = |text: &str| traced.iter().filter(|line| line.contains(text)).count();
    assert_eq!(has(r#"event session="s-traced" event="prompt-submit""#), 1, "{traced:#?}");
    assert_eq!(has(r#"event session="s-traced" event="before-tool-call""#), 3);
    assert_eq!((has("s-traced outcome=\"passed\""), has("s-traced outcome=\"rejected\"")), (1, 3), "{traced:#?}");
    let by_plugin = |text: &str| has(&format!("{text} plugin=\"traced\""));
    // As an observer of records it may have answered more often.
    assert!(by_plugin("DEBUG message=a plugin has answered") >= 1);
    assert_eq!(by_plugin("WARN message=a plugin has failed"), 3);
    assert_eq!(by_plugin("WARN message=a plugin is tripped"), 1);
    assert_eq!((has("my password"), has("a secret")), (0, 0), "no value of an event is traced");
}

#[tokio::test]
async fn events_after_the_end_of_a_session_are_rejected_and_told() {
    let host = with(json!({ "before-tool-call": { "verdict": "allow" } })).build().await.unwrap();
    let session = host.open_session(spec().id("s-1")).unwrap();
    let tools = session.plugin_tools();
    let _ = session.session_end(Usage::default()).await;
    let settled = session.before_tool_call(bash(&session, "ls")).await;
    let Decision::Rejected(rejection) = settled.outcome else { panic!("the session has ended") };
    assert_eq!(rejection.cause, Cause::Ended);
    assert!(rejection.to_string().starts_with("Rejected because the session has ended: "), "{rejection}");
    assert!(settled.record.calls.is_empty(), "no plugin is asked");
    let again = session.session_end(Usage::default()).await;
    assert_eq!(again.record.event, EventKind::SessionEnd);
    let [notice] = &session.take_notices()[..] else { panic!("one notice") };
    assert_eq!(notice.kind, NoticeKind::NotAsked);
    let error = tools.call("p", "x", &json!({})).await.unwrap_err();
    assert!(error.to_string().ends_with("was not called: the session has ended"), "{error}");
    // Another handle continues the session.
    let again = host.open_session(spec().id("s-1")).unwrap();
    assert!(matches!(again.before_tool_call(bash(&again, "ls")).await.outcome, Decision::Allowed { .. }));
}

#[tokio::test]
async fn a_call_without_a_name_is_invalid_and_a_payload_that_is_not_json_cannot_be_made() {
    use hookhost::contract::{Custom, Json};
    let host = with(json!({ "before-tool-call": { "verdict": "allow" } })).build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    let Decision::Rejected(rejection) = session.check_tool("", &json!({})).await.outcome else { panic!("no name") };
    assert_eq!(rejection.cause, Cause::Invalid);
    assert_eq!(rejection.to_string(), "Rejected because the event is invalid: a tool call must name a tool");
    for (payload, valid) in [("{", false), ("", false), ("{} x", false), ("{}", true), (" [1] ", true)] {
        let made = Json::new(payload);
        assert_eq!(made.is_ok(), valid, "{payload}");
        let Ok(payload) = made else { continue };
        let outcome = session.custom_event(Custom { name: "deploy".into(), payload }).await.outcome;
        assert!(matches!(outcome, Decision::Allowed { .. }), "{outcome:?}");
    }
}

#[test]
fn an_event_without_a_runtime_is_rejected_and_nothing_panics() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let host = runtime.block_on(with(json!({ "before-tool-call": { "misbehave": "sleep" } })).build()).unwrap();
    let session = host.open_session(spec()).unwrap();
    let asked = futures_util::FutureExt::now_or_never(session.check_tool("x", &json!({})));
    let Decision::Rejected(rejection) = asked.expect("at once").outcome else { panic!("there is no runtime") };
    assert_eq!(rejection.cause, Cause::NoRuntime);
    assert!(rejection.to_string().contains("hookhost::blocking"), "{rejection}");
}

#[tokio::test]
async fn a_host_says_under_which_settings_and_plugins_it_runs_and_after_a_reload_the_new_ones() {
    let with_deadline = |name: &str, deadline: u64| {
        let mut settings = Settings::default();
        settings.approval_deadline = Duration::from_secs(deadline);
        Config::from_entries(vec![plugin(name, json!({ "stream-end": {} }))], settings).unwrap()
    };
    let mut own = Entry::from_rule("own", Rule::new().stream_end(|_, _| {}));
    own.priority = i32::MAX;
    let host = builder(with_deadline("first", 1)).version("1.2.3").plugin(own).build().await.unwrap();
    let rules = host.load_rules(&with_deadline("other", 2)).await.unwrap();
    host.reload(&with_deadline("second", 3)).await.unwrap();
    host.reload_rules(&rules, &with_deadline("third", 4)).await.unwrap();
    for (rules, name, deadline) in [(host.rules(), "second", 3), (rules, "third", 4)] {
        assert_eq!(rules.settings().approval_deadline, Duration::from_secs(deadline));
        let config = rules.config();
        assert_eq!(*config.settings(), rules.settings());
        let names: Vec<_> = config.entries().iter().map(|entry| &*entry.name).collect();
        assert_eq!(names, [name, "own"]);
        let Code::File { digest, .. } = &config.entries()[0].code else { panic!("it is a file") };
        let loaded: Vec<_> = rules.plugins().iter().map(|plugin| plugin.code_id().clone()).collect();
        assert_eq!(loaded[0], CodeId::Component(*digest));
        assert_eq!(serde_json::to_value(&loaded[1]).unwrap(), json!({ "native": "1.2.3" }));
    }
    assert_eq!(host.settings(), host.rules().settings());
    assert_eq!(host.config().entries(), host.rules().config().entries());
    // What cannot be loaded changes nothing.
    let broken = Entry::from_bytes("broken", b"no component");
    let error = host.reload(&Config::from_entries(vec![broken], Settings::default()).unwrap()).await;
    assert!(error.is_err());
    assert_eq!(host.settings().approval_deadline, Duration::from_secs(3));
    assert_eq!(host.config().entries()[0].name, "second");
}
