//! `hookhost suggest`: rules from the answers in the log.

use hookhost_tests::{Ended, Entry, User};
use serde_json::{Value, json};

/// A rule that asks about every file that is written, and one about a server.
const ASKING: &str = r#"
[[rule]]
id = "writes"
on = "write"
path = ["*.rs", "*.md"]
ask = "Write {path}?"
stops = ["src/main.rs"]
passes = ["a.txt"]

[[rule]]
id = "database"
on = "mcp"
server = "db"
ask = "Call {tool}?"
stops = ["db/drop"]
passes = ["files/drop"]

[[rule]]
id = "pushes"
on = "shell"
program = "git push"
ask = "Push?"
stops = ["git push"]
passes = ["git pull"]
"#;

/// Makes a call that agents make.
fn call(user: &User, tool: &str, arguments: &Value) {
    let call = json!({ "id": "1", "name": tool, "arguments": arguments });
    let session = json!({ "id": "s", "agent": "claude-code", "cwd": user.project(), "workspace": user.project() });
    let _ = user.dispatch("before-tool-call", &json!({ "session": session, "call": call }));
}

/// Makes `count` calls about which nobody asks.
fn harmless(user: &User, count: usize) {
    (0..count).for_each(|_| call(user, "Bash", &json!({ "command": "ls" })));
}

/// Suggests from the log as it would be if each question had got this answer.
fn suggest(user: &User, answer: &str, more: &[&str]) -> Ended {
    let export = user.run(["audit", "show", "--all", "--json"]).stdout;
    let answered = |line: &str| {
        let mut record: Value = serde_json::from_str(line).unwrap();
        if let Some(kind) = record.pointer_mut("/answer/kind") {
            *kind = answer.into();
        }
        format!("{record}\n")
    };
    let log = user.write("log.jsonl", export.lines().map(answered).collect::<String>());
    user.run(["suggest", "--log", log.to_str().unwrap()].into_iter().chain(more.iter().copied()))
}

fn write(user: &User, path: &str) {
    call(user, "Write", &json!({ "file_path": user.project().join(path), "content": "x" }));
}

#[test]
fn what_was_always_allowed_becomes_an_exception_of_the_rule_that_asked() {
    let user = User::new();
    user.configure(ASKING);
    (0..3).for_each(|_| write(&user, "texts/notes.md"));
    (0..3).for_each(|_| call(&user, "mcp__db__list", &json!({})));
    (0..2).for_each(|_| write(&user, "src/lib.rs"));
    harmless(&user, 60);
    let ended = suggest(&user, "approved", &[]);
    ended.expect(0, &["from 68 recorded calls and 8 answers; nothing is in force"]);
    for text in [
        "# `writes` asked about writing texts/notes.md: 3 times yes, never no; in place of the rule of this id\n#   texts/notes.md\n# would have changed 3 recorded calls\n[[rule]]\nid = \"writes\"\n",
        "path = [\"*.rs\", \"*.md\", \"!texts/notes.md\"]",
        "passes = [\"a.txt\", \"texts/notes.md\"]",
        "server = \"db\"\ntool = \"!list\"",
    ] {
        assert!(ended.stdout.contains(text), "{text:?} is not in\n{}", ended.stdout);
    }
    assert!(!ended.stdout.contains("lib.rs"), "twice is not enough: {}", ended.stdout);
    // The proposals are rules that load.
    let rest = ASKING.split("\n[[rule]]\nid = \"pushes\"").nth(1).unwrap();
    user.configure(&format!("{}\n[[rule]]\nid = \"pushes\"{rest}", ended.stdout));
    user.run(["dispatch", "--shell", "echo x > texts/notes.md"]).expect(0, &[]);
    user.run(["dispatch", "--shell", "echo x > other.md"]).expect(3, &[]);
}

#[test]
fn what_was_always_rejected_becomes_a_rule() {
    let user = User::new();
    user.configure(ASKING);
    for branch in ["a", "b", "c"] {
        call(&user, "Bash", &json!({ "command": format!("git push --force origin {branch}") }));
    }
    harmless(&user, 60);
    let ended = suggest(&user, "denied", &[]);
    ended.expect(0, &[]);
    let expected = "# `pushes` asked about git push --force: 3 times no, never yes\n#   git push --force origin a\n#   git push --force origin b\n#   git push --force origin c\n# would have changed 3 recorded calls\n[[rule]]\nid = \"suggested.git-push-force\"\non = \"shell\"\nprogram = \"git push\"\nflags = \"--force\"\nreject = ";
    assert!(ended.stdout.contains(expected), "{}", ended.stdout);
    user.configure(&ended.stdout);
    user.run(["dispatch", "--shell", "git push --force origin main"]).expect(3, &[]);
    user.run(["dispatch", "--shell", "git push origin main"]).expect(0, &[]);
}

