//! Key-value state of plugins: a space per plugin, and one per plugin and session.
//!
//! An event reads one snapshot, and its own writes; the writes take hold when the event is settled, `increment` as a
//! delta, `set` as the last writer. Nothing here does I/O: `store` keeps the spaces.

mod space;
mod view;

pub(crate) use space::{Space, Stored};
pub(crate) use view::{Read, Reads, Snapshot, Spaces, StateError, View, Write, Writes};

use serde::{Deserialize, Serialize};

/// Whose a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// The plugin's in one session.
    Session,
    /// The plugin's in all sessions.
    Plugin,
}

/// Milliseconds since the Unix epoch.
pub(crate) type Time = u64;

/// The number that a value spells; what spells none counts as absent, since a later write may have made it so.
pub(crate) fn number(value: &[u8]) -> Option<i64> {
    std::str::from_utf8(value).ok()?.parse().ok()
}

#[cfg(test)]
mod tests;
