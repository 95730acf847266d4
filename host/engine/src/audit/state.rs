//! The writes to a plugin's state that a record contains.

use super::record::{CallRecord, StateWrite, WrittenValue};
use crate::contract::bytes::{Bytes, written_size};
use crate::state::{MAX_RECORDED, Write, Writes};

impl CallRecord {
    /// Adds the writes of the call to the record, until the record reaches its maximum size. Further writes are only
    /// counted.
    pub(crate) fn note_writes(&mut self, writes: &Writes) {
        let written = |write: &Write| match write {
            Write::Set { value, expires } => WrittenValue::Set { value: Bytes(value.clone()), expires: *expires },
            Write::Delete => WrittenValue::Delete {},
            Write::Add(by) => WrittenValue::Add { by: *by },
        };
        let mut room = MAX_RECORDED;
        for (scope, key, write) in writes.iter() {
            let write = StateWrite { scope, key: key.to_owned(), write: written(write) };
            match room.checked_sub(written_size(&write) + 1) {
                Some(left) => {
                    room = left;
                    self.wrote.push(write);
                }
                None => self.wrote_dropped += 1,
            }
        }
    }

    /// Removes the effects of the call from the record, because they are not applied.
    pub(crate) fn void_effects(&mut self) {
        (self.wrote, self.wrote_dropped, self.findings) = (Vec::new(), 0, Vec::new());
        self.labels.clear();
    }
}