#[test]
fn operands_that_all_rejected_commands_share_are_part_of_the_rule() {
    let user = User::new();
    user.configure(ASKING);
    (0..3).for_each(|_| call(&user, "Bash", &json!({ "command": "git push -u origin main" })));
    harmless(&user, 60);
    let ended = suggest(&user, "denied", &[]);
    let expected = "\nprogram = \"git push\"\nflags = \"-u\"\nargs = \"main\"\n";
    assert!(ended.stdout.contains(expected), "{}", ended.stdout);
    user.configure(&ended.stdout);
    user.run(["dispatch", "--shell", "git push -u origin main"]).expect(3, &[]);
    user.run(["dispatch", "--shell", "git push -u origin topic"]).expect(0, &[]);
}

#[test]
fn commands_that_were_always_allowed_become_a_condition() {
    let user = User::new();
    user.configure(ASKING);
    (0..3).for_each(|_| call(&user, "Bash", &json!({ "command": "git push  'origin' docs" })));
    harmless(&user, 60);
    let ended = suggest(&user, "approved", &[]);
    assert!(ended.stdout.contains("\nunless = 'command in [\"git push origin docs\"]'\n"), "{}", ended.stdout);
    user.configure(&ended.stdout);
    user.run(["dispatch", "--shell", "git push origin docs"]).expect(0, &[]);
    user.run(["dispatch", "--shell", "git push origin main"]).expect(3, &[]);
}

#[test]
fn a_rule_that_would_have_changed_too_much_is_only_named() {
    let user = User::new();
    user.configure(ASKING);
    (0..3).for_each(|_| write(&user, "texts/notes.md"));
    harmless(&user, 20);
    let ended = suggest(&user, "approved", &[]);
    let said = "# left out: it would have changed 3 of 23 recorded calls, more than one in 20\n# [[rule]]\n";
    assert!(ended.stdout.contains(said) && !ended.stdout.contains("\n[[rule]]"), "{}", ended.stdout);
}

#[test]
fn a_question_of_a_plugin_leads_to_its_own_setting() {
    let user = User::new();
    let asks = json!({ "before-tool-call": [
        { "when": { "contains": "reset" }, "verdict": "escalate", "question": "reset?", "code": "git.reset_hard" },
    ] });
    user.configure(&Entry::all_events("shell-guard", asks).keys("events = [\"before-tool-call\"]").to_toml());
    (0..3).for_each(|_| call(&user, "Bash", &json!({ "command": "git reset --hard" })));
    let ended = suggest(&user, "approved", &[]);
    let said = "# `shell-guard git.reset_hard` asked about git reset --hard: 3 times yes, never no\n#   git reset --hard\n# in [plugin.config] of shell-guard, for every command of this rule: answers = { \"rule:git.reset_hard\" = \"allow\" }\n";
    assert_eq!(ended.stdout, said);
}

#[test]
fn answers_of_both_kinds_lead_to_no_rule() {
    let user = User::new();
    user.configure(ASKING);
    (0..4).for_each(|_| write(&user, "texts/notes.md"));
    let export = user.run(["audit", "show", "--all", "--json"]).stdout;
    let mut answers = ["denied", "approved"].iter().cycle();
    let log: String = export
        .lines()
        .map(|line| {
            let mut record: Value = serde_json::from_str(line).unwrap();
            if let Some(kind) = record.pointer_mut("/answer/kind") {
                *kind = (*answers.next().unwrap()).into();
            }
            format!("{record}\n")
        })
        .collect();
    let log = user.write("log.jsonl", log);
    let ended = user.run(["suggest", "--log", log.to_str().unwrap(), "--times", "2"]);
    ended.expect(0, &["of 4 answers in this period, no question got the same answer 2 times and never another one"]);
    assert_eq!(ended.stdout, "");
}

#[test]
fn an_empty_log_is_one_sentence_and_json_has_the_same_figures() {
    let user = User::new();
    user.run(["suggest"]).expect(0, &["the log has no calls of this period, so there is nothing to suggest\n"]);
    user.configure(ASKING);
    harmless(&user, 1);
    user.run(["suggest"]).expect(0, &["nobody was asked in this period, so there is nothing to suggest\n"]);
    (0..3).for_each(|_| write(&user, "texts/notes.md"));
    let ended = suggest(&user, "approved", &["--json"]);
    let found: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(
        (&found["calls"], &found["answers"], &found["rules"][0]["row"]["id"]),
        (&json!(4), &json!(3), &json!("writes"))
    );
    assert_eq!(found["rules"][0]["changes"], 3);
}
