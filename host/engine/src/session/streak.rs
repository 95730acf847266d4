//! Failures in a row: when a plugin is not called any more, and when it is tried again.

use crate::config::Digest;
use crate::contract::{Failure, FailureKind};
use crate::plugin::Plugin;
use crate::state::Time;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Failures in a row after which a plugin is tripped: it is not called until it is tried again.
pub const FAILURES_TO_TRIP: u32 = 3;

/// How long a plugin that was tripped is left alone, in milliseconds; after each further failure twice as long.
const FIRST_BACK_OFF: Time = 10_000;
const MAX_BACK_OFF: Time = 300_000;

/// What is to be done about a plugin's next event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextCall {
    /// It is called.
    Made,
    /// It is tripped: it is not called.
    Tripped,
}

/// Which calls make a streak.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Caller {
    plugin: String,
    /// As one that observes, or as one that answers: what is told beside the events, in no fixed order to them, has no part in
    /// their outcomes.
    observes: bool,
    /// Of which file and configuration: a plugin that was mended starts anew.
    of: [Digest; 2],
}

/// The failures in a row of a session's plugins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Streaks(Vec<Streak>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Streak {
    #[serde(flatten)]
    caller: Caller,
    failures: u32,
    /// When it is tried again, once it is tripped, in milliseconds since the Unix epoch.
    retry: Time,
}

impl Caller {
    pub(super) fn new(plugin: &Plugin, observes: bool) -> Self {
        Self { plugin: plugin.name().to_owned(), observes, of: [plugin.digest(), plugin.shared.config_digest] }
    }

    fn is_same_plugin(&self, other: &Self) -> bool {
        self.plugin == other.plugin && self.observes == other.observes
    }
}

impl Streaks {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the plugin is to be called. Of a tripped one a single call is let through when its back-off is over, which
    /// [`Self::tried`] notes; the others wait for what comes of it.
    pub(super) fn next_call(&self, caller: &Caller, now: Time) -> NextCall {
        match self.of(caller).filter(|streak| streak.is_tripped()) {
            // A clock that was set back keeps nobody waiting for longer.
            Some(streak) if now < streak.retry && streak.retry <= now.saturating_add(MAX_BACK_OFF) => NextCall::Tripped,
            _ => NextCall::Made,
        }
    }

    /// Whether a call is one by which a tripped plugin is tried again.
    pub(super) fn is_trial(&self, caller: &Caller) -> bool {
        self.of(caller).is_some_and(Streak::is_tripped)
    }

    /// A tripped plugin is being tried again.
    pub(super) fn tried(&mut self, caller: &Caller, now: Time) {
        if let Some(streak) = self.of_mut(caller) {
            streak.retry = now + streak.back_off();
        }
    }

    /// The plugin has answered.
    pub(super) fn succeeded(&mut self, caller: &Caller) {
        self.0.retain(|streak| !streak.caller.is_same_plugin(caller));
    }

    /// Counts a failure.
    pub(super) fn failed(&mut self, caller: &Caller, now: Time) {
        let failures = self.of(caller).map_or(0, |streak| streak.failures).saturating_add(1);
        let mut streak = Streak { caller: caller.clone(), failures, retry: now };
        streak.retry = now + streak.back_off();
        self.succeeded(caller);
        self.0.push(streak);
    }

    /// What the user is to be told of a failure that was just counted: once, when the plugin is tripped.
    pub(super) fn notice(&self, caller: &Caller, failure: &Failure) -> Option<String> {
        let streak = self.of(caller).filter(|streak| streak.failures == FAILURES_TO_TRIP)?;
        // Once, though it may be tripped twice: as one that answers, and as one that observes.
        let other = Caller { observes: !caller.observes, ..caller.clone() };
        let is_told = self.of(&other).is_some_and(Streak::is_tripped);
        (!is_told).then(|| {
            format!(
                "the plugin {} failed {FAILURES_TO_TRIP} times in a row (it {failure}): it is not called for {:?}, then it is \
                 tried again; until then its `on-failure` decides in its place",
                caller.plugin,
                Duration::from_millis(streak.back_off()),
            )
        })
    }

    /// Whether a plugin is tripped.
    pub(super) fn is_tripped(&self, plugin: &str) -> bool {
        self.0.iter().any(|streak| streak.caller.plugin == plugin && streak.is_tripped())
    }

    /// Forgets the failures of a plugin.
    pub(super) fn reset(&mut self, plugin: &str) {
        self.0.retain(|streak| streak.caller.plugin != plugin);
    }

