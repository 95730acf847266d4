//! Tests of the models' thinking. It is stored, sent back unchanged to the same model, and shown if no plugin checks
//! the text that is shown.

use crate::loopback::{Reply, Server, dialects};
use crate::support::{Harness, Prepared, SharedHost, on, says, stored};
use hookhost_agent::agent::{Agent, AgentEvent, RunOutcome, Status};
use hookhost_agent::tool::{Bash, Toolbox};
use hookhost_models::RemoteProvider;
use hookhost_models::message::{Message, StopReason, Thinking, ThinkingKind, ToolUse};
use hookhost_models::{Delta, Endpoint, Provider, Timeouts};
use serde_json::{Value, json};
use std::num::NonZeroU64;
use std::sync::Arc;

/// The behaviour of the plugins in each test. All tests of this file share one host.
static HOST: SharedHost = SharedHost::new(|| {
    vec![
        on("changed", "guard", json!({ "finalize-content": { "verdict": "replace", "value": "It is [masked]." } })),
        on(
            "told",
            "guard",
            json!({ "finalize-content": { "do": [{ "transcript": [0, 10] }], "verdict": "replace", "value": "{last}" } }),
        ),
        on(
            "looked.at",
            "guard",
            json!({ "response-receive": { "when": { "contains": "I wonder" }, "verdict": "reject", "reason": "it wonders" } }),
        ),
        on(
            "rewritten",
            "guard",
            json!({ "response-receive": { "when": { "contains": "I wonder" }, "verdict": "replace", "value": {
                "text": "", "stop-reason": "tool-calls",
                "tool-calls": [{ "id": "c1", "name": "list_dir", "arguments": {} }],
                "thinking": [{ "kind": "thinking", "text": "I am sure.", "signature": "c2ln" }],
            } } }),
        ),
    ]
});

fn endpoint(name: &str, server: &Server) -> Endpoint {
    Endpoint::new(name, &server.url, None, Timeouts::default()).unwrap()
}

async fn anthropic(server: &Server) -> Harness {
    let mut harness = Harness::bare([]).await;
    harness.provider = Arc::new(RemoteProvider::anthropic(endpoint("anthropic", server)));
    harness
}

async fn openai(server: &Server) -> Harness {
    let mut harness = Harness::bare([]).await;
    harness.provider = Arc::new(RemoteProvider::openai(endpoint("openai", server)));
    harness
}

async fn resume(harness: &Harness, outcome: &RunOutcome) -> RunOutcome {
    let (host, provider) = (harness.host.clone(), Arc::clone(&harness.provider));
    let agent = Agent::builder(host, provider, harness.tools.clone(), harness.config.clone()).build().unwrap();
    agent.resume(&outcome.session, Some("and now?"), &harness.recorded, &harness.cancel).await.unwrap()
}

/// Returns the second message of a request, which is the model's first answer.
fn answer(server: &Server, request: usize) -> Value {
    let body = server.asked()[request].body.clone();
    let messages = body["messages"].as_array().unwrap().clone();
    messages.into_iter().find(|message| message["role"] == "assistant").unwrap()
}

/// Returns an answer with thinking before the text, encrypted thinking, and thinking between two calls.
fn thoughtful() -> String {
    dialects::anthropic_blocks(
        &[
            json!({ "type": "thinking", "thinking": "I wonder what is here.", "signature": "RXFRQkNrWUlBUmdD" }),
            json!({ "type": "redacted_thinking", "data": "RW13S0FoZ0JFZ3k=" }),
            json!({ "type": "text", "text": "I look." }),
            json!({ "type": "tool_use", "id": "t1", "name": "list_dir", "input": { "path": "." } }),
            json!({ "type": "thinking", "thinking": "", "signature": "RXBzQkNrWUlC" }),
            json!({ "type": "tool_use", "id": "t2", "name": "list_dir", "input": {} }),
        ],
        "tool_use",
    )
}

fn blocks_of_thoughtful() -> Value {
    json!([
        { "type": "thinking", "thinking": "I wonder what is here.", "signature": "RXFRQkNrWUlBUmdD" },
        { "type": "redacted_thinking", "data": "RW13S0FoZ0JFZ3k=" },
        { "type": "text", "text": "I look." },
        { "type": "tool_use", "id": "t1", "name": "list_dir", "input": { "path": "." } },
        { "type": "thinking", "thinking": "", "signature": "RXBzQkNrWUlC" },
        { "type": "tool_use", "id": "t2", "name": "list_dir", "input": {} },
    ])
}

fn reasoning(harness: &Harness) -> Vec<String> {
    let told = |event| match event {
        AgentEvent::Reasoning { text } => Some(text),
        _ => None,
    };
    harness.events().into_iter().filter_map(told).collect()
}

