//! Finds one event of the log, with the records that belong to it.

use crate::tally::{deciding_rules, is_proof};
use hookhost::audit::{EventRecord, Line, LineError, Record, SessionOpened};
use hookhost::store::{Log, LogError};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Number of records that are read at once in a search from the end of the log.
const PAGE: u64 = 500;

/// An event of the log, with the records that belong to it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Explained {
    /// The number of the event's record.
    pub seq: u64,
    /// The event.
    pub event: EventRecord,
    /// The beginning of the event's session.
    pub opened: Option<SessionOpened>,
    /// The later records about the event: answers, observations and deliveries.
    pub later: Vec<Line>,
    /// True if the records that belong to the event were not all looked for, because this took too long.
    pub is_cut: bool,
}

/// Which event is meant.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum EventName<'a> {
    /// The last event.
    Last,
    /// The last event that did not simply pass.
    LastDecided,
    /// The event of the record with this number. The record can also be one that belongs to the event.
    Number(u64),
    /// The event with this identifier.
    Id(&'a str),
}

/// The reason why an event cannot be found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExplainError {
    /// The log cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The record belongs to no event.
    #[error("record {0} is about no event")]
    AboutNoEvent(u64),
    /// The record cannot be read.
    #[error("record {seq} cannot be read: {problem}")]
    Unreadable {
        /// The number of the record.
        seq: u64,
        /// The problem.
        problem: LineError,
    },
}

impl Explained {
    /// Finds an event and the records that belong to it. `within` limits the time of each of the two searches for those records.
    ///
    /// # Errors
    /// If the log cannot be read, or if the record with the number is about no event.
    pub fn find(log: &Log, name: EventName<'_>, within: Option<Duration>) -> Result<Option<Self>, ExplainError> {
        let found = match name {
            EventName::LastDecided => last(log, |event| {
                !deciding_rules(event).is_empty() || event.calls.iter().any(|call| call.failure.is_some())
            })?,
            EventName::Last => last(log, |_| true)?,
            EventName::Number(seq) => numbered(log, seq)?,
            EventName::Id(id) => identified(log, id)?,
        };
        let Some((seq, event)) = found else { return Ok(None) };
        let mut explained = Self { seq, event, opened: None, later: Vec::new(), is_cut: false };
        explained.read_beginning(log, within)?;
        explained.read_later(log, within)?;
        Ok(Some(explained))
    }

    /// Reads the beginning of the event's session.
    fn read_beginning(&mut self, log: &Log, within: Option<Duration>) -> Result<(), LogError> {
        let (begun, session) = (Instant::now(), self.event.header.session.clone());
        newest_first(log, self.seq, |line| {
            if line.text().contains(session.as_str())
                && let Ok(Record::Session(opened)) = line.entry()
                && opened.header.session == session
            {
                self.opened = Some(*opened);
                return ControlFlow::Break(());
            }
            self.is_cut |= within.is_some_and(|within| begun.elapsed() > within);
            if self.is_cut { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
    }

    /// Reads the later records about the event.
    fn read_later(&mut self, log: &Log, within: Option<Duration>) -> Result<(), LogError> {
        let begun = Instant::now();
        for line in log.lines_after(self.seq)? {
            let Ok(line) = line else { continue };
            // Most records are about other events, and need not be parsed.
            if line.text().contains(self.event.id.as_str())
                && line.entry().is_ok_and(|record| is_about(&record, &self.event.id))
            {
                self.later.push(line);
            }
            if within.is_some_and(|within| begun.elapsed() > within) {
                self.is_cut = true;
                break;
            }
        }
        Ok(())
    }
}

/// Visits the records before `before`, the newest first, until `visit` breaks. Records that cannot be read are left out.
///
/// # Errors
/// If the log cannot be read.
pub fn newest_first(log: &Log, before: u64, mut visit: impl FnMut(&Line) -> ControlFlow<()>) -> Result<(), LogError> {
    let mut end = before.saturating_sub(1).min(log.last()?);
    while end > 0 {
        let begin = end.saturating_sub(PAGE);
        let mut page = Vec::new();
        for line in log.lines_after(begin)? {
            match line {
                Ok(line) if line.seq() > end => break,
                Ok(line) => page.push(line),
                Err(LogError::Line { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        for line in page.iter().rev() {
            if visit(line).is_break() {
                return Ok(());
            }
        }
        end = begin;
    }
    Ok(())
}

/// Returns the last event that `is_wanted`, except the events by which `hookhost doctor` proves a hook.
fn last(log: &Log, is_wanted: impl Fn(&EventRecord) -> bool) -> Result<Option<(u64, EventRecord)>, LogError> {
    let mut found = None;
    newest_first(log, u64::MAX, |line| {
        if let Ok(Record::Event(event)) = line.entry()
            && !is_proof(&event.header.session)
            && is_wanted(&event)
        {
            found = Some((line.seq(), *event));
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

fn numbered(log: &Log, seq: u64) -> Result<Option<(u64, EventRecord)>, ExplainError> {
    let Some(before) = seq.checked_sub(1) else { return Ok(None) };
    let line = log.lines_after(before)?.next();
    let Some(Ok(line)) = line.filter(|line| line.as_ref().is_ok_and(|line| line.seq() == seq)) else { return Ok(None) };
    match line.entry() {
        Ok(Record::Event(event)) => Ok(Some((seq, *event))),
        Ok(other) => match id_of(&other) {
            Some(id) => identified(log, id),
            None => Err(ExplainError::AboutNoEvent(seq)),
        },
        Err(problem) => Err(ExplainError::Unreadable { seq, problem }),
    }
}

/// Finds an event by its identifier. The events that a person asks about are mostly recent, so the search begins at the end.
fn identified(log: &Log, id: &str) -> Result<Option<(u64, EventRecord)>, ExplainError> {
    let mut found = None;
    newest_first(log, u64::MAX, |line| {
        if line.text().contains(id)
            && let Ok(Record::Event(event)) = line.entry()
            && event.id == id
        {
            found = Some((line.seq(), *event));
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

/// Returns the identifier of the event to which a record belongs.
fn id_of(record: &Record) -> Option<&String> {
    match record {
        Record::Event(event) => event.asked_again.as_ref().map(|again| &again.of),
        Record::Approval(answer) => Some(&answer.id),
        Record::Observed(observed) => Some(&observed.id),
        Record::Delivery(delivery) => delivery.id.as_ref(),
        _ => None,
    }
}

/// Returns true if a record belongs to the event, or removes a label that the event added.
fn is_about(record: &Record, id: &String) -> bool {
    match record {
        Record::Operator(action) => action.labels.iter().any(|label| label.of == *id),
        _ => id_of(record) == Some(id),
    }
}
