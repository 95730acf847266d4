//! Tests of the HTTP providers with a server on the loopback interface. The server follows the documented formats, or
//! deviates from them.

use crate::loopback::{self, Reply, Server, dialects};
use futures_util::StreamExt as _;
use hookhost_models::RemoteProvider;
use hookhost_models::message::{Message, StopReason, TokenUsage, ToolUse};
use hookhost_models::{Delta, Endpoint, Provider, ProviderError, Request, Timeouts, ToolDefinition};
use serde_json::json;
use std::time::Duration;

/// The variable of the key. `PATH` is set in every environment that can run tests.
const VARIABLE: &str = "PATH";

fn timeouts() -> Timeouts {
    let mut timeouts = Timeouts::default();
    (timeouts.connect, timeouts.idle) = (Duration::from_secs(5), Duration::from_secs(5));
    timeouts
}

fn anthropic(url: &str) -> RemoteProvider {
    RemoteProvider::anthropic(Endpoint::new("anthropic", url, Some(VARIABLE), timeouts()).unwrap())
}

fn openai(url: &str) -> RemoteProvider {
    RemoteProvider::openai(Endpoint::new("openai", url, Some(VARIABLE), timeouts()).unwrap())
}

fn request(messages: Vec<Message>) -> Request {
    let mut request = Request::new("some/model-1", messages, 512);
    request.system_prompt = "Be good.".into();
    request.tools = vec![ToolDefinition::new("list_dir", "Lists.", json!({ "type": "object" }))];
    request
}

fn prompt() -> Vec<Message> {
    vec![Message::user("What is here?")]
}

/// Reads a whole answer. Returns its text, its calls, its last token counts and its stop reason.
async fn answer(
    provider: &dyn Provider,
    messages: Vec<Message>,
) -> Result<(String, Vec<ToolUse>, TokenUsage, StopReason), ProviderError> {
    let mut deltas = provider.send(request(messages)).await?;
    let (mut text, mut calls, mut usage) = (String::new(), Vec::new(), TokenUsage::default());
    while let Some(delta) = deltas.next().await {
        match delta? {
            Delta::Text(more) => text.push_str(&more),
            Delta::ToolCall(call) => calls.push(call),
            Delta::Thinking(thinking) => panic!("nothing was thought here: {thinking:?}"),
            Delta::Usage(newer) => usage = newer,
            Delta::Stop(reason) => {
                assert!(deltas.next().await.is_none(), "something follows the stop");
                return Ok((text, calls, usage, reason));
            }
        }
    }
    panic!("the stream ended without a stop and without an error");
}

fn two_turns() -> (ToolUse, Vec<Message>) {
    let call = ToolUse::new("call_1", "list_dir", json!({ "path": "." }));
    let messages = vec![
        Message::user("What is here?"),
        Message::assistant("Häuser zähle ich.", vec![call.clone()]),
        Message::Tool { call_id: "call_1".into(), name: "list_dir".into(), text: "a".into(), is_error: false },
    ];
    (call, messages)
}

