//! A failure is not a verdict: each kind is told apart, stopped in time, and hurts nobody else.

use crate::failure_kinds::with_limits;
use crate::stillborn::{EXIT, stillborn};
use crate::support::{bash, plugin, session, texts};
use futures_util::future::BoxFuture;
use hookhost::approval::{Approval, ApprovalRequest, Approver};
use hookhost::audit;
use hookhost::config::{Entry, Limits, OnFailure, Settings};
use hookhost::contract::{Cause, ToolCall};
use hookhost::replay::replay;
use hookhost::store::Log;
use hookhost::{Config, Decision, FailureKind, Host, Session, TransformOutcome};
use serde_json::{Value, json};
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

fn misbehaving(name: &str, how: &str) -> Entry {
    plugin(name, json!({"before-tool-call": {"when": {"contains": "bad"}, "misbehave": how}}))
}

async fn ask(session: &Session, command: &str) -> Decision<ToolCall, hookhost::contract::ToolResult> {
    session.before_tool_call(bash(session, command)).await.outcome
}

fn failure(outcome: &Decision<ToolCall, hookhost::contract::ToolResult>) -> FailureKind {
    match outcome {
        Decision::Rejected(rejection) => match rejection.cause {
            Cause::Failed(kind) => kind,
            cause => panic!("{cause:?}: {rejection}"),
        },
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn each_kind_of_failure_is_told_apart_and_the_next_event_works() {
    let cases: Vec<(Entry, FailureKind)> = vec![
        (misbehaving("p", "trap"), FailureKind::Trap),
        (misbehaving("p", "recurse"), FailureKind::Trap),
        (misbehaving("p", "exit"), FailureKind::Trap),
        (
            with_limits(misbehaving("p", "loop"), |limits| limits.fuel = NonZeroU64::new(1_000_000).unwrap()),
            FailureKind::OutOfFuel,
        ),
        (
            with_limits(misbehaving("p", "loop"), |limits| limits.compute = Some(Duration::from_millis(20))),
            FailureKind::Compute,
        ),
        (
            with_limits(misbehaving("p", "sleep"), |limits| {
                limits.compute = Some(Duration::from_millis(20));
                limits.deadline = Some(Duration::from_millis(20));
            }),
            FailureKind::Deadline,
        ),
        (with_limits(misbehaving("p", "allocate"), |_| {}), FailureKind::OutOfMemory),
        (with_limits(misbehaving("p", "big-answer"), |_| {}), FailureKind::AnswerTooLarge),
        (
            with_limits(misbehaving("p", "flood"), |limits| limits.capability_calls = NonZeroU32::new(50).unwrap()),
            FailureKind::CapabilityCalls,
        ),
        (misbehaving("p", "invalid-json"), FailureKind::InvalidAnswer),
    ];
    for (mut entry, kind) in cases {
        let how = entry.config.clone();
        if kind == FailureKind::AnswerTooLarge {
            entry.limits.memory = NonZeroUsize::new(64 << 20).unwrap();
        }
        let session = session(vec![entry]).await;
        assert_eq!(failure(&ask(&session, "bad").await), kind, "{how:?}");
        assert!(matches!(ask(&session, "good").await, Decision::Allowed { .. }), "{how:?}");
    }
}

#[tokio::test]
async fn an_event_larger_than_the_input_limit_is_a_failure_and_never_cut() {
    let mut entry = plugin("p", json!({}));
    entry.limits.input = NonZeroUsize::new(300).unwrap();
    let session = session(vec![entry]).await;
    assert!(matches!(ask(&session, "short").await, Decision::Allowed { .. }));
    assert_eq!(failure(&ask(&session, &"x".repeat(300)).await), FailureKind::Oversized);
}

#[tokio::test]
async fn an_event_that_is_larger_than_the_input_limit_trips_no_plugin() {
    let mut entry = plugin("p", json!({}));
    entry.limits.input = NonZeroUsize::new(300).unwrap();
    let session = session(vec![entry]).await;
    for _ in 0..5 {
        let outcome = ask(&session, &"x".repeat(300)).await;
        assert_eq!(failure(&outcome), FailureKind::Oversized);
        let said = "Rejected because the plugin p was not asked: the event has ";
        assert!(outcome.to_string().starts_with(said), "{outcome}");
        assert!(outcome.to_string().ends_with(" bytes, limits.input is 300"), "{outcome}");
    }
    assert!(matches!(ask(&session, "short").await, Decision::Allowed { .. }));
    // The record of such an event, which the plugin observes in the background, is larger than the limit, too.
    let mut told = texts(session.take_notices());
    told.retain(|text| !text.contains(" on audit-record: "));
    assert_eq!(told, [""; 0]);
}

#[tokio::test]
async fn what_a_large_event_uses_up_trips_no_plugin_and_a_plugin_that_loops_on_small_ones_is_tripped() {
    let large = format!("bad {}", "x".repeat(8 * 1024));
    let cases: [(Entry, FailureKind, &str); 3] = [
        (
            with_limits(misbehaving("p", "loop"), |limits| limits.fuel = NonZeroU64::new(5_000_000).unwrap()),
            FailureKind::OutOfFuel,
            "it used up its fuel of 5000000 (limits.fuel)",
        ),
        (
            with_limits(misbehaving("p", "loop"), |limits| limits.compute = Some(Duration::from_millis(20))),
            FailureKind::Compute,
            "it computed for longer than 20ms (limits.compute)",
        ),
        (with_limits(misbehaving("p", "allocate"), |_| {}), FailureKind::OutOfMemory, "(limits.memory)"),
    ];
    for (entry, kind, why) in cases {
        let session = session(vec![entry]).await;
        for _ in 0..4 {
            let outcome = ask(&session, &large).await;
            assert_eq!(failure(&outcome), FailureKind::Oversized, "{kind:?}");
            let said = outcome.to_string();
            assert!(said.starts_with("Rejected because the plugin p could not handle an event of "), "{said}");
            assert!(said.contains(" bytes: it ") && said.ends_with(why), "{said}");
        }
        assert!(matches!(ask(&session, "good").await, Decision::Allowed { .. }), "{kind:?}");
        for _ in 0..3 {
            assert_eq!(failure(&ask(&session, "bad").await), kind);
            // It neither counts nor ends the row.
            assert!(matches!(failure(&ask(&session, &large).await), FailureKind::Oversized | FailureKind::Tripped));
        }
        assert_eq!(failure(&ask(&session, "good").await), FailureKind::Tripped, "{kind:?}");
    }
    // Where a person is asked about what it could not handle, a small event is like a large one.
    let mut asking = with_limits(misbehaving("p", "loop"), |limits| limits.fuel = NonZeroU64::new(5_000_000).unwrap());
    asking.on_failure = Some(OnFailure::Ask);
    let asking = session(vec![asking]).await;
    for _ in 0..4 {
        let settled = asking.before_tool_call(bash(&asking, "bad")).await;
        assert_eq!(settled.record.calls[0].failure.as_ref().unwrap().kind, FailureKind::Oversized);
    }
    assert!(matches!(ask(&asking, "good").await, Decision::Allowed { .. }));
    // A trap is the plugin's own, whatever the size.
    let session = session(vec![misbehaving("p", "trap")]).await;
    assert_eq!(failure(&ask(&session, &large).await), FailureKind::Trap);
}

#[tokio::test]
async fn a_person_who_decides_about_a_failure_says_yes_to_exactly_the_value_that_the_plugin_did_not_judge() {
    struct Says(bool, Mutex<Vec<ApprovalRequest>>);
    impl Approver for Says {
        fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, Approval> {
            self.1.lock().unwrap().push(request);
            let approval = if self.0 { Approval::yes() } else { Approval::no() };
            Box::pin(async { approval })
        }
    }
    let large = "x".repeat(400);
    for says_yes in [true, false] {
        let mut guard = plugin("guard", json!({}));
        guard.limits.input = NonZeroUsize::new(300).unwrap();
        guard.on_failure = Some(OnFailure::Ask);
        let adds = json!({"before-tool-call": {"verdict": "modify", "value": {"command": "{command} -n"}, "when": {"round": 1}}});
        let entries = vec![guard, plugin("tidy", adds)];
        let again = crate::support::host(entries.clone()).await;
        let (_directory, log, builder) = crate::support::recording(entries);
        let person = Arc::new(Says(says_yes, Mutex::default()));
        let host = builder.approver(Arc::clone(&person) as _).build().await.unwrap();
        let session = host.open_session(crate::support::spec()).unwrap();
        let settled = session.before_tool_call(bash(&session, &large)).await;
        let asked = person.1.lock().unwrap().clone();
        let [request] = &asked[..] else { panic!("{asked:?}") };
        let [question] = &request.questions[..] else { panic!("{request:?}") };
        assert_eq!(question.by.to_string(), "guard");
        let words = &question.escalation.question;
        assert!(words.starts_with("guard was not asked: the event has "), "{words}");
        assert!(
            words.ends_with(" bytes, limits.input is 300. Allow the event without this plugin's answer?"),
            "{words}"
        );
        assert!(request.value.get().contains(&format!("{large} -n")), "{}", request.value);
        match settled.outcome {
            Decision::Allowed { value } if says_yes => {
                assert_eq!(value.arguments.as_str(), json!({ "command": format!("{large} -n") }).to_string());
            }
            Decision::Rejected(rejection) if !says_yes => {
                assert_eq!((rejection.cause, &rejection.by[..]), (Cause::NotApproved, &["guard".to_owned()][..]));
            }
            other => panic!("{other:?}"),
        }
        // It is in the log, and replayed as it was.
        drop(session);
        host.drain(Duration::from_secs(20)).await.unwrap();
        let written = crate::support::written(&log);
        let calls = written.iter().flat_map(audit::Record::calls);
        let failures: Vec<_> = calls.filter_map(|call| call.failure.as_ref()).map(|failure| failure.kind).collect();
        assert_eq!(failures, [FailureKind::Oversized; 2]);
        let summary = replay(&again, &Log::open(&log).unwrap(), |event| assert!(event.is_same(), "{event:?}")).await;
        assert_eq!(summary.unwrap().different, 0);
    }
}

#[tokio::test]
async fn where_nobody_can_be_asked_about_a_failure_and_on_a_transform_it_rejects() {
    let mut guard = plugin("guard", json!({"any": {"misbehave": "trap"}}));
    guard.on_failure = Some(OnFailure::Ask);
    let session = session(vec![guard]).await;
    let Decision::Rejected(rejection) = ask(&session, "ls").await else { panic!("it passed") };
    assert_eq!(rejection.cause, Cause::NotApproved);
    assert!(rejection.to_string().contains("guard failed: it trapped: "), "{rejection}");
    let TransformOutcome::Withheld(rejection) = session.finalize_content("secret".into()).await.outcome else {
        panic!("it passed")
    };
    assert_eq!(rejection.cause, Cause::Failed(FailureKind::Trap));
}

#[tokio::test]
async fn a_runaway_guest_does_not_hold_up_another_session() {
    let slow = with_limits(misbehaving("p", "loop"), |limits| {
        limits.compute = Some(Duration::from_millis(500));
        limits.deadline = Some(Duration::from_millis(500));
    });
    let host = crate::support::host(vec![slow]).await;
    let (one, two) =
        (host.open_session(crate::support::spec()).unwrap(), host.open_session(crate::support::spec()).unwrap());
    // Both on one thread: the runaway yields at every epoch.
    let runaway = ask(&one, "bad");
    let neighbour = async {
        let began = Instant::now();
        let outcome = ask(&two, "good").await;
        (outcome, began.elapsed())
    };
    let (runaway, (neighbour, took)) = tokio::join!(runaway, neighbour);
    assert!(failure(&runaway).is_timeout());
    assert!(matches!(neighbour, Decision::Allowed { .. }));
    assert!(took < Duration::from_millis(400), "{took:?}");
}

#[tokio::test]
async fn a_skipped_failure_lets_the_others_decide() {
    let mut failing = misbehaving("p", "trap");
    failing.on_failure = Some(OnFailure::Skip);
    let session = session(vec![failing]).await;
    let settled = session.before_tool_call(bash(&session, "bad")).await;
    assert!(matches!(settled.outcome, Decision::Allowed { .. }));
    assert_eq!(settled.record.calls[0].failure.as_ref().unwrap().kind, FailureKind::Trap);
}

#[tokio::test]
async fn a_plugin_that_keeps_failing_is_tripped_and_the_user_is_told_once() {
    let session = session(vec![misbehaving("p", "trap")]).await;
    for _ in 0..3 {
        assert!(session.take_notices().is_empty());
        assert_eq!(failure(&ask(&session, "bad").await), FailureKind::Trap);
    }
    let notices = texts(session.take_notices());
    assert!(notices.len() == 1 && notices[0].contains("the plugin p failed 3 times in a row"), "{notices:?}");
    // It is not asked any more, so not even what it would allow goes through.
    let settled = session.before_tool_call(bash(&session, "good")).await;
    assert_eq!(failure(&settled.outcome), FailureKind::Tripped);
    assert_eq!(settled.record.calls[0].fuel, 0);
    assert!(session.take_notices().is_empty());
}

#[tokio::test]
async fn a_success_in_between_keeps_a_plugin_from_being_tripped() {
    let session = session(vec![misbehaving("p", "trap")]).await;
    for _ in 0..3 {
        assert_eq!(failure(&ask(&session, "bad").await), FailureKind::Trap);
        assert!(matches!(ask(&session, "good").await, Decision::Allowed { .. }));
    }
}

#[tokio::test]
async fn a_value_that_could_not_be_redacted_is_withheld() {
    let entry = plugin("p", json!({"finalize-content": {"misbehave": "trap"}}));
    let session = session(vec![entry]).await;
    let outcome = session.finalize_content("secret".into()).await.outcome;
    let text = serde_json::to_string(&outcome).unwrap();
    assert!(text.contains("withheld") && !text.contains("secret"), "{text}");
}

#[tokio::test]
async fn what_goes_wrong_while_an_instance_is_made_is_told_apart_too() {
    let for_ever = "(loop br 0)";
    let less_fuel = |limits: &mut Limits| limits.fuel = NonZeroU64::new(1_000_000).unwrap();
    let less_time = |limits: &mut Limits| limits.compute = Some(Duration::from_millis(20));
    for (entry, kind) in [
        (stillborn("p", EXIT), FailureKind::NotInstantiated),
        (stillborn("p", "unreachable"), FailureKind::Trap),
        (with_limits(stillborn("p", for_ever), less_fuel), FailureKind::OutOfFuel),
        (with_limits(stillborn("p", for_ever), less_time), FailureKind::Compute),
    ] {
        // It loads, also where no earlier run has kept that it does: what goes wrong does so only in an event.
        let config = Config::from_entries(vec![entry], Settings::default()).unwrap();
        let host = Host::builder(config).without_cache().build().await.unwrap();
        let session = host.open_session(crate::support::spec()).unwrap();
        let settled = session.prompt_submit("x".into()).await;
        let TransformOutcome::Withheld(rejection) = settled.outcome else { panic!("{kind:?}: {:?}", settled.record) };
        assert_eq!(rejection.cause, Cause::Failed(kind));
        assert_eq!(settled.record.calls[0].failure.as_ref().unwrap().kind, kind);
    }
}

#[tokio::test]
async fn invalid_changes_of_a_tool_call_are_failures() {
    let cases: [(Value, &str); 4] = [
        (json!({"verdict": "modify", "value": [1]}), "not a JSON object"),
        (json!({"verdict": "modify", "value": {"cmd": "x"}}), "does not take"),
        (json!({"verdict": "rewrite", "value": {"fetch": "http://x"}}), "cannot do what the rewritten action asks for"),
        (json!({"misbehave": "invalid-json"}), "not JSON"),
    ];
    for (behaviour, why) in cases {
        let host = crate::support::host(vec![plugin("p", json!({ "before-tool-call": behaviour }))]).await;
        let mut spec = crate::support::spec();
        let schema = json!({"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]});
        spec.tools = vec![hookhost::contract::ToolSpec::new("bash", schema)];
        let session = host.open_session(spec).unwrap();
        let outcome = ask(&session, "ls").await;
        assert_eq!(failure(&outcome), FailureKind::InvalidAnswer);
        let Decision::Rejected(rejection) = outcome else { unreachable!() };
        assert!(rejection.to_string().contains(why), "{rejection}");
    }
}

#[tokio::test]
async fn a_failure_that_has_no_consequence_is_reported_once_for_each_plugin_and_session() {
    let mut skipped = misbehaving("skipped", "trap");
    skipped.on_failure = Some(OnFailure::Skip);
    let mut observes = misbehaving("observes", "trap");
    observes.mode = hookhost::config::Mode::Observe;
    let observer = plugin("observer", json!({"stream-end": {"misbehave": "trap"}}));
    let host = crate::support::host(vec![skipped, observes, observer]).await;
    let session = host.open_session(crate::support::spec()).unwrap();
    for _ in 0..2 {
        assert!(matches!(ask(&session, "bad").await, Decision::Allowed { .. }));
    }
    let told = texts(session.take_notices());
    let of = |name: &str, why: &str| {
        let said = |notice: &&String| {
            notice.starts_with(&format!("the plugin {name} failed on before-tool-call: it trapped: "))
                && notice.contains(why)
        };
        told.iter().filter(said).count()
    };
    let mode = "its `mode = \"observe\"` let the event pass";
    assert_eq!(
        [of("skipped", "its `on-failure = \"skip\"` let the event pass"), of("observes", mode)],
        [1, 1],
        "{told:?}"
    );
    assert_eq!(told.len(), 2, "{told:?}");

    // An observer fails when nobody asks the session any more.
    let _ = session.stream_end("x".into()).await;
    drop(session);
    host.drain(Duration::from_secs(20)).await.unwrap();
    let told = texts(host.take_notices());
    assert!(matches!(&told[..], [one] if one.starts_with("the plugin observer failed on stream-end: it ")), "{told:?}");
}
