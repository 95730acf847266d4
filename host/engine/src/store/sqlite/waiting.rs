//! Changes that wait to be written: records, and rows of sessions and questions.

use super::journal::{AppendedRecords, JournalFile};
use crate::store::{OutcomeChange, SessionChanges};
use std::sync::Arc;

/// Maximum size of the buffer that is used again for the text of the next records, in bytes.
const MAX_KEPT: usize = 2 << 20;

/// The changes that the next transaction writes before its own changes.
#[derive(Default)]
pub(super) struct Waiting {
    /// The text of all records, one after the other.
    text: String,
    records: Vec<WaitingRecord>,
    /// Number of records at the end of the list that are in no journal.
    late: usize,
    /// The journals that contain the other records, each with the end of its last record.
    journals: Vec<(Arc<JournalFile>, u64)>,
    /// Session handles with unwritten changes.
    pub(super) sessions: Vec<Arc<dyn SessionChanges>>,
    /// Identifiers of answered questions, whose rows are deleted.
    pub(super) settled: Vec<String>,
    /// Changes of the stored outcomes. No record depends on these changes.
    pub(super) outcomes: Vec<OutcomeChange>,
}

/// The end of a record in the text, and the record's position if it is in a journal.
struct WaitingRecord {
    end: usize,
    place: Option<Place>,
}

/// The end of a record in one of the journals of [`Waiting`].
#[derive(Clone, Copy)]
struct Place {
    journal: usize,
    end: u64,
}

