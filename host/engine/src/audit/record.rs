//! The types of the log's records: sessions, events with their plugin calls and outcomes, people's answers, tool calls,
//! observations and changes of the rules.

use super::delivery::Delivery;
use super::redaction::Redacted;
use crate::config::{CodeId, Digest, Enforcement, Mode};
use crate::contract::bytes::Bytes;
use crate::contract::{Answered, Cause, EventKind, Failure, ModelRef, OutcomeKind, Question, ToolSpec};
use crate::passkey::{PasskeyChange, Passkeys};
use crate::sandbox::Inputs;
use crate::sandbox::capability::{Finding, LogLine};
use crate::state::Scope;
use serde::de::IntoDeserializer as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet};

/// One record of the log. In JSON, a record is an object whose member names are in kebab-case, and the member `kind`
/// names the variant.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Record {
    /// The first record of a log.
    Log(LogBegins),
    /// A session was opened.
    Session(Box<SessionOpened>),
    /// An event was decided. The record contains the outcome.
    Event(Box<EventRecord>),
    /// An escalated event was answered.
    Approval(ApprovalRecord),
    /// An answer did not count, because it had no valid signature of a passkey.
    AnswerRefused(AnswerRefused),
    /// A tool that a plugin provides was called.
    ToolRun(Box<ToolRun>),
    /// An event was passed to observers, which are called after the outcome.
    Observed(Observed),
    /// Events were not passed to observers.
    Dropped(Dropped),
    /// The agent received or did something else than the outcome says.
    Delivery(Delivery),
    /// A changed configuration was loaded.
    RulesChanged(RulesChanged),
    /// The user changed whether hookhost decides on events.
    Operator(OperatorAction),
    /// Old records were moved from the log into an archive.
    Archived(Archived),
    /// The agent closed a session. If a session has no such record, the agent is still running or was killed.
    SessionEnded(SessionEnded),
}

/// The first record of a log.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct LogBegins {
    /// Format of the records: [`super::FORMAT`].
    pub version: u32,
    /// Time, in milliseconds since the Unix epoch.
    pub time: u64,
}

/// The members that every record of a session has. In JSON they are not nested but are members of the record itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Header {
    /// The session's identifier.
    pub session: String,
    /// Time, in milliseconds since the Unix epoch. For an observation, this is the time when the observers' calls
    /// ended.
    pub time: u64,
}

impl Header {
    /// Returns the header of a record of this session at this time.
    pub(crate) fn new(session: impl Into<String>, time: u64) -> Self {
        Self { session: session.into(), time }
    }
}

/// Maximum size in bytes of the list of tools in a [`SessionOpened`] record. This is the size of the JSON text,
/// including the tools' schemas.
pub(crate) const MAX_TOOLS_WRITTEN: usize = 1024 * 1024;

/// The opening of a session. The record contains what the host needs to check the session's events.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct SessionOpened {
    /// Session and time of the record.
    #[serde(flatten)]
    pub header: Header,
    /// The agent program.
    pub agent: String,
    /// Working directory.
    pub cwd: String,
    /// Root of the project.
    pub workspace: String,
    /// Depth in the tree of agents: 0 for the agent that the user talks to.
    pub depth: u32,
    /// True if a person was available to answer questions.
    pub interactive: bool,
    /// The session that started this session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The session at the root of the tree of agents. `None` if this session is the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// Tools with known arguments.
    pub tools: Vec<ToolSpec>,
    /// Tools whose schemas are replaced by `{}`, because the schemas of all tools together would be larger than 1 MiB.
    /// If there are such tools, the events of the session cannot be replayed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without_schema: Vec<String>,
    /// Models that a plugin may choose for a request instead of the requested one.
    pub models: Vec<ModelRef>,
}

