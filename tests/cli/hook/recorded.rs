//! A recorded session of an agent becomes a case file, whose cases pass until a rule changes.

use super::Home;
use hookhost_tests::{Ended, Entry};
use serde_json::json;
use std::fs;

/// Rules that reject, ask, change and count.
fn rules(limit: &str) -> String {
    let config = json!({
        "before-tool-call": [
            { "when": { "contains": "push -f" }, "verdict": "reject", "reason": "no force", "code": "git.force" },
            { "when": { "contains": "make", "round": 1 }, "do": [{ "increment": ["session", "n", 1] }], "verdict": "modify",
              "value": { "command": limit } },
        ],
        "prompt-submit": { "when": { "contains": "never" }, "verdict": "reject", "reason": "no" },
    });
    Entry::all_events("guard", config).to_toml()
}

fn run(home: &Home, arguments: &[&str]) -> Ended {
    Ended::of(&mut home.command(arguments))
}

#[test]
fn a_recorded_session_of_an_agent_becomes_passing_cases_and_a_changed_rule_fails_exactly_its_calls() {
    let home = Home::with(&rules("timeout {last} {command}"));
    let token = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    let prompt = |text: &str| json!({ "session_id": "one", "cwd": home.user.project(), "hook_event_name": "UserPromptSubmit", "prompt": text });
    let _ = home.told(&["claude-code", "UserPromptSubmit"], prompt("go on").to_string());
    let _ = home.told(&["claude-code", "UserPromptSubmit"], prompt("never").to_string());
    let commands = ["ls", "make a", "git push -f", "make b", &format!("GH_TOKEN={token} gh api /user")];
    for (id, command) in commands.iter().enumerate() {
        let _ = home.asked("one", &id.to_string(), command);
    }
    let _ = home.asked("two", "1", "make c");
    let events = |records: &[serde_json::Value]| records.iter().filter(|it| it["event"] == "before-tool-call").count();
    let _ = home.user.records_once(|records| events(records) >= 6);

    let ended = run(&home, &["record", "--agent", "claude-code", "--last", "1h", "-o", "cases/recorded.toml"]);
    ended.expect(
        0,
        &["recorded 8 events of 2 sessions\n", "masked: 1 × github-token", "next: hookhost test cases/recorded.toml"],
    );
    let text = fs::read_to_string(home.user.project().join("cases/recorded.toml")).unwrap();
    assert!(!text.contains(&token) && text.contains("GH_TOKEN=ghp_redacted-github-token gh api /user"), "{text}");
    let tested = run(&home, &["test", "."]);
    assert!(tested.expect(0, &[]).stdout.ends_with("2 cases: 2 passed\n"), "{tested:#?}");

    // One rule changes: exactly its calls differ.
    home.user.configure(&rules("nice {command}"));
    home.compile(&home.user.project());
    let tested = run(&home, &["test", "."]);
    tested.expect(6, &[]);
    let calls = tested.stdout.lines().filter(|line| !line.contains("try:"));
    let failed: Vec<&str> = calls.filter_map(|line| Some(line.split_once("before-tool-call ")?.1)).collect();
    assert_eq!(
        failed,
        ["Bash command=\"make a\"", "Bash command=\"make b\"", "Bash command=\"make c\""],
        "{}",
        tested.stdout
    );

    // An existing file is not replaced, and a session that is not there records nothing.
    run(&home, &["record", "-o", "cases/recorded.toml"]).expect(2, &["cases/recorded.toml is already there"]);
    run(&home, &["record", "--session", "nobody"]).expect(2, &["the log has no tool call and no prompt"]);
    let one = run(&home, &["record", "--session", "claude-code:two"]);
    assert!(one.expect(0, &["recorded 1 event of 1 session\n"]).stdout.contains("tool = \"Bash\"\n"), "{one:#?}");
}