#[tokio::test]
async fn two_turns_in_the_anthropic_format() {
    let server = Server::start([
        Reply::events(&dialects::anthropic_call("Häuser zähle ich.", "call_1", "list_dir", r#"{"path": "."}"#)),
        Reply::events(&dialects::anthropic_text("One file.")),
    ])
    .await;
    let provider = anthropic(&server.url);
    let (call, messages) = two_turns();
    let (text, calls, usage, stop) = answer(&provider, prompt()).await.unwrap();
    assert_eq!((text.as_str(), calls, stop), ("Häuser zähle ich.", vec![call], StopReason::ToolCalls));
    assert_eq!(usage, TokenUsage::new(125, 89).cached(100));
    let (text, calls, usage, stop) = answer(&provider, messages).await.unwrap();
    assert_eq!((text.as_str(), calls.len(), stop), ("One file.", 0, StopReason::EndTurn));
    assert_eq!(usage, TokenUsage::new(40, 15));

    let asked = server.asked();
    assert_eq!(asked[0].path, "/v1/messages");
    assert_eq!(asked[0].header("x-api-key"), std::env::var(VARIABLE).ok().as_deref());
    assert_eq!(asked[0].header("anthropic-version"), Some("2023-06-01"));
    let cached = json!({ "type": "ephemeral" });
    assert_eq!(
        asked[1].body,
        json!({
            "model": "some/model-1", "max_tokens": 512, "stream": true,
            "system": [{ "type": "text", "text": "Be good.", "cache_control": cached }],
            "tools": [{
                "name": "list_dir", "description": "Lists.", "input_schema": { "type": "object" }, "cache_control": cached,
            }],
            "messages": [
                { "role": "user", "content": [{ "type": "text", "text": "What is here?" }] },
                { "role": "assistant", "content": [
                    { "type": "text", "text": "Häuser zähle ich." },
                    { "type": "tool_use", "id": "call_1", "name": "list_dir", "input": { "path": "." } },
                ]},
                { "role": "user", "content": [
                    { "type": "tool_result", "tool_use_id": "call_1", "content": "a", "is_error": false,
                      "cache_control": cached },
                ]},
            ],
        })
    );
}

#[tokio::test]
async fn two_turns_in_the_openai_format() {
    let server = Server::start([
        Reply::events(&dialects::openai_call("Häuser zähle ich.", "call_1", "list_dir", r#"{"path": "."}"#)),
        Reply::events(&dialects::openai_text("One file.")),
    ])
    .await;
    let provider = openai(&server.url);
    let (call, messages) = two_turns();
    let (text, calls, usage, stop) = answer(&provider, prompt()).await.unwrap();
    assert_eq!((text.as_str(), calls, stop), ("Häuser zähle ich.", vec![call], StopReason::ToolCalls));
    assert_eq!(usage, TokenUsage::new(125, 89).cached(100));
    let (text, calls, usage, stop) = answer(&provider, messages).await.unwrap();
    assert_eq!((text.as_str(), calls.len(), stop), ("One file.", 0, StopReason::EndTurn));
    assert_eq!(usage, TokenUsage::new(40, 15));

    let asked = server.asked();
    assert_eq!(asked[0].path, "/v1/chat/completions");
    let bearer = std::env::var(VARIABLE).map(|key| format!("Bearer {key}")).unwrap();
    assert_eq!(asked[0].header("authorization"), Some(bearer.as_str()));
    let function = json!({ "name": "list_dir", "arguments": "{\"path\":\".\"}" });
    let tool = json!({ "name": "list_dir", "description": "Lists.", "parameters": { "type": "object" } });
    assert_eq!(
        asked[1].body,
        json!({
            "model": "some/model-1", "max_tokens": 512, "stream": true, "stream_options": { "include_usage": true },
            "tools": [{ "type": "function", "function": tool }],
            "messages": [
                { "role": "system", "content": "Be good." },
                { "role": "user", "content": "What is here?" },
                { "role": "assistant", "content": "Häuser zähle ich.", "tool_calls": [
                    { "id": "call_1", "type": "function", "function": function },
                ]},
                { "role": "tool", "tool_call_id": "call_1", "content": "a" },
            ],
        })
    );
}

#[tokio::test]
async fn chunks_of_servers_that_differ_from_openai_are_read() {
    // This answer has no index and no id. Everything is in one chunk, with the token counts beside the finish reason,
    // and there is no `[DONE]`.
    let lean = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"name\":\"a\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4}}\n\n";
    // This answer has two calls with the same index but different ids, comments, and CRLF as line ends.
    let twins = ": keep-alive\r\n\r\ndata: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"x\",\"function\":{\"name\":\"a\",\"arguments\":\"{}\"}}]}}]}\r\n\r\ndata: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"y\",\"function\":{\"name\":\"b\",\"arguments\":\"{}\"}}]}}]}\r\n\r\ndata: [DONE]\r\n\r\n";
    let server = Server::start([Reply::events(lean), Reply::events(twins)]).await;
    let provider = openai(&server.url);
    let (_, calls, usage, _) = answer(&provider, prompt()).await.unwrap();
    assert_eq!((calls.len(), calls[0].name.as_str(), calls[0].id.is_empty()), (1, "a", false));
    assert_eq!(usage, TokenUsage::new(3, 4));
    let (_, calls, ..) = answer(&provider, prompt()).await.unwrap();
    let names: Vec<_> = calls.iter().map(|call| (call.id.as_str(), call.name.as_str())).collect();
    assert_eq!(names, [("x", "a"), ("y", "b")]);
}

#[tokio::test]
async fn a_call_that_the_output_limit_cut_is_kept_as_the_text_it_is() {
    let whole = dialects::anthropic_call("", "c", "bash", r#"{"command": "rm -rf build"}"#);
    // The server never sends the second half of the arguments and the end of the block.
    let (before, _) = whole.rsplit_once("event: content_block_delta").unwrap();
    let (_, end) = whole.split_once("event: message_delta").unwrap();
    let cut = format!("{before}event: message_delta{}", end.replace("tool_use", "max_tokens"));
    let server = Server::start([Reply::events(&cut)]).await;
    let (_, calls, _, stop) = answer(&anthropic(&server.url), prompt()).await.unwrap();
    assert_eq!(stop, StopReason::MaxTokens);
    assert!(calls[0].arguments.is_string(), "{calls:?}");
}

/// Returns the error of each provider for this answer.
async fn sentences(answered: Reply) -> [ProviderError; 2] {
    let server = Server::start([answered.clone(), answered]).await;
    [
        answer(&anthropic(&server.url), prompt()).await.unwrap_err(),
        answer(&openai(&server.url), prompt()).await.unwrap_err(),
    ]
}

#[tokio::test]
async fn each_http_status_has_its_own_sentence_with_the_next_step() {
    let body = r#"{"type":"error","error":{"type":"x","message":"model\n  is not known"}}"#;
    let expected = [
        (
            401,
            "the provider anthropic refused the API key (HTTP 401): check the value of the environment variable PATH",
            false,
        ),
        (429, "the provider anthropic limits the rate of requests (HTTP 429): try again later", true),
        (
            500,
            "the provider anthropic failed on its side (HTTP 500): try again later, or choose another provider",
            true,
        ),
        (
            529,
            "the provider anthropic failed on its side (HTTP 529): try again later, or choose another provider",
            true,
        ),
        (404, "the provider anthropic did not accept the request (HTTP 404): model is not known", false),
    ];
    for (status, sentence, transient) in expected {
        let [first, second] = sentences(Reply::error(status, body)).await;
        assert_eq!((first.to_string().as_str(), first.is_transient()), (sentence, transient));
        assert_eq!(second.to_string(), sentence.replace("anthropic", "openai"));
    }
}

#[tokio::test]
async fn retry_after_is_read() {
    for error in sentences(Reply::error(429, "{}").header("retry-after", "7")).await {
        assert_eq!(error.retry_after(), Some(Duration::from_secs(7)));
    }
    for error in sentences(Reply::error(503, "{}").header("retry-after-ms", "1500")).await {
        assert_eq!(error.retry_after(), Some(Duration::from_millis(1500)));
    }
    for error in sentences(Reply::error(429, "{}").header("retry-after", "-1")).await {
        assert_eq!(error.retry_after(), None);
    }
}

#[tokio::test]
async fn a_stream_that_is_cut_anywhere_is_broken_and_never_a_short_answer() {
    let body = dialects::anthropic_text("One file.");
    let last = body.rfind("event: message_stop").unwrap();
    for at in (1..last).step_by(97) {
        let server = Server::start([Reply::events(&body).cut_after(at)]).await;
        let error = answer(&anthropic(&server.url), prompt()).await.unwrap_err();
        assert!(matches!(error, ProviderError::BrokenStream { .. }), "cut at {at}: {error:?}");
        let sentence = error.to_string();
        assert!(sentence.starts_with("the answer of the provider anthropic broke off in the middle ("), "{sentence}");
    }
    let body = dialects::openai_text("One file.");
    let finish = body.find("\"stop\"").unwrap();
    for at in (1..finish).step_by(97) {
        let server = Server::start([Reply::events(&body).cut_after(at)]).await;
        let error = answer(&openai(&server.url), prompt()).await.unwrap_err();
        assert!(matches!(error, ProviderError::BrokenStream { .. }), "cut at {at}: {error:?}");
    }
}

#[tokio::test]
async fn errors_inside_a_stream_are_errors() {
    let overloaded = "event: error\ndata: {\"type\": \"error\", \"error\": {\"type\": \"overloaded_error\", \"message\": \"Overloaded\"}}\n\n";
    let server = Server::start([Reply::events(overloaded)]).await;
    let error = answer(&anthropic(&server.url), prompt()).await.unwrap_err();
    assert!(matches!(error, ProviderError::Server { status: 529, .. }), "{error:?}");
    let server = Server::start([Reply::events("data: {\"error\": {\"message\": \"out of memory\"}}\n\n")]).await;
    let error = answer(&openai(&server.url), prompt()).await.unwrap_err().to_string();
    assert!(error.contains("out of memory"), "{error}");
}

#[tokio::test]
async fn what_is_not_the_protocol_is_told_apart_from_a_failure() {
    let page = Reply::events("<html>").header("content-type", "text/html");
    for error in sentences(page).await {
        assert!(matches!(error, ProviderError::BadAnswer { .. }), "{error:?}");
    }
    for body in
        ["data: x\n\n", "data: {\n\n", "data: [1]\n\n", "data: {\"type\":\"content_block_delta\",\"choices\":7}\n\n"]
    {
        for error in sentences(Reply::events(body)).await {
            assert!(matches!(error, ProviderError::BadAnswer { .. }), "{body}: {error:?}");
        }
    }
}

#[tokio::test]
async fn a_message_of_20_mb_is_read_and_one_beyond_the_bound_is_reported() {
    let event = |text: &str| format!("data: {}\n\n", json!({ "choices": [{ "delta": { "content": text } }] }));
    let whole = |text: &str| Reply::events("").chunk(event(text)).chunk("data: [DONE]\n\n".into());
    let server = Server::start([whole(&"x".repeat(20_000_000)), whole(&"x".repeat(34_000_000))]).await;
    let (text, ..) = answer(&openai(&server.url), prompt()).await.unwrap();
    assert_eq!(text.len(), 20_000_000);
    let error = answer(&openai(&server.url), prompt()).await.unwrap_err().to_string();
    assert!(error.contains("it is longer than 33554432 bytes"), "{error}");
}

#[tokio::test]
async fn an_answer_without_usage_is_whole() {
    let body =
        "data: {\"choices\":[{\"delta\":{\"content\":\"Hello.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let server = Server::start([Reply::events(body)]).await;
    let (text, _, usage, stop) = answer(&openai(&server.url), prompt()).await.unwrap();
    assert_eq!((text.as_str(), usage, stop), ("Hello.", TokenUsage::default(), StopReason::EndTurn));
}

#[tokio::test]
async fn what_stays_the_same_from_turn_to_turn_is_marked_for_the_cache() {
    let server = Server::start([Reply::events(&dialects::anthropic_text("One file."))]).await;
    let mut asked = request(prompt());
    asked.reminders = vec!["be brief".into()];
    let _ = anthropic(&server.url).send(asked).await.unwrap().collect::<Vec<_>>().await;
    let body = &server.asked()[0].body;
    let mark = json!({ "type": "ephemeral" });
    assert_eq!(body["system"][0]["cache_control"], mark);
    assert_eq!(body["tools"][0]["cache_control"], mark);
    let last = body["messages"][0]["content"].as_array().unwrap();
    assert_eq!((last[0]["text"].as_str(), &last[0]["cache_control"]), (Some("What is here?"), &mark));
    assert_eq!((last[1]["text"].as_str(), last[1].get("cache_control")), (Some("be brief"), None));
}

#[tokio::test]
async fn a_redirect_is_not_followed_since_the_key_would_go_along() {
    let elsewhere = Server::start([]).await;
    let redirect = Reply::error(307, "{}").header("location", &elsewhere.url);
    for error in sentences(redirect).await {
        assert!(error.to_string().contains("redirects elsewhere"), "{error}");
    }
    assert!(elsewhere.asked().is_empty());
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_without_credentials() {
    let url = loopback::nobody().await.replace("http://", "http://user:secret@");
    let error = answer(&openai(&url), prompt()).await.unwrap_err();
    assert!(error.is_transient());
    let sentence = error.to_string();
    assert!(sentence.starts_with("the provider openai cannot be reached at http://127.0.0.1:"), "{sentence}");
    assert!(sentence.contains("Connection refused") && !sentence.contains("secret"), "{sentence}");
}

#[tokio::test]
async fn a_silent_server_is_given_up() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let mut impatient = timeouts();
    impatient.idle = Duration::from_millis(50);
    let provider = RemoteProvider::openai(Endpoint::new("openai", &url, None, impatient).unwrap());
    let error = answer(&provider, prompt()).await.unwrap_err();
    assert!(error.to_string().contains("no answer in time"), "{error}");
}

#[test]
fn a_missing_key_is_reported_with_its_variable() {
    let error = Endpoint::new("anthropic", "http://localhost/v1", Some("HOOKHOST_TEST_NO_SUCH_KEY"), timeouts());
    assert_eq!(
        error.unwrap_err().to_string(),
        "the provider anthropic needs an API key: set the environment variable HOOKHOST_TEST_NO_SUCH_KEY, or store one with \
         `hookhost auth set anthropic`"
    );
}

#[test]
fn an_invalid_base_url_is_reported() {
    for url in ["localhost:11434", "not a url", "file:///etc/passwd"] {
        let error = Endpoint::new("local", url, None, timeouts()).unwrap_err().to_string();
        assert!(error.contains("base-url"), "{error}");
    }
}

#[tokio::test]
async fn the_key_is_shown_nowhere() {
    let key = std::env::var(VARIABLE).unwrap();
    // Even the beginning of the key must not be shown. It could remain if the server's message were cut in the middle
    // of the key.
    let start: String = key.chars().take(12).collect();
    let body = json!({ "error": { "message": format!("Incorrect API key provided: {key}") } }).to_string();
    for status in [400, 401] {
        for error in sentences(Reply::error(status, &body)).await {
            assert!(!error.to_string().contains(&start) && !format!("{error:?}").contains(&start), "{error}");
        }
    }
    let provider = openai("http://localhost/v1");
    assert!(!format!("{provider:?}").contains(&start));
}
