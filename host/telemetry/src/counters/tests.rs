use super::{Counters, METRICS, Value};
use crate::exposition;
use crate::sink::Entry;
use hookhost::audit::Line;
use hookhost::config::Digest;
use serde_json::json;

/// Returns the entry of an event about a tool.
fn event(seq: u64, agent: &str, tool: &str, kind: &str, outcome: &str) -> Entry {
    let call = json!({ "id": format!("c{}", seq / 2), "name": tool, "arguments": {} });
    let original =
        if kind == "after-tool-call" { json!({ "call": call, "tool-result": { "text": "x" } }) } else { call };
    let zeros = "0".repeat(64);
    let text = json!({
        "seq": seq, "previous": zeros, "kind": "event", "id": format!("e{seq}"), "session": format!("{agent}:s"), "time": seq * 1000, "turn": 0,
        "event": kind, "outcome": outcome, "by": [], "changed-by": [], "original": original, "calls": [],
    });
    let line = Line::parse(&text.to_string()).unwrap();
    let record = line.entry().unwrap();
    Entry { line, record, agent: agent.into(), log: Digest::of_bytes(b"log") }
}

fn number(counters: &Counters, metric: &str, labels: &[&str]) -> f64 {
    let metric = METRICS.iter().find(|of| of.name == metric).unwrap();
    let found = counters.of(metric).find(|(values, _)| values.iter().eq(labels.iter()));
    match found {
        Some((_, Value::Number(number))) => *number,
        Some((_, Value::Histogram(counts, _))) => counts.iter().sum::<u64>() as f64,
        None => 0.0,
    }
}

#[test]
fn ten_thousand_names_make_a_bounded_number_of_series_and_each_event_is_counted() {
    let mut counters = Counters::default();
    for number in 0..20_000_u64 {
        let kind = if number % 2 == 0 { "before-tool-call" } else { "after-tool-call" };
        let outcome = if number % 2 == 0 { "allowed" } else { "passed" };
        counters.add(&event(
            number,
            &format!("agent-{}", number / 2 % 1000),
            &format!("tool-{}", number / 2),
            kind,
            outcome,
        ));
    }
    let text = exposition::text(&counters, &[], &[], 0);
    let series: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(series.len() <= 2_000, "{}", series.len());
    let events = METRICS.iter().find(|metric| metric.name == "hookhost.events").unwrap();
    let total: f64 =
        counters.of(events).map(|(_, value)| if let Value::Number(number) = value { *number } else { 0.0 }).sum();
    assert!((total - 20_000.0).abs() < f64::EPSILON, "{total}");
    assert!(number(&counters, "gen_ai.execute_tool.duration", &["_OTHER"]) > 0.0);
    assert!(number(&counters, "hookhost.series.dropped", &[]) > 0.0);
}

#[test]
fn a_label_cannot_end_its_line_or_its_quotation() {
    let mut counters = Counters::default();
    counters.add(&event(0, "codex", "x", "before-tool-call", "allowed"));
    counters.add(&event(1, "codex", "a\"} 1\nfake{b=\"\\", "after-tool-call", "passed"));
    let text = exposition::text(&counters, &[], &[], 0);
    assert!(text.contains(r#"gen_ai_tool_name="a\"} 1\nfake{b=\"\\""#), "{text}");
    assert!(!text.lines().any(|line| line.starts_with("fake")));
}

#[test]
fn saved_counters_go_on_where_they_were() {
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    connection.execute_batch("CREATE TABLE series (key TEXT PRIMARY KEY, value TEXT NOT NULL)").unwrap();
    let mut counters = Counters::default();
    counters.add(&event(2, "codex", "bash", "before-tool-call", "rejected"));
    counters.save(&connection).unwrap();
    let mut statement = connection.prepare("SELECT key, value FROM series").unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let mut counters = Counters::new(rows.map(Result::unwrap).collect());
    counters.add(&event(4, "codex", "bash", "before-tool-call", "rejected"));
    let labels = ["codex", "before-tool-call", "rejected", "enforced"];
    assert!((number(&counters, "hookhost.events", &labels) - 2.0).abs() < f64::EPSILON);
    assert_eq!(counters.start, 2_000);
}
