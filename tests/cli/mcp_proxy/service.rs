//! A service over HTTP: the client speaks lines, the service gets requests, and their headers say what their bodies say.

use super::{FIRST_USE, Proxied, text, user, user_with};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// A request that the service got.
#[derive(Clone, Debug)]
pub(super) struct Got {
    pub(super) method: String,
    pub(super) headers: HashMap<String, String>,
    pub(super) body: Value,
}

/// A service that answers calls by an event stream, and all else by one object.
pub(super) struct Service {
    pub(super) address: String,
    noted: Arc<Noted>,
}

/// What the service knows.
#[derive(Default)]
struct Noted {
    got: Mutex<Vec<Got>>,
    /// How often it has forgotten its sessions.
    forgotten: AtomicU64,
    /// How often it still refuses to begin a session.
    refuses: AtomicU64,
    /// What it answers where it does not know a session: a status, and a body with `$id`.
    unknown: Mutex<Option<(&'static str, String)>>,
}

impl Service {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/mcp", listener.local_addr().unwrap());
        let noted: Arc<Noted> = Arc::default();
        let own = Arc::clone(&noted);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let noted = Arc::clone(&own);
                std::thread::spawn(move || while answer(&stream, &noted).is_some() {});
            }
        });
        Self { address, noted }
    }

    /// Refuses to begin so many sessions.
    pub(super) fn refuse(&self, times: u64) {
        self.noted.refuses.store(times, Ordering::SeqCst);
    }

    pub(super) fn got(&self, method: &str) -> Vec<Got> {
        let got = self.noted.got.lock().unwrap();
        got.iter().filter(|got| got.body["method"] == method || got.method == method).cloned().collect()
    }
}