/// A session was closed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct SessionEnded {
    /// Session and time of the record.
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
    /// Session and time of the record.
    #[serde(flatten)]
    pub header: Header,
    /// Number of model calls of the session before the event.
    pub turn: u32,
    /// The event.
    pub event: EventKind,
    /// The outcome. If it is `escalated`, a later [`ApprovalRecord`] says whether the effects of the plugin calls are
    /// applied.
    pub outcome: OutcomeKind,
    /// Says whether the outcome took effect. If not, the event continued with its original value.
    #[serde(default, skip_serializing_if = "Enforcement::is_enforced")]
    pub enforcement: Enforcement,
    /// The plugins that decided the outcome. They rejected, responded or asked, or they failed with
    /// `on-failure = "reject"`. If a `[[rule]]` asked, the list contains `the configuration`.
    pub by: Vec<String>,
    /// The kind of rejection, if the event was rejected or withheld.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// The sentence that the agent gets, if the event was rejected or withheld.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The plugins whose changes are part of the final value, in the order of the changes.
    pub changed_by: Vec<String>,
    /// The original value.
    pub original: Box<RawValue>,
    /// The final value, if it differs from the original.
    #[serde(rename = "final", default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Box<RawValue>>,
    /// The result that a plugin gave. It replaces the result of the tool or of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Box<RawValue>>,
    /// The message in the agent's format, if the event was decoded from such a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
    /// The questions to a person, each with the plugin or layer that asks. If the event was rejected because of these
    /// questions, nobody was asked (`on-question = "reject"`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Question>,
    /// Digest of the question as a person is shown it. The signature of a passkey covers this digest. Present if other
    /// processes may answer the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Digest>,
    /// The earlier questions, if a person has already answered them with yes and the plugins were then called again
    /// with the same value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_again: Option<AskedAgain>,
    /// The questions that were not asked, because a person had already answered them: questions of the configuration
    /// for the rest of the session, or all questions about exactly this call, after it had been rejected as overridable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<KeptAnswer>,
    /// The plugin that approved the final value, and so waived questions of the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved_by: Option<String>,
    /// Wall time from the event to its outcome, in microseconds. It does not include the time in which a person is asked.
    /// `None` in records of versions before 0.3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micros: Option<u64>,
    /// True if the hook of the agent ran in `hookhost exec`, where the kernel guards files. Absent in the log otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sandboxed: bool,
    /// Every call of a plugin, in order.
    pub calls: Vec<CallRecord>,
    /// Plugins that subscribe to this event but were not called, because their entries exclude every form that the
    /// value had.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_matched: Vec<String>,
    /// Reasons why the verdicts cannot be reproduced from this record, one sentence each. Empty if they can be
    /// reproduced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_replayable: Vec<String>,
    /// The redacted parts, by their path in the record, such as `calls/0/verdict`. If a string was too long, the record
    /// contains in its place a JSON string that describes what was cut.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub redacted: BTreeMap<String, Redacted>,
}

/// The reason for a second dispatch of an event. A person answered yes, but the rules or the state had changed since
/// the question was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct AskedAgain {
    /// The identifier of the event's first record.
    pub of: String,
    /// Number of earlier rounds of questions that were answered with yes.
    pub round: u32,
    /// The questions of this dispatch that are not asked again, because earlier answers cover them.
    pub answered: Vec<Question>,
}

/// An answer that a person gave earlier in the session: yes to the same call, for the rest of the session or once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct KeptAnswer {
    /// The answered question.
    #[serde(flatten)]
    pub question: Question,
    /// Identifier of the event about which the person was asked.
    pub of: String,
}

