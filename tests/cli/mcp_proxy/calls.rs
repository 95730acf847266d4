//! What is asked about, and what of it reaches the other side.

use super::{FIRST_USE, Proxied, text, tool, user, user_with};
use serde_json::{Value, json};

#[test]
fn what_nobody_objects_to_passes_byte_for_byte_in_both_directions() {
    let user = user();
    let odd = r#"{ "jsonrpc":"2.0" ,"id" : $id, "result":{"content":[{"type":"text","text":"\u0061"}], "n":1.50} }"#;
    let rules = json!([
        { "on": "tools/call", "say": [odd] },
        { "on": "odd/method", "say": [r#"{"result" : [ 1.0 ],"id":$id,  "jsonrpc":"2.0"}"#] },
    ]);
    let mut proxied = Proxied::start(&user, &json!({ "tools": [tool("say", "says")], "rules": rules }));
    proxied.begin(&json!({}));
    let call = r#"{"id":"a b", "params":{"arguments":{"x": 1.50,"y":"\u00e4"}, "name":"say"},"method":"tools/call","jsonrpc":"2.0"}"#;
    proxied.send_line(call);
    assert_eq!(proxied.next_line(), odd.replace("$id", "\"a b\""));
    let other = r#"{"jsonrpc":"2.0","method":"odd/method" ,"params":[1, 2.0],"id": 7}"#;
    proxied.send_line(other);
    assert_eq!(proxied.next_line(), r#"{"result" : [ 1.0 ],"id":7,  "jsonrpc":"2.0"}"#);
    let told = proxied.told();
    assert!(told.contains(&call.to_owned()) && told.contains(&other.to_owned()), "{told:#?}");
}

#[test]
fn a_call_is_a_gate_event_with_the_action_mcp_and_its_result_an_event_too() {
    let user = user_with(json!({}), FIRST_USE);
    let mut proxied = Proxied::start(&user, &json!({ "tools": [tool("say", "says")] }));
    proxied.begin(&json!({}));
    assert_eq!(text(&proxied.call("say", &json!({ "text": "hi" }))), r#"ran say {"text":"hi"}"#);
    proxied.end();
    let records = user.records_once(|records| records.iter().any(|record| record["event"] == "after-tool-call"));
    let of =
        |event: &str| records.iter().find(|record| record["event"] == event).unwrap_or_else(|| panic!("no {event}"));
    let before = of("before-tool-call");
    assert_eq!(before["original"]["origin"], json!({ "mcp": "files" }));
    assert_eq!(before["original"]["action"], json!({ "mcp": { "server": "files", "tool": "say" } }));
    assert_eq!(before["original"]["arguments"], json!({ "text": "hi" }));
    let session = before["session"].as_str().unwrap();
    assert!(session.starts_with("mcp-proxy:"), "{session}");
    assert_eq!(of("after-tool-call")["session"], session);
}

#[test]
fn a_rejected_call_never_reaches_the_server_and_the_model_reads_why() {
    let guard = json!({ "before-tool-call": { "when": { "contains": "secret" }, "verdict": "reject", "reason": "not {tool}" } });
    let user = user_with(guard, FIRST_USE);
    let mut proxied = Proxied::start(&user, &json!({ "tools": [tool("say", "says")] }));
    proxied.begin(&json!({}));
    let answer = proxied.call("say", &json!({ "text": "secret" }));
    assert_eq!(answer["result"]["isError"], true);
    assert!(text(&answer).contains("Rejected by guard: not mcp__files__say"), "{answer}");
    assert_eq!(text(&proxied.call("say", &json!({ "text": "x" }))), r#"ran say {"text":"x"}"#);
    assert_eq!(proxied.told_of("tools/call").len(), 1);
}

#[test]
fn what_is_sent_is_derived_from_the_arguments_as_plugins_left_them() {
    let guard =
        json!({ "before-tool-call": { "when": { "round": 1 }, "verdict": "modify", "value": { "text": "changed" } } });
    let user = user_with(guard, FIRST_USE);
    let mut proxied = Proxied::start(&user, &json!({ "tools": [tool("say", "says")] }));
    proxied.begin(&json!({}));
    let params = json!({ "name": "say", "arguments": { "text": "a", "more": 1 }, "_meta": { "progressToken": 5 } });
    let answer = proxied.ask("tools/call", &params);
    assert_eq!(text(&answer), r#"ran say {"text":"changed"}"#);
    let told = &proxied.told_of("tools/call")[0];
    assert_eq!(
        told["params"],
        json!({ "name": "say", "arguments": { "text": "changed" }, "_meta": { "progressToken": 5 } })
    );
}

#[test]
fn a_secret_in_a_result_reaches_the_client_in_no_form() {
    let redact =
        json!({ "after-tool-call": { "when": { "contains": "sk-1" }, "verdict": "replace", "value": "[hidden]" } });
    let user = user_with(redact, FIRST_USE);
    let result = json!({
        "content": [{ "type": "text", "text": "key sk-1" }], "structuredContent": { "key": "sk-1" }, "_meta": { "k": "sk-1" },
    });
    let line = format!(r#"{{"jsonrpc":"2.0","id":$id,"result":{result}}}"#);
    let script = json!({ "tools": [tool("say", "says")], "rules": [{ "on": "tools/call", "say": [line] }] });
    let mut proxied = Proxied::start(&user, &script);
    proxied.begin(&json!({}));
    let answer = proxied.call("say", &json!({}));
    assert_eq!(text(&answer), "[hidden]");
    assert!(!answer.to_string().contains("sk-1"), "{answer}");
}

#[test]
fn binary_content_passes_byte_for_byte() {
    let user = user_with(json!({}), FIRST_USE);
    let mut proxied = Proxied::start(&user, &json!({ "tools": [tool("say", "says")] }));
    proxied.begin(&json!({}));
    for block in [
        r#"{"type":"image", "mimeType":"image/png","data":"AAAA"}"#,
        r#"{"data":"AAAA","type":"audio","mimeType":"audio/wav"}"#,
        r#"{"type":"resource","resource":{ "uri":"file:///a","blob":"AAAA"}}"#,
    ] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":9,"result":{{"content":[ {block} ]}}}}"#);
        let rules = json!([{ "on": "tools/call", "say": [line] }]);
        proxied.rewrite(&json!({ "tools": [tool("say", "says")], "rules": rules }));
        proxied.send_line(r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"say"}}"#);
        assert_eq!(proxied.next_line(), line);
    }
}

#[test]
fn an_error_of_the_server_is_a_result_as_well() {
    let redact =
        json!({ "after-tool-call": { "when": { "contains": "sk-1" }, "verdict": "replace", "value": "[hidden]" } });
    let user = user_with(redact, FIRST_USE);
    let line = r#"{"jsonrpc":"2.0","id":$id,"error":{"code":-32000,"message":"bad key sk-1","data":"sk-1"}}"#;
    let script = json!({ "tools": [tool("say", "says")], "rules": [{ "on": "tools/call", "say": [line] }] });
    let mut proxied = Proxied::start(&user, &script);
    proxied.begin(&json!({}));
    let answer = proxied.call("say", &json!({}));
    assert_eq!(answer["error"], json!({ "code": -32000, "message": "[hidden]" }));
}

#[test]
fn a_plugins_result_takes_the_place_of_the_call() {
    let guard = json!({ "before-tool-call": { "verdict": "respond", "value": "from the plugin" } });
    let user = user_with(guard, FIRST_USE);
    let mut proxied = Proxied::start(&user, &json!({ "tools": [tool("say", "says")] }));
    proxied.begin(&json!({}));
    assert_eq!(text(&proxied.call("say", &json!({}))), "from the plugin");
    assert!(proxied.told_of("tools/call").is_empty());
}

#[test]
fn resources_and_prompts_are_asked_about_like_calls() {
    let guard = json!({ "before-tool-call": [
        { "when": { "contains": "/etc/shadow" }, "verdict": "reject", "reason": "not that" },
        { "when": { "contains": "evil" }, "verdict": "reject", "reason": "nor that" },
    ], "after-tool-call": { "when": { "contains": "prompt" }, "verdict": "replace", "value": "harmless" } });
    let user = user_with(guard, FIRST_USE);
    let mut proxied = Proxied::start(&user, &json!({ "tools": [] }));
    proxied.begin(&json!({}));
    let read = proxied.ask("resources/read", &json!({ "uri": "file:///a" }));
    assert_eq!(read["result"]["contents"][0]["text"], r#"read "file:///a""#);
    let refused = proxied.ask("resources/read", &json!({ "uri": "file:///etc/shadow" }));
    assert!(refused["error"]["message"].as_str().unwrap().contains("not that"), "{refused}");
    let prompt = proxied.ask("prompts/get", &json!({ "name": "greet" }));
    assert_eq!(prompt["result"]["messages"][0]["content"]["text"], "harmless");
    assert!(proxied.ask("prompts/get", &json!({ "name": "evil" }))["error"]["message"].is_string());
    assert_eq!((proxied.told_of("resources/read").len(), proxied.told_of("prompts/get").len()), (1, 1));
}

#[test]
fn what_a_server_asks_of_the_client_is_asked_about_and_so_is_the_answer() {
    let guard = json!({
        "before-tool-call": { "when": { "contains": "your password" }, "verdict": "reject", "reason": "nobody asks that" },
        "after-tool-call": { "when": { "contains": "sk-1" }, "verdict": "reject", "reason": "a key" },
    });
    let user = user_with(guard, FIRST_USE);
    let elicit = |id: &str, message: &str| {
        json!({ "jsonrpc": "2.0", "id": id, "method": "elicitation/create",
            "params": { "message": message, "requestedSchema": { "type": "object" } } })
        .to_string()
    };
    let sample = json!({ "jsonrpc": "2.0", "id": "s", "method": "sampling/createMessage",
        "params": { "messages": [], "maxTokens": 1 } });
    let rules = json!([{ "on": "notifications/go", "say": [elicit("e1", "your password?"), elicit("e2", "your name?"), sample.to_string()] }]);
    let mut proxied = Proxied::start(&user, &json!({ "tools": [], "rules": rules }));
    proxied.begin(&json!({ "elicitation": {}, "sampling": {} }));
    proxied.send(&json!({ "jsonrpc": "2.0", "method": "notifications/go" }));
    let (first, second) = (proxied.next(), proxied.next());
    assert_eq!((&first["id"], &second["id"]), (&json!("e2"), &json!("s")), "{first} {second}");
    proxied
        .send(&json!({ "jsonrpc": "2.0", "id": "e2", "result": { "action": "accept", "content": { "name": "me" } } }));
    let answer = json!({ "role": "assistant", "model": "m", "content": { "type": "text", "text": "it is sk-1" } });
    proxied.send(&json!({ "jsonrpc": "2.0", "id": "s", "result": answer }));
    assert_eq!(proxied.ask("ping", &json!({}))["result"], json!({}));
    let answers: Vec<Value> = proxied.told().iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |id: &str| answers.iter().find(|answer| answer["id"] == id).unwrap_or_else(|| panic!("{answers:#?}"));
    assert_eq!(of("e1")["result"], json!({ "action": "decline" }));
    assert_eq!(of("e2")["result"]["content"]["name"], "me");
    assert!(of("s")["error"]["message"].as_str().unwrap().contains("a key"));
}

#[test]
fn in_audit_mode_a_rejected_call_runs_and_its_record_says_so() {
    let guard = json!({ "before-tool-call": { "verdict": "reject", "reason": "no" } });
    let user = user_with(guard, "[mcp-proxy]\nmode = \"observe\"\ndefinitions = \"first-use\"\n");
    let mut proxied = Proxied::start(&user, &json!({ "tools": [tool("say", "says")] }));
    proxied.begin(&json!({}));
    assert_eq!(text(&proxied.call("say", &json!({}))), "ran say {}");
    let (_, said) = proxied.end();
    assert!(said.contains("Rejected by guard: no"), "{said}");
    let records = user.records_once(|records| records.iter().any(|record| record["kind"] == "delivery"));
    let before = records.iter().find(|record| record["event"] == "before-tool-call").unwrap();
    assert_eq!(before["outcome"], "rejected");
}
