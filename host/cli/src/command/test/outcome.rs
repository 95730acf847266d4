//! The outcome of an event in the words of case files, and its comparison with what is expected.

use super::case_file::{Expectation, StateValue, States};
use crate::output::{
    difference, one_line,
    truncate::{SHOWN, cut},
};
use hookhost::audit::{CallRecord, EventRecord, Scope};
use hookhost::contract::{Cause, EventKind, OutcomeKind};
use hookhost::session::RecordedOutcome;
use hookhost_telemetry::tally::{RuleName, deciding_rules};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The outcome of an event: that of the log, but with the differences that a person who tests rules must see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::command) enum CaseOutcome {
    Allowed,
    /// Allowed or passed with another value.
    Changed,
    /// Escalated: a person would be asked.
    Asked,
    Responded,
    Rejected,
    /// Rejected or withheld, because a plugin failed.
    Failed,
    Passed,
    Withheld,
    Collected,
    Observed,
    Cancelled,
}

impl CaseOutcome {
    /// Returns the outcome of a recorded event.
    pub(in crate::command) fn of(record: &EventRecord) -> Self {
        match record.outcome {
            OutcomeKind::Rejected | OutcomeKind::Withheld if matches!(record.cause, Some(Cause::Failed(_))) => {
                Self::Failed
            }
            OutcomeKind::Allowed | OutcomeKind::Passed if !record.changed_by.is_empty() => Self::Changed,
            OutcomeKind::Allowed => Self::Allowed,
            OutcomeKind::Responded => Self::Responded,
            OutcomeKind::Escalated => Self::Asked,
            OutcomeKind::Rejected => Self::Rejected,
            OutcomeKind::Passed => Self::Passed,
            OutcomeKind::Withheld => Self::Withheld,
            OutcomeKind::Collected => Self::Collected,
            OutcomeKind::Observed => Self::Observed,
            _ => Self::Cancelled,
        }
    }

