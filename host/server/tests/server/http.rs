//! HTTP hooks and the MCP endpoint.

use crate::support::{Lab, bash, decision};
use hookhost::contract::{Refusal, ToolCall};
use hookhost::native::Rule;
use hookhost_server::Acs;
use hookhost_server::http::{Token, serve};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

pub(crate) const SECRET: &str = "0123456789abcdef0123456789abcdef";

/// Sends one request, and returns the status and the body.
pub(crate) async fn post(address: std::net::SocketAddr, path: &str, token: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

async fn started() -> (Lab, std::net::SocketAddr) {
    let rule = Rule::new()
        .before_tool_call(|_, call: &ToolCall| call.arguments.contains("denied").then(|| Refusal::new("it is denied")));
    let lab = Lab::new(rule).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(serve(listener, Arc::clone(&lab.settler), Token::new(SECRET), Acs::new(None), "/work".into()));
    (lab, address)
}

#[tokio::test]
async fn an_agents_http_hook_gets_the_hooks_reply_as_the_body() {
    let (lab, address) = started().await;
    let denied = bash("PreToolUse", "1", "echo denied").to_string();
    let (status, body) = post(address, "/hooks/claude-code", SECRET, &denied).await;
    assert_eq!((status, decision(&serde_json::from_str(&body).unwrap())), (200, "deny"));
    let passed = bash("PreToolUse", "2", "ls").to_string();
    assert_eq!(post(address, "/hooks/claude-code", SECRET, &passed).await, (200, String::new()));
    // An agent continues after a status of failure, so what cannot be read is a no.
    let half = denied.replace("denied", r"\ud83d");
    let deep = denied.replace(r#""echo denied""#, &format!("{}{}", "[".repeat(200), "]".repeat(200)));
    let large = " ".repeat(17 << 20);
    for message in ["{", "", &half, &deep, &large] {
        for path in ["/hooks/claude-code", "/hooks/claude-code/PreToolUse"] {
            let (status, body) = post(address, path, SECRET, message).await;
            assert_eq!(status, 200, "{path}: {body}");
            assert_eq!(decision(&serde_json::from_str(&body).unwrap()), "deny", "{path}: {body}");
        }
    }
    assert_eq!(lab.events("before-tool-call").len(), 2);
}

#[tokio::test]
async fn who_does_not_know_the_token_gets_nothing() {
    let (lab, address) = started().await;
    let passed = bash("PreToolUse", "1", "ls").to_string();
    for wrong in ["", "x", "0123456789abcdef0123456789abcdee"] {
        assert_eq!(post(address, "/hooks/claude-code", wrong, &passed).await.0, 401);
        assert_eq!(post(address, "/mcp", wrong, "{}").await.0, 401);
    }
    assert!(lab.events("before-tool-call").is_empty());
    assert_eq!(post(address, "/hooks/nobody", SECRET, &passed).await.0, 404);
    assert_eq!(post(address, "/nothing", SECRET, &passed).await.0, 404);
}

#[tokio::test]
async fn an_agent_that_is_connected_by_mcp_asks_by_the_tool_hook() {
    let (_lab, address) = started().await;
    let call = async |method: &str, params: Value| {
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let (status, body) = post(address, "/mcp", SECRET, &request.to_string()).await;
        assert_eq!(status, 200);
        serde_json::from_str::<Value>(&body).unwrap()
    };
    let initialized = call("initialize", json!({ "protocolVersion": "2025-06-18" })).await;
    assert_eq!(initialized["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(call("server/discover", json!({})).await["error"]["code"], -32601);
    assert_eq!(call("tools/list", json!({})).await["result"]["tools"][0]["name"], "hook");
    // Claude Code's templates pass an object as a text.
    let arguments = json!({
        "agent": "claude-code", "point": "PreToolUse", "session_id": "s", "cwd": "/work", "tool_name": "Bash",
        "tool_input": "{\"command\":\"echo denied\"}", "tool_use_id": "1",
    });
    let answered = call("tools/call", json!({ "name": "hook", "arguments": arguments })).await;
    let said: Value = serde_json::from_str(answered["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(decision(&said), "deny");
    let wrong = call("tools/call", json!({ "name": "hook", "arguments": { "agent": "nobody" } })).await;
    assert!(wrong["error"]["message"].as_str().unwrap().contains("nobody"));
    let (status, body) =
        post(address, "/mcp", SECRET, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    assert_eq!((status, body.as_str()), (202, ""));
    let (_, body) = post(address, "/mcp", SECRET, "[]").await;
    assert!(body.contains("-32600"), "{body}");
}
