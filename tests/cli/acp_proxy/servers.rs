//! The MCP servers of a session.

use super::{AGENT, Proxied, user_with};
use hookhost_tests::User;
use serde_json::{Value, json};
use std::process::Command;

/// The servers that the agent gets for these.
fn given(editor: &mut Proxied, user: &User, method: &str, servers: &Value) -> Vec<Value> {
    let opened = editor.ask(method, &json!({ "sessionId": "s2", "cwd": user.project(), "mcpServers": servers }));
    assert!(opened["result"].is_object(), "{opened}");
    editor.told_of(method).last().unwrap()["params"]["mcpServers"].as_array().unwrap().clone()
}

/// Starts a server as an agent does that was given this entry.
fn start(user: &User, entry: &Value, record: std::path::PathBuf) -> Proxied {
    let mut command = Command::new(entry["command"].as_str().unwrap());
    command.args(entry["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()));
    for (key, value) in user.command([""; 0]).get_envs().filter_map(|(key, value)| Some((key, value?))) {
        command.env(key, value);
    }
    // These are the entry's own.
    command.env_remove("HOOKHOST_CONFIG_DIR").env_remove("HOOKHOST_STATE_DIR");
    for variable in entry["env"].as_array().unwrap() {
        command.env(variable["name"].as_str().unwrap(), variable["value"].as_str().unwrap());
    }
    Proxied::of(command.current_dir(user.project()), record.clone(), record)
}

#[test]
fn each_server_that_a_session_begins_with_is_behind_the_proxy_for_servers() {
    let guard = json!({ "before-tool-call": { "when": { "contains": "secret" }, "verdict": "reject", "reason": "not {tool}" } });
    let user = user_with(guard, "[mcp-proxy]\ndefinitions = \"first-use\"\n");
    let mut editor = Proxied::editor(&user);
    let tool = json!({ "name": "say", "description": "says", "inputSchema": { "type": "object" } });
    let (script, record) =
        (user.write("files.json", json!({ "tools": [tool] }).to_string()), user.project().join("files.record"));
    let server = json!({ "name": "my files", "command": AGENT, "args": [script, record], "env": [{ "name": "OWN", "value": "1" }] });
    let entry = &given(&mut editor, &user, "session/new", &json!([server]))[0];
    assert_eq!((&entry["name"], &entry["env"][0]), (&json!("my files"), &json!({ "name": "OWN", "value": "1" })));
    let mut server = start(&user, entry, record);
    server.ask(
        "initialize",
        &json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "a", "version": "1" } }),
    );
    assert_eq!(server.ask("tools/list", &json!({}))["result"]["tools"][0]["name"], "say");
    let call = |text: &str| json!({ "name": "say", "arguments": { "text": text } });
    let refused = server.ask("tools/call", &call("secret"));
    assert!(refused.to_string().contains("Rejected by guard: not mcp__my-files__say"), "{refused}");
    assert!(server.ask("tools/call", &call("x")).to_string().contains("ran say"));
}

