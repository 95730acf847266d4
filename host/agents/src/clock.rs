//! The time in the unit of the log: milliseconds since the Unix epoch.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Returns a time in milliseconds since the Unix epoch; 0 if it is earlier.
pub fn milliseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Returns the current time in milliseconds since the Unix epoch.
pub fn now() -> u64 {
    milliseconds(SystemTime::now())
}

/// Returns the time that was this long ago, in milliseconds since the Unix epoch; 0 if the epoch is later.
pub fn before_now(ago: Duration) -> u64 {
    now().saturating_sub(u64::try_from(ago.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::{before_now, milliseconds, now};
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn times_before_1970_are_0() {
        assert_eq!(milliseconds(UNIX_EPOCH + Duration::from_micros(1_500_900)), 1_500);
        assert_eq!(milliseconds(UNIX_EPOCH - Duration::from_secs(1)), 0);
        assert_eq!(before_now(Duration::MAX), 0);
        assert!(before_now(Duration::from_secs(1)) < now());
    }
}
