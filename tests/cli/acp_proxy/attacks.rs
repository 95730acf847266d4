//! Messages by which something could get past the rules.

use super::{Proxied, line, options, selected, user_with};
use hookhost_tests::User;
use serde_json::{Value, json};

fn user() -> User {
    user_with(
        json!({ "before-tool-call": { "when": { "contains": "secret" }, "verdict": "reject", "reason": "no" } }),
        "",
    )
}

#[test]
fn what_a_client_could_read_in_two_ways_is_refused_and_never_reaches_it() {
    let user = user();
    let mut editor = Proxied::editor(&user);
    for bad in [
        r#"{"jsonrpc":"2.0","id":"q","method":"fs/read_text_file","params":{"sessionId":"s1","path":"/a","path":"/secret"}}"#,
        r#"{"jsonrpc":"2.0","id":"q","method":"fs/read_text_file","params":{"sessionId":"s1","path":"/a","Path":"/secret"}}"#,
        r#"{"jsonrpc":"2.0","id":"q","method":"terminal/create","params":{"sessionId":"s1","command":"ls","args":["secret",1]}}"#,
        r#"{"jsonrpc":"2.0","id":"q","method":"fs/read_text_file","params":["/secret"]}"#,
        r#"{"jsonrpc":"2.0","id":"q","method":"session/prompt","params":{}}"#,
    ] {
        editor.has_agent_say(&[bad.to_owned()]);
        assert!(editor.agent_got()["error"].is_object(), "{bad}");
    }
    assert!(editor.others.is_empty(), "{:?}", editor.others);
}

#[test]
fn a_batch_is_refused_in_both_directions() {
    let user = user();
    let mut editor = Proxied::editor(&user);
    let request = r#"[{"jsonrpc":"2.0","id":50,"method":"session/prompt","params":{"sessionId":"s1","prompt":[]}}]"#;
    editor.send_line(request);
    let answer = editor.next();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(null), &json!(-32600)));
    let batch = format!("[{}]", line(Some("q"), "terminal/create", &json!({ "sessionId": "s1", "command": "secret" })));
    editor.has_agent_say(&[batch, super::END.to_owned()]);
    editor.answer_to(&json!("p"));
    assert!(editor.others.is_empty(), "{:?}", editor.others);
    assert!(editor.end().1.contains("the agent: a batch of messages is not taken"));
}

#[test]
fn a_request_without_an_id_is_not_passed_on() {
    let user = user();
    let mut editor = Proxied::editor(&user);
    let command = line(None, "terminal/create", &json!({ "sessionId": "s1", "command": "secret" }));
    editor.has_agent_say(&[command, super::END.to_owned()]);
    editor.answer_to(&json!("p"));
    assert!(editor.others.is_empty(), "{:?}", editor.others);
    editor
        .send(&json!({ "jsonrpc": "2.0", "method": "session/prompt", "params": { "sessionId": "s1", "prompt": [] } }));
    editor.ask("ping", &json!({}));
    assert_eq!(editor.told_of("session/prompt").len(), 1);
    assert!(editor.end().1.contains("terminal/create came as a notification"));
}

#[test]
fn an_id_that_is_under_way_is_refused_and_each_request_keeps_its_own_answer() {
    let user = user();
    let mut editor = Proxied::editor(&user);
    let read = |path: &str| line(Some("q"), "fs/read_text_file", &json!({ "sessionId": "s1", "path": path }));
    editor.has_agent_say(&[read("/a"), read("/b")]);
    let asked = editor.next();
    assert_eq!(asked["params"]["path"], "/a");
    // The editor's own request of the same id is another one.
    editor.send(&json!({ "jsonrpc": "2.0", "id": "q", "method": "own/thing" }));
    assert_eq!(editor.answer_to(&json!("q"))["result"], json!({}));
    editor.send(&json!({ "jsonrpc": "2.0", "id": "q", "result": { "content": "of a" } }));
    editor.ask("ping", &json!({}));
    let answers = editor.told().into_iter().filter(|line| line.contains(r#""id":"q""#) && line.contains("of a"));
    assert_eq!(answers.count(), 1, "{:?}", editor.told());
    let refused: Vec<String> = editor.told().into_iter().filter(|line| line.contains("a pending request")).collect();
    assert!(refused.len() == 1 && refused[0].contains("\"id\":null"), "{refused:?}");
    let reached = editor.others.iter().filter(|other| other["method"] == "fs/read_text_file");
    assert_eq!(reached.count(), 0, "{:?}", editor.others);
}

#[test]
fn an_answer_that_nobody_asked_for_is_not_passed_on() {
    let user = user();
    let mut editor = Proxied::editor(&user);
    editor.send(
        &json!({ "jsonrpc": "2.0", "id": "q", "result": { "outcome": { "outcome": "selected", "optionId": "a" } } }),
    );
    editor.ask("ping", &json!({}));
    assert!(!editor.told().iter().any(|line| line.contains("optionId")), "{:?}", editor.told());
    assert!(editor.end().1.contains("the editor answered \"q\", which is no pending request"));
}

#[test]
fn a_call_of_which_the_agent_has_said_too_much_to_be_kept_is_rejected_and_recorded_in_part() {
    let user = user();
    let mut editor = Proxied::editor(&user);
    let large = "x".repeat(9 * 1024 * 1024);
    let said = |fields: &Value| line(None, "session/update", &json!({ "sessionId": "s1", "update": fields }));
    let hidden = said(
        &json!({ "sessionUpdate": "tool_call", "toolCallId": "c1", "rawInput": { "command": "secret", "x": large } }),
    );
    let more = said(&json!({ "sessionUpdate": "tool_call_update", "toolCallId": "c1", "title": large }));
    let question =
        json!({ "sessionId": "s1", "toolCall": { "toolCallId": "c1", "kind": "read" }, "options": options() });
    let ended = said(&json!({ "sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "completed" }));
    editor.has_agent_say(&[hidden, more, line(Some("q"), "session/request_permission", &question), ended]);
    let got = editor.agent_got();
    assert_eq!(got["result"]["outcome"], selected("r"), "{got}");
    let (_, said) = editor.end();
    assert!(said.contains("the agent has reported more about its calls than the proxy stores"), "{said}");
    assert!(said.contains("tool calls that are recorded only in part: 1"), "{said}");
    drop(user.records_once(|records| records.iter().any(|record| record["event"] == "after-tool-call")));
}

#[test]
fn what_a_terminal_shows_whose_command_is_not_known_is_not_passed_on() {
    let user = user();
    let mut editor = Proxied::editor(&user);
    editor.has_agent_ask("terminal/output", &json!({ "terminalId": "t9" }));
    let got = editor.agent_got();
    assert!(got["error"]["message"].as_str().unwrap().contains("no terminal whose command is known"), "{got}");
    assert!(editor.others.is_empty(), "{:?}", editor.others);
}
