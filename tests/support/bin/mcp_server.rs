//! A small MCP server for tests, which is correct, or faulty in the way that its first argument names.
//!
//! | argument | behaviour |
//! |---|---|
//! | `good` | offers `say`, `image`, `environment`, `fork` and `quit` |
//! | `ends` | writes a line to its standard error and ends with exit code 3 |
//! | `silent` | reads, and never answers |
//! | `garbage` | writes a line that is no JSON, one that is no message and one of 17 MiB before each answer |
//! | `many` | lists 10 000 tools |
//! | `http` | is `good` over streamable HTTP; its first line of output is its address |
//! | `http-events` | is `http`, and answers with event streams |
//!
//! The tool `flood` answers too much, in the way that its argument `kind` names: `values`, `blocks`, `large`, `endless`, and over HTTP
//! `endless-events`. With `pings` it first sends the caller more requests than a pipe holds answers for, and reads no answer.
//!
//! A second argument names a file that it creates first, so that a test can see that it was started.

use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let mode = arguments.next().unwrap_or_default();
    if let Some(file) = arguments.next() {
        std::fs::write(file, "started").expect("the file can be written");
    }
    match mode.as_str() {
        "ends" => {
            eprintln!("no licence was found");
            return ExitCode::from(3);
        }
        "http" => serve_http("application/json"),
        "http-events" => serve_http("text/event-stream"),
        mode => serve_stdio(mode),
    }
    ExitCode::SUCCESS
}

fn serve_stdio(mode: &str) {
    let mut output = std::io::stdout();
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        if mode == "silent" {
            continue;
        }
        if mode == "garbage" {
            let huge = "x".repeat(17 * 1024 * 1024);
            let _ = write!(output, "not JSON\n{{\"jsonrpc\":\"1.0\"}}\n{huge}\n");
        }
        let message: Value = serde_json::from_str(&line).unwrap_or_default();
        if flood(&message) == "endless" {
            while output.write_all(&[b'x'; 64 * 1024]).is_ok() {}
        }
        if flood(&message) == "pings" {
            for ping in pings() {
                let _ = writeln!(output, "{ping}");
            }
        }
        if let Some(answer) = answer(&message, mode) {
            let _ = writeln!(output, "{answer}");
            let _ = output.flush();
        }
    }
}

/// Returns the answer to a request; `None` for a notification.
fn answer(message: &Value, mode: &str) -> Option<Value> {
    let id = message.get("id")?;
    let result = match message["method"].as_str().unwrap_or_default() {
        "initialize" => json!({
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "test", "version": "1" },
        }),
        "tools/list" => json!({ "tools": tools(mode) }),
        "tools/call" => match called(&message["params"]) {
            Ok(_) if flood(message) == "values" => {
                json!({ "content": [], "structuredContent": { "n": vec![0; 100_001] } })
            }
            Ok(content) if flood(message) == "blocks" => json!({ "content": vec![content; 1_001] }),
            Ok(content) => json!({ "content": [content] }),
            Err(why) => {
                return Some(json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32602, "message": why } }));
            }
        },
        _ => json!({}),
    };
    Some(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

/// Returns the kind of flood; empty for other calls.
fn flood(message: &Value) -> &str {
    let params = &message["params"];
    let kind = params["arguments"]["kind"].as_str().filter(|_| params["name"] == "flood");
    kind.unwrap_or_default()
}

/// Requests whose answers are more than a pipe holds.
fn pings() -> impl Iterator<Item = Value> {
    (0..20_000).map(|id| json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }))
}

fn tools(mode: &str) -> Vec<Value> {
    let tool = |name: &str| json!({ "name": name, "description": format!("does {name}"), "inputSchema": { "type": "object" } });
    match mode {
        "many" => (0..10_000).map(|number| tool(&format!("tool-{number}"))).collect(),
        _ => ["say", "image", "environment", "fork", "quit", "flood"].map(tool).to_vec(),
    }
}

fn called(params: &Value) -> Result<Value, String> {
    let text = |text: String| Ok(json!({ "type": "text", "text": text }));
    let arguments = &params["arguments"];
    match params["name"].as_str().unwrap_or_default() {
        "say" => text(format!("said {}", arguments["text"].as_str().unwrap_or_default())),
        "image" => Ok(json!({ "type": "image", "data": "AAAA", "mimeType": "image/png" })),
        "environment" => {
            let name = arguments["name"].as_str().unwrap_or_default();
            text(std::env::var(name).unwrap_or_else(|_| "not there".into()))
        }
        "fork" => {
            let child = Command::new("sleep").arg("1000").spawn().map_err(|error| error.to_string())?;
            text(child.id().to_string())
        }
        "flood" if arguments["kind"] == "large" => text("x".repeat(17 * 1024 * 1024)),
        "flood" => text("x".into()),
        "quit" => {
            eprintln!("I have had enough");
            std::process::exit(7)
        }
        other => Err(format!("there is no `{other}` here")),
    }
}

fn serve_http(kind: &'static str) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port on loopback");
    println!("http://{}/mcp", listener.local_addr().expect("its address"));
    for stream in listener.incoming().flatten() {
        std::thread::spawn(move || exchange(&stream, kind));
    }
}

/// Serves one request of a connection. A client without the key is rejected.
fn exchange(mut stream: &TcpStream, kind: &str) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let (mut length, mut first, mut allowed) = (0, String::new(), false);
    reader.read_line(&mut first)?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let lower = line.trim().to_ascii_lowercase();
        if lower.is_empty() {
            break;
        }
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        allowed |= lower == "authorization: bearer let-me-in";
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    if allowed && message.get("result").is_some() {
        // The answer to a ping gets no response until the caller closes the connection.
        return reader.read_to_end(&mut Vec::new()).map(drop);
    }
    let is_endless = allowed && flood(&message).starts_with("endless");
    let (status, body) = match answer(&message, "good") {
        _ if !allowed => ("401 Unauthorized", String::new()),
        _ if !first.starts_with("POST") => ("405 Method Not Allowed", String::new()),
        Some(answer) if kind == "text/event-stream" => {
            let pings = pings().filter(|_| flood(&message) == "pings");
            ("200 OK", pings.chain([answer]).map(|message| format!("data: {message}\n\n")).collect())
        }
        Some(answer) => ("200 OK", answer.to_string()),
        None => ("202 Accepted", String::new()),
    };
    write!(stream, "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nconnection: close\r\n")?;
    if is_endless {
        let event = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n";
        let part = if flood(&message) == "endless" { "x".repeat(64 * 1024) } else { event.repeat(1_000) };
        write!(stream, "\r\ndata: ")?;
        loop {
            stream.write_all(part.as_bytes())?;
        }
    }
    write!(stream, "content-length: {}\r\n\r\n{body}", body.len())
}
