//! What a call learnt of its state: with it, the call can be made again.

use super::{Scope, Usages};
use crate::contract::bytes::{bytes_size, written_size};
use std::collections::BTreeMap;

/// Most bytes of keys and values, as JSON, that the record of one call repeats; a call that learnt more cannot be replayed.
pub(crate) const MAX_RECORDED: usize = 256 * 1024;

/// Bytes of JSON around a key and its value in a record.
const AROUND: usize = 48;

/// What a call learnt of the snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reads {
    /// What the scopes held; absent where nothing was written.
    pub(crate) used: Option<Usages>,
    pub(crate) values: BTreeMap<(Scope, String), Read>,
    /// Bytes of them as JSON.
    bytes: usize,
    /// It learnt more than is here.
    pub(crate) incomplete: bool,
}

/// What a call learnt of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    Value(Option<Vec<u8>>),
    /// Only how many bytes key and value are, since they count against the quota; absent where there was no such key.
    Size(Option<usize>),
}

impl Reads {
    /// The value at a key, where it was read before.
    pub(super) fn value(&self, scope: Scope, key: &str) -> Option<&Option<Vec<u8>>> {
        match self.values.get(&(scope, key.to_owned()))? {
            Read::Value(value) => Some(value),
            Read::Size(_) => None,
        }
    }

    /// Whether a key was there, where that is known: bytes of it and its value.
    pub(super) fn size(&self, scope: Scope, key: &str) -> Option<Option<usize>> {
        Some(match self.values.get(&(scope, key.to_owned()))? {
            Read::Value(value) => value.as_ref().map(|value| key.len() + value.len()),
            Read::Size(size) => *size,
        })
    }

    /// Notes what was learnt, as far as there is room for it in the record. What was learnt of a value counts for more than
    /// what was learnt of its size.
    pub(super) fn note(&mut self, scope: Scope, key: &str, read: Read) {
        let place = (scope, key.to_owned());
        let known = self.values.get(&place);
        if matches!((known, &read), (Some(Read::Value(_)), _) | (Some(Read::Size(_)), Read::Size(_))) {
            return;
        }
        let around = if known.is_some() { 0 } else { AROUND + written_size(key) };
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
