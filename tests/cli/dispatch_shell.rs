//! `hookhost dispatch --shell`: the decision about a command, for people. Asked is the real
//! `shell-guard`, and what is shown of it holds for every plugin.

use hookhost_tests::{Ended, Entry, User, plugin};
use serde_json::{Value, json};

/// A user who has allowed `shell-guard` with this config.
fn guarded(config: Value) -> User {
    let user = User::new();
    user.configure(&Entry::new("shell-guard", &plugin("shell-guard")).config(config).to_toml());
    user
}

/// A config by which a rule rewrites that gives a hint otherwise.
fn rewriting() -> Value {
    json!({ "stacks": ["rust"], "answers": { "rule:rust.cargo.target_dir_conflict": "rewrite" } })
}

fn judge(user: &User, command: &str) -> Ended {
    user.run(["dispatch", "--shell", command])
}

#[test]
fn a_refusal_names_each_rule_below_the_part_that_it_is_about() {
    let ended = judge(&guarded(json!({ "stacks": [] })), "cd src && git push -f origin main");
    ended.expect(3, &[]);
    assert_eq!(
        ended.stdout,
        "rejected by shell-guard\n\n  \
         cd src && git push -f origin main\n            ^^^^^^^^^^^^^^^^^^^^^^^\n  \
         error universal.git_push_force_main (shell-guard): A forced push to main or master rewrites history that others share. \
         Push with a lease to a branch of your own.\n    \
         see https://git-scm.com/docs/git-push#Documentation/git-push.txt---force-with-lease\n  \
         error git.push_force (shell-guard): This can overwrite the history that others have on the remote. Push to a new \
         branch, or merge what is there first; `--force-with-lease` refuses where others have pushed since.\n    \
         see https://git-scm.com/docs/git-push#Documentation/git-push.txt---force\n"
    );
    assert_eq!(ended.stderr, "");
}

#[test]
fn a_rewrite_shows_the_command_that_would_run() {
    let ended = judge(&guarded(rewriting()), "cargo check && echo done");
    ended.expect(0, &[]);
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert_eq!(lines[0], "allowed, changed by shell-guard");
    assert_eq!(lines[2..4], ["  cargo check && echo done", "  ^^^^^^^^^^^"]);
    assert!(lines[4].starts_with("  warning rust.cargo.target_dir_conflict (shell-guard): "), "{ended:#?}");
    let runs = lines.iter().position(|line| *line == "runs:").unwrap();
    assert_eq!(lines[runs + 1..], ["  cargo check --target-dir target-shared && echo done"]);
}

#[test]
fn a_rule_that_does_nothing_says_what_it_would_have_done() {
    let ended = judge(&guarded(json!({ "stacks": ["rust"], "mode": "audit" })), "cargo check");
    ended.expect(0, &[]);
    assert!(ended.stdout.contains("    it would run `cargo check --target-dir target-shared`\n"), "{ended:#?}");
    assert!(ended.stdout.starts_with("allowed\n") && !ended.stdout.contains("runs:"), "{ended:#?}");
}

#[test]
fn a_question_that_nobody_can_answer_is_reported_with_its_rule() {
    let ended = judge(&guarded(json!({ "stacks": [] })), "git stash drop");
    ended.expect(3, &[]);
    assert!(ended.stdout.starts_with("rejected (not approved) by shell-guard\n"), "{ended:#?}");
    assert!(
        ended.stdout.contains("  git stash drop\n  ^^^^^^^^^^^^^^\n  warning git.stash_drop (shell-guard): "),
        "{ended:#?}"
    );
    assert!(ended.stdout.contains("Run `git stash drop`?") && ended.stdout.contains("nobody is there"), "{ended:#?}");
}

#[test]
fn what_nobody_finds_fault_with_says_who_was_asked() {
    let ended = judge(&guarded(json!({ "stacks": [] })), "ls -la");
    ended.expect(0, &[]);
    assert_eq!(ended.stdout, "allowed\n  asked: shell-guard\n");
}

#[test]
fn if_no_plugin_subscribes_to_commands_it_says_what_to_do() {
    let user = User::new();
    let ended = judge(&user, "rm -rf /");
    ended.expect(0, &[]);
    assert_eq!(
        ended.stdout,
        "allowed\n\nNo plugin judged the command, because none is asked about commands here.\n  \
         next: hookhost on, or hookhost add shell-guard\n"
    );
    // One that gets only other actions.
    let entry = Entry::new("guard", &plugin("shell-guard")).keys("actions = [\"write-files\"]");
    user.configure(&entry.to_toml());
    let ended = judge(&user, "rm -rf /");
    ended.expect(0, &[]);
    assert!(ended.stdout.contains("No plugin judged") && ended.stdout.contains("not asked: guard"), "{ended:#?}");
}

#[test]
fn an_unknown_command_is_refused_with_a_sentence() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let user = User::new();
    for empty in ["", "  \n"] {
        judge(&user, empty).expect(2, &["the command of --shell is empty", "try: hookhost dispatch --shell"]);
    }
    let arguments = [OsStr::new("dispatch"), OsStr::new("--shell"), OsStr::from_bytes(b"rm \xff")];
    user.run(arguments).expect(2, &["the command of --shell is not UTF-8"]);
    user.run(["dispatch", "prompt-submit", "--shell", "ls"]).expect(2, &["cannot be used with"]);
    user.run(["dispatch", "--shell", "ls", "--payload", "x.json"]).expect(2, &["cannot be used with"]);
    user.run(["dispatch"]).expect(2, &["required arguments were not provided"]);
}

