//! A failing plugin beside others, of every kind, in every place of the chain: it erases no
//! refusal, its answer is never part of the value, and the final value is what the others saw.

use crate::failure_kinds::{Failing, dispatch, failing, kinds, with_limits, with_subscribers};
use crate::support::{host, plugin, spec};
use hookhost::config::{Entry, Mode, OnFailure};
use hookhost::contract::{EventKind, OutcomeKind, Shape};
use hookhost::{Decision, Host};
use serde_json::{Value, json};

/// What the operator can say of a plugin's failures.
const POLICIES: [(Mode, OnFailure); 4] = [
    (Mode::Enforce, OnFailure::Reject),
    (Mode::Enforce, OnFailure::Skip),
    (Mode::Enforce, OnFailure::Ask),
    (Mode::Observe, OnFailure::Reject),
];

/// Whether that lets a failure reject. Nobody is asked about a value on its way.
fn rejects(mode: Mode, on_failure: OnFailure, event: EventKind) -> bool {
    let is_gate = event.shape() == Shape::Gate;
    mode == Mode::Enforce && (on_failure == OnFailure::Reject || on_failure == OnFailure::Ask && !is_gate)
}

fn failing_under(name: &str, kind: &str, mode: Mode, on_failure: OnFailure) -> Failing {
    let mut failing = failing(name, kind);
    (failing.entry.mode, failing.entry.on_failure) = (mode, Some(on_failure));
    failing
}

/// A plugin that does this on every event, with time to do it in.
fn other(name: &str, behaviour: &Value) -> Entry {
    with_limits(plugin(name, behaviour.clone()), |_| {})
}

/// The gates and transforms that a plugin of this host subscribes to.
fn decided(host: &Host, name: &str) -> Vec<EventKind> {
    let subscribes = |event: &EventKind| host.chain(*event).iter().any(|plugin| plugin.name() == name);
    let decided = |event: &EventKind| matches!(event.shape(), Shape::Gate | Shape::Transform);
    with_subscribers(host).filter(decided).filter(subscribes).collect()
}

fn refused(event: EventKind) -> OutcomeKind {
    if event.shape() == Shape::Gate { OutcomeKind::Rejected } else { OutcomeKind::Withheld }
}

#[tokio::test]
async fn a_failing_plugin_erases_no_other_plugins_refusal() {
    let reject = json!({"any": {"verdict": "reject", "reason": "no"}});
    for kind in kinds() {
        for (mode, on_failure) in POLICIES {
            for (name, rejecting) in [("a", "b"), ("b", "a")] {
                let failing = failing_under(name, &kind, mode, on_failure);
                let host = host(vec![failing.entry.clone(), other(rejecting, &reject)]).await;
                let events = decided(&host, name);
                assert!(events.len() >= 2, "{events:?}");
                for event in events {
                    let case = format!("{kind}, {event}, {mode:?}, {on_failure:?}, the failing one is {name}");
                    let session = failing.session(&host, event).await;
                    let settled = dispatch(&session, event).await;
                    assert_eq!(settled.record.outcome, refused(event), "{case}");
                    let (by, cause, asked) = match (name, rejects(mode, on_failure, event)) {
                        ("a", true) => ("a", json!({ "failed": kind }), 1),
                        ("a", false) => ("b", json!("verdict"), 2),
                        _ => ("a", json!("verdict"), 1),
                    };
                    assert_eq!((&settled.outcome["by"], &settled.outcome["cause"]), (&json!([by]), &cause), "{case}");
                    assert_eq!(settled.record.by, [by], "{case}");
                    let calls = &settled.record.calls;
                    assert_eq!(calls.len(), asked, "{case}");
                    let failed = calls.iter().filter(|call| call.plugin == name).all(|call| call.failure.is_some());
                    assert!(failed, "{case}: {calls:?}");
                }
            }
        }
    }
}

/// Another value of each event, where an event has one.
fn changing() -> Value {
    let modify = |value: Value| json!({"verdict": "modify", "value": value});
    json!({
        "any": {"verdict": "replace", "value": "changed"},
        "after-tool-call": {"verdict": "replace", "value": {"text": "changed", "is-error": false}},
        "before-inference": modify(json!({"prompt": "changed"})),
        "before-tool-call": modify(json!({"command": "changed"})),
        "plan-submit": modify(json!({"title": "changed", "tasks": [], "clear-existing": false})),
        "custom-event": modify(json!({"is": "changed"})),
    })
}

