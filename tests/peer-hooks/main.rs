//! The hooks of ten lines that `cargo run -p bench -- peers` measures refuse a force push and nothing else, and what hooks answer is read as
//! Claude Code reads it. The crate that measures is built apart from the workspace, so its files are tested from here.

#[path = "../../bench/peers/src/call.rs"]
mod call;
#[path = "../../bench/peers/src/verdict.rs"]
mod verdict;

use call::{CALLS, Call};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use verdict::Verdict;

/// Each script, the program that runs it, and what else it starts.
const HOOKS: [(&str, &[&str]); 4] =
    [("guard.sh", &["bash"]), ("guard-jq.sh", &["bash", "jq"]), ("guard.py", &["python3"]), ("guard.mjs", &["node"])];

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench/peers/hooks").join(name)
}

fn is_there(program: &&str) -> bool {
    Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

fn ask(program: &str, script: &Path, message: &str) -> Verdict {
    let mut hook = Command::new(program);
    let hook = hook.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut hook = hook.expect("the hook starts");
    hook.stdin.take().expect("a pipe").write_all(message.as_bytes()).expect("the message");
    let output = hook.wait_with_output().expect("the hook ends");
    Verdict::of(output.status.code(), &String::from_utf8(output.stdout).expect("UTF-8"))
}

#[test]
fn each_hook_denies_a_force_push_and_nothing_else() {
    for (name, programs) in HOOKS {
        // bash is there wherever the tests run; a machine without node or jq tests the others.
        if name != "guard.sh" && !programs.iter().all(is_there) {
            continue;
        }
        let ask = |message: &str| ask(programs[0], &script(name), message);
        for call in &CALLS {
            let expected = if call.is_force_push { Verdict::Deny } else { Verdict::NoObjection };
            assert_eq!(ask(&call.message(Path::new("/work"))), expected, "{name}: {}", call.command);
        }
        let other_tool = r#"{"tool_name":"Write","tool_input":{"command":"git push --force"}}"#;
        assert_eq!(ask(other_tool), Verdict::NoObjection, "{name}");
    }
}

#[test]
fn each_hook_has_ten_lines_at_most() {
    for (name, _) in HOOKS {
        let text = std::fs::read_to_string(script(name)).expect("the script");
        assert!(text.lines().count() <= 10, "{name}");
    }
}

#[test]
fn a_verdict_is_what_the_agent_reads() {
    let printed = |decision: &str| format!(r#"{{"hookSpecificOutput":{{"permissionDecision":"{decision}"}}}}"#);
    for (exit, stdout, verdict, words) in [
        (Some(0), String::new(), Verdict::NoObjection, "has no objection"),
        (Some(0), "checked 1 rule\n".to_owned(), Verdict::NoObjection, "has no objection"),
        (Some(0), printed("allow") + "\n", Verdict::Allow, "allows it"),
        (Some(0), printed("ask"), Verdict::Ask, "asks the user"),
        (Some(0), printed("deny"), Verdict::Deny, "denies it"),
        (Some(0), r#"{"decision": "block", "reason": "no"}"#.to_owned(), Verdict::Deny, "denies it"),
        (Some(0), r#"{"decision": "approve"}"#.to_owned(), Verdict::Allow, "allows it"),
        (Some(0), r#"{"continue": false}"#.to_owned(), Verdict::Deny, "denies it"),
        (Some(0), r#"{"continue": true, "suppressOutput": true}"#.to_owned(), Verdict::NoObjection, "has no objection"),
        // The exit code counts, whatever is printed.
        (Some(2), printed("allow"), Verdict::Deny, "denies it"),
        (Some(1), printed("deny"), Verdict::Failure("fails with exit code 1".to_owned()), "fails with exit code 1"),
        (None, String::new(), Verdict::Failure("was ended by a signal".to_owned()), "was ended by a signal"),
    ] {
        let read = Verdict::of(exit, &stdout);
        assert_eq!(read, verdict, "{exit:?} {stdout}");
        assert_eq!(read.to_string(), words);
    }
}

#[test]
fn a_hook_with_the_rule_denies_what_it_has_to_and_asks_nobody() {
    let failure = Verdict::Failure("fails with exit code 1".to_owned());
    let right = |is_force_push: bool| {
        [Verdict::Allow, Verdict::NoObjection, Verdict::Ask, Verdict::Deny, failure.clone()]
            .map(|verdict| verdict.is_right(is_force_push))
    };
    assert_eq!(right(false), [true, true, false, false, false]);
    assert_eq!(right(true), [false, false, false, true, false]);
}

#[test]
fn the_message_is_that_of_one_call_of_the_shell() {
    let [Call { command, .. }, _] = CALLS;
    let message: serde_json::Value = serde_json::from_str(&CALLS[0].message(Path::new("/work"))).expect("JSON");
    assert_eq!(message["hook_event_name"], "PreToolUse");
    assert_eq!((&message["tool_name"], &message["tool_input"]["command"]), (&"Bash".into(), &command.into()));
    assert!(message.get("tool_use_id").is_none(), "a second one with its identifier would be known again");
}
