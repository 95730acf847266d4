//! Gives records to the embedding program's sink. The sink gets a record before the database gets it. If the sink does
//! not accept the record, nothing of the event is committed.

use super::StoreError;
use crate::audit::AuditSink;
use crate::callback::{self, Waiters, Waiting};
use crate::locked::locked;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Maximum size of the late records that a sink has missed, in bytes.
const MAX_MISSED_BYTES: usize = 16 << 20;

/// The program's sink, and the late records that the sink has not accepted yet.
#[derive(Default)]
pub(super) struct Sink {
    sink: Option<Arc<dyn AuditSink>>,
    missed: Mutex<UntakenRecords>,
    /// Notified when a thread has given the missed records to the sink.
    given: Condvar,
}

#[derive(Default)]
struct UntakenRecords {
    records: VecDeque<String>,
    bytes: usize,
    /// True while a thread gives the records to the sink. That thread has removed these records from `records`.
    /// Meanwhile `records` contains only later records.
    is_giving: bool,
}

impl Sink {
    pub(super) fn new(sink: Option<Arc<dyn AuditSink>>) -> Self {
        Self { sink, missed: Mutex::default(), given: Condvar::new() }
    }

    pub(super) fn is_there(&self) -> bool {
        self.sink.is_some()
    }

    /// Returns true if the sink runs on this thread, or waits for work of this thread.
    pub(super) fn waits(&self) -> bool {
        self.sink.as_deref().is_some_and(|sink| callback::waits(held(sink)))
    }

    /// Gives records to the sink, after the records that the sink has missed.
    ///
    /// # Errors
    /// If the sink does not accept a record. The missed records are given to the sink again later, but the caller is
    /// responsible for the new records.
    pub(super) fn give<'a>(&self, records: impl Iterator<Item = &'a String>) -> Result<(), StoreError> {
        let Some(sink) = &self.sink else { return Ok(()) };
        let mut records = records.peekable();
        if self.waits() {
            return match records.peek() {
                Some(_) => Err(StoreError::Sink("it sent an event itself".into())),
                None => Ok(()),
            };
        }
        self.give_missed(&**sink)?;
        records.try_for_each(|record| taken(&**sink, record))
    }

    /// Gives a late record to the sink. If the sink does not accept the record, the sink gets it again before the next
    /// record.
    ///
    /// # Errors
    /// If the sink has already missed too many records.
    pub(super) fn give_late(&self, record: &str) -> Result<(), StoreError> {
        let Some(sink) = &self.sink else { return Ok(()) };
        let given = match self.waits() {
            true => Err(StoreError::Sink("it sent an event itself".into())),
            false => self.give_missed(&**sink).and_then(|()| taken(&**sink, record)),
        };
        let Err(error) = given else { return Ok(()) };
        let mut missed = locked(&self.missed);
        if missed.bytes > MAX_MISSED_BYTES {
            return Err(error);
        }
        tracing::warn!(%error, "a record is given to the audit sink later");
        missed.bytes += record.len();
        missed.records.push_back(record.to_owned());
        Ok(())
    }

    fn give_missed(&self, sink: &dyn AuditSink) -> Result<(), StoreError> {
        let mut missed = locked(&self.missed);
        // Another thread is giving the missed records to the sink. Later records wait for this thread.
        while missed.is_giving {
            missed = self.given.wait(missed).unwrap_or_else(PoisonError::into_inner);
        }
        if missed.records.is_empty() {
            return Ok(());
        }
        missed.is_giving = true;
        let mut records = std::mem::take(&mut missed.records);
        drop(missed);
        let mut given = Ok(());
        while let Some(record) = records.front() {
            given = taken(sink, record);
            if given.is_err() {
                break;
            }
            records.pop_front();
        }
        let mut missed = locked(&self.missed);
        // The sink may have missed further records meanwhile.
        records.append(&mut missed.records);
        missed.bytes = records.iter().map(String::len).sum();
        (missed.records, missed.is_giving) = (records, false);
        self.given.notify_all();
        given
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        let Some(sink) = &self.sink else { return };
        if let Err(error) = self.give_missed(&**sink) {
            let records = locked(&self.missed).records.len();
            tracing::error!(%error, records, "the audit sink did not get all records");
        }
    }
}

fn held(sink: &dyn AuditSink) -> Waiting {
    Waiting::Sink(std::ptr::from_ref(sink).addr())
}

fn taken(sink: &dyn AuditSink, record: &str) -> Result<(), StoreError> {
    let taken = callback::run(&Waiters::here().and(held(sink)), || sink.take(record));
    taken.unwrap_or_else(|_| Err("it panicked".into())).map_err(StoreError::Sink)
}
