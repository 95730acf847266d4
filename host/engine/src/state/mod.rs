//! Key-value state: each plugin has one namespace per session, one per tree of sessions, and one for all sessions.
//!
//! An event reads one snapshot, and also sees its own writes. The writes are applied when the outcome of the event is
//! known. At this moment, `increment` adds to the value that is then current. If several events have called `set` for a
//! key, the last event wins. This module does no I/O, because the module `store` stores the namespaces.

mod labels;
mod namespace;
mod reads;
mod source;
mod view;

pub(crate) use labels::{LABELS, LabelError, LabelOrigin, Labels};
pub(crate) use namespace::{Namespace, StoredValue};
pub(crate) use reads::{MAX_RECORDED, Read, Reads};
pub(crate) use source::{Found, Namespaces, RecordedReads, Source};
pub(crate) use view::{StateError, View, Write, Writes};

use serde::{Deserialize, Serialize};

/// The part of the state to which a key belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Scope {
    /// One plugin in one session.
    Session,
    /// One plugin in one tree. A tree consists of a session that the user began and the sessions of all sub-agents
    /// below it.
    Tree,
    /// One plugin in all sessions.
    Plugin,
}

impl Scope {
    /// All scopes. The index of a scope is `scope as usize`.
    pub(crate) const ALL: [Self; 3] = [Self::Session, Self::Tree, Self::Plugin];

    /// Returns the name of the scope in the database and in records.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Tree => "tree",
            Self::Plugin => "plugin",
        }
    }
}

/// The session and the tree whose state an event uses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lineage<'a> {
    /// The event's session.
    pub(crate) session: &'a str,
    /// The session at the root of the tree; the session itself if no other session started it.
    pub(crate) root: &'a str,
}

impl<'a> Lineage<'a> {
    /// Returns the session that identifies the scope; empty for [`Scope::Plugin`], because all sessions share it.
    pub(crate) fn of(self, scope: Scope) -> &'a str {
        match scope {
            Scope::Session => self.session,
            Scope::Tree => self.root,
            Scope::Plugin => "",
        }
    }
}

/// Milliseconds since the Unix epoch.
pub(crate) type Time = u64;

/// Maximum number of keys of one scope. The number is limited, because each key takes time when a scope is counted or
/// loaded into memory, even if the key is small.
pub(crate) const MAX_KEYS: usize = 10_000;

/// Number of bytes that each key takes from the quota, in addition to the sizes of the key and its value. This is about
/// the overhead of a row.
pub(crate) const KEY_COST: usize = 64;

/// The usage of each scope, in the order of [`Scope::ALL`].
pub(crate) type Usages = [Usage; Scope::ALL.len()];

/// The usage of one scope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Number of keys; exact up to [`MAX_KEYS`].
    pub(crate) keys: usize,
    /// Cost of all keys in bytes: see [`cost`].
    pub(crate) bytes: usize,
}

impl Usage {
    /// Returns the usage after the value at `key` changes from `before` to `after` bytes. `None` means that there is no
    /// such key.
    #[must_use]
    pub(crate) fn replacing(self, key: &str, before: Option<usize>, after: Option<usize>) -> Self {
        let cost = |value: Option<usize>| value.map_or(0, |value| cost(key, value));
        Self {
            keys: self.keys.saturating_sub(usize::from(before.is_some())) + usize::from(after.is_some()),
            bytes: self.bytes.saturating_sub(cost(before)).saturating_add(cost(after)),
        }
    }
}

/// Returns the number of bytes that a key takes from the quota. `value` is the size of the key's value in bytes.
pub(crate) fn cost(key: &str, value: usize) -> usize {
    KEY_COST.saturating_add(key.len()).saturating_add(value)
}

/// Returns the decimal number in a value; `None` if the value is something else.
pub(crate) fn number(value: &[u8]) -> Option<i64> {
    std::str::from_utf8(value).ok()?.parse().ok()
}

#[cfg(test)]
mod tests;
