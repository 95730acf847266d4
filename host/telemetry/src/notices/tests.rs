use super::{NoticeKind, Notices, text};
use crate::sink::{Entry, Sent, Sink as _};
use hookhost::audit::Line;
use hookhost::config::Digest;
use hookhost_agents::clock::now;
use serde_json::json;
use std::os::unix::fs::PermissionsExt;

fn question(time: u64) -> Entry {
    let text = json!({
        "seq": 1, "previous": "0".repeat(64), "kind": "event", "id": "e", "session": "codex:s", "time": time, "turn": 0, "calls": [],
        "event": "before-tool-call", "outcome": "escalated", "by": [], "changed-by": [],
        "original": { "id": "1", "name": "bash", "arguments": { "command": "rm --secret" } },
    });
    let line = Line::parse(&text.to_string()).unwrap();
    let record = line.entry().unwrap();
    Entry { line, record, agent: "codex".into(), log: Digest::of_bytes(b"log") }
}

#[test]
fn a_notice_counts_what_waits_and_names_the_command() {
    assert_eq!(text([1, 0]), "A question waits. Run: hookhost approvals");
    let both = "2 questions wait. 3 calls were rejected that you can let pass once. Run: hookhost approvals";
    assert_eq!(text([2, 3]), both);
}

#[tokio::test]
async fn a_hundred_questions_are_two_notices_at_once_without_their_commands_and_old_ones_are_none() {
    let directory = tempfile::tempdir().unwrap();
    let (program, shown) = (directory.path().join("notify"), directory.path().join("shown"));
    std::fs::write(&program, format!("#!/bin/sh\necho \"$@\" >> '{}'\n", shown.display())).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let mut notices = Notices::new(vec![NoticeKind::Question]);
    notices.program = Some(program.to_str().unwrap().to_owned());
    assert_eq!(notices.send(&[question(now() - 3_600_000)]).await, Sent::All);
    assert!(!shown.exists());
    for _ in 0..100 {
        assert_eq!(notices.send(&[question(now())]).await, Sent::All);
    }
    let text = std::fs::read_to_string(&shown).unwrap();
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(text.contains("A question waits.") && !text.contains("secret"), "{text}");
    // The next notice, after the burst, counts the others.
    assert_eq!(notices.waiting, [98, 0]);
}

#[tokio::test]
async fn a_missing_program_is_said_and_nothing_is_given_up() {
    let mut notices = Notices::new(vec![NoticeKind::Question]);
    notices.program = Some("/does/not/exist".into());
    assert!(matches!(notices.send(&[question(now())]).await, Sent::Misconfigured { .. }));
}
