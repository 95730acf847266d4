//! What of a plugin's state stands in a record.

use super::record::{StateRead, StateUse, StateWrite, WrittenValue};
use super::value::Bytes;
use crate::state::{Read, Reads, Write, Writes};

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
        self.used.map(|used| StateUse { used, read: self.values.into_iter().map(read).collect() })
    }
}

impl Writes {
    /// As in a record.
    pub(crate) fn recorded(&self) -> Vec<StateWrite> {
        let written = |write: &Write| match write {
            Write::Set { value, expires } => WrittenValue::Set { value: Bytes(value.clone()), expires: *expires },
            Write::Delete => WrittenValue::Delete {},
            Write::Add(by) => WrittenValue::Add { by: *by },
        };
        self.iter()
            .map(|(scope, key, write)| StateWrite { scope, key: key.to_owned(), write: written(write) })
            .collect()
    }
}
