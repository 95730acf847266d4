//! Composition: what the host makes of many plugins' answers to one event.
//!
//! Pure functions of their input: no wasm, no clock, no I/O. The three ways of composing are [`Gate`] (one value,
//! asked about in rounds until nobody has seen it in another form), [`Transform`] (one value, handed on) and
//! [`merge`] (tasks, concatenated). [`Consent`] says what a person's yes to the questions of a gate counts for.
//! `docs/composition.md` states the rules in prose.

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

/// The role of a plugin in a chain; its place in the chain is its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    /// `false` in audit mode: it is asked and recorded, and changes nothing.
    pub(crate) enforcing: bool,
    /// In whose file its entry is, where it holds the grant `approve`: [`Layer::may_waive`] says which questions of the
    /// configuration that waives.
    pub(crate) may_approve: Option<Layer>,
}

/// What one plugin answered to a gate event, checked: a change fits the schema and the limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict<V, R> {
    /// No objection.
    Allow,
    /// No objection, and the configuration's questions are waived, as far as the member may.
    Approve,
    /// This value instead.
    Change(V),
    /// A person must decide.
    Escalate(Escalation),
    /// No.
    Reject(Refusal),
    /// Instead of doing it, this is its result.
    Respond(R),
    /// It was not asked: this value does not match the calls that its entry narrows it to. Holds
    /// nothing up and withdraws nothing.
    NotMatched,
    /// No answer: the plugin failed, and its `on-failure` decides. [`OnFailure::Ask`] without a question rejects.
    Failed(OnFailure),
    /// No answer, and a person decides instead: the plugin failed, and its `on-failure` is [`OnFailure::Ask`].
    Unanswered(Escalation),
}

/// Why an event was rejected; members are named by their index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Objection {
    /// A plugin said no.
    Verdict {
        /// Who.
        by: usize,
        /// What it said.
        refusal: Refusal,
    },
    /// A plugin failed, and its `on-failure` does not let the value pass.
    Failure {
        /// Who.
        by: usize,
    },
    /// After [`MAX_ROUNDS`] these had still not agreed to the value.
    Disagreement {
        /// Who, in chain order; never empty. Not one that gave no answer last time, where others disagree.
        by: Vec<usize>,
    },
}
