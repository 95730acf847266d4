//! Random material that the properties of gates, transforms and merging share.

use super::{Layer, Member, OnFailure};
use crate::contract::{Escalation, Refusal};
use proptest::prelude::*;

/// Values are numbers below this: few, so that chains come back to the same one.
pub(super) const VALUES: u8 = 4;

/// How often each property is tried.
pub(super) fn cases() -> ProptestConfig {
    ProptestConfig { cases: 10_000, failure_persistence: None, ..ProptestConfig::default() }
}

/// An enforcing plugin without the grant `approve`: what most are.
pub(super) const ENFORCING: Member = Member { enforcing: true, may_approve: None };

pub(super) fn member() -> impl Strategy<Value = Member> {
    (prop::bool::weighted(0.85), prop::option::of(layer()))
        .prop_map(|(enforcing, may_approve)| Member { enforcing, may_approve })
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
