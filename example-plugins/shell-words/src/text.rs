//! Texts of rules in few blocks of memory. A block for each text would leave unused room beside it, and all of a guest's memory is copied
//! for each event.

use std::fmt;
use std::ops::Deref;
use std::sync::Mutex;

/// Length of a block, in bytes.
const BLOCK: usize = 8 * 1024;
/// Maximum length of a text that shares a block, in bytes. At most this much of a block stays unused.
const MAX_SHARED: usize = 512;

/// Maximum number of recent texts that a new one is compared with. Rules repeat each other's lists.
const RECENT: usize = 128;

/// The storage for texts.
struct Store {
    /// The unused part of the last block.
    rest: &'static mut [u8],
    /// The last text with each hash.
    recent: [&'static str; RECENT],
}

/// Stores a text for the lifetime of the guest, like the rules. Reuses a recent equal text.
pub fn kept(text: &str) -> &'static str {
    static STORE: Mutex<Store> = Mutex::new(Store { rest: &mut [], recent: [""; RECENT] });
    let Ok(mut store) = STORE.lock() else { return Box::leak(text.into()) };
    let hash = text.bytes().fold(text.len(), |hash, byte| hash.wrapping_mul(31).wrapping_add(usize::from(byte)));
    if store.recent[hash % RECENT] != text {
        store.recent[hash % RECENT] = store.added(text);
    }
    store.recent[hash % RECENT]
}

impl Store {
    fn added(&mut self, text: &str) -> &'static str {
        if text.len() > MAX_SHARED {
            return Box::leak(text.into());
        }
        if self.rest.len() < text.len() {
            self.rest = Box::leak(vec![0; BLOCK].into());
        }
        let (place, after) = std::mem::take(&mut self.rest).split_at_mut(text.len());
        self.rest = after;
        place.copy_from_slice(text.as_bytes());
        std::str::from_utf8(place).unwrap_or_default()
    }
}

/// A text of a rule.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Text(&'static str);

impl Text {
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(kept(text))
    }

    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.0
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        self.0
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, MAX_SHARED, kept};

    #[test]
    fn texts_stay_what_they_were_whatever_is_kept_after_them() {
        let lengths = [0, 1, 7, MAX_SHARED - 1, MAX_SHARED, MAX_SHARED + 1, BLOCK, BLOCK + 1];
        let texts: Vec<String> = (0..400).map(|at| "é".repeat(lengths[at % lengths.len()]) + &at.to_string()).collect();
        let all: Vec<&str> = texts.iter().map(|text| kept(text)).collect();
        assert_eq!(all, texts);
    }

    #[test]
    fn a_text_that_was_just_there_is_kept_once() {
        let first = kept("what a rule says more than once");
        assert!(std::ptr::eq(first, kept("what a rule says more than once")));
        assert_eq!(kept(""), "");
    }
}
