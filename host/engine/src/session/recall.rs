//! What is given again of an event that was recorded, when it is replayed.

use super::streak::NextCall;
use crate::audit::{CallRecord, KeptAnswer, StateRead, StateUse};
use crate::contract::FailureKind;
use crate::plugin::Plugin;
use crate::sandbox::capability::Recalled;
use crate::state::{Learnt, Read, Source, Usage};
use std::sync::Arc;

/// A recorded event's own facts, and what the plugins that were asked about it learnt from outside.
#[derive(Clone, Debug)]
pub(crate) struct Recall {
    /// The event's identifier.
    pub(crate) id: String,
    /// When it was, in milliseconds since the Unix epoch.
    pub(crate) time: u64,
    /// Each call that was made about it.
    pub(crate) calls: Vec<CallRecord>,
    /// Where it was an asking after a yes: what that counted for.
    pub(crate) asked_again: Option<RecalledConsent>,
    /// The answers of before that stood in for questions.
    pub(crate) kept: Vec<KeptAnswer>,
}

/// The yes before an asking.
#[derive(Clone, Debug)]
pub(crate) struct RecalledConsent {
    /// Rounds of questions that were answered with yes before, from 1.
    pub(crate) round: u32,
    /// The response that was shown, as JSON.
    pub(crate) response: Option<String>,
    /// The questions that the yes stands in for.
    pub(crate) answered: Vec<crate::contract::Question>,
}

impl Recall {
    /// Whether the plugin is called: not where it was tripped then, unless it is another by now.
    pub(super) fn next_call(&self, plugin: &Plugin, round: u32) -> NextCall {
        let then = self.calls.iter().find(|call| call.plugin == plugin.name() && call.round == round);
        let was_tripped = then.is_some_and(|call| {
            let failure = call.failure.as_ref().map(|failure| failure.kind);
            failure == Some(FailureKind::Tripped)
                && (call.digest, call.config) == (plugin.digest(), plugin.shared.config_digest)
        });
        if was_tripped { NextCall::Tripped } else { NextCall::Made }
    }

    /// The inputs of a plugin's call, but for its state.
    pub(super) fn inputs(&self, plugin: &str, round: u32) -> Recalled {
        let call = self.calls.iter().find(|call| call.plugin == plugin && call.round == round);
        Recalled::new(call.map(|call| call.inputs.clone()).unwrap_or_default())
    }

    /// The state of a plugin: what it learnt then, over what the replay has made of the rest.
    pub(super) fn state(&self, plugin: &str, own: Arc<dyn Source>) -> Arc<dyn Source> {
        let calls = self.calls.iter().filter(|call| call.plugin == plugin);
        let used: Vec<&StateUse> = calls.filter_map(|call: &CallRecord| call.inputs.state.as_ref()).collect();
        if used.is_empty() {
            return own;
        }
        // A call may have learnt a value of which a later one learnt only the size.
        let (values, sizes): (Vec<_>, Vec<_>) =
            used.iter().flat_map(|used| &used.read).partition(|read| read.value.is_some());
        let learnt = |read: &StateRead| {
            let value = match (&read.value, read.size) {
                (Some(value), _) => Read::Value(Some(value.0.clone())),
                // Only its size was learnt, so only that can have mattered.
                (None, Some(size)) => Read::Size(Some(size)),
                (None, None) => Read::Value(None),
            };
            ((read.scope, read.key.clone()), value)
        };
        let usage = used.iter().find_map(|used| {
            let keys = used.keys.unwrap_or_default();
            used.used.map(|bytes| [0, 1, 2].map(|scope| Usage { keys: keys[scope], bytes: bytes[scope] }))
        });
        Arc::new(Learnt { values: sizes.into_iter().chain(values).map(learnt).collect(), usage, rest: own })
    }
}
