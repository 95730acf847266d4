//! Clients over HTTP: each session is one of its own, and nothing is believed that only headers say.

use super::service::Service;
use super::{LONG, user};
use hookhost_tests::User;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};

/// A proxy that listens, which ends with this value.
pub(super) struct Listening {
    child: Child,
    pub(super) address: String,
}

impl Listening {
    pub(super) fn start(user: &User, service: &Service, more: &[&str]) -> Self {
        let words = ["mcp", "--name", "files", "--http", &service.address, "--listen", "127.0.0.1:0"];
        let mut command = user.command(words);
        command.args(more).env("MCP_KEY", "sk-service").env("CLIENT_KEY", "sk-client");
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening at http://").unwrap_or_else(|| panic!("{line}"));
        Self { child, address: address.trim_end_matches("/mcp").to_owned() }
    }

    /// Sends one request on a connection of its own.
    fn send(&self, method: &str, headers: &[(&str, &str)], body: &str) -> Got {
        self.send_to("/mcp", method, headers, body)
    }

    fn send_to(&self, target: &str, method: &str, headers: &[(&str, &str)], body: &str) -> Got {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        let mut head = format!("{method} {target} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
        if headers.iter().all(|(name, _)| *name != "host") {
            head.push_str("host: localhost\r\n");
        }
        headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
        stream.write_all(format!("{head}\r\n{body}").as_bytes()).unwrap();
        let mut all = String::new();
        stream.read_to_string(&mut all).unwrap();
        Got::of(&all)
    }

    pub(super) fn post(&self, headers: &[(&str, &str)], body: &Value) -> Got {
        self.send("POST", headers, &body.to_string())
    }

    /// Begins a session and lists the tools; its name.
    fn begin(&self) -> String {
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" } });
        let begun = self.post(&[], &request(0, "initialize", &params));
        assert_eq!((begun.status, &begun.messages[0]["result"]["serverInfo"]["name"]), (200, &json!("scripted")));
        let session = begun.headers["mcp-session-id"].clone();
        let named = [("mcp-session-id", session.as_str())];
        let told = self.post(&named, &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        assert_eq!((told.status, told.messages.len()), (202, 0));
        let listed = self.post(&named, &request(1, "tools/list", &json!({})));
        assert_eq!(listed.messages[0]["result"]["tools"][0]["name"], "say", "{listed:?}");
        session
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a client got.
#[derive(Debug)]
pub(super) struct Got {
    status: u16,
    headers: HashMap<String, String>,
    pub(super) messages: Vec<Value>,
}

impl Got {
    fn of(all: &str) -> Self {
        let (head, body) = all.split_once("\r\n\r\n").unwrap();
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let named = lines.map(|line| line.split_once(": ").unwrap());
        let headers: HashMap<_, _> = named.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let is_stream = headers.get("content-type").is_some_and(|kind| kind == "text/event-stream");
        let messages = if is_stream {
            body.lines().filter_map(|line| line.strip_prefix("data: ")).map(read).collect()
        } else {
            serde_json::from_str(body).into_iter().collect()
        };
        Self { status, headers, messages }
    }
}

fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn request(id: i64, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

fn call(id: i64, region: &str) -> Value {
    request(id, "tools/call", &json!({ "name": "say", "arguments": { "region": region } }))
}

/// A call that says itself which revision it is of, and the headers that belong to it.
fn stateless(id: i64, region: &str) -> (Value, Vec<(&'static str, String)>) {
    let mut call = call(id, region);
    call["params"]["_meta"] = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {} });
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "say")];
    let mut headers: Vec<_> = headers.map(|(name, value)| (name, value.to_owned())).into();
    headers.push(("mcp-param-region", region.to_owned()));
    (call, headers)
}

fn borrowed<'a>(headers: &'a [(&'static str, String)]) -> Vec<(&'a str, &'a str)> {
    headers.iter().map(|(name, value)| (*name, value.as_str())).collect()
}

fn said(message: &Value) -> &str {
    message["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{message}"))
}

#[test]
fn each_session_of_a_client_is_one_of_the_service() {
    let (user, service) = (user(), Service::start());
    let listening = Listening::start(&user, &service, &[]);
    let (first, second) = (listening.begin(), listening.begin());
    assert_ne!(first, second);
    for session in [&first, &second] {
        let got = listening.post(&[("mcp-session-id", session)], &call(7, "eu"));
        assert_eq!((got.status, got.messages.len()), (200, 2), "{got:?}");
        assert_eq!(got.messages[0]["method"], "notifications/progress", "what comes before the answer, too");
        assert_eq!((&got.messages[1]["id"], said(&got.messages[1])), (&json!(7), "in \"eu\""));
        for (accept, kind) in
            [("application/json", "application/json"), ("application/json, text/event-stream", "text/event-stream")]
        {
            let pinged =
                listening.post(&[("mcp-session-id", session), ("accept", accept)], &request(9, "ping", &json!({})));
            assert_eq!((pinged.headers["content-type"].as_str(), &pinged.messages[0]["result"]), (kind, &json!({})));
        }
    }
    assert_eq!(service.got("initialize").len(), 2);
    assert_eq!(listening.send("DELETE", &[("mcp-session-id", &first)], "").status, 200);
    let since = std::time::Instant::now();
    while listening.post(&[("mcp-session-id", &first)], &call(8, "eu")).status != 404 {
        assert!(since.elapsed() < LONG, "the session is still there");
    }
    // The service is told after the client has its answer.
    while service.got("DELETE").is_empty() {
        assert!(since.elapsed() < LONG, "the service is not told");
    }
    assert_eq!(service.got("DELETE").len(), 1);
    assert_eq!(listening.post(&[("mcp-session-id", &second)], &call(8, "eu")).status, 200);
    assert_eq!(listening.post(&[], &call(8, "eu")).status, 400);
    assert_eq!(listening.post(&[("mcp-session-id", "made-up")], &call(8, "eu")).status, 404);
}

#[test]
fn requests_of_no_session_with_the_same_id_each_get_their_own_answer() {
    let (user, service) = (user(), Service::start());
    let listening = Listening::start(&user, &service, &[]);
    listening.begin();
    std::thread::scope(|scope| {
        for region in ["eu", "us", "ap"] {
            let listening = &listening;
            scope.spawn(move || {
                let (call, headers) = stateless(1, region);
                let got = listening.post(&borrowed(&headers), &call);
                assert_eq!(said(got.messages.last().unwrap()), format!("in {region:?}"), "{got:?}");
            });
        }
    });
    let calls = service.got("tools/call");
    assert!(calls.iter().all(|call| !call.headers.contains_key("mcp-session-id")), "{calls:?}");
}

#[test]
fn a_header_that_says_something_else_than_the_body_is_refused() {
    let (user, service) = (user(), Service::start());
    let listening = Listening::start(&user, &service, &[]);
    let session = listening.begin();
    let (call, good) = stateless(1, "eu");
    for (name, other) in [
        ("mcp-method", "tools/list"),
        ("mcp-name", "read"),
        ("mcp-param-region", "us"),
        ("mcp-protocol-version", "2025-11-25"),
    ] {
        for value in [Some(other), None] {
            let mut headers = good.clone();
            headers.retain(|(known, _)| *known != name);
            headers.extend(value.map(|value| (name, value.to_owned())));
            let got = listening.post(&borrowed(&headers), &call);
            assert_eq!((got.status, &got.messages[0]["error"]["code"]), (400, &json!(-32020)), "{name} {value:?}");
        }
    }
    let named = [("mcp-session-id", session.as_str()), ("mcp-protocol-version", "2026-07-28")];
    let other = listening.post(&named, &self::call(2, "eu"));
    assert_eq!(
        (other.status, &other.messages[0]["error"]["code"]),
        (400, &json!(-32602)),
        "a body of another revision"
    );
    assert!(service.got("tools/call").is_empty());
    assert_eq!(listening.post(&borrowed(&good), &call).status, 200);
}

#[test]
fn a_forbidden_tool_is_not_found_like_an_unknown_one_whatever_the_headers_say() {
    let forbidden = "[mcp-proxy.servers.files]\nforbidden-tools = [\"say\"]\n";
    let user = User::new();
    user.configure(&(super::FIRST_USE.to_owned() + forbidden));
    let service = Service::start();
    let listening = Listening::start(&user, &service, &[]);
    // The headers of the tool are known: a session has listed it.
    let params =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let begun = listening.post(&[], &request(0, "initialize", &params));
    let named = [("mcp-session-id", begun.headers["mcp-session-id"].as_str())];
    let listed = listening.post(&named, &request(1, "tools/list", &json!({})));
    assert_eq!(listed.messages[0]["result"]["tools"], json!([]), "{listed:?}");
    let got = |tool: &str, change: Option<(&'static str, Option<&str>)>| {
        let (mut call, mut headers) = stateless(1, "eu");
        call["params"]["name"] = json!(tool);
        headers.retain(|(name, _)| *name != "mcp-name");
        headers.push(("mcp-name", tool.to_owned()));
        if let Some((changed, value)) = change {
            headers.retain(|(name, _)| *name != changed);
            headers.extend(value.map(|value| (changed, value.to_owned())));
        }
        let got = listening.post(&borrowed(&headers), &call);
        let mut kinds: Vec<String> = got.headers.into_keys().collect();
        kinds.sort();
        (got.status, got.messages[0].to_string().replace(&format!("tool: {tool}"), "tool: …"), kinds)
    };
    let unknown = got("nobody", None);
    assert!(unknown.1.contains("Unknown tool: …"), "{unknown:?}");
    for value in [Some("other"), None] {
        for tool in ["say", "nobody"] {
            assert_eq!(got(tool, Some(("mcp-param-region", value))), unknown, "{tool} {value:?}");
        }
        // Every request has these, whatever it calls.
        for name in ["mcp-method", "mcp-name", "mcp-protocol-version"] {
            let (forbidden, unknown) = (got("say", Some((name, value))), got("nobody", Some((name, value))));
            assert_eq!(forbidden, unknown, "{name} {value:?}");
            assert_eq!(forbidden.0, 400, "{name} {value:?}: {forbidden:?}");
        }
    }
    // A call in a notification is not passed on, whatever it calls.
    let told = ["say", "nobody"].map(|tool| {
        let (mut call, mut headers) = stateless(1, "eu");
        call.as_object_mut().unwrap().remove("id");
        call["params"]["name"] = json!(tool);
        headers.retain(|(name, _)| !matches!(*name, "mcp-name" | "mcp-param-region"));
        headers.push(("mcp-name", tool.to_owned()));
        listening.post(&borrowed(&headers), &call).status
    });
    assert_eq!(told, [202, 202]);
    assert_eq!(got("say", None), unknown);
    assert!(service.got("tools/call").is_empty());
}

#[test]
fn a_header_that_occurs_twice_is_refused_whichever_of_both_is_right() {
    let (user, service) = (user(), Service::start());
    let listening = Listening::start(&user, &service, &[]);
    listening.begin();
    let (call, good) = stateless(1, "eu");
    for (name, other) in
        [("mcp-method", "ping"), ("mcp-name", "read"), ("mcp-param-region", "us"), ("origin", "https://evil.example")]
    {
        for is_first in [true, false] {
            let mut headers = borrowed(&good);
            if name == "origin" {
                headers.push((name, "http://localhost"));
            }
            headers.insert(if is_first { 0 } else { headers.len() }, (name, other));
            assert_eq!(listening.post(&headers, &call).status, 400, "{name}");
        }
    }
    assert!(service.got("tools/call").is_empty());
    assert_eq!(listening.post(&borrowed(&good), &call).status, 200);
}

#[test]
fn a_body_of_another_kind_or_of_too_many_bytes_is_refused_before_it_is_read() {
    let (user, service) = (user(), Service::start());
    let listening = Listening::start(&user, &service, &[]);
    let begin = request(0, "initialize", &json!({}));
    for (kind, status) in [("text/plain", 415), ("application/x-www-form-urlencoded", 415)] {
        assert_eq!(listening.post(&[("content-type", kind)], &begin).status, status, "{kind}");
    }
    assert!(service.got("POST").is_empty());
    let mut stream = TcpStream::connect(&listening.address).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    let head = format!("POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n", 17 * 1024 * 1024);
    stream.write_all(head.as_bytes()).unwrap();
    let mut status = String::new();
    BufReader::new(&stream).read_line(&mut status).unwrap();
    assert!(status.contains("413"), "{status}");
    let kind = ("content-type", "application/json; charset=utf-8");
    assert_eq!(listening.post(&[kind], &begin).status, 200);
}

#[test]
fn an_error_of_a_service_keeps_its_status_and_an_answer_alone_is_no_stream() {
    let (user, service) = (user(), Service::start());
    let listening = Listening::start(&user, &service, &[]);
    let accept = ("accept", "application/json, text/event-stream");
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {} });
    for (method, status) in [("server/discover", 200), ("refused", 400)] {
        let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", method), accept];
        let got = listening.post(&headers, &request(3, method, &json!({ "_meta": meta })));
        assert_eq!((got.status, got.headers["content-type"].as_str()), (status, "application/json"), "{got:?}");
        assert_eq!((&got.messages[0]["id"], got.messages[0]["error"].is_object()), (&json!(3), status == 400));
    }
}

