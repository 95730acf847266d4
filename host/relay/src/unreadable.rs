//! The unreadable lines of a program of which the user was told: one that logs where it should answer writes many.

use std::time::{Duration, Instant};

/// How many unreadable lines of a program the user is told of at once, and the interval after which there is one more.
const MAX_UNREADABLE: (u32, Duration) = (20, Duration::from_secs(10));

/// How many there were, and of how many the user was told.
#[derive(Debug, Default)]
pub struct Unreadables {
    told: u32,
    untold: u64,
    last: Option<Instant>,
}

impl Unreadables {
    /// Whether the user is told of one more; how many there were since the last one.
    pub fn next(&mut self, now: Instant) -> Option<u64> {
        let (max, interval) = MAX_UNREADABLE;
        if self.told >= max && self.last.is_some_and(|last| now < last + interval) {
            self.untold += 1;
            return None;
        }
        self.told = self.told.saturating_add(1);
        self.last = Some(now);
        Some(std::mem::take(&mut self.untold))
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_UNREADABLE, Unreadables};
    use std::time::{Duration, Instant};

    #[test]
    fn of_many_unreadable_lines_some_are_told_and_the_rest_are_counted() {
        let (mut lines, start) = (Unreadables::default(), Instant::now());
        for _ in 0..MAX_UNREADABLE.0 {
            assert_eq!(lines.next(start), Some(0));
        }
        for _ in 0..500 {
            assert_eq!(lines.next(start), None);
        }
        assert_eq!(lines.next(start + Duration::from_secs(11)), Some(500));
        assert_eq!(lines.next(start + Duration::from_secs(12)), None);
    }
}
