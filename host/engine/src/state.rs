//! Key-value state of plugins: a space per plugin, and one per plugin and session.
//!
//! An event reads one snapshot, and its own writes; the writes take hold when the event is settled, `increment` as a
//! delta, `set` as the last writer.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

/// Whose a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Scope {
    Session,
    Plugin,
}

/// The values of one scope; a snapshot is a clone of the `Arc` around it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Space {
    values: BTreeMap<String, Stored>,
    bytes: usize,
    /// When the first of the values expires.
    next_expiry: Option<u64>,
}

#[derive(Clone, Debug)]
struct Stored {
    value: Vec<u8>,
    /// Milliseconds since the Unix epoch.
    expires: Option<u64>,
}

/// What a call wrote, to be committed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Writes(BTreeMap<(Scope, String), Write>);

#[derive(Clone, Debug)]
enum Write {
    Set { value: Vec<u8>, expires: Option<u64> },
    Delete,
    Add(i64),
}

/// Why a write was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StateError {
    QuotaExceeded,
    Unavailable(String),
}

/// What one call sees: a snapshot and its own writes.
#[derive(Clone, Debug)]
pub(crate) struct View {
    session: Arc<Space>,
    plugin: Arc<Space>,
    writes: Writes,
    /// Bytes of keys and values, own writes included, of the session's and of the plugin's scope.
    used: [usize; 2],
    quota: usize,
    now: u64,
}

/// All spaces of a host.
#[derive(Debug, Default)]
pub(crate) struct Store {
    spaces: Mutex<HashMap<Owner, Arc<Space>>>,
}

/// A plugin, and the session where the space is of one.
type Owner = (String, Option<String>);

impl Space {
    fn live(&self, key: &str, now: u64) -> Option<&[u8]> {
        let stored = self.values.get(key)?;
        stored.expires.is_none_or(|expires| expires > now).then_some(stored.value.as_slice())
    }

    fn put(&mut self, key: &str, value: Vec<u8>, expires: Option<u64>) {
        self.remove(key);
        self.bytes += key.len() + value.len();
        self.next_expiry = self.next_expiry.into_iter().chain(expires).min();
        self.values.insert(key.to_owned(), Stored { value, expires });
    }

    fn remove(&mut self, key: &str) {
        if let Some(old) = self.values.remove(key) {
            self.bytes -= key.len() + old.value.len();
        }
    }

    fn has_expired(&self, now: u64) -> bool {
        self.next_expiry.is_some_and(|expiry| expiry <= now)
    }

