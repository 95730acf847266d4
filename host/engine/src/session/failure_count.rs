//! Counts the failures in a row of a session's plugins. `failure_policy` defines the limits.

use super::notice::{Notice, NoticeKind};
use crate::config::Digest;
use crate::contract::Failure;
use crate::failure_policy::{self, FAILURES_TO_TRIP};
use crate::plugin::Plugin;
use crate::state::Time;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Says whether a plugin is called for its next event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextCall {
    /// The plugin is called.
    Made,
    /// The plugin is tripped, so it is not called.
    Tripped,
}

/// Identifies the calls whose failures are counted together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Caller {
    plugin: String,
    /// True if the plugin observes, false if it answers. The two are counted separately: observers run at some later
    /// time, so their failures must not affect outcomes.
    observes: bool,
    /// The digests of the plugin's file and configuration. After a fix, the plugin has different digests, so it starts
    /// without failures.
    of: [Digest; 2],
}

/// The failures in a row of a session's plugins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct FailureCounts(Vec<FailureCount>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct FailureCount {
    #[serde(flatten)]
    caller: Caller,
    failures: u32,
    /// Time of the next attempt after the plugin was tripped, in milliseconds since the Unix epoch.
    retry: Time,
}

impl Caller {
    pub(super) fn new(plugin: &Plugin, observes: bool) -> Self {
        Self {
            plugin: plugin.name().to_owned(),
            observes,
            of: [plugin.code_id().digest(), plugin.shared.config_digest],
        }
    }

    fn is_same_plugin(&self, other: &Self) -> bool {
        self.plugin == other.plugin && self.observes == other.observes
    }
}

impl FailureCounts {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Decides if the plugin is called. When the back-off of a tripped plugin is over, a single call tries the plugin
    /// again. [`Self::tried`] records this, and no other call is made before that call has returned.
    pub(super) fn next_call(&self, caller: &Caller, now: Time) -> NextCall {
        match self.of(caller).filter(|failure_count| failure_count.is_tripped()) {
            Some(failure_count) if failure_policy::is_backing_off(failure_count.retry, now) => NextCall::Tripped,
            _ => NextCall::Made,
        }
    }

    /// Returns true if the plugin is tripped, so its next call only tries it again.
    pub(super) fn is_trial(&self, caller: &Caller) -> bool {
        self.of(caller).is_some_and(FailureCount::is_tripped)
    }

    /// Records that a call tries a tripped plugin again.
    pub(super) fn tried(&mut self, caller: &Caller, now: Time) {
        if let Some(failure_count) = self.of_mut(caller) {
            failure_count.retry = now + failure_count.back_off();
        }
    }

    /// Removes the failures of a plugin that has answered.
    pub(super) fn succeeded(&mut self, caller: &Caller) {
        self.0.retain(|failure_count| !failure_count.caller.is_same_plugin(caller));
    }

    /// Counts a failure.
    pub(super) fn failed(&mut self, caller: &Caller, now: Time) {
        let failures = self.of(caller).map_or(0, |failure_count| failure_count.failures).saturating_add(1);
        let mut failure_count = FailureCount { caller: caller.clone(), failures, retry: now };
        failure_count.retry = now + failure_count.back_off();
        self.succeeded(caller);
        self.0.push(failure_count);
    }

    /// Returns the notice about a failure that was just counted, if this failure trips the plugin.
    pub(super) fn notice(&self, caller: &Caller, failure: &Failure) -> Option<Notice> {
        let failure_count = self.of(caller).filter(|failure_count| failure_count.failures == FAILURES_TO_TRIP)?;
        // A plugin may be tripped twice, as an observer and as a plugin that answers. The user gets only one notice.
        let other = Caller { observes: !caller.observes, ..caller.clone() };
        let is_told = self.of(&other).is_some_and(FailureCount::is_tripped);
        (!is_told).then(|| {
            let text = format!(
                "the plugin {} failed {FAILURES_TO_TRIP} times in a row (it {failure}): it is not called for {:?}, then it is \
                 tried again; until then its `on-failure` decides in its place",
                caller.plugin,
                Duration::from_millis(failure_count.back_off()),
            );
            Notice::about(NoticeKind::Tripped, &caller.plugin, text)
        })
    }

