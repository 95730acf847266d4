//! Tests messages that are broken or come from another agent. No such message makes a decoder panic, and no such
//! message is read as a harmless event.

use crate::goldens::{Fixture, fixtures};
use crate::judge::AGENTS;
use hookhost_agents::{Adapter, HookCall, Message, Unreadable, by_name};
use hookhost_contract::EventKind;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use std::fs;
use std::path::Path;

fn decode(adapter: &Adapter, bytes: &[u8], point: Option<&str>) -> Result<HookCall, Unreadable> {
    let mut message = Message::new(bytes, Path::new("/project"));
    message.point = point;
    adapter.decode(&message)
}

/// Returns the messages about a tool call that is about to run, each with its agent and the hook point on the command
/// line.
fn calls() -> Vec<(String, Fixture)> {
    let known = fixtures().into_iter().filter(|(agent, ..)| AGENTS.contains(&agent.as_str()));
    let read = known.map(|(agent, _, file)| (agent, serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()));
    read.filter(|(_, fixture): &(String, Fixture)| fixture.means == "before-tool-call").collect()
}

/// Returns true if the message is read as a tool call, or if it is not readable at all.
fn is_gated(found: &Result<HookCall, Unreadable>) -> bool {
    found.as_ref().map_or(true, |call| call.event.kind() == EventKind::BeforeToolCall)
}

#[test]
fn what_is_no_message_is_not_read() {
    let mut seen = 0;
    for (agent, fixture) in calls() {
        let adapter = by_name(&agent).unwrap();
        let point = fixture.point.as_deref();
        let whole = serde_json::to_vec(&fixture.input).unwrap();
        assert!(decode(adapter, &whole, point).is_ok());
        let bad = |what: &str, bytes: &[u8]| {
            for point in [point, None, Some("PreToolUse"), Some("Stop"), Some("SessionEnd")] {
                let error = decode(adapter, bytes, point).expect_err(&format!("{agent}: {what}"));
                assert!(!error.why.is_empty(), "{agent}: {what}");
            }
        };
        for (what, bytes) in [
            ("empty", &b""[..]),
            ("white space", b" \n\t"),
            ("null", b"null"),
            ("a list", b"[]"),
            ("a text", b"\"PreToolUse\""),
            ("not UTF-8", b"{\"tool_name\":\"\xff\"}"),
            ("two messages", b"{} {}"),
        ] {
            bad(what, bytes);
        }
        for end in (1..whole.len()).step_by(7) {
            bad("truncated", &whole[..end]);
        }
        let key = fixture.input.as_object().unwrap().keys().next().unwrap().clone();
        let twice = format!("{{{}:1,{}", json!(key), &String::from_utf8(whole).unwrap()[1..]);
        bad("a key that occurs twice", twice.as_bytes());
        bad("deep", format!("{{\"a\":{}1{}}}", "[".repeat(300), "]".repeat(300)).as_bytes());
        seen += 1;
    }
    assert!(seen > 20);
}

/// Returns variants of the message. In each variant, one value is removed or replaced. Values within nested objects are
/// included.
fn broken(value: &Value) -> Vec<Value> {
    let Some(object) = value.as_object() else { return Vec::new() };
    let mut all = Vec::new();
    for (key, old) in object {
        let mut without = object.clone();
        without.remove(key);
        all.push(Value::Object(without));
        for new in [json!(null), json!(""), json!("x"), json!(3), json!(true), json!([]), json!({}), json!(["x"])] {
            all.push(with(object, key, new));
        }
        all.extend(broken(old).into_iter().map(|inner| with(object, key, inner)));
    }
    all
}

fn with(object: &Map<String, Value>, key: &str, value: Value) -> Value {
    let mut object = object.clone();
    object.insert(key.to_owned(), value);
    Value::Object(object)
}

#[test]
fn a_call_with_one_wrong_value_is_asked_about_or_not_read() {
    for (agent, fixture) in calls() {
        let adapter = by_name(&agent).unwrap();
        let gate = adapter.agent().points.iter().find(|point| point.event == EventKind::BeforeToolCall).unwrap();
        for input in broken(&fixture.input) {
            let bytes = serde_json::to_vec(&input).unwrap();
            for point in [fixture.point.as_deref(), Some(gate.name)] {
                let found = decode(adapter, &bytes, point);
                assert!(is_gated(&found), "{agent} at {point:?}: {input} is {found:?}");
            }
        }
    }
}

/// Returns calls in the formats of other agents.
fn foreign() -> Vec<(String, Value)> {
    let mut all: Vec<(String, Value)> = calls().into_iter().map(|(agent, fixture)| (agent, fixture.input)).collect();
    for (agent, input) in [
        (
            "cursor",
            json!({ "conversation_id": "c", "hook_event_name": "preToolUse", "cursor_version": "3.18.0",
                "workspace_roots": ["/p"], "tool_name": "Shell", "tool_input": { "command": "ls" } }),
        ),
        (
            "cursor",
            json!({ "conversation_id": "c", "hook_event_name": "beforeMCPExecution", "cursor_version": "3.18.0",
                "tool_name": "q", "tool_input": "{\"a\":1}" }),
        ),
        (
            "copilot-cli",
            json!({ "sessionId": "s", "timestamp": 1, "cwd": "/p", "toolName": "bash", "toolArgs": { "command": "ls" } }),
        ),
        (
            "windsurf",
            json!({ "agent_action_name": "pre_run_command", "trajectory_id": "t", "tool_info": { "command_line": "ls" } }),
        ),
        (
            "cline",
            json!({ "hookName": "tool_call", "taskId": "t", "tool_call": { "id": "1", "name": "run_commands", "input": {} },
                "preToolUse": { "toolName": "run_commands", "parameters": {} } }),
        ),
        (
            "goose",
            json!({ "event": "PreToolUse", "session_id": "s", "matcher_context": "developer__shell",
                "tool_name": "developer__shell", "tool_input": { "command": "ls" }, "working_dir": "/p" }),
        ),
    ] {
        all.push((agent.to_owned(), input));
    }
    all
}