#[tokio::test]
async fn reasoning_is_not_shown_where_a_plugin_judges_what_is_shown() {
    let server =
        Server::start([Reply::events(&thoughtful()), Reply::events(&dialects::anthropic_text("It is hunter2."))]).await;
    let mut harness = Harness::on(&HOST, "changed", []).await;
    harness.provider = Arc::new(RemoteProvider::anthropic(endpoint("anthropic", &server)));
    harness.run().await;
    assert!(reasoning(&harness).is_empty(), "{:?}", reasoning(&harness));
}

#[tokio::test]
async fn thinking_goes_back_signed_and_where_it_was_also_when_the_session_continues() {
    let server = Server::start([
        Reply::events(&thoughtful()),
        Reply::events(&dialects::anthropic_text("Nothing.")),
        Reply::events(&dialects::anthropic_text("Still nothing.")),
    ])
    .await;
    let harness = anthropic(&server).await;
    let outcome = harness.run().await;
    assert_eq!((outcome.status, outcome.text.as_str()), (Status::Success, "Nothing."));
    let expected = blocks_of_thoughtful();
    assert_eq!(answer(&server, 1)["content"], expected);
    assert_eq!(harness.shown(), "I look.Nothing.", "thinking is no part of the answer");
    assert_eq!(reasoning(&harness), ["I wonder what is here."], "what is encrypted or empty is not shown");
    let stored = stored(&outcome);
    let Message::Assistant { thoughts, .. } = &stored[1] else { panic!("{stored:?}") };
    let pieces: Vec<_> = thoughts.thinking.iter().map(|one| (one.kind, one.signature.as_str())).collect();
    assert_eq!(
        pieces[..2],
        [(ThinkingKind::Thinking, "RXFRQkNrWUlBUmdD"), (ThinkingKind::RedactedThinking, "RW13S0FoZ0JFZ3k=")]
    );
    let places: Vec<_> = thoughts.thinking.iter().map(|one| (one.text_before, one.calls_before)).collect();
    assert_eq!(places, [(0, 0), (0, 0), (7, 1)]);
    resume(&harness, &outcome).await;
    assert_eq!(answer(&server, 2)["content"], expected);
}

#[tokio::test]
async fn another_model_does_not_get_what_this_one_thought() {
    let server = Server::start([
        Reply::events(&thoughtful()),
        Reply::events(&dialects::anthropic_text("Nothing.")),
        Reply::events(&dialects::anthropic_text("Still nothing.")),
        Reply::events(&dialects::openai_text("Still nothing.")),
    ])
    .await;
    let mut harness = anthropic(&server).await;
    let outcome = harness.run().await;
    harness.config.model = "model-2".into();
    resume(&harness, &outcome).await;
    harness.provider = Arc::new(RemoteProvider::openai(endpoint("openai", &server)));
    resume(&harness, &outcome).await;
    for request in [2, 3] {
        let asked = answer(&server, request).to_string();
        assert!(asked.contains("I look.") && !asked.contains("thinking") && !asked.contains("wonder"), "{asked}");
    }
}

#[tokio::test]
async fn reasoning_goes_back_in_the_field_in_which_it_came() {
    let details = |text: &str| json!({ "type": "reasoning.text", "text": text, "format": "unknown", "index": 0 });
    let cases = [
        (
            vec![json!({ "reasoning_content": "I wond" }), json!({ "content": null, "reasoning_content": "er." })],
            json!({ "reasoning_content": "I wonder." }),
        ),
        (vec![json!({ "reasoning": "I wonder." })], json!({ "reasoning": "I wonder." })),
        (
            vec![
                json!({ "content": "", "reasoning": "I wond", "reasoning_details": [details("I wond")] }),
                json!({ "content": "", "reasoning": "er.", "reasoning_details": [details("er.")] }),
            ],
            json!({ "reasoning_details": [details("I wonder.")] }),
        ),
    ];
    for (deltas, expected) in cases {
        let server = Server::start([
            Reply::events(&dialects::openai_thinking_call(&deltas, "t1", "list_dir", "{}")),
            Reply::events(&dialects::openai_text("Nothing.")),
            Reply::events(&dialects::openai_text("Still nothing.")),
        ])
        .await;
        let harness = openai(&server).await;
        let outcome = harness.run().await;
        assert_eq!((outcome.text.as_str(), harness.shown().as_str()), ("Nothing.", "Nothing."));
        resume(&harness, &outcome).await;
        for request in [1, 2] {
            let answer = answer(&server, request);
            let fields = answer.as_object().unwrap().iter().filter(|(key, _)| key.starts_with("reasoning"));
            let fields: serde_json::Map<String, Value> =
                fields.map(|(key, value)| (key.clone(), value.clone())).collect();
            assert_eq!(Value::Object(fields), expected);
            assert_eq!(answer["tool_calls"][0]["id"], "t1");
        }
    }
}

