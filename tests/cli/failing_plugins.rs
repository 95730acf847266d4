//! Plugins that misbehave: that event fails as the plugin's `on-failure` says, and everything else continues.

use hookhost_tests::{ALL_EVENTS_GRANTS, Entry, User, plugin};
use serde_json::{Value, json};

/// What a plugin can do wrong, and what that is called.
const MISBEHAVIOURS: [(&str, &str, &str); 8] = [
    ("loop", "out-of-fuel", "used up its fuel"),
    ("recurse", "trap", "trapped: "),
    ("allocate", "out-of-memory", "bytes of memory (limits.memory)"),
    ("big-answer", "answer-too-large", "bytes at once (limits.output)"),
    ("invalid-json", "invalid-answer", "answered with `modify` that is not JSON"),
    ("trap", "trap", "wasm `unreachable` instruction executed"),
    ("exit", "trap", "exited instead of answering"),
    ("flood", "capability-calls", "limits.capability-calls"),
];

/// Misbehaves as the command says.
fn misbehaving() -> Value {
    let behaviour = |(name, _, _): &(&str, _, _)| json!({ "when": { "contains": name }, "misbehave": name });
    json!({ "before-tool-call": MISBEHAVIOURS.iter().map(behaviour).collect::<Vec<_>>() })
}

/// A user with a plugin that misbehaves, and one after it that refuses what it is told to.
fn user(on_failure: &str) -> User {
    let user = User::new();
    let copy = |name: &str| user.write(name, std::fs::read(plugin("all-events")).unwrap());
    let bad = Entry::new("bad", &copy("bad.wasm")).grants(ALL_EVENTS_GRANTS).config(misbehaving()).keys(on_failure);
    let bad = bad.limits("compute = \"30s\"\ndeadline = \"30s\"\nmemory = \"64MiB\"\nfuel = 300_000_000\n");
    let refuse =
        json!({ "before-tool-call": { "when": { "contains": "refused" }, "verdict": "reject", "reason": "said so" } });
    let good = Entry::new("good", &copy("good.wasm")).grants(ALL_EVENTS_GRANTS).config(refuse);
    user.configure(&format!("{}{}", bad.keys("priority = 1").to_toml(), good.to_toml()));
    user
}

fn call(command: &str) -> Value {
    json!({ "call": { "id": "1", "name": "bash", "arguments": { "command": command } } })
}

#[test]
fn a_failure_rejects_by_default_ends_with_4_and_says_what_happened() {
    let user = user("");
    for (misbehaviour, kind, detail) in MISBEHAVIOURS {
        let (ended, object) = user.dispatch("before-tool-call", &call(misbehaviour));
        ended.expect(4, &[]);
        assert_eq!(object["outcome"], "rejected", "{object:#}");
        let timed_out = kind == "out-of-fuel";
        assert_eq!(object["cause"], if timed_out { "timed-out" } else { "failed" }, "{object:#}");
        assert_eq!(object["by"], json!(["bad"]));
        let call = &object["calls"][0];
        assert_eq!(call["failure"]["kind"], kind, "{object:#}");
        assert!(call["failure"]["detail"].as_str().unwrap().contains(detail), "{object:#}");
        let sentence = if timed_out {
            "Rejected because the plugin bad timed out: it "
        } else {
            "Rejected because the plugin bad failed: it "
        };
        assert!(object["reason"].as_str().unwrap().starts_with(sentence), "{object:#}");
    }
    user.dispatch("before-tool-call", &call("nothing wrong")).0.expect(0, &[]);
}

#[test]
fn a_failure_that_is_skipped_leaves_the_decision_to_the_others() {
    let user = user("on-failure = \"skip\"");
    for (misbehaviour, kind, _) in MISBEHAVIOURS {
        let (ended, object) = user.dispatch("before-tool-call", &call(misbehaviour));
        ended.expect(0, &[]);
        assert_eq!(object["outcome"], "allowed");
        assert_eq!(object["calls"][0]["failure"]["kind"], kind);
        assert_eq!(object["calls"][1]["verdict"], "allow");
    }
    let (ended, object) = user.dispatch("before-tool-call", &call("refused trap"));
    ended.expect(3, &[]);
    assert_eq!(object["by"], json!(["good"]));
}

