//! The limits of one call of a plugin.

use std::{
    num::{NonZeroU32, NonZeroU64, NonZeroUsize},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use super::Grants;
use super::quantity::{Count32, Count64, Handles, Instances, Memory, Size, TableElements, Tables, UpToAnHour};

/// Limits of one call of a plugin. A plugin that exceeds a limit fails. No limit can be switched off: `0`, a negative
/// number and a number out of range are errors. Times are written as `"100ms"`, `"2s"`, `"1m"`; sizes as `"64KiB"`,
/// `"16MiB"`, or as a plain number of bytes.
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
    /// `fuel`: maximum fuel of wasmtime, about one unit per instruction; 1 to 2⁶³ − 1, default 100 000 000.
    #[serde(with = "Count64")]
    pub fuel: NonZeroU64,
    /// `compute`: maximum processor time, checked every millisecond; 1 µs to 1 h. The default ([`Self::compute()`]) is
    /// 100 ms, or `deadline` if that is less. A value above `deadline` is an error.
    #[serde(with = "UpToAnHour", skip_serializing_if = "Option::is_none")]
    pub compute: Option<Duration>,
    /// `deadline`: maximum time of the whole call after it has got an instance. This includes the time in which the
    /// plugin waits for capabilities. The time in which it waits for a thread or a processor is part of
    /// `overload-deadline` instead. The range is 1 µs to 1 h. The default ([`Self::deadline()`]) is 100 ms, or 30 s if
    /// `model`, `http` or any of `capabilities` is granted.
    #[serde(with = "UpToAnHour", skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Duration>,
    /// `memory`: maximum size of all linear memories together, in bytes; 1 to 4 GiB, default 16 MiB. If a plugin asks
    /// for more memory, the request is denied. If the plugin traps as a result, its call fails. A plugin has at most 2
    /// memories.
    #[serde(with = "Memory")]
    pub memory: NonZeroUsize,
    /// `table-elements`: maximum number of elements of all tables together; 1 to 1 000 000, default 20 000. In a Rust
    /// component, the tables contain the functions that are called through pointers.
    #[serde(with = "TableElements")]
    pub table_elements: NonZeroU32,
    /// `tables`: maximum number of tables of all core modules together; 1 to 100, default 10. A plugin with more tables
    /// is not loaded.
    #[serde(with = "Tables")]
    pub tables: NonZeroU32,
    /// `instances`: maximum number of instances of core modules; 1 to 200, default 50. A Rust component has 4
    /// instances, and a component with a Python interpreter has 38. A composed component has the sum of its parts'
    /// instances. A plugin with more instances is not loaded.
    #[serde(with = "Instances")]
    pub instances: NonZeroU32,
    /// `handles`: maximum number of open handles to resources, such as open files, streams, requests and timers; 1 to
    /// 100 000, default 256. Handles to the plugin's own resources are included. Each handle uses memory of the host,
    /// and a handle of a file also uses a file descriptor.
    #[serde(with = "Handles")]
    pub handles: NonZeroU32,
    /// `input`: maximum size of the event as JSON, in bytes; 1 to 1 GiB, default 1 MiB. Binary data that the plugin
    /// does not get is not included. If an event is larger, the plugin fails. The event is never truncated.
    #[serde(with = "Size")]
    pub input: NonZeroUsize,
    /// `output`: maximum size of the verdict, in bytes; 1 to 1 GiB, default 2 MiB.
    #[serde(with = "Size")]
    pub output: NonZeroUsize,
    /// `log`: maximum size of log messages per event, in bytes; 1 to 1 GiB, default 64 KiB. Further messages are
    /// dropped, and the record contains their number.
    #[serde(with = "Size")]
    pub log: NonZeroUsize,
    /// `http-body`: maximum size of the body of each request and response of `http`, in bytes; 1 to 1 GiB, default 1
    /// MiB. A plugin that reads or writes more gets an error.
    #[serde(with = "Size")]
    pub http_body: NonZeroUsize,
    /// `capability-calls`: maximum number of calls of capabilities per event, including requests of `http`; 1 to
    /// 2³² − 1, default 10 000.
    #[serde(with = "Count32")]
    pub capability_calls: NonZeroU32,
}

impl Limits {
    const CALL: Duration = Duration::from_millis(100);
    const WAITING_CALL: Duration = Duration::from_secs(30);

    /// Returns the maximum duration of a call of a plugin with these grants. If the entry does not set the limit, the
    /// default is longer for a plugin that may wait for a model, a server or the embedding program.
    #[must_use]
    pub fn deadline(&self, grants: &Grants) -> Duration {
        self.deadline.unwrap_or(if grants.waits_for_others() { Self::WAITING_CALL } else { Self::CALL })
    }

    /// Returns the maximum processor time of a call of a plugin with these grants.
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
