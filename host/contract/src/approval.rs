//! Questions to a person, and their answers.

use crate::Escalation;
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// A question for a person. Serialises with who asks beside what: `{"plugin": "careful", "question": …}`, or
/// `{"configuration": true, "question": …}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Question {
    /// Who asks.
    #[serde(flatten)]
    pub by: Asker,
    /// What.
    #[serde(flatten)]
    pub escalation: Escalation,
}

impl Question {
    /// What `by` asks.
    #[must_use]
    pub fn new(by: Asker, escalation: Escalation) -> Self {
        Self { by, escalation }
    }
}

/// Who asks a question.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Asker {
    /// The plugin of this name.
    Plugin(String),
    /// An ask rule of the configuration.
    Configuration,
}

impl<'de> Deserialize<'de> for Asker {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct RawAsker {
            plugin: Option<String>,
        }
        Ok(RawAsker::deserialize(deserializer)?.plugin.map_or(Self::Configuration, Self::Plugin))
    }
}

impl Serialize for Asker {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        match self {
            Self::Plugin(name) => map.serialize_entry("plugin", name)?,
            Self::Configuration => map.serialize_entry("configuration", &true)?,
        }
        map.end()
    }
}

/// As the subject of "… asks": the plugin's name, or "the configuration", which no plugin can be called.
impl fmt::Display for Asker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plugin(name) => name,
            Self::Configuration => "the configuration",
        })
    }
}

/// The answer of a person, for the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Answered {
    /// The answer, or what took its place.
    pub kind: AnswerKind,
    /// Why it is a no; absent where it is a yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How long it was waited for, in microseconds.
    pub micros: u64,
    /// Whether the yes was given for the rest of the session, as far as the configuration asked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub for_session: bool,
    /// Who answered, as the program that asked knows them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// How the answer came: `terminal`, `web page`, `chat`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
}

/// The kinds of [`Answered`]. All are a no but `Approved`, and `HandedOver`, which leaves the answer to somebody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum AnswerKind {
    /// The approver said yes.
    Approved,
    /// The approver said no.
    Denied,
    /// There is no approver.
    NobodyThere,
    /// The approver panicked.
    Panicked,
    /// Nobody waits for the answer any more: the agent has given up the event.
    Cancelled,
    /// The answer had not come by the deadline. One that comes later counts for nothing.
    TooLate,
    /// The process that asked has ended, so that nobody runs the call.
    AskerGone,
    /// The agent asks its own user, and does not continue without a yes. What the user answered is not known; a result of the
    /// call says that it ran.
    HandedOver,
}

impl Answered {
    /// An answer, and why it is a no.
    #[must_use]
    pub fn new(kind: AnswerKind, reason: Option<String>) -> Self {
        Self { kind, reason, micros: 0, for_session: false, by: None, via: None }
    }

    /// Whether the value may run.
    #[must_use]
    pub fn is_approved(&self) -> bool {
        self.kind == AnswerKind::Approved
    }
}
