//! A client in front of a proxy, whose other side is a scripted program that notes what it is told.

use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// The scripted program.
pub(crate) const SCRIPTED: &str = env!("CARGO_BIN_EXE_mcp_scripted");

/// How long something is waited for that has to come.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// A client, and the proxy that it has started.
pub(crate) struct Proxied {
    pub(crate) child: Child,
    pub(crate) input: Option<ChildStdin>,
    pub(crate) lines: Receiver<String>,
    pub(crate) others: VecDeque<Value>,
    pub(crate) script: PathBuf,
    pub(crate) record: PathBuf,
    pub(crate) next: i64,
}

impl Proxied {
    pub(crate) fn of(command: &mut Command, script: PathBuf, record: PathBuf) -> Self {
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

    pub(crate) fn send_line(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(format!("{line}\n").as_bytes()).unwrap();
        input.flush().unwrap();
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.send_line(&message.to_string());
    }

    /// The next line that the client gets.
    pub(crate) fn next_line(&mut self) -> String {
        self.lines.recv_timeout(LONG).unwrap_or_else(|error| panic!("nothing came: {error}"))
    }

    pub(crate) fn next(&mut self) -> Value {
        if let Some(other) = self.others.pop_front() {
            return other;
        }
        serde_json::from_str(&self.next_line()).unwrap()
    }

    /// The answer to this identifier; what else comes is kept for `next`.
    pub(crate) fn answer_to(&mut self, id: &Value) -> Value {
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

    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Value {
        self.next += 1;
        let id = json!(self.next);
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.request(method, params);
        self.answer_to(&id)
    }

    /// What the other side was told, a line each.
    pub(crate) fn told(&self) -> Vec<String> {
        let text = std::fs::read_to_string(&self.record).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// The messages of this method that the other side was told.
    pub(crate) fn told_of(&self, method: &str) -> Vec<Value> {
        let messages = self.told().into_iter().map(|line| serde_json::from_str::<Value>(&line).unwrap());
        messages.filter(|message| message["method"] == method).collect()
    }

    pub(crate) fn rewrite(&self, script: &Value) {
        std::fs::write(&self.script, script.to_string()).unwrap();
    }

    /// The same as `end`, with what the other side was told.
    pub(crate) fn end_and_told(self) -> ((Option<i32>, String), Vec<String>) {
        let record = self.record.clone();
        let ended = self.end();
        let text = std::fs::read_to_string(record).unwrap_or_default();
        (ended, text.lines().map(str::to_owned).collect())
    }

    /// Says nothing more, and waits for the end; what the proxy said to its user.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
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

pub(crate) fn wait(child: &mut Child) -> Option<i32> {
    let since = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        assert!(since.elapsed() < LONG, "the proxy does not end");
        std::thread::sleep(Duration::from_millis(5));
    }
}
