//! Tests of what plugins can do with tool calls: `before-tool-call`, `before-tools` and `after-tool-call`.

use crate::support::{Fake, Harness, Prepared, SharedHost, calls, on, rejected_by_guard, results, says, stored};
use hookhost_agent::agent::{AgentEvent, Status};
use hookhost_models::message::Message;
use serde_json::json;
use std::sync::Arc;

/// The behaviour of the plugins in each test. All tests of this file share one host.
static HOST: SharedHost = SharedHost::new(|| {
    vec![
        on(
            "a_rejected_call_does_not_run_and_the_model_continues_with_the_reason",
            "guard",
            json!({ "before-tool-call": { "when": { "contains": "forbidden" }, "verdict": "reject", "reason": "not this one", "code": "g.1" } }),
        ),
        on(
            "a_refusal_with_stop_ends_the_run_and_no_other_call_runs",
            "guard",
            json!({ "before-tool-call": { "when": { "contains": "second" }, "verdict": "reject", "reason": "enough", "stop": true } }),
        ),
        on(
            "the_same_refused_call_five_times_ends_the_run",
            "guard",
            json!({ "before-tool-call": { "verdict": "reject", "reason": "no" } }),
        ),
        on(
            "a_model_that_plans_tasks_has_no_more_tries_for_that",
            "guard",
            json!({ "before-tool-call": { "when": { "contains": "command" }, "verdict": "reject", "reason": "no" } }),
        ),
        on(
            "refused_calls_that_differ_a_little_end_the_run_too",
            "guard",
            json!({ "before-tool-call": { "verdict": "reject", "reason": "no" } }),
        ),
        on(
            "a_call_that_is_carried_out_resets_the_count_of_refused_answers",
            "guard",
            json!({ "before-tool-call": { "when": { "contains": "x " }, "verdict": "reject", "reason": "no" } }),
        ),
        on(
            "a_changed_call_runs_as_changed_and_the_change_is_reported",
            "guard",
            json!({ "before-tool-call": { "when": { "contains": "\"a\"" }, "verdict": "modify", "value": { "path": "b", "content": "changed" } } }),
        ),
        on(
            "a_response_is_the_result_and_passes_after_tool_call_as_the_plugins",
            "guard",
            json!({ "before-tool-call": { "verdict": "respond", "value": { "text": "from the plugin", "is-error": false } } }),
        ),
        on(
            "a_response_is_the_result_and_passes_after_tool_call_as_the_plugins",
            "masker",
            json!({ "after-tool-call": { "verdict": "replace", "value": "{value}, by a {source}" } }),
        ),
        on(
            "a_rejected_batch_runs_none_of_its_calls",
            "guard",
            json!({ "before-tools": { "verdict": "reject", "reason": "not together" } }),
        ),
        on(
            "a_batch_holds_the_calls_as_settled_and_only_those_that_are_to_run",
            "guard",
            json!({ "before-tool-call": [
            { "when": { "contains": "drop" }, "verdict": "reject", "reason": "no" },
            { "when": { "contains": "change" }, "verdict": "modify", "value": { "command": "echo settled" } },
        ] }),
        ),
        on(
            "a_batch_holds_the_calls_as_settled_and_only_those_that_are_to_run",
            "masker",
            json!({ "before-tools": { "verdict": "reject", "reason": "{value}" } }),
        ),
        on(
            "a_masked_result_reaches_nobody_in_its_first_form",
            "masker",
            json!({ "after-tool-call": { "when": { "contains": "hunter2" }, "verdict": "replace", "value": "masked" } }),
        ),
        on(
            "a_failed_plugin_is_told_apart_from_a_rejection",
            "guard",
            json!({ "before-tool-call": { "misbehave": "trap" } }),
        ),
        on(
            "a_plugin_that_keeps_failing_is_announced_once",
            "guard",
            json!({ "after-inference": { "misbehave": "trap" }, "before-tool-call": { "misbehave": "trap" } }),
        ),
        on(
            "a_rewritten_action_is_what_runs",
            "guard",
            json!({ "before-tool-call": { "when": { "contains": "\"a\"" }, "verdict": "rewrite", "value": { "read-file": "b" } } }),
        ),
        // The tool `bash` has no argument for another directory.
        on(
            "a_rewrite_that_the_tool_cannot_carry_is_a_failure_and_nothing_runs",
            "guard",
            json!({ "before-tool-call": { "verdict": "rewrite", "value": { "shell": { "command": "true", "cwd": "/", "dialect": "posix" } } } }),
        ),
        on(
            "withheld",
            "guard",
            json!({ "after-tool-call": { "when": { "contains": "secret" }, "verdict": "reject", "reason": "a secret" } }),
        ),
        on(
            "withheld.stop",
            "guard",
            json!({ "after-tool-call": { "when": { "contains": "secret" }, "verdict": "reject", "reason": "a secret", "stop": true } }),
        ),
        on(
            "an_escalation_that_nobody_answers_is_a_no",
            "guard",
            json!({ "before-tool-call": { "verdict": "escalate", "question": "really?" } }),
        ),
    ]
});