#[test]
fn what_a_terminal_would_obey_is_shown_and_not_obeyed() {
    let ended = judge(&guarded(json!({ "stacks": [] })), "echo \u{1b}[2J日本 && rm -rf /");
    ended.expect(3, &[]);
    assert!(!ended.stdout.contains('\u{1b}'), "{ended:#?}");
    // Two columns for each of the wide characters, one for the mark in the place of the escape.
    let shown = "  echo \u{fffd}[2J日本 && rm -rf /\n                   ^^^^^^^^\n";
    assert!(ended.stdout.contains(shown), "{ended:#?}");
    assert!(ended.stdout.contains("shell.control_characters"), "{ended:#?}");
}

#[test]
fn of_several_lines_those_are_shown_that_a_rule_is_about() {
    let ended = judge(&guarded(json!({ "stacks": [] })), "echo one\nrm -rf \\\n  /usr\necho two");
    ended.expect(3, &[]);
    assert!(ended.stdout.contains("\n  rm -rf \\\n  ^^^^^^^^\n    /usr\n  ^^^^^^\n  error"), "{ended:#?}");
    assert!(!ended.stdout.contains("echo"), "{ended:#?}");
}

#[test]
fn json_is_the_record_that_the_payload_of_such_a_call_gives() {
    let user = guarded(rewriting());
    let command = "cargo check";
    let ended = user.run(["dispatch", "--shell", command, "--json"]);
    ended.expect(0, &[]);
    let call = json!({ "call": { "id": "1", "name": "bash", "arguments": { "command": command } } });
    let (_, mut other) = user.dispatch("before-tool-call", &call);
    let mut object: Value = serde_json::from_str(&ended.stdout).unwrap();
    for record in [&mut object, &mut other] {
        for (key, value) in record.as_object_mut().unwrap() {
            if ["id", "session", "time"].contains(&key.as_str()) {
                *value = Value::Null;
            }
        }
        record["calls"].as_array_mut().unwrap().iter_mut().for_each(|call| call["micros"] = Value::Null);
    }
    assert_eq!(object, other);
    assert_eq!(object["final"]["arguments"]["command"], "cargo check --target-dir target-shared");
}

/// A user with the test plugin, which does what its config says on `before-tool-call`.
fn with_any_plugin(behaviour: &Value, rest: &str) -> User {
    let user = User::new();
    let entry = Entry::all_events("any", json!({ "before-tool-call": behaviour })).keys("priority = 1");
    user.configure(&(entry.to_toml() + rest));
    user
}

#[test]
fn the_findings_of_any_plugin_are_shown_by_the_members_that_the_sdk_names() {
    let finding = |details: Value| {
        json!({ "code": "any.rule", "severity": "warning", "explanation": "Not so.", "references": [], "action": "",
            "details": details.to_string() })
    };
    let show = |details: Value| {
        let user = with_any_plugin(&json!({ "do": [{ "report": finding(details) }] }), "");
        let ended = judge(&user, "make all");
        ended.expect(0, &[]);
        ended.stdout
    };
    let rule = "  warning any.rule (any): Not so.\n";
    assert_eq!(show(json!({ "place": [5, 8] })), format!("allowed\n\n  make all\n       ^^^\n{rule}"));
    assert_eq!(show(json!({ "matched": "make" })), format!("allowed\n\n  make all\n  ^^^^\n{rule}"));
    assert_eq!(show(json!({ "would": "wait" })), format!("allowed\n\n{rule}    it would wait\n"));
    assert_eq!(show(json!({ "place": [5, 99], "else": 1 })), format!("allowed\n\n{rule}"));
    assert_eq!(show(json!("a text")), format!("allowed\n\n{rule}"));
}

#[test]
fn a_part_is_of_the_command_as_the_plugin_was_asked_about_it() {
    let wrap =
        json!({ "when": { "lacks": "timeout" }, "verdict": "modify", "value": { "command": "timeout 60 {command}" } });
    let guard = Entry::new("guard", &plugin("shell-guard")).config(json!({ "stacks": [] })).to_toml();
    let ended = judge(&with_any_plugin(&wrap, &guard), "git stash drop");
    ended.expect(3, &[]);
    assert!(ended.stdout.contains("  timeout 60 git stash drop\n"), "{ended:#?}");
}

#[test]
fn a_refusal_without_a_finding_is_reported_by_its_reason() {
    let user = with_any_plugin(&json!({ "verdict": "reject", "reason": "no make today" }), "");
    let ended = judge(&user, "make");
    ended.expect(3, &[]);
    assert_eq!(ended.stdout, "rejected by any\n\nRejected by any: no make today\n");
}

#[test]
fn a_plugin_that_fails_ends_with_4_and_says_how() {
    let ended = judge(&with_any_plugin(&json!({ "misbehave": "trap" }), ""), "git status");
    ended.expect(4, &[]);
    assert!(ended.stdout.starts_with("rejected (failed) by any\n"), "{ended:#?}");
    let skips = with_any_plugin(&json!({ "misbehave": "trap" }), "");
    let file = std::fs::read_to_string(skips.config_file()).unwrap();
    skips.configure(&file.replace("priority = 1", "priority = 1\non-failure = \"skip\""));
    let ended = judge(&skips, "git status");
    ended.expect(0, &[]);
    assert!(ended.stdout.starts_with("allowed\n\nany failed: it "), "{ended:#?}");
}
