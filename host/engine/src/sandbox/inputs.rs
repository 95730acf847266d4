//! The inputs that a call gets from outside its event. They are recorded, and a replay gives them to the plugin again.

use super::capability::{CapabilityAnswer, Message, ModelRequest};
use crate::config::Digest;
use crate::contract::bytes::Bytes;
use crate::contract::{Fact, FactName};
use crate::secrets::{FoundSecret, UncoveredSecret};
use crate::state::{Read, Reads, Scope};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The inputs that a call has got from outside its event. With these inputs, the call can be replayed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Inputs {
    /// The state that the call read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<StateUse>,
    /// The answers to the call's side calls to a model, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub model: Vec<ModelAnswer>,
    /// The answers of the embedding program's capabilities that the call used, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<CapabilityAnswer>,
    /// The messages that the call read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<TranscriptRead>,
    /// The facts that the call read, in order of the first reads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<FactRead>,
    /// The labels of the session before the event, if the call used labels. The value of a label is the time at which
    /// it was added, in milliseconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, u64>>,
    /// The secrets that the call found, if it looked for secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secrets: Option<SecretsUse>,
}

/// A fact that a call read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct FactRead {
    /// The name of the fact.
    pub name: FactName,
    /// The directory or the file that the fact is about, as the plugin named it. If absent, it is the working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The fact.
    pub value: Fact,
}

/// The secrets that a call found. The record contains their names and places, and no value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
#[non_exhaustive]
pub struct SecretsUse {
    /// The texts with secrets, in the order in which the call looked at them. Texts without secrets are left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<TextWithSecrets>,
    /// The values that are not covered, if the call asked for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uncovered: Option<Vec<UncoveredSecret>>,
}

/// A text in which a call found secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct TextWithSecrets {
    /// SHA-256 of the text.
    pub text: Digest,
    /// The secrets with their places in the text.
    pub found: Vec<FoundSecret>,
}

/// The state that a call used. The values are the values before the event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct StateUse {
    /// Size of the scopes `session`, `tree` and `plugin` in bytes: the keys, the values, and 64 bytes for each key.
    /// Absent if the call wrote nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<[usize; 3]>,
    /// Number of keys in the scopes `session`, `tree` and `plugin`, at most 10 000 each. Absent if the call wrote
    /// nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<[usize; 3]>,
    /// The values of the keys that the call read or wrote.
    pub read: Vec<StateRead>,
}

/// The value of a key before the event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct StateRead {
    /// The key's scope.
    pub scope: Scope,
    /// The key.
    pub key: String,
    /// The value, if the call read it and the key existed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Bytes>,
    /// Size of the key and its value in bytes, if the call learned only that the key exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<usize>,
}

/// A side call to a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct ModelAnswer {
    /// The request.
    pub request: ModelRequest,
    /// The reply.
    pub answer: ModelReply,
}

/// The reply to a side call to a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ModelReply {
    /// The completion.
    Completion(String),
    /// The request was not permitted. The string is the reason.
    Denied(String),
    /// The reason why the model failed.
    Failed(String),
    /// The plugin has already made all calls that its grant allows in this session.
    BudgetExceeded,
}

/// The messages that a call read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct TranscriptRead {
    /// Number of messages in the conversation.
    pub length: u32,
    /// The messages that were read, by index.
    pub messages: BTreeMap<u32, Message>,
}

impl Inputs {
    /// Returns true if the call read nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self { state, model, capabilities, transcript, facts, labels, secrets } = self;
        let is_silent = model.is_empty() && capabilities.is_empty() && facts.is_empty();
        is_silent && state.is_none() && transcript.is_none() && labels.is_none() && secrets.is_none()
    }
}

impl Reads {
    /// Returns the reads and writes of the state as they are recorded, or `None` if the call did not use the state.
    pub(crate) fn recorded(self) -> Option<StateUse> {
        let read = |((scope, key), read)| {
            let (value, size) = match read {
                Read::Value(value) => (value.map(Bytes), None),
                Read::Size(size) => (None, size),
            };
            StateRead { scope, key, value, size }
        };
        if self.used.is_none() && self.values.is_empty() {
            return None;
        }
        let used = self.used.map(|used| used.map(|usage| usage.bytes));
        let keys = self.used.map(|used| used.map(|usage| usage.keys));
        Some(StateUse { used, keys, read: self.values.into_iter().map(read).collect() })
    }
}
