//! What of a plugin's state stands in a record.

use super::record::{CallRecord, StateRead, StateUse, StateWrite, WrittenValue};
use super::value::{Bytes, written_size};
use crate::state::{MAX_RECORDED, Read, Reads, Write, Writes};

impl Reads {
    /// As in a record; nothing where the state was not used.
    pub(crate) fn recorded(self) -> Option<StateUse> {
        let read = |((scope, key), read)| {
            let (value, size) = match read {
                Read::Value(value) => (value.map(Bytes), None),
                Read::Size(size) => (None, size),
            };
            StateRead { scope, key, value, size }
        };
        if self.used.is_none() && self.values.is_empty() {
            return None;
        }
        let used = self.used.map(|used| used.map(|usage| usage.bytes));
        let keys = self.used.map(|used| used.map(|usage| usage.keys));
        Some(StateUse { used, keys, read: self.values.into_iter().map(read).collect() })
    }
}

impl CallRecord {
    /// Notes what the call wrote, as far as there is room for it.
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

    /// Takes back what it says of effects that were to hold.
    pub(crate) fn void_effects(&mut self) {
        (self.wrote, self.wrote_dropped, self.findings) = (Vec::new(), 0, Vec::new());
    }
}
