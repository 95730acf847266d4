//! Verification: checks that nobody has changed, removed or moved a record.
//!
//! Each line contains the hash of the line before it, so a changed line does not match the next line. Each line also
//! has a number: if a number is missing, a line was removed, and if numbers are out of order, a line was moved. The log
//! alone cannot show that its end is missing. To detect this, store the log's head (the hash of the last line) outside
//! of the log.

mod order;

use super::{BEFORE_THE_FIRST, Line, Record, Stored, other_version};
use crate::config::Digest;
use crate::contract::{Answered, Cause, OutcomeKind};
use crate::passkey::{Challenge, Passkeys};
use order::Order;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;

/// Maximum number of flaws in a report.
const MAX_FLAWS: usize = 1000;

/// Hashes that a log must contain, because somebody noted them outside of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Heads {
    /// The hash of a record whose number is not known.
    pub noted: Option<Digest>,
    /// Numbers of records, each with the hash that the record had.
    pub anchored: BTreeSet<(u64, Digest)>,
}

/// The result of a verification.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Number of lines.
    pub lines: u64,
    /// Hash of the last line.
    pub head: Option<Digest>,
    /// The flaws. Flaws of the database come first, followed by flaws of single lines, of the order of lines, and of
    /// the head.
    pub flaws: Vec<Flaw>,
    /// Number of flaws that are not in `flaws`, because the list contains at most 1000 flaws.
    pub more_flaws: u64,
    /// Number of the line whose hash is the requested head.
    pub head_at: Option<u64>,
    /// True if the content of the last line was checked against a hash. In a database, this can be the hash in the
    /// line's row. In an export, it can only be the requested head.
    pub last_is_vouched_for: bool,
    /// Number of the last line, if this line is incomplete because the writer was interrupted. The earlier lines are
    /// not affected.
    pub cut_at: Option<u64>,
    /// The ranges of records that are in archives which were not there to be checked. The chain of hashes continues after
    /// them.
    pub archived: Vec<(u64, u64)>,
    /// How many of the anchored hashes are in the log.
    pub anchors_found: u64,
    /// Sessions whose end is not in the log, with the number of their last record. The agent of such a session is still
    /// running or was killed.
    pub open_sessions: BTreeMap<String, u64>,
    /// The passkeys that are registered at the end of the log. Each yes was verified with the passkeys of its time.
    pub(crate) passkeys: Passkeys,
}

/// A difference between the log and what hookhost wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Flaw {
    /// A record was changed.
    Changed(u64),
    /// The records from the first to the second of these numbers are missing.
    Removed(u64, u64),
    /// A record is not at the position that its number says.
    Moved(u64),
    /// More than one record has this number.
    Twice(u64),
    /// The log does not begin with the opening record that every log must have.
    NoBeginning,
    /// This line is not a valid record.
    Unreadable {
        /// Number of the line, from 1.
        line: u64,
        /// The reason why the line is not a valid record.
        problem: String,
    },
    /// The schema of the database differs from the schema that hookhost creates. The string names the difference, which
    /// is an added, changed or missing object.
    Foreign(String),
    /// A passkey was registered when this question was asked, and the yes to it has no valid signature of one.
    Unproven {
        /// Number of the record of the answer.
        seq: u64,
        /// The reason, as the end of a sentence that begins with "the yes does not count:".
        why: String,
    },
    /// The registered passkeys were changed by something else than hookhost. The string is the reason.
    Passkeys(String),
    /// No record has the requested hash, because the end of the log is missing or the log was rewritten.
    HeadMissing(Digest),
    /// The record had another hash when this was noted outside of the log, so it or an earlier record was rewritten.
    AnchorDiffers(u64),
    /// The record was noted outside of the log and is no longer there, so the end of the log is missing.
    AnchorMissing(u64),
    /// An archive beside the log cannot be read. The string names the file and the problem.
    UnreadableArchive(String),
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
                f.write_str("the log does not begin with its opening record: the record was removed or changed")
            }
            Self::Unreadable { line, problem } => write!(f, "line {line} is {problem}"),
            Self::Foreign(what) => write!(f, "the database holds {what}, which may have kept records out of the log"),
            Self::AnchorDiffers(seq) => {
                write!(f, "record {seq} is not the one that was anchored: it or records before it were rewritten")
            }
            Self::AnchorMissing(seq) => {
                write!(f, "record {seq} was anchored and is not there: the end of the log was removed")
            }
            Self::UnreadableArchive(what) => write!(f, "an archive cannot be read: {what}"),
            Self::Unproven { seq, why } => write!(f, "record {seq} is a yes that does not count: {why}"),
            Self::Passkeys(why) => write!(f, "the passkeys cannot be trusted: {why}"),
            Self::HeadMissing(head) => {
                write!(f, "no record has the hash {head}: the end of the log was removed, or all of it rewritten")
            }
        }
    }
}

