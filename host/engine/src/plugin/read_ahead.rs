//! Compiled code that is read before it is asked for: on a thread of its own, while the sandbox and the plugins before it are made.

use super::cache::{Cache, Read};
use crate::config::Entry;
use std::collections::HashSet;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Entries that wait, read, to be loaded. One more is being read, or waits for room.
const WAITING: usize = 1;

/// What is read of some entries, in their order.
pub(crate) struct ReadAhead {
    entries: HashSet<String>,
    read: Mutex<Receiver<(String, Read)>>,
}

impl ReadAhead {
    /// Begins to read what is kept of these entries. `None` where the machine gives no thread: then each is read when it is loaded.
    pub(crate) fn begin(cache: &Cache, entries: Vec<Entry>) -> Option<Self> {
        let names = entries.iter().map(|entry| entry.name.clone()).collect();
        let (send, read) = sync_channel(WAITING);
        let cache = cache.clone();
        let run = move || {
            for entry in entries {
                let read = cache.read(&entry);
                // The load was given up.
                if send.send((entry.name, read)).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new().name("hookhost-read".into()).spawn(run).ok()?;
        Some(Self { entries: names, read: Mutex::new(read) })
    }

    /// What was read of an entry. Entries are asked for in their order, and some perhaps not at all.
    pub(super) fn of(&self, entry: &Entry) -> Option<Read> {
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let is_read = self.entries.contains(&entry.name);
        is_read.then(|| read.iter().find(|(name, _)| *name == entry.name)).flatten().map(|(_, read)| read)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::config::Digest;

    #[test]
    fn what_was_read_is_that_of_the_entry_also_where_one_before_it_was_not_asked_for() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::open(&directory.path().join("cache")).unwrap();
        let entry = |name: &str| Entry::new(name, "p.wasm", Digest::zero());
        let ahead = ReadAhead::begin(&cache, ["a", "b", "c", "d", "e", "f"].map(entry).into()).unwrap();
        for (name, is_read) in [("b", true), ("other", false), ("c", true), ("f", true), ("f", false), ("a", false)] {
            assert_eq!(ahead.of(&entry(name)).is_some(), is_read, "{name}");
        }
    }
}