#[test]
fn a_call_of_another_agent_is_asked_about_or_not_read_wherever_the_command_line_says_it_is() {
    for (from, input) in foreign() {
        let bytes = serde_json::to_vec(&input).unwrap();
        for agent in AGENTS {
            let adapter = by_name(agent).unwrap();
            let points = adapter.agent().points.iter().map(|point| Some(point.name));
            for point in points.chain([None, Some("SomethingNew")]) {
                let found = decode(adapter, &bytes, point);
                // This is the agent's own message at its own hook point for results. There, the agent reports the call
                // again.
                let is_own = found.as_ref().is_ok_and(|call| call.event.kind() == EventKind::AfterToolCall);
                assert!(is_gated(&found) || (from == *agent && is_own), "{agent} at {point:?}: {input} is {found:?}");
            }
        }
    }
}

#[test]
fn an_event_that_is_not_known_is_passed_on_and_one_with_a_call_is_not() {
    for agent in AGENTS.iter().filter(|agent| **agent != "antigravity") {
        let adapter = by_name(agent).unwrap();
        let name = |point: &str| {
            json!({ "hook_event_name": point, "hookEventName": point, "event_type": point, "event": point,
                "session_id": "s", "sessionId": "s", "cwd": "/p" })
        };
        let call = decode(adapter, &serde_json::to_vec(&name("SomethingNew")).unwrap(), None).unwrap();
        assert_eq!((call.point.as_str(), call.event.kind()), ("SomethingNew", EventKind::CustomEvent), "{agent}");
        let mut with_call = name("SomethingNew");
        (with_call["tool_name"], with_call["toolName"]) = (json!("Bash"), json!("Bash"));
        let error = decode(adapter, &serde_json::to_vec(&with_call).unwrap(), None).unwrap_err();
        assert!(error.why.contains("another agent"), "{agent}: {error}");
    }
}

#[test]
fn a_message_says_its_session_and_its_sub_agent() {
    let message = |key: &str, value: Value| {
        let mut input = json!({ "hook_event_name": "PreToolUse", "session_id": "s", "cwd": "sub", "agent_id": "a",
            "tool_name": "Bash", "tool_input": { "command": "ls" } });
        input[key] = value;
        decode(by_name("claude-code").unwrap(), &serde_json::to_vec(&input).unwrap(), None)
    };
    let session = message("cwd", json!("sub")).unwrap().session;
    assert_eq!(session.cwd, Path::new("/project/sub"), "a relative directory is one of the hook's");
    assert_eq!(session.subagent.as_deref(), Some("a"));
    assert_eq!(message("cwd", json!("")).unwrap().session.cwd, Path::new("/project"));
    for key in ["cwd", "tool_name", "hook_event_name"] {
        let error = message(key, json!(7)).unwrap_err();
        assert!(error.why.contains(key), "{error}");
    }
    for key in ["session_id", "agent_id", "tool_use_id"] {
        assert!(message(key, json!(["7"])).unwrap_err().why.contains(key), "{key}");
    }
}

/// Returns a strategy for any JSON value, which also uses the keys of messages.
fn json_values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        prop_oneof![Just("PreToolUse"), Just("Stop"), Just("BeforeModel"), Just("post_tool_use")].prop_map(Value::from),
    ];
    let key = prop_oneof![
        any::<String>(),
        proptest::sample::select(vec![
            "hook_event_name",
            "hookEventName",
            "event",
            "event_type",
            "session_id",
            "sessionId",
            "cwd",
            "tool_name",
            "toolName",
            "tool_input",
            "toolInput",
            "toolCall",
            "name",
            "args",
            "tool_response",
            "llm_request",
            "messages",
            "llm_response",
            "candidates",
            "prompt",
            "agent_id",
            "workspacePaths",
            "mcp_context",
            "content",
            "error",
        ])
        .prop_map(str::to_owned),
    ];
    leaf.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::hash_map(key.clone(), inner, 0..8)
                .prop_map(|object| Value::Object(object.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_json_makes_a_decoder_or_a_reply_panic(input in json_values(), named in 0..20usize) {
        let bytes = serde_json::to_vec(&input).unwrap();
        for agent in AGENTS {
            let adapter = by_name(agent).unwrap();
            let point = adapter.agent().points.get(named).map(|point| point.name);
            match decode(adapter, &bytes, point) {
                Ok(call) => {
                    let _ = adapter.unsettled(&call, "no answer");
                }
                Err(error) => prop_assert!(!error.why.is_empty()),
            }
        }
    }

    #[test]
    fn no_bytes_make_a_decoder_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        for agent in AGENTS {
            let _ = decode(by_name(agent).unwrap(), &bytes, Some("PreToolUse"));
        }
    }
}
