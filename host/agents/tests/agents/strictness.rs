//! Tests ambiguous messages, which two parsers could read differently. Before a tool runs, an ambiguous message is refused. After the tool
//! has run, an ambiguous message never ends the run. All other messages are read.

use crate::actions::agents;
use crate::goldens::fixtures;
use hookhost_agents::{Adapter, HookCall, HookEvent, Message, Reply, ToolUse, Unreadable, all, by_name};
use hookhost_contract::{EventKind, SessionMode};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// Returns a call for each agent that uses the format of Claude Code. Each has the agent, the hook point on the command line, the message
/// without the arguments, and the key of the arguments.
fn of_claudes_shape() -> Vec<(&'static str, Option<&'static str>, Value, &'static str)> {
    let claude = |tool: &str| json!({ "hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/p", "tool_name": tool, "tool_use_id": "t" });
    let mut all = vec![
        ("antigravity", Some("PreToolUse"), json!({ "conversationId": "c", "toolName": "run_command" }), "toolInput"),
        ("crush", None, json!({ "event": "PreToolUse", "session_id": "s", "tool_name": "bash" }), "tool_input"),
        (
            "grok-build",
            None,
            json!({ "hookEventName": "pre_tool_use", "sessionId": "s", "toolName": "run_terminal_command" }),
            "toolInput",
        ),
        ("gemini-cli", None, claude("run_shell_command"), "tool_input"),
    ];
    all[3].2["hook_event_name"] = json!("BeforeTool");
    for (agent, tool) in [
        ("claude-code", "Bash"),
        ("codex", "Bash"),
        ("droid", "Execute"),
        ("kiro", "execute_bash"),
        ("openhands", "terminal"),
        ("qwen-code", "run_shell_command"),
    ] {
        all.push((agent, None, claude(tool), "tool_input"));
    }
    all
}

/// Returns a call with these arguments in the format of each agent that reports calls.
fn calls(arguments: &Value) -> Vec<(&'static str, Option<&'static str>, Value)> {
    let mut all: Vec<_> = agents()
        .into_iter()
        .map(|(agent, wrap, spelt)| {
            let (tool, _) = spelt[0].as_ref().unwrap();
            let (point, message) = wrap(tool, arguments);
            (agent, point, message)
        })
        .collect();
    for (agent, point, mut message, key) in of_claudes_shape() {
        message[key] = arguments.clone();
        all.push((agent, point, message));
    }
    all
}

fn decode(adapter: &Adapter, text: &str, point: Option<&str>) -> Result<HookCall, Unreadable> {
    let mut message = Message::new(text.as_bytes(), Path::new("/project"));
    message.point = point;
    adapter.decode(&message)
}

fn read(agent: &str, text: &str) -> Result<HookCall, Unreadable> {
    decode(by_name(agent).unwrap(), text, None)
}

fn tool(call: HookCall) -> ToolUse {
    match call.event {
        HookEvent::BeforeToolCall(tool) => tool,
        other => panic!("{other:?} is no call"),
    }
}

#[test]
fn an_argument_that_rules_read_in_two_spellings_that_differ_in_case_is_refused_by_each_agent() {
    let mut seen = std::collections::BTreeSet::new();
    for twins in [
        json!({ "command": "ls", "COMMAND": "rm -rf ~" }),
        json!({ "command": "ls", "file_path": "a", "File_Path": "b" }),
        json!({ "command": "ls", "url": "a", "URL": "b" }),
        json!({ "command": "ls", "patch": "a", "Patch": "b" }),
        json!({ "command": "ls", "tas\u{212a}": "a", "task": "b" }),
        json!({ "command": "ls", "de\u{17f}t": "a", "dest": "b" }),
        json!({ "command": "ls", "edits": [{ "path": "a", "Path": "b" }] }),
    ] {
        for (agent, point, message) in calls(&twins) {
            let why = decode(by_name(agent).unwrap(), &message.to_string(), point).expect_err(agent).why;
            assert!(why.contains("only in case"), "{agent}: {why}");
            seen.insert(agent);
        }
    }
    // agentgateway does not report calls.
    assert_eq!(seen.len(), all().len() - 1, "{seen:?}");
}

