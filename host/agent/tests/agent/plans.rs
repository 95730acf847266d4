//! Tests of plans: `submit_plan` adds tasks to the queue if `plan-submit` allows them, and the state of the queue is
//! reported.

use crate::support::{Harness, SharedHost, calls, on, results, says, stored};
use hookhost_agent::agent::{AgentEvent, MAX_TASKS, Status};
use hookhost_models::message::{Author, Message};
use serde_json::{Value, json};

/// The behaviour of the plugins in each test. All tests of this file share one host.
static HOST: SharedHost = SharedHost::new(|| {
    vec![
        on(
            "a_plan_that_a_plugin_empties_is_an_error",
            "guard",
            json!({ "plan-submit": { "verdict": "modify", "value": { "title": "None", "tasks": [], "clear-existing": false } } }),
        ),
        on(
            "a_plan_that_is_rejected_with_stop_ends_the_run",
            "guard",
            json!({ "plan-submit": { "verdict": "reject", "reason": "no plans", "stop": true } }),
        ),
        on(
            "a_plan_drops_no_task_that_a_plugin_has_queued",
            "guard",
            json!({ "session-start": { "value": [{ "prompt": "of a plugin" }] } }),
        ),
        on(
            "what_a_plugin_queues_runs_though_the_model_has_filled_its_own_room",
            "guard",
            json!({
                "task-complete": { "when": { "contains": "\"turns\":2" }, "verdict": "go-on", "value": [{ "prompt": "check" }] },
                "before-inference": { "when": { "contains": "task " }, "verdict": "respond", "value": "." },
            }),
        ),
        on(
            "a_queue_that_is_filled_for_ever_ends",
            "guard",
            json!({
                "queue-empty": { "verdict": "go-on", "value": [{ "prompt": "again" }] },
                "before-inference": { "verdict": "respond", "value": "." },
            }),
        ),
    ]
});

fn plan(arguments: Value) -> (&'static str, Value) {
    ("submit_plan", arguments)
}

fn prompts(messages: &[Message]) -> Vec<&str> {
    messages.iter().filter(|message| message.role() == "user").map(Message::text).collect()
}

#[tokio::test]
async fn the_tasks_of_a_plan_follow_in_order_and_the_queue_is_told() {
    let tasks = plan(json!({ "title": "Docs", "tasks": ["first", "second"] }));
    let harness = Harness::bare([calls([tasks]), says("Planned."), says("One."), says("Two.")]).await;
    let outcome = harness.run().await;
    assert_eq!((outcome.status, outcome.text.as_str()), (Status::Success, "Two."));
    assert_eq!(prompts(&stored(&outcome)), ["do it", "first", "second"]);
    let told: Vec<AgentEvent> = harness
        .events()
        .into_iter()
        .filter(|event| {
            matches!(event, AgentEvent::Queue { .. } | AgentEvent::PlanSubmitted { .. } | AgentEvent::PlanEnded { .. })
        })
        .collect();
    let queue = |ended, waiting| AgentEvent::Queue { ended, waiting };
    assert_eq!(
        told,
        [
            queue(0, 0),
            AgentEvent::PlanSubmitted { title: "Docs".into(), tasks: vec!["first".into(), "second".into()] },
            queue(0, 2),
            queue(1, 1),
            queue(2, 0),
            AgentEvent::PlanEnded { title: "Docs".into(), tasks: 2, completed: 2 },
        ]
    );
}

#[tokio::test]
async fn a_plan_without_tasks_or_with_an_empty_one_is_an_error() {
    for (tasks, error) in [(json!([]), "the plan has no tasks"), (json!(["a", " "]), "task 2 of the plan is empty")] {
        let harness =
            Harness::bare([calls([plan(json!({ "title": "None", "tasks": tasks }))]), says("Then not.")]).await;
        let outcome = harness.run().await;
        let messages = stored(&outcome);
        let (text, is_error) = results(&messages)[0];
        assert!(is_error && text.starts_with(error), "{text}");
        assert_eq!((outcome.status, prompts(&messages)), (Status::Success, vec!["do it"]));
    }
}

#[tokio::test]
async fn a_plan_that_a_plugin_empties_is_an_error() {
    let tasks = plan(json!({ "title": "Docs", "tasks": ["first"] }));
    let harness =
        Harness::on(&HOST, "a_plan_that_a_plugin_empties_is_an_error", [calls([tasks]), says("Then not.")]).await;
    let outcome = harness.run().await;
    let messages = stored(&outcome);
    assert!(results(&messages)[0].1);
    assert_eq!(prompts(&messages), ["do it"]);
}

