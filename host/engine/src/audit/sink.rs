//! Where records go beside the database: to the embedding program.

use super::line::{self, BEFORE_THE_FIRST, Line, Stored};
use super::record::LogBegins;
use super::to_record::ToRecord as _;
use super::verify::{Flaw, Report, verify};
use super::{FORMAT, Record};
use crate::config::AuditSettings;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Receives each record as the log would hold it: masked and cut as the configuration says.
///
/// The records of one session come in their order. The record of a gate comes before its outcome is known to the agent: if it
/// cannot be taken, the gate is rejected with the cause [`NotRecorded`](crate::contract::Cause::NotRecorded), and what a plugin
/// wrote about it to its state does not hold. A record that could not be taken comes once more, later, as rejected.
///
/// Every function `Fn(&str) -> Result<(), String>` is one.
pub trait AuditSink: Send + Sync {
    /// Takes a record, a JSON object in one line without a line break; [`Record::from_json`] reads it. It is called by the task
    /// that settles the event, which waits for it: a sink that sends records over a network hands them to a task of its own.
    ///
    /// # Errors
    /// One sentence on why the record cannot be taken.
    fn take(&self, record: &str) -> Result<(), String>;
}

impl<F: Fn(&str) -> Result<(), String> + Send + Sync> AuditSink for F {
    fn take(&self, record: &str) -> Result<(), String> {
        self(record)
    }
}

/// An audit log in memory: for tests, and for programs without a disk. Cheap to clone; all clones are the same log. It
/// grows without a bound.
#[derive(Clone, Default)]
pub struct MemoryLog {
    lines: Arc<Mutex<Vec<Line>>>,
}

impl MemoryLog {
    /// A log without records.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The records, in order, without the one that every log begins with.
    #[must_use]
    pub fn records(&self) -> Vec<Record> {
        // The host has written them.
        self.lines().iter().skip(1).filter_map(|line| line.entry().ok()).collect()
    }

    /// The whole log as JSON Lines, as `hookhost audit export` writes one.
    #[must_use]
    pub fn to_json_lines(&self) -> String {
        self.lines().iter().flat_map(|line| [line.text(), "\n"]).collect()
    }

    /// Whether it is as it was written.
    #[must_use]
    pub fn verify(&self) -> Report {
        let lines: Vec<_> = self.lines().iter().enumerate().map(|(index, line)| stored(index, line)).collect();
        match verify(&[], lines.into_iter().map(Ok::<_, Infallible>), None) {
            Ok(Ok(report)) => report,
            // A log of another version: ours has this one.
            Ok(Err(_)) => Report { flaws: vec![Flaw::NoBeginning], ..Report::default() },
            Err(never) => match never {},
        }
    }

    fn lines(&self) -> MutexGuard<'_, Vec<Line>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn stored(index: usize, line: &Line) -> Stored {
    Stored { number: index as u64 + 1, text: line.text().to_owned(), row: None, whole: true }
}

impl AuditSink for MemoryLog {
    fn take(&self, record: &str) -> Result<(), String> {
        let mut lines = self.lines();
        if lines.is_empty() {
            let time = Record::from_json(record).map_or(0, |record| record.time());
            let begins = LogBegins { version: FORMAT, time };
            lines.push(line::next(0, &BEFORE_THE_FIRST, &begins.body(&AuditSettings::default())));
        }
        let (seq, previous) = lines.last().map_or((0, BEFORE_THE_FIRST), |last| (last.seq(), last.hash()));
        lines.push(line::next(seq, &previous, record));
        Ok(())
    }
}

impl std::fmt::Debug for MemoryLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryLog").field("lines", &self.lines().len()).finish_non_exhaustive()
    }
}
