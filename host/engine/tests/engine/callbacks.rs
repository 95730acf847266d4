//! Code of the embedding program that the host calls: whatever it does, no event runs without its record, no event waits
//! for ever, and no panic of it is the host's.

use crate::support::{builder, component, plugin, spec, written};
use futures_util::future::BoxFuture;
use hookhost::audit::{AuditSink, MemoryLog, Record};
use hookhost::capability::{Capability, CapabilityCall, Message, Model, ModelRequest, Transcript};
use hookhost::config::{Config, Entry, Settings};
use hookhost::contract::{Cause, Decision, Escalation, FailureKind, ToolCall, TransformOutcome};
use hookhost::testing;
use hookhost::{Clock, Error, Host, HostBuilder, Rule, Session, blocking};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

/// A sink that takes nothing for as long as it is told to, and keeps the rest.
#[derive(Clone, Default)]
struct Flaky {
    refused: Arc<AtomicUsize>,
    taken: Arc<Mutex<Vec<String>>>,
    log: MemoryLog,
}

impl Flaky {
    fn refuse(&self, times: usize) {
        self.refused.store(times, Ordering::SeqCst);
    }

    fn sink(&self) -> impl Fn(&str) -> Result<(), String> + Send + Sync + 'static {
        let Self { refused, taken, log } = self.clone();
        move |record: &str| {
            let refuses = refused.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
            if refuses {
                return Err("the queue is full".to_owned());
            }
            taken.lock().unwrap().push(record.to_owned());
            AuditSink::take(&log, record)
        }
    }

    fn records(&self) -> Vec<Record> {
        self.taken.lock().unwrap().iter().map(|record| Record::from_json(record).unwrap()).collect()
    }
}

/// Kind, event and outcome of each.
fn told(records: &[Record]) -> Vec<String> {
    let of = |record: &Record| match record.event() {
        Some(event) => format!("{} {event} {}", record.kind(), record.outcome().map_or("", |outcome| outcome.name())),
        None => record.kind().to_owned(),
    };
    records.iter().map(of).collect()
}

