//! Reads the log as rows, the newest first.

use hookhost::audit::{EventRecord, Line, Record};
use hookhost::config::Enforcement;
use hookhost::contract::{OutcomeKind, Shape};
use hookhost::store::Log;
use hookhost_telemetry::explained::newest_first;
use hookhost_telemetry::tally::{agent_of_session, deciding_rules, is_proof};
use serde_json::Value;
use serde_json::value::RawValue;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// What became of an event, as one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Allowed,
    Asked,
    Cancelled,
    Changed,
    Masked,
    Noted,
    Rejected,
    Responded,
    Withheld,
}

impl Verdict {
    /// Returns the verdict of an event.
    pub(crate) fn of(record: &EventRecord) -> Self {
        let is_changed = !record.changed_by.is_empty();
        match record.outcome {
            OutcomeKind::Escalated => Self::Asked,
            OutcomeKind::Rejected => Self::Rejected,
            OutcomeKind::Withheld => Self::Withheld,
            OutcomeKind::Responded => Self::Responded,
            OutcomeKind::Cancelled => Self::Cancelled,
            OutcomeKind::Passed if is_changed && record.event.shape() == Shape::Transform => Self::Masked,
            OutcomeKind::Allowed | OutcomeKind::Passed if is_changed => Self::Changed,
            OutcomeKind::Allowed | OutcomeKind::Passed => Self::Allowed,
            _ => Self::Noted,
        }
    }

    /// Returns the word.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Asked => "asked",
            Self::Cancelled => "given up",
            Self::Changed => "changed",
            Self::Masked => "masked",
            Self::Noted => "noted",
            Self::Rejected => "rejected",
            Self::Responded => "answered",
            Self::Withheld => "withheld",
        }
    }

    /// Returns the shape that says the same as the colour.
    pub(crate) fn shape(self) -> &'static str {
        match self {
            Self::Allowed => "✓",
            Self::Asked => "?",
            Self::Cancelled => "–",
            Self::Changed | Self::Masked => "≠",
            Self::Noted => "·",
            Self::Rejected | Self::Withheld => "✕",
            Self::Responded => "↩",
        }
    }

    /// Returns the class of the colour.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Allowed => "yes",
            Self::Asked => "ask",
            Self::Changed | Self::Masked | Self::Responded => "change",
            Self::Rejected | Self::Withheld => "no",
            Self::Cancelled | Self::Noted => "none",
        }
    }
}

/// An event in a list.
#[derive(Clone, Debug)]
pub(crate) struct EventRow {
    pub(crate) seq: u64,
    /// Milliseconds since the Unix epoch.
    pub(crate) time: u64,
    pub(crate) agent: String,
    pub(crate) session: String,
    pub(crate) event: &'static str,
    pub(crate) verdict: Verdict,
    /// Why the verdict had no effect.
    pub(crate) without_effect: Option<&'static str>,
    /// What the event is about: the tool and its most telling argument, or a text.
    pub(crate) subject: String,
    /// The rules that decided.
    pub(crate) rules: Vec<String>,
    /// What the agent was told, or the question.
    pub(crate) reason: Option<String>,
}

impl EventRow {
    pub(crate) fn new(seq: u64, record: &EventRecord) -> Self {
        let session = record.header.session.clone();
        let rules = deciding_rules(record).into_iter();
        let question = record.questions.first().map(|question| question.escalation.question.clone());
        Self {
            seq,
            time: record.header.time,
            agent: agent(&session).to_owned(),
            session,
            event: record.event.name(),
            verdict: Verdict::of(record),
            without_effect: match record.enforcement {
                Enforcement::Observed => Some("only observed"),
                Enforcement::Paused => Some("paused"),
                _ => None,
            },
            subject: subject(&record.original),
            rules: rules.map(|rule| rule.code.unwrap_or(rule.by)).collect(),
            reason: record.reason.clone().or(question),
        }
    }

    /// Returns the row of a record, unless the record is no event, or one by which `hookhost doctor` proves a hook.
    pub(crate) fn of_line(line: &Line) -> Option<Self> {
        match line.entry() {
            Ok(Record::Event(event)) if !is_proof(&event.header.session) => Some(Self::new(line.seq(), &event)),
            _ => None,
        }
    }
}

