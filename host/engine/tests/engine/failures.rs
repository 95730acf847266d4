//! A failure is not a verdict: each kind is told apart, stopped in time, and hurts nobody else.

use crate::support::{bash, plugin, session};
use hookhost::allowlist::{Entry, Limits, OnFailure};
use hookhost::contract::ToolCall;
use hookhost::event::EventKind;
use hookhost::session::{Cause, DispatchOptions, FAILURES_TO_TRIP};
use hookhost::{FailureKind, GateOutcome, Session};
use serde_json::{Value, json};
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::time::{Duration, Instant};

fn misbehaving(name: &str, how: &str) -> Entry {
    plugin(name, json!({"before-tool-call": {"when": {"contains": "bad"}, "misbehave": how}}))
}

/// Fuel, and time, for long, so that the limit that is set is reached first also on a slow machine.
fn with_limits(mut entry: Entry, limits: impl FnOnce(&mut Limits)) -> Entry {
    entry.limits.fuel = NonZeroU64::new(1 << 60).unwrap();
    entry.limits.compute = Duration::from_secs(60);
    entry.limits.deadline = Duration::from_secs(60);
    limits(&mut entry.limits);
    entry
}

async fn ask(session: &Session, command: &str) -> GateOutcome<ToolCall, hookhost::contract::ToolResult> {
    session.before_tool_call(bash(session, command)).await.outcome
}

fn failure(outcome: &GateOutcome<ToolCall, hookhost::contract::ToolResult>) -> FailureKind {
    match outcome {
        GateOutcome::Rejected(rejection) => match rejection.cause {
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
            with_limits(misbehaving("p", "loop"), |limits| limits.compute = Duration::from_millis(20)),
            FailureKind::Compute,
        ),
        (
            with_limits(misbehaving("p", "sleep"), |limits| {
                limits.compute = Duration::from_millis(20);
                limits.deadline = Duration::from_millis(20);
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
        assert!(matches!(ask(&session, "good").await, GateOutcome::Allowed { .. }), "{how:?}");
    }
}

#[tokio::test]
async fn an_event_larger_than_the_input_limit_is_a_failure_and_never_cut() {
    let mut entry = plugin("p", json!({}));
    entry.limits.input = NonZeroUsize::new(300).unwrap();
    let session = session(vec![entry]).await;
    assert!(matches!(ask(&session, "short").await, GateOutcome::Allowed { .. }));
    assert_eq!(failure(&ask(&session, &"x".repeat(300)).await), FailureKind::InputTooLarge);
}

#[tokio::test]
async fn a_runaway_guest_does_not_hold_up_another_session() {
    let slow = with_limits(misbehaving("p", "loop"), |limits| {
        limits.compute = Duration::from_millis(500);
        limits.deadline = Duration::from_millis(500);
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
    assert!(matches!(neighbour, GateOutcome::Allowed { .. }));
    assert!(took < Duration::from_millis(400), "{took:?}");
}

#[tokio::test]
async fn a_failing_plugin_erases_no_other_plugins_refusal() {
    for (first, second) in [("a", "b"), ("b", "a")] {
        for how in ["trap", "loop", "exit", "invalid-json"] {
            let mut failing = misbehaving(first, how);
            failing.on_failure = Some(OnFailure::Skip);
            let rejecting = plugin(second, json!({"before-tool-call": {"verdict": "reject", "reason": "no"}}));
            let session = session(vec![failing, rejecting]).await;
            let GateOutcome::Rejected(rejection) = ask(&session, "bad").await else { panic!("{how}: not rejected") };
            assert_eq!((rejection.cause, rejection.by), (Cause::Verdict, vec![second.to_owned()]), "{how}");
        }
    }
}

#[tokio::test]
async fn a_skipped_failure_lets_the_others_decide() {
    let mut failing = misbehaving("p", "trap");
    failing.on_failure = Some(OnFailure::Skip);
    let session = session(vec![failing]).await;
    let settled = session.before_tool_call(bash(&session, "bad")).await;
    assert!(matches!(settled.outcome, GateOutcome::Allowed { .. }));
    assert_eq!(settled.record.calls[0].failure.as_ref().unwrap().kind, FailureKind::Trap);
}

#[tokio::test]
async fn a_plugin_that_keeps_failing_is_tripped_and_the_user_is_told_once() {
    let session = session(vec![misbehaving("p", "trap")]).await;
    for _ in 0..FAILURES_TO_TRIP {
        assert!(session.take_notices().is_empty());
        assert_eq!(failure(&ask(&session, "bad").await), FailureKind::Trap);
    }
    let notices = session.take_notices();
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
    for _ in 0..FAILURES_TO_TRIP {
        assert_eq!(failure(&ask(&session, "bad").await), FailureKind::Trap);
        assert!(matches!(ask(&session, "good").await, GateOutcome::Allowed { .. }));
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
async fn an_observer_that_fails_changes_nothing() {
    let session = session(vec![plugin("p", json!({"stream-end": {"misbehave": "trap"}}))]).await;
    let options = DispatchOptions { await_observers: true, ..DispatchOptions::default() };
    let settled = session.dispatch_event(EventKind::StreamEnd, json!({"text": "text"}), options).await.unwrap();
    assert_eq!(settled.record.calls[0].failure.as_ref().unwrap().kind, FailureKind::Trap);
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
        spec.tools = vec![hookhost::session::ToolSpec { name: "bash".into(), input_schema: schema }];
        let session = host.open_session(spec).unwrap();
        let outcome = ask(&session, "ls").await;
        assert_eq!(failure(&outcome), FailureKind::InvalidAnswer);
        let GateOutcome::Rejected(rejection) = outcome else { unreachable!() };
        assert!(rejection.to_string().contains(why), "{rejection}");
    }
}
