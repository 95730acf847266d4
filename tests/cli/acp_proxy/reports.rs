//! What the agent reports, and how much of it was asked about.

use super::{Proxied, line, options, shell, user_with};
use hookhost_tests::User;
use serde_json::{Value, json};

/// An answer to what the agent is told.
const DONE: &str = r#"{"jsonrpc":"2.0","id":$id,"result":null}"#;

fn update(fields: &Value) -> String {
    line(None, "session/update", &json!({ "sessionId": "s1", "update": fields }))
}

/// Has the agent say this within a prompt, which it ends by itself.
fn say(editor: &mut Proxied, lines: &[String]) {
    editor.has_agent_say(&[lines, &[super::END.to_owned()]].concat());
    editor.answer_to(&json!("p"));
}

/// The payloads of the custom events of this name.
fn custom(user: &User, name: &str) -> Vec<Value> {
    let records = user.records();
    let of_name = records.iter().filter(|record| record["original"]["name"] == name);
    of_name.map(|record| record["original"]["payload"].clone()).collect()
}

#[test]
fn a_call_that_ran_although_nobody_was_asked_is_recorded_and_counted() {
    let user = user_with(json!({}), "");
    let mut editor = Proxied::editor(&user);
    let mut begun = shell("make");
    begun["sessionUpdate"] = json!("tool_call");
    let content = json!([{ "type": "content", "content": { "type": "text", "text": "built" } }]);
    let ended =
        json!({ "sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "completed", "content": content });
    let lines = [update(&begun), update(&ended), update(&ended)];
    say(&mut editor, &lines);
    let seen: Vec<Value> = editor.others.iter().cloned().collect();
    assert_eq!(seen.iter().map(Value::to_string).collect::<Vec<_>>(), lines, "updates pass as they are");
    let (_, said) = editor.end();
    assert!(said.contains("tool calls that it reported: 1, 1 of them without asking"), "{said}");
    assert!(said.contains("an agent that does not ask is not restricted"), "{said}");
    let records = user.records_once(|records| {
        let has_summary = records.iter().any(|record| record["original"]["name"] == "acp-proxy/summary");
        has_summary && records.iter().any(|record| record["event"] == "after-tool-call")
    });
    let after = records.iter().find(|record| record["event"] == "after-tool-call").unwrap();
    assert_eq!(after["original"]["tool-result"]["text"], "built", "{after}");
    assert_eq!(custom(&user, "acp-proxy/ungated")[0]["call"]["rawInput"]["command"], "make");
    let summary = &custom(&user, "acp-proxy/summary")[0]["said"];
    assert_eq!((&summary["ungated"], &summary["calls"]), (&json!(1), &json!(1)));
}

#[test]
fn a_call_whose_end_is_too_large_to_be_passed_on_ends_for_the_editor_nevertheless() {
    let user = user_with(json!({}), "");
    let mut editor = Proxied::editor(&user);
    let text = "x".repeat(17 * 1024 * 1024);
    let content = json!([{ "type": "content", "content": { "type": "text", "text": text } }]);
    let large = format!(
        r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s1","update":{{"sessionUpdate":"tool_call_update","toolCallId":"c1","content":{content},"status":"completed"}}}}}}"#
    );
    let twice = r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","x":1,"x":2}}}"#;
    say(&mut editor, &[large, twice.to_owned()]);
    let seen: Vec<Value> = editor.others.drain(..).map(|update| update["params"]["update"].clone()).collect();
    assert_eq!((&seen[0]["toolCallId"], &seen[0]["status"]), (&json!("c1"), &json!("completed")), "{seen:#?}");
    let said = seen[0]["content"][0]["content"]["text"].as_str().unwrap();
    assert!(said.contains("did not pass on") && said.contains("more than 16777216 bytes"), "{said}");
    assert!(seen[1]["content"]["text"].as_str().unwrap().contains("twice"), "{seen:#?}");
    let (_, said) = editor.end();
    assert!(said.contains("tool calls that it reported: 1, 1 of them without asking"), "{said}");
}

#[test]
fn a_call_that_was_asked_about_is_not_counted_as_one_that_was_not() {
    let user = user_with(json!({}), "");
    let mut editor = Proxied::editor(&user);
    let question = json!({ "sessionId": "s1", "toolCall": shell("ls"), "options": options() });
    let failed = update(&json!({ "sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "failed" }));
    editor.has_agent_say(&[line(Some("q"), "session/request_permission", &question), failed]);
    editor.agent_got();
    let (_, said) = editor.end();
    assert!(said.contains("tool calls that it reported: 1, 0 of them without asking"), "{said}");
    assert!(said.contains("questions for permission: 1, 0 rejected, 0 put to you"), "{said}");
    let records = user.records_once(|records| records.iter().any(|record| record["event"] == "after-tool-call"));
    assert!(custom(&user, "acp-proxy/ungated").is_empty());
    let after = records.iter().find(|record| record["event"] == "after-tool-call").unwrap();
    assert_eq!(after["original"]["tool-result"]["is-error"], true, "{after}");
}

#[test]
fn what_is_replayed_of_an_earlier_connection_is_no_call() {
    let user = user_with(json!({}), "");
    let mut editor = Proxied::editor(&user);
    let mut replayed = shell("make");
    (replayed["sessionUpdate"], replayed["status"]) = (json!("tool_call"), json!("completed"));
    editor.rewrite(&json!({ "rules": [{ "on": "session/load", "say": [update(&replayed), DONE] }] }));
    editor.ask("session/load", &json!({ "sessionId": "s1", "cwd": user.project(), "mcpServers": [] }));
    let (_, said) = editor.end();
    assert!(!said.contains("without asking"), "{said}");
    // From then on they are.
    let mut editor = Proxied::editor(&user);
    editor.rewrite(&json!({ "rules": [{ "on": "session/load", "say": [DONE, update(&replayed)] }, { "on": "go", "say": [DONE] }] }));
    editor.ask("session/load", &json!({ "sessionId": "s1", "cwd": user.project(), "mcpServers": [] }));
    editor.ask("go", &json!({}));
    let (_, said) = editor.end();
    assert!(said.contains("tool calls that it reported: 1, 1 of them without asking"), "{said}");
}

#[test]
fn the_rest_of_a_session_passes_as_it_is_and_is_recorded() {
    let user = user_with(json!({}), "");
    let mut editor = Proxied::editor(&user);
    let mode = r#"{ "jsonrpc":"2.0","id":77,"method":"session/set_mode","params":{"modeId":"yolo","sessionId":"s1"}}"#;
    editor.send_line(mode);
    assert_eq!(editor.answer_to(&json!(77))["result"], json!({}));
    let odd = r#"{"params":[1, 2.0] ,"jsonrpc":"2.0","method":"_own/thing","id":78}"#;
    editor.send_line(odd);
    editor.answer_to(&json!(78));
    assert!([mode, odd].iter().all(|line| editor.told().contains(&(*line).to_owned())), "{:?}", editor.told());
    editor.end();
    let observed = custom(&user, "acp-proxy/observed");
    assert_eq!((&observed[0]["method"], &observed[0]["said"]["modeId"]), (&json!("session/set_mode"), &json!("yolo")));
}
