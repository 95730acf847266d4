//! Which rules count: the user's, those of a trusted project, and those that were changed between two events.

use super::{Home, Reply, printed, started};
use hookhost_tests::Entry;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

/// A rule that rejects what holds this text.
fn rejects(text: &str) -> String {
    let rule = json!({ "before-tool-call": { "when": { "contains": text }, "verdict": "reject", "reason": "a rule" } });
    Entry::all_events(&format!("no-{text}"), rule).to_toml()
}

/// Makes a project with rules of its own, which the user trusts.
fn project(home: &Home, name: &str, rules: &str) -> PathBuf {
    let directory = home.user.path(name);
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("hookhost.toml"), rules).unwrap();
    trust(home, &directory);
    directory
}

fn trust(home: &Home, directory: &Path) {
    printed(home.command(&["trust", "--yes"]).current_dir(directory)).expect(0, &[]);
}

fn asked_in(home: &Home, directory: &Path, id: &str, command: &str) -> Reply {
    let mut message = home.call("s", id, command);
    // One session, which changes its directory.
    message["cwd"] = json!(directory);
    Reply::of(started(home.hook(&["claude-code", "PreToolUse"]).current_dir(directory), message.to_string().as_bytes()))
}

#[test]
fn each_directory_has_its_own_trusted_rules_at_once_and_changed_ones_count_from_the_next_event_on() {
    let home = Home::with(&rejects("everywhere"));
    let (first, second) = (project(&home, "first", &rejects("alpha")), project(&home, "second", &rejects("beta")));
    home.serve();
    let said = |directory: &Path, id: &str, command: &str| asked_in(&home, directory, id, command).decision();
    let table = |round: &str, expected: [[&str; 3]; 2]| {
        let asking: Vec<_> = [&first, &second]
            .iter()
            .flat_map(|directory| ["everywhere", "alpha", "beta"].map(|word| (*directory, word)))
            .map(|(directory, word)| {
                let mut message = home.call(&format!("{round}-{word}"), "1", &format!("echo {word}"));
                message["cwd"] = json!(directory);
                let mut hook = home.hook(&["claude-code", "PreToolUse"]);
                started(hook.current_dir(directory), message.to_string().as_bytes())
            })
            .collect();
        let replies: Vec<_> = asking.into_iter().map(Reply::of).collect();
        let said: Vec<_> = replies.iter().map(Reply::decision).collect();
        assert_eq!(said, expected.concat(), "{round}: {replies:#?}");
    };
    table("before", [["deny", "deny", "none"], ["deny", "none", "deny"]]);
    // Other rules for one of them; the other's stay.
    fs::write(first.join("hookhost.toml"), rejects("beta")).unwrap();
    trust(&home, &first);
    table("changed", [["deny", "none", "deny"], ["deny", "none", "deny"]]);
    // The user's own are changed.
    home.user.configure(&rejects("nowhere"));
    table("user", [["none", "none", "deny"], ["none", "none", "deny"]]);
    // What is not approved changes nothing, and the user is told.
    fs::write(first.join("hookhost.toml"), "").unwrap();
    let reply = asked_in(&home, &first, "9", "echo beta");
    assert_eq!(reply.decision(), "deny");
    assert!(reply.stdout.contains("hookhost trust"), "{reply:?}");
    // A session may change its directory.
    assert_eq!([said(&first, "10", "echo beta"), said(&second, "11", "echo alpha")], ["deny", "none"]);
    home.verify_log();
}

#[test]
fn a_broken_allowlist_stops_every_call_until_it_is_mended_and_one_that_breaks_later_changes_nothing() {
    let whole = super::policy().to_toml();
    let broken = format!("nmae = 1\n{whole}");
    let home = Home::with(&broken);
    home.asked("s", "1", "ls").could_not_be_settled("hookhost.toml:1:1: unknown key `nmae`");
    home.user.configure(&whole);
    home.asked("s", "2", "touch denied.txt").is_denied_by_policy();
    home.asked("s", "3", "ls").passes();
    super::wait_for("the resident host", || home.socket().exists());
    home.asked("s", "4", "ls").passes();
    home.user.configure(&broken);
    let reply = home.asked("s", "5", "ls");
    reply.passes();
    let said: serde_json::Value = serde_json::from_str(&reply.stdout).unwrap();
    let told = said["systemMessage"].as_str().unwrap();
    assert!(told.contains("changed rules are not taken up") && told.contains("unknown key `nmae`"), "{told}");
    home.asked("s", "6", "touch denied.txt").is_denied_by_policy();
    home.user.configure(&whole.replace("name = \"policy\"", "name = \"renamed\""));
    let reason = home.asked("s", "7", "touch denied.txt").denial();
    assert!(reason.starts_with("Rejected by renamed"), "{reason}");
    home.deliveries(1);
    home.verify_log();
}