#[test]
fn answers_to_questions_that_have_another_form_are_an_error_of_the_protocol() {
    let (user, service) = (user(), Service::start());
    let listening = Listening::start(&user, &service, &[]);
    listening.begin();
    for responses in [json!(null), json!([]), json!({ "name": "Ada" }), json!({ "name": null })] {
        let (mut call, headers) = stateless(4, "eu");
        call["params"]["inputResponses"] = responses;
        let got = listening.post(&borrowed(&headers), &call);
        assert_eq!(got.messages[0]["error"]["code"], -32602, "{got:?}");
    }
    assert!(service.got("tools/call").is_empty());
}

#[test]
fn a_service_learns_that_an_answer_which_cannot_be_read_is_an_error() {
    let (user, service) = (user(), Service::start());
    let listening = Listening::start(&user, &service, &[]);
    let session = listening.begin();
    let named = [("mcp-session-id", session.as_str())];
    let since = std::time::Instant::now();
    let twice = r#"{"jsonrpc":"2.0","id":"q","result":{},"result":{}}"#;
    let batch = r#"[{"jsonrpc":"2.0","id":"q","result":{"roots":[]}}]"#;
    for (times, answer) in [(1, batch), (2, twice)] {
        let got = listening.post(&named, &request(7, "asks", &json!({})));
        assert_eq!(got.messages[0]["id"], "q", "{got:?}");
        assert_eq!(listening.send("POST", &named, answer).status, 400);
        let answers = || {
            let all = service.got("POST").into_iter().map(|got| got.body);
            all.filter(|body| body["id"] == "q").collect::<Vec<_>>()
        };
        // The service is told after the client has its answer.
        while answers().len() < times {
            assert!(since.elapsed() < LONG, "the service is not told");
        }
        let why = answers()[times - 1]["error"]["message"].to_string();
        assert!(why.contains("the answer of the client cannot be passed on"), "{why}");
    }
}

