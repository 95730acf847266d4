//! What a call learnt from outside its event, as it is recorded and given again.

use super::capability::{Message, ModelRequest};
use crate::contract::bytes::Bytes;
use crate::state::{Read, Reads, Scope};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a call learnt from outside the event: with it, the call can be made again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Inputs {
    /// What it learnt of its state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<StateUse>,
    /// The answers to its side calls to a model, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub model: Vec<ModelAnswer>,
    /// What it read of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<TranscriptRead>,
}

/// What a call learnt of its state, as it was before the event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct StateUse {
    /// What the scopes `session`, `tree` and `plugin` held: bytes of keys and values, and 64 for each key. Absent where the call wrote
    /// nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<[usize; 3]>,
    /// How many keys that were; beyond 10 000, how many more is not said. Absent as `used` is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<[usize; 3]>,
    /// What was at each key that it read or wrote.
    pub read: Vec<StateRead>,
}

/// What was at a key before the event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct StateRead {
    /// Whose key it is.
    pub scope: Scope,
    /// The key.
    pub key: String,
    /// Its value, where the call read it and there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Bytes>,
    /// Bytes of key and value, where the call learnt no more than that there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<usize>,
}

/// A side call to a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ModelAnswer {
    /// What was asked.
    pub request: ModelRequest,
    /// What came back.
    pub answer: ModelReply,
}

/// What came of a side call to a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModelReply {
    /// The completion.
    Completion(String),
    /// The grant or the agent does not permit it; why.
    Denied(String),
    /// The model failed; why.
    Failed(String),
    /// The grant allows no more calls in this session.
    BudgetExceeded,
}

/// What a call read of the conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct TranscriptRead {
    /// Messages in it.
    pub length: u32,
    /// The messages that were read, by index.
    pub messages: BTreeMap<u32, Message>,
}

impl Inputs {
    /// Whether it learnt nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.state.is_none() && self.model.is_empty() && self.transcript.is_none()
    }
}

impl Reads {
    /// As in a record; nothing where the state was not used.
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
