//! Audit logs: exports, and databases.

use crate::lab;
use hookhost::audit::{Line, Record};
use hookhost::replay::replay;
use hookhost::store::{Log, LogError};

/// Bytes as an audit log: read, verified, and asked about again.
pub fn log(bytes: &[u8]) {
    for line in String::from_utf8_lossy(bytes).lines().take(64) {
        let _ = Record::from_json(line);
        if let Ok(line) = Line::parse(line) {
            let _ = line.entry();
        }
    }
    lab::with(|lab| {
        let file = lab.directory().join("read.jsonl");
        std::fs::write(&file, bytes).expect("a file");
        let log = match Log::open(&file) {
            Ok(log) => log,
            Err(error) => return assert!(!error.to_string().is_empty()),
        };
        let read = lines(&log);
        if let Ok(report) = log.verify(None) {
            let may_be_unreadable = !report.is_sound() || report.cut_at.is_some() || report.lines == 0;
            assert!(read.is_ok() || may_be_unreadable, "a whole and sound log can be read: {report:?}");
        }
        lab.have_a_quiet_plugin();
        let _ = lab.runtime.block_on(replay(&lab.host, &log, |compared| {
            assert!(serde_json::to_string(compared).expect("a comparison is JSON").len() > 2);
        }));
    });
}

fn lines(log: &Log) -> Result<u64, LogError> {
    let mut read = 0;
    for line in log.lines()? {
        read += u64::from(line?.entry().is_ok());
    }
    Ok(read + log.last()?)
}
