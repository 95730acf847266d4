//! An update of the program while agents work.

use super::{Home, Reply, printed, runs, started, wait_for};
use serde_json::Value;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;

/// Puts another version at the program's place, as an update does: written beside it, and renamed.
fn update(home: &Home) {
    let (new, program) = (home.user.path("bin/hookhost.new"), home.program("hookhost"));
    fs::copy(&program, &new).unwrap();
    // What follows the program's own bytes changes nothing of what it does.
    fs::OpenOptions::new().append(true).open(&new).unwrap().write_all(b"another version").unwrap();
    fs::rename(new, program).unwrap();
}

#[test]
fn an_update_of_the_program_replaces_the_resident_host_which_settles_what_is_under_way_first() {
    let home = Home::new();
    let old = home.serve();
    home.asked("s", "1", "ls").passes();
    // A question that waits for a person: Codex cannot ask dependably.
    let message = home.call("q", "1", "touch asked.txt").to_string();
    let waiting = started(&mut home.hook(&["codex", "PreToolUse"]), message.as_bytes());
    let open = || {
        let ended = printed(&mut home.command(&["approvals", "--json"]));
        serde_json::from_str::<Vec<Value>>(&ended.stdout).unwrap_or_default()
    };
    wait_for("the question", || open().len() == 1);
    update(&home);
    wait_for("the old host's last word", || !home.socket().exists());
    // Nobody is there now, and nothing is let through, or lost.
    home.asked("s", "2", "touch denied.txt").is_denied_by_policy();
    home.asked("s", "3", "ls").passes();
    assert!(runs(old), "it settles what is under way");
    let id = open()[0]["id"].as_str().unwrap().to_owned();
    printed(&mut home.command(&["approvals", "yes", &id])).expect(0, &[]);
    let reply = Reply::of(waiting);
    assert_eq!((reply.code, reply.stderr.as_str()), (Some(0), ""), "{reply:?}");
    assert!(!reply.stdout.contains("deny"), "{reply:?}");
    wait_for("the end of the old host", || !runs(old));
    wait_for("the new host", || home.socket().exists());
    home.asked("s", "4", "touch denied.txt").is_denied_by_policy();
    let [new] = home.processes("serve").try_into().unwrap();
    let program = fs::metadata(format!("/proc/{}/exe", new.as_raw_nonzero())).unwrap();
    assert_eq!(program.ino(), fs::metadata(home.program("hookhost")).unwrap().ino(), "the new program serves");
    home.events("before-tool-call", 5);
    home.verify_log();
}
