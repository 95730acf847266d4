//! The time, from the program or the operating system.

use std::time::{SystemTime, UNIX_EPOCH};

/// Provides the time for events and their records, for the expiry of state, and for the next attempt to call a tripped
/// plugin. Deadlines do not use this clock. If the program's clock panics, the operating system's clock is used
/// instead.
pub trait Clock: Send + Sync {
    /// Returns the current time.
    fn now(&self) -> SystemTime;
}

/// The clock of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

/// Milliseconds since the Unix epoch.
pub(super) fn milliseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The time of the operating system, in milliseconds since the Unix epoch.
pub(crate) fn now() -> u64 {
    milliseconds(SystemTime::now())
}
