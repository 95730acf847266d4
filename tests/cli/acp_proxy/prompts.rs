//! What of a prompt reaches the agent.

use super::{Proxied, user_with};
use serde_json::{Value, json};

#[test]
fn a_prompt_to_which_no_rule_objects_passes_byte_for_byte() {
    let user = user_with(json!({}), "");
    let mut editor = Proxied::editor(&user);
    let prompt = r#"{ "id":"p","jsonrpc":"2.0", "method":"session/prompt","params":{"prompt":[{"text":"\u0061","type":"text"}],"sessionId":"s1","own":1.50}}"#;
    editor.send_line(prompt);
    assert_eq!(editor.answer_to(&json!("p"))["result"], json!({ "stopReason": "end_turn" }));
    assert!(editor.told().contains(&prompt.to_owned()), "{:?}", editor.told());
    editor.end();
    let is_the_prompt = |record: &Value| record["event"] == "prompt-submit" && record["original"] == "a";
    drop(user.records_once(|records| records.iter().any(is_the_prompt)));
}

#[test]
fn a_changed_prompt_reaches_the_agent_exactly_as_it_was_judged() {
    let guard =
        json!({ "prompt-submit": { "when": { "contains": "sk-1" }, "verdict": "replace", "value": "without" } });
    let user = user_with(guard, "");
    let mut editor = Proxied::editor(&user);
    let image = json!({ "type": "image", "data": "AAAA", "mimeType": "image/png" });
    let blocks = json!([
        { "type": "text", "text": "what is" }, image,
        { "type": "resource", "resource": { "uri": "file:///a", "text": "key = sk-1" } },
    ]);
    editor.ask("session/prompt", &json!({ "sessionId": "s1", "prompt": blocks, "_meta": { "a": 1 } }));
    let told = editor.told_of("session/prompt");
    let expected =
        json!({ "sessionId": "s1", "prompt": [{ "type": "text", "text": "without" }, image], "_meta": { "a": 1 } });
    assert_eq!(told[0]["params"], expected);
    assert!(!editor.told().concat().contains("sk-1"));
}

#[test]
fn a_rejected_prompt_never_reaches_the_agent_and_the_editor_shows_why() {
    let guard =
        json!({ "prompt-submit": { "when": { "contains": "sk-1" }, "verdict": "reject", "reason": "it has a key" } });
    let user = user_with(guard, "");
    let mut editor = Proxied::editor(&user);
    let prompt = |text: &str| json!({ "sessionId": "s1", "prompt": [{ "type": "text", "text": text }] });
    let refused = editor.ask("session/prompt", &prompt("sk-1"));
    assert!(refused["error"]["message"].as_str().unwrap().contains("Rejected by guard: it has a key"), "{refused}");
    assert_eq!(editor.ask("session/prompt", &prompt("hi"))["result"]["stopReason"], "end_turn");
    assert_eq!(editor.told_of("session/prompt").len(), 1);
    let (_, said) = editor.end();
    assert!(said.contains("prompts: 2, 1 rejected"), "{said}");
}

#[test]
fn a_prompt_that_the_agent_could_read_otherwise_is_refused() {
    let user = user_with(json!({}), "");
    let mut editor = Proxied::editor(&user);
    for blocks in [
        json!([{ "type": "text", "text": "a", "Text": "b" }]),
        json!([{ "type": "text", "text": ["a"] }]),
        json!({ "type": "text", "text": "a" }),
    ] {
        let refused = editor.ask("session/prompt", &json!({ "sessionId": "s1", "prompt": blocks }));
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
    assert!(editor.told_of("session/prompt").is_empty());
}
