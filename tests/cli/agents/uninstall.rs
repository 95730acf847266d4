//! `hookhost uninstall`: byte for byte where nobody changed the file, and otherwise our entries alone.

use super::{Person, printed};
use std::fs;

#[test]
fn a_file_that_nobody_changed_is_put_back_byte_for_byte() {
    for text in ["{\"model\":\"big\"}", "{ }\r\n", ""] {
        let person = Person::new("2.1.330");
        person.write(text);
        person.run(&["install", "claude-code"]).expect(0, &[]);
        person.run(&["install", "claude-code"]).expect(0, &[]);
        let ended = person.run(&["uninstall", "claude-code"]);
        printed(
            ended.expect(0, &[]),
            &[
                "  restored /",
                "(it is what it was before, byte for byte)\n  removed /",
                "skills/hookhost/SKILL.md (it was not there before)\n  Claude Code no longer asks hookhost.\n",
            ],
        );
        assert_eq!(person.read(), text);
    }
}

#[test]
fn a_file_that_was_not_there_is_removed_with_its_directory() {
    let person = Person::new("2.1.330");
    person.run(&["install", "claude-code"]).expect(0, &[]);
    printed(person.run(&["uninstall", "--all"]).expect(0, &[]), &["  removed /", "(it was not there before)"]);
    assert!(!person.user.path(".claude").exists());
    let ended = person.run(&["uninstall", "claude-code"]);
    printed(ended.expect(0, &[]), &["  unchanged /", "(it has no hook of hookhost)\n"]);
    assert_eq!(person.run(&["uninstall", "--all"]).stdout, "");
}

#[test]
fn of_a_file_that_somebody_changed_our_entries_are_taken_out() {
    let person = Person::new("2.1.330");
    person.write("{\"model\": \"big\"}");
    person.run(&["install", "claude-code"]).expect(0, &[]);
    person.write(&person.read().replace("big", "small"));
    let dry = person.run(&["uninstall", "claude-code", "--dry-run"]);
    printed(dry.expect(0, &[]), &["--- ", "\n-            \"command\": \"", "  would change /"]);
    assert!(person.read().contains("hookhost-hook"));
    let ended = person.run(&["uninstall", "claude-code"]);
    printed(
        ended.expect(0, &[]),
        &["  changed /", "(it has other changes since, so only hookhost's entries are removed)"],
    );
    assert_eq!(person.json(), serde_json::json!({ "model": "small" }));
}

#[test]
fn without_its_receipt_the_hook_is_taken_out_and_with_a_broken_one_nothing_is_done() {
    let person = Person::new("2.1.330");
    person.write("{\"model\": \"big\"}");
    person.run(&["install", "claude-code"]).expect(0, &[]);
    let receipt = person.user.path("state/installed/claude-code.user.json");
    let (kept, text) = (fs::read(&receipt).unwrap(), person.read());
    fs::write(&receipt, &kept[..kept.len() / 2]).unwrap();
    let says = ["is not a receipt of this version", "move it away: the hook can still be taken out"];
    person.run(&["uninstall", "claude-code"]).expect(1, &says);
    assert_eq!(person.read(), text);
    fs::remove_file(&receipt).unwrap();
    person.run(&["uninstall", "claude-code"]).expect(0, &[]);
    assert_eq!(person.json(), serde_json::json!({ "model": "big" }));
}