/// Answers one request of a connection; `None` at its end.
fn answer(stream: &TcpStream, noted: &Noted) -> Option<()> {
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
    let forgotten = noted.forgotten.load(Ordering::SeqCst);
    let session = format!("s-{forgotten}");
    let is_of_another = headers.get("mcp-session-id").is_some_and(|named| *named != session);
    let after = headers.get("last-event-id").cloned();
    noted.got.lock().unwrap().push(Got { method: method.clone(), headers, body: body.clone() });
    if body["method"] == "subscriptions/listen" {
        return subscribed(stream, &mut reader, noted, &body);
    }
    let id = &body["id"];
    let hello = format!("content-type: application/json\r\nmcp-session-id: {session}\r\n");
    let result = |result: Value| json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string();
    let (status, more, body) = match body["method"].as_str() {
        // The rest of an answer.
        _ if method == "GET" && after.as_deref() == Some("e-1") => {
            let asked = noted.got.lock().unwrap().iter().rev().find(|got| got.body["method"] == "broken").cloned();
            let answer = json!({ "jsonrpc": "2.0", "id": asked?.body["id"], "result": { "is": "the rest" } });
            ("200 OK", "content-type: text/event-stream\r\n", format!("id: e-2\ndata: {answer}\n\n"))
        }
        _ if method != "POST" => ("405 Method Not Allowed", "", String::new()),
        _ if is_of_another => match noted.unknown.lock().unwrap().clone() {
            Some((status, body)) => {
                (status, "content-type: application/json\r\n", body.replace("$id", &id.to_string()))
            }
            None => ("404 Not Found", "", String::new()),
        },
        Some("initialize") if noted.refuses.load(Ordering::SeqCst) > 0 => {
            noted.refuses.fetch_sub(1, Ordering::SeqCst);
            ("503 Service Unavailable", "", String::new())
        }
        Some("initialize") => {
            let info = json!({ "name": "scripted", "version": "1" });
            let said = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": info });
            ("200 OK", hello.as_str(), result(said))
        }
        Some("tools/list") => {
            let schema =
                json!({ "type": "object", "properties": { "region": { "type": "string", "x-mcp-header": "Region" } } });
            let mut tools = vec![json!({ "name": "say", "inputSchema": schema })];
            if body["params"]["_meta"]["many"] == true {
                tools.push(many());
            }
            if body["params"]["_meta"]["wide"] == true {
                tools.push(wide());
            }
            ("200 OK", "content-type: application/json\r\n", result(json!({ "tools": tools })))
        }
        Some("tools/call") => {
            let progress = json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": { "progress": 1 } });
            let said = format!("in {}", body["params"]["arguments"]["region"]);
            let other = json!({ "jsonrpc": "2.0", "id": "another", "result": {} });
            let answer = result(json!({ "content": [{ "type": "text", "text": said }] }));
            let stream = format!(": hello\n\ndata: {progress}\n\ndata: {other}\n\nid: 5\ndata: {answer}\n\n");
            ("200 OK", "content-type: text/event-stream\r\n", stream)
        }
        Some("broken") => ("200 OK", "content-type: text/event-stream\r\n", "id: e-1\nretry: 10\ndata:\n\n".to_owned()),
        Some("batched") => {
            let events = format!("data: [{}]\n\n", result(json!({})));
            ("200 OK", "content-type: text/event-stream\r\n", events)
        }
        // The answer to a request of another stream: beside what is no answer, and with the end of a line in a text.
        Some("mixed") => {
            let waiting = noted.got.lock().unwrap().iter().find(|got| got.body["method"] == "waits").cloned();
            let other = json!({ "jsonrpc": "2.0", "id": waiting?.body["id"], "result": {} });
            let ping = json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": {} });
            let in_lines = other.to_string().replace("{}", "{\"x\":\"a\ndata: b\"}");
            let own = result(json!({}));
            let events = format!("data: [{other},{ping}]\n\ndata: {in_lines}\n\ndata: {own}\n\n");
            ("200 OK", "content-type: text/event-stream\r\n", events)
        }
        Some("ends-another") => {
            let params = json!({ "requestId": "s", "reason": "a b" });
            let end = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
            let in_lines = end.to_string().replace("a b", "a\ndata: b");
            let events = format!("data: {end}\n\ndata: {in_lines}\n\ndata: {}\n\n", result(json!({})));
            ("200 OK", "content-type: text/event-stream\r\n", events)
        }
        Some("waits") => {
            while !noted.got.lock().unwrap().iter().any(|got| got.body["method"] == "release") {
                std::thread::yield_now();
            }
            ("200 OK", "content-type: application/json\r\n", result(json!({ "is": "its own" })))
        }
        Some("questions") => {
            let form =
                json!({ "method": "elicitation/create", "params": { "message": "who?", "requestedSchema": {} } });
            let asked = json!({ "resultType": "input_required", "inputRequests": { "a": form }, "requestState": "s" });
            ("200 OK", "content-type: application/json\r\n", result(asked))
        }
        Some("asks") => {
            let asked = json!({ "jsonrpc": "2.0", "id": "q", "method": "roots/list" });
            let events = format!("data: {asked}\n\ndata: {}\n\n", result(json!({})));
            ("200 OK", "content-type: text/event-stream\r\n", events)
        }
        Some("missing") => ("404 Not Found", "", String::new()),
        Some("moved") => ("307 Temporary Redirect", "location: /elsewhere\r\n", String::new()),
        Some("refused") => {
            let error = json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32602, "message": "no" } });
            ("400 Bad Request", "content-type: application/json\r\n", error.to_string())
        }
        _ if id.is_null() => ("202 Accepted", "", String::new()),
        _ => ("200 OK", "content-type: application/json\r\n", result(json!({}))),
    };
    let mut stream = stream;
    write!(stream, "HTTP/1.1 {status}\r\n{more}content-length: {}\r\n\r\n{body}", body.len()).ok()?;
    stream.flush().ok()
}

/// A tool whose definition is small, and of which far more would be kept: a long key leads to each of its arguments.
fn wide() -> Value {
    let arguments: serde_json::Map<String, Value> =
        (0..250).map(|n| (format!("a{n}"), json!({ "x-mcp-header": format!("A{n}") }))).collect();
    json!({ "name": "wide", "inputSchema": { "properties": { ("k".repeat(40_000)): { "properties": arguments } } } })
}