impl Waiting {
    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty() && self.outcomes.is_empty() && self.has_only_records()
    }

    pub(super) fn has_only_records(&self) -> bool {
        self.sessions.is_empty() && self.settled.is_empty()
    }

    pub(super) fn has_late(&self) -> bool {
        self.late > 0
    }

    /// Returns the size of all records and outcomes, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.text.len() + self.outcomes.iter().map(OutcomeChange::bytes).sum::<usize>()
    }

    /// Returns the journals that contain records, each with the end of its last record.
    pub(super) fn journals(&self) -> &[(Arc<JournalFile>, u64)] {
        &self.journals
    }

    /// Returns the records that are in no journal. The iterator begins directly with the first of them, because
    /// thousands of other records may come before it.
    pub(super) fn late(&self) -> impl Iterator<Item = &str> + Clone {
        self.texts_from(self.records.len() - self.late)
    }

    /// Returns the records that the database does not have. For each journal, `taken` contains the byte up to which the
    /// database has imported the journal.
    pub(super) fn new_ones(&self, taken: &[u64]) -> impl Iterator<Item = &str> {
        let is_new = |queued: &WaitingRecord| {
            queued.place.is_none_or(|place| taken.get(place.journal).is_none_or(|taken| place.end > *taken))
        };
        self.texts_from(0).zip(&self.records).filter(move |(_, queued)| is_new(queued)).map(|(text, _)| text)
    }

    fn texts_from(&self, first: usize) -> impl Iterator<Item = &str> + Clone {
        let mut begin = first.checked_sub(1).and_then(|last| self.records.get(last)).map_or(0, |last| last.end);
        self.records.iter().skip(first).map(move |queued| {
            let text = self.text.get(begin..queued.end);
            debug_assert!(text.is_some(), "a record ends where the next one begins");
            begin = queued.end;
            text.unwrap_or_default()
        })
    }

    /// Adds a record that is in no journal.
    pub(super) fn push_late(&mut self, record: &str) {
        self.push(record, None);
        self.late += 1;
    }

    /// Adds `records`. The caller has just appended the late records and then `records` to a journal, and `written`
    /// contains the ends of all these records in the journal.
    pub(super) fn push_written<'a>(&mut self, records: impl Iterator<Item = &'a str>, written: AppendedRecords<'_>) {
        let AppendedRecords { file: journal, ends } = written;
        let Some(end) = ends.last() else { return };
        match self.journals.last_mut() {
            Some((last, up_to)) if Arc::ptr_eq(last, &journal) => *up_to = *end,
            _ => self.journals.push((journal, *end)),
        }
        let journal = self.journals.len() - 1;
        let mut places = ends.iter().map(|end| Some(Place { journal, end: *end }));
        let first_late = self.records.len() - self.late;
        self.records.iter_mut().skip(first_late).zip(&mut places).for_each(|(queued, place)| queued.place = place);
        self.late = 0;
        records.zip(places).for_each(|(record, place)| self.push(record, place));
    }

    fn push(&mut self, record: &str, place: Option<Place>) {
        self.text.push_str(record);
        self.records.push(WaitingRecord { end: self.text.len(), place });
    }

    /// Puts back changes that could not be written. They come before the changes that were queued meanwhile.
    pub(super) fn put_back(&mut self, mut first: Self) {
        // If the last journal of `first` is also the first journal of `self`, the entry of `first` is dropped, because
        // the entry of `self` has the later end.
        if let (Some((last, _)), Some((next, _))) = (first.journals.last(), self.journals.first())
            && Arc::ptr_eq(last, next)
        {
            first.journals.pop();
        }
        let (bytes, journals) = (first.text.len(), first.journals.len());
        first.text.push_str(&self.text);
        first.records.extend(self.records.drain(..).map(|queued| WaitingRecord {
            end: bytes + queued.end,
            place: queued.place.map(|place| Place { journal: journals + place.journal, ..place }),
        }));
        // If `first` ends with a late record, all records after this record are late, too.
        first.late = first.records.iter().rev().take_while(|queued| queued.place.is_none()).count();
        first.journals.append(&mut self.journals);
        first.sessions.append(&mut self.sessions);
        first.settled.append(&mut self.settled);
        first.outcomes.append(&mut self.outcomes);
        *self = first;
    }

    /// Removes all changes, and keeps the memory for reuse.
    pub(super) fn cleared(mut self) -> Self {
        if self.text.capacity() > MAX_KEPT {
            return Self::default();
        }
        let Self { text, records, late, journals, sessions, settled, outcomes } = &mut self;
        text.clear();
        records.clear();
        journals.clear();
        sessions.clear();
        settled.clear();
        outcomes.clear();
        *late = 0;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Digest;
    use crate::store::identity::identity;
    use crate::store::sqlite::journal::{Directory, Journal};
    use crate::store::sqlite::watch::Files;

    /// A journal in a temporary directory, which is removed when this is dropped.
    struct OwnJournal {
        _directory: tempfile::TempDir,
        journal: Journal,
        files: Files,
    }

    impl OwnJournal {
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("database");
            std::fs::write(&path, "").unwrap();
            let journal = Journal::new(Directory::of(&path), Digest::of_bytes(b""));
            let files = Files::new(&path, identity(&path), path.with_extension("wal"), None);
            Self { _directory: directory, journal, files }
        }

        /// Appends the late records of `waiting` and then `records` to the journal.
        fn write(&mut self, waiting: &mut Waiting, records: &[&str]) {
            let all: Vec<String> = waiting.late().chain(records.iter().copied()).map(str::to_owned).collect();
            let appended = self.journal.append(&mut self.files, all.iter().map(String::as_str)).unwrap().unwrap();
            waiting.push_written(records.iter().copied(), appended);
        }
    }

    fn new_ones<'a>(waiting: &'a Waiting, taken: &[u64]) -> Vec<&'a str> {
        waiting.new_ones(taken).collect()
    }

    #[test]
    fn what_is_put_back_comes_first_and_is_found_in_its_journal() {
        let (mut a, mut b) = (OwnJournal::new(), OwnJournal::new());
        let (mut first, mut waiting) = (Waiting::default(), Waiting::default());
        a.write(&mut first, &["a", "bb"]);
        b.write(&mut waiting, &["ccc"]);
        waiting.push_late("d");
        waiting.put_back(first);
        assert_eq!(new_ones(&waiting, &[0, 0]), ["a", "bb", "ccc", "d"]);
        assert_eq!(new_ones(&waiting, &[u64::MAX, 0]), ["ccc", "d"]);
        assert_eq!(new_ones(&waiting, &[0, u64::MAX]), ["a", "bb", "d"]);
        assert_eq!((waiting.late().collect::<Vec<_>>(), waiting.bytes()), (vec!["d"], 7));
    }

    #[test]
    fn records_of_one_journal_that_are_put_back_are_taken_in_by_their_ends() {
        let mut a = OwnJournal::new();
        let (mut first, mut waiting) = (Waiting::default(), Waiting::default());
        a.write(&mut first, &["a", "bb"]);
        let [(_, end)] = first.journals() else { panic!("one journal") };
        let end = *end;
        a.write(&mut waiting, &["ccc"]);
        waiting.put_back(first);
        assert_eq!(waiting.journals().len(), 1);
        assert_eq!(new_ones(&waiting, &[end]), ["ccc"]);
        assert_eq!(new_ones(&waiting, &[end - 1]), ["bb", "ccc"]);
    }

    #[test]
    fn late_records_on_both_sides_stay_late_until_a_journal_has_them() {
        let mut a = OwnJournal::new();
        let (mut first, mut waiting) = (Waiting::default(), Waiting::default());
        first.push_late("a");
        waiting.push_late("b");
        waiting.put_back(first);
        assert_eq!(waiting.late().collect::<Vec<_>>(), ["a", "b"]);
        a.write(&mut waiting, &["c"]);
        assert!(!waiting.has_late());
        let [(_, end)] = waiting.journals() else { panic!("one journal") };
        assert_eq!(new_ones(&waiting, &[end - 1]), ["c"]);
    }

    #[test]
    fn what_is_let_go_of_keeps_no_journal_and_not_much_memory() {
        let mut a = OwnJournal::new();
        let mut waiting = Waiting::default();
        a.write(&mut waiting, &["a"]);
        let file = Arc::clone(&waiting.journals()[0].0);
        let before = Arc::strong_count(&file);
        let mut waiting = waiting.cleared();
        assert!(waiting.is_empty() && waiting.journals().is_empty() && Arc::strong_count(&file) == before - 1);
        waiting.push_late(&"x".repeat(MAX_KEPT + 1));
        assert_eq!(waiting.cleared().text.capacity(), 0);
    }
}
