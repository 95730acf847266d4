//! Tests of providers that fail: which requests are retried, what is reported, and that the transcript is complete.

use crate::support::{Harness, Prepared, calls, says, stored};
use hookhost_agent::agent::{AgentEvent, Status};
use hookhost_models::message::Message;
use hookhost_models::{Delta, ProviderError};
use serde_json::json;

fn overloaded() -> ProviderError {
    ProviderError::Server { provider: "fake".into(), status: 500, retry_after: None }
}

fn broken() -> ProviderError {
    ProviderError::BrokenStream { provider: "fake".into(), reason: "the connection was closed".into() }
}

fn retries(harness: &Harness) -> usize {
    harness.events().iter().filter(|event| matches!(event, AgentEvent::Retrying { .. })).count()
}

#[tokio::test]
async fn what_may_pass_is_tried_again_as_the_same_turn() {
    let harness = Harness::bare([Err(overloaded()), Ok(vec![Err(broken())]), says("Done.")]).await;
    let outcome = harness.run().await;
    assert_eq!((outcome.status, outcome.turns, retries(&harness)), (Status::Success, 1, 2));
    let requests = harness.fake.requests();
    assert_eq!((requests.len(), &requests[0]), (3, &requests[2]));
}

#[tokio::test]
async fn tries_are_bounded() {
    let harness = Harness::bare([Err(overloaded()), Err(overloaded()), Err(overloaded()), says("never")]).await;
    let outcome = harness.run().await;
    assert_eq!((outcome.status, retries(&harness)), (Status::Error, 2));
    assert_eq!(outcome.reason, Some(overloaded().to_string()));
    assert_eq!(stored(&outcome), [Message::user("do it")]);
}

#[tokio::test]
async fn what_cannot_pass_is_reported_at_once() {
    let unauthorized = ProviderError::Unauthorized { provider: "fake".into(), status: 401, variable: None };
    let harness = Harness::bare([Err(unauthorized.clone()), says("never")]).await;
    let outcome = harness.run().await;
    assert_eq!((outcome.status, retries(&harness)), (Status::Error, 0));
    assert_eq!(outcome.reason, Some(unauthorized.to_string()));
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_not_kept_and_begins_again() {
    let half: Prepared = Ok(vec![Ok(Delta::Text("Half of an\nans".into())), Err(broken())]);
    let harness = Harness::bare([calls([("bash", json!({ "command": "true" }))]), half, says("All.")]).await;
    let outcome = harness.run().await;
    assert_eq!((outcome.status, retries(&harness)), (Status::Success, 1));
    assert_eq!((harness.shown().as_str(), outcome.text.as_str()), ("Half of an\nansAll.", "All."));
    assert_eq!(stored(&outcome).len(), 4);
}
