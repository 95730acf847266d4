//! The records: of an event, who was asked, what each plugin answered and the outcome; and what came later.

use super::delivery::Delivery;
use super::redaction::Redacted;
use crate::config::{CodeId, Digest, Mode};
use crate::contract::bytes::Bytes;
use crate::contract::{Answered, Cause, EventKind, Failure, ModelRef, OutcomeKind, Question, ToolSpec};
use crate::sandbox::Inputs;
use crate::sandbox::capability::{Finding, LogLine};
use crate::state::Scope;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// One record of the log: in JSON an object in kebab-case, whose `kind` says which.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Record {
    /// The first record of a log.
    Log(LogBegins),
    /// A session was opened.
    Session(Box<SessionOpened>),
    /// An event was settled.
    Event(Box<EventRecord>),
    /// An escalated event was answered.
    Approval(ApprovalRecord),
    /// A tool of a plugin has run.
    ToolRun(Box<ToolRun>),
    /// Observers were given an event.
    Observed(Observed),
    /// Observers did not get events.
    Dropped(Dropped),
    /// An outcome did not come to its agent as it was settled.
    Delivery(Delivery),
    /// Another configuration was taken up.
    RulesChanged(RulesChanged),
    /// A session was closed by its agent. Without this record the agent is at work, or was cut off.
    SessionEnded(SessionEnded),
}

/// The first record of a log.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct LogBegins {
    /// Of the format of the records: [`super::FORMAT`].
    pub version: u32,
    /// Time of the record, in milliseconds since the Unix epoch.
    pub time: u64,
}

/// The fields of each record of a session. In JSON its keys are the record's own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Header {
    /// The session's identifier.
    pub session: String,
    /// Time of the record, in milliseconds since the Unix epoch. An observation has the time of its end.
    pub time: u64,
}

impl Header {
    /// The header of a record of this session, made at this time.
    pub(crate) fn new(session: impl Into<String>, time: u64) -> Self {
        Self { session: session.into(), time }
    }
}

/// Most bytes of the tools of a session with their schemas, as JSON, in its opening.
pub(crate) const MAX_TOOLS_WRITTEN: usize = 1024 * 1024;

/// A session, and what its events are checked against.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct SessionOpened {
    /// The session, and when this was recorded.
    #[serde(flatten)]
    pub header: Header,
    /// The agent program.
    pub agent: String,
    /// Working directory.
    pub cwd: String,
    /// Root of the project.
    pub workspace: String,
    /// 0 for the agent that the user talks to.
    pub depth: u32,
    /// True if a person was there to be asked.
    pub interactive: bool,
    /// The session that started this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The session at the root of the tree that it is in; absent where it is the root itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// The tools whose arguments are known.
    pub tools: Vec<ToolSpec>,
    /// Those whose schemas are left out here, `{}` in their place: with them all would be larger than
    /// 1 MiB. Events of the session are then not replayable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without_schema: Vec<String>,
    /// The models that a plugin may move a request to.
    pub models: Vec<ModelRef>,
}

/// A session was closed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct SessionEnded {
    /// The session, and when this was recorded.
    #[serde(flatten)]
    pub header: Header,
}