#[tokio::test]
async fn what_a_sink_did_not_take_comes_once_more_and_the_store_has_it_once() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("log.db");
    let flaky = Flaky::default();
    flaky.refuse(1);
    let host = Host::builder(Config::empty()).store(&file).audit(flaky.sink()).build().await.unwrap();
    // The record of the opening is refused, and comes before that of the first event.
    let session = host.open_session(spec()).unwrap();
    assert!(session.check_tool("a", &json!({})).await.outcome.is_allowed());
    flaky.refuse(1);
    let settled = session.check_tool("b", &json!({})).await;
    assert_eq!(settled.outcome.rejection().unwrap().cause, Cause::NotRecorded);
    flaky.refuse(1);
    let withheld = session.prompt_submit("hello".into()).await;
    let TransformOutcome::Withheld(rejection) = withheld.outcome else { panic!("it is not recorded") };
    assert_eq!(rejection.cause, Cause::NotRecorded);
    // Twice: that of the event, and that of its rejection. The latter comes with the next one.
    flaky.refuse(2);
    assert!(!session.check_tool("c", &json!({})).await.outcome.is_allowed());
    assert!(session.check_tool("d", &json!({})).await.outcome.is_allowed());
    drop(session);
    host.drain(Duration::from_secs(5)).await.unwrap();

    let expected = [
        "session",
        "event before-tool-call allowed",
        "event before-tool-call rejected",
        "event prompt-submit withheld",
        "event before-tool-call rejected",
        "event before-tool-call allowed",
        "session-ended",
    ];
    assert_eq!(told(&flaky.records()), expected);
    assert_eq!(told(&written(&file)[1..]), expected, "the log has no other");
    assert!(flaky.log.verify().is_sound());
    let ids: BTreeSet<_> = flaky
        .records()
        .iter()
        .filter_map(|record| match record {
            Record::Event(event) => Some(event.id.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(ids.len(), 5, "each event once");
}

#[tokio::test]
async fn where_the_store_fails_after_the_sink_the_record_of_the_rejection_follows() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("log.db");
    let sink = Flaky::default();
    let host = Host::builder(Config::empty()).store(&file).audit(sink.sink()).build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    std::fs::rename(&file, directory.path().join("elsewhere.db")).unwrap();
    let settled = session.check_tool("a", &json!({})).await;
    assert_eq!(settled.outcome.rejection().unwrap().cause, Cause::NotRecorded);

    let records = sink.records();
    assert_eq!(told(&records), ["session", "event before-tool-call allowed", "event before-tool-call rejected"]);
    let of_event = records.iter().filter_map(|record| match record {
        Record::Event(event) => Some(&event.id),
        _ => None,
    });
    // The number of the first is in no row, so another handle may take it.
    assert_eq!(of_event.collect::<BTreeSet<_>>().len(), 2, "each identifier has one record");
}

#[tokio::test]
async fn while_a_sink_has_not_taken_an_earlier_record_no_gate_opens() {
    let flaky = Flaky::default();
    flaky.refuse(usize::MAX);
    let host = Host::builder(Config::empty()).audit(flaky.sink()).build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    for _ in 0..3 {
        let settled = session.check_tool("a", &json!({})).await;
        assert_eq!(settled.outcome.rejection().unwrap().cause, Cause::NotRecorded);
    }
    assert!(host.drain(Duration::from_secs(5)).await.is_err(), "records are missing");
    flaky.refuse(0);
    assert!(host.drain(Duration::from_secs(5)).await.is_ok());
    let rejected = "event before-tool-call rejected";
    assert_eq!(told(&flaky.records()), ["session", rejected, rejected, rejected]);
}

#[tokio::test]
async fn what_observers_did_is_recorded_where_a_sink_takes_it_only_later() {
    let (log, has_refused) = (MemoryLog::new(), AtomicBool::new(false));
    let taken = log.clone();
    let sink = move |record: &str| {
        let refuses = record.starts_with(r#"{"kind":"observed""#) && !has_refused.swap(true, Ordering::SeqCst);
        if refuses { Err("the queue is full".to_owned()) } else { AuditSink::take(&taken, record) }
    };
    let observes = Entry::from_rule("observes", Rule::new().stream_end(|_, _| {}));
    let host = Host::builder(Config::empty()).plugin(observes).audit(sink).build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    let _ = session.stream_end("all of it".into()).await;
    host.drain(Duration::from_secs(5)).await.unwrap();
    assert_eq!(told(&log.records()), ["session", "event stream-end observed", "observed stream-end "]);
}

/// Polls a future on this thread, without a runtime's help, until it is ready or has been polled often.
fn polled<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut future = std::pin::pin!(future);
    let mut context = Context::from_waker(std::task::Waker::noop());
    (0..100).find_map(|_| match future.as_mut().poll(&mut context) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    })
}

#[tokio::test]
async fn an_event_that_a_sink_sends_is_rejected_at_once() {
    let session: Arc<OnceLock<Session>> = Arc::default();
    let (sent, log) = (Arc::new(Mutex::new(Vec::new())), MemoryLog::new());
    let (within, rejections, taken) = (Arc::clone(&session), Arc::clone(&sent), log.clone());
    let sink = move |record: &str| {
        if let Some(session) = within.get().filter(|_| record.contains("\"first\"")) {
            let settled = polled(session.check_tool("second", &json!({}))).ok_or("it waits for itself")?;
            rejections.lock().unwrap().push(settled.outcome.to_string());
        }
        AuditSink::take(&taken, record)
    };
    let host = Host::builder(Config::empty()).audit(sink).build().await.unwrap();
    assert!(session.set(host.open_session(spec()).unwrap()).is_ok());
    let session = session.get().unwrap();
    assert!(session.check_tool("first", &json!({})).await.outcome.is_allowed());
    let sent = sent.lock().unwrap().clone();
    let [rejection] = &sent[..] else { panic!("{sent:?}") };
    assert!(rejection.contains("an audit sink sent it"), "{rejection}");
    host.drain(Duration::from_secs(5)).await.unwrap();
    let expected = ["session", "event before-tool-call allowed", "event before-tool-call rejected"];
    assert_eq!(told(&log.records()), expected);
}

