//! Tests of the limits that end a run (time and tokens), and of summaries, which keep a conversation within the model's
//! context window.

use crate::support::{Harness, Prepared, SharedHost, calls, on, results, says, stored};
use hookhost_agent::agent::{AgentEvent, Status};
use hookhost_agent::tool::{Bash, Toolbox};
use hookhost_models::Request;
use hookhost_models::message::{Author, Message};
use serde_json::json;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The behaviour of the plugins in each test. All tests of this file share one host.
static HOST: SharedHost = SharedHost::new(|| {
    vec![
        on(
            "a_plugin_cannot_leave_an_empty_summary",
            "guard",
            json!({ "after-compaction": { "verdict": "replace", "value": "" } }),
        ),
        on(
            "a_plugin_cannot_give_an_empty_summary",
            "guard",
            json!({ "before-compaction": { "verdict": "respond", "value": " " } }),
        ),
        on(
            "a_reminder_outlives_compaction",
            "guard",
            json!({ "session-start": { "do": [
                { "remind": "for ever" },
                { "remind": { "body": "for two calls", "tags": [], "ttl-turns": 2 } },
            ] } }),
        ),
        on(
            "a_plugin_cannot_go_on_beyond_the_end_of_the_time",
            "guard",
            json!({ "agent-error": { "verdict": "go-on", "value": [{ "prompt": "more" }] } }),
        ),
    ]
});

fn bash(command: &str) -> Prepared {
    calls([("bash", json!({ "command": command }))])
}

#[tokio::test]
async fn a_run_whose_time_is_over_is_stopped_with_a_valid_conversation() {
    for name in ["free.1", "a_plugin_cannot_go_on_beyond_the_end_of_the_time"] {
        let mut harness = Harness::on(&HOST, name, [bash("sleep 600")]).await;
        harness.config.max_time = Some(Duration::from_millis(700));
        let begun = Instant::now();
        let outcome = harness.run().await;
        assert!(begun.elapsed() < Duration::from_secs(60));
        assert_eq!(
            (outcome.status, outcome.reason.as_deref()),
            (Status::MaxTime, Some("the run has reached its time limit of 700ms"))
        );
        assert_eq!(results(&stored(&outcome)), [("aborted: the run has reached its time limit of 700ms", true)]);
    }
}

#[tokio::test]
async fn a_run_whose_tokens_are_used_up_sends_no_further_request() {
    let mut harness = Harness::bare([bash("true"), says("never")]).await;
    harness.config.max_tokens = NonZeroU64::new(110);
    let outcome = harness.run().await;
    assert_eq!((outcome.status, harness.fake.requests().len()), (Status::MaxTokens, 1));
    assert_eq!(outcome.reason.as_deref(), Some("the run has used all of its 110 tokens"));
    assert_eq!(results(&stored(&outcome)), [("[exit code 0]", false)]);
}

/// Creates a harness whose model answers with two long exchanges, so that the third request nears the context window.
async fn near(host: &SharedHost, name: &str) -> Harness {
    let long = format!("echo {}", "x".repeat(3000));
    let answers = [bash(&long), bash("echo short"), says("The summary."), says("Done.")];
    let mut harness = Harness::on(host, name, answers).await;
    harness.config.context_window = NonZeroU64::new(1500);
    harness.config.system_prompt = String::new();
    harness.config.max_depth = 0;
    harness.tools = Toolbox::empty().with(Arc::new(Bash::default())).unwrap();
    harness
}

fn has_its_results(request: &Request) -> bool {
    let mut open = Vec::new();
    for message in &request.messages {
        match message {
            Message::Assistant { tool_calls, .. } => open.extend(tool_calls.iter().map(|call| call.id.clone())),
            Message::Tool { call_id, .. } => match open.iter().position(|id| id == call_id) {
                Some(place) => drop(open.remove(place)),
                None => return false,
            },
            Message::User { .. } => {}
        }
    }
    open.is_empty()
}

