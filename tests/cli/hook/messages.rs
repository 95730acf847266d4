//! Messages that are broken, of another agent, or of a later version.

use super::Home;
use serde_json::{Value, json};

const HOOK: [&str; 2] = ["claude-code", "PreToolUse"];

#[test]
fn a_message_that_cannot_be_read_is_denied_with_a_sentence_and_recorded() {
    let home = Home::new();
    home.serve();
    let whole = home.call("s", "1", "ls").to_string();
    let twice = whole.replacen('{', r#"{"tool_name":"Read","#, 1);
    let mut not_utf8 = whole.clone().into_bytes();
    not_utf8.insert(whole.len() - 2, 0xff);
    let large = whole.replacen("ls", &"x".repeat(20_000_000), 1);
    let deep = whole.replacen("\"ls\"", &format!("{}1{}", "[".repeat(500_000), "]".repeat(500_000)), 1);
    let cases: [(&[u8], &str); 8] = [
        (b"", "its message cannot be read: the message is empty"),
        (b"[]", "its message cannot be read: the message is not a JSON object"),
        (&whole.as_bytes()[..whole.len() / 2], "its message cannot be read: the message is not valid JSON: EOF"),
        (&not_utf8, "its message cannot be read: the message is not UTF-8"),
        (twice.as_bytes(), "its message cannot be read: the key \"tool_name\" occurs twice"),
        (large.as_bytes(), "16777216 are the most that is read"),
        (deep.as_bytes(), "its message cannot be read: a value in it nests more than 100 levels deep"),
        (
            br#"{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Bash"}"#,
            "its message cannot be read: the arguments of `Bash` are missing",
        ),
    ];
    for (message, says) in cases {
        home.told(&HOOK, message).could_not_be_settled(says);
    }
    let deliveries = home.deliveries(cases.len());
    for (delivery, (_, says)) in deliveries.iter().zip(cases) {
        assert_eq!((&delivery["what"], &delivery["point"]), (&json!("unanswered"), &json!("PreToolUse")), "{delivery}");
        assert!(delivery["note"].as_str().unwrap().contains(says), "{delivery}");
    }
    // The same host continues.
    home.asked("s", "2", "touch denied.txt").is_denied_by_policy();
    home.verify_log();
}

#[test]
fn a_message_of_another_agent_is_settled_in_that_agents_language_or_denied() {
    let home = Home::new();
    home.serve();
    let message = json!({
        "agent_action_name": "pre_run_command", "trajectory_id": "t", "execution_id": "1",
        "tool_info": { "command_line": "touch denied.txt", "cwd": home.user.project() },
    });
    let reply = home.told(&HOOK, message.to_string());
    assert_eq!((reply.code, reply.stdout.as_str()), (Some(2), ""), "Windsurf reads the exit code: {reply:?}");
    assert!(reply.stderr.contains("denied-by-policy"), "{reply:?}");
    assert_eq!(home.events("before-tool-call", 1)[0]["session"], "windsurf:t");
    // Copilot's, which is known by its keys.
    let call = json!({ "command": "touch denied.txt" });
    let message =
        json!({ "sessionId": "s", "cwd": home.user.project(), "toolName": "bash", "toolArgs": call.to_string() });
    let reply = home.told(&HOOK, message.to_string());
    let said: Value = serde_json::from_str(&reply.stdout).unwrap();
    assert_eq!(said["permissionDecision"], "deny", "{reply:?}");
    // Gemini CLI's, which is not: it tells of a call at a hook point that Claude Code does not have.
    let mut message = home.call("s", "1", "touch denied.txt");
    (message["hook_event_name"], message["tool_name"]) = (json!("BeforeTool"), json!("run_shell_command"));
    let reply = home.told(&HOOK, message.to_string());
    assert!(reply.code == Some(2) || reply.decision() == "deny", "{reply:?}");
    home.verify_log();
}

#[test]
fn a_message_of_a_later_version_is_settled_and_what_is_unknown_in_it_is_kept() {
    let home = Home::new();
    home.serve();
    let mut message = home.call("s", "1", "touch denied.txt");
    message["reasoning_trace"] = json!({ "steps": [1, 2] });
    message["tool_input"]["sandbox"] = json!("strict");
    home.told(&HOOK, message.to_string()).is_denied_by_policy();
    let record = home.events("before-tool-call", 1).remove(0);
    let raw: Value = serde_json::from_str(record["raw"].as_str().unwrap_or("null")).unwrap_or_default();
    let raw = if raw.is_null() { record["raw"].clone() } else { raw };
    assert_eq!(raw, message, "nothing of it is lost: {record}");
    // A hook point that nobody knows.
    let message = json!({ "session_id": "s", "cwd": home.user.project(), "hook_event_name": "ThoughtEnd", "x": [1] });
    let reply = home.told(&["claude-code"], message.to_string());
    assert_eq!((reply.code, reply.stdout.as_str(), reply.stderr.as_str()), (Some(0), "", ""));
    let record = home.events("custom-event", 1).remove(0);
    assert!(record.to_string().contains("claude-code/ThoughtEnd"), "{record}");
    // One with a call in it could be a gate.
    let mut message = home.call("s", "2", "touch denied.txt");
    message["hook_event_name"] = json!("BeforeToolBatch");
    let reply = home.told(&["claude-code"], message.to_string());
    assert!(reply.code == Some(2) || reply.decision() == "deny", "{reply:?}");
    home.verify_log();
}
