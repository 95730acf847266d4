//! Limits the number of calls in any period of a given length.

use hookhost_guest::state::Scope;
use serde::{Deserialize, Serialize};

/// Number of parts of a period. All calls in one part are treated as if they were made at the last moment of that part. So the number of
/// stored times is limited, however many calls there are. A call waits at most the length of one part too long, and no period ever has more
/// calls than allowed.
const PARTS: u64 = 64;

/// The limit, as configured.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Rate {
    pub(crate) calls: u32,
    pub(crate) seconds: u64,
    /// The sessions whose calls are counted together.
    #[serde(default = "tree")]
    pub(crate) scope: Scope,
}

fn tree() -> Scope {
    Scope::Tree
}

/// The number of calls that had been made by certain times. If several sessions make a call at the same time, each of them writes this
/// value, and only the last value stays. A separate counter has the total, and no call is lost there.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(crate) struct Calls {
    /// Number of calls before the latest period.
    past: u64,
    /// Times within the period in milliseconds, the oldest first. Each time has the number of calls that had been made by then.
    marks: Vec<(u64, u64)>,
}

impl Calls {
    /// Records calls that are missing here as if they were made now. These are calls of other sessions, which `all` includes, and calls in
    /// the future if the clock was set back. Returns true if there were such calls.
    pub(crate) fn catch_up(&mut self, all: u64, rate: Rate, now: u64) -> bool {
        let is_ahead = self.marks.last().is_some_and(|(time, _)| *time > now);
        self.marks.iter_mut().for_each(|(time, _)| *time = now.min(*time));
        let is_behind = self.marks.last().map_or(self.past, |(_, by_then)| *by_then) < all;
        if is_behind {
            self.mark(all, rate, now);
        }
        is_ahead || is_behind
    }

    /// Counts a call at `now`. `all` is the number of earlier calls, for which [`Self::catch_up`] must have been called. If the call would
    /// exceed the limit, it is not counted, and the number of seconds to wait is returned.
    pub(crate) fn count(&mut self, all: u64, rate: Rate, now: u64) -> Option<u64> {
        let (stretch, most) = (rate.stretch(), u64::from(rate.calls));
        let over = self.marks.iter().take_while(|(time, _)| now.saturating_sub(*time) >= stretch).count();
        self.past = self.marks.drain(..over).next_back().map_or(self.past, |(_, by_then)| by_then);
        let left = |past: u64| all.saturating_sub(past);
        if left(self.past) >= most {
            let ends = self.marks.iter().find(|(_, by_then)| left(*by_then) < most).map_or(now, |(time, _)| *time);
            return Some((stretch - now.saturating_sub(ends)).div_ceil(1000));
        }
        self.mark(all.saturating_add(1), rate, now);
        None
    }

    fn mark(&mut self, by_then: u64, rate: Rate, now: u64) {
        let part = |time: u64| time / (rate.stretch() / PARTS).max(1);
        match self.marks.last_mut() {
            Some(last) if part(last.0) == part(now) => *last = (now, by_then),
            _ => self.marks.push((now, by_then)),
        }
    }
}

impl Rate {
    /// Returns the length of the period in milliseconds.
    fn stretch(self) -> u64 {
        self.seconds.saturating_mul(1000)
    }
}

#[cfg(test)]
mod tests {
    use super::{Calls, PARTS, Rate, Scope};

    fn rate(calls: u32, seconds: u64) -> Rate {
        Rate { calls, seconds, scope: Scope::Tree }
    }

    /// The calls of a single session, whose stored value is never lost.
    #[derive(Default)]
    struct Alone(u64, Calls);

    impl Alone {
        fn count(&mut self, rate: Rate, now: u64) -> Option<u64> {
            self.1.catch_up(self.0, rate, now);
            let wait = self.1.count(self.0, rate, now);
            self.0 += u64::from(wait.is_none());
            wait
        }
    }

    /// Returns the times at which a call is allowed, if there is one call every `every` milliseconds.
    fn let_through(rate: Rate, every: u64, tries: u64) -> Vec<u64> {
        let mut calls = Alone::default();
        let times = (0..tries).map(|at| 1_000_000 + at * every);
        times.filter(|now| calls.count(rate, *now).is_none()).collect()
    }

    #[test]
    fn no_stretch_holds_more_than_it_may_wherever_it_begins() {
        for (calls, seconds, every) in [(1, 1, 7), (3, 60, 999), (30, 60, 250), (500, 10, 3), (5, 1, 1000), (2, 1, 500)]
        {
            let times = let_through(rate(calls, seconds), every, 8000);
            assert!(times.len() > calls as usize, "nothing is let through again");
            for (at, begin) in times.iter().enumerate() {
                let within = times[at..].iter().take_while(|time| **time < begin + seconds * 1000).count();
                assert!(within <= calls as usize, "{within} calls in {seconds} s from {begin} of {calls}");
            }
        }
    }

    #[test]
    fn a_call_waits_for_little_more_than_it_must() {
        let rate = rate(4, 64);
        let mut calls = Alone::default();
        let times = [0, 100, 200, 900];
        assert!(times.iter().all(|time| calls.count(rate, *time).is_none()));
        assert_eq!(calls.count(rate, 1000), Some(64));
        assert_eq!(calls.count(rate, 64_900), None, "one part after the first");
    }

    #[test]
    fn however_many_calls_there_may_be_little_is_kept() {
        let mut calls = Alone::default();
        for now in 0..100_000 {
            calls.count(rate(u32::MAX, 10), now);
        }
        // The parts at both ends of the period may be incomplete, so there can be two more marks.
        assert!(calls.1.marks.len() as u64 <= PARTS + 2, "{}", calls.1.marks.len());
    }

    #[test]
    fn a_clock_that_is_put_back_locks_nobody_out() {
        let rate = rate(1, 10);
        let mut calls = Calls::default();
        assert_eq!(calls.count(0, rate, 1_000_000_000), None);
        // A refused call changes nothing, so the caller must store the changes of `catch_up` before.
        assert!(calls.catch_up(1, rate, 1000));
        let written = serde_json::to_string(&calls).unwrap();
        assert_eq!(calls.count(1, rate, 1000), Some(10));
        let mut calls: Calls = serde_json::from_str(&written).unwrap();
        assert!(!calls.catch_up(1, rate, 6000));
        assert_eq!(calls.count(1, rate, 6000), Some(5));
        assert!(!calls.catch_up(1, rate, 11_000));
        assert_eq!(calls.count(1, rate, 11_000), None);
    }

    #[test]
    fn calls_that_others_made_at_the_same_time_count_as_soon_as_they_are_seen_and_for_one_stretch() {
        let rate = rate(3, 10);
        let mut calls = Calls::default();
        assert_eq!(calls.count(0, rate, 1000), None);
        // Another session made a call at the same moment. The total includes this call, but the value that the other session wrote is lost.
        assert!(calls.catch_up(2, rate, 1500));
        assert_eq!(calls.count(2, rate, 1500), None);
        assert!(!calls.catch_up(3, rate, 2000));
        assert_eq!(calls.count(3, rate, 2000), Some(9), "until the first is over");
        assert_eq!(calls.count(3, rate, 11_500), None);
        // There are more calls than allowed, because several calls were made at the same time. A further call must wait until enough of
        // them are older than the period.
        assert!(calls.catch_up(8, rate, 12_000));
        assert_eq!(calls.count(8, rate, 12_000), Some(10));
        assert!(!calls.catch_up(8, rate, 21_999));
        assert_eq!(calls.count(8, rate, 21_999), Some(1));
        assert_eq!(calls.count(8, rate, 22_000), None);
    }
}