/// One call of a plugin.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct CallRecord {
    /// Name of the plugin.
    pub plugin: String,
    /// Identity of the code: the digest of a component, or the version of a native rule.
    #[serde(rename = "digest")]
    pub code: CodeId,
    /// SHA-256 of the plugin's configuration, as JSON.
    pub config: Digest,
    /// Effect of the plugin's answers.
    #[serde(deserialize_with = "recorded_mode")]
    pub mode: Mode,
    /// Round of the event in which the plugin was called. The first round is 1.
    pub round: u32,
    /// The plugin's answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Box<RawValue>>,
    /// Reason why there is no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// Units of fuel used.
    pub fuel: u64,
    /// Wall time, including waiting, in microseconds.
    pub micros: u64,
    /// Data that the plugin got from outside the event.
    #[serde(default, skip_serializing_if = "Inputs::is_empty")]
    pub inputs: Inputs,
    /// State that the plugin wrote. Empty if the writes were discarded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wrote: Vec<StateWrite>,
    /// Number of writes that are not listed in `wrote`, because the record would be too large. These writes take
    /// effect, too.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub wrote_dropped: u64,
    /// Log lines of the plugin.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<LogLine>,
    /// Number of log lines that are not listed in `log`, because the record would be too large.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub log_dropped: u64,
    /// Findings of the plugin. Empty if the effects of the call were discarded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// The labels that the call added to the session. Empty if the effects of the call were discarded.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub labels: BTreeSet<String>,
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
    /// The written value.
    #[serde(flatten)]
    pub write: WrittenValue,
}

/// A written value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum WrittenValue {
    /// The value of the key was replaced.
    Set {
        /// The value.
        value: Bytes,
        /// Expiry of the value, in milliseconds since the Unix epoch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires: Option<u64>,
    },
    /// The key was deleted.
    Delete {},
    /// A number was added to the value of the key.
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
    /// Session and time of the record.
    #[serde(flatten)]
    pub header: Header,
    /// The event.
    pub event: EventKind,
    /// Identifier of the tool call that the event is about, as the agent names it. `None` if the event is about no call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// Outcome of the event. It is `escalated` if the answer is yes but the plugins are called again. In this case a
    /// further [`EventRecord`] contains the final outcome, and its `asked-again` names the event of this record. If a
    /// person allows a rejected call once, it stays `rejected`, and the `kept` of the next such call names this event.
    pub outcome: OutcomeKind,
    /// The answer.
    pub answer: Answered,
    /// True if the state, reminders and findings in the event's record take effect. False if they are discarded. Labels
    /// take effect only if the event is also not rejected.
    #[serde(default)]
    pub effects_hold: bool,
    /// Redacted parts, as in [`EventRecord::redacted`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub redacted: BTreeMap<String, Redacted>,
}

impl ApprovalRecord {
    /// Creates the record of an answer after which all effects of the event are discarded.
    pub(crate) fn new(id: &str, header: Header, event: EventKind, outcome: OutcomeKind, answer: Answered) -> Self {
        let (id, call, redacted) = (id.to_owned(), None, BTreeMap::new());
        Self { id, header, event, call, outcome, answer, effects_hold: false, redacted }
    }
}

/// An answer that did not count: a passkey is registered and the answer has no valid signature of one, or a yes on the
/// page does not name the question as it is shown. Of many such answers in a short time, only the first are recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct AnswerRefused {
    /// Identifier of the event that was asked about.
    pub id: String,
    /// Session and time of the record.
    #[serde(flatten)]
    pub header: Header,
    /// The event.
    pub event: EventKind,
    /// The reason, as the end of a sentence that begins with "the answer does not count:".
    pub why: String,
    /// The answer, without its proof.
    pub answer: Answered,
    /// Number of earlier such answers that have no record of their own.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unrecorded: u64,
}

/// A call of a plugin's tool. The events about it have separate records.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct ToolRun {
    /// Identifier of the call, unique among all events and tool calls of all sessions.
    pub id: String,
    /// Session and time of the record.
    #[serde(flatten)]
    pub header: Header,
    /// Number of model calls of the session before the call.
    pub turn: u32,
    /// The plugin's own name for the tool.
    pub tool: String,
    /// Arguments of the call.
    pub arguments: Box<RawValue>,
    /// The call of the plugin. Its `verdict` is the result of the tool. If the call has neither a verdict nor a
    /// failure, the agent stopped waiting for the tool.
    pub call: CallRecord,
    /// Reasons why the call cannot be repeated from this record, one sentence each. Empty if it can be repeated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_replayable: Vec<String>,
    /// Redacted parts, as in [`EventRecord::redacted`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub redacted: BTreeMap<String, Redacted>,
}

