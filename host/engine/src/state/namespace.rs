//! The values of one scope, in memory.

use super::{KEY_COST, Time, Usage, Write, Writes, number};
use crate::state::Scope;
use std::collections::BTreeMap;

/// The values of one scope. A snapshot is a clone of the `Arc` that contains them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Namespace {
    values: BTreeMap<String, StoredValue>,
    bytes: usize,
    /// Time of the first expiry of a value.
    next_expiry: Option<Time>,
}

/// A value with its expiry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredValue {
    pub(crate) value: Vec<u8>,
    pub(crate) expires: Option<Time>,
}

impl StoredValue {
    pub(crate) fn is_live(&self, now: Time) -> bool {
        self.expires.is_none_or(|expires| expires > now)
    }
}

impl Namespace {
    /// Returns the usage of the scope, without expired values.
    pub(crate) fn usage(&self, now: Time) -> Usage {
        let usage = |keys: usize, bytes: usize| Usage { keys, bytes: bytes + KEY_COST * keys };
        if !self.has_expired(now) {
            return usage(self.values.len(), self.bytes);
        }
        let live = self.values.iter().filter(|(_, stored)| stored.is_live(now));
        let sizes = live.map(|(key, stored)| key.len() + stored.value.len());
        let (keys, bytes) = sizes.fold((0, 0), |(keys, bytes), size| (keys + 1, bytes + size));
        usage(keys, bytes)
    }

    /// Returns the value at a key, unless it has expired.
    pub(crate) fn live(&self, key: &str, now: Time) -> Option<&[u8]> {
        self.values.get(key).filter(|stored| stored.is_live(now)).map(|stored| stored.value.as_slice())
    }

    /// Returns the keys that have not expired.
    pub(crate) fn keys(&self, now: Time) -> impl Iterator<Item = &String> {
        self.values.iter().filter(move |(_, stored)| stored.is_live(now)).map(|(key, _)| key)
    }

    /// Returns all keys and values, including the values that have expired.
    pub(crate) fn values(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.values.iter().map(|(key, stored)| (key.as_str(), stored.value.as_slice()))
    }

    pub(crate) fn put(&mut self, key: &str, stored: StoredValue) {
        self.remove(key);
        self.bytes += key.len() + stored.value.len();
        self.next_expiry = self.next_expiry.into_iter().chain(stored.expires).min();
        self.values.insert(key.to_owned(), stored);
    }

    pub(crate) fn remove(&mut self, key: &str) {
        if let Some(old) = self.values.remove(key) {
            self.bytes -= key.len() + old.value.len();
        }
    }

    pub(crate) fn has_expired(&self, now: Time) -> bool {
        self.next_expiry.is_some_and(|expiry| expiry <= now)
    }

    /// Removes expired values, which must not count against the quota.
    pub(crate) fn expire(&mut self, now: Time) {
        if !self.has_expired(now) {
            return;
        }
        let expired = self.values.iter().filter(|(_, stored)| !stored.is_live(now));
        let keys: Vec<String> = expired.map(|(key, _)| key.clone()).collect();
        for key in keys {
            self.remove(&key);
        }
        self.next_expiry = self.values.values().filter_map(|stored| stored.expires).min();
    }

    /// Returns the value after `write`, or `None` if the write leaves no value. If another session has meanwhile
    /// replaced the value by something other than a number, an increment starts at 0.
    pub(crate) fn after(before: Option<&StoredValue>, write: &Write, now: Time) -> Option<StoredValue> {
        match write {
            Write::Set { value, expires } => Some(StoredValue { value: value.clone(), expires: *expires }),
            Write::Delete => None,
            Write::Add(by) => {
                let before = before.filter(|stored| stored.is_live(now));
                let sum = before.and_then(|stored| number(&stored.value)).unwrap_or(0).saturating_add(*by);
                Some(StoredValue {
                    value: sum.to_string().into_bytes(),
                    expires: before.and_then(|stored| stored.expires),
                })
            }
        }
    }

    /// Applies the writes of one event to this scope.
    pub(crate) fn apply(&mut self, scope: Scope, writes: &Writes, now: Time) {
        self.expire(now);
        for (key, write) in writes.of(scope) {
            match Self::after(self.values.get(key), write, now) {
                Some(stored) => self.put(key, stored),
                None => self.remove(key),
            }
        }
    }
}