fn thinks(kind: ThinkingKind, command: &str) -> Prepared {
    let call = ToolUse::new("c1", "bash", json!({ "command": command }));
    let deltas = [
        Delta::Thinking(Thinking::new(kind, "I wonder.", "c2ln")),
        Delta::ToolCall(call),
        Delta::Stop(StopReason::ToolCalls),
    ];
    Ok(deltas.map(Ok).into())
}

/// Returns the number of pieces of thinking of each answer in a request.
fn thinking(messages: &[Message]) -> Vec<usize> {
    let count = |message: &Message| match message {
        Message::Assistant { thoughts, .. } => Some(thoughts.thinking.len()),
        Message::User { .. } | Message::Tool { .. } => None,
    };
    messages.iter().filter_map(count).collect()
}

#[tokio::test]
async fn compaction_keeps_no_thinking_after_what_it_has_changed_but_what_calls_need() {
    let long = format!("echo {}", "x".repeat(3000));
    for (kind, kept) in [(ThinkingKind::Thinking, 0), (ThinkingKind::ReasoningContent, 1)] {
        let answers =
            [thinks(kind, &long), thinks(kind, "true"), says("The summary."), thinks(kind, "true"), says("Done.")];
        let mut harness = Harness::bare(answers).await;
        harness.config.context_window = NonZeroU64::new(1500);
        harness.config.system_prompt = String::new();
        harness.config.max_depth = 0;
        harness.tools = Toolbox::empty().with(Arc::new(Bash::default())).unwrap();
        let outcome = harness.run().await;
        assert_eq!(outcome.status, Status::Success, "{:?}", outcome.reason);
        let requests = harness.fake.requests();
        assert_eq!(thinking(&requests[1].messages), [1]);
        assert!(!requests[2].messages[0].text().contains("I wonder"), "a summary is of what was said");
        // The summary did not replace the last exchange before it. The exchange after the summary has all of its
        // thinking.
        assert_eq!(thinking(&requests[3].messages), [kept]);
        assert_eq!(thinking(&requests[4].messages), [kept, 1]);
        assert_eq!(thinking(&stored(&outcome)), [1, 1, 1, 0], "the transcript is whole");
    }
}

#[tokio::test]
async fn a_request_moved_to_another_model_has_no_thinking_of_the_first() {
    let mut harness = Harness::bare([thinks(ThinkingKind::Reasoning, "true"), says("Done.")]).await;
    let outcome = harness.run().await;
    assert_eq!(thinking(&harness.fake.requests()[1].messages), [1]);
    harness.fake = crate::support::Fake::new("other", [says("On.")]);
    harness.provider = Arc::clone(&harness.fake) as Arc<dyn Provider>;
    resume(&harness, &outcome).await;
    assert_eq!(thinking(&harness.fake.requests()[0].messages), [0, 0]);
}

fn thinks_and_says(text: &str) -> Prepared {
    let thinking = Delta::Thinking(Thinking::new(ThinkingKind::Thinking, "It is hunter2.", "c2ln"));
    Ok([thinking, Delta::Text(text.into()), Delta::Stop(StopReason::EndTurn)].map(Ok).into())
}

#[tokio::test]
async fn a_final_text_that_plugins_changed_keeps_no_thinking_that_may_repeat_the_original() {
    let harness = Harness::on(&HOST, "unchanged", [thinks_and_says("It is hunter2.")]).await;
    assert_eq!(thinking(&stored(&harness.run().await)), [1]);
    let harness = Harness::on(&HOST, "changed", [thinks_and_says("It is hunter2.")]).await;
    let messages = stored(&harness.run().await);
    assert_eq!((messages[1].text(), thinking(&messages)), ("It is [masked].", vec![0]));
}

#[tokio::test]
async fn plugins_that_read_the_conversation_do_not_read_thinking() {
    let harness = Harness::on(&HOST, "told", [thinks(ThinkingKind::Thinking, "true"), says("Done.")]).await;
    let outcome = harness.run().await;
    assert!(outcome.text.contains(r#"[calls {"name":"bash""#) && !outcome.text.contains("wonder"), "{}", outcome.text);
}

#[tokio::test]
async fn a_plugin_that_subscribes_to_whole_answers_sees_thinking_and_can_remove_it_but_not_make_it() {
    let harness = Harness::on(&HOST, "looked.at", [thinks(ThinkingKind::Thinking, "true")]).await;
    let outcome = harness.run().await;
    assert_eq!(outcome.reason.as_deref(), Some("Rejected by guard: it wonders"));
    let harness = Harness::on(&HOST, "rewritten", [thinks(ThinkingKind::Thinking, "true"), says("Done.")]).await;
    let outcome = harness.run().await;
    assert_eq!(outcome.text, "Done.");
    assert_eq!(thinking(&harness.fake.requests()[1].messages), [0]);
}
