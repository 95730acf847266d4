//! Random material that the properties of gates, transforms and merging share.

use super::{Member, OnFailure};
use crate::contract::{Escalation, Refusal};
use proptest::prelude::*;

/// Values are numbers below this: few, so that chains come back to the same one.
pub(super) const VALUES: u8 = 4;

/// How often each property is tried.
pub(super) fn cases() -> ProptestConfig {
    ProptestConfig { cases: 10_000, failure_persistence: None, ..ProptestConfig::default() }
}

/// An enforcing plugin without the grant `approve`: what most are.
pub(super) const ENFORCING: Member = Member { enforcing: true, may_approve: false };

pub(super) fn member() -> impl Strategy<Value = Member> {
    (prop::bool::weighted(0.85), any::<bool>()).prop_map(|(enforcing, may_approve)| Member { enforcing, may_approve })
}

/// A refusal that can be told from others by its number.
pub(super) fn refusal(number: u8) -> Refusal {
    Refusal { reason: number.to_string(), code: None, retryable: false, stop: false }
}

/// A question that can be told from others by its number.
pub(super) fn question(number: u8) -> Escalation {
    Escalation { question: number.to_string(), code: None }
}

pub(super) fn on_failure() -> impl Strategy<Value = OnFailure> {
    prop_oneof![1 => Just(OnFailure::Reject), 2 => Just(OnFailure::Skip)]
}