#[tokio::test]
async fn a_plan_that_is_rejected_with_stop_ends_the_run() {
    let tasks = plan(json!({ "title": "Docs", "tasks": ["first"] }));
    let name = "a_plan_that_is_rejected_with_stop_ends_the_run";
    let harness = Harness::on(&HOST, name, [calls([tasks]), says("never")]).await;
    let outcome = harness.run().await;
    assert_eq!((outcome.status, outcome.turns), (Status::Rejected, 1));
    assert_eq!(results(&stored(&outcome)), [("Rejected by guard: no plans", true)]);
}

#[tokio::test]
async fn a_plan_drops_no_task_that_a_plugin_has_queued() {
    let tasks = plan(json!({ "title": "Docs", "tasks": ["only"], "clear_existing": true }));
    let answers = [calls([tasks]), says("Planned."), says("Checked."), says("One.")];
    let harness = Harness::on(&HOST, "a_plan_drops_no_task_that_a_plugin_has_queued", answers).await;
    let outcome = harness.run().await;
    let messages = stored(&outcome);
    assert_eq!(prompts(&messages), ["do it", "of a plugin", "only"]);
    let authored = |text: &str, author: Author| Message::User { text: text.into(), author };
    for message in [authored("of a plugin", Author::Plugin), authored("only", Author::Model)] {
        assert!(messages.contains(&message), "{messages:?}");
    }
    let result = results(&messages)[0].0;
    assert!(result.ends_with("; the queue keeps 1 task that others added and that you cannot drop"), "{result}");
}

#[tokio::test]
async fn the_tasks_that_a_plan_drops_are_reported() {
    let first = plan(json!({ "title": "Old", "tasks": ["old"] }));
    let second = plan(json!({ "title": "New", "tasks": ["new"], "clear_existing": true }));
    let harness = Harness::bare([calls([first]), calls([second]), says("Planned."), says("One.")]).await;
    let outcome = harness.run().await;
    let messages = stored(&outcome);
    assert_eq!(prompts(&messages), ["do it", "new"]);
    assert!(results(&messages)[1].0.ends_with("; dropped 1 task of your earlier plans"));
    let text = "the plan \"New\" dropped 1 task of earlier plans: \"old\"".to_owned();
    assert!(harness.events().contains(&AgentEvent::Notice { text }));
}

#[tokio::test]
async fn a_queue_that_is_filled_for_ever_ends() {
    let harness = Harness::on(&HOST, "a_queue_that_is_filled_for_ever_ends", []).await;
    let outcome = harness.run().await;
    assert_eq!(outcome.status, Status::Success);
    assert_eq!(prompts(&stored(&outcome)).len(), 1 + MAX_TASKS);
}

#[tokio::test]
async fn a_plan_of_more_tasks_than_a_session_has_room_for_is_cut() {
    let many: Vec<String> = (0..MAX_TASKS + 5).map(|number| format!("task {number}")).collect();
    let tasks = plan(json!({ "title": "Much", "tasks": many }));
    let mut harness = Harness::bare([calls([tasks]), says("Planned.")]).await;
    harness.config.max_tokens = std::num::NonZeroU64::new(200);
    let outcome = harness.run().await;
    let messages = stored(&outcome);
    assert_eq!(
        results(&messages)[0],
        (
            "queued 63 tasks; the session has no room for more: 6 tasks left out: \"task 63\", \"task 64\", \"task 65\", …",
            false
        )
    );
    let text = "a run takes at most 64 tasks of plans, so the plan \"Much\" lost 6 tasks: \"task 63\", \"task 64\", \"task 65\", …";
    assert!(harness.events().contains(&AgentEvent::Notice { text: text.into() }));
    assert_eq!(outcome.status, Status::MaxTokens);
}

#[tokio::test]
async fn what_a_plugin_queues_runs_though_the_model_has_filled_its_own_room() {
    let many: Vec<String> = (0..MAX_TASKS).map(|number| format!("task {number}")).collect();
    let tasks = plan(json!({ "title": "Much", "tasks": many }));
    let name = "what_a_plugin_queues_runs_though_the_model_has_filled_its_own_room";
    let harness = Harness::on(&HOST, name, [calls([tasks]), says("Planned."), says("Checked.")]).await;
    let outcome = harness.run().await;
    let messages = stored(&outcome);
    let prompts = prompts(&messages);
    assert_eq!((prompts.len(), *prompts.last().unwrap()), (MAX_TASKS + 1, "check"));
}
