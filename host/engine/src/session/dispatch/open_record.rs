//! The record of an event during its dispatch.

use crate::audit::EventRecord;
use crate::contract::EventKind;
use serde_json::value::RawValue;
use std::ops::{Deref, DerefMut};
use std::sync::LazyLock;

/// An event's record, which can be taken out of this value once. After that, the value dereferences to a blank record.
/// The record is boxed, because it is large and moved often.
pub(super) struct OpenRecord(Option<Box<EventRecord>>);

/// The blank record is created only once, because creating it for each event would cost as much as creating the event's
/// own record.
static BLANK: LazyLock<EventRecord> = LazyLock::new(blank);

fn blank() -> EventRecord {
    EventRecord::new(EventKind::AuditRecord, RawValue::NULL.to_owned())
}

impl OpenRecord {
    pub(super) fn new(record: EventRecord) -> Self {
        Self(Some(Box::new(record)))
    }

    pub(super) fn take(&mut self) -> Box<EventRecord> {
        self.0.take().unwrap_or_else(|| Box::new(blank()))
    }
}

impl Deref for OpenRecord {
    type Target = EventRecord;

    fn deref(&self) -> &EventRecord {
        self.0.as_deref().unwrap_or_else(|| &BLANK)
    }
}

impl DerefMut for OpenRecord {
    fn deref_mut(&mut self) -> &mut EventRecord {
        debug_assert!(self.0.is_some(), "nothing is written into a record that was taken");
        self.0.get_or_insert_with(|| Box::new(blank()))
    }
}
