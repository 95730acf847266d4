//! Composition: combines the answers of several plugins to one event.
//!
//! All functions depend only on their input: no WebAssembly, no clock, no I/O. There are three kinds of composition:
//! [`Gate`] asks about one value in rounds, until every plugin has seen its final form; [`Transform`] passes one
//! value from plugin to plugin; [`merge`] concatenates tasks. [`Consent`] handles a person's yes to the questions of
//! a gate. `docs/composition.md` states the rules in prose.

mod consent;
#[cfg(test)]
mod documented;
mod gate;
#[cfg(test)]
mod generated;
mod tasks;
mod transform;

pub(crate) use consent::{Consent, MAX_QUESTION_ROUNDS, Step};
#[cfg(test)]
pub(crate) use gate::Ask;
pub(crate) use gate::{Gate, GateResult, MAX_ROUNDS, QuestionOrigin};
pub(crate) use tasks::{MAX_TASKS, merge};
pub(crate) use transform::{Passage, Transform};

pub(crate) use crate::config::{Layer, OnFailure};
use crate::contract::{Escalation, Refusal};

/// The role of a plugin in a chain. The index of a member is its place in the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    /// False in audit mode: the answers are recorded, but change nothing.
    pub(crate) enforcing: bool,
    /// The layer of the plugin's entry, if the entry has the grant `approve`. [`Layer::may_waive`] says which
    /// questions of the configuration the plugin may waive.
    pub(crate) may_approve: Option<Layer>,
}

/// One plugin's answer to a gate event, after the check that a change matches the schema and the limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict<V, R> {
    /// No objection.
    Allow,
    /// No objection. Also waives the questions of the configuration that the member may waive.
    Approve,
    /// Replaces the value by this one.
    Change(V),
    /// A person must decide.
    Escalate(Escalation),
    /// Rejects the value.
    Reject(Refusal),
    /// The value does not run. This is the result in its place.
    Respond(R),
    /// The plugin was not asked, because its entry excludes this value. Objects to nothing, and withdraws no
    /// question.
    NotMatched,
    /// No answer: the plugin failed, and its `on-failure` decides. [`OnFailure::Ask`] without a question rejects.
    Failed(OnFailure),
    /// No answer, and a person decides instead: the plugin failed, and its `on-failure` is [`OnFailure::Ask`].
    Unanswered(Escalation),
}

/// The cause of a rejection. Members are identified by their index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Objection {
    /// A plugin rejected the value.
    Verdict {
        /// The plugin.
        by: usize,
        /// The refusal.
        refusal: Refusal,
    },
    /// A plugin failed, and its `on-failure` does not let the value pass.
    Failure {
        /// The plugin.
        by: usize,
    },
    /// After [`MAX_ROUNDS`] rounds, these members had not agreed to the value.
    Disagreement {
        /// The members, in chain order; never empty. If some members disagree, those that gave no answer last time
        /// are left out.
        by: Vec<usize>,
    },
}