    fn of(&self, caller: &Caller) -> Option<&Streak> {
        self.0.iter().find(|streak| streak.caller == *caller)
    }

    fn of_mut(&mut self, caller: &Caller) -> Option<&mut Streak> {
        self.0.iter_mut().find(|streak| streak.caller == *caller)
    }
}

/// Whether a failure is the plugin's own.
pub(super) fn counts(failure: &Failure) -> bool {
    !matches!(failure.kind, FailureKind::Tripped | FailureKind::Overloaded)
}

impl Streak {
    fn is_tripped(&self) -> bool {
        self.failures >= FAILURES_TO_TRIP
    }

    /// How long it is left alone after its last failure, in milliseconds.
    fn back_off(&self) -> Time {
        let doublings = self.failures.saturating_sub(FAILURES_TO_TRIP).min(16);
        FIRST_BACK_OFF.saturating_mul(1 << doublings).min(MAX_BACK_OFF)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Time = 1_000;

    fn caller() -> Caller {
        Caller { plugin: "p".into(), of: [Digest::of_bytes(b"file"), Digest::of_bytes(b"config")], observes: false }
    }

    fn trap() -> Failure {
        Failure::new(FailureKind::Trap, "trapped")
    }

    /// A plugin that has just been tripped.
    fn tripped(now: Time) -> Streaks {
        let mut streaks = Streaks::default();
        for failures in 1..=FAILURES_TO_TRIP {
            assert_eq!(streaks.next_call(&caller(), now), NextCall::Made);
            streaks.failed(&caller(), now);
            assert_eq!(streaks.notice(&caller(), &trap()).is_some(), failures == FAILURES_TO_TRIP);
        }
        streaks
    }

    #[test]
    fn a_tripped_plugin_is_tried_again_by_one_call_after_its_back_off() {
        let now = 1_000_000;
        let mut streaks = tripped(now);
        assert_eq!(streaks.next_call(&caller(), now + 10 * SECOND - 1), NextCall::Tripped);
        let later = now + 10 * SECOND;
        assert_eq!(streaks.next_call(&caller(), later), NextCall::Made);
        assert!(streaks.is_trial(&caller()));
        streaks.tried(&caller(), later);
        // While that one is under way the others wait.
        assert_eq!(streaks.next_call(&caller(), later), NextCall::Tripped);
        streaks.succeeded(&caller());
        assert_eq!(streaks.next_call(&caller(), later), NextCall::Made);
    }

    #[test]
    fn each_further_failure_doubles_the_back_off_up_to_five_minutes_and_is_not_told() {
        let mut now = 1_000_000;
        let mut streaks = tripped(now);
        let mut back_offs = Vec::new();
        for _ in 0..8 {
            let back_off =
                (0..1_000).find(|&s| streaks.next_call(&caller(), now + SECOND * s) == NextCall::Made).unwrap();
            back_offs.push(back_off);
            now += SECOND * back_off;
            streaks.tried(&caller(), now);
            streaks.failed(&caller(), now);
            assert_eq!(streaks.notice(&caller(), &trap()), None);
        }
        assert_eq!(back_offs, [10, 20, 40, 80, 160, 300, 300, 300]);
    }

    #[test]
    fn what_the_machine_is_to_blame_for_counts_for_nothing() {
        assert!(!counts(&Failure::new(FailureKind::Overloaded, "had no place")));
        assert!(!counts(&Failure::new(FailureKind::Tripped, "is tripped")));
        assert!(counts(&trap()));
    }

    #[test]
    fn the_operator_can_have_it_called_at_once() {
        let now = 1_000_000;
        let mut streaks = tripped(now);
        assert!(streaks.is_tripped("p") && !streaks.is_tripped("another"));
        streaks.reset("p");
        assert!(!streaks.is_tripped("p"));
        assert_eq!(streaks.next_call(&caller(), now), NextCall::Made);
    }

    #[test]
    fn a_clock_that_is_set_back_keeps_no_plugin_tripped_for_longer() {
        let streaks = tripped(1_000_000_000);
        assert_eq!(streaks.next_call(&caller(), 1_000), NextCall::Made);
    }

    #[test]
    fn another_file_or_configuration_starts_anew() {
        let streaks = tripped(1_000_000);
        let mended = Caller { of: [Digest::of_bytes(b"mended"), Digest::of_bytes(b"config")], ..caller() };
        assert_eq!(streaks.next_call(&mended, 1_000_000), NextCall::Made);
    }
}
