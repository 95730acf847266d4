//! Which rules count: the user's, those of a trusted project, and those that were changed between two events.

use super::{Home, Reply, policy, printed, started};
use hookhost_tests::{Entry, plugin};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;

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
    home.compile(directory);
}

/// A hook of Claude Code in this directory, in a session of its own.
fn ask_in(home: &Home, directory: &Path, round: &str, command: &str) -> Child {
    let mut message = home.call(&format!("{round} {command} {}", directory.display()), "1", command);
    message["cwd"] = json!(directory);
    started(home.hook(&["claude-code", "PreToolUse"]).current_dir(directory), message.to_string().as_bytes())
}

#[test]
fn each_directory_has_its_own_trusted_rules_at_once_and_changed_ones_count_from_the_next_event_on() {
    let home = Home::with(&rejects("everywhere"));
    let push = Entry::new("push", &plugin("no-force-push")).to_toml();
    let (first, second) = (project(&home, "first", &policy().to_toml()), project(&home, "second", &push));
    home.serve();
    let commands = ["echo everywhere", "touch denied.txt", "git push --force"];
    let table = |round: &str, expected: [[&str; 3]; 2]| {
        let asking: Vec<_> = [&first, &second]
            .iter()
            .flat_map(|directory| commands.map(|command| (*directory, command)))
            .map(|(directory, command)| ask_in(&home, directory, round, command))
            .collect();
        let replies: Vec<_> = asking.into_iter().map(Reply::of).collect();
        let said: Vec<_> = replies.iter().map(Reply::decision).collect();
        assert_eq!(said, expected.concat(), "{round}: {replies:#?}");
    };
    table("before", [["deny", "deny", "none"], ["deny", "none", "deny"]]);
    // Other rules for one of them; the other's stay.
    fs::write(first.join("hookhost.toml"), &push).unwrap();
    trust(&home, &first);
    table("changed", [["deny", "none", "deny"], ["deny", "none", "deny"]]);
    // The user's own are changed.
    home.user.configure(&rejects("nowhere"));
    table("user", [["none", "none", "deny"], ["none", "none", "deny"]]);
    // What is not approved changes nothing, and the user is told.
    fs::write(first.join("hookhost.toml"), "").unwrap();
    let reply = Reply::of(ask_in(&home, &first, "unapproved", "git push --force"));
    assert_eq!(reply.decision(), "deny");
    assert!(reply.stdout.contains("hookhost trust"), "{reply:?}");
    home.verify_log();
}

#[test]
fn a_broken_allowlist_stops_every_call_until_it_is_repaired_and_one_that_breaks_later_changes_nothing() {
    let whole = policy().to_toml();
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
    assert!(told.contains("changed rules cannot be loaded") && told.contains("unknown key `nmae`"), "{told}");
    home.asked("s", "6", "touch denied.txt").is_denied_by_policy();
    home.user.configure(&whole.replace("name = \"policy\"", "name = \"renamed\""));
    let reason = home.asked("s", "7", "touch denied.txt").denial();
    assert!(reason.starts_with("Rejected by renamed"), "{reason}");
    home.deliveries(1);
    home.verify_log();
}

#[test]
fn a_users_file_that_is_gone_opens_no_directory_that_is_new() {
    let home = Home::with(&policy().to_toml());
    let elsewhere = home.user.path("elsewhere");
    fs::create_dir_all(&elsewhere).unwrap();
    home.serve();
    home.asked("s", "1", "touch denied.txt").is_denied_by_policy();
    fs::remove_file(home.user.config_file()).unwrap();
    home.asked("s", "2", "touch denied.txt").is_denied_by_policy();
    Reply::of(ask_in(&home, &elsewhere, "new", "touch denied.txt")).could_not_be_settled("is no longer there");
}

#[test]
fn a_project_that_is_moved_takes_its_approved_rules_away_from_no_session() {
    let home = &Home::new();
    let first = project(home, "first", "[[rule]]\nid = \"ask\"\non = \"Bash\"\nask = \"Project asks\"\n");
    let moved = home.user.path("moved");
    let ask = |id: &str, directory: &Path, session: &str| {
        let mut message = home.call(session, id, "make deploy");
        message["cwd"] = json!(directory);
        let mut hook = home.hook(&["claude-code", "PreToolUse"]);
        Reply::of(started(hook.env("CLAUDE_PROJECT_DIR", directory), message.to_string().as_bytes()))
    };
    assert_eq!(ask("1", &first, "s").decision(), "ask");
    fs::rename(&first, &moved).unwrap();
    std::os::unix::fs::symlink(&moved, &first).unwrap();
    ask("2", &first, "s").could_not_be_settled("`hookhost trust --revoke");
    ask("3", &moved, "s").could_not_be_settled("are not active");
    ask("4", &moved, "a new session").passes();
    // Put back, it counts as before; and a person can decide otherwise.
    fs::remove_file(&first).unwrap();
    fs::rename(&moved, &first).unwrap();
    assert_eq!(ask("5", &first, "s").decision(), "ask");
    fs::rename(&first, &moved).unwrap();
    fs::create_dir(&first).unwrap();
    assert_eq!(ask("6", &first, "s").decision(), "ask", "what was approved counts by its path");
    fs::remove_dir(&first).unwrap();
    std::os::unix::fs::symlink(&moved, &first).unwrap();
    let file = first.join("hookhost.toml");
    printed(&mut home.command(&["trust", "--revoke", file.to_str().unwrap()])).expect(0, &[]);
    ask("7", &moved, "s").passes();
    home.verify_log();
}

#[test]
fn a_directory_that_is_another_one_in_each_process_is_refused() {
    let home = Home::with(&policy().to_toml());
    let ended = printed(home.command(&["hooks"]).env("HOOKHOST_CONFIG_DIR", "configuration"));
    assert!(
        ended.code != Some(0) && ended.stderr.contains("is not an absolute path: write the full path"),
        "{ended:?}"
    );
}
