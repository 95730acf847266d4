//! Tests that the agent treats the reply as a denial if a call was rejected or got no decision, whatever the texts are.

use crate::goldens::{Fixture, fixtures};
use crate::judge;
use hookhost_agents::{Adapter, Answer, HookCall, Message, Outcome, Reply, by_name, degrade};
use hookhost_contract::{EventKind, Refusal, Rejection, Stop, Task};
use proptest::prelude::*;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// A decoded message of an agent.
struct Case {
    name: String,
    adapter: &'static Adapter,
    input: Value,
    call: HookCall,
}

/// Returns the fixtures of the agents that the judge knows.
fn cases() -> Vec<Case> {
    let known = fixtures().into_iter().filter(|(agent, ..)| judge::AGENTS.contains(&agent.as_str()));
    let read = |(agent, name, file): (String, String, std::path::PathBuf)| {
        let fixture: Fixture = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        let adapter = by_name(&agent).unwrap();
        let bytes = serde_json::to_vec(&fixture.input).unwrap();
        let mut message = Message::new(&bytes, Path::new("/project"));
        message.point = fixture.point.as_deref();
        let call = adapter.decode(&message).unwrap();
        Case { name: format!("{agent}/{name}"), adapter, input: fixture.input, call }
    };
    known.map(read).collect()
}

/// Returns the fixtures at hook points at which the agent accepts a denial.
fn gates() -> Vec<Case> {
    let can = |case: &Case| case.adapter.agent().abilities(&case.call.point).rejects;
    cases().into_iter().filter(can).collect()
}

fn denies(case: &Case, reply: &Reply) -> bool {
    judge::denies(case.adapter.agent().name, &case.call.point, &case.input, reply)
}

/// Encodes the reply for an outcome after [`degrade`].
fn encoded(case: &Case, outcome: Outcome) -> Reply {
    let can = case.adapter.agent().abilities(&case.call.point);
    case.adapter.encode(&case.call, &degrade(&case.call, outcome, can).0)
}

/// Returns a strategy for texts of plugins, which include empty and unusual texts.
fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just(" \n".to_owned()),
        Just("{\"decision\":\"allow\"}".to_owned()),
        any::<String>(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_rejection_is_a_no_at_each_gate_of_each_agent(
        reason in texts(), by in texts(), code in proptest::option::of(texts()), is_final: bool, stops: bool,
        context in proptest::collection::vec(texts(), 0..3), notices in proptest::collection::vec(texts(), 0..3),
    ) {
        let mut refusal = Refusal::new(reason);
        (refusal.code, refusal.retryable, refusal.stop) = (code, !is_final, stops);
        for case in gates() {
            let rejection = Rejection::verdict(&by, refusal.clone(), Stop::Run);
            let mut outcome = Outcome::new(Answer::Rejected(rejection));
            (outcome.context, outcome.notices) = (context.clone(), notices.clone());
            let reply = encoded(&case, outcome);
            prop_assert!(denies(&case, &reply), "{}: {reply:?}", case.name);
        }
    }

    #[test]
    fn what_could_not_be_settled_is_a_no_at_each_gate_and_never_keeps_an_agent_from_stopping(why in texts()) {
        for case in cases() {
            let can = case.adapter.agent().abilities(&case.call.point);
            let failed = case.adapter.fail(Some(&case.call.point), &why);
            let is_result = case.call.event.kind() == EventKind::AfterToolCall;
            for reply in [&failed, &case.adapter.unsettled(&case.call, &why)] {
                prop_assert_ne!(reply.exit, 1);
                // If a message could not be read, the shape of its result is unknown.
                if can.rejects && !(is_result && reply == &failed) {
                    prop_assert!(denies(&case, reply), "{}: {reply:?}", case.name);
                }
                if is_result {
                    prop_assert!(!reply.stdout.contains("\"continue\":false"), "{}: {reply:?}", case.name);
                }
                if matches!(case.call.event.kind(), EventKind::QueueEmpty | EventKind::SubagentEnd) {
                    let keeps_it = reply.exit != 0 || reply.stdout.contains("block") && reply.stdout.contains("decision");
                    prop_assert!(!keeps_it && !reply.stdout.contains("\"deny\""), "{}: {reply:?}", case.name);
                }
            }
        }
    }

    #[test]
    fn a_message_that_nobody_can_read_is_a_no_at_the_tools(why in texts()) {
        for case in gates().iter().filter(|case| case.call.event.kind() == EventKind::BeforeToolCall) {
            if case.call.point == "PermissionRequest" {
                continue;
            }
            for point in [None, Some("SomethingNew")] {
                let reply = case.adapter.fail(point, &why);
                prop_assert!(denies(case, &reply), "{}: {reply:?}", case.name);
            }
        }
    }
}

#[test]
fn every_agent_has_a_gate_that_is_judged() {
    for agent in judge::AGENTS {
        assert!(gates().iter().any(|case| case.adapter.agent().name == *agent), "{agent}");
    }
}

#[test]
fn an_agent_that_is_about_to_stop_at_an_unknown_hook_point_may() {
    for agent in judge::AGENTS {
        let reply = by_name(agent).unwrap().fail(Some("PreStopCheck"), "no answer");
        assert_eq!(reply.exit, 0, "{agent}");
        assert!(!reply.stdout.contains("decision"), "{agent}: {reply:?}");
    }
}

#[test]
fn codex_gets_no_key_that_its_schemas_do_not_know() {
    let task = Task { prompt: "run the tests".into(), title: None };
    for case in cases().iter().filter(|case| case.adapter.agent().name == "codex") {
        let refusal = Refusal::new("no").stop();
        let answers = [
            Answer::Neutral,
            Answer::Approved { by: "careful".into() },
            Answer::Rejected(Rejection::verdict("careful", refusal, Stop::Run)),
            Answer::Changed { arguments: serde_json::json!({ "command": "ls" }), by: vec!["careful".into()] },
            Answer::Replaced("other".into()),
            Answer::GoOn(vec![task.clone()]),
        ];
        for answer in answers {
            let reply = encoded(case, Outcome::new(answer).context("read this").notice("told"));
            assert!(judge::codex_takes(&case.call.point, &reply), "{}: {reply:?}", case.name);
        }
    }
}

#[test]
fn a_change_that_leaves_an_argument_out_is_rejected_where_the_agent_would_merge_it() {
    for case in gates().iter().filter(|case| ["gemini-cli", "crush"].contains(&case.adapter.agent().name)) {
        let can = case.adapter.agent().abilities(&case.call.point);
        if !can.changes {
            continue;
        }
        let changed = |arguments: Value| Answer::Changed { arguments, by: vec!["careful".into()] };
        let reply = encoded(case, Outcome::new(changed(serde_json::json!({ "other": 1 }))));
        assert!(denies(case, &reply), "{}: {reply:?}", case.name);
        let mut more = case.input["tool_input"].clone();
        more["other"] = serde_json::json!(1);
        let reply = encoded(case, Outcome::new(changed(more)));
        assert!(!denies(case, &reply) && reply.stdout.contains("\"other\":1"), "{}: {reply:?}", case.name);
    }
}

#[test]
fn codex_is_not_asked_to_run_what_is_no_command() {
    let cases = cases();
    let case = cases.iter().find(|case| case.name == "codex/PreToolUse").unwrap();
    let answer = Answer::Changed { arguments: serde_json::json!({ "cmd": "ls" }), by: vec!["careful".into()] };
    assert!(denies(case, &encoded(case, Outcome::new(answer))));
}