#[test]
fn a_service_is_reached_through_the_proxy_and_its_headers_are_no_arguments() {
    let user = user_with(json!({}), "");
    let mut editor = Proxied::editor(&user);
    let headers = json!([{ "name": "X-Api-Key", "value": "sk-1" }]);
    let service = json!({ "type": "http", "name": "issues", "url": "https://mcp.example.com/mcp", "headers": headers });
    for method in ["session/new", "session/load", "session/resume"] {
        let entry = given(&mut editor, &user, method, &json!([service]))[0].clone();
        let words: Vec<&str> = entry["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
        assert_eq!(words[..5], ["mcp", "--name", "issues", "--http", "https://mcp.example.com/mcp"], "{method}");
        assert!(entry.get("type").is_none() && entry.get("headers").is_none() && !words.join(" ").contains("sk-1"));
        assert!(entry["env"].as_array().unwrap().iter().any(|variable| variable["value"] == "sk-1"), "{entry}");
    }
}

#[test]
fn a_server_that_cannot_be_behind_the_proxy_is_left_out_and_the_user_reads_why() {
    let user = user_with(json!({}), "");
    let mut editor = Proxied::editor(&user);
    let servers = json!([{ "type": "acp", "name": "editor", "id": "1" }, { "name": "a", "command": "x", "args": [] }]);
    assert_eq!(given(&mut editor, &user, "session/new", &servers).len(), 1);
    let (_, said) = editor.end();
    assert!(said.contains("the MCP server \"editor\" was left out: its kind is not known"), "{said}");
    assert!(said.contains("MCP servers: 1 behind the proxy, 1 left out"), "{said}");
}

#[test]
fn a_session_whose_directory_or_servers_cannot_be_read_does_not_begin() {
    let user = user_with(json!({}), "");
    let mut editor = Proxied::editor_without_session(&user);
    for params in [
        json!({ "cwd": "here", "mcpServers": [] }),
        json!({ "mcpServers": [] }),
        json!({ "cwd": "/", "mcpServers": {} }),
        json!({ "cwd": "/", "mcpServers": [], "McpServers": [] }),
    ] {
        assert_eq!(editor.ask("session/new", &params)["error"]["code"], -32602, "{params}");
    }
    assert!(editor.told_of("session/new").is_empty());
}

#[test]
fn a_session_that_the_agent_refuses_to_continue_is_what_it_was_before() {
    let user = user_with(json!({}), "");
    let other = user.path("other");
    std::fs::create_dir_all(&other).unwrap();
    let mut editor = Proxied::editor(&user);
    let (no, yes) = (
        r#"{"jsonrpc":"2.0","id":$id,"error":{"code":-32000,"message":"no"}}"#,
        r#"{"jsonrpc":"2.0","id":$id,"result":{}}"#,
    );
    let mut asked_after = |method: &str, session: &str, answer: &str| {
        editor.rewrite(&json!({ "rules": [{ "on": method, "say": [answer] }] }));
        editor.ask(method, &json!({ "sessionId": session, "cwd": other, "mcpServers": [] }));
        let question = json!({ "sessionId": session, "toolCall": super::shell("ls"), "options": super::options() });
        editor.has_agent_say(&[super::line(Some("q"), "session/request_permission", &question)]);
        editor.agent_got()
    };
    for method in ["session/load", "session/resume", "session/new"] {
        let got = asked_after(method, "s2", no);
        assert!(got["error"]["message"].as_str().unwrap().contains("no session of this connection"), "{method}: {got}");
    }
    // One that was open before stays so, with its own directory.
    assert_eq!(asked_after("session/load", "s1", no)["result"]["outcome"], super::selected("a"));
    assert_eq!(asked_after("session/load", "s2", yes)["result"]["outcome"], super::selected("a"));
    editor.end();
    let records = user.records();
    let asked = records.iter().filter(|record| record["event"] == "before-tool-call");
    let directories: Vec<Value> = asked.map(|record| record["original"]["action"]["shell"]["cwd"].clone()).collect();
    assert_eq!(directories, [json!(user.project()), json!(other)]);
}

#[test]
fn the_rules_of_a_session_are_those_of_its_directory() {
    let user = user_with(json!({}), "");
    let other = user.path("other");
    std::fs::create_dir_all(&other).unwrap();
    let mut editor = Proxied::editor_without_session(&user);
    editor.ask("session/new", &json!({ "cwd": other, "mcpServers": [] }));
    assert_eq!(editor.permission(&super::shell("ls"))["result"]["outcome"], super::selected("a"));
    editor.end();
    let records = user.records();
    let before = records.iter().find(|record| record["event"] == "before-tool-call").unwrap();
    assert_eq!(before["original"]["action"]["shell"]["cwd"], json!(other));
}