#[test]
fn a_batch_is_refused_once_and_the_answers_in_it_are_an_error_for_the_service() {
    let (user, service) = (user(), Service::start());
    let listening = Listening::start(&user, &service, &[]);
    let session = listening.begin();
    let named = [("mcp-session-id", session.as_str())];
    let mut told = TcpStream::connect(&listening.address).unwrap();
    told.set_read_timeout(Some(LONG)).unwrap();
    let head =
        format!("GET /mcp HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nmcp-session-id: {session}\r\n\r\n");
    told.write_all(head.as_bytes()).unwrap();
    let mut told = BufReader::new(told);
    let mut line = String::new();
    told.read_line(&mut line).unwrap();
    assert!(line.contains("200"), "{line}");
    let got = listening.post(&named, &request(7, "asks", &json!({})));
    assert_eq!(got.status, 200, "{got:?}");
    let batch = r#"[{"jsonrpc":"2.0","id":"q","result":{"roots":[]}},{"jsonrpc":"2.0","id":8,"method":"ping"}]"#;
    let refused = listening.send("POST", &named, batch);
    assert_eq!((refused.status, &refused.messages[0]["error"]["code"]), (400, &json!(-32600)));
    let since = std::time::Instant::now();
    while !service.got("POST").iter().any(|got| got.body["id"] == "q" && got.body["error"].is_object()) {
        assert!(since.elapsed() < LONG, "the service is not told");
    }
    // What came before this answer has come, and the end of the session ends the stream.
    assert_eq!(listening.post(&named, &request(9, "ping", &json!({}))).status, 200);
    assert_eq!(listening.send("DELETE", &named, "").status, 200);
    let mut rest = String::new();
    told.read_to_string(&mut rest).unwrap();
    assert!(!rest.contains("a batch of messages"), "{rest}");
}

