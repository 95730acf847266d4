//! Tests of requests to the model: `before-inference`, reminders, `after-inference` and `token-usage`.

use crate::support::{Fake, Harness, SharedHost, calls, on, rejected_by_guard, results, says, stored};
use hookhost::contract::EventKind;
use hookhost_agent::agent::{AgentEvent, Status};
use hookhost_models::message::Message;
use serde_json::{Value, json};

fn remind(body: &str, turns: u32) -> Value {
    json!({ "body": body, "tags": [], "ttl-turns": turns })
}

/// The behaviour of the plugins in each test. All tests of this file share one host.
static HOST: SharedHost = SharedHost::new(|| {
    vec![
        on(
            "a_changed_request_is_that_request_only",
            "guard",
            json!({ "before-inference": { "when": { "contains": "write_file" }, "verdict": "modify", "value": { "system-prompt": "Other rules.", "prompt": "do something else", "tools": ["bash"] } } }),
        ),
        on(
            "a_tool_that_a_request_did_not_offer_does_not_run",
            "guard",
            json!({ "before-inference": { "verdict": "modify", "value": { "tools": ["read_file"] } } }),
        ),
        on(
            "a_rejected_request_is_not_sent",
            "guard",
            json!({ "before-inference": { "verdict": "reject", "reason": "office hours" } }),
        ),
        on(
            "a_response_is_the_models_answer",
            "guard",
            json!({ "before-inference": { "verdict": "respond", "value": "From the cache." } }),
        ),
        on(
            "reminders_come_after_the_conversation_and_are_not_kept_in_it",
            "guard",
            json!({ "after-tool-call": { "do": [{ "remind": remind("be brief", 1) }] } }),
        ),
        on(
            "a_reminder_lives_as_many_model_calls_as_it_says",
            "guard",
            json!({ "prompt-submit": { "do": [{ "remind": remind("one", 1) }, { "remind": remind("two", 2) }] } }),
        ),
        on(
            "moved",
            "guard",
            json!({ "before-inference": { "verdict": "modify", "value": { "provider": "second", "model": "model-2" } } }),
        ),
        on(
            "moved.elsewhere",
            "guard",
            json!({ "before-inference": { "verdict": "modify", "value": { "provider": "fake", "model": "model-9" } } }),
        ),
        on("used_up", "guard", json!({ "token-usage": { "verdict": "reject", "reason": "used up" } })),
        on(
            "used_up.stop",
            "guard",
            json!({ "token-usage": { "verdict": "reject", "reason": "used up", "stop": true } }),
        ),
        on(
            "a_refused_usage_ends_the_task_and_stops_its_tools",
            "guard",
            json!({ "token-usage": { "verdict": "reject", "reason": "used up" } }),
        ),
        on(
            "plugins_are_told_the_calls_usage_and_the_sessions",
            "guard",
            json!({ "token-usage": { "when": { "contains": "\"session-input-tokens\":200" }, "verdict": "reject", "reason": "{value}", "stop": true } }),
        ),
    ]
});

#[tokio::test]
async fn a_changed_request_is_that_request_only() {
    let mut harness = Harness::on(
        &HOST,
        "a_changed_request_is_that_request_only",
        [calls([("bash", json!({ "command": "true" }))]), says("Done.")],
    )
    .await;
    harness.config.system_prompt = "Rules.".into();
    let outcome = harness.run().await;
    let requests = harness.fake.requests();
    assert_eq!(requests[0].system_prompt, "Other rules.");
    assert_eq!(requests[0].messages, [Message::user("do something else")]);
    assert_eq!(requests[0].tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["bash"]);
    // The plugin changes each request. The conversation itself still contains the user's own prompt.
    assert_eq!(requests[1].messages[0], Message::user("do something else"));
    assert_eq!(stored(&outcome)[0], Message::user("do it"));
    let changed = harness.events().into_iter().find(|event| matches!(event, AgentEvent::Changed { .. })).unwrap();
    let AgentEvent::Changed { event, by, before, after } = changed else { unreachable!() };
    assert_eq!((event, by), (EventKind::BeforeInference, vec!["guard".to_owned()]));
    assert_eq!((before["system-prompt"].as_str(), after["tools"].clone()), (Some("Rules."), json!(["bash"])));
    assert!(after.get("model").is_none());
}

#[tokio::test]
async fn a_tool_that_a_request_did_not_offer_does_not_run() {
    let harness = Harness::on(
        &HOST,
        "a_tool_that_a_request_did_not_offer_does_not_run",
        [calls([("bash", json!({ "command": "touch ran" }))]), says("Done.")],
    )
    .await;
    let outcome = harness.run().await;
    assert!(!harness.path("ran").exists());
    assert_eq!(results(&stored(&outcome)), [("there is no tool `bash`; the tools are: read_file", true)]);
}