/// The record of one event.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct EventRecord {
    /// The event's identifier, unique among all sessions.
    pub id: String,
    /// The session, and when this was recorded.
    #[serde(flatten)]
    pub header: Header,
    /// Model calls of the session before it.
    pub turn: u32,
    /// The event.
    pub event: EventKind,
    /// The outcome. If it is `escalated`, an [`ApprovalRecord`] follows, and says whether
    /// the effects of the calls hold.
    pub outcome: OutcomeKind,
    /// The plugins that decided it: those that rejected, responded or asked, or failed with `on-failure = "reject"`;
    /// `the configuration` where an `[[ask]]` rule asked.
    pub by: Vec<String>,
    /// The kind of rejection, if the event was rejected or withheld.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// The sentence that the agent gets, if the event was rejected or withheld.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The plugins whose changes are part of the final value, in the order of the changes.
    pub changed_by: Vec<String>,
    /// The value as it came.
    pub original: Box<RawValue>,
    /// The final value, if it differs from the original.
    #[serde(rename = "final", default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Box<RawValue>>,
    /// The result that a plugin gave in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Box<RawValue>>,
    /// The agent's own message, where the event came from outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
    /// The questions to a person, and who asks them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Question>,
    /// The answered questions, if a person said yes and the plugins were asked about the value again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_again: Option<AskedAgain>,
    /// Questions of the configuration that nobody was asked, since a person answered them before
    /// for the rest of the session.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<KeptAnswer>,
    /// The plugin that approved the final value and so waived what the configuration would ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved_by: Option<String>,
    /// Every call of a plugin, in order.
    pub calls: Vec<CallRecord>,
    /// Plugins that subscribe to this event and were not asked about any form of this value, since
    /// their entry narrows them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_matched: Vec<String>,
    /// Reasons why the verdicts cannot be reproduced from this record, a sentence each. If there is none, they can.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_replayable: Vec<String>,
    /// The parts that the configuration keeps out of the log, by their path in the record: `calls/0/verdict`. A text that was cut
    /// is the JSON that says so, as a text.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub redacted: BTreeMap<String, Redacted>,
}

/// The reason for asking the plugins about an event again: a person said yes, and rules or state had changed since the question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct AskedAgain {
    /// The identifier of the event's first record.
    pub of: String,
    /// Rounds of questions that were answered with yes before, from 1.
    pub round: u32,
    /// The questions of this asking that these answers answer.
    pub answered: Vec<Question>,
}

/// A yes that a person gave earlier in the session, about the same call and for the rest of the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct KeptAnswer {
    /// The question that it answers.
    #[serde(flatten)]
    pub question: Question,
    /// The identifier of the event that the person was asked about.
    pub of: String,
}

/// One call of a plugin.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct CallRecord {
    /// The plugin's name.
    pub plugin: String,
    /// The code that ran: the digest of a component, or the version of a native rule.
    #[serde(rename = "digest")]
    pub code: CodeId,
    /// SHA-256 of its configuration, as JSON.
    pub config: Digest,
    /// The mode of its entry. In audit mode its answer does not count.
    pub mode: Mode,
    /// The round in which it was asked, from 1.
    pub round: u32,
    /// Its answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Box<RawValue>>,
    /// The failure, if it gave no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// Units of fuel used.
    pub fuel: u64,
    /// Wall time, waiting included, in microseconds.
    pub micros: u64,
    /// Its inputs from outside the event.
    #[serde(default, skip_serializing_if = "Inputs::is_empty")]
    pub inputs: Inputs,
    /// The state that it wrote, where the call's writes hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wrote: Vec<StateWrite>,
    /// Number of writes that the record has no room for; they take effect like the others.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub wrote_dropped: u64,
    /// Its log lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<LogLine>,
    /// Number of log lines that the record has no room for.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub log_dropped: u64,
    /// Its findings, if the call's effects hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}

/// A write to the state of a plugin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct StateWrite {
    /// The scope of the key.
    pub scope: Scope,
    /// The key.
    pub key: String,
    /// The change.
    #[serde(flatten)]
    pub write: WrittenValue,
}

/// The change of one key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum WrittenValue {
    /// A value, in place of what was there.
    Set {
        /// The value.
        value: Bytes,
        /// Time of expiry, in milliseconds since the Unix epoch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires: Option<u64>,
    },
    /// Nothing is there any more.
    Delete {},
    /// A number was added to the one that was there.
    Add {
        /// The number.
        by: i64,
    },
}