/// A tool with more headers than are sent.
fn many() -> Value {
    let arguments: serde_json::Map<String, Value> =
        (0..257).map(|n| (format!("a{n}"), json!({ "x-mcp-header": format!("A{n}") }))).collect();
    json!({ "name": "many", "inputSchema": { "properties": arguments } })
}

/// Answers by a stream that ends as the first resource of the request says, and notes when the client has gone.
fn subscribed(mut stream: &TcpStream, reader: &mut impl BufRead, noted: &Noted, body: &Value) -> Option<()> {
    let id = &body["id"];
    let meta = json!({ "io.modelcontextprotocol/subscriptionId": id });
    let told = |method: &str, mut params: Value| {
        params["_meta"] = meta.clone();
        json!({ "jsonrpc": "2.0", "method": method, "params": params })
    };
    let wanted = &body["params"]["notifications"];
    let ends = wanted["resourceSubscriptions"][0].as_str().unwrap_or_default();
    let mut events = vec![
        told("notifications/subscriptions/acknowledged", json!({ "notifications": wanted })),
        told("notifications/resources/updated", json!({ "uri": "file:///a" })),
    ];
    match ends {
        "answered" => {
            events.push(json!({ "jsonrpc": "2.0", "id": id, "result": { "resultType": "complete", "_meta": meta } }));
        }
        "cancelled" => {
            events
                .push(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }));
        }
        _ => {}
    }
    let events: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    write!(stream, "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{events}").ok()?;
    stream.flush().ok()?;
    // What has ended by a message stays open otherwise: the other side is not to wait for the end of the connection.
    if ends != "broken" {
        let _ = reader.read_line(&mut String::new());
        let (method, headers) = ("closed".to_owned(), HashMap::new());
        noted.got.lock().unwrap().push(Got { method, headers, body: body.clone() });
    }
    None
}

pub(super) fn start(user: &hookhost_tests::User, service: &Service) -> Proxied {
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
    assert_eq!(call.headers["mcp-session-id"], "s-0");
    assert_eq!(call.headers["mcp-protocol-version"], "2025-11-25");
    assert_eq!(call.headers["authorization"], "Bearer sk-service");
    assert_eq!(service.got("notifications/initialized").len(), 1);
    let missing = proxied.ask("missing", &json!({}));
    assert!(missing["error"]["message"].as_str().unwrap().contains("404"), "{missing}");
    let moved = proxied.ask("moved", &json!({}));
    assert!(moved["error"]["message"].as_str().unwrap().contains("307"), "{moved}");
    assert_eq!(service.got("moved").len(), 1, "no key goes to another place");
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
fn a_tool_of_which_more_headers_would_be_known_than_is_kept_cannot_be_called() {
    let (user, service) = (user(), Service::start());
    let mut proxied = start(&user, &service);
    let mut meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}, "wide": true });
    let listed = proxied.ask("tools/list", &json!({ "_meta": meta }));
    assert_eq!(listed["result"]["tools"][1]["name"], "wide");
    meta["wide"] = json!(false);
    let call = |tool: &str| json!({ "name": tool, "arguments": { "region": "eu" }, "_meta": meta });
    let refused = proxied.ask("tools/call", &call("wide"));
    let why = refused["error"]["message"].as_str().unwrap();
    assert!(why.contains("than the proxy keeps (8 MiB)"), "{refused}");
    assert!(service.got("tools/call").is_empty());
    assert_eq!(text(&proxied.ask("tools/call", &call("say"))), "in \"eu\"");
    let said = proxied.end().1;
    assert!(said.contains("some tools are left out"), "{said}");
}

#[test]
fn a_call_with_more_headers_than_are_sent_is_refused_and_others_are_made() {
    let (user, service) = (user(), Service::start());
    let mut proxied = start(&user, &service);
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}, "many": true });
    let listed = proxied.ask("tools/list", &json!({ "_meta": meta }));
    assert_eq!(listed["result"]["tools"][1]["name"], "many");
    let arguments: serde_json::Map<String, Value> = (0..257).map(|n| (format!("a{n}"), json!("x"))).collect();
    let refused = proxied.ask("tools/call", &json!({ "name": "many", "arguments": arguments, "_meta": meta }));
    assert!(refused["error"]["message"].as_str().unwrap().contains("more than 256 arguments"), "{refused}");
    assert!(service.got("tools/call").is_empty());
    let made = proxied.ask("tools/call", &json!({ "name": "say", "arguments": { "region": "eu" }, "_meta": meta }));
    assert_eq!(text(&made), "in \"eu\"");
}

