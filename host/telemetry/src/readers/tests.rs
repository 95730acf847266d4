use super::{FirstRecord, Readers, Sinks, flush};
use crate::positions::PositionFile;
use crate::settings::Directories;
use crate::tests::write;
use crate::{Environment, TelemetrySettings};
use std::path::Path;
use std::time::{Duration, Instant};

/// Returns a sink that writes `events.jsonl` in a directory.
fn sinks(directory: &Path, first: FirstRecord) -> Sinks {
    let mut settings: TelemetrySettings =
        serde_json::from_value(serde_json::json!({ "file": { "path": "events.jsonl" } })).unwrap();
    settings.from = first;
    let directories = Directories { config: directory, home: None };
    let (sinks, problems) = settings.sinks(&Environment::default(), directories);
    assert!(problems.is_empty(), "{problems:?}");
    sinks
}

fn lines(directory: &Path) -> usize {
    std::fs::read_to_string(directory.join("events.jsonl")).unwrap_or_default().lines().count()
}

#[tokio::test]
async fn sinks_whose_positions_cannot_be_opened_start_as_soon_as_they_can() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("hookhost.db");
    write(&log, 1).await;
    let obstacle = PositionFile::path_of(&log);
    std::fs::create_dir(&obstacle).unwrap();
    let readers = Readers::start(sinks(directory.path(), FirstRecord::Beginning), &log, None).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    std::fs::remove_dir(&obstacle).unwrap();
    let began = Instant::now();
    while lines(directory.path()) < 3 {
        assert!(began.elapsed() < Duration::from_secs(60), "the sink does not start");
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(readers);
}

#[test]
fn a_sink_whose_positions_were_deleted_sends_the_whole_log_and_a_new_one_only_what_comes() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("hookhost.db");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let write = |sessions| runtime.block_on(write(&log, sessions));
    write(1);
    let flush = || {
        flush(sinks(directory.path(), FirstRecord::Now), &log, Duration::from_secs(60)).unwrap();
        lines(directory.path())
    };
    assert_eq!(flush(), 0);
    write(1);
    assert_eq!(flush(), 2);
    write(1);
    for end in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(directory.path().join(format!("telemetry.db{end}")));
    }
    // The two records that the file has already are recognized.
    assert_eq!(flush(), 7);
}
