//! Runs hookhost in a separate process, which decides on events on request: `bench/benches/event_server.rs`.

use crate::call::Call;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

pub(crate) struct EventServer {
    process: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl EventServer {
    pub(crate) fn start(program: &Path) -> Result<Self, String> {
        let started = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut process = started.map_err(|error| format!("cannot start {}: {error}", program.display()))?;
        let (Some(requests), Some(answers)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(format!("{} has no pipes", program.display()));
        };
        Ok(Self { process, requests, answers: BufReader::new(answers) })
    }

    /// Returns the time of `events` events under a rule, and true if they were rejected.
    pub(crate) fn ask(&mut self, rule: &str, call: &Call, events: u32) -> Result<(Duration, bool), String> {
        let request = json!({ "rule": rule, "command": call.command, "events": events });
        let mut line = String::new();
        let answered = writeln!(self.requests, "{request}").and_then(|()| self.answers.read_line(&mut line));
        answered.map_err(|error| format!("hookhost does not answer: {error}"))?;
        let answer: Value = serde_json::from_str(&line).map_err(|_| format!("hookhost answers {line:?}"))?;
        match (answer["nanoseconds"].as_u64(), answer["rejected"].as_bool()) {
            (Some(nanoseconds), Some(rejected)) => Ok((Duration::from_nanos(nanoseconds), rejected)),
            _ => Err(format!("hookhost answers {line:?}")),
        }
    }
}

impl Drop for EventServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
