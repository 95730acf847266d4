//! An audit log in memory.

use super::hash_chain::{self, BEFORE_THE_FIRST, Line, Stored};
use super::record::LogBegins;
use super::sink::AuditSink;
use super::to_record::ToRecord as _;
use super::verify::{Flaw, Heads, Report, verify};
use super::{FORMAT, Record};
use crate::config::AuditSettings;
use crate::locked::locked;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

/// An audit log in memory, for tests and for programs without a disk. It is cheap to clone, and all clones refer to the
/// same log. Its size is not limited.
///
/// ```
/// use hookhost::audit::{MemoryLog, Record};
/// use hookhost::{Config, Host};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let log = MemoryLog::new();
/// let host = Host::builder(Config::empty()).audit(log.clone()).build().await?;
/// let session = host.session("my-agent", "/work")?;
/// let _ = session.check_tool("bash", &serde_json::json!({ "command": "ls" })).await;
///
/// let events = log.records().into_iter().filter(|record| matches!(record, Record::Event(_)));
/// assert_eq!(events.count(), 1);
/// assert!(log.verify().is_sound());
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Clone, Default)]
pub struct MemoryLog {
    lines: Arc<Mutex<Vec<Line>>>,
}

impl MemoryLog {
    /// Creates an empty log.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the records in order, without the first record, which marks the beginning of the log.
    #[must_use]
    pub fn records(&self) -> Vec<Record> {
        // The host wrote these lines, so each contains a valid record.
        locked(&self.lines).iter().skip(1).filter_map(|line| line.entry().ok()).collect()
    }

    /// Returns the whole log as JSON Lines.
    #[must_use]
    pub fn to_json_lines(&self) -> String {
        locked(&self.lines).iter().flat_map(|line| [line.text(), "\n"]).collect()
    }

    /// Returns the result of a verification of the log.
    #[must_use]
    pub fn verify(&self) -> Report {
        let lines: Vec<_> = locked(&self.lines).iter().enumerate().map(|(index, line)| stored(index, line)).collect();
        match verify(&[], lines.into_iter().map(Ok::<_, Infallible>), &Heads::default(), BTreeMap::new()) {
            Ok(Ok(report)) => report,
            // Cannot happen: this log always has the current version.
            Ok(Err(_)) => Report { flaws: vec![Flaw::NoBeginning], ..Report::default() },
            Err(never) => match never {},
        }
    }
}

fn stored(index: usize, line: &Line) -> Stored {
    Stored { number: index as u64 + 1, text: line.text().to_owned(), row: None, whole: true }
}

impl AuditSink for MemoryLog {
    fn take(&self, record: &str) -> Result<(), String> {
        let mut lines = locked(&self.lines);
        if lines.is_empty() {
            let time = Record::from_json(record).map_or(0, |record| record.time());
            let begins = LogBegins { version: FORMAT, time };
            lines.push(hash_chain::next(0, &BEFORE_THE_FIRST, &begins.body(&AuditSettings::default())));
        }
        let (seq, previous) = lines.last().map_or((0, BEFORE_THE_FIRST), |last| (last.seq(), last.hash()));
        lines.push(hash_chain::next(seq, &previous, record));
        Ok(())
    }
}

impl std::fmt::Debug for MemoryLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryLog").field("lines", &locked(&self.lines).len()).finish_non_exhaustive()
    }
}