#[test]
fn pages_of_other_places_are_not_answered() {
    let (user, service) = (user(), Service::start());
    let listening = Listening::start(&user, &service, &[]);
    let begin = request(0, "initialize", &json!({}));
    for header in [("host", "evil.example"), ("origin", "https://evil.example"), ("origin", "null")] {
        assert_eq!(listening.post(&[header], &begin).status, 403, "{header:?}");
    }
    for twice in [["http://localhost", "https://evil.example"], ["https://evil.example", "http://localhost"]] {
        let headers = twice.map(|origin| ("origin", origin));
        assert_eq!(listening.post(&headers, &begin).status, 400, "of two readers, each could take another one");
    }
    let absolute = listening.send_to("http://evil.example/mcp", "POST", &[], &begin.to_string());
    assert_eq!(absolute.status, 403, "an address in the request line counts as well");
    let batch = listening.post(&[], &json!([begin]));
    assert_eq!((batch.status, &batch.messages[0]["error"]["code"]), (400, &json!(-32600)));
    assert!(service.got("POST").is_empty());
}

#[test]
fn the_key_of_a_service_is_lent_to_those_alone_who_bring_one() {
    let (user, service) = (user(), Service::start());
    let words = |more: &[&str]| {
        let mut words = vec!["mcp", "--http", &service.address, "--listen"];
        words.extend(more);
        user.command(words.iter().copied())
    };
    let lent = hookhost_tests::Ended::of(words(&["127.0.0.1:0", "--key-variable", "MCP_KEY"]).env("MCP_KEY", "sk-1"));
    lent.expect(2, &["--client-key-variable"]);
    hookhost_tests::Ended::of(&mut words(&["0.0.0.0:0"])).expect(2, &["other machines"]);
    let more = ["--key-variable", "MCP_KEY", "--client-key-variable", "CLIENT_KEY"];
    let listening = Listening::start(&user, &service, &more);
    let begin = request(0, "initialize", &json!({}));
    assert_eq!(listening.post(&[], &begin).status, 401);
    assert_eq!(listening.post(&[("authorization", "Bearer sk-other")], &begin).status, 401);
    assert!(service.got("POST").is_empty());
    assert_eq!(listening.post(&[("authorization", "Bearer sk-client")], &begin).status, 200);
    assert_eq!(service.got("initialize")[0].headers["authorization"], "Bearer sk-service");
}

