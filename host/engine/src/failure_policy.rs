//! The failure policy: what happens to an event if a plugin gives no valid answer.
//!
//! A failure is not a verdict. [`FailureKind`] lists the kinds of failure, which `sandbox::trap` derives from the
//! errors of wasmtime. [`OnFailure`] decides the consequence for the event. Several failures in a row trip a plugin. A
//! tripped plugin is not called for a while, and each event in this time is treated as a failure of the kind `tripped`.
//! `docs/failures.md` explains the policy to users.

use crate::contract::{FailureKind, Shape};
use serde::{Deserialize, Serialize};

/// Number of failures in a row after which a plugin is tripped.
pub(crate) const FAILURES_TO_TRIP: u32 = 3;

/// Time for which a plugin is not called after it was tripped, in milliseconds. Each further failure doubles the time,
/// up to the maximum.
const FIRST_BACK_OFF: u64 = 10_000;
const MAX_BACK_OFF: u64 = 300_000;

/// The setting `on-failure`. It decides what happens to an event if a plugin failed to give a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum OnFailure {
    /// Rejects the event: the agent does not run the call, or the value is withheld.
    Reject,
    /// Continues with the event as if the plugin were not in the chain.
    Skip,
    /// Asks a person about the value, in the plugin's name. If no person can be asked, or if the event is a transform,
    /// rejects the event.
    Ask,
}

/// The consequence of a failure for its event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureConsequence {
    /// The event is rejected.
    Rejects,
    /// A person is asked.
    Asks,
    /// The event continues without the plugin's answer. A notice tells the user the reason, once for each plugin.
    Passes(&'static str),
}

impl OnFailure {
    /// Returns the name of the value in the configuration file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reject => "reject",
            Self::Skip => "skip",
            Self::Ask => "ask",
        }
    }

    /// Returns the policy for events of this shape. `written` is the entry's `on-failure`. Events that only collect
    /// or observe continue without a failed plugin, because no decision depends on its answer.
    pub(crate) fn for_shape(written: Option<Self>, shape: Shape) -> Self {
        match shape {
            Shape::Gate | Shape::Transform => written.unwrap_or(Self::Reject),
            Shape::Collect | Shape::Observe => Self::Skip,
        }
    }

    /// Returns the consequence for an event of this shape. `enforces` is false for a plugin whose `mode` is `observe`.
    pub(crate) fn consequence(self, shape: Shape, enforces: bool) -> FailureConsequence {
        match (self, shape) {
            _ if !enforces => FailureConsequence::Passes("its `mode = \"observe\"` let the event pass"),
            (_, Shape::Collect | Shape::Observe) => {
                FailureConsequence::Passes("nothing depends on its answer there, so the event passed")
            }
            (Self::Skip, _) => FailureConsequence::Passes("its `on-failure = \"skip\"` let the event pass"),
            (Self::Ask, Shape::Gate) => FailureConsequence::Asks,
            (Self::Ask, Shape::Transform) | (Self::Reject, _) => FailureConsequence::Rejects,
        }
    }
}

/// Returns true if a failure of this kind counts towards tripping. Only failures that the plugin causes count. Failures
/// do not count if the machine, the event or an earlier tripping causes them.
pub(crate) fn counts_towards_tripping(kind: FailureKind) -> bool {
    !matches!(kind, FailureKind::Overloaded | FailureKind::Oversized | FailureKind::Tripped)
}

/// Returns true if a plugin with this number of failures in a row is tripped.
pub(crate) fn is_tripped(failures: u32) -> bool {
    failures >= FAILURES_TO_TRIP
}

/// Returns the time for which a tripped plugin is not called after its last failure, in milliseconds. After this time,
/// the plugin is called once, as a test. If that call succeeds, the count of failures is reset. Otherwise the next wait
/// is twice as long.
pub(crate) fn back_off(failures: u32) -> u64 {
    let doublings = failures.saturating_sub(FAILURES_TO_TRIP).min(16);
    FIRST_BACK_OFF.saturating_mul(1 << doublings).min(MAX_BACK_OFF)
}

/// Returns true if a tripped plugin may not be tried again yet. `retry` is the time of the next try, in milliseconds
/// since the Unix epoch. A clock that was set back does not extend the wait.
pub(crate) fn is_backing_off(retry: u64, now: u64) -> bool {
    now < retry && retry <= now.saturating_add(MAX_BACK_OFF)
}

#[cfg(test)]
mod tests {
    use super::FailureConsequence::{Asks, Passes, Rejects};
    use super::*;

    const OBSERVE: FailureConsequence = Passes("its `mode = \"observe\"` let the event pass");
    const SKIP: FailureConsequence = Passes("its `on-failure = \"skip\"` let the event pass");
    const NOTHING: FailureConsequence = Passes("nothing depends on its answer there, so the event passed");

    #[test]
    fn the_policy_is_this_table() {
        let written = [None, Some(OnFailure::Reject), Some(OnFailure::Skip), Some(OnFailure::Ask)];
        for (shape, enforcing) in [
            (Shape::Gate, [Rejects, Rejects, SKIP, Asks]),
            (Shape::Transform, [Rejects, Rejects, SKIP, Rejects]),
            (Shape::Collect, [NOTHING; 4]),
            (Shape::Observe, [NOTHING; 4]),
        ] {
            let consequence =
                |enforces| written.map(|written| OnFailure::for_shape(written, shape).consequence(shape, enforces));
            assert_eq!(consequence(true), enforcing, "{shape:?}");
            assert_eq!(consequence(false), [OBSERVE; 4], "{shape:?}");
        }

        for &kind in FailureKind::ALL {
            let is_blameless = [FailureKind::Oversized, FailureKind::Tripped, FailureKind::Overloaded].contains(&kind);
            assert_eq!(counts_towards_tripping(kind), !is_blameless, "{kind:?}");
        }

        assert_eq!((0..5).map(is_tripped).collect::<Vec<_>>(), [false, false, false, true, true]);
        let seconds = (3..=10).map(|failures| back_off(failures) / 1_000).collect::<Vec<_>>();
        assert_eq!(seconds, [10, 20, 40, 80, 160, 300, 300, 300]);
        assert_eq!(back_off(u32::MAX), MAX_BACK_OFF);

        assert!(is_backing_off(20_000, 19_999) && !is_backing_off(20_000, 20_000));
        // The clock was set back.
        assert!(!is_backing_off(MAX_BACK_OFF + 1_001, 1_000));
    }
}
