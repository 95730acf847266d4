//! Bytes that are not a valid message are refused with a sentence, and do not cause a panic.

use crate::goldens::fixtures;
use hookhost_agents::{HookEvent, Message, all, by_name, detect};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Returns the first message of an agent about a tool call, and the hook point on the command line.
fn tool_call(agent: &str) -> (Value, Option<String>) {
    for (of, _, file) in fixtures() {
        let fixture: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        let is_one = fixture["means"] == "before-tool-call"
            || fixture["further"]
                .as_array()
                .is_some_and(|all| all.iter().any(|one| one["means"] == "before-tool-call"));
        if of == agent && is_one {
            return (fixture["input"].clone(), fixture["point"].as_str().map(str::to_owned));
        }
    }
    // This agent does not report calls, so a message with a text is used instead.
    let (_, _, file) = fixtures().into_iter().find(|(of, ..)| of == agent).unwrap();
    let fixture: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    (fixture["input"].clone(), fixture["point"].as_str().map(str::to_owned))
}

#[test]
fn what_is_not_a_message_is_refused_with_a_sentence() {
    for adapter in all() {
        let name = adapter.agent().name;
        let (input, point) = tool_call(name);
        let whole = input.to_string();
        let last = whole.char_indices().last().map_or(0, |(at, _)| at);
        let twice = whole.replacen('{', "{\"twice\":1,\"twice\":2,", 1);
        let deep = format!("{{\"x\":{}{}}}", "[".repeat(200), "]".repeat(200));
        let table: &[(&str, &[u8])] = &[
            ("empty", b""),
            ("white space", b" \n"),
            ("truncated", &whole.as_bytes()[..last]),
            ("cut in half", &whole.as_bytes()[..whole.floor_char_boundary(whole.len() / 2)]),
            ("not UTF-8", b"{\"a\":\"\xff\"}"),
            ("a list", b"[]"),
            ("a text", b"\"PreToolUse\""),
            ("a number", b"1"),
            ("a key twice", twice.as_bytes()),
            ("too deep", deep.as_bytes()),
            ("two messages", &[whole.as_bytes(), whole.as_bytes()].concat()),
        ];
        for (what, bytes) in table {
            let mut message = Message::new(bytes, Path::new("/project"));
            message.point = point.as_deref();
            let error = adapter.decode(&message).map(|call| call.point).expect_err(&format!("{name}: {what}"));
            assert!(!error.why.is_empty() && !error.why.contains('\n'), "{name}: {what}: {error}");
        }
    }
}

#[test]
fn an_object_without_anything_is_refused() {
    for adapter in all() {
        assert!(adapter.decode(&Message::new(b"{}", Path::new("/project"))).is_err(), "{}", adapter.agent().name);
    }
}

#[test]
fn a_message_of_another_agent_is_refused_or_means_no_call_of_a_tool() {
    // One of Copilot's dialects is the format of Claude Code, which other agents use as well.
    let is_common = |input: &Value| input.get("session_id").is_some() && input.get("hook_event_name").is_some();
    for (agent, name, file) in fixtures() {
        let fixture: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        let bytes = serde_json::to_vec(&fixture["input"]).unwrap();
        let own_language = ["opencode", "pi", "amp", "claude-code-mods"];
        for adapter in all().iter().filter(|adapter| is_read_strictly(adapter.agent().name)) {
            let other = adapter.agent().name;
            let is_alike = agent == other
                || other == "copilot-cli" && is_common(&fixture["input"])
                || own_language.contains(&agent.as_str()) && own_language.contains(&other);
            if is_alike {
                continue;
            }
            // The hook point on the command line is the adapter's own hook point before a tool call, if it has such a
            // hook point.
            let gate = adapter.agent().points.iter().find(|point| point.event.name() == "before-tool-call");
            let mut message = Message::new(&bytes, Path::new("/project"));
            message.point = gate.map(|gate| gate.name);
            if let Ok(call) = adapter.decode(&message) {
                let is_call = matches!(call.event, HookEvent::BeforeToolCall(_));
                assert!(!is_call, "{agent}/{name} is a call of {other}: {call:?}");
            }
        }
    }
}

/// Returns true for agents whose messages always name their hook point or have a special format.
fn is_read_strictly(agent: &str) -> bool {
    let strict = [
        "acs",
        "agentgateway",
        "amp",
        "claude-code-mods",
        "cline",
        "copilot-cli",
        "cursor",
        "goose",
        "litellm",
        "opencode",
        "pi",
        "windsurf",
    ];
    strict.contains(&agent)
}

#[test]
fn the_agent_that_wrote_a_message_is_found_under_another_name() {
    for (agent, name) in [
        ("cursor", "preToolUse"),
        ("cline", "tool_call"),
        ("goose", "PreToolUse"),
        ("windsurf", "pre_run_command"),
        ("copilot-cli", "preToolUse"),
    ] {
        let (.., file) = fixtures().into_iter().find(|(of, named, _)| of == agent && named == name).unwrap();
        let fixture: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        let bytes = serde_json::to_vec(&fixture["input"]).unwrap();
        let named = by_name("claude-code").unwrap();
        assert_eq!(detect(named, &Message::new(&bytes, Path::new("/"))).agent().name, agent);
    }
}

