//! `hookhost dispatch`: one event through the chain, as one JSON object, and an exit code for its outcome.

use hookhost_tests::{Ended, Entry, User, hookhost, plugin};
use serde_json::{Value, json};

fn call(command: &str) -> Value {
    json!({ "call": { "id": "1", "name": "bash", "arguments": { "command": command } } })
}

/// A user with these plugins, each its own copy of the test plugin, asked in this order.
fn user_with(plugins: &[(&str, Value)]) -> User {
    user_with_keys(plugins, "")
}

fn user_with_keys(plugins: &[(&str, Value)], keys: &str) -> User {
    let user = User::new();
    let entry = |(place, (name, config)): (usize, &(&str, Value))| {
        let wasm = user.write(&format!("{name}.wasm"), std::fs::read(plugin("all-events")).unwrap());
        let entry = Entry::new(name, &wasm).grants(hookhost_tests::ALL_EVENTS_GRANTS).config(config.clone());
        entry.keys(&format!("priority = {place}\n{keys}")).to_toml()
    };
    user.configure(&plugins.iter().enumerate().map(entry).collect::<String>());
    user
}

#[test]
fn it_prints_outcome_original_and_final_value_and_each_verdict_with_round_fuel_and_time() {
    let user = user_with(&[
        ("first", json!({})),
        (
            "second",
            json!({ "before-tool-call": { "when": { "lacks": "timeout" }, "verdict": "modify", "value": { "command": "timeout 60 {command}" } } }),
        ),
    ]);
    let (ended, object) = user.dispatch("before-tool-call", &call("make"));
    ended.expect(0, &[]);
    assert_eq!(ended.stdout.lines().count(), 1, "one object, on one line where nobody looks at it");
    assert_eq!(object["event"], "before-tool-call");
    assert_eq!(object["outcome"], "allowed");
    assert_eq!(object["changed-by"], json!(["second"]));
    assert_eq!(object["original"]["arguments"], json!({ "command": "make" }));
    assert_eq!(object["final"]["arguments"], json!({ "command": "timeout 60 make" }));
    assert_eq!(object["final"]["action"]["shell"]["command"], "timeout 60 make");
    let calls: Vec<_> = object["calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| (&call["plugin"], &call["round"], &call["verdict"]))
        .collect();
    assert_eq!(
        calls,
        [
            (&json!("first"), &json!(1), &json!("allow")),
            (&json!("second"), &json!(1), &json!({ "modify": { "command": "timeout 60 make" } })),
            (&json!("first"), &json!(2), &json!("allow")),
        ]
    );
    for call in object["calls"].as_array().unwrap() {
        assert!(call["fuel"].as_u64().unwrap() > 0 && call["micros"].is_u64(), "{call}");
        assert_eq!(call["digest"], hookhost_tests::digest(&plugin("all-events")));
    }
}

#[test]
fn a_rejection_ends_with_3_and_names_the_plugin_and_its_refusal() {
    let reject = json!({ "verdict": "reject", "reason": "no make today", "code": "make.no", "retryable": true });
    let user = user_with(&[("guard", json!({ "before-tool-call": reject })), ("later", json!({}))]);
    let (ended, object) = user.dispatch("before-tool-call", &call("make"));
    ended.expect(3, &[]);
    assert_eq!(object["outcome"], "rejected");
    assert_eq!(object["cause"], "verdict");
    assert_eq!(object["by"], json!(["guard"]));
    assert_eq!(object["reason"], "Rejected by guard: no make today");
    assert_eq!(
        object["refusal"],
        json!({ "reason": "no make today", "code": "make.no", "retryable": true, "stop": false })
    );
    assert_eq!(object["final"], Value::Null, "there is no final value");
    assert_eq!(object["calls"].as_array().unwrap().len(), 1, "a rejection ends the asking");
}

#[test]
fn a_question_that_nobody_can_be_asked_ends_with_3() {
    let user = user_with(&[("careful", json!({ "any": { "verdict": "escalate", "question": "Really?" } }))]);
    for approve in ["ask", "deny"] {
        let payload = call("make").to_string();
        let ended =
            user.run_with_input(["dispatch", "before-tool-call", "--payload", "-", "--approve", approve], &payload);
        ended.expect(3, &[]);
        let object: Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!(object["cause"], "not-approved");
        assert_eq!(object["reason"], "Rejected: not approved (asked by careful): Really? (nobody is there to answer)");
        assert_eq!(object["by"], json!(["careful"]));
        assert_eq!(object["questions"], json!([{ "plugin": "careful", "question": "Really?", "code": null }]));
        assert_eq!(object["answer"]["kind"], "nobody-there");
    }
}

#[test]
fn plugins_that_never_agree_end_with_3() {
    let add = |letter| json!({ "before-tool-call": { "verdict": "modify", "value": { "command": format!("{{command}}{letter}") } } });
    let user = user_with(&[("a", add("a")), ("b", add("b"))]);
    let (ended, object) = user.dispatch("before-tool-call", &call("x"));
    ended.expect(3, &[]);
    assert_eq!(object["cause"], "disagreement");
    assert!(!object["by"].as_array().unwrap().is_empty());
}

#[test]
fn a_response_takes_the_tools_place() {
    let user =
        user_with(&[("cache", json!({ "before-tool-call": { "verdict": "respond", "value": "from the cache" } }))]);
    let (ended, object) = user.dispatch("before-tool-call", &call("make"));
    ended.expect(0, &[]);
    assert_eq!(object["outcome"], "responded");
    assert_eq!(object["by"], json!(["cache"]));
    assert_eq!(object["response"]["text"], "from the cache");
}

#[test]
fn transforms_tasks_and_observers_are_reported_as_what_they_are() {
    let user = user_with(&[(
        "all",
        json!({
            "prompt-submit": { "verdict": "replace", "value": "{value}!" },
            "finalize-content": { "verdict": "reject", "reason": "a secret" },
            "task-complete": { "verdict": "go-on", "value": [{ "prompt": "more" }] },
            "session-end": { "do": [{ "log": "seen" }, { "report": "x.seen" }, { "remind": "think" }] },
        }),
    )]);
    let (ended, object) = user.dispatch("prompt-submit", &json!({ "prompt": "go" }));
    ended.expect(0, &[]);
    assert_eq!(
        (&object["outcome"], &object["original"], &object["final"]),
        (&json!("passed"), &json!("go"), &json!("go!"))
    );

    let (ended, object) = user.dispatch("finalize-content", &json!({ "content": "it is 1234" }));
    ended.expect(3, &[]);
    assert_eq!((&object["outcome"], &object["final"]), (&json!("withheld"), &Value::Null));

    let completion =
        json!({ "completion": { "status": "success", "turns": 1, "input-tokens": 1, "output-tokens": 1 } });
    let (ended, object) = user.dispatch("task-complete", &completion);
    ended.expect(0, &[]);
    assert_eq!((&object["outcome"], &object["tasks"][0]["prompt"]), (&json!("collected"), &json!("more")));

    let usage = json!({ "usage": { "provider": "p", "model": "m", "input-tokens": 1, "cached-input-tokens": 0, "output-tokens": 1, "session-input-tokens": 1, "session-output-tokens": 1 } });
    let (ended, object) = user.dispatch("session-end", &usage);
    ended.expect(0, &[]);
    assert_eq!(object["outcome"], "observed");
    assert_eq!(object["calls"][0]["log"][0]["message"], "seen");
    assert_eq!(object["calls"][0]["findings"][0]["code"], "x.seen");
    assert_eq!(object["reminders"][0]["body"], "think");
}

#[test]
fn a_plugin_in_observe_mode_is_asked_and_changes_nothing() {
    let user =
        user_with_keys(&[("guard", json!({ "any": { "verdict": "reject", "reason": "no" } }))], "mode = \"observe\"");
    let (ended, object) = user.dispatch("before-tool-call", &call("make"));
    ended.expect(0, &[]);
    assert_eq!(object["calls"][0]["mode"], "observe");
    assert_eq!(object["calls"][0]["verdict"]["reject"]["reason"], "no");
}

#[test]
fn an_entry_narrowed_to_other_actions_is_not_asked() {
    let user = user_with_keys(&[("guard", json!({ "any": { "verdict": "reject" } }))], "actions = [\"write-files\"]");
    let (ended, object) = user.dispatch("before-tool-call", &call("make"));
    ended.expect(0, &[]);
    assert_eq!(object["not-matched"], json!(["guard"]));
    let write = json!({ "call": { "id": "1", "name": "write_file", "arguments": { "path": "a", "content": "" } } });
    user.dispatch("before-tool-call", &write).0.expect(3, &[]);
}

#[test]
fn the_action_is_worked_out_whatever_the_payload_says() {
    let user = User::new();
    let (_, object) = user.dispatch("before-tool-call", &call("ls"));
    let shell = json!({ "shell": { "command": "ls", "cwd": user.project(), "dialect": "posix" } });
    assert_eq!(object["final"]["action"], shell);
    assert_eq!(object["final"]["origin"], "builtin");
    let mut said = call("ls");
    said["call"]["action"] = json!({ "other": "look" });
    said["call"]["origin"] = json!({ "mcp": "files" });
    let (_, object) = user.dispatch("before-tool-call", &said);
    assert_eq!(object["final"]["action"], shell, "what a call does is not taken on trust");
    assert_eq!(object["final"]["origin"], json!({ "mcp": "files" }));
    // Also where calls are in a list, or part of something.
    let (_, object) = user.dispatch("before-tools", &json!({ "calls": [call("a")["call"], call("b")["call"]] }));
    assert_eq!(object["final"][1]["action"]["shell"]["command"], "b");
    let response =
        json!({ "response": { "text": "", "tool-calls": [call("c")["call"]], "stop-reason": "tool-calls" } });
    let (_, object) = user.dispatch("after-inference", &response);
    assert_eq!(object["final"]["tool-calls"][0]["action"]["shell"]["command"], "c");
}

#[test]
fn the_session_can_be_given() {
    let user = user_with(&[("all", json!({ "any": { "verdict": "reject", "reason": "{session} {turn}" } }))]);
    let mut payload = call("ls");
    payload["session"] =
        json!({ "id": "s-1", "turn": 7, "cwd": "/srv/app/src", "workspace": "/srv/app", "agent": "codex" });
    let (_, object) = user.dispatch("before-tool-call", &payload);
    assert_eq!(object["refusal"]["reason"], "s-1 7");
    assert_eq!(object["session"], "s-1");
    assert_eq!(object["original"]["action"]["shell"]["cwd"], "/srv/app/src");
}

#[test]
fn an_event_without_a_payload_shows_an_example_that_works() {
    let user = User::new();
    let events = user.run(["hooks", "--json"]).stdout;
    let events: Value = serde_json::from_str(&events).unwrap();
    let events = events["events"].as_array().unwrap();
    assert_eq!(events.len(), hookhost::contract::EventKind::ALL.len());
    for event in events.iter().map(|event| event["event"].as_str().unwrap()) {
        let ended = user.run(["dispatch", event]);
        if event == "session-start" {
            ended.expect(0, &[]);
            continue;
        }
        ended.expect(2, &["carries a payload", "--payload"]);
        let example = ended.stderr.lines().find_map(|line| line.trim().strip_prefix("try: ")).unwrap();
        let mut shell = user.command([""; 0]);
        let directory = hookhost().parent().unwrap().to_owned();
        let path = format!("{}:{}", directory.display(), std::env::var("PATH").unwrap());
        let mut sh = std::process::Command::new("sh");
        sh.args(["-c", example]).current_dir(user.project());
        for (key, value) in shell.get_envs().filter_map(|(key, value)| Some((key, value?))) {
            sh.env(key, value);
        }
        shell.env("PATH", &path);
        let ended = Ended::of(sh.env("PATH", path));
        ended.expect(0, &[]);
        let object: Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!(object["event"], event);
    }
}

#[test]
fn an_invalid_payload_is_reported_with_the_mistake_and_an_example() {
    let user = User::new();
    let wrong = |payload: &str, said: &[&str]| {
        let ended = user.run_with_input(["dispatch", "before-tool-call", "--payload", "-"], payload);
        ended.expect(2, said).expect(2, &["this is no payload of before-tool-call", "try: echo"]);
        assert_eq!(ended.stdout, "");
    };
    wrong("{", &["EOF while parsing"]);
    wrong("[]", &["it is not a JSON object"]);
    wrong("{}", &["missing field `call`"]);
    wrong(r#"{"cal": {}}"#, &["it has a key `cal`, and before-tool-call has `call`"]);
    wrong(r#"{"call": {"name": "bash", "arguments": {}}}"#, &["missing field `id`"]);
    wrong(r#"{"call": {"id": "1", "name": "bash", "arguments": {}, "more": 1}}"#, &["unknown field `call.more`"]);
    wrong(
        r#"{"call": {"id": "1", "name": "bash", "arguments": {}, "orgin": {"mcp": "x"}}}"#,
        &["unknown field `call.orgin`: did you mean `origin`?"],
    );
    wrong(r#"{"call": {}, "session": {"cdw": "/x"}}"#, &["`session`: unknown field `cdw`"]);
    wrong(r#"{"call": {}, "session": {"cwd": "x"}}"#, &["x is not an absolute path"]);
}

#[test]
fn a_payload_can_be_a_file() {
    let user = User::new();
    user.write("payload.json", call("ls").to_string());
    let ended = user.run(["dispatch", "before-tool-call", "--payload", "payload.json"]);
    ended.expect(0, &[]);
    user.run(["dispatch", "before-tool-call", "--payload", "nowhere.json"])
        .expect(2, &["the payload nowhere.json cannot be read"]);
}

#[test]
fn an_unknown_event_is_reported_with_those_that_exist() {
    User::new().run(["dispatch", "before-tool"]).expect(2, &["before-tool-call", "session-start", "audit-record"]);
}

#[test]
fn what_a_plugin_prints_is_in_its_record_and_nowhere_on_the_terminal() {
    let prints = json!([{ "print": "to the output \u{1b}[2J" }, { "print-error": "to the error" }]);
    let user = user_with(&[("prints", json!({ "session-start": { "do": prints } })), ("quiet", json!({}))]);
    let (ended, object) = user.dispatch("session-start", &json!({}));
    ended.expect(0, &[]);
    assert_eq!(ended.stderr, "", "nothing of it is passed on");
    assert!(!ended.stdout.contains('\u{1b}'), "{ended:#?}");
    let of = |plugin: &str| object["calls"].as_array().unwrap().iter().find(|call| call["plugin"] == plugin).unwrap();
    let said: Vec<_> = of("prints")["log"].as_array().unwrap().iter().map(|line| line["message"].clone()).collect();
    assert!(said.contains(&json!("to the output \u{1b}[2J")) && said.contains(&json!("to the error")), "{said:?}");
    assert!(of("quiet")["log"].as_array().is_none_or(Vec::is_empty), "{object}");
}

#[test]
fn what_a_plugin_prints_beyond_its_limit_is_dropped_and_counted() {
    let user = User::new();
    let wasm = user.write("prints.wasm", std::fs::read(plugin("all-events")).unwrap());
    let prints: Vec<_> = (0..20).map(|_| json!({ "print": "x".repeat(100) })).collect();
    let entry = Entry::new("prints", &wasm)
        .grants(hookhost_tests::ALL_EVENTS_GRANTS)
        .limits("compute = \"30s\"\ndeadline = \"30s\"\nlog = 1000\n")
        .config(json!({ "session-start": { "do": prints } }));
    user.configure(&entry.to_toml());
    let (ended, object) = user.dispatch("session-start", &json!({}));
    ended.expect(0, &[]);
    let call = &object["calls"][0];
    let bytes: usize = call["log"].as_array().unwrap().iter().map(|line| line["message"].as_str().unwrap().len()).sum();
    assert!(bytes <= 1_000 && call["log-dropped"].as_u64() > Some(0), "{call}");
}

#[test]
fn arguments_as_deep_as_can_be_sent_are_read_by_a_plugin_with_the_stack_of_the_template() {
    let user = User::new();
    let entry = Entry::new("guard", &plugin("path-guard")).config(json!({ "protected": ["infra/**"] }));
    user.configure(&entry.to_toml());
    // serde_json reads 128 levels, and the payload has three around these.
    let deep = (0..120).fold(json!("x"), |inner, _| json!([inner]));
    let mut call = call("ls");
    call["call"]["arguments"]["deep"] = deep;
    let (ended, object) = user.dispatch("before-tool-call", &call);
    ended.expect(0, &[]);
    assert_eq!(object["outcome"], "allowed", "{object:#}");
}
