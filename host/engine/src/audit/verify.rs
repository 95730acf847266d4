//! Verifies that a log is as it was written.
//!
//! Each line has the hash of the one before, so a line that was changed no longer fits the next one; a number that is
//! missing was removed, one in the wrong place was moved. What a log alone cannot show is that its end is missing: for
//! that its head (the hash of its last line) has to be noted elsewhere.

mod order;

use super::{BEFORE_THE_FIRST, Line, Record, Stored, other_version};
use crate::config::Digest;
use order::Order;
use std::collections::BTreeMap;
use std::fmt;

/// Most flaws that are named one by one.
const MAX_FLAWS: usize = 1000;

/// The result of verifying a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Lines that are there.
    pub lines: u64,
    /// The hash of the last line.
    pub head: Option<Digest>,
    /// The flaws: first those of the database, then of single lines, then of their order, then of the head.
    pub flaws: Vec<Flaw>,
    /// Flaws that are not named, since there are more than 1000.
    pub more_flaws: u64,
    /// The number of the line whose hash is the head that was asked for.
    pub head_at: Option<u64>,
    /// True if something vouches for the content of the last line: the hash that a database has beside it, or the given head.
    /// Beside the last line of an export there is none.
    pub last_is_vouched_for: bool,
    /// The file ends in the middle of this line: its writer was cut off. The lines before are as they were.
    pub cut_at: Option<u64>,
    /// Sessions without an end, with the number of their last record: their agent is at work, or was cut off.
    pub open_sessions: BTreeMap<String, u64>,
}

/// Something that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Flaw {
    /// A record is not the one that was written.
    Changed(u64),
    /// Records are missing, from the first to the last of these numbers.
    Removed(u64, u64),
    /// A record is not in its place.
    Moved(u64),
    /// A number occurs twice.
    Twice(u64),
    /// The log does not begin with the record that every log begins with.
    NoBeginning,
    /// This line is not a valid record.
    Unreadable {
        /// Number of the line, from 1.
        line: u64,
        /// The end of the sentence "line N is …".
        problem: String,
    },
    /// The database holds, or lacks, this beside the records; hookhost did not make it so.
    Foreign(String),
    /// No record has the head that was asked for: the end of the log is missing, or it was rewritten.
    HeadMissing(Digest),
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changed(seq) => write!(f, "record {seq} was changed"),
            Self::Removed(first, last) if first == last => write!(f, "record {first} was removed"),
            Self::Removed(first, last) => write!(f, "records {first} to {last} were removed"),
            Self::Moved(seq) => write!(f, "record {seq} was moved"),
            Self::Twice(seq) => write!(f, "record {seq} is there twice"),
            Self::NoBeginning => {
                f.write_str("the log does not begin as every log does: its beginning was removed or changed")
            }
            Self::Unreadable { line, problem } => write!(f, "line {line} is {problem}"),
            Self::Foreign(what) => write!(f, "the database holds {what}: records may have been kept out of it"),
            Self::HeadMissing(head) => {
                write!(f, "no record has the hash {head}: the end of the log was removed, or all of it rewritten")
            }
        }
    }
}

impl Report {
    /// Returns true if every record is as it was written, and in its place.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.flaws.is_empty()
    }

    fn flaw(&mut self, flaw: Flaw) {
        if self.flaws.last() == Some(&flaw) || (matches!(flaw, Flaw::Moved(_)) && self.flaws.contains(&flaw)) {
            return;
        }
        if self.flaws.len() < MAX_FLAWS { self.flaws.push(flaw) } else { self.more_flaws += 1 }
    }
}

/// Checks every line of a log; `foreign` is what its database holds beside, and `head` the hash of
/// a record that must be there. In place of a report: the version of a log that is not of ours.
///
/// # Errors
/// If the lines cannot be read.
pub(crate) fn verify<E>(
    foreign: &[String],
    lines: impl Iterator<Item = Result<Stored, E>>,
    head: Option<Digest>,
) -> Result<Result<Report, u32>, E> {
    let mut report = Report::default();
    for what in foreign {
        report.flaw(Flaw::Foreign(what.clone()));
    }
    let mut order = Order::default();
    let mut before = BEFORE_THE_FIRST;
    let mut stored = lines.peekable();
    while let Some(next) = stored.next() {
        let next = next?;
        let line = match Line::parse(&next.text) {
            Ok(line) => line,
            Err(_) if !next.whole && stored.peek().is_none() => {
                report.cut_at = Some(next.number);
                break;
            }
            Err(problem) => {
                report.lines += 1;
                report.flaw(Flaw::Unreadable { line: next.number, problem: problem.to_string() });
                continue;
            }
        };
        if let Some(found) = other_version(&line) {
            return Ok(Err(found));
        }
        report.lines += 1;
        let hash = line.hash();
        if next.row.is_some_and(|(_, stored)| stored != hash) {
            report.flaw(Flaw::Changed(line.seq()));
        }
        if next.row.is_some_and(|(seq, _)| u64::try_from(seq) != Ok(line.seq())) {
            report.flaw(Flaw::Moved(line.seq()));
        }
        if report.lines == 1 && !matches!(line.entry(), Ok(Record::Log(_))) && line.seq() == 1 {
            report.flaw(Flaw::NoBeginning);
        }
        if head == Some(hash) {
            report.head_at = Some(line.seq());
        }
        if order.follows(line.seq()) && line.previous() != before {
            // Which of the two it is only the line after could tell.
            report.flaw(Flaw::Changed(line.seq().saturating_sub(1).max(1)));
        }
        // Where the database has the hash that was written, one changed line is not two.
        before = next.row.map_or(hash, |(_, stored)| stored);
        report.last_is_vouched_for = next.row.is_some() || head == Some(hash);
        report.head = Some(hash);
        note_session(&mut report, &line);
    }
    if report.lines == 0 {
        report.flaw(Flaw::NoBeginning);
    }
    for flaw in order.flaws() {
        report.flaw(flaw);
    }
    if let Some(head) = head
        && report.head_at.is_none()
    {
        report.flaw(Flaw::HeadMissing(head));
    }
    Ok(Ok(report))
}

fn note_session(report: &mut Report, line: &Line) {
    let Ok(entry) = line.entry() else { return };
    match (&entry, entry.session()) {
        (Record::SessionEnded(ended), _) => {
            report.open_sessions.remove(&ended.header.session);
        }
        (Record::Session(opened), _) => {
            report.open_sessions.insert(opened.header.session.clone(), line.seq());
        }
        (_, Some(session)) => {
            if let Some(last) = report.open_sessions.get_mut(session) {
                *last = line.seq();
            }
        }
        (_, None) => {}
    }
}
