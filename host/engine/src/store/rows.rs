//! The rows of sessions and of open questions, wherever they are kept.

use crate::state::Time;

/// A session's row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SessionRow {
    /// How many times the row was written; 0 if there is none yet.
    pub(crate) version: u64,
    /// How many event numbers are taken.
    pub(crate) events: u64,
    /// The rest, as JSON; empty if there is none yet.
    pub(crate) state: String,
}

/// A session handle that may have unwritten changes.
pub(crate) trait SessionChanges: Send + Sync {
    /// The session's identifier.
    fn id(&self) -> &str;

    /// The handle's number, which no other handle of the process has.
    fn handle(&self) -> u64;

    /// Whether it has unwritten changes.
    fn is_changed(&self) -> bool;

    /// The new row, given the current one. Called within the transaction, so that nobody else changes the row.
    fn changed(&self, row: SessionRow) -> Changed;

    /// Called after the commit of this row.
    fn note_written(&self, changed: Changed);
}

/// A row to be written.
pub(crate) struct Changed {
    pub(crate) row: SessionRow,
    /// How many of the changes that the handle has made so far are written with it.
    pub(crate) changes: u64,
    /// The time of the write, in milliseconds since the Unix epoch.
    pub(crate) time: Time,
}

/// A question's row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OpenQuestion {
    /// The event that is escalated.
    pub(crate) id: String,
    /// Its session.
    pub(crate) session: String,
    /// The number of the process that waits for the answer.
    pub(crate) asker: u32,
    /// When it expires, and the answer is no: milliseconds since the Unix epoch.
    pub(crate) expires: Time,
    /// Whether the asking process accepts an answer from the store.
    pub(crate) answerable: bool,
    /// The request, as JSON.
    pub(crate) request: String,
    /// The answer, as JSON, once there is one.
    pub(crate) answer: Option<String>,
}

/// What a transaction does to a question's row.
#[derive(Clone, Debug)]
pub(crate) enum QuestionChange {
    /// Inserts it.
    Ask(Box<OpenQuestion>),
    /// Deletes it: the process that asked has settled it.
    Settle(String),
    /// Deletes it: another process has settled it, since the process that asked is gone. Fails if the row is gone.
    GiveUp(String),
}

/// The answer that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FirstAnswer {
    /// As JSON.
    pub(crate) answer: String,
    /// Whether it is the one that was given now.
    pub(crate) is_this: bool,
}
