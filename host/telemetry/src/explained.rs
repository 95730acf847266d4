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
    /// The event was not found in the time that the caller gives.
    #[error("the log is so long that the event was not found in time")]
    TooLong,
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
    /// Finds an event and the records that belong to it. `within` limits the time of each search: for the event, and for the records
    /// before and after it.
    ///
    /// # Errors
    /// If the log cannot be read, if the record with the number is about no event, or if the event is not found in time.
    pub fn find(log: &Log, name: EventName<'_>, within: Option<Duration>) -> Result<Option<Self>, ExplainError> {
        let found = match name {
            EventName::LastDecided => last(log, u64::MAX, within, "", |event| {
                let has_failure = event.calls.iter().any(|call| call.failure.is_some());
                !is_proof(&event.header.session) && (has_failure || !deciding_rules(event).is_empty())
            })?,
            EventName::Last => last(log, u64::MAX, within, "", |event| !is_proof(&event.header.session))?,
            EventName::Number(seq) => numbered(log, seq, within)?,
            EventName::Id(id) => last(log, u64::MAX, within, id, |event| event.id == id)?,
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

/// Visits the records before `before`, the newest first, until `visit` breaks. Records that cannot be read are left out. A gap between the
/// numbers costs no more than a page, however large it is.
///
/// # Errors
/// If the log cannot be read.
pub fn newest_first(log: &Log, before: u64, mut visit: impl FnMut(&Line) -> ControlFlow<()>) -> Result<(), LogError> {
    let mut end = log.last_up_to(before.saturating_sub(1))?;
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
        end = log.last_up_to(begin)?;
    }
    Ok(())
}

/// Returns the last event before the record `before` that `is_wanted`. Its record contains `text`. The events that a person asks about are
/// mostly recent, so the search begins at the end.
fn last(
    log: &Log,
    before: u64,
    within: Option<Duration>,
    text: &str,
    is_wanted: impl Fn(&EventRecord) -> bool,
) -> Result<Option<(u64, EventRecord)>, ExplainError> {
    let begun = Instant::now();
    let (mut found, mut is_over) = (None, false);
    newest_first(log, before, |line| {
        if line.text().contains(text)
            && let Ok(Record::Event(event)) = line.entry()
            && is_wanted(&event)
        {
            found = Some((line.seq(), *event));
            return ControlFlow::Break(());
        }
        is_over = within.is_some_and(|within| begun.elapsed() > within);
        if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    if is_over { Err(ExplainError::TooLong) } else { Ok(found) }
}

fn numbered(log: &Log, seq: u64, within: Option<Duration>) -> Result<Option<(u64, EventRecord)>, ExplainError> {
    let Some(before) = seq.checked_sub(1) else { return Ok(None) };
    let line = log.lines_after(before)?.next();
    let Some(Ok(line)) = line.filter(|line| line.as_ref().is_ok_and(|line| line.seq() == seq)) else { return Ok(None) };
    match line.entry() {
        Ok(Record::Event(event)) => Ok(Some((seq, *event))),
        Ok(other) => match id_of(&other) {
            // An event is recorded before all that belongs to it.
            Some(id) => last(log, seq, within, id, |event| event.id == *id),
            None => Err(ExplainError::AboutNoEvent(seq)),
        },
        Err(problem) => Err(ExplainError::Unreadable { seq, problem }),
    }
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

#[cfg(test)]
mod tests {
    use super::{EventName, ExplainError, Explained, newest_first};
    use hookhost::store::Log;
    use hookhost::{Config, Host};
    use rusqlite::Connection;
    use serde_json::json;
    use std::ops::ControlFlow;
    use std::path::Path;
    use std::time::Duration;

    async fn log(file: &Path, calls: u32) -> Log {
        let host = Host::builder(Config::empty()).without_cache().store(file).build().await.unwrap();
        let session = host.session("my-agent", "/work").unwrap();
        for number in 0..calls {
            let _ = session.check_tool("bash", &json!({ "command": number })).await;
        }
        drop(session);
        host.drain(Duration::from_secs(5)).await.unwrap();
        Log::open(file).unwrap().only_stored()
    }

    fn numbers(log: &Log) -> Vec<u64> {
        let mut numbers = Vec::new();
        newest_first(log, u64::MAX, |line| {
            numbers.push(line.seq());
            ControlFlow::Continue(())
        })
        .unwrap();
        numbers
    }

    #[tokio::test]
    async fn a_row_with_a_far_number_does_not_make_a_search_step_through_nothing() {
        const FAR: u64 = 4_000_000_000_000_000_000;
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("hookhost.db");
        let log = log(&file, 600).await;
        let before = numbers(&log);
        assert!(before.len() > 600 && before.is_sorted_by(|a, b| a > b), "{before:?}");
        let database = Connection::open(&file).unwrap();
        // The text of one row has the number of the row, and that of the other row has not.
        let select = "INSERT INTO audit (seq, hash, line) SELECT ?1, zeroblob(32), replace(line, '\"seq\":1,', ?2) FROM audit WHERE seq = 1";
        database.execute(select, (FAR.cast_signed(), format!("\"seq\":{FAR},"))).unwrap();
        database.execute(select, (FAR.cast_signed() - 100_000, "\"seq\":1,")).unwrap();
        assert_eq!(numbers(&log), [vec![FAR], before].concat());
        let last = Explained::find(&log, EventName::Last, Some(Duration::from_secs(60))).unwrap().unwrap();
        assert!(last.event.original.get().contains(r#""command":599"#), "{last:?}");
    }

    #[tokio::test]
    async fn a_search_for_an_event_ends_in_time() {
        let directory = tempfile::tempdir().unwrap();
        let log = log(&directory.path().join("hookhost.db"), 3).await;
        let found = Explained::find(&log, EventName::Id("no such event"), Some(Duration::ZERO));
        assert!(matches!(found, Err(ExplainError::TooLong)), "{found:?}");
        assert!(Explained::find(&log, EventName::Id("no such event"), None).unwrap().is_none());
    }
}