#[tokio::test]
async fn a_rejected_call_does_not_run_and_the_model_continues_with_the_reason() {
    let refused = json!({ "path": "forbidden", "content": "" });
    let harness = Harness::on(
        &HOST,
        "a_rejected_call_does_not_run_and_the_model_continues_with_the_reason",
        [
            calls([("write_file", refused.clone()), ("write_file", json!({ "path": "fine", "content": "" }))]),
            says("Then not."),
        ],
    )
    .await;
    let outcome = harness.run().await;
    assert_eq!(outcome.status, Status::Success);
    assert!(!harness.path("forbidden").exists() && harness.path("fine").exists());
    let messages = stored(&outcome);
    assert_eq!(results(&messages), [("Rejected by guard: not this one", true), ("wrote 0 bytes to fine", false)]);
    let refusal = rejected_by_guard("not this one", Some("g.1"));
    let event = AgentEvent::ToolRejected { id: "c1".into(), name: "write_file".into(), arguments: refused, refusal };
    assert!(harness.events().contains(&event));
}

#[tokio::test]
async fn a_refusal_with_stop_ends_the_run_and_no_other_call_runs() {
    let write = |path: &str| ("write_file", json!({ "path": path, "content": "" }));
    let harness = Harness::on(
        &HOST,
        "a_refusal_with_stop_ends_the_run_and_no_other_call_runs",
        [calls([write("first"), write("second"), write("third")])],
    )
    .await;
    let outcome = harness.run().await;
    assert_eq!(outcome.status, Status::Rejected);
    assert_eq!(outcome.reason.as_deref(), Some("Rejected by guard: enough"));
    assert_eq!(outcome.rejection.as_ref().unwrap().by, ["guard"]);
    // In this host a plugin subscribes to `before-tools`, so plugins decide on all calls before any call runs.
    assert!(!harness.path("first").exists() && !harness.path("third").exists());
    let messages = stored(&outcome);
    let texts: Vec<_> = results(&messages).into_iter().map(|(text, _)| text).collect();
    let not_run = "not run: Rejected by guard: enough";
    assert_eq!(texts, [not_run, "Rejected by guard: enough", not_run]);
    assert_eq!(harness.fake.requests().len(), 1);
}

#[tokio::test]
async fn the_same_refused_call_five_times_ends_the_run() {
    let again = || calls([("bash", json!({ "command": "x" }))]);
    let other = || calls([("bash", json!({ "command": "y" }))]);
    let harness = Harness::on(
        &HOST,
        "the_same_refused_call_five_times_ends_the_run",
        [again(), again(), other(), again(), again(), again(), says("never")],
    )
    .await;
    let outcome = harness.run().await;
    assert_eq!((outcome.status, outcome.turns), (Status::Rejected, 6));
    let reason = outcome.reason.clone().unwrap();
    assert!(
        reason.starts_with("the model repeated a rejected call of bash 5 times in this run: Rejected by guard"),
        "{reason}"
    );
    stored(&outcome);
}

#[tokio::test]
async fn a_model_that_plans_tasks_has_no_more_tries_for_that() {
    let again = || calls([("bash", json!({ "command": "x" }))]);
    let plan = json!({ "title": "Two", "tasks": ["a", "b"] });
    let answers = [
        calls([("submit_plan", plan)]),
        says("Planned."),
        again(),
        again(),
        again(),
        says("a is done"),
        again(),
        again(),
        says("never"),
    ];
    let outcome = Harness::on(&HOST, "a_model_that_plans_tasks_has_no_more_tries_for_that", answers).await.run().await;
    let reason = outcome.reason.clone().unwrap_or_default();
    assert!(reason.starts_with("the model repeated a rejected call of bash 5 times in this run"), "{outcome:?}");
}

/// Number of consecutive answers with refused calls that end the run.
const IN_A_ROW: u32 = hookhost_agent::agent::MAX_REJECTED_ANSWERS;

fn varied(numbers: std::ops::Range<u32>) -> impl Iterator<Item = Prepared> {
    numbers.map(|number| calls([("bash", json!({ "command": format!("x {number}") }))]))
}