#[test]
fn a_batch_on_a_stream_does_not_answer_the_request_of_another_stream() {
    let (user, service) = (user(), Service::start());
    let mut proxied = start(&user, &service);
    proxied.begin(&json!({}));
    proxied.send(&json!({ "jsonrpc": "2.0", "id": "other", "method": "waits" }));
    let since = std::time::Instant::now();
    while service.got("waits").is_empty() {
        assert!(since.elapsed() < super::LONG, "the service is not asked");
    }
    assert!(proxied.ask("mixed", &json!({}))["result"].is_object());
    proxied.send(&json!({ "jsonrpc": "2.0", "method": "release" }));
    let answer = proxied.next();
    assert_eq!((&answer["id"], &answer["result"]["is"]), (&json!("other"), &json!("its own")), "{answer}");
    let said = proxied.end().1;
    assert!(said.contains("a batch of messages is not taken"), "{said}");
}

#[test]
fn a_question_in_an_answer_that_nobody_judges_is_not_passed_on() {
    let (user, service) = (user(), Service::start());
    let mut proxied = start(&user, &service);
    proxied.begin(&json!({}));
    let refused = proxied.ask("questions", &json!({}));
    assert!(refused["error"]["message"].as_str().unwrap().contains("may not do this"), "{refused}");
    assert!(!refused.to_string().contains("who?"), "{refused}");
}

#[test]
fn an_answer_that_breaks_off_is_continued_where_it_broke_off() {
    let (user, service) = (user(), Service::start());
    let mut proxied = start(&user, &service);
    proxied.begin(&json!({}));
    assert_eq!(proxied.ask("broken", &json!({}))["result"]["is"], "the rest");
}

#[test]
fn an_answer_in_a_batch_is_an_error_for_its_request() {
    let (user, service) = (user(), Service::start());
    let mut proxied = start(&user, &service);
    proxied.begin(&json!({}));
    let answer = proxied.ask("batched", &json!({}));
    assert!(answer["error"]["message"].as_str().unwrap().contains("a batch of messages is not taken"), "{answer}");
}

#[test]
fn a_session_that_the_service_has_forgotten_is_begun_again() {
    let (user, service) = (user(), Service::start());
    let mut proxied = start(&user, &service);
    proxied.begin(&json!({}));
    service.noted.forgotten.fetch_add(1, Ordering::SeqCst);
    assert_eq!(text(&proxied.call("say", &json!({ "region": "eu" }))), "in \"eu\"");
    let begun = service.got("initialize");
    assert_eq!((begun.len(), &begun[0].body), (2, &begun[1].body), "as the client began it");
    assert_eq!(service.got("tools/call").last().unwrap().headers["mcp-session-id"], "s-1");
}

#[test]
fn a_request_is_repeated_in_another_session_only_where_nothing_can_have_run() {
    let error = |code: i64, why: &str| {
        json!({ "jsonrpc": "2.0", "id": "$id", "error": { "code": code, "message": why } })
            .to_string()
            .replace("\"$id\"", "$id")
    };
    for (status, body, is_repeated) in [
        ("400 Bad Request", r#"{"error":"No valid session ID provided"}"#.to_owned(), true),
        ("400 Bad Request", "Bad Request: Server not initialized".to_owned(), true),
        (
            "400 Bad Request",
            json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32000, "message": "Invalid session ID" } })
                .to_string(),
            true,
        ),
        ("200 OK", error(-32600, "Session not found"), true),
        // A tool can say so of sessions of its own.
        ("200 OK", error(-32000, "Session not found"), false),
        ("400 Bad Request", error(-32603, "the browser session was not found"), false),
    ] {
        let (user, service) = (user(), Service::start());
        let mut proxied = start(&user, &service);
        proxied.begin(&json!({}));
        service.noted.forgotten.fetch_add(1, Ordering::SeqCst);
        *service.noted.unknown.lock().unwrap() = Some((status, body.clone()));
        let first = proxied.call("say", &json!({ "region": "eu" }));
        assert_eq!(first["result"].is_object(), is_repeated, "{status} {body}: {first}");
        assert_eq!(service.got("tools/call").len(), 1 + usize::from(is_repeated), "{status} {body}");
        assert_eq!(text(&proxied.call("say", &json!({ "region": "eu" }))), "in \"eu\"", "{status} {body}");
        assert_eq!(service.got("initialize").len(), 2, "{status} {body}");
        // What only reads is asked once more whatever the answer was.
        service.noted.forgotten.fetch_add(1, Ordering::SeqCst);
        assert_eq!(proxied.listed(), ["say"], "{status} {body}");
    }
}

