//! A failure is not a verdict: each kind is told apart, stopped in time, and hurts nobody else.

use crate::failure_kinds::with_limits;
use crate::stillborn::{EXIT, stillborn};
use crate::support::{bash, plugin, session, session_on, texts};
use hookhost::config::{Entry, Limits, OnFailure, Settings};
use hookhost::contract::{Cause, ToolCall};
use hookhost::{Config, Engine, FailureKind, GateOutcome, Host, Session, TransformOutcome};
use serde_json::{Value, json};
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::time::{Duration, Instant};

fn misbehaving(name: &str, how: &str) -> Entry {
    plugin(name, json!({"before-tool-call": {"when": {"contains": "bad"}, "misbehave": how}}))
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
        let pooled = session(vec![entry.clone()]).await;
        let on_demand = session_on(&Engine::without_pools(), vec![entry]).await;
        for session in [pooled, on_demand] {
            assert_eq!(failure(&ask(&session, "bad").await), kind, "{how:?}");
            assert!(matches!(ask(&session, "good").await, GateOutcome::Allowed { .. }), "{how:?}");
        }
    }
}

#[tokio::test]
async fn an_event_larger_than_the_input_limit_is_a_failure_and_never_cut() {
    let mut entry = plugin("p", json!({}));
    entry.limits.input = NonZeroUsize::new(300).unwrap();
    let session = session(vec![entry]).await;
    assert!(matches!(ask(&session, "short").await, GateOutcome::Allowed { .. }));
    assert_eq!(failure(&ask(&session, &"x".repeat(300)).await), FailureKind::Oversized);
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
    assert!(matches!(neighbour, GateOutcome::Allowed { .. }));
    assert!(took < Duration::from_millis(400), "{took:?}");
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
        let GateOutcome::Rejected(rejection) = outcome else { unreachable!() };
        assert!(rejection.to_string().contains(why), "{rejection}");
    }
}

#[tokio::test]
async fn a_failure_that_has_no_consequence_is_reported_once_for_each_plugin_and_session() {
    let mut skipped = misbehaving("skipped", "trap");
    skipped.on_failure = Some(OnFailure::Skip);
    let mut audits = misbehaving("audits", "trap");
    audits.mode = hookhost::config::Mode::Audit;
    let observer = plugin("observer", json!({"stream-end": {"misbehave": "trap"}}));
    let host = crate::support::host(vec![skipped, audits, observer]).await;
    let session = host.open_session(crate::support::spec()).unwrap();
    for _ in 0..2 {
        assert!(matches!(ask(&session, "bad").await, GateOutcome::Allowed { .. }));
    }
    let told = texts(session.take_notices());
    let of = |name: &str, why: &str| {
        let said = |notice: &&String| {
            notice.starts_with(&format!("the plugin {name} failed on before-tool-call: it trapped: "))
                && notice.contains(why)
        };
        told.iter().filter(said).count()
    };
    let mode = "its `mode = \"audit\"` let the event pass";
    assert_eq!(
        [of("skipped", "its `on-failure = \"skip\"` let the event pass"), of("audits", mode)],
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
