//! `hookhost mcp interceptor`: the rules of the user, asked by another MCP program.

use super::user_with;
use serde_json::{Value, json};
use std::io::Write as _;
use std::process::Stdio;

#[test]
fn each_line_is_answered_by_the_users_rules_and_what_is_no_request_is_an_error() {
    let guard = json!({ "before-tool-call": { "when": { "contains": "forbidden" }, "verdict": "reject", "reason": "not that" } });
    let user = user_with(guard, "");
    let invoke = |id: u32, path: &str| {
        let payload = json!({ "name": "read", "arguments": { "path": path } });
        let params = json!({ "name": "hookhost/check", "event": "tools/call", "phase": "request", "payload": payload });
        json!({ "jsonrpc": "2.0", "id": id, "method": "interceptor/invoke", "params": params }).to_string()
    };
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "interceptors/list" }).to_string();
    let twice = r#"{"jsonrpc":"2.0","id":2,"id":3,"method":"interceptors/list"}"#;
    let told = [
        &list,
        twice,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        &invoke(4, "a"),
        &invoke(5, "forbidden"),
    ];
    let mut command = user.command(["mcp", "interceptor", "--name", "files"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(told.join("\n").as_bytes()).unwrap();
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0), "{}", String::from_utf8_lossy(&ended.stderr));
    let answers: Vec<Value> =
        ended.stdout.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    let [listed, refused, passed, denied] = answers.as_slice() else { panic!("{answers:#?}") };
    assert_eq!(listed["result"]["interceptors"].as_array().map(Vec::len), Some(2));
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&Value::Null, &json!(-32600)));
    assert_eq!((&passed["id"], &passed["result"]["valid"]), (&json!(4), &json!(true)));
    assert_eq!((&denied["id"], &denied["result"]["valid"]), (&json!(5), &json!(false)));
    assert_eq!(denied["result"]["messages"][0]["message"], "not that");
    let asked: Vec<Value> = user.records().into_iter().filter(|record| record["event"] == "before-tool-call").collect();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0]["original"]["origin"], json!({ "mcp": "files" }));
}

#[test]
fn an_interceptor_needs_a_name_that_rules_can_have() {
    let user = user_with(json!({}), "");
    user.run(["mcp", "interceptor"]).expect(2, &["--name"]);
    user.run(["mcp", "interceptor", "--name", "a__b"]).expect(2, &["a__b"]);
}