#[test]
fn an_error_that_says_nothing_of_a_session_begins_none() {
    let (user, service) = (user(), Service::start());
    let mut proxied = start(&user, &service);
    proxied.begin(&json!({}));
    assert_eq!(proxied.ask("refused", &json!({}))["error"]["message"], "no");
    assert_eq!((service.got("initialize").len(), service.got("refused").len()), (1, 1));
}

#[test]
fn a_session_that_could_not_be_begun_again_is_tried_again_with_the_next_request() {
    let (user, service) = (user(), Service::start());
    let mut proxied = start(&user, &service);
    proxied.begin(&json!({}));
    service.noted.forgotten.fetch_add(1, Ordering::SeqCst);
    service.refuse(1);
    assert!(proxied.call("say", &json!({ "region": "eu" }))["error"].is_object());
    assert_eq!(text(&proxied.call("say", &json!({ "region": "eu" }))), "in \"eu\"");
    assert_eq!(service.got("tools/call").last().unwrap().headers["mcp-session-id"], "s-1");
}

#[test]
fn a_service_of_this_machine_is_reached_without_a_proxy_of_http() {
    let (user, service) = (user(), Service::start());
    let mut command = user.command(["mcp", "--name", "files", "--http", &service.address, "--key-variable", "MCP_KEY"]);
    let nothing = user.project().join("nothing");
    // Nobody is there.
    command
        .env("MCP_KEY", "sk-service")
        .env("HTTP_PROXY", "http://127.0.0.1:1")
        .env("http_proxy", "http://127.0.0.1:1");
    assert_eq!(Proxied::of(&mut command, nothing.clone(), nothing).begin(&json!({})), ["say"]);
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
    run("https://user:sk-1@mcp.example.com/mcp", "sk-1").expect(2, &["before the `@`"]);
    run("ftp://mcp.example.com/mcp", "sk-1").expect(2, &["not an http or https address"]);
}

#[test]
fn a_header_whose_value_is_in_a_variable_is_sent_and_is_never_sent_in_the_clear() {
    let (user, service) = (user(), Service::start());
    let nothing = user.project().join("nothing");
    let command = |address: &str| {
        let headers = ["--header-variable", "X-Api-Key=MY_KEY", "--header-variable", "Content-Type=MY_TYPE"];
        let mut command = user.command(["mcp", "--name", "files", "--http", address]);
        command.args(headers).env("MY_KEY", "sk-1").env("MY_TYPE", "text/plain");
        command
    };
    let mut proxied = Proxied::of(&mut command(&service.address), nothing.clone(), nothing);
    assert_eq!(proxied.begin(&json!({})), ["say"]);
    let listed = &service.got("tools/list")[0];
    // How a message is sent is the proxy's to say.
    assert_eq!((&*listed.headers["x-api-key"], &*listed.headers["content-type"]), ("sk-1", "application/json"));
    let refused = |mut command: std::process::Command| hookhost_tests::Ended::of(&mut command);
    refused(command("http://mcp.example.com/mcp")).expect(2, &["use https"]);
    let mut missing = command(&service.address);
    missing.env_remove("MY_KEY");
    refused(missing).expect(2, &["MY_KEY"]);
}