#[tokio::test]
async fn a_conversation_that_nears_the_window_is_summarised_and_continues() {
    let harness = near(&HOST, "free.2").await;
    let outcome = harness.run().await;
    assert_eq!((outcome.status, outcome.text.as_str(), outcome.turns), (Status::Success, "Done.", 3));
    let requests = harness.fake.requests();
    let [_, full, summary, last] = requests.as_slice() else { panic!("{} requests", requests.len()) };
    assert!(summary.tools.is_empty() && summary.messages[0].text().contains("xxx"));
    assert!(last.estimated_tokens() < full.estimated_tokens());
    // The messages are the summary, the unchanged prompt of the task, and the unchanged last exchange.
    let roles: Vec<_> = last.messages.iter().map(Message::role).collect();
    assert_eq!(roles, ["user", "user", "assistant", "tool"]);
    assert!(last.messages[0].text().ends_with("\n\nThe summary.\n\n[Here the summary ends.]"));
    assert!(matches!(last.messages[0], Message::User { author: Author::Model, .. }), "it is not the user's");
    assert_eq!((last.messages[1].text(), last.messages[3].text()), ("do it", "short\n[exit code 0]"));
    assert!(requests.iter().all(has_its_results));
    // The tokens of the summary are counted, and the transcript is complete.
    assert_eq!(outcome.usage.input_tokens, 400);
    assert_eq!(stored(&outcome).len(), 6);
    assert!(harness.events().iter().any(|event| matches!(event, AgentEvent::Compacted { messages: 3, .. })));
}

#[tokio::test]
async fn a_reminder_outlives_compaction() {
    let harness = near(&HOST, "a_reminder_outlives_compaction").await;
    harness.run().await;
    let reminders: Vec<_> = harness.fake.requests().iter().map(|request| request.reminders.len()).collect();
    // The first two requests have both reminders. The request for the summary has none and does not count as a model
    // call. The last request has one.
    assert_eq!(reminders, [2, 2, 0, 1]);
}

#[tokio::test]
async fn a_request_over_the_context_window_where_nothing_older_is_left_is_reported_before_it_is_sent() {
    let mut harness = Harness::bare([says("Done.")]).await;
    harness.config.context_window = NonZeroU64::new(10);
    harness.run().await;
    let events = harness.events();
    let place = |wanted: &dyn Fn(&AgentEvent) -> bool| events.iter().position(wanted).unwrap();
    let told = |event: &AgentEvent| matches!(event, AgentEvent::Notice { text } if text.contains("the context window has 10; nothing older"));
    assert!(place(&told) < place(&|event| matches!(event, AgentEvent::TurnStarted { .. })), "{events:?}");
    assert_eq!(events.iter().filter(|event| told(event)).count(), 1);
}

#[tokio::test]
async fn an_empty_summary_takes_the_place_of_nothing() {
    for name in ["a_plugin_cannot_leave_an_empty_summary", "a_plugin_cannot_give_an_empty_summary"] {
        let harness = near(&HOST, name).await;
        harness.run().await;
        let requests = harness.fake.requests();
        assert_eq!(requests.last().unwrap().messages[0].text(), "do it");
        let told = |event: &AgentEvent| matches!(event, AgentEvent::Notice { text } if text.contains("could not be summarised"));
        assert!(harness.events().iter().any(told));
    }
}

#[tokio::test]
async fn a_text_keeps_its_author_through_compaction() {
    let harness = near(&HOST, "free.3").await;
    harness.run().await;
    let requests = harness.fake.requests();
    let lines: Vec<serde_json::Value> =
        requests[2].messages[0].text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let roles: Vec<_> = lines.iter().map(|line| line["role"].as_str().unwrap()).collect();
    // The tool's result has line breaks, but it is rendered as one JSON object on one line.
    assert_eq!(roles, ["user", "assistant", "tool"]);
    assert!(requests[2].system_prompt.contains("Only `user` asks, decides and permits"));
    assert!(requests[3].messages[0].text().contains("These are not the user's words"));
}