impl Report {
    /// Returns true if no flaw was found. An incomplete last line is not a flaw.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.flaws.is_empty()
    }

    /// Checks the hash of a record against what was noted about it outside of the log.
    fn note_anchors(&mut self, heads: &Heads, seq: u64, hash: Digest) {
        let of_the_record = (seq, Digest::zero())..=(seq, Digest::from_bytes([u8::MAX; 32]));
        for (_, anchored) in heads.anchored.range(of_the_record) {
            match *anchored == hash {
                true => self.anchors_found += 1,
                false => self.flaw(Flaw::AnchorDiffers(seq)),
            }
        }
    }

    #[cfg(feature = "store")]
    pub(crate) fn with_unreadable_archives(mut self, problems: Vec<String>) -> Self {
        problems.into_iter().for_each(|problem| self.flaw(Flaw::UnreadableArchive(problem)));
        self
    }

    pub(crate) fn flaw(&mut self, flaw: Flaw) {
        if self.flaws.last() == Some(&flaw) || (matches!(flaw, Flaw::Moved(_)) && self.flaws.contains(&flaw)) {
            return;
        }
        if self.flaws.len() < MAX_FLAWS { self.flaws.push(flaw) } else { self.more_flaws += 1 }
    }
}

/// Checks every line of a log. `foreign` lists the differences between the database's schema and the expected schema.
/// `heads` are hashes that must exist. If the log has a different format, returns the version of that
/// format instead of a report.
///
/// # Errors
/// If the lines cannot be read.
pub(crate) fn verify<E>(
    foreign: &[String],
    lines: impl Iterator<Item = Result<Stored, E>>,
    heads: &Heads,
) -> Result<Result<Report, u32>, E> {
    let mut report = Report::default();
    for what in foreign {
        report.flaw(Flaw::Foreign(what.clone()));
    }
    let head = heads.noted;
    let mut order = Order::default();
    let mut gaps = Gaps::default();
    let mut last = 0;
    let mut questions = Questions::default();
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
        report.note_anchors(heads, line.seq(), hash);
        last = last.max(line.seq());
        gaps.note(&line);
        if order.follows(line.seq()) && line.previous() != before {
            // Either this line or the line before it was changed. Only the next line could show which of the two, so
            // report the line before.
            report.flaw(Flaw::Changed(line.seq().saturating_sub(1).max(1)));
        }
        // If the database has a hash of this line, compare the next line with that hash. Otherwise one changed line
        // would be reported as two changed lines.
        before = next.row.map_or(hash, |(_, stored)| stored);
        report.last_is_vouched_for = next.row.is_some() || head == Some(hash);
        report.head = Some(hash);
        if let Ok(entry) = line.entry() {
            note_session(&mut report, line.seq(), &entry);
            questions.note(&mut report, line.seq(), &entry);
        }
    }
    if report.lines == 0 {
        report.flaw(Flaw::NoBeginning);
    }
    for flaw in order.flaws() {
        match flaw {
            Flaw::Removed(first, last) if gaps.is_archived(first, last) => report.archived.push((first, last)),
            flaw => report.flaw(flaw),
        }
    }
    for (seq, _) in heads.anchored.iter().rev().take_while(|(seq, _)| *seq > last) {
        report.flaw(Flaw::AnchorMissing(*seq));
    }
    if let Some(head) = head
        && report.head_at.is_none()
    {
        report.flaw(Flaw::HeadMissing(head));
    }
    Ok(Ok(report))
}