/// The approver's answer about an escalated event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct ApprovalRecord {
    /// The event's identifier.
    pub id: String,
    /// The session, and when this was recorded.
    #[serde(flatten)]
    pub header: Header,
    /// The event.
    pub event: EventKind,
    /// The outcome of the event. `escalated` if the answer is yes and the plugins are asked again:
    /// a further record of the event, whose `asked-again` names this one's, has the final outcome.
    pub outcome: OutcomeKind,
    /// The answer.
    pub answer: Answered,
    /// True if the effects in the event's record hold from here on: state, reminders and findings.
    #[serde(default)]
    pub effects_hold: bool,
    /// The parts that the configuration keeps out of the log, as in [`EventRecord::redacted`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub redacted: BTreeMap<String, Redacted>,
}

impl ApprovalRecord {
    /// Of an answer under which no effects hold.
    pub(crate) fn new(id: &str, header: Header, event: EventKind, outcome: OutcomeKind, answer: Answered) -> Self {
        Self { id: id.to_owned(), header, event, outcome, answer, effects_hold: false, redacted: BTreeMap::new() }
    }
}

/// A call of a tool that a plugin brings. The events about it have records of their own.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct ToolRun {
    /// Identifier of the call, unique among events and such calls of all sessions.
    pub id: String,
    /// The session, and when this was recorded.
    #[serde(flatten)]
    pub header: Header,
    /// Model calls of the session before it.
    pub turn: u32,
    /// The plugin's own name for the tool.
    pub tool: String,
    /// The arguments that it ran with.
    pub arguments: Box<RawValue>,
    /// The plugin's call; its `verdict` is the tool's result. With neither a verdict nor a failure it was cancelled.
    pub call: CallRecord,
    /// Reasons why it could not be run again from this record, a sentence each. If there is none, it could.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_replayable: Vec<String>,
    /// The parts that the configuration keeps out of the log, as in [`EventRecord::redacted`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub redacted: BTreeMap<String, Redacted>,
}

/// The observers' calls about an event. The event's own record was written before.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Observed {
    /// The event's identifier.
    pub id: String,
    /// The session, and when this was recorded.
    #[serde(flatten)]
    pub header: Header,
    /// The event.
    pub event: EventKind,
    /// Each call, in order.
    pub calls: Vec<CallRecord>,
    /// The parts that the configuration keeps out of the log, as in [`EventRecord::redacted`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub redacted: BTreeMap<String, Redacted>,
}

/// Events that observers did not get, since they came faster than the observers could follow, or the process ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Dropped {
    /// The session, and when this was recorded.
    #[serde(flatten)]
    pub header: Header,
    /// Number of events, by the event's name.
    pub events: BTreeMap<String, u64>,
}

/// A changed configuration was taken up while sessions ran. Events that had begun by then were
/// settled under the one before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct RulesChanged {
    /// Time of the change, in milliseconds since the Unix epoch.
    pub time: u64,
    /// The plugins that count from then on, in chain order.
    pub plugins: Vec<LoadedPlugin>,
}

/// A plugin that counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct LoadedPlugin {
    /// The plugin's name.
    pub plugin: String,
    /// The code that runs: the digest of a component, or the version of a native rule.
    #[serde(rename = "digest")]
    pub code: CodeId,
    /// SHA-256 of its configuration, as JSON.
    pub config: Digest,
    /// The mode of its entry. In audit mode its answers do not count.
    pub mode: Mode,
}

impl EventRecord {
    /// Of an event that nobody has been asked about yet.
    pub(crate) fn new(event: EventKind, original: Box<RawValue>) -> Self {
        Self {
            id: String::new(),
            header: Header::default(),
            turn: 0,
            event,
            outcome: OutcomeKind::Observed,
            by: Vec::new(),
            cause: None,
            reason: None,
            changed_by: Vec::new(),
            original,
            last: None,
            response: None,
            raw: None,
            questions: Vec::new(),
            asked_again: None,
            kept: Vec::new(),
            approved_by: None,
            calls: Vec::new(),
            not_matched: Vec::new(),
            not_replayable: Vec::new(),
            redacted: BTreeMap::new(),
        }
    }
}

