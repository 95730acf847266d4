//! `[agent.plugin-models]`: what a plugin asks reaches the model that the configuration gives the name to, and its answer counts.

use hookhost_tests::{Ended, Entry, Reply, Server, User, plugin};
use serde_json::{Value, json};

/// What answers each command that no rule knows.
const DENIES: &str = r#"{"kind": "deny", "confidence": 0.9, "explanation": "it sends mail"}"#;

/// Text as a server streams it, by the provider's kind.
fn streamed(kind: &str, text: &str) -> Reply {
    let events = match kind {
        "anthropic" => vec![
            json!({ "type": "message_start", "message": { "usage": { "input_tokens": 5, "output_tokens": 1 } } }),
            json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
            json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": text } }),
            json!({ "type": "content_block_stop", "index": 0 }),
            json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": { "output_tokens": 9 } }),
            json!({ "type": "message_stop" }),
        ],
        _ => vec![json!({ "choices": [{ "index": 0, "delta": { "content": text }, "finish_reason": "stop" }] })],
    };
    let event = |event: &Value| match event["type"].as_str() {
        Some(kind) => format!("event: {kind}\ndata: {event}\n\n"),
        None => format!("data: {event}\n\n"),
    };
    let done = if kind == "anthropic" { "" } else { "data: [DONE]\n\n" };
    Reply::stream(&(events.iter().map(event).collect::<String>() + done))
}

/// A user with the classifier, whose model is `small`.
fn user(models: &str) -> User {
    let user = User::new();
    let entry = Entry::new("guard", &plugin("shell-guard-classifier"))
        .grants("state = {}\nmodel = { name = \"small\" }\n")
        .config(json!({ "stacks": [] }));
    user.configure(&format!("[agent]\nretries = 1\n{models}\n{}", entry.to_toml()));
    user
}

fn models(kind: &str, url: &str) -> String {
    format!(
        "[agent.providers.side]\nkind = \"{kind}\"\nbase-url = \"{url}/v1\"\nkey-variable = \"TEST_KEY\"\n\
         limits = {{ tiny = {{ max-output-tokens = 300 }} }}\n\
         [agent.plugin-models]\nsmall = {{ provider = \"side\", model = \"tiny\" }}\n"
    )
}

fn judge(user: &User) -> Ended {
    Ended::of(user.command(["dispatch", "--shell", "frob --all"]).env("TEST_KEY", "key-of-the-test"))
}

#[test]
fn a_plugin_asks_the_model_of_its_grant_and_the_answer_decides() {
    for kind in ["anthropic", "openai"] {
        let server = Server::start(vec![streamed(kind, DENIES)]);
        let user = user(&models(kind, server.url()));
        let ended = judge(&user);
        ended.expect(3, &[]);
        assert!(
            ended.stdout.starts_with("rejected by guard\n") && ended.stdout.contains("it sends mail"),
            "{ended:#?}"
        );
        let requests = server.requests();
        let [request] = requests.as_slice() else { panic!("{requests:?}") };
        let body: Value = serde_json::from_str(request).unwrap();
        // Its instructions and its data apart, and no more tokens than the model has.
        assert_eq!(
            (&body["model"], &body["max_tokens"], &body["temperature"]),
            (&json!("tiny"), &json!(300), &json!(0.0))
        );
        assert_eq!(body["tools"], Value::Null);
        let messages = body["messages"].as_array().unwrap();
        assert!(messages.last().unwrap().to_string().contains("frob --all"), "{body}");
        assert_eq!(body.to_string().matches("frob --all").count(), 1, "{body}");
        // What was asked is in the log, and the key is not.
        let records = json!(user.records()).to_string();
        assert!(records.contains("frob --all") && !records.contains("key-of-the-test"), "{records}");
        user.run(["replay"]).expect(0, &[]);
        assert_eq!(server.requests().len(), 1, "a replay asks nobody");
    }
}

#[test]
fn a_failure_that_may_pass_is_tried_again_and_one_that_stays_is_the_plugins_affair() {
    let again = Reply::Whole { status: 429, headers: "retry-after: 0\r\n".into(), body: "{}".into() };
    let server = Server::start(vec![again, streamed("openai", r#"{"kind": "allow", "confidence": 0.9}"#)]);
    judge(&user(&models("openai", server.url()))).expect(0, &[]);
    assert_eq!(server.requests().len(), 2);
    // There is no wait if the plugin's deadline would cut it short.
    let later = Reply::Whole { status: 429, headers: "retry-after: 60\r\n".into(), body: "{}".into() };
    let limited = Server::start(vec![later]);
    let ended = judge(&user(&models("openai", limited.url())));
    ended.expect(3, &[]);
    assert!(ended.stdout.contains("limits the rate of requests (HTTP 429): try again in 60 s"), "{ended:#?}");
    assert_eq!(limited.requests().len(), 1);
    let broken = Server::start(vec![Reply::status(401)]);
    let ended = judge(&user(&models("openai", broken.url())));
    ended.expect(3, &[]);
    assert!(ended.stdout.starts_with("rejected (not approved) by guard\n"), "{ended:#?}");
    assert!(ended.stdout.contains("the provider side refused the API key (HTTP 401)"), "{ended:#?}");
}

#[test]
fn a_model_that_cannot_be_asked_is_reported_where_it_would_be_and_by_hooks() {
    for (section, said) in [
        ("", "[agent.plugin-models] has no model of the name small"),
        ("[agent.plugin-models]\nsmall = { provider = \"nowhere\" }\n", "there is no provider named `nowhere`: use "),
        (
            "[agent.plugin-models]\nsmall = { provider = \"ollama\" }\n",
            "the entry small of [agent.plugin-models] needs a `model`, since its provider ollama has no default model",
        ),
        (
            "[agent.plugin-models]\nsmall = { provider = \"groq\", model = \"m\" }\n",
            "set the environment variable GROQ_API_KEY",
        ),
    ] {
        let user = user(section);
        let ended = user.run(["dispatch", "--shell", "frob --all"]);
        ended.expect(3, &[]);
        assert!(ended.stdout.starts_with("rejected (not approved) by guard\n"), "{ended:#?}");
        assert!(ended.stdout.contains(said), "{ended:#?}");
        user.run(["hooks"]).expect(0, &["note: guard is granted a model that it cannot ask: ", said]);
    }
    let typo = user("[agent.plugin-models]\nsmall = { provder = \"groq\" }\n");
    typo.run(["dispatch", "--shell", "ls"]).expect(5, &["unknown key `provder`", "did you mean `provider`?"]);
}
