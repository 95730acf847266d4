//! The recorded inputs of a call, which a replay gives to the plugin again.

use super::{CapabilityAnswer, CapabilityCall, CapabilityReply, Message, ModelRequest, Transcript};
use crate::config::Digest;
use crate::contract::{Fact, FactName};
use crate::sandbox::{FactRead, Inputs, ModelAnswer, ModelReply, SecretsUse, TranscriptRead};
use crate::secrets::{FoundSecret, UncoveredSecret};
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};

/// The recorded answers, which replace the agent's model and conversation in a replay.
#[derive(Debug, Default)]
pub(crate) struct ReplayedInputs {
    model: VecDeque<ModelAnswer>,
    own: VecDeque<CapabilityAnswer>,
    transcript: Option<TranscriptRead>,
    facts: Vec<FactRead>,
    labels: Option<BTreeMap<String, u64>>,
    secrets: Option<SecretsUse>,
    /// True if the call asked for something that was not recorded.
    missed: AtomicBool,
}

impl ReplayedInputs {
    pub(crate) fn new(inputs: Inputs) -> Self {
        Self {
            model: inputs.model.into(),
            own: inputs.capabilities.into(),
            transcript: inputs.transcript,
            facts: inputs.facts,
            labels: inputs.labels,
            secrets: inputs.secrets,
            missed: AtomicBool::new(false),
        }
    }

    /// Returns the recorded reply, if the plugin makes the same requests in the same order as in the record.
    pub(super) fn reply(&mut self, request: &ModelRequest) -> ModelReply {
        match self.model.pop_front().filter(|recorded| recorded.request == *request) {
            Some(recorded) => recorded.answer,
            None => {
                self.miss();
                ModelReply::Denied("the log has no answer to this".into())
            }
        }
    }

    /// Returns the recorded reply of a capability of the embedding program, under the same condition as
    /// [`Self::reply`].
    pub(super) fn own(&mut self, call: &CapabilityCall) -> CapabilityReply {
        let is_same = |recorded: &CapabilityAnswer| {
            let CapabilityCall { capability, function, arguments, .. } = &recorded.call;
            (capability, function, arguments) == (&call.capability, &call.function, &call.arguments)
        };
        match self.own.pop_front().filter(is_same) {
            Some(recorded) => recorded.answer,
            None => {
                self.miss();
                CapabilityReply::Failed("the log has no answer to this".into())
            }
        }
    }

    /// Returns the recorded fact.
    pub(super) fn fact(&self, name: &FactName, at: Option<&str>) -> Fact {
        let recorded = self.facts.iter().find(|read| read.name == *name && read.at.as_deref() == at);
        match recorded {
            Some(recorded) => recorded.value.clone(),
            None => {
                self.miss();
                Fact::Unreadable("the log does not contain this fact".into())
            }
        }
    }

    /// Returns the recorded labels, if the call used labels.
    pub(crate) fn labels(&self) -> Option<BTreeMap<String, u64>> {
        self.labels.clone()
    }

    /// Returns the recorded secrets of a text.
    pub(super) fn found(&self, text: &str) -> Vec<FoundSecret> {
        let Some(used) = &self.secrets else {
            self.miss();
            return Vec::new();
        };
        if used.texts.is_empty() {
            return Vec::new();
        }
        let digest = Digest::of_bytes(text.as_bytes());
        let recorded = used.texts.iter().find(|recorded| recorded.text == digest);
        recorded.map(|recorded| recorded.found.clone()).unwrap_or_default()
    }

    /// Returns the recorded values that are not covered.
    pub(super) fn uncovered(&self) -> Vec<UncoveredSecret> {
        let recorded = self.secrets.as_ref().and_then(|used| used.uncovered.clone());
        recorded.unwrap_or_else(|| {
            self.miss();
            Vec::new()
        })
    }

    /// Returns true if the call asked for something that was not recorded. In that case the verdict of the replay may
    /// differ.
    pub(crate) fn missed(&self) -> bool {
        self.missed.load(Ordering::Relaxed)
    }

    fn miss(&self) {
        self.missed.store(true, Ordering::Relaxed);
    }
}

impl Transcript for ReplayedInputs {
    fn length(&self) -> u32 {
        self.transcript.as_ref().map_or_else(
            || {
                self.miss();
                0
            },
            |read| read.length,
        )
    }

    fn message(&self, index: u32) -> Option<Message> {
        let read = self.transcript.as_ref();
        let message = read.and_then(|read| read.messages.get(&index)).cloned();
        if message.is_none() && read.is_none_or(|read| index < read.length) {
            self.miss();
        }
        message
    }
}
