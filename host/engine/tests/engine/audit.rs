//! What the log promises: every event is in it, before anything is done about it, with all that decided it.

use crate::events::payload;
use crate::support::{Yes, bash, plugin, recording, session, spec, state_by, state_in, texts, written};
use futures_util::future::BoxFuture;
use hookhost::approval::{Approval, ApprovalRequest, Approver};
use hookhost::audit::{EventRecord, Record, WrittenValue};
use hookhost::capability::{Model, ModelRequest};
use hookhost::config::ActionKind;
use hookhost::contract::{AnswerKind, Cause, EventKind, OutcomeKind};
use hookhost::session::DispatchOptions;
use hookhost::store::Log;
use hookhost::{Decision, Session, TransformOutcome};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Events that may wait for the observers.
const MAX_WAITING: usize = 1_024;

fn records(log: &Path) -> Vec<EventRecord> {
    let events = written(log).into_iter().filter_map(|entry| match entry {
        Record::Event(record) => Some(*record),
        _ => None,
    });
    events.collect()
}

async fn drained(host: &hookhost::Host) {
    assert_eq!(host.drain(Duration::from_secs(60)).await.unwrap(), 0);
}

#[tokio::test]
async fn every_event_is_recorded_also_without_subscribers() {
    let (_directory, log, builder) = recording(vec![]);
    let host = builder.build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    let recorded: Vec<_> = EventKind::ALL.iter().copied().filter(|&event| event != EventKind::AuditRecord).collect();
    for &event in &recorded {
        let settled = session.dispatch_event(event, payload(event), DispatchOptions::default()).await.unwrap();
        assert_eq!(settled.record.event, event);
    }
    drained(&host).await;
    assert_eq!(records(&log).iter().map(|record| record.event).collect::<Vec<_>>(), recorded);
    drop(session);
    drained(&host).await;
    let kinds: Vec<_> = written(&log).iter().map(Record::kind).collect();
    assert_eq!((kinds[0], kinds[1], *kinds.last().unwrap()), ("log", "session", "session-ended"));
    let report = Log::open(&log).unwrap().verify(None).unwrap();
    assert!(report.is_sound() && report.open_sessions.is_empty(), "{report:?}");
}