    fn expire(&mut self, now: u64) {
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
}

impl Write {
    /// What it occupies: a key and its value, or the most that a number can be.
    fn bytes(&self, key: &str) -> usize {
        match self {
            Self::Set { value, .. } => key.len() + value.len(),
            Self::Add(_) => key.len() + i64::MIN.to_string().len(),
            Self::Delete => 0,
        }
    }
}

impl View {
    pub(crate) fn get(&self, scope: Scope, key: &str) -> Result<Option<Vec<u8>>, StateError> {
        match self.writes.0.get(&(scope, key.to_owned())) {
            Some(Write::Set { value, expires }) => {
                Ok(expires.is_none_or(|expires| expires > self.now).then(|| value.clone()))
            }
            Some(Write::Delete) => Ok(None),
            Some(Write::Add(by)) => Ok(Some(self.number(scope, key)?.saturating_add(*by).to_string().into_bytes())),
            None => Ok(self.space(scope).live(key, self.now).map(<[u8]>::to_vec)),
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
        // What is not there need not be remembered: a guest could fill the host's memory with the names of it.
        let known = self.space(scope).values.contains_key(key) || self.writes.0.contains_key(&(scope, key.to_owned()));
        if known { self.write(scope, key, Write::Delete) } else { Ok(()) }
    }

    pub(crate) fn increment(&mut self, scope: Scope, key: &str, by: i64) -> Result<i64, StateError> {
        let place = (scope, key.to_owned());
        let (write, sum) = match self.writes.0.get(&place) {
            Some(Write::Add(before)) => {
                let by = before.saturating_add(by);
                (Write::Add(by), self.number(scope, key)?.saturating_add(by))
            }
            Some(Write::Set { value, expires }) => {
                let sum = parse(value, key)?.saturating_add(by);
                (Write::Set { value: sum.to_string().into_bytes(), expires: *expires }, sum)
            }
            Some(Write::Delete) => (Write::Set { value: by.to_string().into_bytes(), expires: None }, by),
            None => (Write::Add(by), self.number(scope, key)?.saturating_add(by)),
        };
        self.write(scope, key, write)?;
        Ok(sum)
    }

    pub(crate) fn into_writes(self) -> Writes {
        self.writes
    }

    /// A write counts with its key and value against the quota of its scope.
    fn write(&mut self, scope: Scope, key: &str, write: Write) -> Result<(), StateError> {
        let place = (scope, key.to_owned());
        let before = match self.writes.0.get(&place) {
            Some(write) => write.bytes(key),
            None => self.space(scope).values.get(key).map_or(0, |stored| key.len() + stored.value.len()),
        };
        let used = self.used[scope as usize] - before + write.bytes(key);
        if used > self.quota && write.bytes(key) > before {
            return Err(StateError::QuotaExceeded);
        }
        self.used[scope as usize] = used;
        self.writes.0.insert(place, write);
        Ok(())
    }

    fn space(&self, scope: Scope) -> &Space {
        match scope {
            Scope::Session => &self.session,
            Scope::Plugin => &self.plugin,
        }
    }

    fn number(&self, scope: Scope, key: &str) -> Result<i64, StateError> {
        self.space(scope).live(key, self.now).map_or(Ok(0), |value| parse(value, key))
    }
}

fn parse(value: &[u8], key: &str) -> Result<i64, StateError> {
    std::str::from_utf8(value)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| StateError::Unavailable(format!("the value of `{key}` is not a decimal number")))
}

impl Store {
    /// A view of one plugin's spaces at `now` (milliseconds since the Unix epoch).
    pub(crate) fn view(&self, plugin: &str, session: &str, quota: usize, now: u64) -> View {
        let mut spaces = self.spaces.lock().unwrap_or_else(PoisonError::into_inner);
        let mut space = |session: Option<&str>| {
            let space = spaces.get_mut(&(plugin.to_owned(), session.map(str::to_owned)));
            // What has expired must not count against the quota.
            let live = |space: &mut Arc<Space>| {
                if space.has_expired(now) {
                    Arc::make_mut(space).expire(now);
                }
                Arc::clone(space)
            };
            space.map(live).unwrap_or_default()
        };
        let (session, plugin) = (space(Some(session)), space(None));
        let used = [session.bytes, plugin.bytes];
        View { session, plugin, writes: Writes::default(), used, quota, now }
    }

    /// Makes the writes of one event hold.
    pub(crate) fn commit(&self, plugin: &str, session: &str, writes: Writes, now: u64) {
        if writes.0.is_empty() {
            return;
        }
        let mut spaces = self.spaces.lock().unwrap_or_else(PoisonError::into_inner);
        for ((scope, key), write) in writes.0 {
            let session = (scope == Scope::Session).then(|| session.to_owned());
            let space = Arc::make_mut(spaces.entry((plugin.to_owned(), session)).or_default());
            space.expire(now);
            match write {
                Write::Set { value, expires } => space.put(&key, value, expires),
                Write::Delete => space.remove(&key),
                Write::Add(by) => {
                    // Another session may have made it something else meanwhile; then this one starts it anew.
                    let before = space.live(&key, now).and_then(|value| parse(value, &key).ok()).unwrap_or(0);
                    let expires = space.values.get(&key).and_then(|stored| stored.expires);
                    space.put(&key, before.saturating_add(by).to_string().into_bytes(), expires);
                }
            }
        }
    }

    /// Forgets what was of one session.
    pub(crate) fn end_session(&self, session: &str) {
        let mut spaces = self.spaces.lock().unwrap_or_else(PoisonError::into_inner);
        spaces.retain(|(_, of), _| of.as_deref() != Some(session));
    }
}

#[cfg(test)]
mod tests {
    use super::{Scope, StateError, Store};

    #[test]
    fn an_event_sees_its_snapshot_and_its_own_writes() {
        let store = Store::default();
        let mut first = store.view("p", "s", 1000, 0);
        let second = store.view("p", "s", 1000, 0);
        first.set(Scope::Plugin, "k", b"1".to_vec(), None).unwrap();
        assert_eq!(first.get(Scope::Plugin, "k").unwrap(), Some(b"1".to_vec()));
        store.commit("p", "s", first.into_writes(), 0);
        assert_eq!(second.get(Scope::Plugin, "k").unwrap(), None);
        assert_eq!(store.view("p", "other", 1000, 0).get(Scope::Plugin, "k").unwrap(), Some(b"1".to_vec()));
        assert_eq!(store.view("q", "s", 1000, 0).get(Scope::Plugin, "k").unwrap(), None);
    }

