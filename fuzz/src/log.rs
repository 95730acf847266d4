//! Audit logs: exports and databases.

use crate::lab::{self, LOG, Lab};
use hookhost::audit::{Line, Record};
use hookhost::contract::EventKind;
use hookhost::replay::replay;
use hookhost::store::{Log, LogError};
use std::time::Duration;

/// Reads bytes as an audit log, verifies it, and replays it.
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

/// Returns the seeds of [`log`] by name: a log in today's format, and damaged forms of it.
#[must_use]
pub fn logs() -> Vec<(&'static str, Vec<u8>)> {
    let (database, lines) = written();
    let export = |lines: &[&String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>().into_bytes();
    let all: Vec<&String> = lines.iter().collect();
    let mut removed = all.clone();
    removed.remove(all.len() / 2);
    let mut reordered = all.clone();
    reordered.swap(1, all.len() - 2);
    let whole = export(&all);
    vec![
        ("rows-out-of-order", out_of_order(&database)),
        ("database", database),
        ("cut", whole[..whole.len() - 200].to_vec()),
        ("one-line", export(&all[2..3])),
        ("removed", export(&removed)),
        ("reordered", export(&reordered)),
        ("export", whole),
    ]
}

/// Writes a log of two sessions. Returns the database and its lines.
fn written() -> (Vec<u8>, Vec<String>) {
    let lab = Lab::new();
    lab.have_a_quiet_plugin();
    for event in [EventKind::BeforeToolCall, EventKind::AfterToolCall] {
        lab.dispatch(&lab.session(), event, serde_json::from_str(event.example()).expect("an example is JSON"));
    }
    let Lab { runtime, host, directory, .. } = lab;
    runtime.block_on(host.drain(Duration::from_secs(10))).expect("what was recorded is written");
    drop((host, runtime));
    let file = directory.path().join(LOG);
    // Move the content of the write-ahead log into the database file.
    let checkpoint =
        |connection: rusqlite::Connection| connection.query_row("PRAGMA wal_checkpoint", [], |row| row.get(0));
    let is_busy: bool = rusqlite::Connection::open(&file).and_then(checkpoint).expect("a database");
    assert!(!is_busy, "nobody else uses it");
    let database = std::fs::read(&file).expect("a file");
    let log = Log::open(&file).expect("a log");
    let lines = log.lines().expect("its lines").map(|line| line.expect("a line").text().to_owned()).collect();
    (database, lines)
}

/// Returns the database with the first and last row of each page of rows exchanged.
fn out_of_order(database: &[u8]) -> Vec<u8> {
    /// The kind of a page with rows of a table.
    const ROWS: u8 = 13;
    let number = |page: &[u8], at: usize| usize::from(u16::from_be_bytes([page[at], page[at + 1]]));
    let mut changed = database.to_vec();
    let size = number(database, 16);
    for page in changed.chunks_exact_mut(size).skip(1) {
        let rows = number(page, 3);
        if page[0] == ROWS && rows > 1 {
            let last = 8 + 2 * (rows - 1);
            page.swap(8, last);
            page.swap(9, last + 1);
        }
    }
    changed
}