/// The calls of observers with an event. The event's [`EventRecord`] was written before these calls.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Observed {
    /// The event's identifier.
    pub id: String,
    /// Session and time of the record.
    #[serde(flatten)]
    pub header: Header,
    /// The event.
    pub event: EventKind,
    /// Each call, in order.
    pub calls: Vec<CallRecord>,
    /// Redacted parts, as in [`EventRecord::redacted`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub redacted: BTreeMap<String, Redacted>,
}

/// Events that were not passed to observers. Either the observers were too slow, or the process ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Dropped {
    /// Session and time of the record.
    #[serde(flatten)]
    pub header: Header,
    /// Number of events, by the event's name.
    pub events: BTreeMap<String, u64>,
}

/// A changed configuration was loaded while sessions were open. An event that began before this record was decided
/// under the previous configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct RulesChanged {
    /// Time, in milliseconds since the Unix epoch.
    pub time: u64,
    /// The plugins that are loaded from now on, in chain order.
    pub plugins: Vec<LoadedPlugin>,
}

/// Old records were moved from the log into a file beside it. The first record of the log always stays, because it
/// identifies the log. So the archives of a log begin with record 2, and each begins where the one before it ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Archived {
    /// Time, in milliseconds since the Unix epoch.
    pub time: u64,
    /// Number of the first archived record.
    pub first: u64,
    /// Number of the last archived record.
    pub through: u64,
    /// Hash of the last archived record.
    pub hash: Digest,
    /// Name of the file, in the directory of archives beside the log.
    pub file: String,
    /// SHA-256 of the file.
    pub digest: Digest,
    /// The archived lines about passkeys. Later answers can be verified with them if the file is elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passkeys: Vec<String>,
}

/// A change that the user made to hookhost itself. Events between a pause and its end are not decided by any rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct OperatorAction {
    /// Time, in milliseconds since the Unix epoch.
    pub time: u64,
    /// The change.
    pub action: OperatorActionKind,
    /// The user's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// End of a pause, of hookhost or of a rule, in milliseconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// The agents that the change affects. If the list is empty, the change affects all agents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<String>,
    /// The rules in words that the change is about, by their ids.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// The session whose labels were removed: the one at the root of its tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The labels that were removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<SessionLabel>,
    /// The change of the passkeys, with its proofs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passkey: Option<Box<PasskeyChange>>,
}

/// A label of a session, and the call that added it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct SessionLabel {
    /// The label.
    pub name: String,
    /// Time of the event that added the label, in milliseconds since the Unix epoch.
    pub added: u64,
    /// Identifier of the event, or of the call of a plugin's tool, that added the label.
    pub of: String,
}

/// The kind of an [`OperatorAction`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum OperatorActionKind {
    /// hookhost was switched on.
    On,
    /// hookhost was switched off.
    Off,
    /// hookhost was paused.
    Pause,
    /// A pause was ended before its time.
    Resume,
    /// Rules in words were put into force.
    RuleAccept,
    /// A rule in words was removed.
    RuleRemove,
    /// A rule in words was switched off for some time.
    RuleOff,
    /// A rule in words was switched on before the end of that time.
    RuleOn,
    /// Labels of a session were removed.
    LabelRemove,
    /// A passkey was registered. From the first one on, each yes needs the signature of a passkey.
    PasskeyAdd,
    /// A passkey was removed.
    PasskeyRemove,
}

impl OperatorAction {
    /// Creates the record of a change that affects all agents. The host that writes the record sets its time.
    #[must_use]
    pub fn new(action: OperatorActionKind) -> Self {
        Self {
            time: 0,
            action,
            by: None,
            until: None,
            agents: Vec::new(),
            rules: Vec::new(),
            session: None,
            labels: Vec::new(),
            passkey: None,
        }
    }
}

