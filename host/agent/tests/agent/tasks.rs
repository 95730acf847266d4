//! Tests of tasks and their ends: `session-start`, `task-complete`, `agent-error`, `session-end`, and the limits.

use crate::support::{Harness, SharedHost, calls, on, plugin, says, stored};
use hookhost::capability::{Model, ModelRequest};
use hookhost::config::Settings;
use hookhost::{Config, Host};
use hookhost_agent::agent::{AgentEvent, MAX_TASKS, Status};
use hookhost_models::ProviderError;
use hookhost_models::message::{Author, Message};
use serde_json::json;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn prompts(messages: &[Message]) -> Vec<&str> {
    messages.iter().filter(|message| matches!(message, Message::User { .. })).map(Message::text).collect()
}

fn authors(messages: &[Message]) -> Vec<Author> {
    let author = |message: &Message| if let Message::User { author, .. } = message { Some(*author) } else { None };
    messages.iter().filter_map(author).collect()
}

fn broken() -> ProviderError {
    ProviderError::Unauthorized { provider: "fake".into(), status: 401, variable: Some("KEY".into()) }
}

/// The behaviour of the plugins in each test. All tests of this file share one host.
static HOST: SharedHost = SharedHost::new(|| {
    vec![
        on(
            "tasks_of_session_start_come_after_the_users_prompt",
            "starter",
            json!({ "session-start": { "value": [{ "prompt": "then this", "title": "More" }] } }),
        ),
        on(
            "task_complete_learns_how_it_went_and_can_continue",
            "starter",
            json!({ "task-complete": { "when": { "contains": "\"turns\":2" }, "verdict": "go-on", "value": [{ "prompt": "{value}" }] } }),
        ),
        on(
            "recovered",
            "starter",
            json!({ "agent-error": { "verdict": "go-on", "value": [{ "prompt": "{value}" }] } }),
        ),
        on("not_recovered", "starter", json!({ "agent-error": { "verdict": "finish" } })),
        on(
            "a_run_in_which_every_task_failed_is_not_a_success",
            "starter",
            json!({ "agent-error": { "verdict": "go-on", "value": [{ "prompt": "recover" }] } }),
        ),
        on(
            "tasks_without_end_are_ended",
            "starter",
            json!({ "task-complete": { "verdict": "go-on", "value": [{ "prompt": "again" }] } }),
        ),
        on(
            "tasks_without_end_are_ended",
            "guard",
            json!({ "before-inference": { "verdict": "respond", "value": "." } }),
        ),
        on(
            "the_first_end_that_is_not_a_success_is_the_runs",
            "starter",
            json!({ "session-start": { "value": [{ "prompt": "fine" }] } }),
        ),
        on(
            "the_first_end_that_is_not_a_success_is_the_runs",
            "guard",
            json!({ "prompt-submit": { "when": { "contains": "do it" }, "verdict": "reject", "reason": "no" } }),
        ),
    ]
});

#[tokio::test]
async fn tasks_of_session_start_come_after_the_users_prompt() {
    let harness =
        Harness::on(&HOST, "tasks_of_session_start_come_after_the_users_prompt", [says("One."), says("Two.")]).await;
    let outcome = harness.run().await;
    assert_eq!((outcome.status, outcome.text.as_str()), (Status::Success, "Two."));
    assert_eq!(prompts(&stored(&outcome)), ["do it", "then this"]);
    assert_eq!(authors(&stored(&outcome)), [Author::User, Author::Plugin]);
    let started = AgentEvent::TaskStarted { prompt: "then this".into(), title: Some("More".into()) };
    assert!(harness.events().contains(&started));
}

#[tokio::test]
async fn task_complete_learns_how_it_went_and_can_continue() {
    let harness = Harness::on(
        &HOST,
        "task_complete_learns_how_it_went_and_can_continue",
        [calls([("bash", json!({ "command": "true" }))]), says("One."), says("Two.")],
    )
    .await;
    let outcome = harness.run().await;
    let messages = stored(&outcome);
    let told: serde_json::Value = serde_json::from_str(prompts(&messages)[1]).unwrap();
    assert_eq!(told, json!({ "status": "success", "turns": 2, "input-tokens": 200, "output-tokens": 20 }));
}

#[tokio::test]
async fn tasks_without_end_are_ended() {
    let harness = Harness::on(&HOST, "tasks_without_end_are_ended", []).await;
    let outcome = harness.run().await;
    // The prompts are the user's prompt and the tasks of the plugin.
    assert_eq!(prompts(&stored(&outcome)).len(), 1 + MAX_TASKS);
    let told = harness
        .events()
        .into_iter()
        .filter(|event| matches!(event, AgentEvent::Notice { text } if text.contains("at most 64 tasks")));
    assert_eq!(told.count(), 1);
}

