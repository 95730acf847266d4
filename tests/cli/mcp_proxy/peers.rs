//! Clients and servers that speak the protocol almost: what has one meaning alone is taken, and what cannot be read fails the request
//! that waits for it.

use super::{Proxied, text, tool, user};
use hookhost_tests::User;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// A server whose tool `say` is answered with these lines.
fn answering(user: &User, lines: &[&str]) -> Proxied {
    let rules = json!([{ "on": "tools/call", "say": lines }]);
    let mut proxied = Proxied::start(user, &json!({ "tools": [tool("say", "says")], "rules": rules }));
    proxied.begin(&json!({}));
    proxied
}

/// Why a call fails, and after how long.
fn why_it_fails(proxied: &mut Proxied) -> (String, Duration) {
    let since = Instant::now();
    let answer = proxied.call("say", &json!({}));
    let why = answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{answer}"));
    assert_eq!(answer["jsonrpc"], "2.0");
    (why.to_owned(), since.elapsed())
}

#[test]
fn an_answer_is_that_of_the_request_whose_id_has_its_value_and_has_the_id_of_the_request() {
    let user = user();
    for id in ["$id.0", "\"$id\"", "$id"] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}"#);
        let mut proxied = answering(&user, &[&line]);
        proxied.request("tools/call", &json!({ "name": "say" }));
        let answer = proxied.next_line();
        assert!(answer.contains(r#""id":3,"#) && answer.contains("content"), "{answer}");
    }
    let mut proxied = Proxied::start(&user, &json!({ "tools": [tool("say", "says")] }));
    proxied.begin(&json!({}));
    for id in ["7.0", "1.5", "1e2", "-0"] {
        proxied.send_line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"say"}}}}"#));
        let answer = proxied.next_line();
        assert!(answer.contains(&format!(r#""id":{id},"#)) && answer.contains("ran say"), "{answer}");
    }
}

#[test]
fn an_answer_that_names_no_request_fails_the_one_that_waits() {
    let user = user();
    let mut proxied = answering(&user, &[r#"{"jsonrpc":"2.0","id":0,"result":{"content":[]}}"#]);
    let (why, after) = why_it_fails(&mut proxied);
    assert!(
        why.contains("the answer of the MCP server cannot be passed on: it answered 0, which is no pending request"),
        "{why}"
    );
    assert!(after < Duration::from_secs(20), "{after:?}");
    // The client has used a text that is a number as well: which of both is meant is unclear.
    let line = r#"{"jsonrpc":"2.0","id":"$id","result":{"content":[]}}"#;
    let mut proxied = answering(&user, &[line]);
    proxied.send_line(r#"{"jsonrpc":"2.0","id":"9","method":"ping"}"#);
    proxied.answer_to(&json!("9"));
    assert!(why_it_fails(&mut proxied).0.contains("which is no pending request"));
}

#[test]
fn an_answer_that_is_no_message_on_one_line_fails_its_request_with_the_beginning_of_it() {
    let user = user();
    let length = "Content-Length: 99\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{}}Content-Length: 99";
    for (lines, says) in [
        (&[length][..], "framing of a language server"),
        (&["debug: {\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{}}"], "it began \"debug: {"),
        (&["{", "  \"jsonrpc\": \"2.0\",", "  \"id\": $id,", "  \"result\": {}", "}"], "not one JSON message a line"),
        (&["{'jsonrpc': '2.0', 'id': $id, 'result': {}}"], "it began \"{'jsonrpc'"),
    ] {
        let mut proxied = answering(&user, lines);
        let (why, after) = why_it_fails(&mut proxied);
        assert!(why.contains(says) && after < Duration::from_secs(20), "{after:?}: {why}");
        let (_, said) = proxied.end();
        let beginning: String = lines[0].chars().take(8).collect();
        assert!(said.contains(&beginning), "what it wrote is quoted: {said}");
    }
}

#[test]
fn what_a_server_logs_fails_no_request_however_long_it_takes() {
    let user = user();
    let slow = "read -r line; echo 'listening on stdio'; echo '{\"level\":30,\"msg\":\"up\"}'; sleep 7; \
                echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"is\":\"late\"}}'; cat > /dev/null";
    let mut command = user.command(["mcp", "--name", "files", "--", "sh", "-c", slow]);
    let mut proxied = Proxied::of(&mut command, user.project(), user.project());
    assert_eq!(proxied.ask("ping", &json!({}))["result"]["is"], "late");
    let (_, said) = proxied.end();
    assert!(said.contains("\"listening on stdio\""), "{said}");
}

#[test]
fn a_mark_at_the_very_beginning_is_read_past() {
    let user = user();
    let line = "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{}}";
    let mut proxied = Proxied::start(&user, &json!({ "tools": [], "rules": [{ "on": "first", "say": [line] }] }));
    proxied.send_line("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"first\"}");
    assert_eq!(proxied.next()["result"], json!({}));
    assert_eq!(proxied.told()[0], r#"{"jsonrpc":"2.0","id":1,"method":"first"}"#);
}

#[test]
fn what_is_missing_or_null_and_has_one_meaning_is_taken() {
    let user = user();
    let mut proxied = answering(&user, &[r#"{"id":$id,"result":{"content":[]},"error":null}"#]);
    let answer = proxied.call("say", &json!({}));
    assert_eq!((&answer["jsonrpc"], &answer["result"]["content"]), (&json!("2.0"), &json!([])), "{answer}");
    for (line, id) in [
        (r#"{"jsonrpc":"2.0","id":50,"method":"tools/list","params":null}"#, 50),
        (r#"{"id":51,"method":"tools/list"}"#, 51),
    ] {
        proxied.send_line(line);
        assert_eq!(proxied.answer_to(&json!(id))["result"]["tools"][0]["name"], "say");
    }
    proxied.send_line(r#"{"jsonrpc":"2.0","id":52,"method":"tools/call","params":null}"#);
    let refused = proxied.answer_to(&json!(52));
    assert!(refused["error"]["message"].as_str().unwrap().contains("`params.name`"), "{refused}");
}

#[test]
fn a_revision_that_is_unknown_is_reported() {
    let user = user();
    for (revision, is_known) in [
        (json!("2025-11-25"), true),
        (json!("2024-11-05"), true),
        (json!("2099-01-01"), false),
        (json!(5), false),
        (Value::Null, false),
    ] {
        let mut proxied = Proxied::start(&user, &json!({ "tools": [tool("say", "says")] }));
        let answer = proxied.ask("initialize", &json!({ "protocolVersion": revision, "capabilities": {} }));
        assert_eq!(answer["result"]["protocolVersion"], revision);
        let (_, said) = proxied.end();
        for whose in ["the client of the MCP server files names a revision", "the MCP server files names a revision"] {
            assert_eq!(said.contains(whose), !is_known, "{revision}: {said}");
        }
    }
}

#[test]
fn the_text_of_a_held_back_tool_names_a_command_that_helps_or_none() {
    let user = User::new();
    let script = r#"{"tools":[{"name":"a","Name":"b"},{"name":"resources/read"},{"name":"c"}]}"#;
    let mut proxied = Proxied::start(&user, &serde_json::from_str(script).unwrap());
    proxied.begin(&json!({}));
    let of = |proxied: &mut Proxied, tool: &str| text(&proxied.call(tool, &json!({}))).to_owned();
    let never = of(&mut proxied, "a");
    assert!(never.contains("no approval changes that") && !never.contains("hookhost mcp approve"), "{never}");
    assert!(of(&mut proxied, "c").contains("`hookhost mcp approve files` shows it"));
    let approved = user.run(["mcp", "approve", "files", "--yes"]);
    approved.expect(0, &["no approval changes that"]);
    assert!(approved.stdout.contains("approved 1 of files"), "{approved:?}");
    let again = user.run(["mcp", "approve", "files", "--yes"]);
    again.expect(0, &["no approval changes that"]);
    assert_eq!(again.stdout, "Nothing of files can be approved.\n");
    assert!(!again.stderr.contains("hookhost mcp approve"), "{again:?}");
    let (_, said) = proxied.end();
    assert!(said.contains("the tool a of the MCP server files is held back: its definition has keys"), "{said}");
}

#[test]
fn a_large_definition_is_approved_and_a_change_of_it_is_held_back() {
    let user = User::new();
    let large = |last: &str| {
        let fields: serde_json::Map<String, Value> = (0..1500)
            .map(|n| (format!("f{n}"), json!({ "type": "string", "description": "a field of the answer" })))
            .collect();
        json!({ "name": "say", "description": "says", "inputSchema": { "type": "object" },
            "outputSchema": { "properties": fields, "last": last } })
    };
    let mut proxied = Proxied::start(&user, &json!({ "tools": [large("a"), large("a")] }));
    assert_eq!(proxied.begin(&json!({})), [""; 0]);
    let shown = user.run(["mcp", "approve", "files", "--yes"]);
    shown.expect(0, &["are compared by their digests", "\"description\": \"says\"", "sha256:"]);
    assert!(shown.stdout.len() + shown.stderr.len() < 8 * 1024);
    assert_eq!(proxied.next()["method"], "notifications/tools/list_changed");
    assert_eq!(proxied.listed(), ["say"], "a twin says nothing new");
    assert_eq!(text(&proxied.call("say", &json!({}))), "ran say {}");
    proxied.rewrite(&json!({ "tools": [large("b")] }));
    assert_eq!(proxied.listed(), [""; 0]);
    assert!(text(&proxied.call("say", &json!({}))).contains("its `outputSchema` changed"));
}