/// What the records say about the records that are not there.
#[derive(Default)]
struct Gaps {
    /// The archives that records name, by their last record: their first record, and the hash of the last.
    archives: BTreeMap<u64, (u64, Digest)>,
    /// What each line says about the hash of the line before it, for lines that do not follow the one before.
    previous: BTreeMap<u64, Digest>,
    last: u64,
}

impl Gaps {
    fn note(&mut self, line: &Line) {
        if line.seq() != self.last + 1 {
            self.previous.insert(line.seq(), line.previous());
        }
        self.last = line.seq();
        if line.text().contains(r#""kind":"archived""#)
            && let Ok(Record::Archived(archived)) = line.entry()
        {
            self.archives.insert(archived.through, (archived.first, archived.hash));
        }
    }

    /// Returns true if the missing records are one or several whole archives.
    fn is_archived(&self, first: u64, last: u64) -> bool {
        let is_a_beginning = first == 2 || self.archives.values().any(|(begins, _)| *begins == first);
        let Some((_, hash)) = self.archives.get(&last) else { return false };
        is_a_beginning && self.previous.get(&(last + 1)) == Some(hash)
    }
}

/// The questions that have no answer yet. An answer is verified with the passkeys that are registered when it is given.
#[derive(Default)]
struct Questions(HashMap<String, AskedQuestion>);

struct AskedQuestion {
    digest: Digest,
    needs_passkey: bool,
    is_overridable: bool,
}

impl Questions {
    fn note(&mut self, report: &mut Report, seq: u64, entry: &Record) {
        match entry {
            Record::Operator(action) => {
                if let Some(change) = &action.passkey
                    && let Err(error) = report.passkeys.apply(change, action.time)
                {
                    report.flaw(Flaw::Passkeys(format!("record {seq} is not valid: {error}")));
                }
            }
            Record::Event(event) => {
                if let Some(digest) = event.question {
                    let (needs_passkey, is_overridable) =
                        (report.passkeys.is_required(), event.cause == Some(Cause::Overridable));
                    self.0.insert(event.id.clone(), AskedQuestion { digest, needs_passkey, is_overridable });
                }
            }
            Record::Approval(answer) => {
                let Some(asked) = self.0.remove(&answer.id) else { return };
                // A yes that did not count has no effect. The log contains it without its proof.
                let has_effect = asked.is_overridable || answer.outcome != OutcomeKind::Rejected;
                let Answered { for_session, proof, .. } = &answer.answer;
                if answer.answer.is_approved() && has_effect && (asked.needs_passkey || proof.is_some()) {
                    let challenge = Challenge::to_answer(asked.digest, *for_session);
                    if let Err(why) = report.passkeys.verify(proof.as_deref(), challenge) {
                        report.flaw(Flaw::Unproven { seq, why: why.to_string() });
                    }
                }
            }
            _ => {}
        }
    }
}

fn note_session(report: &mut Report, seq: u64, entry: &Record) {
    match (entry, entry.session()) {
        (Record::SessionEnded(ended), _) => {
            report.open_sessions.remove(&ended.header.session);
        }
        (Record::Session(opened), _) => {
            report.open_sessions.insert(opened.header.session.clone(), seq);
        }
        (_, Some(session)) => {
            if let Some(last) = report.open_sessions.get_mut(session) {
                *last = seq;
            }
        }
        (_, None) => {}
    }
}
