//! The values of one scope, in memory.

use super::{Time, Write, Writes, number};
use crate::state::Scope;
use std::collections::BTreeMap;

/// The values of one scope; a snapshot is a clone of the `Arc` around it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Space {
    values: BTreeMap<String, Stored>,
    bytes: usize,
    /// When the first of the values expires.
    next_expiry: Option<Time>,
    /// Of which no more is known than the bytes of key and value: in a replay.
    sizes: BTreeMap<String, usize>,
}

/// A value, and how long it lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) value: Vec<u8>,
    pub(crate) expires: Option<Time>,
}

impl Space {
    /// Bytes of its keys and values.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The value, where it has not expired.
    pub(crate) fn live(&self, key: &str, now: Time) -> Option<&[u8]> {
        let stored = self.values.get(key)?;
        stored.expires.is_none_or(|expires| expires > now).then_some(stored.value.as_slice())
    }

    /// What a key and its value occupy, also where it has expired.
    pub(crate) fn size_of(&self, key: &str) -> Option<usize> {
        let known = self.values.get(key).map(|stored| key.len() + stored.value.len());
        known.or_else(|| self.sizes.get(key).copied())
    }

    /// Whether no more is known than that there is something.
    pub(crate) fn is_unknown(&self, key: &str) -> bool {
        self.sizes.contains_key(key)
    }

    pub(crate) fn put(&mut self, key: &str, stored: Stored) {
        self.remove(key);
        self.bytes += key.len() + stored.value.len();
        self.next_expiry = self.next_expiry.into_iter().chain(stored.expires).min();
        self.values.insert(key.to_owned(), stored);
    }

    /// Puts something there of which only the bytes of key and value are known.
    pub(crate) fn put_size(&mut self, key: &str, size: usize) {
        self.remove(key);
        self.sizes.insert(key.to_owned(), size);
    }

    pub(crate) fn remove(&mut self, key: &str) {
        self.sizes.remove(key);
        if let Some(old) = self.values.remove(key) {
            self.bytes -= key.len() + old.value.len();
        }
    }

    pub(crate) fn has_expired(&self, now: Time) -> bool {
        self.next_expiry.is_some_and(|expiry| expiry <= now)
    }

    /// Forgets what has expired, which must not count against the quota.
    pub(crate) fn expire(&mut self, now: Time) {
        if !self.has_expired(now) {
            return;
        }
        let expired = |stored: &Stored| stored.expires.is_some_and(|expires| expires <= now);
        let keys: Vec<String> =
            self.values.iter().filter(|(_, stored)| expired(stored)).map(|(key, _)| key.clone()).collect();
        for key in keys {
            self.remove(&key);
        }
        self.next_expiry = self.values.values().filter_map(|stored| stored.expires).min();
    }

    /// What is at `key` once `write` holds; `None`: nothing. A number that another session has made something else
    /// meanwhile is started anew.
    pub(crate) fn after(before: Option<&Stored>, write: &Write, now: Time) -> Option<Stored> {
        match write {
            Write::Set { value, expires } => Some(Stored { value: value.clone(), expires: *expires }),
            Write::Delete => None,
            Write::Add(by) => {
                let before = before.filter(|stored| stored.expires.is_none_or(|expires| expires > now));
                let sum = before.and_then(|stored| number(&stored.value)).unwrap_or(0).saturating_add(*by);
                Some(Stored { value: sum.to_string().into_bytes(), expires: before.and_then(|stored| stored.expires) })
            }
        }
    }

    /// Makes the writes of one event to this scope hold.
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
