//! `hookhost update`: says which version is here and how it is updated, and writes the file in the form of this version.

use hookhost_tests::{Entry, User, plugin};
use rusqlite::Connection;
use serde_json::{Value, json};
use std::path::Path;

#[test]
fn update_names_the_version_its_origin_and_the_next_step_and_changes_nothing() {
    let user = User::new();
    user.configure("[settings]\nrequire-plugins = false\n");
    let said = user.run(["update"]);
    said.expect(0, &[]);
    for part in [
        &format!("hookhost {}, installed by a build from source", env!("CARGO_PKG_VERSION")),
        "git pull && cargo xtask install",
        "no resident host runs",
        "there is no log yet",
        "hookhost.toml",
        "does not update itself",
    ] {
        assert!(said.stdout.contains(part), "{part:?} is not in\n{}", said.stdout);
    }
    assert!(!user.log_file().exists(), "it changes nothing");
    let said: Value = serde_json::from_str(&user.run(["update", "--json"]).stdout).unwrap();
    assert_eq!(said["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(said["log"], json!({ "says": "there is no log yet", "problem": false }));
}

#[test]
fn the_mode_audit_of_version_0_1_becomes_observe() {
    let user = User::new();
    user.configure("# mine\n[mcp-proxy]\nmode = \"audit\" # for now\n");
    user.run(["hooks"]).expect(5, &["`audit` is now `observe`", "hookhost update"]);
    let said = user.run(["update"]);
    said.expect(0, &[]);
    assert!(said.stdout.contains("1 `mode = \"audit\"` in your own file became `observe`"), "{}", said.stdout);
    let new = "# mine\n[mcp-proxy]\nmode = \"observe\" # for now\n";
    assert_eq!(std::fs::read_to_string(user.config_file()).unwrap(), new);
    user.run(["hooks"]).expect(0, &[]);
    assert!(!user.run(["update"]).stdout.contains("became"));
}

#[test]
fn the_rules_of_tool_policy_become_rules_in_words_that_load() {
    let user = User::new();
    let rules = json!([
        { "id": "no-exec", "tool": "exec_*", "deny": "exec_* is gated" },
        { "id": "slowly", "tool": "web_*", "rate": { "calls": 2, "seconds": 60 } },
        { "id": "short", "max-output": 10 },
    ]);
    user.configure(&Entry::new("policy", &plugin("tool-policy")).config(json!({ "rule": rules })).to_toml());
    let said: Value = serde_json::from_str(&user.run(["update", "--json"]).expect(5, &[]).stdout).unwrap();
    let rules: String = said["rules-to-write"].as_array().unwrap().iter().map(|rule| rule.as_str().unwrap()).collect();
    user.configure(&rules);
    let call = |name: &str| {
        user.dispatch("before-tool-call", &json!({ "call": { "id": "1", "name": name, "arguments": {} } })).0
    };
    assert!(call("exec_sql").expect(3, &[]).stdout.contains("exec_* is gated"));
    call("read").expect(0, &[]);
    let cases = "[[case]]\nname = 'slowly'\n".to_owned()
        + &["allowed", "allowed", "rejected"]
            .map(|outcome| format!("[[case.event]]\ntool = 'web_get'\noutcome = '{outcome}'\n"))
            .concat();
    user.run([Path::new("test"), &user.write("cases/a.toml", cases)]).expect(0, &[]);
    // Of a rule with conditions, a person writes the examples.
    let when = json!([{ "argument": "database.name", "matches": "^prod" }, { "argument": "force", "present": true }]);
    let rules = json!([{ "id": "production", "tool": "query", "when": when, "ask": "Sure?" }]);
    user.configure(&Entry::new("policy", &plugin("tool-policy")).config(json!({ "rule": rules })).to_toml());
    let when = r#"when = "arguments.database.name.matches(\"^prod\") && has(arguments.force)""#;
    let said = user.run(["update"]).expect(5, &[]).stdout.clone();
    for part in ["tool-policy only shortens results now", when, "ask = \"Sure?\"\nstops = []"] {
        assert!(said.contains(part), "{part:?} is not in {said}");
    }
}

#[test]
fn an_older_version_says_that_a_newer_one_has_written_the_log() {
    let user = User::new();
    let (begun, _) = user.dispatch("session-start", &json!({}));
    begun.expect(0, &[]);
    user.run(["update"]).expect(0, &[]);
    Connection::open(user.log_file()).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let said = user.run(["update"]);
    said.expect(5, &[]);
    assert!(said.stdout.contains("a newer hookhost has written the log"), "{}", said.stdout);
    assert!(said.stdout.contains("has format 99, and this hookhost knows format 2"), "{}", said.stdout);
}

#[test]
fn settings_that_this_version_does_not_accept_are_named() {
    let user = User::new();
    user.configure("[settings]\napproval-dead-line = \"5m\"\n");
    let said = user.run(["update"]);
    said.expect(5, &[]);
    assert!(said.stdout.contains("this version does not accept them: "), "{}", said.stdout);
    assert!(said.stdout.contains("did you mean `approval-deadline`?"), "{}", said.stdout);
}