#[tokio::test]
async fn a_request_can_be_moved_to_a_configured_model_and_to_no_other() {
    let mut harness = Harness::on(&HOST, "moved", [says("never")]).await;
    let second = Fake::new("second", [says("From the second.")]);
    harness.others = vec![(second.clone(), vec!["model-2".into()])];
    let outcome = harness.run().await;
    assert_eq!(outcome.text, "From the second.");
    assert_eq!(second.requests()[0].model, "model-2");
    let used = harness.events().into_iter().find_map(|event| match event {
        AgentEvent::Usage { provider, model, .. } => Some((provider, model)),
        _ => None,
    });
    assert_eq!(used, Some(("second".into(), "model-2".into())));

    let harness = Harness::on(&HOST, "moved.elsewhere", [says("never")]).await;
    let outcome = harness.run().await;
    assert_eq!(outcome.status, Status::Rejected);
    assert_eq!(outcome.rejection.unwrap().word(), "failed");
    assert!(harness.fake.requests().is_empty());
}

#[tokio::test]
async fn a_rejected_request_is_not_sent() {
    let harness = Harness::on(&HOST, "a_rejected_request_is_not_sent", [says("never")]).await;
    let outcome = harness.run().await;
    assert_eq!((outcome.status, outcome.turns), (Status::Rejected, 0));
    assert!(harness.fake.requests().is_empty());
    let refusal = rejected_by_guard("office hours", None);
    assert!(harness.events().contains(&AgentEvent::Rejected { event: EventKind::BeforeInference, refusal }));
}

#[tokio::test]
async fn a_response_is_the_models_answer() {
    let harness = Harness::on(&HOST, "a_response_is_the_models_answer", [says("never")]).await;
    let outcome = harness.run().await;
    assert_eq!((outcome.status, outcome.text.as_str(), outcome.turns), (Status::Success, "From the cache.", 0));
    assert!(harness.fake.requests().is_empty());
    assert_eq!(harness.shown(), "From the cache.");
    assert_eq!(stored(&outcome)[1].text(), "From the cache.");
    assert!(harness.events().contains(&AgentEvent::Answered { by: "guard".into() }));
}

#[tokio::test]
async fn reminders_come_after_the_conversation_and_are_not_kept_in_it() {
    let bash = || calls([("bash", json!({ "command": "true" }))]);
    let harness =
        Harness::on(&HOST, "reminders_come_after_the_conversation_and_are_not_kept_in_it", [bash(), says("Done.")])
            .await;
    let outcome = harness.run().await;
    let requests = harness.fake.requests();
    assert!(requests[0].reminders.is_empty());
    assert_eq!(requests[1].reminders, ["Reminder from the plugin guard: be brief"]);
    assert_eq!(requests[1].messages, stored(&outcome)[..3]);
}

#[tokio::test]
async fn a_reminder_lives_as_many_model_calls_as_it_says() {
    let bash = || calls([("bash", json!({ "command": "true" }))]);
    let harness =
        Harness::on(&HOST, "a_reminder_lives_as_many_model_calls_as_it_says", [bash(), bash(), says("Done.")]).await;
    harness.run().await;
    let counts: Vec<_> = harness.fake.requests().iter().map(|request| request.reminders.len()).collect();
    assert_eq!(counts, [2, 1, 0]);
}

#[tokio::test]
async fn a_refused_usage_ends_the_task_and_stops_its_tools() {
    let harness = Harness::on(
        &HOST,
        "a_refused_usage_ends_the_task_and_stops_its_tools",
        [calls([("bash", json!({ "command": "sleep 60; touch ran" }))]), says("never")],
    )
    .await;
    let outcome = harness.run().await;
    assert_eq!(outcome.status, Status::Rejected);
    assert!(!harness.path("ran").exists());
    // The text depends on whether the call had already started when the run ended.
    let messages = stored(&outcome);
    let (text, is_error) = results(&messages)[0];
    let reason = text.strip_prefix("aborted: ").or(text.strip_prefix("not run: "));
    assert_eq!((reason, is_error), (Some("Rejected by guard: used up"), true));
    assert_eq!(harness.fake.requests().len(), 1);
}

#[tokio::test]
async fn a_final_answer_is_not_lost_to_a_refused_usage_unless_all_is_to_stop() {
    for (name, status, text) in [("used_up", Status::Success, "Done."), ("used_up.stop", Status::Rejected, "")] {
        let harness = Harness::on(&HOST, name, [says("Done.")]).await;
        let outcome = harness.run().await;
        assert_eq!((outcome.status, outcome.text.as_str()), (status, text));
    }
}

#[tokio::test]
async fn plugins_are_told_the_calls_usage_and_the_sessions() {
    let harness = Harness::on(
        &HOST,
        "plugins_are_told_the_calls_usage_and_the_sessions",
        [calls([("bash", json!({ "command": "true" }))]), says("Done.")],
    )
    .await;
    let outcome = harness.run().await;
    let reason = outcome.rejection.expect("the second call reaches 200 tokens").refusal.reason;
    let told: Value = serde_json::from_str(&reason).unwrap();
    let expected = json!({
        "provider": "fake", "model": "model-1", "input-tokens": 100, "cached-input-tokens": 60, "output-tokens": 10,
        "session-input-tokens": 200, "session-output-tokens": 20, "run-input-tokens": 200, "run-output-tokens": 20,
    });
    assert_eq!(told, expected);
}
