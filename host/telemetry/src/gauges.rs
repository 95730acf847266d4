//! The state beside the counters, measured when it is asked for: questions that wait, and the room for the log.

use crate::names::{METRIC_DISK_FREE, METRIC_LOG_SIZE, METRIC_QUESTIONS_WAITING};
use std::path::Path;

/// A gauge without labels.
pub(crate) struct Gauge {
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    /// The unit as OpenTelemetry writes it.
    pub(crate) unit: &'static str,
    pub(crate) value: u64,
}

/// Measures the gauges of a log. `waiting` is the number of questions that wait, if it is known. What cannot be measured is left out.
pub(crate) fn measure(log: &Path, waiting: Option<u64>) -> Vec<Gauge> {
    let gauge = |name, help, unit, value: Option<u64>| value.map(|value| Gauge { name, help, unit, value });
    let gauges = [
        gauge(METRIC_QUESTIONS_WAITING, "Questions that wait for a person.", "1", waiting),
        gauge(METRIC_LOG_SIZE, "Size of the log.", "By", log_size(log)),
        gauge(METRIC_DISK_FREE, "Free space on the disk of the log.", "By", disk_free(log)),
    ];
    gauges.into_iter().flatten().collect()
}

/// Returns the size of the database with its write-ahead log, in bytes. Archives are not part of it.
fn log_size(log: &Path) -> Option<u64> {
    let database = log.metadata().ok()?.len();
    let mut ahead = log.as_os_str().to_owned();
    ahead.push("-wal");
    Some(database + Path::new(&ahead).metadata().map_or(0, |file| file.len()))
}

/// Returns the space that is left for this user on the disk of the log, in bytes.
fn disk_free(log: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(log.parent()?).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::measure;

    #[test]
    fn the_size_of_the_log_and_the_space_on_its_disk_are_measured_as_far_as_they_are_known() {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("hookhost.db");
        std::fs::write(&log, "1234").unwrap();
        std::fs::write(directory.path().join("hookhost.db-wal"), "56").unwrap();
        let measured: Vec<_> = measure(&log, Some(3)).iter().map(|gauge| (gauge.name, gauge.value)).collect();
        assert_eq!(measured[..2], [("hookhost.questions.waiting", 3), ("hookhost.log.size", 6)]);
        assert!(measured[2].0 == "hookhost.disk.free" && measured[2].1 > 0, "{measured:?}");
        let missing = directory.path().join("missing/hookhost.db");
        assert!(measure(&missing, None).is_empty());
    }
}
