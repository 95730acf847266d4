//! `hookhost why`: the explanation of one recorded event.

use hookhost_tests::{Ended, Entry, User};
use serde_json::{Value, json};

fn guard(force: &str) -> String {
    let config = json!({
        "before-tool-call": [
            { "when": { "contains": "push -f" }, "do": [{ "report": { "code": "git.force", "severity": "error", "explanation": "It rewrites history",
              "references": [], "action": "rejected", "details": "{\"matched\": \"push -f\"}" } }],
              "verdict": force, "reason": "no \u{1b}[2Jforce", "code": "git.force" },
            { "when": { "contains": "make", "round": 1 }, "verdict": "modify", "value": { "command": "timeout 60 {command}" } },
            { "when": { "contains": "trap" }, "misbehave": "trap" },
        ],
    });
    Entry::all_events("guard", config).keys("events = [\"before-tool-call\"]").to_toml()
}

/// A user with the records of an allowed, a changed, a rejected and a failed call.
fn user() -> User {
    let user = User::new();
    user.configure(&guard("reject"));
    for command in ["ls", "make", "git push -f", "trap", "ls -la"] {
        let call = json!({ "call": { "id": "1", "name": "bash", "arguments": { "command": command } } });
        let _ = user.dispatch("before-tool-call", &call);
    }
    user
}

/// The number of the record of a call.
fn record(user: &User, command: &str) -> String {
    let records = user.records();
    let is_it = |record: &&Value| record["kind"] == "event" && record["original"]["arguments"]["command"] == command;
    records.iter().find(is_it).unwrap()["seq"].to_string()
}

#[track_caller]
fn assert_says(ended: &Ended, said: &[&str]) {
    ended.expect(0, &[]);
    for said in said {
        assert!(ended.stdout.contains(said), "{said:?} is not in {}", ended.stdout);
    }
}

#[test]
fn a_rejected_call_shows_who_was_asked_the_rule_that_matched_and_the_same_result_today() {
    let user = user();
    let seq = record(&user, "git push -f");
    let ended = user.run(["why", &seq]);
    assert_says(
        &ended,
        &[
            "before-tool-call  rejected by guard\n",
            "  agent     hookhost-dispatch, in ",
            "  about     bash command=\"git push -f\"\n",
            "  reason    Rejected by guard: no \u{fffd}[2Jforce\n",
            &format!("  record    {seq} of "),
            "asked, in this order\n  guard  reject ",
            "  git push -f\n      ^^^^^^^\n  error git.force (guard): It rewrites history\n",
            "  today     the same\n",
        ],
    );
    let number: u64 = seq.parse().unwrap();
    let id = user.records().iter().find(|record| record["seq"] == json!(number)).unwrap()["id"].clone();
    assert_eq!(user.run(["why", id.as_str().unwrap()]).stdout, ended.stdout);
}

#[test]
fn an_allowed_a_changed_and_a_failed_call_are_explained_and_without_an_id_the_last_that_did_not_pass() {
    let user = user();
    assert_says(&user.run(["why", &record(&user, "ls")]), &["before-tool-call  allowed\n", "  guard  allow\n"]);
    assert_says(
        &user.run(["why", &record(&user, "make")]),
        &["changed by guard\n    - arguments.command: make\n    + arguments.command: timeout 60 make\n"],
    );
    let failed = user.run(["why"]);
    assert_says(
        &failed,
        &["rejected (failed: trap) by guard\n", "  guard  failed: it trapped: ", "bash command=trap\n"],
    );
    assert_says(&user.run(["why", "last"]), &["bash command=\"ls -la\"\n", "  today     the same\n"]);
}

#[test]
fn the_rules_of_today_and_another_configuration_are_asked_about_the_recorded_event() {
    let user = user();
    let seq = record(&user, "git push -f");
    user.write("other.toml", guard("allow"));
    assert_says(&user.run(["why", &seq, "--config", "other.toml"]), &["  today     allowed\n"]);
    let records = user.records();
    let ended = user.run(["why", &seq, "--json", "--config", "other.toml"]);
    let object: Value = serde_json::from_str(&ended.expect(0, &[]).stdout).unwrap();
    assert_eq!(
        (&object["event"]["outcome"], &object["today"]["event"]["outcome"]),
        (&json!("rejected"), &json!("allowed"))
    );
    assert_eq!((&object["today"]["same"], &object["session"]["agent"]), (&json!(false), &json!("hookhost-dispatch")));
    assert_eq!(user.records(), records, "nothing is recorded");
    user.configure("[[plugin]]\nname = 'gone'\npath = 'gone.wasm'\nsha256 = '0'\n");
    assert_says(&user.run(["why", &seq]), &["  today     not judged again: "]);
}

#[test]
fn an_event_that_is_not_there_is_named_with_the_next_step() {
    let user = user();
    user.run(["why", "999999"]).expect(2, &["the log has no record and no event 999999", "try: hookhost audit show"]);
    user.run(["why", "nothing"]).expect(2, &["no event nothing"]);
    user.run(["why", "1"]).expect(2, &["record 1 is about no event"]);
    User::new().run(["why"]).expect(5, &["no agent has called hookhost yet"]);
}
