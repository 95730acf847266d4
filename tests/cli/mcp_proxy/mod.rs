//! The proxy in front of an MCP server: the test is the client, and a scripted server notes what it is told.

mod approvals;
mod attacks;
mod calls;
mod interceptor;
mod lifetime;
mod listen;
mod questions;
mod service;
mod subscriptions;
mod withheld;

use hookhost_tests::{Entry, User};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const SERVER: &str = env!("CARGO_BIN_EXE_mcp_scripted");

/// How long something is waited for that has to come.
const LONG: Duration = Duration::from_secs(60);

/// Definitions are approved by themselves: for tests that are not about them.
const FIRST_USE: &str = "[mcp-proxy]\ndefinitions = \"first-use\"\n";

fn tool(name: &str, description: &str) -> Value {
    json!({ "name": name, "description": description, "inputSchema": { "type": "object" } })
}

/// A user with these rules, whose plugin is compiled: the resident host loads it in time.
fn user_with(behaviour: Value, more: &str) -> User {
    let user = User::new();
    user.configure(&(more.to_owned() + &Entry::all_events("guard", behaviour).to_toml()));
    user.run(["hooks"]).expect(0, &[]);
    user
}

fn user() -> User {
    let user = User::new();
    user.configure(FIRST_USE);
    user
}

/// A client, and the proxy that it has started.
struct Proxied {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    others: VecDeque<Value>,
    script: PathBuf,
    record: PathBuf,
    next: i64,
}

impl Proxied {
    fn start(user: &User, script: &Value) -> Self {
        Self::start_as(user, "files", script)
    }

    fn start_as(user: &User, name: &str, script: &Value) -> Self {
        let (script, record) =
            (user.write(&format!("{name}.json"), script.to_string()), user.project().join(format!("{name}.record")));
        let words = ["mcp", "--name", name, "--", SERVER, script.to_str().unwrap(), record.to_str().unwrap()];
        Self::of(&mut user.command(words), script, record)
    }

    fn of(command: &mut Command, script: PathBuf, record: PathBuf) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let _ = send.send(line);
            }
        });
        Self { child, input, lines, others: VecDeque::new(), script, record, next: 0 }
    }

    fn send_line(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(format!("{line}\n").as_bytes()).unwrap();
        input.flush().unwrap();
    }

    fn send(&mut self, message: &Value) {
        self.send_line(&message.to_string());
    }

    /// The next line that the client gets.
    fn next_line(&mut self) -> String {
        self.lines.recv_timeout(LONG).unwrap_or_else(|error| panic!("nothing came: {error}"))
    }

    fn next(&mut self) -> Value {
        if let Some(other) = self.others.pop_front() {
            return other;
        }
        serde_json::from_str(&self.next_line()).unwrap()
    }

    /// The answer to this identifier; what else comes is kept for `next`.
    fn answer_to(&mut self, id: &Value) -> Value {
        if let Some(at) = self.others.iter().position(|kept| kept["id"] == *id && kept["method"].is_null()) {
            return self.others.remove(at).unwrap();
        }
        loop {
            let message: Value = serde_json::from_str(&self.next_line()).unwrap();
            if message["id"] == *id && message["method"].is_null() {
                return message;
            }
            self.others.push_back(message);
        }
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.next += 1;
        let id = json!(self.next);
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.request(method, params);
        self.answer_to(&id)
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.ask("tools/call", &json!({ "name": tool, "arguments": arguments }))
    }

    /// Begins as clients do, and lists the tools.
    fn begin(&mut self, capabilities: &Value) -> Vec<String> {
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": { "name": "test", "version": "1" },
        });
        assert_eq!(self.ask("initialize", &params)["result"]["serverInfo"]["name"], "scripted");
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        self.listed()
    }

    /// The names of the tools that are listed.
    fn listed(&mut self) -> Vec<String> {
        let answer = self.ask("tools/list", &json!({}));
        let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}"));
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    /// What the server was told, a line each.
    fn told(&self) -> Vec<String> {
        let text = std::fs::read_to_string(&self.record).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// The messages of this method that the server was told.
    fn told_of(&self, method: &str) -> Vec<Value> {
        let messages = self.told().into_iter().map(|line| serde_json::from_str::<Value>(&line).unwrap());
        messages.filter(|message| message["method"] == method).collect()
    }

    fn rewrite(&self, script: &Value) {
        std::fs::write(&self.script, script.to_string()).unwrap();
    }

    /// The same as `end`, with what the server was told.
    fn end_and_told(self) -> ((Option<i32>, String), Vec<String>) {
        let record = self.record.clone();
        let ended = self.end();
        let text = std::fs::read_to_string(record).unwrap_or_default();
        (ended, text.lines().map(str::to_owned).collect())
    }

    /// Says nothing more, and waits for the end; what the proxy said to its user.
    fn end(mut self) -> (Option<i32>, String) {
        drop(self.input.take());
        let status = wait(&mut self.child);
        let mut said = String::new();
        let _ = self.child.stderr.take().unwrap().read_to_string(&mut said);
        (status, said)
    }
}

impl Drop for Proxied {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn wait(child: &mut Child) -> Option<i32> {
    let since = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        assert!(since.elapsed() < LONG, "the proxy does not end");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"))
}