    #[test]
    fn increments_of_concurrent_sessions_add_up() {
        let store = Store::default();
        let mut views: Vec<_> = (0..3).map(|n| store.view("p", &format!("s{n}"), 1000, 0)).collect();
        for view in &mut views {
            assert_eq!(view.increment(Scope::Plugin, "n", 2).unwrap(), 2);
            assert_eq!(view.increment(Scope::Plugin, "n", 2).unwrap(), 4);
        }
        for view in views {
            store.commit("p", "s", view.into_writes(), 0);
        }
        assert_eq!(store.view("p", "s", 1000, 0).get(Scope::Plugin, "n").unwrap(), Some(b"12".to_vec()));
    }

    #[test]
    fn a_value_expires() {
        let store = Store::default();
        let mut view = store.view("p", "s", 1000, 1_000);
        view.set(Scope::Session, "k", b"v".to_vec(), Some(2)).unwrap();
        store.commit("p", "s", view.into_writes(), 1_000);
        assert_eq!(store.view("p", "s", 1000, 2_999).get(Scope::Session, "k").unwrap(), Some(b"v".to_vec()));
        assert_eq!(store.view("p", "s", 1000, 3_000).get(Scope::Session, "k").unwrap(), None);
    }

    #[test]
    fn a_write_over_the_quota_is_refused_and_changes_nothing() {
        let store = Store::default();
        let mut view = store.view("p", "s", 10, 0);
        view.set(Scope::Session, "key", b"value".to_vec(), None).unwrap();
        assert_eq!(view.set(Scope::Session, "more", b"value".to_vec(), None), Err(StateError::QuotaExceeded));
        assert_eq!(view.get(Scope::Session, "more").unwrap(), None);
        assert_eq!(view.set(Scope::Session, "key", vec![0; 8], None), Err(StateError::QuotaExceeded));
        assert_eq!(view.get(Scope::Session, "key").unwrap(), Some(b"value".to_vec()));
    }

    #[test]
    fn what_has_expired_makes_room_again() {
        let store = Store::default();
        let mut view = store.view("p", "s", 10, 0);
        view.set(Scope::Plugin, "key", b"value".to_vec(), Some(1)).unwrap();
        store.commit("p", "s", view.into_writes(), 0);
        let mut view = store.view("p", "s", 10, 1_000);
        view.set(Scope::Plugin, "new", b"value".to_vec(), None).unwrap();
    }

    #[test]
    fn an_increment_keeps_the_time_at_which_a_value_expires() {
        let store = Store::default();
        let mut view = store.view("p", "s", 100, 0);
        view.set(Scope::Plugin, "n", b"1".to_vec(), Some(10)).unwrap();
        store.commit("p", "s", view.into_writes(), 0);
        let mut view = store.view("p", "s", 100, 5_000);
        assert_eq!(view.increment(Scope::Plugin, "n", 1).unwrap(), 2);
        store.commit("p", "s", view.into_writes(), 5_000);
        assert_eq!(store.view("p", "s", 100, 9_999).get(Scope::Plugin, "n").unwrap(), Some(b"2".to_vec()));
        assert_eq!(store.view("p", "s", 100, 10_000).get(Scope::Plugin, "n").unwrap(), None);
    }

    #[test]
    fn deleting_what_is_not_there_keeps_nothing() {
        let store = Store::default();
        let mut view = store.view("p", "s", 10, 0);
        for n in 0..1000 {
            view.delete(Scope::Plugin, &"k".repeat(n)).unwrap();
        }
        assert!(view.into_writes().0.is_empty());
    }

    #[test]
    fn a_text_cannot_be_incremented() {
        let mut view = Store::default().view("p", "s", 100, 0);
        view.set(Scope::Session, "k", b"five".to_vec(), None).unwrap();
        assert!(matches!(view.increment(Scope::Session, "k", 1), Err(StateError::Unavailable(_))));
    }

    #[test]
    fn what_was_of_a_session_ends_with_it() {
        let store = Store::default();
        let mut view = store.view("p", "s", 100, 0);
        view.set(Scope::Session, "a", vec![1], None).unwrap();
        view.set(Scope::Plugin, "b", vec![2], None).unwrap();
        store.commit("p", "s", view.into_writes(), 0);
        store.end_session("s");
        let view = store.view("p", "s", 100, 0);
        assert_eq!(view.get(Scope::Session, "a").unwrap(), None);
        assert_eq!(view.get(Scope::Plugin, "b").unwrap(), Some(vec![2]));
    }
}