impl OperatorActionKind {
    /// Returns the name in the log.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Off => "off",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::RuleAccept => "rule-accept",
            Self::RuleRemove => "rule-remove",
            Self::RuleOff => "rule-off",
            Self::RuleOn => "rule-on",
            Self::LabelRemove => "label-remove",
            Self::PasskeyAdd => "passkey-add",
            Self::PasskeyRemove => "passkey-remove",
        }
    }
}

/// A loaded plugin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct LoadedPlugin {
    /// Name of the plugin.
    pub plugin: String,
    /// Identity of the code: the digest of a component, or the version of a native rule.
    #[serde(rename = "digest")]
    pub code: CodeId,
    /// SHA-256 of the plugin's configuration, as JSON.
    pub config: Digest,
    /// Effect of the plugin's answers.
    #[serde(deserialize_with = "recorded_mode")]
    pub mode: Mode,
}

/// Reads a mode, also with the name that it had in version 0.1.
fn recorded_mode<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Mode, D::Error> {
    let word = String::deserialize(deserializer)?;
    if word == "audit" { Ok(Mode::Observe) } else { Mode::deserialize(word.into_deserializer()) }
}

impl EventRecord {
    /// Creates the record of an event before any plugin is called.
    pub(crate) fn new(event: EventKind, original: Box<RawValue>) -> Self {
        Self {
            id: String::new(),
            header: Header::default(),
            turn: 0,
            event,
            outcome: OutcomeKind::Observed,
            enforcement: Enforcement::Enforced,
            by: Vec::new(),
            cause: None,
            reason: None,
            changed_by: Vec::new(),
            original,
            last: None,
            response: None,
            raw: None,
            questions: Vec::new(),
            question: None,
            asked_again: None,
            kept: Vec::new(),
            approved_by: None,
            micros: None,
            sandboxed: false,
            calls: Vec::new(),
            not_matched: Vec::new(),
            not_replayable: Vec::new(),
            redacted: BTreeMap::new(),
        }
    }
}

impl EventRecord {
    /// Returns true if the event continues with a value that plugins changed.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        self.enforcement.is_enforced() && !self.changed_by.is_empty()
    }

    /// Returns the wall time from the event to its outcome, in microseconds. A record without it was written by an earlier version.
    /// Then this is the sum of the plugins' times.
    #[must_use]
    pub fn wall_micros(&self) -> u64 {
        let of_plugins = || self.calls.iter().fold(0, |sum: u64, call| sum.saturating_add(call.micros));
        self.micros.unwrap_or_else(of_plugins)
    }
}

