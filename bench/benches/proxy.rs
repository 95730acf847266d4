//! Measures the time that the MCP proxy adds to a call of a tool: over standard input and output, over HTTP, and with a hundred calls at
//! once. `cargo run -p bench -- budgets --only proxy` runs this benchmark.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot continue stops")]

mod home;

use bench::measure::{Compared, compare, spoken};
use bench::table::{Row, Table};
use home::Home;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Maximum time that the proxy may add to a call.
const MAX_ADDED: Duration = Duration::from_micros(150);

/// Number of concurrent calls.
const CONCURRENT_CALLS: usize = 100;

/// Time that the tool takes for each of these calls.
const WORK_TIME: Duration = Duration::from_millis(50);

/// Maximum ratio of the time of these calls with the proxy to their time without it.
const MAX_RATIO: f64 = 1.1;

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("server") => return serve(),
        Some("bare-proxy") => return pass_on(),
        Some("bare-host") => return std::io::stdin().lock().lines().map_while(Result::ok).for_each(|line| say(&line)),
        _ => {}
    }
    let Some(hookhost) = home::program("HOOKHOST_COMMAND") else {
        println!("(the rows of the proxy need HOOKHOST_COMMAND: run `cargo run -p bench -- budgets`)");
        return;
    };
    // With this setting, the definitions of the server's tools are approved at their first use.
    let user = User { home: Home::new("[mcp-proxy]\ndefinitions = \"first-use\"\n\n"), hookhost };
    let mut table = Table::begin();
    lines(&mut table, &user);
    http(&mut table, &user);
    user.hookhost(&["serve", "--stop"]).stderr(Stdio::null()).status().unwrap();
    table.end();
}

fn lines(table: &mut Table, user: &User) {
    let own = std::env::current_exe().unwrap();
    let mut direct = LineClient::start(Command::new(&own).arg("server"));
    let mut proxied =
        LineClient::start(&mut user.hookhost(&["mcp", "--name", "bench", "--", own.to_str().unwrap(), "server"]));
    let mut bare = LineClient::start(Command::new(&own).arg("bare-proxy"));
    let least = more(&compare(|| bare.call("say"), || direct.call("say")));
    let least = format!("; {} more behind a proxy and a host that pass it on unread", spoken(least));
    let compared = compare(|| proxied.call("say"), || direct.call("say"));
    added(table, "a `tools/call` behind the proxy, over the standard input and output", &compared, &least);
    let compared = compare(|| proxied.calls("work"), || direct.calls("work"));
    let what =
        format!("{CONCURRENT_CALLS} calls at once on one connection, of a tool that takes {}", spoken(WORK_TIME));
    let why = "Their events are settled one after the other, in the order of their session, while the tool works.";
    let row = Row { what: &what, component: "no-force-push", log: "on", why };
    table.compared(&row, &compared, "without the proxy", Some(MAX_RATIO));
}

fn http(table: &mut Table, user: &User) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let service = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || while exchange(&stream).is_some() {});
        }
    });
    let url = format!("http://{service}/mcp");
    let mut command = user.hookhost(&["mcp", "--name", "bench", "--http", &url, "--listen", "127.0.0.1:0"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("listening at http://").unwrap().trim_end_matches("/mcp").to_owned();
    let (mut proxied, mut direct) = (HttpClient::start(&address), HttpClient::start(&service));
    let compared = compare(|| proxied.call(), || direct.call());
    added(table, "a `tools/call` behind the proxy, over HTTP on both sides", &compared, "");
    child.kill().unwrap();
    child.wait().unwrap();
}

fn more(compared: &Compared) -> Duration {
    compared.subject.median.saturating_sub(compared.reference.median)
}

fn added(table: &mut Table, what: &str, compared: &Compared, least: &str) {
    let added = more(compared);
    let why = "Two events of the resident host, each of which wakes two processes.";
    let row = Row { what, component: "no-force-push", log: "on", why };
    let measured = format!("{} more", spoken(added));
    let reference = format!("{} against {}{least}", spoken(compared.subject.median), spoken(compared.reference.median));
    table.beside(&row, &measured, &reference, "≤ 150 µs", added <= MAX_ADDED);
}

/// A user of the command.
struct User {
    home: Home,
    hookhost: PathBuf,
}

impl User {
    fn hookhost(&self, words: &[&str]) -> Command {
        let mut command = self.home.command(&self.hookhost);
        command.args(words);
        command
    }
}

/// Returns the messages with which each client begins.
fn beginning() -> [Value; 3] {
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "bench", "version": "1" },
    });
    [
        json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }),
    ]
}

fn call_of(id: u64, tool: &str) -> String {
    let params = json!({ "name": tool, "arguments": { "text": "the quick brown fox", "number": id } });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string()
}

/// A process that exchanges lines over its standard input and output.
struct LineProcess {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl LineProcess {
    fn start(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output }
    }