#[tokio::test]
async fn a_record_says_who_was_asked_what_each_answered_and_the_outcome() {
    let changes = plugin(
        "a",
        json!({"before-tool-call": {"when": {"round": 1}, "verdict": "modify", "value": {"command": "ls -l"},
               "do": [{"report": "code"}, {"set": ["session", "k", "v"]}, {"log": "line"}]}}),
    );
    let fails = plugin("b", json!({"before-tool-call": {"misbehave": "trap"}}));
    let mut fails = fails;
    fails.on_failure = Some(hookhost::config::OnFailure::Skip);
    let rejects = plugin(
        "c",
        json!({"before-tool-call": {"verdict": "reject", "reason": "not {command}", "when": {"contains": "-l"}}}),
    );
    let (_directory, log, builder) = recording(vec![changes, fails, rejects]);
    let host = builder.build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    let settled = session.before_tool_call(bash(&session, "ls")).await;
    let record = records(&log).pop().unwrap();
    assert_eq!(serde_json::to_string(&record).unwrap(), serde_json::to_string(&settled.record).unwrap());
    assert_eq!((record.outcome, record.cause), (OutcomeKind::Rejected, Some(Cause::Verdict)));
    assert_eq!((record.by, record.reason.as_deref()), (vec!["c".into()], Some("Rejected by c: not ls -l")));
    assert!(record.original.get().contains(r#""command":"ls""#), "{}", record.original);
    assert!(record.last.unwrap().get().contains(r#""command":"ls -l""#));
    let calls: Vec<_> = record.calls.iter().map(|call| (call.plugin.as_str(), call.round)).collect();
    assert_eq!(calls, [("a", 1), ("b", 1), ("c", 1)]);
    let [a, b, c] = &record.calls[..] else { unreachable!() };
    assert_eq!(a.code, *host.plugins()[0].code_id());
    assert!(a.fuel > 0 && a.verdict.as_ref().unwrap().get().contains("modify"), "{a:?}");
    // No value is final, but the call was its plugin's last: its effects hold.
    assert_eq!((a.findings[0].code.as_str(), a.log.last().unwrap().message.as_str()), ("code", "line"));
    assert!(matches!(&a.wrote[..], [write] if write.key == "k" && matches!(write.write, WrittenValue::Set { .. })));
    assert_eq!(b.failure.as_ref().unwrap().kind, hookhost::FailureKind::Trap);
    assert!(c.verdict.as_ref().unwrap().get().contains("not ls -l"));
}

/// What the log says while a person is asked.
struct Looks {
    log: PathBuf,
    saw: Mutex<Vec<EventRecord>>,
    says: Approval,
}

impl Approver for Looks {
    fn ask(&self, _: ApprovalRequest) -> BoxFuture<'_, Approval> {
        *self.saw.lock().unwrap() = records(&self.log);
        Box::pin(async { self.says.clone() })
    }
}

fn asks(question: &str) -> hookhost::config::Entry {
    plugin("careful", json!({"before-tool-call": {"verdict": "escalate", "question": question}}))
}

#[tokio::test]
async fn an_escalation_is_recorded_before_a_person_is_asked_and_the_answer_after() {
    for (says, outcome, kind) in [
        (Approval::yes(), OutcomeKind::Allowed, AnswerKind::Approved),
        (Approval::no().because("not today"), OutcomeKind::Rejected, AnswerKind::Denied),
    ] {
        let (_directory, log, builder) = recording(vec![asks("sure?")]);
        let looks = Arc::new(Looks { log: log.clone(), saw: Mutex::default(), says });
        let host = builder.approver(looks.clone()).build().await.unwrap();
        let session = host.open_session(spec()).unwrap();
        let settled = session.before_tool_call(bash(&session, "ls")).await;
        assert_eq!(settled.kind(), outcome);
        let saw = looks.saw.lock().unwrap();
        assert_eq!((saw.len(), saw[0].outcome), (1, OutcomeKind::Escalated));
        assert_eq!(saw[0].questions[0].escalation.question, "sure?");
        let Some(Record::Approval(answer)) = written(&log).pop() else { panic!("no answer") };
        assert_eq!((&answer.id, answer.outcome, answer.answer.kind), (&saw[0].id, outcome, kind));
        assert_eq!(settled.answer, Some(Box::new(answer)));
    }
}

/// With one more field in each object, but those that hold JSON as it was.
fn with_newer_fields(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let is_record = |name: &str| !["original", "final", "verdict", "raw", "response"].contains(&name);
            fields.iter_mut().filter(|(name, _)| is_record(name)).for_each(|(_, value)| with_newer_fields(value));
            fields.insert("newer".into(), json!({"since": 2}));
        }
        Value::Array(values) => values.iter_mut().for_each(with_newer_fields),
        _ => {}
    }
}

#[tokio::test]
async fn a_newer_field_is_read_past_in_a_record() {
    let finding = json!({"action": "bash", "explanation": "x", "severity": "warning", "code": "c", "references": []});
    let finds = plugin("finds", json!({"before-tool-call": {"do": [{"report": finding}, {"log": "seen"}]}}));
    let (_directory, log, builder) = recording(vec![finds, asks("sure?")]);
    let looks = Arc::new(Looks { log: log.clone(), saw: Mutex::default(), says: Approval::yes() });
    let host = builder.approver(looks).build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    assert_eq!(session.before_tool_call(bash(&session, "ls")).await.kind(), OutcomeKind::Allowed);
    drop(session);
    drained(&host).await;
    let log = Log::open(&log).unwrap();
    let mut kinds = Vec::new();
    for line in log.lines().unwrap() {
        let line = line.unwrap();
        let record = line.entry().unwrap();
        let mut newer: Value = serde_json::from_str(line.text()).unwrap();
        with_newer_fields(&mut newer);
        let read = Record::from_json(&newer.to_string()).unwrap_or_else(|error| panic!("{error}: {newer}"));
        assert_eq!(format!("{read:?}"), format!("{record:?}"));
        kinds.push(record.kind());
    }
    assert_eq!(kinds, ["log", "session", "event", "answer", "session-ended"]);
}

struct Sleeps;

impl Approver for Sleeps {
    fn ask(&self, _: ApprovalRequest) -> BoxFuture<'_, Approval> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn that_nobody_waits_for_an_answer_any_more_is_recorded() {
    let (_directory, log, builder) = recording(vec![asks("sure?")]);
    let host = builder.approver(Arc::new(Sleeps)).build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    let call = bash(&session, "ls");
    let asked = tokio::time::timeout(Duration::from_millis(300), session.before_tool_call(call)).await;
    assert!(asked.is_err());
    drained(&host).await;
    let Some(Record::Approval(answer)) = written(&log).pop() else { panic!("no answer") };
    assert_eq!((answer.outcome, answer.answer.kind), (OutcomeKind::Rejected, AnswerKind::Cancelled));
}

#[tokio::test]
async fn an_event_that_is_given_up_before_it_is_settled_is_recorded_without_effects() {
    let counts = plugin("a", json!({"before-tool-call": {"do": [{"increment": ["plugin", "n", 1]}]}}));
    let mut waits = plugin("b", json!({"before-tool-call": {"do": [{"model": ["a", "b"]}]}}));
    waits.limits.deadline = Some(Duration::from_secs(60));
    let (_directory, log, builder) = recording(vec![counts, waits]);
    let host = builder.model(Arc::new(Never)).build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    let call = bash(&session, "ls");
    let asked = tokio::time::timeout(Duration::from_millis(300), session.before_tool_call(call)).await;
    assert!(asked.is_err());
    drained(&host).await;
    let record = records(&log).pop().unwrap();
    assert_eq!(record.outcome, OutcomeKind::Cancelled);
    assert_eq!(record.calls.iter().map(|call| &call.plugin).collect::<Vec<_>>(), ["a", "b"]);
    assert!(record.calls.iter().all(|call| call.wrote.is_empty()));
    assert!(state_in(&log).is_empty());
}

#[tokio::test]
async fn an_event_that_is_given_up_while_its_record_waits_to_be_written_has_no_effects_in_the_log() {
    let steps = json!([{"increment": ["plugin", "n", 1]}, {"report": "c"}]);
    let (_directory, log, builder) = recording(vec![plugin("p", json!({"before-tool-call": {"do": steps}}))]);
    let host = builder.build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    drained(&host).await;
    let other = rusqlite::Connection::open(&log).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let call = bash(&session, "ls");
    let asked = tokio::time::timeout(Duration::from_millis(500), session.before_tool_call(call)).await;
    assert!(asked.is_err());
    other.execute_batch("ROLLBACK").unwrap();
    drained(&host).await;
    let record = records(&log).pop().unwrap();
    assert_eq!(record.outcome, OutcomeKind::Cancelled);
    assert!(record.calls[0].wrote.is_empty() && record.calls[0].findings.is_empty(), "{record:?}");
    assert_eq!(state_in(&log), state_by(&written(&log)));
}

struct Never;

impl Model for Never {
    fn complete<'a>(&'a self, _: &'a str, _: ModelRequest) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn a_session_that_is_taken_up_again_has_other_events() {
    let random = plugin("p", json!({"prompt-submit": {"verdict": "replace", "value": "{last}", "do": ["random"]}}));
    let (_directory, log, builder) = recording(vec![random]);
    let host = builder.build().await.unwrap();
    for _ in 0..2 {
        let mut spec = spec();
        spec.id = Some("the-same".into());
        let session = host.open_session(spec).unwrap();
        let _ = session.prompt_submit("x".into()).await;
    }
    drained(&host).await;
    let records = records(&log);
    assert_ne!(records[0].id, records[1].id);
    assert_ne!(records[0].last.as_ref().unwrap().get(), records[1].last.as_ref().unwrap().get());
}

async fn rejected(session: &Session, command: &str) -> hookhost::contract::Rejection {
    match session.before_tool_call(bash(session, command)).await.outcome {
        Decision::Rejected(rejection) => rejection,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn what_cannot_be_recorded_may_not_happen_and_has_no_effect() {
    let counts = plugin(
        "p",
        json!({
            "before-tool-call": {"do": [{"increment": ["plugin", "n", 1]}, {"remind": "counted"}, {"report": "c"}]},
            "session-start": [
                {"when": {"session": "adds"}, "do": [{"increment": ["session", "n", 1]}], "value": [{"prompt": "more", "title": "m"}]},
                {"do": [{"increment": ["session", "n", 1]}]}
            ],
            "prompt-submit": {"do": [{"increment": ["session", "n", 1]}]}
        }),
    );
    let (_directory, log, builder) = recording(vec![counts]);
    let host = builder.build().await.unwrap();
    let named = |id: &str| host.open_session(spec().id(id)).unwrap();
    let (session, adds, adds_nothing, transforms) = (named("gate"), named("adds"), named("none"), named("transform"));
    drained(&host).await;
    let other = rusqlite::Connection::open(&log).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (rejection, added, nothing, passed) = tokio::join!(
        rejected(&session, "ls"),
        adds.session_start(),
        adds_nothing.session_start(),
        transforms.prompt_submit("text".into())
    );
    assert!(added.outcome.is_empty() && nothing.outcome.is_empty());
    let notices = texts(adds.take_notices());
    assert!(notices.len() == 1 && notices[0].starts_with("the tasks that plugins added are left out"), "{notices:?}");
    assert!(adds_nothing.take_notices().is_empty());
    assert!(
        matches!(&passed.outcome, TransformOutcome::Withheld(rejection) if rejection.cause == Cause::NotRecorded),
        "{passed:?}"
    );
    drop((adds, adds_nothing, transforms));
    assert_eq!(rejection.cause, Cause::NotRecorded);
    assert!(rejection.to_string().contains("the audit log cannot be written"), "{rejection}");
    assert!(rejection.to_string().contains("is locked by another program"), "{rejection}");
    assert!(session.reminders().is_empty());
    other.execute_batch("ROLLBACK").unwrap();
    // Later the log says so, and the next event finds the state as it was.
    assert!(matches!(session.before_tool_call(bash(&session, "ls")).await.outcome, Decision::Allowed { .. }));
    let all = records(&log);
    assert_eq!(all.len(), 5);
    for record in all.iter().take(4) {
        assert!(record.calls[0].wrote.is_empty() && record.calls[0].findings.is_empty(), "{record:?}");
    }
    let records: Vec<_> = all.into_iter().filter(|record| record.header.session == "gate").collect();
    assert_eq!((records[0].outcome, records[0].cause), (OutcomeKind::Rejected, Some(Cause::NotRecorded)));
    let state = records[1].calls[0].inputs.state.as_ref().unwrap();
    assert_eq!((state.read.len(), &state.read[0].value), (1, &None));
    assert_eq!(session.reminders().len(), 1);
}

#[tokio::test]
async fn the_plugin_that_gave_the_result_decided_it_unless_somebody_asks() {
    let entries = || {
        let responds = json!({"before-tool-call": {"verdict": "respond", "value": {"text": "x", "is-error": false}}});
        let asks = json!({"before-tool-call": {"when": {"contains": "ask"}, "verdict": "escalate", "question": "?"}});
        vec![plugin("a", responds), plugin("b", asks)]
    };
    let (_directory, log, builder) = recording(entries());
    let host = builder.approver(Arc::new(Yes)).build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    for command in ["ls", "ask"] {
        let outcome = session.before_tool_call(bash(&session, command)).await.outcome;
        assert!(matches!(outcome, Decision::Responded { by, .. } if by == "a"));
    }
    drained(&host).await;
    let records = records(&log);
    let decided: Vec<_> = records.iter().map(|record| (record.outcome, record.by.concat())).collect();
    assert_eq!(decided, [(OutcomeKind::Responded, "a".to_owned()), (OutcomeKind::Escalated, "b".to_owned())]);
    assert!(records.iter().all(|record| record.response.is_some()));
}

#[tokio::test]
async fn who_was_not_asked_since_somebody_rejected_before_is_not_one_whom_it_does_not_concern() {
    let rejects = plugin("a", json!({"before-tool-call": {"verdict": "reject", "reason": "no"}}));
    let mut elsewhere = plugin("b", json!({}));
    elsewhere.actions = Some([ActionKind::Fetch].into());
    let later = plugin("c", json!({}));
    let mut first_only = plugin("d", json!({}));
    first_only.tools = Some(vec!["bash".parse().unwrap()]);
    let not_matched = |entries| async {
        let session = session(entries).await;
        session.before_tool_call(bash(&session, "ls")).await.record.not_matched
    };
    assert!(not_matched(vec![rejects.clone(), later.clone()]).await.is_empty());
    assert!(not_matched(vec![first_only, later]).await.is_empty());
    let mut last = rejects;
    last.name = "z".into();
    assert_eq!(not_matched(vec![elsewhere, last]).await, ["b"]);
}

#[tokio::test]
async fn observers_get_an_event_that_is_in_the_log_and_what_they_do_is_recorded_after() {
    let observer =
        plugin("o", json!({"stream-end": {"do": [{"increment": ["session", "n", 1]}, {"report": "received"}]}}));
    let (_directory, log, builder) = recording(vec![observer]);
    let host = builder.build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    for _ in 0..3 {
        let settled = session.stream_end("text".into()).await;
        assert!(settled.record.calls.is_empty());
    }
    drained(&host).await;
    let entries = written(&log);
    let place = |id: &str, kind: &str| {
        let is_it = |entry: &Record| match entry {
            Record::Event(record) => record.id == id,
            Record::Observed(observed) => observed.id == id,
            _ => false,
        };
        entries.iter().position(|entry| entry.kind() == kind && is_it(entry)).unwrap()
    };
    let mut observed = 0;
    for entry in &entries {
        if let Record::Observed(record) = entry {
            observed += 1;
            assert!(place(&record.id, "event") < place(&record.id, "observed"));
            let call = &record.calls[0];
            assert_eq!((call.findings.len(), call.wrote.len()), (1, 1));
        }
    }
    assert_eq!(observed, 3);
}

#[tokio::test]
async fn observers_get_rejections_too_with_no_other_plugins_state_and_leave_no_record() {
    let rejects = plugin(
        "a",
        json!({"before-tool-call": {"verdict": "reject", "reason": "no", "do": [{"set": ["plugin", "secret", "hunter2"]}]}}),
    );
    let listens = plugin(
        "b",
        json!({"audit-record": {"do": [{"log": "{value}"}, {"set": ["plugin", "received", "{value}"]}, {"remind": "x"}]},
               "custom-event": {"do": [{"get": ["plugin", "received"]}]}}),
    );
    let (_directory, log, builder) = recording(vec![rejects, listens]);
    let host = builder.build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    rejected(&session, "rm -rf /").await;
    drained(&host).await;
    let entries = written(&log);
    assert!(entries.iter().all(|entry| entry.event() != Some(EventKind::AuditRecord)), "{entries:?}");
    assert!(session.reminders().is_empty());
    // It cannot report what it was given. So it fails in one way on what it may see, and in another
    // on what it must not see.
    let tells = plugin(
        "b",
        json!({"audit-record": [
        {"when": {"contains": "hunter2"}, "misbehave": "trap"},
        {"when": {"contains": "\"outcome\":\"rejected\""}, "misbehave": "exit"}]}),
    );
    let rejects = plugin(
        "a",
        json!({"before-tool-call": {"verdict": "reject", "reason": "no", "do": [{"set": ["plugin", "secret", "hunter2"]}]}}),
    );
    let (_directory, _log, builder) = recording(vec![rejects, tells]);
    let host = builder.build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    for _ in 0..3 {
        rejected(&session, "rm -rf /").await;
        drained(&host).await;
    }
    let notices = texts(session.take_notices());
    // That it failed, and that it is tripped.
    assert_eq!(notices.len(), 2, "{notices:?}");
    assert!(notices.iter().all(|notice| notice.contains("it exited instead of answering")), "{notices:?}");
}

#[tokio::test]
async fn what_a_plugin_does_about_a_record_is_not_kept_and_it_is_told_so() {
    let steps = [
        json!({"set": ["plugin", "received", "{value}"]}),
        json!({"delete": ["plugin", "received"]}),
        json!({"increment": ["plugin", "n", 1]}),
        json!({"report": "code"}),
        json!({"remind": "x"}),
        json!({"get": ["plugin", "received"]}),
    ];
    for (number, step) in steps.iter().enumerate() {
        let observer = json!({"audit-record": {"do": [step, {"log": "it said: {last}"}]}});
        let (_directory, log, builder) = recording(vec![plugin("b", observer)]);
        let host = builder.build().await.unwrap();
        let session = host.open_session(spec()).unwrap();
        let options = DispatchOptions::awaiting_observers();
        let event = EventKind::AuditRecord;
        let record = session.dispatch_event(event, payload(event), options).await.unwrap().record;
        let call = &record.calls[0];
        let failed = call.failure.as_ref().map(|failure| failure.detail.contains("`audit-record` has no record"));
        let logged = call.log.first().map(|line| line.message.contains("`audit-record` has no record"));
        let expected = match number {
            0..3 => (None, Some(true)),
            3..5 => (Some(true), None),
            _ => (None, Some(false)),
        };
        assert_eq!((failed, logged), expected, "{step}: {call:?}");
        drained(&host).await;
        assert!(state_in(&log).is_empty() && session.reminders().is_empty());
    }
}

#[tokio::test]
async fn what_one_call_brings_into_the_log_is_bounded_as_it_is_written() {
    let logs: Vec<_> = (0..20).map(|_| json!({"log": "{value}"})).collect();
    let sets: Vec<_> = (0..20).map(|key| json!({"set": ["plugin", key.to_string(), "{value}"]})).collect();
    let gets: Vec<_> = (0..20).map(|key| json!({"get": ["plugin", key.to_string()]})).collect();
    let bounds = [
        plugin("a", json!({"prompt-submit": {"do": logs}})),
        plugin("b", json!({"prompt-submit": {"do": sets}, "custom-event": {"do": gets}})),
    ];
    let (_directory, log, builder) = recording(bounds.to_vec());
    let host = builder.build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    // Each byte is six in the log.
    let prompt = session.prompt_submit("\0".repeat(20_000)).await.record;
    let custom = session
        .dispatch_event(EventKind::CustomEvent, payload(EventKind::CustomEvent), DispatchOptions::default())
        .await
        .unwrap()
        .record;
    assert!(prompt.calls.iter().all(|call| call.failure.is_none()), "{:?}", prompt.calls);
    let [logged, wrote] = &prompt.calls[..] else { panic!("{:?}", prompt.calls) };
    assert_eq!((logged.log.len(), logged.log_dropped), (0, 20));
    assert_eq!((wrote.wrote.len(), wrote.wrote_dropped), (2, 18));
    assert!(
        custom.not_replayable.iter().any(|why| why.contains("more keys of its state")),
        "{:?}",
        custom.not_replayable
    );
    for record in [prompt, custom] {
        let size = serde_json::to_string(&record).unwrap().len();
        assert!(size < 600 << 10, "{size}");
    }
    drained(&host).await;
    // What found no room in the record is still applied.
    assert_eq!(state_in(&log).len(), 20);
}

#[tokio::test]
async fn events_that_come_too_fast_for_observers_are_counted_recorded_and_reported() {
    let mut slow = plugin("o", json!({"stream-end": {"misbehave": "sleep"}}));
    slow.limits.compute = Some(Duration::from_secs(600));
    slow.limits.deadline = Some(Duration::from_secs(600));
    let (_directory, log, builder) = recording(vec![slow]);
    let host = builder.build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    let more = 7;
    for _ in 0..MAX_WAITING + 1 + more {
        let _ = session.stream_end("text".into()).await;
        // The first is being told, so that the queue is empty again.
        tokio::task::yield_now().await;
    }
    let given_up = host.drain(Duration::from_millis(50)).await.unwrap();
    assert_eq!(given_up, MAX_WAITING as u64 + 1);
    let dropped: u64 = written(&log)
        .iter()
        .filter_map(|entry| match entry {
            Record::Dropped(dropped) => Some(dropped.events["stream-end"]),
            _ => None,
        })
        .sum();
    assert_eq!(dropped, given_up + more as u64);
    let notices = texts(session.take_notices());
    assert!(notices.iter().any(|notice| notice.contains("missed")), "{notices:?}");
    assert_eq!(records(&log).len(), MAX_WAITING + 1 + more);
}

#[tokio::test]
async fn an_observer_holds_up_no_gate() {
    let mut slow = plugin("o", json!({"stream-end": {"misbehave": "sleep"}}));
    slow.limits.compute = Some(Duration::from_secs(600));
    slow.limits.deadline = Some(Duration::from_secs(600));
    let (_directory, _log, builder) = recording(vec![slow]);
    let host = builder.build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    let _ = session.stream_end("text".into()).await;
    let settled = session.before_tool_call(bash(&session, "ls")).await;
    assert!(matches!(settled.outcome, Decision::Allowed { .. }));
}

#[tokio::test]
async fn state_is_what_the_log_says_was_written() {
    let counts = |name: &str, scope: &str| {
        plugin(name, json!({"any": {"do": [{"increment": [scope, "n", 1]}, {"set": [scope, "last", "{id}"]}]}}))
    };
    let (_directory, log, builder) =
        recording(vec![counts("a", "plugin"), counts("b", "session"), counts("c", "tree")]);
    let host = builder.build().await.unwrap();
    let mut sessions: Vec<_> = (0..3).map(|_| host.open_session(spec()).unwrap()).collect();
    let below = spec().under(sessions[0].id(), 1);
    sessions.push(host.open_session(below).unwrap());
    for event in EventKind::ALL.iter().copied().cycle().take(60) {
        for session in &sessions {
            let _ = session.dispatch_event(event, payload(event), DispatchOptions::default()).await.unwrap();
        }
    }
    drained(&host).await;
    assert_eq!(state_in(&log), state_by(&written(&log)));
}
