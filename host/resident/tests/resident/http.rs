//! Tests of HTTP hooks and of the MCP endpoint.

use crate::support::{Lab, bash, decision};
use hookhost::approval::Approval;
use hookhost::audit::DeliveryKind;
use hookhost::contract::{Escalation, Refusal, ToolCall};
use hookhost::native::Rule;
use hookhost_resident::http::{Token, serve};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

const SECRET: &str = "0123456789abcdef0123456789abcdef";

/// Sends one request, and returns the status and the body.
async fn post(address: std::net::SocketAddr, path: &str, token: &str, body: &str) -> (u16, String) {
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

/// Serves until the returned sender is dropped. Returns the address, the sender and the task.
async fn serving(lab: &Lab) -> (std::net::SocketAddr, oneshot::Sender<()>, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel();
    let stopped = async { drop(stopped.await) };
    let (settler, home) = (Arc::clone(&lab.settler), "/work".into());
    let served = tokio::spawn(serve(listener, settler, Token::new(SECRET), Vec::new(), home, stopped));
    (address, stop, served)
}

async fn started() -> (Lab, std::net::SocketAddr) {
    let rule = Rule::new()
        .before_tool_call(|_, call: &ToolCall| call.arguments.contains("denied").then(|| Refusal::new("it is denied")));
    let lab = Lab::new(rule).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (home, never) = ("/work".into(), std::future::pending());
    tokio::spawn(serve(listener, Arc::clone(&lab.settler), Token::new(SECRET), Vec::new(), home, never));
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
    // An agent continues if it gets an error status. A message that cannot be parsed therefore gets a denial with status 200.
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
    // The templates of Claude Code pass an object as a string.
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

/// Sends the request and does not wait for its answer.
async fn asked(address: std::net::SocketAddr, path: &str, headers: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {SECRET}\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

/// Returns a rule that asks a person about each call. Codex cannot ask its user, so the question waits in the queue.
fn asking() -> Rule {
    Rule::new().before_tool_call(|_, _: &ToolCall| Escalation::new("may it?"))
}

async fn question(lab: &Lab) -> String {
    loop {
        if let Some(request) = lab.settler.host().questions().await.unwrap().first() {
            return request.id.clone();
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_client_that_goes_before_its_answer_is_in_the_log_and_its_question_can_not_be_answered() {
    let lab = Lab::new(asking()).await;
    let (address, _stop, _served) = serving(&lab).await;
    let stream = asked(address, "/hooks/codex/PreToolUse", "", &bash("PreToolUse", "1", "ls").to_string()).await;
    question(&lab).await;
    drop(stream);
    let noted = loop {
        if let Some(delivery) = lab.deliveries().await.pop() {
            break delivery;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!((noted.what, noted.point.as_str()), (DeliveryKind::Unanswered, "PreToolUse"));
    assert!(noted.note.contains("has gone before it had the answer"), "{noted:?}");
    assert!(lab.settler.host().questions().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_person_has_no_longer_than_the_client_says_that_it_waits() {
    let lab = Lab::new(asking()).await;
    let (address, _stop, _served) = serving(&lab).await;
    let call = bash("PreToolUse", "1", "ls").to_string();
    let mut stream =
        asked(address, "/hooks/codex/PreToolUse", "hookhost-within: 2\r\nconnection: close\r\n", &call).await;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.contains("nobody answered within 1"), "{answer}");
    for wrong in ["0", "soon", "-1", ""] {
        let headers = format!("hookhost-within: {wrong}\r\nconnection: close\r\n");
        let mut stream = asked(address, "/hooks/codex/PreToolUse", &headers, &call).await;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("deny"), "{wrong:?}: {answer}");
        assert!(answer.contains("Hookhost-Within is no number of seconds"), "{wrong:?}: {answer}");
    }
}

#[tokio::test]
async fn at_its_end_the_requests_under_way_get_their_answers_and_no_new_one_is_taken() {
    let lab = Lab::new(asking()).await;
    let (address, stop, served) = serving(&lab).await;
    let mut stream = asked(address, "/hooks/codex/PreToolUse", "", &bash("PreToolUse", "1", "ls").to_string()).await;
    let id = question(&lab).await;
    assert_eq!(lab.settler.idle(), std::time::Duration::ZERO, "it is at work");
    drop(stop);
    lab.settler.host().answer(&id, Approval::no().because("not today")).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.contains("not today"), "{answer}");
    served.await.unwrap();
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn a_client_of_mcp_that_goes_is_in_the_log_too() {
    let lab = Lab::new(asking()).await;
    let (address, _stop, _served) = serving(&lab).await;
    let message = bash("PreToolUse", "1", "ls");
    let arguments = json!({ "agent": "codex", "point": "PreToolUse", "message": message });
    let params = json!({ "name": "hook", "arguments": arguments });
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let stream = asked(address, "/mcp", "", &request.to_string()).await;
    question(&lab).await;
    drop(stream);
    while lab.deliveries().await.is_empty() {
        tokio::task::yield_now().await;
    }
    assert!(lab.settler.host().questions().await.unwrap().is_empty());
    // A message that is not accepted gets a denial in the format of the agent, and this is recorded.
    let headers = "hookhost-within: soon\r\nconnection: close\r\n";
    let mut stream = asked(address, "/mcp", headers, &request.to_string()).await;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.contains("deny") && answer.contains(r#""isError":false"#), "{answer}");
    assert_eq!(lab.deliveries().await.len(), 2);
}

#[tokio::test]
async fn a_body_that_breaks_off_is_recorded() {
    let (lab, address) = started().await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!("POST /hooks/claude-code/PreToolUse HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {SECRET}\r\n");
    stream.write_all(format!("{head}content-length: 100\r\n\r\n{{").as_bytes()).await.unwrap();
    drop(stream);
    loop {
        if let Some(delivery) = lab.deliveries().await.pop() {
            assert!(delivery.note.contains("its message did not arrive"), "{delivery:?}");
            break;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn no_page_elsewhere_is_answered_even_with_the_token() {
    let (_lab, address) = started().await;
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    for (origin, status) in
        [("https://example.com", "403"), ("null", "403"), ("http://localhost:6274", "200"), ("http://[::1]:1", "200")]
    {
        let head = format!("origin: {origin}\r\nconnection: close\r\n");
        let mut stream = asked(address, "/mcp", &head, body).await;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert_eq!(answer.split(' ').nth(1), Some(status), "{origin}: {answer}");
    }
}

#[tokio::test]
async fn a_message_of_mcp_that_has_a_key_twice_is_not_read() {
    let (lab, address) = started().await;
    let twice = r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}"#;
    let (_, answer) = post(address, "/mcp", SECRET, twice).await;
    assert!(answer.contains("-32700") && answer.contains("occurs twice"), "{answer}");
    assert_eq!(lab.deliveries().await.len(), 1);
}

#[tokio::test]
async fn strangers_on_all_connections_keep_nobody_waiting_who_brings_the_token() {
    let (_lab, address) = started().await;
    let mut strangers = Vec::new();
    for _ in 0..700 {
        let mut stranger = TcpStream::connect(address).await.unwrap();
        stranger.write_all(b"P").await.unwrap();
        strangers.push(stranger);
    }
    let denied = bash("PreToolUse", "1", "echo denied").to_string();
    let answer = post(address, "/hooks/claude-code", SECRET, &denied);
    let (status, _) = tokio::time::timeout(std::time::Duration::from_secs(2), answer).await.unwrap();
    assert_eq!(status, 200);
}

#[tokio::test]
async fn a_connection_that_has_brought_the_token_makes_room_for_no_stranger() {
    let (_lab, address) = started().await;
    let denied = bash("PreToolUse", "1", "echo denied").to_string();
    let mut known = asked(address, "/hooks/claude-code", "", &denied).await;
    let mut first = vec![0; 4096];
    assert!(known.read(&mut first).await.unwrap() > 0);
    let mut strangers = Vec::new();
    for _ in 0..400 {
        strangers.push(TcpStream::connect(address).await.unwrap());
    }
    let request = format!(
        "POST /hooks/claude-code HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {SECRET}\r\ncontent-length: {}\r\n\r\n{denied}",
        denied.len()
    );
    known.write_all(request.as_bytes()).await.unwrap();
    let mut second = vec![0; 4096];
    assert!(known.read(&mut second).await.unwrap() > 0, "it is kept");
}

#[tokio::test]
async fn a_request_with_two_origins_is_refused() {
    let (_lab, address) = started().await;
    let of = async |origins: &str| {
        let denied = bash("PreToolUse", "1", "ls").to_string();
        let mut stream =
            asked(address, "/hooks/claude-code", &format!("{origins}connection: close\r\n"), &denied).await;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer.split(' ').nth(1).unwrap().parse::<u16>().unwrap()
    };
    assert_eq!(of("origin: http://localhost:6274\r\n").await, 200);
    assert_eq!(of("origin: http://localhost:6274\r\norigin: https://evil.example\r\n").await, 403);
    assert_eq!(of("origin: http://localhost:6274\r\norigin: http://localhost:6274\r\n").await, 403);
}
