//! Records of every kind, and what other programs get of them.

mod names;
mod receivers;

use crate::sink::Entry;
use hookhost::audit::Line;
use hookhost::config::Digest;
use hookhost::{Config, Host};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

/// A text that only the content contains.
const SECRET: &str = "hunter2-\u{202e}\u{0}\u{1f600}\"\\\n";

/// Adds sessions to a log, each with two records.
pub(crate) async fn write(log: &Path, sessions: usize) {
    let host = Host::builder(Config::empty()).store(log).build().await.unwrap();
    for _ in 0..sessions {
        drop(host.session("some-agent", "/work").unwrap());
    }
    host.drain(Duration::from_secs(5)).await.unwrap();
}

/// Returns the entry of a record.
fn entry(seq: u64, record: &Value) -> Entry {
    let mut line = json!({ "seq": seq, "previous": "0".repeat(64), "time": 1_790_000_000_000_u64 + seq, "session": "claude-code:s1" });
    if let (Value::Object(line), Value::Object(record)) = (&mut line, record) {
        line.extend(record.clone());
    }
    let line = Line::parse(&line.to_string()).unwrap();
    let record = line.entry().unwrap_or_else(|error| panic!("{error}: {}", line.text()));
    Entry { line, record, agent: "claude-code".into(), log: Digest::of_bytes(b"log") }
}

fn plugin_call(more: &Value) -> Value {
    let mut call = json!({
        "plugin": "shell-guard", "digest": "1".repeat(64), "config": "2".repeat(64), "mode": "enforce", "round": 1, "fuel": 1, "micros": 1500,
    });
    if let (Value::Object(call), Value::Object(more)) = (&mut call, more) {
        call.extend(more.clone());
    }
    call
}

fn event(more: &Value) -> Value {
    let call = json!({ "id": "toolu_1", "name": "Bash", "arguments": { "command": SECRET } });
    let mut event = json!({
        "kind": "event", "id": "e1", "turn": 1, "event": "before-tool-call", "outcome": "allowed", "by": [], "changed-by": [],
        "original": call, "calls": [plugin_call(&json!({ "verdict": "allow" }))],
        "raw": json!({ "prompt_id": "p1", "prompt": SECRET }).to_string(),
    });
    if let (Value::Object(event), Value::Object(more)) = (&mut event, more) {
        event.extend(more.clone());
    }
    event
}

/// Returns an entry of each kind of record, with all optional members.
pub(crate) fn entries() -> Vec<Entry> {
    let call = json!({ "id": "toolu_1", "name": "Bash", "arguments": { "command": SECRET } });
    let refusal = plugin_call(&json!({ "verdict": { "reject": { "reason": SECRET, "code": "git.push" } } }));
    let failure = plugin_call(&json!({ "failure": { "kind": "trap", "detail": SECRET } }));
    let records = [
        json!({ "kind": "log", "version": 2 }),
        json!({
            "kind": "session", "agent": "claude-code", "cwd": SECRET, "workspace": SECRET, "depth": 0, "interactive": true, "tools": [],
            "models": [],
        }),
        event(&json!({})),
        event(&json!({ "event": "after-tool-call", "outcome": "passed",
            "original": { "call": call, "tool-result": { "text": SECRET, "is-error": true }, "source": "tool" } })),
        event(
            &json!({ "outcome": "rejected", "by": ["shell-guard"], "cause": "verdict", "reason": SECRET, "calls": [refusal] }),
        ),
        event(
            &json!({ "outcome": "rejected", "by": ["shell-guard"], "cause": { "failed": "trap" }, "reason": SECRET, "calls": [failure] }),
        ),
        event(&json!({ "outcome": "escalated", "id": "e2", "enforcement": "observed" })),
        event(&json!({ "event": "turn-end", "outcome": "observed", "original": { "text": SECRET }, "calls": [] })),
        json!({ "kind": "answer", "id": "e2", "event": "before-tool-call", "call": "toolu_1", "outcome": "rejected",
            "answer": { "kind": "denied", "reason": SECRET, "micros": 2_000_000, "by": SECRET, "via": "terminal" } }),
        json!({ "kind": "delivery", "id": "e1", "point": "PreToolUse", "what": "unanswered", "note": "the agent got no outcome in time" }),
        json!({ "kind": "operator", "action": "pause", "by": SECRET }),
        json!({ "kind": "rules-changed", "plugins": [] }),
        json!({ "kind": "dropped", "events": { "turn-end": 3 } }),
        json!({ "kind": "observed", "id": "e1", "event": "turn-start", "calls": [] }),
        json!({ "kind": "tool-run", "id": "t1", "turn": 1, "tool": "note", "arguments": { "text": SECRET }, "call": plugin_call(&json!({})) }),
        json!({ "kind": "session-ended" }),
        json!({ "kind": "session-ended", "session": "claude-code:hookhost-doctor" }),
    ];
    (1..).zip(&records).map(|(seq, record)| entry(seq, record)).collect()
}
