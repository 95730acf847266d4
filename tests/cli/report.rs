//! `hookhost report`: what the rules did in a period, for a person, for a post and for a program.

use hookhost_tests::{Entry, User};
use serde_json::{Value, json};

fn call_of(id: &str, command: &str) -> Value {
    json!({
        "call": { "id": id, "name": "bash", "arguments": { "command": command } },
        "session": { "id": "s", "agent": "my-agent" },
    })
}

/// A user whose plugin has rejected a call, changed one, and asked about one that nobody could answer.
fn user_with_decisions() -> User {
    let user = User::new();
    let rules = json!({ "before-tool-call": [
        { "when": { "contains": "make" }, "verdict": "reject", "reason": "no make", "code": "build.make" },
        { "when": { "contains": "push" }, "verdict": "escalate", "question": "push?" },
        { "when": { "contains": "rm" }, "verdict": "modify", "value": { "command": "ls" } },
    ] });
    user.configure(&Entry::all_events("guard", rules).keys("events = [\"before-tool-call\"]").to_toml());
    for (id, command) in [("1", "ls"), ("2", "make"), ("3", "git push"), ("4", "rm x")] {
        let _ = user.dispatch("before-tool-call", &call_of(id, command));
    }
    user
}

#[test]
fn a_report_counts_each_kind_of_decision_by_rule_and_by_agent() {
    let user = user_with_decisions();
    let report = user.run(["report", "--json"]);
    report.expect(0, &[]);
    let counted: Value = serde_json::from_str(&report.stdout).unwrap();
    for (key, count) in [("rejected", 1), ("asked", 1), ("changed", 1), ("masked", 0), ("withheld", 0), ("failed", 0)] {
        assert_eq!(counted[key], count, "{key}: {counted:#}");
    }
    let [agent] = &counted["agents"].as_array().unwrap()[..] else { panic!("{counted:#}") };
    assert_eq!((&agent["agent"], &agent["events"]), (&json!("my-agent"), &counted["events"]));
    let rules = counted["rules"].as_array().unwrap();
    let with_code = rules.iter().find(|rule| rule["code"] == "build.make").unwrap_or_else(|| panic!("{counted:#}"));
    assert_eq!((&with_code["by"], &with_code["rejected"]), (&json!("guard"), &json!(1)));
    assert!(counted["micros-per-event"]["median"].as_u64().unwrap() > 0);

    let shown = user.run(["report"]);
    shown.expect(0, &[]);
    for line in [
        "rejected       1",
        "asked          1",
        "changed        1",
        "guard build.make",
        "my-agent",
        "per event (median)",
    ] {
        assert!(shown.stdout.contains(line), "{line:?} is not in\n{}", shown.stdout);
    }
    assert!(shown.stdout.lines().count() <= 24 && shown.stdout.lines().all(|line| line.chars().count() <= 120));
    let posted = user.run(["report", "--md"]);
    posted.expect(0, &[]);
    for line in ["**hookhost**, ", "| rejected | 1 |", "| `guard build.make` |"] {
        assert!(posted.stdout.contains(line), "{line:?} is not in\n{}", posted.stdout);
    }
}

#[test]
fn a_report_leaves_out_what_happened_before_the_period() {
    let user = user_with_decisions();
    let export = user.run(["audit", "show", "--all", "--json"]).stdout;
    let old: String =
        export.lines().map(|line| format!("{}\n", line.replace("\"time\":1", "\"time\":1,\"was\":1"))).collect();
    let log = user.write("old.jsonl", old);
    let report = user.run(["report", "--json", "--log", log.to_str().unwrap()]);
    report.expect(0, &[]);
    let counted: Value = serde_json::from_str(&report.stdout).unwrap();
    assert_eq!((&counted["events"], &counted["rejected"]), (&json!(0), &json!(0)), "{counted:#}");
}

#[test]
fn an_agent_that_was_used_without_a_recorded_event_is_named() {
    let user = user_with_decisions();
    let call =
        json!({ "type": "tool_use", "id": "toolu_01ABCDEFGHIJKLMNOPQR", "name": "Bash", "input": { "command": "ls" } });
    let message = json!({
        "type": "assistant", "sessionId": "11111111-2222-3333-4444-555555555555", "version": "2.1.330", "cwd": user.project(),
        "message": { "role": "assistant", "content": [call] },
    });
    std::fs::create_dir_all(user.path(".claude/projects/p")).unwrap();
    let transcript = user.path(".claude/projects/p/11111111-2222-3333-4444-555555555555.jsonl");
    std::fs::write(transcript, format!("{message}\n")).unwrap();
    let report = user.run(["report"]);
    report.expect(0, &[]);
    let said = "claude-code: 1 of 1 sessions have no recorded event; try: hookhost doctor claude-code";
    assert!(report.stdout.contains(said), "{}", report.stdout);
    let counted: Value = serde_json::from_str(&user.run(["report", "--json"]).stdout).unwrap();
    assert_eq!(counted["unseen"], json!([{ "agent": "claude-code", "sessions": 1, "without-event": 1 }]));

    let mut seen = call_of("5", "ls");
    seen["session"]["id"] = "claude-code:11111111-2222-3333-4444-555555555555".into();
    let _ = user.dispatch("before-tool-call", &seen);
    let report = user.run(["report"]);
    assert!(!report.stdout.contains("have no recorded event"), "{}", report.stdout);
}

#[test]
fn a_report_without_an_event_or_with_a_wrong_period_says_so() {
    let user = User::new();
    let report = user.run(["report"]);
    let says = &report.expect(0, &[]).stdout;
    assert!(
        says.ends_with(
            ": no event is recorded\n  next: use your agents; if nothing is recorded then: hookhost doctor\n"
        ),
        "{says}"
    );
    user.run(["report", "--log", "nowhere.db"]).expect(5, &["nowhere.db"]);
    user.run(["report", "--since", "soon"]).expect(2, &["write a whole number and its unit, such as 12h, 7d or 4w"]);
    user.run(["report", "--since", "0d"]).expect(2, &["a period of no length contains nothing"]);
}
