//! Failures in a row: when a plugin is not called any more, and when it is tried again.

use crate::config::Digest;
use crate::contract::{Failure, FailureKind};
use crate::plugin::Plugin;
use std::collections::HashMap;
use std::time::Duration;
use tokio::time::Instant;

/// Failures in a row after which a plugin is tripped: it is not called until it is tried again.
pub const FAILURES_TO_TRIP: u32 = 3;

/// How long a plugin that was tripped is left alone; after each further failure twice as long.
const FIRST_REST: Duration = Duration::from_secs(10);
const LONGEST_REST: Duration = Duration::from_secs(300);

/// What is to be done about a plugin's next event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextCall {
    /// It is called.
    Made,
    /// It is tripped: it is not called.
    Tripped,
}

/// Which calls make a streak.
#[derive(Clone, Copy, Debug)]
pub(super) struct Caller<'a> {
    plugin: &'a str,
    /// Of which file and configuration: a plugin that was mended starts anew.
    of: [Digest; 2],
    /// As one that observes, or as one that answers: what is told beside the events, in no fixed order to them, has no part in
    /// their outcomes.
    observes: bool,
}

/// The streaks of a session's plugins.
#[derive(Debug, Default)]
pub(super) struct Streaks(HashMap<(String, bool), Streak>);

#[derive(Clone, Copy, Debug)]
struct Streak {
    of: [Digest; 2],
    failures: u32,
    /// When it is tried again, once it is tripped.
    retry: Instant,
}

impl<'a> Caller<'a> {
    pub(super) fn new(plugin: &'a Plugin, observes: bool) -> Self {
        Self { plugin: plugin.name(), of: [plugin.digest(), plugin.shared.config_digest], observes }
    }
}

impl Streaks {
    /// Whether the plugin is called. Of a tripped one a single call is let through when its rest is over; the others wait for
    /// what comes of it.
    pub(super) fn next_call(&mut self, caller: Caller<'_>, now: Instant) -> NextCall {
        match self.of(caller).filter(|streak| streak.is_tripped()) {
            None => NextCall::Made,
            Some(streak) if now >= streak.retry => {
                streak.retry = now + streak.rest();
                NextCall::Made
            }
            Some(_) => NextCall::Tripped,
        }
    }

    /// The plugin has answered.
    pub(super) fn succeeded(&mut self, caller: Caller<'_>) {
        if !self.0.is_empty() {
            self.0.remove(&(caller.plugin.to_owned(), caller.observes));
        }
    }

    /// Counts a failure, unless it is not the plugin's; gives what the user is to be told.
    pub(super) fn failed(&mut self, caller: Caller<'_>, failure: &Failure, now: Instant) -> Option<String> {
        if matches!(failure.kind, FailureKind::Tripped | FailureKind::Overloaded) {
            return None;
        }
        let before = self.of(caller).map_or(0, |streak| streak.failures);
        let mut streak = Streak { of: caller.of, failures: before.saturating_add(1), retry: now };
        streak.retry = now + streak.rest();
        self.0.insert((caller.plugin.to_owned(), caller.observes), streak);
        // Once, though it may be tripped twice: as one that answers, and as one that observes.
        let other = Caller { observes: !caller.observes, ..caller };
        let told = self.of(other).is_some_and(|streak| streak.is_tripped());
        (streak.failures == FAILURES_TO_TRIP && !told).then(|| {
            format!(
                "the plugin {} failed {FAILURES_TO_TRIP} times in a row (it {failure}): it is not called for {:?}, then it is \
                 tried again; until then its `on-failure` decides in its place",
                caller.plugin,
                streak.rest(),
            )
        })
    }

    /// Forgets the failures of a plugin; whether it was tripped.
    pub(super) fn reset(&mut self, plugin: &str) -> bool {
        let streaks = [false, true].map(|observes| self.0.remove(&(plugin.to_owned(), observes)));
        streaks.into_iter().flatten().any(Streak::is_tripped)
    }

