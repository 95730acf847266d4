//! What waits to be written: records, and changes of the rows of sessions and questions.

use super::journal::{JournalFile, Written};
use crate::store::SessionChanges;
use std::sync::Arc;

/// Upper bound of the memory that is kept for the next records, in bytes.
const MAX_KEPT: usize = 4 << 20;

/// What the next transaction writes first.
#[derive(Default)]
pub(super) struct Waiting {
    /// The records, one after the other: thousands of them come and go, and none is a piece of memory of its own.
    text: String,
    records: Vec<Queued>,
    /// How many of them no journal has: the last ones.
    late: usize,
    /// The journals that have the others, each with the byte up to which they are there.
    journals: Vec<(Arc<JournalFile>, u64)>,
    /// Session handles with unwritten changes.
    pub(super) sessions: Vec<Arc<dyn SessionChanges>>,
    /// Identifiers of settled questions, whose rows are deleted.
    pub(super) settled: Vec<String>,
}

/// A record: where it ends in the text, and where a journal has it.
struct Queued {
    end: usize,
    place: Option<Place>,
}

/// Where a record ends in one of the journals of [`Waiting`].
#[derive(Clone, Copy)]
struct Place {
    journal: usize,
    end: u64,
}

impl Waiting {
    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty() && self.has_only_records()
    }

    pub(super) fn has_only_records(&self) -> bool {
        self.sessions.is_empty() && self.settled.is_empty()
    }

    pub(super) fn has_late(&self) -> bool {
        self.late > 0
    }

    /// All records, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.text.len()
    }

    /// The journals that have records, each with the byte up to which they are there.
    pub(super) fn journals(&self) -> &[(Arc<JournalFile>, u64)] {
        &self.journals
    }

    /// The records that no journal has. Thousands may be before them, which no event looks through.
    pub(super) fn late(&self) -> impl Iterator<Item = &str> + Clone {
        self.texts_from(self.records.len() - self.late)
    }

    /// The records that the database does not have, where it has the journals up to these bytes.
    pub(super) fn new_ones(&self, taken: &[u64]) -> impl Iterator<Item = &str> {
        let is_new = |queued: &Queued| {
            queued.place.is_none_or(|place| taken.get(place.journal).is_none_or(|taken| place.end > *taken))
        };
        self.texts_from(0).zip(&self.records).filter(move |(_, queued)| is_new(queued)).map(|(text, _)| text)
    }

    fn texts_from(&self, first: usize) -> impl Iterator<Item = &str> + Clone {
        let mut begin = first.checked_sub(1).and_then(|last| self.records.get(last)).map_or(0, |last| last.end);
        self.records.iter().skip(first).map(move |queued| {
            let text = self.text.get(begin..queued.end).unwrap_or_default();
            begin = queued.end;
            text
        })
    }

    /// Adds a record that no journal has.
    pub(super) fn push_late(&mut self, record: &str) {
        self.push(record, None);
        self.late += 1;
    }

    /// Notes that a journal has the late records and then these, and where each of them all ends there.
    pub(super) fn push_written<'a>(&mut self, records: impl Iterator<Item = &'a str>, written: Written<'_>) {
        let Written { file: journal, ends } = written;
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
        self.records.push(Queued { end: self.text.len(), place });
    }

    /// Puts back what could not be written, before what was queued meanwhile.
    pub(super) fn put_back(&mut self, mut first: Self) {
        let (bytes, journals) = (first.text.len(), first.journals.len());
        first.text.push_str(&self.text);
        first.records.extend(self.records.drain(..).map(|queued| Queued {
            end: bytes + queued.end,
            place: queued.place.map(|place| Place { journal: journals + place.journal, ..place }),
        }));
        // While one of the first was in no journal, none of those behind it came into one.
        first.late = first.records.iter().rev().take_while(|queued| queued.place.is_none()).count();
        first.journals.append(&mut self.journals);
        first.sessions.append(&mut self.sessions);
        first.settled.append(&mut self.settled);
        *self = first;
    }

    /// Lets go of what it has, and keeps its memory.
    pub(super) fn cleared(mut self) -> Self {
        if self.text.capacity() > MAX_KEPT {
            return Self::default();
        }
        let Self { text, records, late, journals, sessions, settled } = &mut self;
        text.clear();
        records.clear();
        journals.clear();
        sessions.clear();
        settled.clear();
        *late = 0;
        self
    }
}
