//! An example that writes the audit log to a file of the program: a sink gets each record as one line of JSON.
//!
//! `cargo run -p hookhost --example audit_to_a_file`
//!
//! Prints:
//! ```text
//! session
//! event: before-tool-call is allowed
//! event: before-tool-call is rejected
//! session-ended
//! ```

use hookhost::audit::{AuditSink, Record};
use hookhost::contract::{Refusal, ToolCall};
use hookhost::{Config, Host};
use serde_json::json;
use std::fs::File;
use std::io::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

struct JsonLines(Mutex<File>);

impl AuditSink for JsonLines {
    /// The record of a gate event arrives before the agent gets the outcome. If this method fails, the event is
    /// rejected. With a call of `sync_data` after the line, the record would also survive a power cut.
    fn take(&self, record: &str) -> Result<(), String> {
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        writeln!(file, "{record}").map_err(|error| format!("the audit file cannot be written: {error}"))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::temp_dir().join(format!("audit-{}.jsonl", std::process::id()));
    let sink = JsonLines(Mutex::new(File::create_new(&path)?));

    // If you also call `.store(file)`, the records are also in hookhost's own log, in which each line contains the hash
    // of the previous line.
    let host = Host::builder(Config::empty())
        .rule("no-deploys", |call: &ToolCall| (call.name == "deploy").then(|| Refusal::new("deploys are frozen")))
        .audit(sink)
        .build()
        .await?;
    let session = host.session("my-agent", std::env::current_dir()?)?;
    for name in ["bash", "deploy"] {
        let _ = session.check_tool(name, &json!({})).await;
    }
    // Dropping a session records its end, and `drain` waits until the last record is written.
    drop(session);
    host.drain(Duration::from_secs(2)).await?;

    for line in std::fs::read_to_string(&path)?.lines() {
        let record = Record::from_json(line)?;
        match (record.event(), record.outcome()) {
            (Some(event), Some(outcome)) => println!("{}: {event} is {outcome}", record.kind()),
            _ => println!("{}", record.kind()),
        }
    }
    std::fs::remove_file(&path)?;
    Ok(())
}
