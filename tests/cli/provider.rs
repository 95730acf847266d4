//! A provider that does not answer: one clear sentence, exit code 1, and a session that is whole. And one that does.

use hookhost_tests::{Ended, Entry, Reply, Server, User};
use serde_json::{Value, json};

/// A user whose agent asks `url`; a failed request is not sent again.
fn user(kind: &str, url: &str) -> User {
    let user = User::new();
    user.configure(&agent(kind, url));
    user
}

fn agent(kind: &str, url: &str) -> String {
    format!(
        "[agent]\nprovider = \"{kind}\"\nmodel = \"test-model\"\nbase-url = \"{url}/v1\"\nkey-variable = \"TEST_KEY\"\nretries = 0\n"
    )
}

fn run(user: &User) -> Ended {
    Ended::of(user.command(["run", "go"]).env("TEST_KEY", "key-of-the-test"))
}

/// The run ended so, and its session holds the prompt and the end.
#[track_caller]
fn failed(user: &User, ended: &Ended, sentence: &str) {
    ended.expect(1, &[sentence]);
    assert_eq!(ended.stderr.matches("error: ").count(), 1, "{ended:#?}");
    assert!(!format!("{ended:?}").contains("key-of-the-test"), "the key is told: {ended:#?}");
    let sessions = user.sessions();
    let [session] = sessions.as_slice() else { panic!("{} sessions", sessions.len()) };
    let first = &session["messages"][0];
    assert_eq!((&first["role"], &first["text"]), (&json!("user"), &json!("go")));
    assert_eq!((&session["model"], &session["status"]), (&json!("test-model"), &json!("error")));
    assert!(session["reason"].as_str().unwrap().contains(sentence), "{session}");
}

const KINDS: [&str; 2] = ["anthropic", "openai"];

#[test]
fn without_a_key_nothing_is_asked_and_the_variable_is_named() {
    for kind in KINDS {
        let server = Server::start(vec![Reply::status(500)]);
        let user = user(kind, server.url());
        let ended = user.run(["run", "go"]);
        ended.expect(
            1,
            &[&format!("error: the provider {kind} needs an API key: set the environment variable TEST_KEY, or store one with `hookhost auth set {kind}`\n")],
        );
        assert!(server.requests().is_empty());
        assert!(user.sessions().is_empty());
    }
    User::new()
        .run(["run", "go"])
        .expect(1, &["no model is ready", "try: hookhost auth set PROVIDER, where PROVIDER is one of anthropic"]);
}

#[test]
fn a_key_that_is_refused_is_reported_with_its_variable() {
    for kind in KINDS {
        let server = Server::start(vec![Reply::status(401)]);
        let user = user(kind, server.url());
        let sentence = format!(
            "the provider {kind} refused the API key (HTTP 401): check the value of the environment variable TEST_KEY"
        );
        failed(&user, &run(&user), &sentence);
    }
}

#[test]
fn a_rate_limit_is_reported_with_the_wait() {
    for kind in KINDS {
        let headers = "retry-after: 30\r\n".to_owned();
        let server = Server::start(vec![Reply::Whole { status: 429, headers, body: "{}".into() }]);
        let user = user(kind, server.url());
        failed(
            &user,
            &run(&user),
            &format!("the provider {kind} limits the rate of requests (HTTP 429): try again in 30 s"),
        );
    }
}

#[test]
fn a_failure_of_the_server_is_reported_as_its_own() {
    for kind in KINDS {
        let server = Server::start(vec![Reply::status(500)]);
        let user = user(kind, server.url());
        failed(&user, &run(&user), &format!("the provider {kind} failed on its side (HTTP 500)"));
    }
}

#[test]
fn a_refused_connection_is_reported_with_the_address() {
    for kind in KINDS {
        // A port that was free a moment ago, and that nobody listens on.
        let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let user = user(kind, &format!("http://{address}"));
        failed(&user, &run(&user), &format!("the provider {kind} cannot be reached at http://{address}/v1"));
    }
}

