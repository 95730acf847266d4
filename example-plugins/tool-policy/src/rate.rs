//! So many calls in any stretch of so many seconds.

use serde::{Deserialize, Serialize};

/// The parts of a stretch within which calls count as one moment, the latest: so few numbers are kept however many calls
/// there may be, and a call waits for at most such a part too long. No stretch ever holds more than it may.
const PARTS: u64 = 64;

/// The limit, as the config has it.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Rate {
    pub(crate) calls: u32,
    pub(crate) seconds: u64,
}

/// The calls of the latest stretch: when, in milliseconds, and how many. The oldest come first.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(crate) struct Calls(Vec<(u64, u32)>);

impl Calls {
    /// Counts a call at `now`; the seconds to wait where it is one too many, and is not counted.
    pub(crate) fn count(&mut self, rate: Rate, now: u64) -> Option<u64> {
        let stretch = rate.seconds.saturating_mul(1000);
        // Where the clock was put back, what is still to come has just happened.
        self.0.iter_mut().for_each(|(time, _)| *time = now.min(*time));
        self.0.retain(|(time, _)| now - time < stretch);
        let all: u64 = self.0.iter().map(|(_, calls)| u64::from(*calls)).sum();
        if let Some((oldest, _)) = self.0.first().filter(|_| all >= u64::from(rate.calls)) {
            return Some((stretch - (now - oldest)).div_ceil(1000));
        }
        let part = |time: u64| time / (stretch / PARTS).max(1);
        match self.0.last_mut() {
            Some((time, calls)) if part(*time) == part(now) => (*time, *calls) = (now, *calls + 1),
            _ => self.0.push((now, 1)),
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{Calls, PARTS, Rate};

    /// The times at which one call in each `every` milliseconds is let through.
    fn let_through(rate: Rate, every: u64, tries: u64) -> Vec<u64> {
        let mut calls = Calls::default();
        let times = (0..tries).map(|at| 1_000_000 + at * every);
        times.filter(|now| calls.count(rate, *now).is_none()).collect()
    }

    #[test]
    fn no_stretch_holds_more_than_it_may_wherever_it_begins() {
        for (calls, seconds, every) in [(1, 1, 7), (3, 60, 999), (30, 60, 250), (500, 10, 3), (5, 1, 1000), (2, 1, 500)]
        {
            let times = let_through(Rate { calls, seconds }, every, 8000);
            assert!(times.len() > calls as usize, "nothing is let through again");
            for (at, begin) in times.iter().enumerate() {
                let within = times[at..].iter().take_while(|time| **time < begin + seconds * 1000).count();
                assert!(within <= calls as usize, "{within} calls in {seconds} s from {begin} of {calls}");
            }
        }
    }

    #[test]
    fn a_call_waits_for_little_more_than_it_must() {
        let rate = Rate { calls: 4, seconds: 64 };
        let mut calls = Calls::default();
        let times = [0, 100, 200, 900];
        assert!(times.iter().all(|time| calls.count(rate, *time).is_none()));
        assert_eq!(calls.count(rate, 1000), Some(64));
        assert_eq!(calls.count(rate, 64_900), None, "one part behind the first");
    }

    #[test]
    fn however_many_calls_there_may_be_little_is_kept() {
        let mut calls = Calls::default();
        for now in 0..100_000 {
            calls.count(Rate { calls: u32::MAX, seconds: 10 }, now);
        }
        // Those at both ends are begun.
        assert!(calls.0.len() as u64 <= PARTS + 2, "{}", calls.0.len());
    }

    #[test]
    fn a_clock_that_is_put_back_locks_nobody_out() {
        let rate = Rate { calls: 1, seconds: 10 };
        let mut calls = Calls::default();
        assert_eq!(calls.count(rate, 1_000_000_000), None);
        assert_eq!(calls.count(rate, 1000), Some(10));
        assert_eq!(calls.count(rate, 11_000), None);
    }
}
