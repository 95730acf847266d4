//! Counts answers that did not count for lack of a passkey, so that a program that sends many of them cannot fill the
//! log.

use std::time::{Duration, Instant};

/// Number of such answers within [`PERIOD`] that are recorded.
const RECORDED: u32 = 20;

const PERIOD: Duration = Duration::from_secs(60);

/// The refused answers of the current period.
#[derive(Debug, Default)]
pub(crate) struct RefusedAnswers {
    began: Option<Instant>,
    recorded: u32,
    unrecorded: u64,
}

impl RefusedAnswers {
    /// Counts an answer. Returns the number of earlier answers without a record if this answer is to be recorded.
    pub(crate) fn count(&mut self, now: Instant) -> Option<u64> {
        if self.began.is_none_or(|began| now.saturating_duration_since(began) >= PERIOD) {
            (self.began, self.recorded) = (Some(now), 0);
        }
        if self.recorded == RECORDED {
            self.unrecorded += 1;
            return None;
        }
        self.recorded += 1;
        Some(std::mem::take(&mut self.unrecorded))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_refused_answers_twenty_a_minute_are_recorded_and_the_next_says_how_many_were_not() {
        let (mut refused, now) = (RefusedAnswers::default(), Instant::now());
        let recorded = (0..500).filter(|_| refused.count(now).is_some()).count();
        assert_eq!(recorded, 20);
        assert_eq!(refused.count(now + PERIOD), Some(480));
        assert_eq!(refused.count(now + PERIOD), Some(0));
    }
}