#[test]
fn an_argument_that_no_rule_reads_passes_unchanged_in_each_agent() {
    let arguments =
        json!({ "command": "ls", "command_line": "ls", "guid": "a", "Guid": "b", "headers": { "A": 1, "a": 2 } });
    for (agent, point, message) in calls(&arguments) {
        let call =
            decode(by_name(agent).unwrap(), &message.to_string(), point).unwrap_or_else(|why| panic!("{agent}: {why}"));
        let tool = tool(call.parts().into_iter().last().unwrap());
        assert_eq!((&tool.arguments["guid"], &tool.arguments["Guid"]), (&json!("a"), &json!("b")), "{agent}");
    }
}

#[test]
fn an_envelope_with_two_spellings_of_a_key_is_refused_by_each_agent() {
    for (agent, name, file) in fixtures() {
        let fixture: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        let adapter = by_name(&agent).unwrap();
        let key = fixture["input"].as_object().unwrap().keys().next().unwrap();
        let twin = if *key == key.to_uppercase() { key.to_lowercase() } else { key.to_uppercase() };
        let text = format!("{{{}:1,{}", json!(twin), &fixture["input"].to_string()[1..]);
        let why = decode(adapter, &text, fixture["point"].as_str()).expect_err(&name).why;
        assert!(why.contains("only in case"), "{agent}/{name}: {why}");
    }
    let nested =
        r#"{"hookhost":{"point":"tool_call"},"event":{"toolName":"bash","TOOLNAME":"read","input":{"command":"ls"}}}"#;
    assert!(read("pi", nested).unwrap_err().why.contains("only in case"));
}

#[test]
fn a_half_character_in_a_command_is_refused_with_a_sentence() {
    let text = r#"{"session_id":"s1","transcript_path":"/t","cwd":"/home/me/proj","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"echo \ud83d; git push --force origin main"},"tool_use_id":"t1"}"#;
    let error = read("claude-code", text).unwrap_err();
    assert!(error.why.contains("half of a character") && error.point.as_deref() == Some("PreToolUse"), "{error:?}");
    let in_a_text = r#"{"sessionId":"s","toolName":"bash","toolArgs":"{\"command\":\"echo \\ud83d\"}"}"#;
    assert!(read("copilot-cli", in_a_text).unwrap_err().why.contains("half of a character"));
    let prompt = r#"{"session_id":"s1","transcript_path":"/t","cwd":"/home/me/proj","hook_event_name":"UserPromptSubmit","prompt":"cut \udc8f here"}"#;
    let call = read("claude-code", prompt).unwrap();
    assert!(matches!(&call.event, HookEvent::PromptSubmit { prompt } if prompt == "cut \u{fffd} here"), "{call:?}");
}

