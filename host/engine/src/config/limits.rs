//! The limits of one call of a plugin.

use std::{
    num::{NonZeroU32, NonZeroU64, NonZeroUsize},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use super::Grants;
use super::quantity::{Count32, Count64, Handles, Instances, Memory, Size, TableElements, Tables, UpToAnHour};

/// Limits of one call of a plugin. Exceeding one is a failure of the plugin. Nothing is unlimited: `0`, a negative number and a
/// number out of range are errors. Times are written `"100ms"`, `"2s"`, `"1m"`; sizes `"64KiB"`, `"16MiB"`, or a plain number of
/// bytes.
///
/// ```
/// use hookhost::config::Limits;
/// use std::time::Duration;
///
/// // `entry.limits` of a program's own entry.
/// let mut limits = Limits::default();
/// limits.fuel = 1_000_000.try_into()?;
/// limits.deadline = Some(Duration::from_secs(2));
/// # Ok::<(), std::num::TryFromIntError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
#[non_exhaustive]
pub struct Limits {
    /// `fuel`: wasmtime's fuel, about one unit per instruction; 1 to 2⁶³ − 1, default 100 000 000.
    #[serde(with = "Count64")]
    pub fuel: NonZeroU64,
    /// `compute`: time of a processor, looked at every millisecond; 1 µs to 1 h, default ([`Self::compute()`]) 100 ms or
    /// `deadline` where that is less. More than `deadline` is an error.
    #[serde(with = "UpToAnHour", skip_serializing_if = "Option::is_none")]
    pub compute: Option<Duration>,
    /// `deadline`: time of the whole call, from when it has its place: what it computes, and what it waits for in
    /// capabilities. What it waits for a thread or a processor does not count (`overload-deadline`); 1 µs to 1 h, default
    /// ([`Self::deadline()`]) 100 ms, or 30 s where `model`, `http` or any of `capabilities` is granted.
    #[serde(with = "UpToAnHour", skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Duration>,
    /// `memory`: bytes of linear memory, of all memories together; 1 to 4 GiB, default 16 MiB. A plugin that is refused
    /// some and traps over it fails. It has 2 memories at most.
    #[serde(with = "Memory")]
    pub memory: NonZeroUsize,
    /// `table-elements`: elements of tables, of all tables together; 1 to 1 000 000, default 20 000. Rust keeps the functions
    /// there that are called through pointers.
    #[serde(with = "TableElements")]
    pub table_elements: NonZeroU32,
    /// `tables`: tables of all core modules together; 1 to 100, default 10. A plugin that has more is not loaded.
    #[serde(with = "Tables")]
    pub tables: NonZeroU32,
    /// `instances`: instances of core modules that it is made of; 1 to 200, default 50. A Rust component has 4, one with a Python interpreter 38, one that is
    /// composed of several has the sum of theirs. A plugin that has more is not loaded.
    #[serde(with = "Instances")]
    pub instances: NonZeroU32,
    /// `handles`: handles that it holds at once to resources, its own or the host's, such as open files, streams, requests and
    /// timers; 1 to 100 000, default 256. Each occupies memory of the host, and a file one of its descriptors.
    #[serde(with = "Handles")]
    pub handles: NonZeroU32,
    /// `input`: bytes of the event as JSON, without the binary data that the plugin is not given; 1 to 1 GiB, default 1 MiB. A larger
    /// event is a failure, never cut.
    #[serde(with = "Size")]
    pub input: NonZeroUsize,
    /// `output`: bytes of the verdict; 1 to 1 GiB, default 2 MiB.
    #[serde(with = "Size")]
    pub output: NonZeroUsize,
    /// `log`: bytes of log messages per event; 1 to 1 GiB, default 64 KiB. What exceeds it is dropped and counted.
    #[serde(with = "Size")]
    pub log: NonZeroUsize,
    /// `http-body`: bytes of the body of each request over `http`, and of each response; 1 to 1 GiB, default 1 MiB. The rest of
    /// a larger one is an error that the guest sees.
    #[serde(with = "Size")]
    pub http_body: NonZeroUsize,
    /// `capability-calls`: calls of capabilities, requests over `http` among them, per event; 1 to 2³² − 1, default 10 000.
    #[serde(with = "Count32")]
    pub capability_calls: NonZeroU32,
}

impl Limits {
    const CALL: Duration = Duration::from_millis(100);
    const WAITING_CALL: Duration = Duration::from_secs(30);

    /// Maximum duration of a call of a plugin with these grants. If the entry does not say, a plugin that waits for a model, a
    /// server or the embedding program has longer.
    #[must_use]
    pub fn deadline(&self, grants: &Grants) -> Duration {
        self.deadline.unwrap_or(if grants.waits_for_others() { Self::WAITING_CALL } else { Self::CALL })
    }

    /// Returns the time for which a call of a plugin with these grants may compute.
    #[must_use]
    pub fn compute(&self, grants: &Grants) -> Duration {
        self.compute.unwrap_or_else(|| Self::CALL.min(self.deadline(grants)))
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            fuel: const { NonZeroU64::new(100_000_000).unwrap() },
            compute: None,
            deadline: None,
            memory: const { NonZeroUsize::new(16 << 20).unwrap() },
            table_elements: const { NonZeroU32::new(20_000).unwrap() },
            tables: const { NonZeroU32::new(10).unwrap() },
            instances: const { NonZeroU32::new(50).unwrap() },
            handles: const { NonZeroU32::new(256).unwrap() },
            input: const { NonZeroUsize::new(1 << 20).unwrap() },
            output: const { NonZeroUsize::new(2 << 20).unwrap() },
            log: const { NonZeroUsize::new(64 << 10).unwrap() },
            http_body: const { NonZeroUsize::new(1 << 20).unwrap() },
            capability_calls: const { NonZeroU32::new(10_000).unwrap() },
        }
    }
}
