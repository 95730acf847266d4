//! Composition: combines the answers of several plugins to one event.
//!
//! The results of all functions depend only on their input. The module uses no WebAssembly, no clock and no I/O. There
//! are three kinds of composition. [`Gate`] asks the plugins about one value in rounds, until every plugin has seen the
//! value in its final form. [`Transform`] passes one value from plugin to plugin. [`merge`] concatenates tasks.
//! [`Consent`] handles a person's approval of the questions of a gate. `docs/composition.md` states the rules in prose.

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

/// The role of a plugin in a chain. The plugins of a chain are its members, and a member is identified by its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    /// False in observe mode: the answers are recorded, but change nothing.
    pub(crate) enforcing: bool,
    /// The layer of the plugin's entry, if the entry has the grant `approve`. [`Layer::may_waive`] says which
    /// questions of the configuration the plugin may waive.
    pub(crate) may_approve: Option<Layer>,
    /// True if the plugin is also asked about a value that it has written itself. The rules of one plugin may come from
    /// several people, and a change that one rule makes must not escape the others.
    pub(crate) sees_own_changes: bool,
}

/// One plugin's answer to a gate event. If the answer is a change, it was already checked against the schema and the
/// limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict<V, R> {
    /// No objection.
    Allow,
    /// No objection. Also waives the questions of the configuration that the member may waive.
    Approve,
    /// A new value, which replaces the current value.
    Change(V),
    /// A person must decide.
    Escalate(Escalation),
    /// Rejects the value.
    Reject(Refusal),
    /// A result, which the agent uses instead of running the value.
    Respond(R),
    /// The plugin was not asked, because its entry excludes this value. The plugin then has no objection, but a
    /// question that it asked earlier stays open.
    NotMatched,
    /// The plugin failed to answer, and its `on-failure` decides. Here, [`OnFailure::Ask`] rejects the value, because
    /// there is no question.
    Failed(OnFailure),
    /// The plugin failed to answer, and its `on-failure` is [`OnFailure::Ask`]. So a person decides instead of the
    /// plugin.
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
    /// A plugin failed, and its `on-failure` rejects the value.
    Failure {
        /// The plugin.
        by: usize,
    },
    /// After [`MAX_ROUNDS`] rounds, these members had not agreed to the value.
    Disagreement {
        /// The members, in chain order. The list is never empty. If any of them gave an answer last time, the members
        /// that gave no answer are left out.
        by: Vec<usize>,
    },
}