#[tokio::test]
async fn the_last_turn_that_is_allowed_is_the_last() {
    let bash = || calls([("bash", json!({ "command": "true" }))]);
    let mut harness = Harness::bare([bash(), bash(), says("never")]).await;
    harness.config.max_turns = NonZeroU32::new(2).unwrap();
    let outcome = harness.run().await;
    assert_eq!((outcome.status, outcome.turns), (Status::MaxTurns, 2));
    assert_eq!(outcome.reason.as_deref(), Some("the task has used all of its 2 model calls"));
    stored(&outcome);
}

#[tokio::test]
async fn an_error_that_a_plugin_answers_with_a_task_is_not_final() {
    let harness = Harness::on(&HOST, "recovered", [Err(broken()), says("Recovered.")]).await;
    let outcome = harness.run().await;
    assert_eq!((outcome.status, outcome.text.as_str()), (Status::Success, "Recovered."));
    let expected = "the provider fake refused the API key (HTTP 401): check the value of the environment variable KEY";
    assert_eq!(prompts(&stored(&outcome)), ["do it", expected]);

    let outcome = Harness::on(&HOST, "not_recovered", [Err(broken())]).await.run().await;
    assert_eq!((outcome.status, outcome.reason.as_deref()), (Status::Error, Some(expected)));
}

#[tokio::test]
async fn a_run_in_which_every_task_failed_is_not_a_success() {
    // The model calls a tool once. After that, the fake provider has no further answer.
    let call = calls([("bash", json!({ "command": "true" }))]);
    let harness = Harness::on(&HOST, "a_run_in_which_every_task_failed_is_not_a_success", [call]).await;
    let outcome = harness.run().await;
    let ended = harness.events().into_iter().filter_map(|event| match event {
        AgentEvent::TaskEnded { status, .. } => Some(status),
        _ => None,
    });
    assert_eq!(ended.collect::<Vec<_>>(), [Status::Error; 1 + MAX_TASKS]);
    // The plugin answered each failure with a new task. For the last failure, the queue had no room for that task.
    assert_eq!(outcome.status, Status::Error);
    assert!(outcome.reason.is_some_and(|reason| reason.contains("no answer is left")));
}

#[tokio::test]
async fn the_first_end_that_is_not_a_success_is_the_runs() {
    let harness = Harness::on(&HOST, "the_first_end_that_is_not_a_success_is_the_runs", [says("Fine.")]).await;
    let outcome = harness.run().await;
    assert_eq!((outcome.status, outcome.text.as_str()), (Status::Rejected, "Fine."));
}

/// A model of the capability `model` that stores what plugins ask it.
#[derive(Default)]
struct RecordingModel(Mutex<Vec<String>>);

impl Model for RecordingModel {
    fn complete<'a>(
        &'a self,
        _: &'a str,
        request: ModelRequest,
    ) -> futures_util::future::BoxFuture<'a, Result<String, String>> {
        self.0.lock().unwrap().push(format!("{}: {}", request.instructions, request.input));
        Box::pin(std::future::ready(Ok(String::new())))
    }
}

#[tokio::test]
async fn every_run_ends_with_session_end_and_its_totals() {
    let listener = || plugin("listener", json!({ "session-end": { "do": [{ "model": ["end", "{value}"] }] } }));
    for (answer, input) in [(says("Done."), 100), (Err(broken()), 0)] {
        let model = Arc::new(RecordingModel::default());
        let config = Config::from_entries(vec![listener()], Settings::default()).unwrap();
        let host = Host::builder(config).model(model.clone()).build().await.unwrap();
        Harness::with_host(host.clone(), [answer]).run().await;
        assert_eq!(host.drain(Duration::from_secs(60)).await.unwrap(), 0);
        let requests = model.0.lock().unwrap().clone();
        assert_eq!(requests.len(), 1);
        assert!(requests[0].contains(&format!("\"session-input-tokens\":{input}")), "{requests:?}");
    }
}

#[tokio::test]
async fn a_session_that_cannot_be_kept_is_an_error_before_anything_runs() {
    let mut harness = Harness::bare([says("never")]).await;
    std::fs::write(harness.path("file"), "").unwrap();
    harness.config.sessions_dir = Some(harness.path("file"));
    let agent = hookhost_agent::agent::Agent::builder(
        harness.host.clone(),
        harness.provider.clone(),
        harness.tools.clone(),
        harness.config.clone(),
    );
    let error = agent.build().unwrap().run("x", &harness.recorded, &harness.cancel).await.unwrap_err();
    assert!(error.to_string().starts_with("the session "), "{error}");
    assert!(harness.fake.requests().is_empty() && harness.events().is_empty());
}