impl Record {
    /// Returns the record's kind, as in JSON.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Log(_) => "log",
            Self::Session(_) => "session",
            Self::Event(_) => "event",
            Self::Approval(_) => "answer",
            Self::AnswerRefused(_) => "answer-refused",
            Self::ToolRun(_) => "tool-run",
            Self::Observed(_) => "observed",
            Self::Dropped(_) => "dropped",
            Self::Delivery(_) => "delivery",
            Self::RulesChanged(_) => "rules-changed",
            Self::Operator(_) => "operator",
            Self::Archived(_) => "archived",
            Self::SessionEnded(_) => "session-ended",
        }
    }

    /// Returns the header of a record of a session.
    #[must_use]
    pub fn header(&self) -> Option<&Header> {
        match self {
            Self::Log(_) | Self::RulesChanged(_) | Self::Operator(_) | Self::Archived(_) => None,
            Self::Session(opened) => Some(&opened.header),
            Self::Event(record) => Some(&record.header),
            Self::Approval(answer) => Some(&answer.header),
            Self::AnswerRefused(refused) => Some(&refused.header),
            Self::ToolRun(run) => Some(&run.header),
            Self::Observed(observed) => Some(&observed.header),
            Self::Dropped(dropped) => Some(&dropped.header),
            Self::Delivery(delivery) => Some(&delivery.header),
            Self::SessionEnded(ended) => Some(&ended.header),
        }
    }

    /// Returns the session of the record.
    #[must_use]
    pub fn session(&self) -> Option<&str> {
        self.header().map(|header| header.session.as_str())
    }

    /// Returns the time of the record, in milliseconds since the Unix epoch.
    #[must_use]
    pub fn time(&self) -> u64 {
        match self {
            Self::Log(begins) => begins.time,
            Self::RulesChanged(changed) => changed.time,
            Self::Operator(action) => action.time,
            Self::Archived(archived) => archived.time,
            _ => self.header().map_or(0, |header| header.time),
        }
    }

    /// Returns the event of the record.
    #[must_use]
    pub fn event(&self) -> Option<EventKind> {
        match self {
            Self::Event(record) => Some(record.event),
            Self::Approval(answer) => Some(answer.event),
            Self::AnswerRefused(refused) => Some(refused.event),
            Self::Observed(observed) => Some(observed.event),
            Self::Log(_)
            | Self::Session(_)
            | Self::ToolRun(_)
            | Self::Dropped(_)
            | Self::Delivery(_)
            | Self::RulesChanged(_)
            | Self::Operator(_)
            | Self::Archived(_)
            | Self::SessionEnded(_) => None,
        }
    }

    /// Returns the outcome of the event, if the record has one.
    #[must_use]
    pub fn outcome(&self) -> Option<OutcomeKind> {
        match self {
            Self::Event(record) => Some(record.outcome),
            Self::Approval(answer) => Some(answer.outcome),
            _ => None,
        }
    }

    /// Returns the calls of plugins in the record.
    #[must_use]
    pub fn calls(&self) -> &[CallRecord] {
        match self {
            Self::Event(record) => &record.calls,
            Self::ToolRun(run) => std::slice::from_ref(&run.call),
            Self::Observed(observed) => &observed.calls,
            _ => &[],
        }
    }

    /// Reads a record. Members that a later version of the same format has added are ignored.
    ///
    /// # Errors
    /// If the text is not a record.
    pub fn from_json(json: &str) -> Result<Self, serde_json::Error> {
        #[derive(Deserialize)]
        struct Kind<'a> {
            #[serde(borrow)]
            kind: std::borrow::Cow<'a, str>,
        }
        // Serde's tagged enums cannot contain a `RawValue`, so the kind is read first.
        let Kind { kind } = serde_json::from_str(json)?;
        Ok(match &*kind {
            "log" => Self::Log(serde_json::from_str(json)?),
            "session" => Self::Session(serde_json::from_str(json)?),
            "event" => Self::Event(serde_json::from_str(json)?),
            "answer" => Self::Approval(serde_json::from_str(json)?),
            "answer-refused" => Self::AnswerRefused(serde_json::from_str(json)?),
            "tool-run" => Self::ToolRun(serde_json::from_str(json)?),
            "observed" => Self::Observed(serde_json::from_str(json)?),
            "dropped" => Self::Dropped(serde_json::from_str(json)?),
            "delivery" => Self::Delivery(serde_json::from_str(json)?),
            "rules-changed" => Self::RulesChanged(serde_json::from_str(json)?),
            "operator" => Self::Operator(serde_json::from_str(json)?),
            "archived" => Self::Archived(serde_json::from_str(json)?),
            "session-ended" => Self::SessionEnded(serde_json::from_str(json)?),
            other => return Err(serde::de::Error::custom(format!("`{other}` is not a kind of record"))),
        })
    }
}

/// Returns the passkeys after the changes in these records, as JSON.
pub(crate) fn passkeys_in(records: &[String]) -> Passkeys {
    Passkeys::after(records.iter().map(|record| match Record::from_json(record) {
        Ok(Record::Operator(action)) => action.passkey.map(|change| (*change, action.time)),
        _ => None,
    }))
}

/// Serialises a part of a record. This cannot fail, because contract types always have a JSON form.
pub(crate) fn raw<T: Serialize + ?Sized>(value: &T) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}