#[test]
fn arguments_of_a_wrong_type_are_refused_and_the_hook_point_is_kept() {
    let table = [
        (
            "cursor",
            r#"{"conversation_id":"c","hook_event_name":"preToolUse","tool_name":"Shell","tool_input":7}"#,
            "preToolUse",
        ),
        (
            "cursor",
            r#"{"conversation_id":"c","hook_event_name":"beforeShellExecution","command":["ls"]}"#,
            "beforeShellExecution",
        ),
        (
            "cursor",
            r#"{"conversation_id":"c","hook_event_name":"beforeMCPExecution","tool_name":"t","tool_input":"{"}"#,
            "beforeMCPExecution",
        ),
        ("copilot-cli", r#"{"sessionId":"s","toolName":"bash","toolArgs":"{\"command\":"}"#, "preToolUse"),
        ("copilot-cli", r#"{"sessionId":"s","toolName":"create","toolArgs":"ls"}"#, "preToolUse"),
        ("copilot-cli", r#"{"sessionId":"s","toolName":"bash","toolArgs":null}"#, "preToolUse"),
        (
            "cline",
            r#"{"taskId":"t","hookName":"tool_call","tool_call":{"id":"c","name":"editor","input":"x"}}"#,
            "tool_call",
        ),
        ("cline", r#"{"taskId":"t","hookName":"PreToolUse","preToolUse":{"toolName":"read_file"}}"#, "PreToolUse"),
        (
            "windsurf",
            r#"{"trajectory_id":"t","agent_action_name":"pre_run_command","tool_info":"ls"}"#,
            "pre_run_command",
        ),
        (
            "goose",
            r#"{"session_id":"s","event":"PreToolUse","matcher_context":"x","tool_name":"x","tool_input":[1]}"#,
            "PreToolUse",
        ),
        ("pi", r#"{"type":"tool_call","toolName":"write","input":"ls"}"#, "tool_call"),
        ("amp", r#"{"type":"tool.call","tool":"Bash"}"#, "tool.call"),
        (
            "opencode",
            r#"{"hookhost":{"point":"tool.execute.before"},"event":{"input":{"tool":"bash"},"output":{}}}"#,
            "tool.execute.before",
        ),
        ("claude-code-mods", r#"{"hookhost":{"point":"tool.call"},"event":{"input":{}}}"#, "tool.call"),
    ];
    for (agent, text, point) in table {
        let error = by_name(agent).unwrap().decode(&Message::new(text.as_bytes(), Path::new("/project"))).unwrap_err();
        assert_eq!(error.point.as_deref(), Some(point), "{agent}: {error}");
    }
    for (agent, text) in [
        ("litellm", r#"{"input_type":"both","texts":[]}"#),
        ("litellm", r#"{"input_type":"request","texts":"x"}"#),
        (
            "litellm",
            r#"{"input_type":"response","texts":[],"tool_calls":[{"function":{"name":"bash","arguments":"{"}}]}"#,
        ),
        ("litellm", r#"{"input_type":"response","texts":[],"tool_calls":[{}]}"#),
        ("acs", r#"{"metadata":{"session_id":"s"},"payload":{}}"#),
        ("agentgateway", r#"{"messages":[{"role":"user","content":"x"}]}"#),
        ("agentgateway", r#"{"body":{"messages":"x"}}"#),
    ] {
        assert!(
            by_name(agent).unwrap().decode(&Message::new(text.as_bytes(), Path::new("/project"))).is_err(),
            "{text}"
        );
    }
}

#[test]
fn an_unknown_event_is_kept_whole_and_answered_neutrally() {
    let table = [
        ("cursor", r#"{"conversation_id":"c","hook_event_name":"beforeTeleport","x":1}"#),
        ("copilot-cli", r#"{"session_id":"s","hook_event_name":"Teleport","x":1}"#),
        ("cline", r#"{"taskId":"t","hookName":"teleport","x":1}"#),
        ("windsurf", r#"{"trajectory_id":"t","agent_action_name":"pre_teleport","x":1}"#),
        ("goose", r#"{"session_id":"s","event":"Teleport","matcher_context":null,"x":1}"#),
        ("pi", r#"{"type":"teleport","x":1}"#),
        ("amp", r#"{"type":"teleport","x":1}"#),
        ("opencode", r#"{"hookhost":{"point":"teleport"},"event":{"x":1}}"#),
        ("claude-code-mods", r#"{"hookhost":{"point":"teleport"},"event":{"x":1}}"#),
    ];
    for (agent, text) in table {
        let adapter = by_name(agent).unwrap();
        let call = adapter.decode(&Message::new(text.as_bytes(), Path::new("/project"))).unwrap();
        let HookEvent::Custom { payload } = &call.event else { panic!("{agent}: {call:?}") };
        assert_eq!(payload["x"], 1, "{agent}");
        assert_eq!(serde_json::from_str::<Value>(&call.raw).unwrap(), serde_json::from_str::<Value>(text).unwrap());
    }
}

#[test]
fn a_byte_order_mark_and_an_empty_working_directory_are_read_past() {
    let text = r#"{"conversation_id":"c","hook_event_name":"beforeShellExecution","command":"ls","cwd":"","workspace_roots":["/work"],"cursor_version":"3.18.2"}"#;
    let bytes = [b"\xef\xbb\xbf", text.as_bytes()].concat();
    let call = by_name("cursor").unwrap().decode(&Message::new(&bytes, Path::new("/elsewhere"))).unwrap();
    assert_eq!(call.session.cwd, Path::new("/work"));
    let variables = [("CURSOR_PROJECT_DIR".to_owned(), "/named".to_owned())];
    let text = r#"{"conversation_id":"c","hook_event_name":"beforeShellExecution","command":"ls"}"#;
    let mut message = Message::new(text.as_bytes(), Path::new("/elsewhere"));
    let cwd = |message: &Message<'_>| by_name("cursor").unwrap().decode(message).unwrap().session.cwd;
    assert_eq!(cwd(&message), Path::new("/elsewhere"));
    message.variables = &variables;
    assert_eq!(cwd(&message), Path::new("/named"));
}