    fn of(&mut self, caller: Caller<'_>) -> Option<&mut Streak> {
        // Nearly always nothing has failed, and then no name is copied to look it up.
        if self.0.is_empty() {
            return None;
        }
        let streak = self.0.get_mut(&(caller.plugin.to_owned(), caller.observes));
        streak.filter(|streak| streak.of == caller.of)
    }
}

impl Streak {
    fn is_tripped(self) -> bool {
        self.failures >= FAILURES_TO_TRIP
    }

    /// How long it is left alone after its last failure.
    fn rest(self) -> Duration {
        let doublings = self.failures.saturating_sub(FAILURES_TO_TRIP).min(16);
        FIRST_REST.saturating_mul(1 << doublings).min(LONGEST_REST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn caller() -> Caller<'static> {
        Caller { plugin: "p", of: [Digest::of_bytes(b"file"), Digest::of_bytes(b"config")], observes: false }
    }

    fn trap() -> Failure {
        Failure::new(FailureKind::Trap, "trapped")
    }

    /// A plugin that has just been tripped.
    fn tripped(now: Instant) -> Streaks {
        let mut streaks = Streaks::default();
        for failures in 1..=FAILURES_TO_TRIP {
            assert_eq!(streaks.next_call(caller(), now), NextCall::Made);
            let told = streaks.failed(caller(), &trap(), now);
            assert_eq!(told.is_some(), failures == FAILURES_TO_TRIP);
        }
        streaks
    }

    #[test]
    fn a_tripped_plugin_is_tried_again_by_one_call_after_its_rest() {
        let now = Instant::now();
        let mut streaks = tripped(now);
        assert_eq!(streaks.next_call(caller(), now + 10 * SECOND - Duration::from_nanos(1)), NextCall::Tripped);
        assert_eq!(streaks.next_call(caller(), now + 10 * SECOND), NextCall::Made);
        // While that one is under way the others wait.
        assert_eq!(streaks.next_call(caller(), now + 10 * SECOND), NextCall::Tripped);
        streaks.succeeded(caller());
        assert_eq!(streaks.next_call(caller(), now + 10 * SECOND), NextCall::Made);
    }

    #[test]
    fn each_further_failure_doubles_the_rest_up_to_five_minutes_and_is_not_told() {
        let mut now = Instant::now();
        let mut streaks = tripped(now);
        let mut rests = Vec::new();
        for _ in 0..8 {
            let rest = (0..1_000).find(|&s| streaks.next_call(caller(), now + SECOND * s) == NextCall::Made).unwrap();
            rests.push(rest);
            now += SECOND * rest;
            assert_eq!(streaks.failed(caller(), &trap(), now), None);
        }
        assert_eq!(rests, [10, 20, 40, 80, 160, 300, 300, 300]);
    }

    #[test]
    fn what_the_machine_is_to_blame_for_counts_for_nothing() {
        let now = Instant::now();
        let overloaded = Failure::new(FailureKind::Overloaded, "had no place");
        let mut streaks = Streaks::default();
        for _ in 0..10 {
            assert_eq!(streaks.failed(caller(), &overloaded, now), None);
        }
        assert_eq!(streaks.next_call(caller(), now), NextCall::Made);
        // Nor does it end a streak.
        let mut streaks = tripped(now);
        assert_eq!(streaks.failed(caller(), &overloaded, now), None);
        assert_eq!(streaks.next_call(caller(), now), NextCall::Tripped);
    }

    #[test]
    fn the_operator_can_have_it_called_at_once() {
        let now = Instant::now();
        let mut streaks = tripped(now);
        assert!(streaks.reset("p") && !streaks.reset("p") && !streaks.reset("another"));
        assert_eq!(streaks.next_call(caller(), now), NextCall::Made);
    }

    #[test]
    fn another_file_or_configuration_starts_anew() {
        let now = Instant::now();
        let mut streaks = tripped(now);
        let mended = Caller { of: [Digest::of_bytes(b"mended"), Digest::of_bytes(b"config")], ..caller() };
        assert_eq!(streaks.next_call(mended, now), NextCall::Made);
    }
}