#[test]
fn a_blocking_call_of_a_sink_is_rejected_at_once() {
    let session: Arc<OnceLock<blocking::Session>> = Arc::default();
    let sent = Arc::new(Mutex::new(Vec::new()));
    let (within, rejections) = (Arc::clone(&session), Arc::clone(&sent));
    let sink = move |record: &str| {
        if let Some(session) = within.get().filter(|_| record.contains("\"first\"")) {
            let settled = session.check_tool("second", &json!({}));
            rejections.lock().unwrap().push(settled.outcome.to_string());
        }
        Ok(())
    };
    let host = Host::builder(Config::empty()).audit(sink).build_blocking().unwrap();
    assert!(session.set(host.session("test", "/work").unwrap()).is_ok());
    assert!(session.get().unwrap().check_tool("first", &json!({})).outcome.is_allowed());
    let sent = sent.lock().unwrap().clone();
    assert!(matches!(&sent[..], [one] if one.contains("an audit sink sent it")), "{sent:?}");
}

#[test]
fn a_native_rule_that_asks_its_own_session_is_answered_at_once() {
    let session: Arc<OnceLock<blocking::Session>> = Arc::default();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (within, answers) = (Arc::clone(&session), Arc::clone(&asked));
    let rule = move |call: &ToolCall| {
        if let Some(session) = within.get().filter(|_| call.name == "first") {
            let settled = session.check_tool("second", &json!({}));
            answers.lock().unwrap().push(settled.outcome.to_string());
        }
        None::<Escalation>
    };
    let host = Host::builder(Config::empty()).rule("asks-itself", rule).build_blocking().unwrap();
    assert!(session.set(host.session("test", "/work").unwrap()).is_ok());
    assert!(session.get().unwrap().check_tool("first", &json!({})).outcome.is_allowed());
    let asked = asked.lock().unwrap().clone();
    assert!(matches!(&asked[..], [one] if one.contains("waits for it: use another session")), "{asked:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_sessions_that_write_one_memory_log_make_one_chain() {
    let log = MemoryLog::new();
    let host = Host::builder(Config::empty()).audit(log.clone()).build().await.unwrap();
    let tasks: Vec<_> = (0..16)
        .map(|_| {
            let session = host.open_session(spec()).unwrap();
            tokio::spawn(async move {
                for _ in 0..20 {
                    assert!(session.check_tool("a", &json!({})).await.outcome.is_allowed());
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let report = log.verify();
    assert!(report.is_sound() && report.lines == 1 + 16 * 22, "{report:?}");
}

/// A future that panics when it is dropped before it is ready, which it never is.
struct PanicsOnDrop;

impl Future for PanicsOnDrop {
    type Output = Result<Value, String>;
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Pending
    }
}

impl Drop for PanicsOnDrop {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("a bug of the program");
        }
    }
}

type Answer = Box<dyn Fn(CapabilityCall) -> BoxFuture<'static, Result<Value, String>> + Send + Sync>;

/// The capability that the plugin `customers` asks.
struct Customers {
    answer: Answer,
    /// Whether it has no name any more.
    is_nameless: AtomicBool,
}

impl Customers {
    fn new(
        answer: impl Fn(CapabilityCall) -> BoxFuture<'static, Result<Value, String>> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self { answer: Box::new(answer), is_nameless: AtomicBool::new(false) })
    }
}

impl Capability for Customers {
    fn name(&self) -> &str {
        assert!(!self.is_nameless.load(Ordering::Relaxed), "a bug of the program");
        "customers"
    }

    fn interface(&self) -> &str {
        "acme:crm/customers@1.0.0"
    }

    fn call(&self, call: CapabilityCall) -> BoxFuture<'_, Result<Value, String>> {
        (self.answer)(call)
    }
}

fn entry() -> Entry {
    let mut entry = Entry::from_file("customers", component("customers.wasm")).unwrap();
    entry.grants.capabilities.insert("customers".into());
    entry.limits.deadline = Some(Duration::from_millis(500));
    entry
}

fn with(capability: Arc<dyn Capability>) -> HostBuilder {
    builder(Config::empty()).plugin(entry()).capability(capability)
}

async fn refund(session: &Session) -> Result<(), String> {
    match session.check_tool("refund", &json!({ "customer": 1, "cents": 1 })).await.outcome {
        Decision::Allowed { .. } => Ok(()),
        other => Err(other.to_string()),
    }
}

fn deep(levels: usize) -> Value {
    (0..levels).fold(Value::Null, |value, _| Value::Array(vec![value]))
}

#[tokio::test]
async fn an_answer_that_nests_too_deep_is_no_answer() {
    for (levels, why) in
        [(100, "the answer has a list where"), (129, "more than 128 levels"), (2_000, "more than 128 levels")]
    {
        let customers = Customers::new(move |_| Box::pin(async move { Ok(deep(levels)) }));
        let session = with(customers).build().await.unwrap().session("test", "/work").unwrap();
        let rejected = refund(&session).await.unwrap_err();
        assert!(rejected.contains(why), "{levels}: {rejected}");
    }
}

#[tokio::test]
async fn the_reason_of_a_capability_is_bounded() {
    let customers = Customers::new(|_| Box::pin(async { Err("why ".repeat(1_000_000)) }));
    let session = with(customers).build().await.unwrap().session("test", "/work").unwrap();
    let settled = session.prompt_submit("how many customers?".into()).await;
    let TransformOutcome::Withheld(rejection) = settled.outcome else { panic!("there is no answer") };
    assert!(rejection.to_string().contains("which failed: why why "), "{rejection}");
    let detail = &settled.record.calls[0].failure.as_ref().unwrap().detail;
    assert!(detail.len() < 10_000, "{}", detail.len());
}

#[tokio::test]
async fn an_answer_that_the_plugin_has_no_memory_for_is_its_failure() {
    let named = |name: String| json!({ "ok": { "name": name, "tier": "basic", "credit": 1 } });
    let customers = Customers::new(move |_| Box::pin(async move { Ok(named("x".repeat(8 << 20))) }));
    let mut entry = entry();
    entry.limits.memory = NonZeroUsize::new(4 << 20).unwrap();
    entry.limits.deadline = Some(Duration::from_secs(20));
    // A development build lifts 8 MiB slowly.
    entry.limits.compute = Some(Duration::from_secs(20));
    let host = builder(Config::empty()).plugin(entry).capability(customers).build().await.unwrap();
    let session = host.session("test", "/work").unwrap();
    let settled = session.check_tool("refund", &json!({ "customer": 1, "cents": 1 })).await;
    let rejection = settled.outcome.rejection().unwrap();
    assert_eq!(rejection.cause, Cause::Failed(FailureKind::OutOfMemory), "{rejection}");
    assert!(serde_json::to_string(&*settled.record).unwrap().len() < 10_000);
    assert!(
        settled.record.not_replayable[0].contains("more than the log repeats"),
        "{:?}",
        settled.record.not_replayable
    );
}

#[tokio::test]
async fn a_capability_that_panics_wherever_it_can_is_a_failure_of_the_plugin() {
    let nameless = Customers::new(|_| Box::pin(async { Ok(json!({ "ok": null })) }));
    let host = with(nameless.clone()).build().await.unwrap();
    let session = host.session("test", "/work").unwrap();
    nameless.is_nameless.store(true, Ordering::Relaxed);
    // It is asked for its name when the host is built, and never again.
    assert_eq!(refund(&session).await.unwrap_err(), "Rejected by customers: there is no customer 1");
    let built = with(nameless).build().await;
    assert!(matches!(&built, Err(Error::Capability(why)) if why.contains("panicked")), "{built:?}");

    let session =
        with(Customers::new(|_| Box::pin(PanicsOnDrop))).build().await.unwrap().session("test", "/work").unwrap();
    let rejected = refund(&session).await.unwrap_err();
    assert!(rejected.contains("timed out"), "{rejected}");
    assert!(session.check_tool("other", &json!({})).await.outcome.is_allowed(), "the session is as before");
}

#[tokio::test]
async fn a_capability_that_asks_its_own_session_is_answered_at_once() {
    let session: Arc<OnceLock<Arc<Session>>> = Arc::default();
    let within = Arc::clone(&session);
    let customers = Customers::new(move |_| {
        let session = within.get().cloned();
        Box::pin(async move {
            let session = session.ok_or("there is no session")?;
            Err(session.check_tool("second", &json!({})).await.outcome.to_string())
        })
    });
    let host = with(customers).build().await.unwrap();
    assert!(session.set(Arc::new(host.session("test", "/work").unwrap())).is_ok());
    let rejected = refund(session.get().unwrap()).await.unwrap_err();
    assert!(rejected.contains("waits for it: use another session"), "{rejected}");
}

/// Asks for ever, and panics when it is given up.
struct Sulks;

impl Model for Sulks {
    fn complete<'a>(&'a self, _: &'a str, _: ModelRequest) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async {
            let _ = PanicsOnDrop.await;
            Ok(String::new())
        })
    }
}

