//! `observe = true`: the rules decide, the log says what they decided, and nothing is blocked.

use super::{Home, policy, printed, reply_to};
use serde_json::{Value, json};

#[test]
fn while_rules_are_only_observed_every_call_passes_unchanged_and_the_log_says_what_would_have_been() {
    let home = Home::with(&format!("[settings]\nobserve = true\n\n{}", policy().to_toml()));
    let reply = home.asked("s", "1", "touch denied.txt");
    reply.passes();
    assert!(reply.stdout.contains("hookhost only observes"), "the user is told: {reply:?}");
    home.asked("s", "2", "touch asked.txt").passes();
    let changed = home.asked("s", "3", "touch original");
    changed.passes();
    assert!(!changed.stdout.contains("rewritten"), "{changed:?}");
    home.asked("s", "4", "ls").passes();
    // Codex cannot ask, so a question would wait for a person.
    let message = home.call("c", "5", "touch asked.txt").to_string();
    let reply = reply_to(&mut home.hook(&["codex", "PreToolUse"]), message.as_bytes());
    assert!(!reply.stdout.contains("deny"), "{reply:?}");
    let events = home.events("before-tool-call", 5);
    let outcomes: Vec<_> = events.iter().map(|event| event["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["rejected", "escalated", "allowed", "allowed", "escalated"]);
    assert!(events.iter().all(|event| event["enforcement"] == "observed"), "{events:#?}");
    assert_eq!(events[0]["reason"].as_str().unwrap().split(':').next(), Some("Rejected by policy"));
    assert_eq!(events[2]["changed-by"], json!(["policy"]));
    let open = printed(&mut home.command(&["approvals", "--json"]));
    assert_eq!(serde_json::from_str::<Vec<Value>>(&open.stdout).unwrap(), Vec::<Value>::new(), "nobody is asked");
    let shown = printed(&mut home.command(&["audit", "show"]));
    assert!(shown.stdout.contains("rejected by policy (only observed, so it had no effect)"), "{shown:#?}");
    let doctor = printed(&mut home.command(&["doctor"]));
    doctor.expect(1, &[]);
    assert!(doctor.stdout.contains("hookhost only observes"), "{doctor:#?}");
    home.verify_log();
}

#[test]
fn a_projects_file_cannot_turn_the_rules_into_mere_observers() {
    let home = Home::new();
    home.user.write("hookhost.toml", "[settings]\nobserve = true\n");
    printed(&mut home.command(&["trust", "--yes"])).expect(5, &["observe"]);
    home.asked("s", "1", "touch denied.txt").is_denied_by_policy();
}
