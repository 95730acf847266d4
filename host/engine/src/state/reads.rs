//! A call's reads of its state. They are recorded, because a replay needs them to repeat the call.

use super::{Scope, Usages};
use crate::contract::bytes::{bytes_size, written_size};
use std::collections::BTreeMap;

/// Maximum size of the keys and values in the record of one call, in bytes of JSON. A call that has read more than this
/// cannot be replayed.
pub(crate) const MAX_RECORDED: usize = 256 * 1024;

/// Number of bytes of JSON around a key and its value in a record.
const JSON_OVERHEAD: usize = 48;

/// A call's reads of its snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reads {
    /// The usage of the scopes; absent if the call wrote nothing.
    pub(crate) used: Option<Usages>,
    pub(crate) values: BTreeMap<(Scope, String), Read>,
    /// Size of the recorded reads, in bytes of JSON.
    bytes: usize,
    /// True if some reads of the call are missing here, because the record would be too large.
    pub(crate) incomplete: bool,
}

/// A call's read of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    Value(Option<Vec<u8>>),
    /// The call read only the size of the key and its value in bytes, in order to check the quota; `None` if there was
    /// no such key.
    Size(Option<usize>),
}

impl Reads {
    /// Returns the value at a key, if it was read before.
    pub(super) fn value(&self, scope: Scope, key: &str) -> Option<&Option<Vec<u8>>> {
        match self.values.get(&(scope, key.to_owned()))? {
            Read::Value(value) => Some(value),
            Read::Size(_) => None,
        }
    }

    /// Returns the size of a key and its value in bytes, if it was read before; `Some(None)` if there was no such
    /// key.
    pub(super) fn size(&self, scope: Scope, key: &str) -> Option<Option<usize>> {
        Some(match self.values.get(&(scope, key.to_owned()))? {
            Read::Value(value) => value.as_ref().map(|value| key.len() + value.len()),
            Read::Size(size) => *size,
        })
    }

    /// Records a read, unless the record would become larger than [`MAX_RECORDED`]. A value replaces a size, but a size
    /// never replaces a value.
    pub(super) fn note(&mut self, scope: Scope, key: &str, read: Read) {
        let place = (scope, key.to_owned());
        let known = self.values.get(&place);
        if matches!((known, &read), (Some(Read::Value(_)), _) | (Some(Read::Size(_)), Read::Size(_))) {
            return;
        }
        let around = if known.is_some() { 0 } else { JSON_OVERHEAD + written_size(key) };
        let value = match &read {
            Read::Value(Some(value)) => bytes_size(value),
            Read::Value(None) | Read::Size(_) => 0,
        };
        let bytes = self.bytes.saturating_add(around).saturating_add(value);
        if bytes > MAX_RECORDED {
            self.incomplete = true;
            return;
        }
        self.bytes = bytes;
        self.values.insert(place, read);
    }
}