#[tokio::test]
async fn a_model_that_panics_when_it_is_given_up_is_not_the_hosts_panic() {
    let asks = plugin("asks", json!({ "before-tool-call": { "do": [{ "model": ["judge", "data"] }] } }));
    let config = Config::from_entries(vec![asks], Settings::default()).unwrap();
    let host = builder(config).model(Arc::new(Sulks)).build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    let settled = session.check_tool("any", &json!({})).await;
    assert_eq!(settled.outcome.rejection().unwrap().cause, Cause::Failed(FailureKind::Deadline));
}

/// A conversation of three messages that has one at any index.
struct Endless;

impl Transcript for Endless {
    fn length(&self) -> u32 {
        3
    }

    fn message(&self, _: u32) -> Option<Message> {
        Some(Message::new("user", ""))
    }
}

#[tokio::test]
async fn a_conversation_is_read_to_its_length_and_no_further() {
    let reads = json!({ "prompt-submit": { "do": [{ "transcript": [0, u32::MAX] }], "verdict": "replace", "value": "{last}" } });
    let host = crate::support::host(vec![plugin("reads", reads)]).await;
    let session = host.open_session(spec()).unwrap();
    session.set_transcript(Arc::new(Endless));
    let TransformOutcome::Passed { value } = session.prompt_submit("x".into()).await.outcome else {
        panic!("withheld")
    };
    assert!(value.starts_with("3 of 3"), "{value}");
}