/// Returns the agent of a session, whose name begins the session's identifier. Only hookhost's own sessions have no name there.
pub(crate) fn agent(session: &str) -> &str {
    agent_of_session(session).unwrap_or("hookhost")
}

/// Says on one line what a value is about.
pub(crate) fn subject(value: &RawValue) -> String {
    let Ok(value) = serde_json::from_str::<Value>(value.get()) else { return String::new() };
    // The result of a call contains the call.
    let call = value.get("call").filter(|call| call.is_object()).unwrap_or(&value);
    if let Some(name) = call.get("name").and_then(Value::as_str) {
        let arguments = call.get("arguments").unwrap_or(&Value::Null);
        // Some agents pass the arguments as JSON text.
        let parsed = arguments.as_str().and_then(|text| serde_json::from_str(text).ok());
        let arguments = parsed.as_ref().unwrap_or(arguments);
        return format!("{name} {}", telling(arguments).unwrap_or_else(|| arguments.to_string()));
    }
    // The end of a session, for example, is about nothing.
    telling(&value).unwrap_or_default()
}

/// Returns the argument that tells most about a call, if one of them does.
fn telling(arguments: &Value) -> Option<String> {
    const KEYS: &[&str] =
        &["command", "cmd", "file_path", "path", "url", "prompt", "text", "query", "pattern", "content"];
    match arguments {
        Value::Null => Some(String::new()),
        Value::String(text) => Some(text.clone()),
        Value::Object(fields) if fields.is_empty() => Some(String::new()),
        Value::Object(fields) => KEYS.iter().find_map(|key| fields.get(*key)?.as_str().map(str::to_owned)),
        other => Some(other.to_string()),
    }
}

/// The user's log.
#[derive(Clone, Debug)]
pub(crate) struct LogReader {
    path: PathBuf,
}

impl LogReader {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the log. Records that are only in a journal are left out, because their numbers can still change.
    pub(crate) fn open(&self) -> Result<Log, String> {
        Log::open(&self.path).map(Log::only_stored).map_err(|error| error.to_string())
    }

    /// Returns the newest events, the newest first.
    pub(crate) fn newest(&self, most: usize) -> Result<Vec<EventRow>, String> {
        let mut rows = Vec::new();
        newest_first(&self.open()?, u64::MAX, |line| {
            rows.extend(EventRow::of_line(line));
            if rows.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
        .map_err(|error| error.to_string())?;
        Ok(rows)
    }

    /// Returns the events after a record, the oldest first. If there are more, they are the newest of these.
    pub(crate) fn after(&self, seq: u64, most: usize) -> Result<Vec<EventRow>, String> {
        let mut rows = Vec::new();
        newest_first(&self.open()?, u64::MAX, |line| {
            if line.seq() <= seq || rows.len() >= most {
                return ControlFlow::Break(());
            }
            rows.extend(EventRow::of_line(line));
            ControlFlow::Continue(())
        })
        .map_err(|error| error.to_string())?;
        rows.reverse();
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::subject;
    use serde_json::value::RawValue;

    #[test]
    fn a_row_says_the_tool_and_its_most_telling_argument() {
        for (value, said) in [
            (r#"{"name":"bash","arguments":{"command":"ls -l","timeout":5}}"#, "bash ls -l"),
            (r#"{"name":"bash","arguments":"{\"command\":\"ls\"}"}"#, "bash ls"),
            (r#"{"call":{"name":"read","arguments":{"path":"/a"}},"result":"x"}"#, "read /a"),
            (r#"{"name":"wait","arguments":{}}"#, "wait "),
            (r#"{"name":"other","arguments":{"n":1}}"#, r#"other {"n":1}"#),
            (r#""a prompt""#, "a prompt"),
            (r#"{"prompt":"do it"}"#, "do it"),
            (r#"{"provider":"","input-tokens":0}"#, ""),
            ("null", ""),
            ("[1]", "[1]"),
        ] {
            assert_eq!(subject(&RawValue::from_string(value.to_owned()).unwrap()), said);
        }
    }
}