/// Returns a message with a result for each agent. In the JSON of the message, `RESULT` stands for the text of the result.
fn results() -> Vec<(&'static str, Option<&'static str>, String)> {
    let claude = |point: &str, response: &str| {
        format!(
            r#"{{"hook_event_name":"{point}","session_id":"s","turn_id":"1","model":"m","cwd":"/p","tool_name":"Read","tool_input":{{"file_path":"/a","absolute_path":"/a"}},"{response}":RESULT}}"#
        )
    };
    let mut all = vec![
        ("gemini-cli", None, claude("AfterTool", "tool_response")),
        ("crush", None, claude("x", "tool_response").replace(r#""hook_event_name":"x""#, r#""event":"PostToolUse""#)),
        (
            "antigravity",
            Some("PostToolUse"),
            r#"{"conversationId":"c","toolName":"view_file","toolInput":{"AbsolutePath":"/a"},"toolResponse":RESULT}"#.to_owned(),
        ),
        (
            "grok-build",
            None,
            r#"{"hookEventName":"post_tool_use","sessionId":"s","toolName":"read_file","toolInput":{"path":"/a"},"toolResponse":RESULT}"#.to_owned(),
        ),
        (
            "copilot-cli",
            Some("postToolUse"),
            r#"{"sessionId":"s","toolName":"view","toolArgs":{"path":"/a"},"toolResult":{"resultType":"success","textResultForLlm":"x","more":RESULT}}"#.to_owned(),
        ),
        (
            "cursor",
            None,
            r#"{"conversation_id":"c","hook_event_name":"postToolUse","tool_name":"MCP:x","tool_input":{},"tool_output":RESULT}"#.to_owned(),
        ),
        (
            "cline",
            None,
            r#"{"hookName":"tool_result","taskId":"t","tool_result":{"id":"c","name":"x","input":{},"output":RESULT}}"#.to_owned(),
        ),
        (
            "windsurf",
            None,
            r#"{"agent_action_name":"post_mcp_tool_use","trajectory_id":"t","tool_info":{"mcp_server_name":"a","mcp_tool_name":"b","mcp_result":RESULT}}"#.to_owned(),
        ),
        (
            "goose",
            None,
            r#"{"event":"PostToolUse","session_id":"s","matcher_context":"x","tool_name":"x","tool_input":{},"tool_output":RESULT}"#.to_owned(),
        ),
        (
            "pi",
            None,
            r#"{"hookhost":{"point":"tool_result"},"event":{"toolName":"read","input":{"path":"/a"},"content":RESULT}}"#.to_owned(),
        ),
        (
            "amp",
            None,
            r#"{"type":"tool.result","tool":"Read","input":{"path":"/a"},"status":"done","output":RESULT}"#.to_owned(),
        ),
        (
            "opencode",
            None,
            r#"{"hookhost":{"point":"tool.execute.after"},"event":{"input":{"tool":"read","args":{"filePath":"/a"}},"output":{"output":"x","more":RESULT}}}"#.to_owned(),
        ),
        (
            "claude-code-mods",
            None,
            r#"{"hookhost":{"point":"tool.result"},"event":{"tool":"Read","input":{"file_path":"/a"},"text":"x","more":RESULT}}"#.to_owned(),
        ),
        (
            "acs",
            Some("steps/toolCallResult"),
            r#"{"request_id":"r","metadata":{"session_id":"s"},"payload":{"tool":{"name":"x"},"outputs":[{"value":RESULT}]}}"#.to_owned(),
        ),
    ];
    for agent in ["claude-code", "codex", "droid", "kiro", "openhands", "qwen-code"] {
        all.push((agent, None, claude("PostToolUse", "tool_response")));
    }
    all
}

fn ends_the_run(agent: &str, reply: &Reply) -> bool {
    let json: Value = serde_json::from_str(&reply.stdout).unwrap_or_default();
    let is = |key: &str, value: bool| json[key] == value;
    is("continue", false) || is("halt", true) || is("stop", true) || (agent == "cline" && is("cancel", true))
}

#[test]
fn a_result_that_cannot_be_read_in_one_way_only_is_read_leniently_or_withheld_and_never_ends_the_run() {
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let long = r#"{"wei":115792089237316195423570985008687907853269984665640564039457584007913129639935,"id":1917043659912705296}"#;
    for (agent, point, message) in results() {
        let adapter = by_name(agent).unwrap();
        for (result, is_unclear) in [
            (r#""launch \ud83d""#, false),
            (long, false),
            ("1e400", false),
            (r#"{"a":1,"a":2}"#, true),
            (r#"[{"$serde_json::private::Number":"1"}]"#, true),
            (deep.as_str(), true),
        ] {
            let text = message.replace("RESULT", result);
            let call = decode(adapter, &text, point).unwrap_or_else(|why| panic!("{agent}: {text}: {why}"));
            assert!(matches!(call.event, HookEvent::AfterToolCall { .. }), "{agent}: {call:?}");
            assert_eq!(call.unclear.is_some(), is_unclear, "{agent}: {text}");
            if adapter.abilities(&call).replaces {
                let reply = adapter.unsettled(&call, "it can be read in two ways");
                assert!(!ends_the_run(agent, &reply), "{agent}: {reply:?}");
                assert!(reply.stdout.contains("two ways"), "{agent}: {reply:?}");
            }
        }
        // No part of the message can be read, and only the command line says what the message is about.
        let gate = adapter.agent().points.iter().filter(|point| point.event == EventKind::AfterToolCall);
        for point in gate {
            let reply = adapter.fail(Some(point.name), "it cannot be read");
            assert!(!ends_the_run(agent, &reply), "{agent} at {}: {reply:?}", point.name);
        }
    }
}

#[test]
fn a_result_that_rules_read_leniently_has_its_digits_and_a_mark_for_half_a_character() {
    let base = r#"{"session_id":"s1","transcript_path":"/t","cwd":"/home/me/proj","hook_event_name":"PostToolUse","tool_name":"mcp__chain__balance","tool_input":{"address":"0x0"},"tool_use_id":"t1","tool_response":RESULT}"#;
    for (result, text) in [
        (r#""launch \ud83d""#, "launch \u{fffd}"),
        (r#""\ud83d\ude00 \ude00\u00e9""#, "\u{1f600} \u{fffd}\u{e9}"),
        (
            r#"{"wei":115792089237316195423570985008687907853269984665640564039457584007913129639935}"#,
            r#"{"wei":"115792089237316195423570985008687907853269984665640564039457584007913129639935"}"#,
        ),
        ("1e400", "1e400"),
    ] {
        let call = read("claude-code", &base.replace("RESULT", result)).unwrap();
        assert!(matches!(&call.event, HookEvent::AfterToolCall { result, .. } if result.text == text), "{call:?}");
    }
}

#[test]
fn a_number_that_is_too_long_is_its_digits_and_a_call_with_one_is_not_changed() {
    let text = r#"{"session_id":"s1","transcript_path":"/t","cwd":"/home/me/proj","hook_event_name":"PreToolUse","tool_name":"mcp__chain__send","tool_input":{"wei":100000000000000000000},"tool_use_id":"t1"}"#;
    let call = tool(read("claude-code", text).unwrap());
    assert_eq!((&call.arguments, call.is_exact), (&json!({ "wei": "100000000000000000000" }), false));
    let call = tool(read("claude-code", &text.replace("100000000000000000000", "18446744073709551615")).unwrap());
    assert_eq!((&call.arguments, call.is_exact), (&json!({ "wei": u64::MAX }), true));
    let in_a_text = r#"{"sessionId":"s","toolName":"send","toolArgs":"{\"wei\":1E400}"}"#;
    let call = tool(read("copilot-cli", in_a_text).unwrap());
    assert_eq!((&call.arguments, call.is_exact), (&json!({ "wei": "1E400" }), false));
}

#[test]
fn a_message_without_a_session_is_of_the_one_in_its_directory_and_numbers_are_identifiers_by_their_value() {
    let with = |session: &str| {
        format!(
            r#"{{{session}"transcript_path":"/t","cwd":"/home/me/proj","permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{{"command":"ls"}},"tool_use_id":"t1"}}"#
        )
    };
    let id = |session: &str| read("claude-code", &with(session)).unwrap().session.id;
    assert_eq!(id(""), None);
    assert_eq!(id(r#""session_id":null,"#), None);
    assert_eq!((id(r#""session_id":7,"#), id(r#""session_id":7.0,"#)), (Some("7".to_owned()), Some("7".to_owned())));
    for (agent, point, message) in calls(&json!({ "command": "ls", "command_line": "ls" })) {
        let mut message = message;
        let fields = message.as_object_mut().unwrap();
        for key in ["session_id", "sessionId", "taskId", "conversation_id", "conversationId", "trajectory_id"] {
            fields.shift_remove(key);
        }
        // Messages of ACS are signed with the key of their session.
        let found = decode(by_name(agent).unwrap(), &message.to_string(), point);
        assert!(found.is_ok(), "{agent}: {message}: {found:?}");
    }
    let bare = r#"{"tool_name": "Bash", "tool_input": {"command": "git push --force origin main"}}"#;
    let call = tool(decode(by_name("claude-code").unwrap(), bare, Some("PreToolUse")).unwrap());
    assert_eq!(call.arguments["command"], "git push --force origin main");
}

#[test]
fn the_mode_of_a_session_is_read_in_the_words_of_each_agent() {
    for (agent, word, mode) in [
        ("claude-code", "default", Some(SessionMode::Default)),
        ("claude-code", "dontAsk", Some(SessionMode::Default)),
        ("claude-code", "acceptEdits", Some(SessionMode::AcceptEdits)),
        ("codex", "bypassPermissions", Some(SessionMode::Bypass)),
        ("droid", "plan", Some(SessionMode::Plan)),
        ("qwen-code", "auto-edit", Some(SessionMode::AcceptEdits)),
        ("qwen-code", "yolo", Some(SessionMode::Bypass)),
        ("claude-code", "auto", Some(SessionMode::Auto)),
        ("claude-code", "a new one", None),
    ] {
        let message = json!({ "session_id": "s", "cwd": "/p", "hook_event_name": "PreToolUse", "turn_id": "1",
            "model": "m", "tool_name": "Bash", "tool_input": { "command": "ls" }, "permission_mode": word });
        assert_eq!(read(agent, &message.to_string()).unwrap().session.mode, mode, "{agent} {word}");
    }
}

#[test]
fn null_is_absent_and_arguments_may_be_missing_where_the_tool_needs_none() {
    let message = |rest: &str| {
        read("claude-code", &format!(r#"{{"session_id":"s1","hook_event_name":"PreToolUse",{rest}}}"#)).map(tool)
    };
    let call = message(r#""cwd":null,"tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":null"#).unwrap();
    assert_eq!((call.id, call.arguments), (None, json!({ "command": "ls" })));
    for absent in ["", r#","tool_input":null"#] {
        let call = message(&format!(r#""tool_name":"mcp__clock__now"{absent}"#)).unwrap();
        assert_eq!(call.arguments, json!({}));
        assert!(message(&format!(r#""tool_name":"Bash"{absent}"#)).unwrap_err().why.contains("missing"));
    }
    assert!(message(r#""tool_name":null,"tool_input":{"command":"ls"}"#).is_err());
}

#[test]
fn a_text_in_the_place_of_arguments_is_the_only_one_that_the_tool_takes() {
    let codex = |name: &str, input: &Value| {
        let message = json!({ "session_id": "s1", "turn_id": "1", "model": "m", "cwd": "/home/me/proj",
            "hook_event_name": "PreToolUse", "tool_name": name, "tool_use_id": "t", "tool_input": input });
        read("codex", &message.to_string()).map(tool)
    };
    let patch = "*** Begin Patch\n*** Update File: infra/main.tf\n@@\n-a\n+b\n*** End Patch";
    let call = codex("apply_patch", &json!(patch)).unwrap();
    assert_eq!((&call.arguments, call.is_exact), (&json!({ "command": patch }), false));
    assert_eq!(codex("Bash", &json!("ls")).unwrap().arguments, json!({ "command": "ls" }));
    assert_eq!(codex("Bash", &json!("{\"command\":\"ls\"}")).unwrap().arguments, json!({ "command": "ls" }));
    let argv = json!({ "command": ["bash", "-lc", "git push --force origin main"] });
    assert_eq!(codex("Bash", &argv).unwrap().arguments, argv);
    assert!(codex("Bash", &json!("{\"command\":")).is_err(), "half of an object is no command");
    assert!(codex("write_file", &json!("a.txt")).is_err(), "a path or a content");
    assert!(codex("mystery", &json!("ls")).is_err());
}

#[test]
fn a_call_at_a_hook_point_without_calls_is_answered_as_a_call() {
    let call = r#"{"session_id":"s","cwd":"/p","tool_name":"Bash","tool_input":{"command":"ls"}}"#;
    for (agent, point) in
        [("claude-code", "SessionEnd"), ("claude-code", "Stop"), ("codex", "SessionEnd"), ("qwen-code", "Notification")]
    {
        let adapter = by_name(agent).unwrap();
        let error = decode(adapter, call, Some(point)).unwrap_err();
        assert_eq!(error.point.as_deref(), Some("PreToolUse"), "{agent} at {point}: {error}");
        let reply = adapter.fail(error.point.as_deref(), "it cannot be read");
        assert!(adapter.denies("PreToolUse", &reply), "{agent} at {point}: {reply:?}");
    }
    let call = r#"{"sessionId":"s","cwd":"/p","toolName":"bash","toolArgs":{"command":"ls"}}"#;
    for point in ["sessionEnd", "notification", "postToolUse"] {
        let error = decode(by_name("copilot-cli").unwrap(), call, Some(point)).unwrap_err();
        assert_eq!(error.point.as_deref(), Some("preToolUse"), "{point}: {error}");
    }
}

#[cfg(not(windows))]
#[test]
fn a_directory_of_another_system_is_named_as_what_it_is() {
    for cwd in [r"c:\Users\me\proj", "C:/Users/me/proj", r"\\?\C:\Users\me\proj", r"\\server\share"] {
        let message = json!({ "session_id": "s1", "cwd": cwd, "hook_event_name": "PreToolUse", "tool_name": "Bash",
            "tool_input": { "command": "rm -rf ./node_modules" }, "tool_use_id": "t1" });
        let why = read("claude-code", &message.to_string()).unwrap().session.is_elsewhere().unwrap();
        assert!(why.contains("is one of Windows") && why.contains(cwd), "{why}");
    }
    let relative = read("claude-code", r#"{"session_id":"s","cwd":"proj/../x","hook_event_name":"Stop"}"#).unwrap();
    assert_eq!(relative.session.is_elsewhere(), None);
}
