//! A service over HTTP: the client speaks lines, the service gets requests, and their headers say what their bodies say.

use super::{FIRST_USE, Proxied, text, user, user_with};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A request that the service got.
#[derive(Clone, Debug)]
struct Got {
    method: String,
    headers: HashMap<String, String>,
    body: Value,
}

/// A service that answers calls by an event stream, and all else by one object.
struct Service {
    address: String,
    got: Arc<Mutex<Vec<Got>>>,
}

impl Service {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/mcp", listener.local_addr().unwrap());
        let got = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&got);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let noted = Arc::clone(&noted);
                std::thread::spawn(move || while answer(&stream, &noted).is_some() {});
            }
        });
        Self { address, got }
    }

    fn got(&self, method: &str) -> Vec<Got> {
        let got = self.got.lock().unwrap();
        got.iter().filter(|got| got.body["method"] == method || got.method == method).cloned().collect()
    }
}

/// Answers one request of a connection; `None` at its end.
fn answer(stream: &TcpStream, noted: &Mutex<Vec<Got>>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let method = line.split(' ').next()?.to_owned();
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    noted.lock().unwrap().push(Got { method: method.clone(), headers, body: body.clone() });
    let id = &body["id"];
    let result = |result: Value| json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string();
    let (status, more, body) = match body["method"].as_str() {
        _ if method != "POST" => ("405 Method Not Allowed", "", String::new()),
        Some("initialize") => {
            let info = json!({ "name": "scripted", "version": "1" });
            let said = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": info });
            ("200 OK", "content-type: application/json\r\nmcp-session-id: s-1\r\n", result(said))
        }
        Some("tools/list") => {
            let schema =
                json!({ "type": "object", "properties": { "region": { "type": "string", "x-mcp-header": "Region" } } });
            let tools = json!({ "tools": [{ "name": "say", "inputSchema": schema }] });
            ("200 OK", "content-type: application/json\r\n", result(tools))
        }
        Some("tools/call") => {
            let progress = json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": { "progress": 1 } });
            let said = format!("in {}", body["params"]["arguments"]["region"]);
            let other = json!({ "jsonrpc": "2.0", "id": "another", "result": {} });
            let answer = result(json!({ "content": [{ "type": "text", "text": said }] }));
            let stream = format!(": hello\n\ndata: {progress}\n\ndata: {other}\n\nid: 5\ndata: {answer}\n\n");
            ("200 OK", "content-type: text/event-stream\r\n", stream)
        }
        Some("missing") => ("404 Not Found", "", String::new()),
        _ if id.is_null() => ("202 Accepted", "", String::new()),
        _ => ("200 OK", "content-type: application/json\r\n", result(json!({}))),
    };
    let mut stream = stream;
    write!(stream, "HTTP/1.1 {status}\r\n{more}content-length: {}\r\n\r\n{body}", body.len()).ok()?;
    stream.flush().ok()
}

fn start(user: &hookhost_tests::User, service: &Service) -> Proxied {
    let mut command = user.command(["mcp", "--name", "files", "--http", &service.address, "--key-variable", "MCP_KEY"]);
    let nothing = user.project().join("nothing");
    Proxied::of(command.env("MCP_KEY", "sk-service"), nothing.clone(), nothing)
}

#[test]
fn a_service_is_spoken_to_in_its_session_and_its_streams_are_passed_on() {
    let (user, service) = (user(), Service::start());
    let mut proxied = start(&user, &service);
    assert_eq!(proxied.begin(&json!({})), ["say"]);
    let answer = proxied.call("say", &json!({ "region": "eu" }));
    assert_eq!(text(&answer), "in \"eu\"");
    assert_eq!(proxied.others.pop_front().unwrap()["method"], "notifications/progress");
    assert!(proxied.others.is_empty(), "an answer to another request is not passed on");
    let call = &service.got("tools/call")[0];
    assert_eq!(call.headers["mcp-session-id"], "s-1");
    assert_eq!(call.headers["mcp-protocol-version"], "2025-11-25");
    assert_eq!(call.headers["authorization"], "Bearer sk-service");
    assert_eq!(service.got("notifications/initialized").len(), 1);
    let missing = proxied.ask("missing", &json!({}));
    assert!(missing["error"]["message"].as_str().unwrap().contains("404"), "{missing}");
    assert_eq!(proxied.end().0, Some(0));
    assert_eq!(service.got("DELETE").len(), 1, "the session is ended");
}

#[test]
fn the_headers_of_a_changed_call_are_derived_from_what_is_sent() {
    let guard = json!({ "before-tool-call": { "when": { "round": 1 }, "verdict": "modify", "value": { "region": "us-west1" } } });
    let (user, service) = (user_with(guard, FIRST_USE), Service::start());
    let mut proxied = start(&user, &service);
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {} });
    proxied.ask("tools/list", &json!({ "_meta": meta }));
    let params = json!({ "name": "say", "arguments": { "region": "evil-1" }, "_meta": meta });
    assert_eq!(text(&proxied.ask("tools/call", &params)), "in \"us-west1\"");
    let call = &service.got("tools/call")[0];
    let header = |name: &str| call.headers.get(name).map(String::as_str);
    assert_eq!(header("mcp-param-region"), Some("us-west1"));
    assert_eq!((header("mcp-method"), header("mcp-name")), (Some("tools/call"), Some("say")));
    assert_eq!(header("mcp-protocol-version"), Some("2026-07-28"));
    assert_eq!(call.body["params"]["arguments"], json!({ "region": "us-west1" }));
    assert!(!format!("{call:?}").contains("evil-1"));
}

#[test]
fn a_key_is_not_sent_in_the_clear_and_a_missing_one_is_named() {
    let user = user();
    let run = |address: &str, key: &str| {
        let mut command = user.command(["mcp", "--http", address, "--key-variable", "MCP_KEY"]);
        hookhost_tests::Ended::of(command.env("MCP_KEY", key))
    };
    run("http://mcp.example.com/mcp", "sk-1").expect(2, &["use https"]);
    run("https://mcp.example.com/mcp", "").expect(2, &["MCP_KEY"]);
    run("ftp://mcp.example.com/mcp", "sk-1").expect(2, &["no http or https address"]);
}