impl Record {
    /// The word for its kind, as in JSON.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Log(_) => "log",
            Self::Session(_) => "session",
            Self::Event(_) => "event",
            Self::Approval(_) => "answer",
            Self::ToolRun(_) => "tool-run",
            Self::Observed(_) => "observed",
            Self::Dropped(_) => "dropped",
            Self::Delivery(_) => "delivery",
            Self::RulesChanged(_) => "rules-changed",
            Self::SessionEnded(_) => "session-ended",
        }
    }

    /// The header, if it is a record of a session.
    #[must_use]
    pub fn header(&self) -> Option<&Header> {
        match self {
            Self::Log(_) | Self::RulesChanged(_) => None,
            Self::Session(opened) => Some(&opened.header),
            Self::Event(record) => Some(&record.header),
            Self::Approval(answer) => Some(&answer.header),
            Self::ToolRun(run) => Some(&run.header),
            Self::Observed(observed) => Some(&observed.header),
            Self::Dropped(dropped) => Some(&dropped.header),
            Self::Delivery(delivery) => Some(&delivery.header),
            Self::SessionEnded(ended) => Some(&ended.header),
        }
    }

    /// The session that it is of.
    #[must_use]
    pub fn session(&self) -> Option<&str> {
        self.header().map(|header| header.session.as_str())
    }

    /// Time of the record, in milliseconds since the Unix epoch.
    #[must_use]
    pub fn time(&self) -> u64 {
        match self {
            Self::Log(begins) => begins.time,
            Self::RulesChanged(changed) => changed.time,
            _ => self.header().map_or(0, |header| header.time),
        }
    }

    /// The event that it is about.
    #[must_use]
    pub fn event(&self) -> Option<EventKind> {
        match self {
            Self::Event(record) => Some(record.event),
            Self::Approval(answer) => Some(answer.event),
            Self::Observed(observed) => Some(observed.event),
            Self::Log(_)
            | Self::Session(_)
            | Self::ToolRun(_)
            | Self::Dropped(_)
            | Self::Delivery(_)
            | Self::RulesChanged(_)
            | Self::SessionEnded(_) => None,
        }
    }

    /// The outcome of the event, if the record has one.
    #[must_use]
    pub fn outcome(&self) -> Option<OutcomeKind> {
        match self {
            Self::Event(record) => Some(record.outcome),
            Self::Approval(answer) => Some(answer.outcome),
            _ => None,
        }
    }

    /// The calls of plugins in it.
    #[must_use]
    pub fn calls(&self) -> &[CallRecord] {
        match self {
            Self::Event(record) => &record.calls,
            Self::ToolRun(run) => std::slice::from_ref(&run.call),
            Self::Observed(observed) => &observed.calls,
            _ => &[],
        }
    }

    /// Reads a record back; what a later version of the same format has added is ignored.
    ///
    /// # Errors
    /// If it is not a record.
    pub fn from_json(json: &str) -> Result<Self, serde_json::Error> {
        #[derive(Deserialize)]
        struct Kind<'a> {
            #[serde(borrow)]
            kind: std::borrow::Cow<'a, str>,
        }
        // A `RawValue` cannot be read after serde's own tag.
        let Kind { kind } = serde_json::from_str(json)?;
        Ok(match &*kind {
            "log" => Self::Log(serde_json::from_str(json)?),
            "session" => Self::Session(serde_json::from_str(json)?),
            "event" => Self::Event(serde_json::from_str(json)?),
            "answer" => Self::Approval(serde_json::from_str(json)?),
            "tool-run" => Self::ToolRun(serde_json::from_str(json)?),
            "observed" => Self::Observed(serde_json::from_str(json)?),
            "dropped" => Self::Dropped(serde_json::from_str(json)?),
            "delivery" => Self::Delivery(serde_json::from_str(json)?),
            "rules-changed" => Self::RulesChanged(serde_json::from_str(json)?),
            "session-ended" => Self::SessionEnded(serde_json::from_str(json)?),
            other => return Err(serde::de::Error::custom(format!("`{other}` is no kind of record"))),
        })
    }
}

/// JSON for a record. Contract types always have one.
pub(crate) fn raw<T: Serialize + ?Sized>(value: &T) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}