#[tokio::test]
async fn refused_calls_that_differ_a_little_end_the_run_too() {
    let mut harness = Harness::on(&HOST, "refused_calls_that_differ_a_little_end_the_run_too", []).await;
    harness.fake = Fake::new("fake", varied(0..IN_A_ROW).chain([says("never")]));
    harness.provider = Arc::clone(&harness.fake) as _;
    let outcome = harness.run().await;
    assert_eq!((outcome.status, outcome.turns), (Status::Rejected, IN_A_ROW));
    let reason = outcome.reason.clone().unwrap();
    let said = format!(
        "all calls of the last {IN_A_ROW} answers in this run were rejected; the last rejection was: Rejected by guard"
    );
    assert!(reason.starts_with(&said), "{reason}");
    stored(&outcome);
}

#[tokio::test]
async fn a_call_that_is_carried_out_resets_the_count_of_refused_answers() {
    let name = "a_call_that_is_carried_out_resets_the_count_of_refused_answers";
    let mut harness = Harness::on(&HOST, name, []).await;
    let bash = |command: &str| ("bash", json!({ "command": command }));
    let most = IN_A_ROW - 1;
    let between = calls([bash("x between"), bash("true")]);
    let answers = varied(0..most).chain([between]).chain(varied(most..2 * most)).chain([says("Done.")]);
    harness.fake = Fake::new("fake", answers);
    harness.provider = Arc::clone(&harness.fake) as _;
    let outcome = harness.run().await;
    assert_eq!((outcome.status, outcome.text.as_str()), (Status::Success, "Done."), "{:?}", outcome.reason);
}

#[tokio::test]
async fn a_changed_call_runs_as_changed_and_the_change_is_reported() {
    let before = json!({ "path": "a", "content": "as asked" });
    let harness = Harness::on(
        &HOST,
        "a_changed_call_runs_as_changed_and_the_change_is_reported",
        [calls([("write_file", before.clone())]), says("Done.")],
    )
    .await;
    let outcome = harness.run().await;
    assert_eq!(outcome.status, Status::Success);
    assert!(!harness.path("a").exists());
    assert_eq!(std::fs::read_to_string(harness.path("b")).unwrap(), "changed");
    let event = AgentEvent::ToolChanged {
        id: "c1".into(),
        name: "write_file".into(),
        by: vec!["guard".into()],
        before: before.clone(),
        after: json!({ "path": "b", "content": "changed" }),
    };
    assert!(harness.events().contains(&event));
    // The conversation contains the call as the model wrote it.
    let messages = stored(&outcome);
    assert!(matches!(&messages[1], Message::Assistant { tool_calls, .. } if tool_calls[0].arguments == before));
}

#[tokio::test]
async fn a_rewritten_action_is_what_runs() {
    let name = "a_rewritten_action_is_what_runs";
    let answers = [calls([("read_file", json!({ "path": "a", "limit": 1 }))]), says("Done.")];
    let harness = Harness::on(&HOST, name, answers).await;
    std::fs::write(harness.path("b"), "one\ntwo\n").unwrap();
    // The changed action is written back into the tool's arguments, and the other arguments stay as they are.
    let messages = stored(&harness.run().await);
    assert_eq!(results(&messages), [("one\n[lines 1 to 1 of 2; continue with offset 2]", false)]);
}

#[tokio::test]
async fn a_rewrite_that_the_tool_cannot_carry_is_a_failure_and_nothing_runs() {
    let name = "a_rewrite_that_the_tool_cannot_carry_is_a_failure_and_nothing_runs";
    let answers = [calls([("bash", json!({ "command": "touch ran" }))]), says("Done.")];
    let harness = Harness::on(&HOST, name, answers).await;
    let messages = stored(&harness.run().await);
    let (text, is_error) = results(&messages)[0];
    assert!(is_error && text.starts_with("Rejected because the plugin guard failed"), "{text}");
    assert!(!harness.path("ran").exists());
}

#[tokio::test]
async fn a_response_is_the_result_and_passes_after_tool_call_as_the_plugins() {
    let harness = Harness::on(
        &HOST,
        "a_response_is_the_result_and_passes_after_tool_call_as_the_plugins",
        [calls([("write_file", json!({ "path": "a", "content": "" }))]), says("Done.")],
    )
    .await;
    let outcome = harness.run().await;
    assert!(!harness.path("a").exists());
    assert_eq!(results(&stored(&outcome)), [("from the plugin, by a plugin", false)]);
    let events = harness.events();
    assert!(events.contains(&AgentEvent::ToolAnswered {
        id: "c1".into(),
        name: "write_file".into(),
        by: "guard".into()
    }));
    assert!(!events.iter().any(|event| matches!(event, AgentEvent::ToolStarted { .. })));
}