#[test]
fn a_session_that_was_unused_for_long_makes_room_and_one_that_did_not_begin_takes_none() {
    let (user, service) = (user(), Service::start());
    let listening = Listening::start(&user, &service, &[]);
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } });
    let begin = || listening.post(&[], &request(0, "initialize", &params));
    service.refuse(1);
    let refused = begin();
    assert!(refused.messages[0]["error"].is_object() && !refused.headers.contains_key("mcp-session-id"), "{refused:?}");
    let ping = |session: &str| listening.post(&[("mcp-session-id", session)], &request(9, "ping", &json!({}))).status;
    let first = begin().headers["mcp-session-id"].clone();
    for _ in 0..64 {
        let begun = begin();
        assert_eq!(begun.status, 200, "{begun:?}");
    }
    assert_eq!(ping(&first), 404, "it was the oldest");
}

#[test]
fn a_signal_ends_the_sessions_of_the_service() {
    let (user, service) = (user(), Service::start());
    let mut listening = Listening::start(&user, &service, &[]);
    listening.begin();
    let pid = rustix::process::Pid::from_raw(i32::try_from(listening.child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    super::wait(&mut listening.child);
    assert_eq!(service.got("DELETE").len(), 1);
}

#[test]
fn an_address_that_cannot_be_listened_at_is_said_with_one_that_can() {
    let user = user();
    let run = user.run(["mcp", "--http", "http://127.0.0.1:1/mcp", "--listen", "localhost:8931"]);
    run.expect(2, &["write 127.0.0.1:8931"]);
}
