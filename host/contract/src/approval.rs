//! Questions to a person, and the answers.

use crate::Escalation;
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// A question for a person. In the serialised form, the asker is a field beside the fields of the question:
/// `{"plugin": "careful", "question": …}`, or `{"configuration": true, "question": …}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Question {
    /// The asker.
    #[serde(flatten)]
    pub by: Asker,
    /// The question itself.
    #[serde(flatten)]
    pub escalation: Escalation,
}

impl Question {
    /// Creates a question of the asker `by`.
    #[must_use]
    pub fn new(by: Asker, escalation: Escalation) -> Self {
        Self { by, escalation }
    }
}

/// The source of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Asker {
    /// The plugin of this name.
    Plugin(String),
    /// A `[[rule]]` of the configuration.
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

/// Formats the asker as the subject of "… asks": the plugin's name, or "the configuration", which cannot be the name of
/// a plugin.
impl fmt::Display for Asker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plugin(name) => name,
            Self::Configuration => "the configuration",
        })
    }
}

/// The answer of a person, for the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Answered {
    /// The kind of answer, or the reason why there is none.
    pub kind: AnswerKind,
    /// Reason of a rejection; `None` for an approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Time until the answer, in microseconds.
    pub micros: u64,
    /// True if the approval is valid for the rest of the session. Such an approval covers only questions of the
    /// configuration.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub for_session: bool,
    /// The person who answered, by the name that the asking program uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Channel of the answer: `terminal`, `web page`, `chat`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
    /// The place from which the answer came: `page`, or the answering program and the number of its process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The signature of the person's passkey over the question and the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Box<PasskeyProof>>,
}

/// A signature of a passkey, as a browser returns it (WebAuthn, `AuthenticatorAssertionResponse`). Each member is
/// base64url without padding. <https://www.w3.org/TR/webauthn-3/#iface-authenticatorassertionresponse>
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(clippy::exhaustive_structs, reason = "these are the four parts of an assertion, and a page sets all of them")]
pub struct PasskeyProof {
    /// Identifier of the credential that signed (`rawId`).
    pub credential: String,
    /// The JSON text that the browser created (`clientDataJSON`). It contains the challenge and the origin.
    pub client_data: String,
    /// The data of the authenticator (`authenticatorData`). It says whether the person was present and was verified.
    pub authenticator_data: String,
    /// The signature over the authenticator's data and the SHA-256 digest of the client data.
    pub signature: String,
}

/// The kinds of [`Answered`]. All kinds except `Approved` and `HandedOver` are treated as a rejection. With
/// `HandedOver`, somebody else gives the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum AnswerKind {
    /// The approver approved.
    Approved,
    /// The approver denied.
    Denied,
    /// There is no approver.
    NobodyThere,
    /// The approver panicked.
    Panicked,
    /// The agent has given up the event, so nobody waits for the answer.
    Cancelled,
    /// No answer came before the deadline. A later answer is ignored.
    TooLate,
    /// The process that asked the question has ended, so the call is not executed.
    AskerGone,
    /// The agent asks its own user, and does not continue without approval. hookhost does not learn the user's answer,
    /// but a result of the call shows that the call was executed.
    HandedOver,
}

impl Answered {
    /// Creates an answer, with the reason of a rejection.
    #[must_use]
    pub fn new(kind: AnswerKind, reason: Option<String>) -> Self {
        Self { kind, reason, micros: 0, for_session: false, by: None, via: None, from: None, proof: None }
    }

    /// Returns true if the event may happen.
    #[must_use]
    pub fn is_approved(&self) -> bool {
        self.kind == AnswerKind::Approved
    }
}