fn event(name: &str, data: &Value) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

/// The beginning of an answer, as each provider's documentation gives it.
fn beginning(kind: &str) -> String {
    if kind == "openai" {
        let chunk = json!({ "choices": [{ "index": 0, "delta": { "role": "assistant", "content": "I begin" } }] });
        return format!("data: {chunk}\n\n");
    }
    event(
        "message_start",
        &json!({ "type": "message_start", "message": { "id": "m", "type": "message", "role": "assistant", "content": [], "model": "test-model", "stop_reason": null, "usage": { "input_tokens": 3, "output_tokens": 1 } } }),
    ) + &event(
        "content_block_start",
        &json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
    ) + &event(
        "content_block_delta",
        &json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "I begin" } }),
    )
}

/// The rest of it.
fn rest(kind: &str) -> String {
    if kind == "openai" {
        let chunk =
            json!({ "choices": [{ "index": 0, "delta": { "content": ", and end.\n" }, "finish_reason": "stop" }] });
        return format!("data: {chunk}\n\ndata: [DONE]\n\n");
    }
    event(
        "content_block_delta",
        &json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": ", and end.\n" } }),
    ) + &event("content_block_stop", &json!({ "type": "content_block_stop", "index": 0 }))
        + &event(
            "message_delta",
            &json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": { "output_tokens": 7 } }),
        )
        + &event("message_stop", &json!({ "type": "message_stop" }))
}

#[test]
fn a_stream_that_breaks_off_is_not_an_answer() {
    for kind in KINDS {
        let server = Server::start(vec![Reply::BrokenStream(beginning(kind))]);
        let user = user(kind, server.url());
        let ended = run(&user);
        failed(&user, &ended, &format!("the answer of the provider {kind} broke off in the middle"));
        let session = user.sessions().remove(0);
        let lines = session["messages"].as_array().unwrap();
        assert!(lines.iter().all(|line| line["role"] != "assistant"), "half an answer is stored: {lines:?}");
    }
}

#[test]
fn a_failure_that_passes_is_tried_again_and_reported() {
    for kind in KINDS {
        let server = Server::start(vec![
            Reply::Whole { status: 429, headers: "retry-after: 0\r\n".into(), body: "{}".into() },
            Reply::stream(&(beginning(kind) + &rest(kind))),
        ]);
        let user = user(kind, server.url());
        user.configure(&agent(kind, server.url()).replace("retries = 0", "retries = 1"));
        let ended = run(&user);
        ended.expect(0, &["retrying in ", "(HTTP 429)"]);
        assert_eq!(ended.stdout, "I begin, and end.\n");
        assert_eq!(server.requests().len(), 2);
    }
}

#[test]
fn plugins_get_a_real_providers_answer_and_the_model_gets_what_they_leave_of_the_prompt() {
    for kind in KINDS {
        let server = Server::start(vec![Reply::stream(&(beginning(kind) + &rest(kind)))]);
        let user = User::new();
        let config = json!({
            "prompt-submit": { "verdict": "replace", "value": "{value} carefully" },
            "stream-delta": { "verdict": "replace", "value": "> {value}" },
        });
        let grants = "state = {}\ntranscript = true\nmodel = { name = \"small\" }\naudit = true\n";
        let entry =
            Entry::all_events("guard", config).grants(grants).keys("events = [\"prompt-submit\", \"stream-delta\"]");
        user.configure(&(agent(kind, server.url()) + &entry.to_toml()));
        let ended = run(&user);
        ended.expect(0, &["changed prompt-submit by guard"]);
        assert_eq!(ended.stdout, "> I begin, and end.\n");
        let requests = server.requests();
        let request: Value = serde_json::from_str(&requests[0]).unwrap();
        let messages = request["messages"].to_string();
        assert!(messages.contains("go carefully"), "{messages}");
        assert_eq!(request["stream"], true);
    }
}