/// A clock that breaks.
#[derive(Default)]
struct Broken(AtomicBool);

impl Clock for Broken {
    fn now(&self) -> SystemTime {
        assert!(!self.0.load(Ordering::Relaxed), "the battery is empty");
        SystemTime::UNIX_EPOCH
    }
}

#[tokio::test]
async fn where_the_clock_of_the_program_panics_the_operating_systems_counts() {
    let clock = Arc::new(Broken::default());
    let log = MemoryLog::new();
    let host = Host::builder(Config::empty()).clock(clock.clone()).audit(log.clone()).build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    clock.0.store(true, Ordering::Relaxed);
    assert!(session.check_tool("any", &json!({})).await.outcome.is_allowed());
    drop(session);
    let times: Vec<_> = log.records().iter().map(Record::time).collect();
    assert!(matches!(times[..], [0, event, end] if event > 1_700_000_000_000 && end >= event), "{times:?}");
}

/// A panic whose message panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("again");
    }
}

#[tokio::test]
async fn a_rule_that_panics_with_a_value_that_panics_has_panicked() {
    let host = testing::host(|call: &ToolCall| -> Option<Escalation> {
        if call.name == "deploy" {
            std::panic::panic_any(Bomb);
        }
        None
    })
    .await;
    let outcome = host.check("deploy", json!({})).await;
    assert_eq!(outcome.rejection().unwrap().cause, Cause::Failed(FailureKind::Panic));
    assert!(host.check("build", json!({})).await.is_allowed());
}