#[tokio::test]
async fn a_rejected_batch_runs_none_of_its_calls() {
    let write = |path: &str| ("write_file", json!({ "path": path, "content": "" }));
    let harness = Harness::on(
        &HOST,
        "a_rejected_batch_runs_none_of_its_calls",
        [calls([write("a"), write("b")]), says("Then not.")],
    )
    .await;
    let outcome = harness.run().await;
    assert_eq!(outcome.status, Status::Success);
    assert!(!harness.path("a").exists() && !harness.path("b").exists());
    let refused = ("Rejected by guard: not together", true);
    assert_eq!(results(&stored(&outcome)), [refused, refused]);
}

#[tokio::test]
async fn a_batch_holds_the_calls_as_settled_and_only_those_that_are_to_run() {
    let bash = |command: &str| ("bash", json!({ "command": command }));
    let harness = Harness::on(
        &HOST,
        "a_batch_holds_the_calls_as_settled_and_only_those_that_are_to_run",
        [calls([bash("drop"), bash("change")]), says("Done.")],
    )
    .await;
    let messages = stored(&harness.run().await);
    let seen = results(&messages)[1].0;
    assert!(seen.contains("echo settled") && !seen.contains("drop") && !seen.contains("change"), "{seen}");
}

#[tokio::test]
async fn a_masked_result_reaches_nobody_in_its_first_form() {
    let harness = Harness::on(
        &HOST,
        "a_masked_result_reaches_nobody_in_its_first_form",
        [calls([("read_file", json!({ "path": "secret" }))]), says("Done.")],
    )
    .await;
    std::fs::write(harness.path("secret"), "hunter2").unwrap();
    let outcome = harness.run().await;
    assert_eq!(results(&stored(&outcome)), [("masked", false)]);
    let events = harness.events();
    let changed = AgentEvent::ResultChanged { id: "c1".into(), name: "read_file".into(), by: vec!["masker".into()] };
    assert!(events.contains(&changed));
    assert!(!serde_json::to_string(&events).unwrap().contains("hunter2"));
    assert!(!format!("{:?}", harness.fake.requests()).contains("hunter2"));
    assert!(!std::fs::read_to_string(outcome.transcript.unwrap()).unwrap().contains("hunter2"));
}

#[tokio::test]
async fn a_rejected_result_is_withheld_and_stop_stops_the_calls_beside_it() {
    let bash = |command: &str| ("bash", json!({ "command": command }));
    for (name, stop) in [("withheld", false), ("withheld.stop", true)] {
        let beside = if stop { "sleep 60; touch later" } else { "touch later" };
        let answers = [calls([bash("echo secret"), bash(beside)]), says("Done.")];
        let harness = Harness::on(&HOST, name, answers).await;
        let outcome = harness.run().await;
        assert_eq!(outcome.status, if stop { Status::Rejected } else { Status::Success });
        assert_eq!(harness.path("later").exists(), !stop);
        assert_eq!(results(&stored(&outcome))[0], ("Rejected by guard: a secret", true));
    }
}

#[tokio::test]
async fn a_failed_plugin_is_told_apart_from_a_rejection() {
    let harness = Harness::on(
        &HOST,
        "a_failed_plugin_is_told_apart_from_a_rejection",
        [calls([("bash", json!({ "command": "touch ran" }))]), says("Done.")],
    )
    .await;
    let outcome = harness.run().await;
    assert!(!harness.path("ran").exists());
    let messages = stored(&outcome);
    assert!(results(&messages)[0].0.starts_with("Rejected because the plugin guard failed: "));
    let refused = harness.events().into_iter().find_map(|event| match event {
        AgentEvent::ToolRejected { refusal, .. } => Some(refusal.cause),
        _ => None,
    });
    assert_eq!(refused, Some("failed"));
}

#[tokio::test]
async fn a_plugin_that_keeps_failing_is_announced_when_it_first_fails_and_when_it_is_tripped() {
    let bash = || calls([("bash", json!({ "command": "true" }))]);
    let harness = Harness::on(
        &HOST,
        "a_plugin_that_keeps_failing_is_announced_once",
        [bash(), bash(), bash(), bash(), says("Done.")],
    )
    .await;
    assert_eq!(harness.run().await.status, Status::Success);
    let notices = harness
        .events()
        .into_iter()
        .filter(|event| matches!(event, AgentEvent::Notice { text } if text.contains("plugin guard")));
    // One notice says that a failure of the plugin was skipped. The other notice says that the plugin is no longer
    // asked.
    assert_eq!(notices.count(), 2);
}

#[tokio::test]
async fn an_escalation_that_nobody_answers_is_a_no() {
    let harness = Harness::on(
        &HOST,
        "an_escalation_that_nobody_answers_is_a_no",
        [calls([("bash", json!({ "command": "touch ran" }))]), says("Done.")],
    )
    .await;
    let outcome = harness.run().await;
    assert!(!harness.path("ran").exists());
    assert!(results(&stored(&outcome))[0].0.starts_with("Rejected: not approved (asked by guard)"));
}