#[tokio::test]
async fn beside_a_failing_plugin_the_final_change_is_what_the_others_saw() {
    let watching = json!({"any": {"do": [{"log": "{value}"}]}});
    let changer = host(vec![other("changer", &changing())]).await;
    for kind in kinds() {
        for (mode, on_failure) in POLICIES {
            for place in [1, 15, 25] {
                let mut failing = failing_under("failing", &kind, mode, on_failure);
                failing.entry.priority = place;
                let (mut changes, mut watches) = (other("changer", &changing()), other("watching", &watching));
                (changes.priority, watches.priority) = (10, 20);
                let host = host(vec![failing.entry.clone(), changes, watches]).await;
                let mut changed = 0;
                for event in decided(&host, "failing") {
                    let alone = dispatch(&changer.open_session(spec()).unwrap(), event).await;
                    if alone.record.changed_by.is_empty() {
                        continue;
                    }
                    changed += 1;
                    let case = format!("{kind}, {event}, {mode:?}, {on_failure:?}, at priority {place}");
                    let session = failing.session(&host, event).await;
                    let settled = dispatch(&session, event).await;
                    let calls = &settled.record.calls;
                    assert!(calls.iter().any(|call| call.failure.is_some()), "{case}: {calls:?}");
                    if on_failure == OnFailure::Ask && event.shape() == Shape::Gate {
                        // The final value is what nobody could say no to, and a person is asked about it.
                        assert_eq!(settled.record.outcome, OutcomeKind::Escalated, "{case}");
                        assert_eq!(settled.record.questions.len(), 1, "{case}");
                        assert_eq!(settled.record.questions[0].by.to_string(), "failing", "{case}");
                        assert_eq!(json!(settled.record.last), json!(alone.record.last), "{case}");
                        continue;
                    }
                    if rejects(mode, on_failure, event) {
                        assert_eq!(settled.record.outcome, refused(event), "{case}");
                        assert_eq!(settled.outcome["by"], json!(["failing"]), "{case}");
                        assert_eq!(settled.outcome.get("value"), None, "{case}");
                        continue;
                    }
                    assert_eq!(settled.outcome, alone.outcome, "{case}");
                    assert_eq!(settled.record.changed_by, ["changer"], "{case}");
                    let last = calls.iter().rfind(|call| call.plugin == "watching").unwrap();
                    assert!(last.log[0].message.contains("changed"), "{case}: {last:?}");
                    // It was given the chance to see the final value, too.
                    let tries = calls.iter().filter(|call| call.plugin == "failing").count();
                    let expected = if event.shape() == Shape::Gate && place < 10 { 2 } else { 1 };
                    assert_eq!(tries, expected, "{case}: {calls:?}");
                }
                assert!(changed >= 2, "{kind}: {changed}");
            }
        }
    }
}

#[tokio::test]
async fn a_plugin_that_changes_the_value_and_then_fails_about_anothers_change_did_not_agree_to_it() {
    for (on_failure, is_allowed) in [(OnFailure::Skip, true), (OnFailure::Reject, false)] {
        let changes = |value: &str| json!({"verdict": "modify", "value": {"command": value}});
        let mut first = changes("{command} first");
        first["when"] = json!({"round": 1});
        let mut a = other("a", &json!({"before-tool-call": [first, {"misbehave": "trap"}]}));
        a.on_failure = Some(on_failure);
        let mut second = changes("{command} second");
        second["when"] = json!({"lacks": "second"});
        let b = other("b", &json!({ "before-tool-call": second }));
        let session = host(vec![a, b]).await.open_session(spec()).unwrap();
        let settled = session.before_tool_call(crate::support::bash(&session, "ls")).await;
        let asked: Vec<_> = settled.record.calls.iter().map(|call| (&*call.plugin, call.failure.is_some())).collect();
        assert_eq!(asked, [("a", false), ("b", false), ("a", true)]);
        match settled.outcome {
            Decision::Allowed { value } if is_allowed => {
                assert_eq!(value.arguments, r#"{"command":"ls first second"}"#);
                assert_eq!(settled.record.changed_by, ["a", "b"]);
            }
            Decision::Rejected(rejection) if !is_allowed => assert_eq!(rejection.by, ["a"]),
            other => panic!("{on_failure:?}: {other:?}"),
        }
    }
}
