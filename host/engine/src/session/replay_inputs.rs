//! The inputs of a replay: the data that a recorded event and its plugins' calls got from outside.

use super::failure_count::NextCall;
use crate::audit::{CallRecord, KeptAnswer, StateRead, StateUse};
use crate::contract::FailureKind;
use crate::plugin::Plugin;
use crate::sandbox::capability::ReplayedInputs;
use crate::state::{Read, RecordedReads, Source, Usage};
use std::sync::Arc;

/// The facts of a recorded event, and the data that its plugins read from outside.
#[derive(Clone, Debug)]
pub(crate) struct ReplayInputs {
    /// The event's identifier.
    pub(crate) id: String,
    /// The event's time, in milliseconds since the Unix epoch.
    pub(crate) time: u64,
    /// The calls of plugins about the event.
    pub(crate) calls: Vec<CallRecord>,
    /// The approval before this record, if the plugins were asked again.
    pub(crate) asked_again: Option<ReplayedConsent>,
    /// The answers for the rest of the session, by which some questions were answered.
    pub(crate) kept: Vec<KeptAnswer>,
}

/// A person's approval after which the plugins were asked again.
#[derive(Clone, Debug)]
pub(crate) struct ReplayedConsent {
    /// Number of rounds of questions that were answered with yes so far, from 1.
    pub(crate) round: u32,
    /// The response that was shown, as JSON.
    pub(crate) response: Option<String>,
    /// The questions that the approval answers.
    pub(crate) answered: Vec<crate::contract::Question>,
}

impl ReplayInputs {
    /// Decides if the plugin is called. If the plugin was tripped when the event was recorded, it is called only if its
    /// file or configuration has changed since then.
    pub(super) fn next_call(&self, plugin: &Plugin, round: u32) -> NextCall {
        let then = self.calls.iter().find(|call| call.plugin == plugin.name() && call.round == round);
        let was_tripped = then.is_some_and(|call| {
            let failure = call.failure.as_ref().map(|failure| failure.kind);
            failure == Some(FailureKind::Tripped)
                && (&call.code, call.config) == (plugin.code_id(), plugin.shared.config_digest)
        });
        if was_tripped { NextCall::Tripped } else { NextCall::Made }
    }

    /// Returns the inputs of a plugin's call, except its state.
    pub(super) fn inputs(&self, plugin: &str, round: u32) -> ReplayedInputs {
        let call = self.calls.iter().find(|call| call.plugin == plugin && call.round == round);
        ReplayedInputs::new(call.map(|call| call.inputs.clone()).unwrap_or_default())
    }

    /// Returns the state of a plugin: the values that its recorded calls have read, and the state of the replay for
    /// all other keys.
    pub(super) fn state(&self, plugin: &str, own: Arc<dyn Source>) -> Arc<dyn Source> {
        let calls = self.calls.iter().filter(|call| call.plugin == plugin);
        let used: Vec<&StateUse> = calls.filter_map(|call: &CallRecord| call.inputs.state.as_ref()).collect();
        if used.is_empty() {
            return own;
        }
        // One call may have read a value, and a later call only its size. The value takes precedence.
        let (values, sizes): (Vec<_>, Vec<_>) =
            used.iter().flat_map(|used| &used.read).partition(|read| read.value.is_some());
        let learnt = |read: &StateRead| {
            let value = match (&read.value, read.size) {
                (Some(value), _) => Read::Value(Some(value.0.clone())),
                // Only the size was read, so only the size can have affected the call.
                (None, Some(size)) => Read::Size(Some(size)),
                (None, None) => Read::Value(None),
            };
            ((read.scope, read.key.clone()), value)
        };
        let usage = used.iter().find_map(|used| {
            let keys = used.keys.unwrap_or_default();
            used.used.map(|bytes| [0, 1, 2].map(|scope| Usage { keys: keys[scope], bytes: bytes[scope] }))
        });
        Arc::new(RecordedReads { values: sizes.into_iter().chain(values).map(learnt).collect(), usage, rest: own })
    }
}
