//! Counters of the log for monitoring. They are saved together with the position in the log, so a crash neither loses nor doubles an
//! event.
//!
//! The number of series is bounded. What exceeds a bound is counted under `_OTHER`.

use crate::described::{ToolCall, cause_word, is_trial, word};
use crate::names::*;
use crate::sink::Entry;
use crate::tally::deciding_rules;
use hookhost::audit::{EventRecord, Record};
use hookhost::contract::EventKind;
use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The value of a label that has too many values.
pub(crate) const OTHER: &str = "_OTHER";

/// Maximum number of series in the exposition. Each bucket of a histogram is one.
const MAX_SERIES: usize = 1_800;

/// Maximum number of calls without a result that are kept.
const MAX_OPEN_CALLS: usize = 4_096;

/// Bounds of the time that the rules take, in seconds.
const DECISION_SECONDS: &[f64] = &[0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0];

/// Bounds of the time that a person takes, in seconds.
const WAIT_SECONDS: &[f64] = &[1.0, 5.0, 15.0, 60.0, 300.0, 600.0, 3600.0];

/// Bounds of the time that a tool takes, in seconds, as in the semantic conventions.
const TOOL_SECONDS: &[f64] = &[0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];

/// The type of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Counter,
    Gauge,
    /// A distribution of seconds, with the upper bounds of its buckets.
    Histogram(&'static [f64]),
}

/// A metric.
#[derive(Debug)]
pub(crate) struct Metric {
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    pub(crate) kind: Kind,
    pub(crate) labels: &'static [&'static str],
    /// Maximum number of combinations of labels.
    most: usize,
}

const fn metric(
    name: &'static str,
    help: &'static str,
    kind: Kind,
    labels: &'static [&'static str],
    most: usize,
) -> Metric {
    Metric { name, help, kind, labels, most }
}

/// The metrics that are counted from records.
pub(crate) const METRICS: &[Metric] = &[
    metric(METRIC_EVENTS, "Events by outcome.", Kind::Counter, &["agent", "event", "outcome", "applied"], 300),
    metric(
        METRIC_DECISIONS,
        "Decisions by the rule that made them.",
        Kind::Counter,
        &["plugin", "rule", "outcome"],
        500,
    ),
    metric(METRIC_FAILURES, "Failures of plugins.", Kind::Counter, &["plugin", "kind"], 100),
    metric(METRIC_REJECTIONS, "Rejections by cause.", Kind::Counter, &["cause"], 20),
    metric(METRIC_APPROVALS, "Answers to questions.", Kind::Counter, &["answer", "via"], 50),
    metric(METRIC_APPROVAL_WAIT, "Time until a person answered.", Kind::Histogram(WAIT_SECONDS), &[], 1),
    metric(METRIC_DELIVERIES, "Outcomes that an agent got otherwise.", Kind::Counter, &["agent", "what"], 60),
    metric(
        METRIC_DURATION,
        "Time that the plugins took for an event.",
        Kind::Histogram(DECISION_SECONDS),
        &["event"],
        30,
    ),
    metric(METRIC_TOOL_DURATION, "Time that a tool took.", Kind::Histogram(TOOL_SECONDS), &["gen_ai.tool.name"], 64),
    metric(METRIC_LAST_EVENT, "Time of an agent's last event, in seconds since 1970.", Kind::Gauge, &["agent"], 40),
    metric(METRIC_SERIES_DROPPED, "Events that were counted under _OTHER.", Kind::Counter, &[], 1),
];

/// The value of a series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Value {
    Number(f64),
    /// The number of values in each bucket, the last one without bound, and the sum of all values.
    Histogram(Vec<u64>, f64),
}

/// The name of a metric and the values of its labels.
pub(crate) type Key = Vec<String>;

/// All series.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    series: BTreeMap<Key, Value>,
    changed: BTreeSet<Key>,
    /// The number of combinations of labels of each metric.
    combinations: HashMap<String, usize>,
    /// The number of series in the exposition.
    size: usize,
    /// Times at which calls began, by session and identifier, in milliseconds.
    open_calls: HashMap<(String, String), u64>,
    /// Time of the first record, in milliseconds.
    pub(crate) start: u64,
}

impl Counters {
    /// Creates the counters with the saved series.
    pub(crate) fn new(saved: Vec<(String, String)>) -> Self {
        let mut counters = Self::default();
        for (key, value) in saved {
            let (Ok(key), Ok(value)) = (serde_json::from_str::<Key>(&key), serde_json::from_str::<Value>(&value))
            else {
                continue;
            };
            match (key.as_slice(), &value) {
                ([name], Value::Number(start)) if name == "start" => counters.start = *start as u64,
                _ => {
                    counters.note_size(&key, &value);
                    counters.series.insert(key, value);
                }
            }
        }
        counters
    }

