//! Tests of the whole path: the loop with plugins, and a server on the loopback interface that uses both documented
//! formats.

use crate::loopback::{Reply, Server, dialects};
use crate::support::{Harness, SharedHost, on, results, stored};
use hookhost_agent::agent::Status;
use hookhost_models::RemoteProvider;
use hookhost_models::message::TokenUsage;
use hookhost_models::{Endpoint, Provider, Timeouts};
use serde_json::json;
use std::sync::Arc;

type Make = fn(Endpoint) -> Arc<dyn Provider>;
type Called = fn(&str, &str, &str, &str) -> String;
type Said = fn(&str) -> String;

const FORMATS: [(Make, Called, Said); 2] = [
    (|endpoint| Arc::new(RemoteProvider::anthropic(endpoint)), dialects::anthropic_call, dialects::anthropic_text),
    (|endpoint| Arc::new(RemoteProvider::openai(endpoint)), dialects::openai_call, dialects::openai_text),
];

/// The behaviour of the plugins. All tests of this file share one host. These tests share a session identifier, and
/// only one open session at a time can have it.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

static HOST: SharedHost = SharedHost::new(|| {
    vec![
        on(
            "served",
            "guard",
            json!({ "before-tool-call": { "when": { "contains": "rm" }, "verdict": "reject", "reason": "no" } }),
        ),
        on(
            "served",
            "masker",
            json!({ "after-tool-call": { "when": { "contains": "hunter2" }, "verdict": "replace", "value": "masked" } }),
        ),
    ]
});

async fn harness(server: &Server, make: Make) -> Harness {
    let mut harness = Harness::on(&HOST, "served", []).await;
    harness.provider = make(Endpoint::new("served", &server.url, None, Timeouts::default()).unwrap());
    std::fs::write(harness.path("secret"), "hunter2").unwrap();
    harness
}

#[tokio::test]
async fn two_turns_with_tool_calls_usage_counted_and_plugins_applied() {
    let _alone = ALONE.lock().await;
    for (make, called, said) in FORMATS {
        let server = Server::start([
            Reply::events(&called("I remove it.", "t1", "bash", r#"{"command": "rm secret"}"#)),
            Reply::events(&called("I read it.", "t2", "read_file", r#"{"path": "secret"}"#)),
            Reply::events(&said("I know nothing.")),
        ])
        .await;
        let harness = harness(&server, make).await;
        let outcome = harness.run().await;
        assert_eq!((outcome.status, outcome.text.as_str(), outcome.turns), (Status::Success, "I know nothing.", 3));
        assert_eq!(outcome.usage, TokenUsage::new(290, 193).cached(200));
        assert_eq!(results(&stored(&outcome)), [("Rejected by guard: no", true), ("masked", false)]);
        assert!(harness.path("secret").exists());
        let asked = server.asked();
        let last = asked[2].body.to_string();
        assert!(
            last.contains("Rejected by guard: no") && last.contains("masked") && !last.contains("hunter2"),
            "{last}"
        );
        assert_eq!(harness.shown(), "I remove it.I read it.I know nothing.");
    }
}

#[tokio::test]
async fn a_server_that_is_busy_is_asked_again_and_one_that_refuses_is_not() {
    let _alone = ALONE.lock().await;
    for (make, _, said) in FORMATS {
        let busy = || Reply::error(429, "{}").header("retry-after", "0");
        let server = Server::start([busy(), Reply::error(500, "{}"), Reply::events(&said("Done."))]).await;
        let first = harness(&server, make).await;
        let outcome = first.run().await;
        assert_eq!((outcome.status, server.asked().len()), (Status::Success, 3));

        let server = Server::start([Reply::error(401, "{}"), Reply::events(&said("never"))]).await;
        let second = harness(&server, make).await;
        let outcome = second.run().await;
        assert_eq!((outcome.status, server.asked().len()), (Status::Error, 1));
        assert!(outcome.reason.as_ref().unwrap().starts_with("the provider served refused the API key (HTTP 401)"));
        assert_eq!(stored(&outcome).len(), 1);
    }
}

#[tokio::test]
async fn a_stream_that_breaks_off_leaves_a_whole_transcript() {
    let _alone = ALONE.lock().await;
    for (make, _, said) in FORMATS {
        let body = said("A long answer that never comes to its end.");
        let cut = || Reply::events(&body).cut_after(body.len() * 2 / 3);
        // No call had been scheduled, so the request is sent again until the retries are used up.
        let server = Server::start([cut(), cut(), cut()]).await;
        let harness = harness(&server, make).await;
        let outcome = harness.run().await;
        assert_eq!(outcome.status, Status::Error);
        assert!(outcome.reason.as_ref().unwrap().contains("broke off in the middle"), "{outcome:?}");
        assert_eq!((stored(&outcome).len(), server.asked().len()), (1, 3));
    }
}