    /// Returns true if a plugin is tripped.
    pub(super) fn is_tripped(&self, plugin: &str) -> bool {
        self.0.iter().any(|failure_count| failure_count.caller.plugin == plugin && failure_count.is_tripped())
    }

    /// Forgets the failures of a plugin.
    pub(super) fn reset(&mut self, plugin: &str) {
        self.0.retain(|failure_count| failure_count.caller.plugin != plugin);
    }

    fn of(&self, caller: &Caller) -> Option<&FailureCount> {
        self.0.iter().find(|failure_count| failure_count.caller == *caller)
    }

    fn of_mut(&mut self, caller: &Caller) -> Option<&mut FailureCount> {
        self.0.iter_mut().find(|failure_count| failure_count.caller == *caller)
    }
}

impl FailureCount {
    fn is_tripped(&self) -> bool {
        failure_policy::is_tripped(self.failures)
    }

    fn back_off(&self) -> Time {
        failure_policy::back_off(self.failures)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::FailureKind;

    const SECOND: Time = 1_000;

    fn caller() -> Caller {
        Caller { plugin: "p".into(), of: [Digest::of_bytes(b"file"), Digest::of_bytes(b"config")], observes: false }
    }

    fn trap() -> Failure {
        Failure::new(FailureKind::Trap, "trapped")
    }

    /// A plugin that has just been tripped.
    fn tripped(now: Time) -> FailureCounts {
        let mut failure_counts = FailureCounts::default();
        for failures in 1..=FAILURES_TO_TRIP {
            assert_eq!(failure_counts.next_call(&caller(), now), NextCall::Made);
            failure_counts.failed(&caller(), now);
            assert_eq!(failure_counts.notice(&caller(), &trap()).is_some(), failures == FAILURES_TO_TRIP);
        }
        failure_counts
    }

    #[test]
    fn a_tripped_plugin_is_tried_again_by_one_call_after_its_back_off() {
        let now = 1_000_000;
        let mut failure_counts = tripped(now);
        assert_eq!(failure_counts.next_call(&caller(), now + 10 * SECOND - 1), NextCall::Tripped);
        let later = now + 10 * SECOND;
        assert_eq!(failure_counts.next_call(&caller(), later), NextCall::Made);
        assert!(failure_counts.is_trial(&caller()));
        failure_counts.tried(&caller(), later);
        // While that call is running, no other call is made.
        assert_eq!(failure_counts.next_call(&caller(), later), NextCall::Tripped);
        failure_counts.succeeded(&caller());
        assert_eq!(failure_counts.next_call(&caller(), later), NextCall::Made);
    }

    #[test]
    fn each_further_failure_extends_the_back_off_without_a_notice() {
        let now = 1_000_000;
        let mut failure_counts = tripped(now);
        failure_counts.tried(&caller(), now + 10 * SECOND);
        failure_counts.failed(&caller(), now + 10 * SECOND);
        assert_eq!(failure_counts.notice(&caller(), &trap()), None);
        assert_eq!(failure_counts.next_call(&caller(), now + 30 * SECOND - 1), NextCall::Tripped);
        assert_eq!(failure_counts.next_call(&caller(), now + 30 * SECOND), NextCall::Made);
    }

    #[test]
    fn the_operator_can_have_it_called_at_once() {
        let now = 1_000_000;
        let mut failure_counts = tripped(now);
        assert!(failure_counts.is_tripped("p") && !failure_counts.is_tripped("another"));
        failure_counts.reset("p");
        assert!(!failure_counts.is_tripped("p"));
        assert_eq!(failure_counts.next_call(&caller(), now), NextCall::Made);
    }

    #[test]
    fn another_file_or_configuration_starts_with_no_failures() {
        let failure_counts = tripped(1_000_000);
        let fixed = Caller { of: [Digest::of_bytes(b"fixed"), Digest::of_bytes(b"config")], ..caller() };
        assert_eq!(failure_counts.next_call(&fixed, 1_000_000), NextCall::Made);
    }
}
