//! A view is the state of a plugin as one call sees it: a snapshot and the call's own writes.

use super::{Found, MAX_KEYS, Read, Reads, Scope, Source, Time, Usages, cost, number};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The writes of a call, to be committed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Writes(BTreeMap<(Scope, String), Write>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Write {
    Set { value: Vec<u8>, expires: Option<Time> },
    Delete,
    Add(i64),
}

/// The reason why state cannot be read or written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StateError {
    QuotaExceeded,
    Unavailable(String),
}

/// The state as one call sees it: a snapshot and the call's own writes.
#[derive(Clone, Debug)]
pub(crate) struct View {
    snapshot: Arc<dyn Source>,
    writes: Writes,
    reads: Reads,
    /// The usage of the scopes, including the call's own writes; absent until the first write.
    used: Option<Usages>,
    quota: usize,
    now: Time,
}

impl FromIterator<((Scope, String), Write)> for Writes {
    fn from_iter<I: IntoIterator<Item = ((Scope, String), Write)>>(writes: I) -> Self {
        Self(writes.into_iter().collect())
    }
}

impl Writes {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Scope, &str, &Write)> {
        self.0.iter().map(|((scope, key), write)| (*scope, key.as_str(), write))
    }

    pub(crate) fn of(&self, scope: Scope) -> impl Iterator<Item = (&str, &Write)> {
        self.iter().filter(move |(of, ..)| *of == scope).map(|(_, key, write)| (key, write))
    }
}

impl Write {
    /// Returns the size of the value after the write, in bytes. For an increment, this is the size of the longest
    /// number, because the sum is known only when the write is applied. Returns `None` if the write deletes the value.
    fn leaves(&self) -> Option<usize> {
        match self {
            Self::Set { value, .. } => Some(value.len()),
            Self::Add(_) => Some(i64::MIN.to_string().len()),
            Self::Delete => None,
        }
    }
}

impl View {
    /// Creates a view at the time `now`. Its writes may fill each scope up to `quota` bytes.
    pub(crate) fn new(snapshot: Arc<dyn Source>, quota: usize, now: Time) -> Self {
        Self { snapshot, writes: Writes::default(), reads: Reads::default(), used: None, quota, now }
    }

    pub(crate) fn get(&mut self, scope: Scope, key: &str) -> Result<Option<Vec<u8>>, StateError> {
        match self.writes.0.get(&(scope, key.to_owned())) {
            Some(Write::Set { value, expires }) => {
                Ok(expires.is_none_or(|expires| expires > self.now).then(|| value.clone()))
            }
            Some(Write::Delete) => Ok(None),
            Some(&Write::Add(by)) => Ok(Some(self.number(scope, key)?.saturating_add(by).to_string().into_bytes())),
            None => self.read(scope, key),
        }
    }

    pub(crate) fn set(
        &mut self,
        scope: Scope,
        key: &str,
        value: Vec<u8>,
        ttl_seconds: Option<u64>,
    ) -> Result<(), StateError> {
        let expires = ttl_seconds.map(|seconds| self.now.saturating_add(seconds.saturating_mul(1000)));
        self.write(scope, key, Write::Set { value, expires })
    }

    pub(crate) fn delete(&mut self, scope: Scope, key: &str) -> Result<(), StateError> {
        if self.size(scope, key)?.is_some() {
            return self.write(scope, key, Write::Delete);
        }
        // If the key does not exist, the deletion is not recorded. Otherwise, a guest could fill the host's memory with
        // the names of missing keys.
        if let Some(written) = self.writes.0.remove(&(scope, key.to_owned())) {
            let used = &mut self.used()?[scope as usize];
            *used = used.replacing(key, written.leaves(), None);
        }
        Ok(())
    }

    pub(crate) fn increment(&mut self, scope: Scope, key: &str, by: i64) -> Result<i64, StateError> {
        let place = (scope, key.to_owned());
        let (write, sum) = match self.writes.0.get(&place) {
            Some(Write::Add(before)) => {
                let by = before.saturating_add(by);
                (Write::Add(by), self.number(scope, key)?.saturating_add(by))
            }
            Some(Write::Set { value, expires }) if expires.is_none_or(|expires| expires > self.now) => {
                let sum = parse(value, key)?.saturating_add(by);
                (Write::Set { value: sum.to_string().into_bytes(), expires: *expires }, sum)
            }
            Some(Write::Delete | Write::Set { .. }) => {
                (Write::Set { value: by.to_string().into_bytes(), expires: None }, by)
            }
            None => (Write::Add(by), self.number(scope, key)?.saturating_add(by)),
        };
        self.write(scope, key, write)?;
        Ok(sum)
    }

    /// Returns the writes and the reads of the call.
    pub(crate) fn into_parts(self) -> (Writes, Reads) {
        (self.writes, self.reads)
    }

    /// Adds a write, unless it would exceed the quota of its scope or the maximum number of keys.
    fn write(&mut self, scope: Scope, key: &str, write: Write) -> Result<(), StateError> {
        let place = (scope, key.to_owned());
        let before = match self.writes.0.get(&place) {
            Some(write) => write.leaves(),
            None => self.size(scope, key)?.map(|size| size.saturating_sub(key.len())),
        };
        let (quota, after) = (self.quota, write.leaves());
        let used = &mut self.used()?[scope as usize];
        let new = used.replacing(key, before, after);
        let bytes = |value: Option<usize>| value.map_or(0, |value| cost(key, value));
        let grows = bytes(after) > bytes(before);
        let is_one_too_many = new.keys > MAX_KEYS && (before.is_none() || grows);
        if grows && new.bytes > quota || after.is_some() && is_one_too_many {
            return Err(StateError::QuotaExceeded);
        }
        *used = new;
        self.writes.0.insert(place, write);
        Ok(())
    }

    /// Returns the usage of the scopes. The usage is read at the first call of this function, and each later write
    /// updates it.
    fn used(&mut self) -> Result<&mut Usages, StateError> {
        match &mut self.used {
            Some(used) => Ok(used),
            unknown => {
                let used = self.snapshot.usage().map_err(StateError::Unavailable)?;
                self.reads.used = Some(used);
                Ok(unknown.insert(used))
            }
        }
    }

    fn read(&mut self, scope: Scope, key: &str) -> Result<Option<Vec<u8>>, StateError> {
        if let Some(value) = self.reads.value(scope, key) {
            return Ok(value.clone());
        }
        let value = match self.snapshot.value(scope, key).map_err(StateError::Unavailable)? {
            Found::Value(value) => value,
            Found::SizeAlone => {
                self.reads.incomplete = true;
                None
            }
        };
        self.reads.note(scope, key, Read::Value(value.clone()));
        Ok(value)
    }

    fn size(&mut self, scope: Scope, key: &str) -> Result<Option<usize>, StateError> {
        if let Some(size) = self.reads.size(scope, key) {
            return Ok(size);
        }
        let size = self.snapshot.size(scope, key).map_err(StateError::Unavailable)?;
        self.reads.note(scope, key, Read::Size(size));
        Ok(size)
    }

    fn number(&mut self, scope: Scope, key: &str) -> Result<i64, StateError> {
        self.read(scope, key)?.map_or(Ok(0), |value| parse(&value, key))
    }
}

fn parse(value: &[u8], key: &str) -> Result<i64, StateError> {
    number(value).ok_or_else(|| StateError::Unavailable(format!("the value of `{key}` is not a decimal number")))
}