    fn send(&mut self, line: &str) {
        self.input.as_mut().unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    fn receive(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }
}

/// A client over the standard input and output.
struct LineClient {
    process: LineProcess,
    next: u64,
}

impl LineClient {
    fn start(command: &mut Command) -> Self {
        let mut client = Self { process: LineProcess::start(command), next: 2 };
        for message in beginning() {
            client.process.send(&message.to_string());
            if message["id"].is_u64() {
                assert!(client.process.receive().contains("\"result\""));
            }
        }
        client.call("say");
        client
    }

    fn call(&mut self, tool: &str) {
        self.next += 1;
        self.process.send(&call_of(self.next, tool));
        let answer = self.process.receive();
        assert!(answer.contains("done"), "{answer}");
    }

    fn calls(&mut self, tool: &str) {
        for _ in 0..CONCURRENT_CALLS {
            self.next += 1;
            self.process.send(&call_of(self.next, tool));
        }
        for _ in 0..CONCURRENT_CALLS {
            assert!(self.process.receive().contains("done"));
        }
    }
}

impl Drop for LineProcess {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

/// Serves MCP. Answers each call with one line, and a call of `work` only after [`WORK_TIME`].
fn serve() {
    let (send, late) = std::sync::mpsc::channel::<(Instant, String)>();
    let writer = thread::spawn(move || {
        for (due, line) in late {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            say(&line);
        }
    });
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let message: Value = serde_json::from_str(&line).unwrap();
        let Some(answer) = answer(&message) else { continue };
        if message["params"]["name"] == "work" {
            send.send((Instant::now() + WORK_TIME, answer)).unwrap();
        } else {
            say(&answer);
        }
    }
    drop(send);
    writer.join().unwrap();
}

/// Runs a proxy that sends a request to a host before and after each message. Neither the proxy nor the host parses the message, so this
/// shows the cost of the processes alone.
fn pass_on() {
    let own = std::env::current_exe().unwrap();
    let [mut server, mut host] = ["server", "bare-host"].map(|role| LineProcess::start(Command::new(&own).arg(role)));
    let mut asked = |line: &str| {
        host.send(line);
        host.receive().trim_end().to_owned()
    };
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        server.send(&asked(&line));
        if line.contains("\"id\":") {
            say(&asked(server.receive().trim_end()));
        }
    }
}

fn say(line: &str) {
    let mut output = std::io::stdout().lock();
    output.write_all(format!("{line}\n").as_bytes()).unwrap();
    output.flush().unwrap();
}

fn answer(message: &Value) -> Option<String> {
    let schema = json!({ "type": "object" });
    let result = match message["method"].as_str()? {
        "initialize" => json!({
            "protocolVersion": "2025-11-25", "capabilities": { "tools": {} }, "serverInfo": { "name": "bench", "version": "1" },
        }),
        "tools/list" => json!({ "tools": [
            { "name": "say", "description": "says", "inputSchema": schema },
            { "name": "work", "description": "works", "inputSchema": schema },
        ] }),
        "tools/call" => json!({ "content": [{ "type": "text", "text": "done" }] }),
        _ => return None,
    };
    Some(json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }).to_string())
}

/// Answers one request on a connection. Returns `None` at the end of the connection.
fn exchange(mut stream: &TcpStream) -> Option<()> {
    let (head, body) = read_message(&mut BufReader::new(stream))?;
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let (status, body) = match answer(&message) {
        _ if !head.starts_with("POST") => ("405 Method Not Allowed", String::new()),
        Some(answer) => ("200 OK", answer),
        None => ("202 Accepted", String::new()),
    };
    let length = body.len();
    let answer =
        format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}");
    stream.write_all(answer.as_bytes()).ok()
}

/// Reads an HTTP message. Returns its head, which is the first line with the headers, and its body.
fn read_message(from: &mut impl std::io::BufRead) -> Option<(String, Vec<u8>)> {
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if from.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line == "\r\n" {
            break;
        }
        let lower = line.to_ascii_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    from.read_exact(&mut body).ok()?;
    Some((head, body))
}

/// A client over HTTP, on one connection.
struct HttpClient {
    stream: TcpStream,
    answers: BufReader<TcpStream>,
    session: String,
    next: u64,
}

impl HttpClient {
    fn start(address: &str) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        let answers = BufReader::new(stream.try_clone().unwrap());
        let mut client = Self { stream, answers, session: String::new(), next: 2 };
        for message in beginning() {
            client.post(&message.to_string());
        }
        client.call();
        client
    }

    fn post(&mut self, body: &str) -> String {
        let request = format!(
            "POST /mcp HTTP/1.1\r\nhost: localhost\r\naccept: application/json, text/event-stream\r\n{}content-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            self.session,
            body.len()
        );
        self.stream.write_all(request.as_bytes()).unwrap();
        let (head, body) = read_message(&mut self.answers).unwrap();
        let named = head.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        if let Some(session) = named {
            self.session = format!("mcp-session-id: {session}\r\n");
        }
        String::from_utf8(body).unwrap()
    }

    fn call(&mut self) {
        self.next += 1;
        let answer = self.post(&call_of(self.next, "say"));
        assert!(answer.contains("done"), "{answer}");
    }
}
