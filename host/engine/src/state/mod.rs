//! Key-value state of plugins: a space per plugin, one per plugin and tree of sessions, and one per plugin and session.
//!
//! An event reads one snapshot, and its own writes; the writes take hold when the event is settled, `increment` as a
//! delta, `set` as the last writer. Nothing here does I/O: `store` keeps the spaces.

mod reads;
mod source;
mod space;
mod view;

pub(crate) use reads::{MAX_RECORDED, Read, Reads};
pub(crate) use source::{Found, Learnt, Source, Spaces};
pub(crate) use space::{Space, Stored};
pub(crate) use view::{StateError, View, Write, Writes};

use serde::{Deserialize, Serialize};

/// Whose a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Scope {
    /// The plugin's in one session.
    Session,
    /// The plugin's in one tree: a session that the user began, and all sub-agents below it.
    Tree,
    /// The plugin's in all sessions.
    Plugin,
}

impl Scope {
    /// All of them, each at its own place: `scope as usize`.
    pub(crate) const ALL: [Self; 3] = [Self::Session, Self::Tree, Self::Plugin];

    /// As it is written.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Tree => "tree",
            Self::Plugin => "plugin",
        }
    }
}

/// Whose state an event uses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lineage<'a> {
    /// Its session.
    pub(crate) session: &'a str,
    /// The session at the root of the tree that it is in; its own where no other started it.
    pub(crate) root: &'a str,
}

impl<'a> Lineage<'a> {
    /// The session whose scope that is; empty where it is of all sessions.
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

/// Most keys of one scope: what a scope costs to count, to move into memory and to look through goes by its keys, however
/// small they are.
pub(crate) const MAX_KEYS: usize = 10_000;

/// Bytes that a key counts against the quota beside itself and its value: about what its row takes.
pub(crate) const KEY_COST: usize = 64;

/// What each scope holds, in the order of [`Scope::ALL`].
pub(crate) type Usages = [Usage; Scope::ALL.len()];

/// How much a scope holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Keys; where there are more than [`MAX_KEYS`], how many more is not said.
    pub(crate) keys: usize,
    /// What they cost.
    pub(crate) bytes: usize,
}

impl Usage {
    /// What it is once the value at `key` has `after` bytes in place of `before`; none: there is no such key.
    #[must_use]
    pub(crate) fn replacing(self, key: &str, before: Option<usize>, after: Option<usize>) -> Self {
        let cost = |value: Option<usize>| value.map_or(0, |value| cost(key, value));
        Self {
            keys: self.keys.saturating_sub(usize::from(before.is_some())) + usize::from(after.is_some()),
            bytes: self.bytes.saturating_sub(cost(before)).saturating_add(cost(after)),
        }
    }
}

/// What a key with a value of so many bytes counts against the quota.
pub(crate) fn cost(key: &str, value: usize) -> usize {
    KEY_COST.saturating_add(key.len()).saturating_add(value)
}

/// The number that a value spells; what spells none counts as absent, since a later write may have made it so.
pub(crate) fn number(value: &[u8]) -> Option<i64> {
    std::str::from_utf8(value).ok()?.parse().ok()
}

#[cfg(test)]
mod tests;
