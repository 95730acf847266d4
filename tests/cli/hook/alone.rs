//! An event that is settled without a resident host, by a process of its own.

use super::{Home, Reply};
use serde_json::{Value, json};

/// Messages of one agent, each of a session of its own, and of two others.
fn table(home: &Home) -> Vec<([&'static str; 2], Vec<u8>)> {
    let mut all = Vec::new();
    let commands =
        ["ls", "touch denied.txt", "touch stopped.txt", "touch answered.txt", "touch asked.txt", "echo original"];
    for (number, command) in commands.iter().enumerate() {
        for agent in ["claude-code", "codex"] {
            // Codex would have a person asked.
            if agent == "claude-code" || !command.contains("asked") {
                all.push(([agent, "PreToolUse"], home.call(&format!("s{number}"), "1", command)));
            }
        }
    }
    let event = |session: &str, point: &'static str, fields: Value| {
        let mut message = json!({ "session_id": session, "cwd": home.user.project(), "hook_event_name": point });
        message.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        (["claude-code", point], message)
    };
    let response = json!({ "stdout": "a masked-word", "stderr": "" });
    all.extend([
        event("a", "SessionStart", json!({ "source": "startup" })),
        event("b", "UserPromptSubmit", json!({ "prompt": "a forbidden-prompt" })),
        event("c", "UserPromptSubmit", json!({ "prompt": "hello" })),
        event(
            "d",
            "PostToolUse",
            json!({
                "tool_name": "Bash", "tool_input": { "command": "ls" }, "tool_use_id": "1", "tool_response": response,
            }),
        ),
        event("e", "Stop", json!({ "stop_hook_active": false })),
        event("f", "Notification", json!({ "message": "waiting" })),
        event("g", "SessionEnd", json!({ "reason": "exit" })),
    ]);
    let mut all: Vec<_> = all.into_iter().map(|(hook, message)| (hook, message.to_string().into_bytes())).collect();
    all.push((["claude-code", "PreToolUse"], b"{".to_vec()));
    all.push((["claude-code", "PreToolUse"], Vec::new()));
    all
}

/// What the log says of events: in which session, which, with what outcome; and the deliveries.
fn log(home: &Home) -> Vec<String> {
    let mut all: Vec<_> = home
        .user
        .records()
        .iter()
        .filter(|record| record["kind"] == "event" || record["kind"] == "delivery" || record["kind"] == "answer")
        .map(|record| {
            let fields = ["session", "kind", "event", "outcome", "by", "what", "note"];
            fields.map(|field| record[field].to_string()).join(" ")
        })
        .collect();
    all.sort();
    all
}

#[test]
fn a_process_of_its_own_gives_the_same_reply_byte_for_byte_and_records_the_same() {
    let (with, without) = (Home::new(), Home::new());
    with.serve();
    let _lock = without.without_resident_host();
    let replies =
        |home: &Home| -> Vec<Reply> { table(home).iter().map(|(hook, message)| home.told(hook, message)).collect() };
    let (resident, alone) = (replies(&with), replies(&without));
    for ((hook, message), (resident, alone)) in table(&with).iter().zip(resident.iter().zip(&alone)) {
        assert_eq!(resident, alone, "{hook:?} {}", String::from_utf8_lossy(message));
    }
    resident[2].is_denied_by_policy();
    assert!(!without.socket().exists(), "each was settled by a process of its own");
    super::wait_for("the last records", || without.processes("hook").is_empty());
    // What is recorded late is recorded by then, too.
    super::wait_for("the last records", || log(&with).len() >= log(&without).len());
    assert_eq!(log(&with), log(&without));
    with.verify_log();
    without.verify_log();
}
