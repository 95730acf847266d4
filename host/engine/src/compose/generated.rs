//! Random data for the property tests of gates, transforms and merging.

use super::{Layer, Member, OnFailure};
use crate::contract::{Escalation, Refusal};
use proptest::prelude::*;

/// Values are numbers below this number. The number is small, because the tests need chains that return to an earlier
/// value.
pub(super) const VALUES: u8 = 4;

/// Returns the configuration of the property tests, with the number of cases for each property.
pub(super) fn cases() -> ProptestConfig {
    ProptestConfig { cases: 10_000, failure_persistence: None, ..ProptestConfig::default() }
}

/// An enforcing plugin without the grant `approve`, like most plugins.
pub(super) const ENFORCING: Member = Member { enforcing: true, may_approve: None, sees_own_changes: false };

pub(super) fn member() -> impl Strategy<Value = Member> {
    (prop::bool::weighted(0.85), prop::option::of(layer()), prop::bool::weighted(0.1))
        .prop_map(|(enforcing, may_approve, sees_own_changes)| Member { enforcing, may_approve, sees_own_changes })
}

pub(super) fn layer() -> impl Strategy<Value = Layer> {
    prop_oneof![Just(Layer::User), Just(Layer::Project), Just(Layer::Chosen)]
}

/// A refusal with a number that distinguishes it from others.
pub(super) fn refusal(number: u8) -> Refusal {
    Refusal { reason: number.to_string(), code: None, retryable: false, stop: false }
}

/// A question with a number that distinguishes it from others.
pub(super) fn question(number: u8) -> Escalation {
    Escalation { question: number.to_string(), code: None }
}

pub(super) fn on_failure() -> impl Strategy<Value = OnFailure> {
    prop_oneof![2 => Just(OnFailure::Reject), 1 => Just(OnFailure::Ask), 6 => Just(OnFailure::Skip)]
}
