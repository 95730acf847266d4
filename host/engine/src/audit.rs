//! What is recorded of an event: who was asked, what each answered, and what came of it.

use crate::allowlist::{Digest, Mode};
use crate::event::EventKind;
use crate::sandbox::Failure;
use crate::sandbox::capability::{Finding, LogLine};
use serde::Serialize;
use serde_json::value::RawValue;

/// The record of one event. Serialises as one JSON object, kebab-case.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Record {
    /// The event's identifier, unique among all sessions.
    pub id: String,
    /// The session's identifier.
    pub session: String,
    /// Which event.
    pub event: EventKind,
    /// When, in milliseconds since the Unix epoch.
    pub time: u64,
    /// What came of it, in one word: `allowed`, `responded`, `rejected`, `passed`, `withheld`, `collected`, `observed`.
    pub outcome: &'static str,
    /// The plugins that decided it: those that rejected or responded, or failed with `on-failure = "reject"`.
    pub by: Vec<String>,
    /// Why, where it was rejected or withheld: the sentence that the agent gets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The plugins whose changes are part of the final value, in the order of the changes.
    pub changed_by: Vec<String>,
    /// The value as it came.
    pub original: Box<RawValue>,
    /// The value as it stands, where that is another.
    #[serde(rename = "final", skip_serializing_if = "Option::is_none")]
    pub last: Option<Box<RawValue>>,
    /// Every call of a plugin, in order.
    pub calls: Vec<CallRecord>,
    /// Plugins that hear this event and were not asked about any form of this value, since their entry narrows them.
    pub unconcerned: Vec<String>,
}

/// One call of a plugin.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct CallRecord {
    /// The plugin's name.
    pub plugin: String,
    /// SHA-256 of its file.
    #[serde(serialize_with = "digest")]
    pub digest: Digest,
    /// Whether its answer counts.
    #[serde(serialize_with = "mode")]
    pub mode: Mode,
    /// The pass in which it was asked, from 1.
    pub round: u32,
    /// What it answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Box<RawValue>>,
    /// Why it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// Units of fuel used.
    pub fuel: u64,
    /// Wall time, waiting included, in microseconds.
    pub micros: u64,
    /// What it logged.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<LogLine>,
    /// Log lines that found no room.
    #[serde(skip_serializing_if = "is_zero")]
    pub log_dropped: u64,
    /// What it found, where the call's effects hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}

/// JSON for a record. Contract types always have one.
pub(crate) fn raw<T: Serialize + ?Sized>(value: &T) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

fn digest<S: serde::Serializer>(digest: &Digest, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(digest)
}

fn mode<S: serde::Serializer>(mode: &Mode, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(match mode {
        Mode::Enforce => "enforce",
        Mode::Audit => "audit",
    })
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}
