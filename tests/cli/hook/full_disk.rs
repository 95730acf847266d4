//! A full disk below the log.

use super::{Home, Reply, is_root, printed};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

/// Calls a hook in the steps of a day on which the disk fills up, on a disk of its own. `$1` is the directory of state.
const SCRIPT: &str = r#"
set -u
mount -t tmpfs -o size=6m,mode=700 hookhost-test "$1" || exit 77
hook() { bin/hookhost-hook claude-code PreToolUse < "$1.message" > "$1.stdout" 2> "$1.stderr"; echo $? > "$1.code"; }
fill() { head -c 1000000000 /dev/zero > "$1/filler" 2> /dev/null; }
hook before
while [ ! -S "$1/run/host.sock" ]; do sleep 0.01; done
hook served
fill "$1"
hook full
hook full-denied
rm "$1/filler"
hook after
fill "$1"
bin/hookhost serve --stop > /dev/null 2> stop
hook full-alone
rm "$1/filler"
hook last
while [ ! -S "$1/run/host.sock" ]; do sleep 0.01; done
hook end
bin/hookhost serve --stop > /dev/null || exit 1
bin/hookhost audit show --all --json > records || exit 1
bin/hookhost audit verify || exit 1
"#;

#[test]
fn a_full_disk_stops_each_call_with_a_sentence_and_loses_nothing_that_was_recorded() {
    let home = Home::new();
    fs::create_dir(home.user.path("state")).unwrap();
    let steps = ["before", "served", "full", "full-denied", "after", "full-alone", "last", "end"];
    for (number, step) in steps.iter().enumerate() {
        let command = if step.contains("denied") { "touch denied.txt" } else { "ls" };
        fs::write(home.user.path(&format!("{step}.message")), home.call("s", &number.to_string(), command).to_string())
            .unwrap();
    }
    let like = home.command(&[]);
    let mut command = Command::new("unshare");
    command
        .args(if is_root() { &["-m"][..] } else { &["-rm"] })
        .args(["sh", "-c", SCRIPT, "sh"])
        .arg(home.user.path("state"));
    command.current_dir(home.user.path(".")).env_clear();
    command.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ended = printed(&mut command);
    if ended.code == Some(77) || ended.stderr.contains("unshare failed") {
        return println!("skipped: there can be no disk of its own here: {}", ended.stderr);
    }
    ended.expect(0, &[]);
    let reply = |step: &str| {
        let read = |what: &str| fs::read_to_string(home.user.path(&format!("{step}.{what}"))).unwrap();
        Reply { code: read("code").trim().parse().ok(), stdout: read("stdout"), stderr: read("stderr") }
    };
    for step in ["before", "served", "after", "last", "end"] {
        reply(step).passes();
    }
    reply("full-denied").is_denied_by_policy();
    for step in ["full", "full-alone"] {
        let reason = reply(step).denial();
        let full = format!("{} cannot grow: the disk is full.", home.user.log_file().display());
        let next = "Tell the user: nothing runs until it can be written again.";
        assert_eq!(reason, format!("Rejected because the audit log cannot be written: {full} {next}"));
    }
    let records = fs::read_to_string(home.user.path("records")).unwrap();
    let records: Vec<Value> = records.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let events = records.iter().filter(|record| record["event"] == json!("before-tool-call"));
    let mut outcomes: BTreeMap<_, _> =
        events.map(|event| (event["original"]["id"].as_str().unwrap(), event["outcome"].as_str().unwrap())).collect();
    // The process of its own may have ended before there was room again.
    assert!(outcomes.remove("5").is_none_or(|outcome| outcome == "rejected"), "{outcomes:?}");
    // What the resident host rejected on the full disk is there as soon as there is room.
    let expected =
        [("0", "allowed"), ("1", "allowed"), ("2", "rejected"), ("3", "rejected"), ("4", "allowed"), ("6", "allowed")];
    assert_eq!(outcomes, expected.into_iter().chain([("7", "allowed")]).collect());
}