    /// Returns the series of a metric.
    pub(crate) fn of<'a>(&'a self, metric: &'a Metric) -> impl Iterator<Item = (&'a [String], &'a Value)> {
        let series = self.series.iter().filter(|(key, _)| key.first().is_some_and(|name| name == metric.name));
        series.map(|(key, value)| (key.get(1..).unwrap_or_default(), value))
    }

    /// Counts a record.
    pub(crate) fn add(&mut self, entry: &Entry) {
        if self.start == 0 {
            self.start = entry.record.time();
        }
        if is_trial(&entry.record, &entry.agent) {
            return;
        }
        let agent = entry.agent.as_str();
        match &entry.record {
            Record::Event(event) => self.add_event(event, agent),
            Record::Approval(answer) => {
                let via = answer.answer.via.as_deref().unwrap_or("");
                self.count(METRIC_APPROVALS, &[&word(&answer.answer.kind), via]);
                if answer.answer.via.is_some() {
                    self.measure(METRIC_APPROVAL_WAIT, &[], answer.answer.micros as f64 / 1e6);
                }
            }
            Record::Delivery(delivery) => self.count(METRIC_DELIVERIES, &[agent, delivery.what.name()]),
            _ => {}
        }
    }

    fn add_event(&mut self, event: &EventRecord, agent: &str) {
        let outcome = event.outcome.name();
        self.count(METRIC_EVENTS, &[agent, event.event.name(), outcome, &word(&event.enforcement)]);
        self.set(METRIC_LAST_EVENT, &[agent], event.header.time as f64 / 1e3);
        for rule in deciding_rules(event) {
            self.count(METRIC_DECISIONS, &[&rule.by, rule.code.as_deref().unwrap_or(""), outcome]);
        }
        for (call, failure) in event.calls.iter().filter_map(|call| Some((call, call.failure.as_ref()?))) {
            self.count(METRIC_FAILURES, &[&call.plugin, &word(&failure.kind)]);
        }
        if let Some(cause) = event.cause {
            self.count(METRIC_REJECTIONS, &[cause_word(cause)]);
        }
        if !event.calls.is_empty() {
            self.measure(METRIC_DURATION, &[event.event.name()], event.wall_micros() as f64 / 1e6);
        }
        self.add_tool_time(event);
    }

    /// Measures the time from the permission of a call to its result.
    fn add_tool_time(&mut self, event: &EventRecord) {
        if !matches!(event.event, EventKind::BeforeToolCall | EventKind::AfterToolCall) {
            return;
        }
        let Some(call) = ToolCall::of(event).filter(|call| !call.id.is_empty()) else { return };
        let key = (event.header.session.clone(), call.id);
        if event.event == EventKind::BeforeToolCall {
            if event.outcome.is_no() && event.enforcement.is_enforced() {
                return;
            }
            if self.open_calls.len() >= MAX_OPEN_CALLS {
                self.open_calls.clear();
            }
            self.open_calls.insert(key, event.header.time);
        } else if let Some(began) = self.open_calls.remove(&key) {
            let seconds = event.header.time.saturating_sub(began) as f64 / 1e3;
            self.measure(METRIC_TOOL_DURATION, &[&call.name], seconds);
        }
    }

    fn count(&mut self, metric: &'static str, labels: &[&str]) {
        if let Value::Number(number) = self.value(metric, labels) {
            *number += 1.0;
        }
    }

    fn set(&mut self, metric: &'static str, labels: &[&str], to: f64) {
        if let Value::Number(number) = self.value(metric, labels) {
            *number = to;
        }
    }

    fn measure(&mut self, metric: &'static str, labels: &[&str], measured: f64) {
        let bounds = bounds(metric);
        if let Value::Histogram(counts, sum) = self.value(metric, labels) {
            let bucket = bounds.partition_point(|bound| *bound < measured);
            if let Some(count) = counts.get_mut(bucket) {
                *count += 1;
            }
            *sum += measured;
        }
    }

    /// Returns the value of a series, or that of `_OTHER` if there would be too many series.
    fn value(&mut self, metric: &'static str, labels: &[&str]) -> &mut Value {
        let key_of = |labels: &mut dyn Iterator<Item = &str>| -> Key {
            std::iter::once(metric).chain(labels).map(str::to_owned).collect()
        };
        let mut key = key_of(&mut labels.iter().copied());
        let new = match bounds(metric) {
            [] => Value::Number(0.0),
            bounds => Value::Histogram(vec![0; bounds.len() + 1], 0.0),
        };
        if !self.series.contains_key(&key) && !labels.is_empty() && !self.has_room(metric, &new) {
            key = key_of(&mut labels.iter().map(|_| OTHER));
            self.count(METRIC_SERIES_DROPPED, &[]);
        }
        if !self.series.contains_key(&key) {
            self.note_size(&key, &new);
        }
        self.changed.insert(key.clone());
        self.series.entry(key).or_insert(new)
    }

    fn has_room(&self, metric: &str, new: &Value) -> bool {
        let most = METRICS.iter().find(|of| of.name == metric).map_or(0, |metric| metric.most);
        let combinations = self.combinations.get(metric).copied().unwrap_or(0);
        combinations < most && self.size + size(new) <= MAX_SERIES
    }

    fn note_size(&mut self, key: &Key, value: &Value) {
        self.size += size(value);
        if let Some(name) = key.first() {
            *self.combinations.entry(name.clone()).or_default() += 1;
        }
    }

    /// Writes the series that have changed.
    pub(crate) fn save(&self, connection: &Connection) -> rusqlite::Result<()> {
        let mut statement = connection.prepare_cached("REPLACE INTO series VALUES (?1, ?2)")?;
        for key in &self.changed {
            if let (Some(value), Ok(key)) = (self.series.get(key), serde_json::to_string(key)) {
                statement.execute(params![key, serde_json::to_string(value).unwrap_or_default()])?;
            }
        }
        let start = serde_json::to_string(&Value::Number(self.start as f64)).unwrap_or_default();
        statement.execute(params![r#"["start"]"#, start])?;
        Ok(())
    }

    /// Forgets which series have changed, because the written ones are committed.
    pub(crate) fn saved(&mut self) {
        self.changed.clear();
    }
}

fn bounds(metric: &str) -> &'static [f64] {
    match METRICS.iter().find(|of| of.name == metric).map(|metric| metric.kind) {
        Some(Kind::Histogram(bounds)) => bounds,
        _ => &[],
    }
}

/// Returns the number of series that a value is in the exposition.
fn size(value: &Value) -> usize {
    match value {
        Value::Number(_) => 1,
        Value::Histogram(counts, _) => counts.len() + 2,
    }
}

#[cfg(test)]
mod tests;