#[test]
fn a_plugin_that_sleeps_is_stopped_at_its_deadline_and_one_that_computes_at_its_limit() {
    let user = User::new();
    for (misbehaviour, kind, limits) in [
        ("sleep", "deadline", "deadline = \"300ms\""),
        ("loop", "compute", "fuel = 9_000_000_000_000\ncompute = \"300ms\"\ndeadline = \"60s\""),
    ] {
        let config = json!({ "before-tool-call": { "misbehave": misbehaviour } });
        user.configure(&Entry::all_events("slow", config).limits(&format!("{limits}\n")).to_toml());
        let (ended, object) = user.dispatch("before-tool-call", &call("ls"));
        ended.expect(4, &[]);
        assert_eq!(object["cause"], "timed-out");
        assert_eq!(object["calls"][0]["failure"]["kind"], kind, "{object:#}");
        assert!(object["calls"][0]["micros"].as_u64().unwrap() >= 290_000, "{object:#}");
    }
}

#[test]
fn an_event_that_is_too_large_is_a_failure_and_not_a_cut() {
    let user = User::new();
    user.configure(&Entry::all_events("small", json!({})).limits("input = \"1KiB\"\n").to_toml());
    let (ended, object) = user.dispatch("before-tool-call", &call(&"x".repeat(2000)));
    ended.expect(4, &[]);
    assert_eq!(object["calls"][0]["failure"]["kind"], "oversized");
}

/// A run whose model makes one call a turn.
fn script(user: &User, commands: &[&str]) -> String {
    let turn = |command: &&str| {
        format!("[[turn]]\ncall = [{{ tool = \"bash\", arguments = {{ command = \"echo {command}\" }} }}]\n")
    };
    let text = commands.iter().map(turn).collect::<String>() + "[[turn]]\ntext = \"That is all.\"\n";
    user.write("script.toml", text).to_str().unwrap().to_owned()
}

/// The results that the model got, in order.
fn results(user: &User) -> Vec<String> {
    let sessions = user.sessions();
    assert_eq!(sessions.len(), 1);
    let messages = sessions[0]["messages"].as_array().unwrap().iter();
    let tools = messages.filter(|message| message["role"] == "tool");
    tools.map(|message| message["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_session_continues_after_every_misbehaviour() {
    let user = user("");
    let names: Vec<_> = MISBEHAVIOURS.iter().flat_map(|(name, _, _)| [*name, "hello"]).chain(["refused"]).collect();
    let ended = user.run(["run", "go", "--script", &script(&user, &names)]);
    ended.expect(0, &["since bad failed: it ", "since bad timed out: it ", "by good: said so"]);
    assert_eq!(ended.stdout, "That is all.\n");
    let results = results(&user);
    assert_eq!(results.len(), names.len());
    for (name, result) in names.iter().zip(&results) {
        match *name {
            "hello" => assert_eq!(result, "hello\n[exit code 0]"),
            "refused" => assert_eq!(result, "Rejected by good: said so"),
            _ => assert!(result.starts_with("Rejected because the plugin bad "), "{name}: {result}"),
        }
    }
}

#[test]
fn after_three_failures_in_a_row_a_plugin_is_asked_no_more_and_the_user_is_told_once() {
    // What it answers to other events would be a success in between.
    let user = user("events = [\"before-tool-call\"]");
    let names = ["trap 1", "trap 2", "trap 3", "hello", "hello again"];
    let ended = user.run(["run", "go", "--script", &script(&user, &names)]);
    ended.expect(0, &[]);
    let told = ended.stderr.matches("the plugin bad failed 3 times in a row").count();
    assert_eq!(told, 1, "{ended:#?}");
    assert!(!ended.stderr.contains("warning: a plugin"), "each failure is told in one sentence: {ended:#?}");
    let results = results(&user);
    assert!(
        results[3].contains("is not called until it is tried again"),
        "its on-failure decides in its place: {results:?}"
    );
}