    /// Returns the word in case files.
    pub(in crate::command) fn name(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Changed => "changed",
            Self::Asked => "asked",
            Self::Responded => "responded",
            Self::Rejected => "rejected",
            Self::Failed => "failed",
            Self::Passed => "passed",
            Self::Withheld => "withheld",
            Self::Collected => "collected",
            Self::Observed => "observed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// What became of an event.
#[derive(Debug)]
pub(super) struct Actual {
    pub(super) outcome: CaseOutcome,
    /// The rules that decided.
    rules: BTreeSet<RuleName>,
    /// The codes of all findings.
    findings: BTreeSet<String>,
    pub(super) reason: Option<String>,
    /// The arguments of a tool call, or the value of another event, after all changes. Of a response, the response. Of an event that
    /// collects tasks, their prompts.
    pub(super) becomes: Value,
    /// The result of a plugin's tool, or the reason why it has none, if the case runs the tool.
    pub(super) result: Option<String>,
    /// The plugins that failed, each with its failure.
    pub(super) failures: Vec<(String, String)>,
}

impl Actual {
    /// Returns what became of a settled event.
    pub(super) fn of(settled: &RecordedOutcome<Value>) -> Self {
        let record = &*settled.record;
        let asked =
            || record.questions.iter().map(|question| question.escalation.question.as_str()).collect::<Vec<_>>();
        let failure = |call: &CallRecord| {
            let failure = call.failure.as_ref()?;
            Some((call.plugin.clone(), format!("{}{}", failure.kind.opening(), failure.detail)))
        };
        let findings = record.calls.iter().flat_map(|call| &call.findings);
        Self {
            outcome: CaseOutcome::of(record),
            rules: deciding_rules(record),
            findings: findings.map(|finding| finding.code.clone()).collect(),
            reason: record.reason.clone().or_else(|| (!record.questions.is_empty()).then(|| asked().join("; "))),
            becomes: match record.outcome {
                OutcomeKind::Collected => prompts(&settled.outcome),
                _ => becomes(record),
            },
            result: None,
            failures: record.calls.iter().filter_map(failure).collect(),
        }
    }

    /// Returns the codes of the rules that decided, and then those of findings.
    pub(super) fn codes(&self) -> impl Iterator<Item = &str> {
        self.rules.iter().filter_map(|rule| rule.code.as_deref()).chain(self.findings.iter().map(String::as_str))
    }

    /// Returns the plugins that decided.
    pub(super) fn plugins(&self) -> impl Iterator<Item = &str> {
        self.rules.iter().map(|rule| rule.by.as_str())
    }

    /// Compares with what is expected. `state` returns the state of plugins after the event, and `labels` are the labels after it.
    pub(super) fn mismatches(
        &self,
        expected: &Expectation,
        state: impl Fn(&str, Scope, &str) -> Option<Vec<u8>>,
        labels: &BTreeSet<String>,
    ) -> Vec<Mismatch> {
        let mut found = Vec::new();
        if let Some(outcome) = expected.outcome.filter(|outcome| *outcome != self.outcome) {
            found.push(Mismatch::new("outcome", outcome.name(), self.outcome.name()));
        }
        let list = |words: Vec<&str>| if words.is_empty() { "none".to_owned() } else { words.join(", ") };
        if let Some(code) = expected.code.as_deref().filter(|code| !self.codes().any(|actual| actual == *code)) {
            found.push(Mismatch::new("code", code, &list(self.codes().collect())));
        }
        if let Some(plugin) = expected.plugin.as_deref().filter(|name| !self.plugins().any(|actual| actual == *name)) {
            found.push(Mismatch::new("plugin", plugin, &list(self.plugins().collect())));
        }
        let reason = self.reason.as_deref().unwrap_or("none");
        if let Some(part) = expected.reason_contains.as_deref().filter(|part| !reason.contains(part)) {
            found.push(Mismatch::new("reason-contains", part, reason));
        }
        if let Some(value) = &expected.becomes
            && !self.is_value(value)
        {
            found.push(Mismatch { key: "becomes", expected: value.clone(), actual: self.value_like(value) });
        }
        let result = self.result.as_deref().unwrap_or("none");
        if let Some(part) = expected.result_contains.as_deref().filter(|part| !result.contains(part)) {
            found.push(Mismatch::new("result-contains", part, result));
        }
        let after = after(&expected.after, &state);
        if after != expected.after {
            found.push(Mismatch { key: "state-after", expected: json!(expected.after), actual: json!(after) });
        }
        if let Some(wanted) = expected.labels.as_ref().filter(|wanted| *wanted != labels) {
            found.push(Mismatch { key: "labels-after", expected: json!(wanted), actual: json!(labels) });
        }
        found
    }

    fn is_value(&self, expected: &Value) -> bool {
        self.value_like(expected) == *expected
    }

    /// Returns the value in the form in which it is expected: a text is the command of a call, if the call has one.
    fn value_like(&self, expected: &Value) -> Value {
        let command = self.becomes.get("command").filter(|command| expected.is_string() && command.is_string());
        command.unwrap_or(&self.becomes).clone()
    }
}

/// Returns the present values of the keys that are expected. A key that is not there is absent.
fn after(expected: &States, state: &impl Fn(&str, Scope, &str) -> Option<Vec<u8>>) -> States {
    let mut actual = States::new();
    for (plugin, scopes) in expected {
        let of_plugin = actual.entry(plugin.clone()).or_default();
        for (scope, values) in scopes {
            let of_scope: &mut BTreeMap<_, _> = of_plugin.entry(*scope).or_default();
            for (key, expected) in values {
                if let Some(stored) = state(plugin, *scope, key) {
                    let is_same = expected.stored() == stored;
                    let value = if is_same { expected.clone() } else { StateValue::of(&stored) };
                    of_scope.insert(key.clone(), value);
                }
            }
        }
    }
    actual
}

/// Returns the prompts of the tasks that an event has collected.
fn prompts(tasks: &Value) -> Value {
    tasks.as_array().into_iter().flatten().map(|task| task["prompt"].clone()).collect()
}

fn becomes(record: &EventRecord) -> Value {
    let parsed = |value: &RawValue| serde_json::from_str(value.get()).unwrap_or_default();
    if let Some(response) = &record.response {
        return parsed(response);
    }
    let mut value: Value = parsed(record.last.as_ref().unwrap_or(&record.original));
    match value.get_mut("arguments") {
        Some(arguments) if record.event == EventKind::BeforeToolCall => arguments.take(),
        _ => value,
    }
}

/// A key of an event that has another value than expected.
#[derive(Debug, Serialize)]
pub(super) struct Mismatch {
    pub(super) key: &'static str,
    pub(super) expected: Value,
    pub(super) actual: Value,
}

impl Mismatch {
    fn new(key: &'static str, expected: &str, actual: &str) -> Self {
        Self { key, expected: expected.into(), actual: actual.into() }
    }

    /// Describes the mismatch on one or several lines, without styles.
    pub(super) fn describe(&self) -> String {
        let Self { key, expected, actual } = self;
        match (expected, actual) {
            (Value::String(expected), Value::String(actual)) => {
                let shown = |text: &str| cut(&one_line(text), SHOWN);
                format!("{key}: expected {}, and it is {}\n", shown(expected), shown(actual))
            }
            _ => format!("{key} is not as expected\n{}", difference::lines(expected, actual, SHOWN)),
        }
    }
}
