//! The rows of sessions, open questions and stored outcomes, in every kind of store.

use crate::state::Time;

/// A session's row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SessionRow {
    /// Number of writes of the row; 0 if there is no row yet.
    pub(crate) version: u64,
    /// Number of event numbers that are already in use.
    pub(crate) events: u64,
    /// The rest of the session's state, as JSON. Empty if nothing was stored yet.
    pub(crate) state: String,
}

/// A session handle that may have unwritten changes.
pub(crate) trait SessionChanges: Send + Sync {
    /// The session's identifier.
    fn id(&self) -> &str;

    /// The handle's number, unique in the process.
    fn handle(&self) -> u64;

    /// Returns true if there are unwritten changes.
    fn is_changed(&self) -> bool;

    /// Returns the new row, given the current row. The store calls this within the transaction, so no other process can
    /// change the row meanwhile.
    fn changed(&self, row: SessionRow) -> Changed;

    /// Reports to the handle that this row is committed.
    fn note_written(&self, changed: Changed);
}

/// A row to be written.
pub(crate) struct Changed {
    pub(crate) row: SessionRow,
    /// Number of the handle's changes that this write contains.
    pub(crate) changes: u64,
    /// The time of the write, in milliseconds since the Unix epoch.
    pub(crate) time: Time,
}

/// A question's row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OpenQuestion {
    /// The escalated event.
    pub(crate) id: String,
    /// The session of the event.
    pub(crate) session: String,
    /// The number that identifies the process that waits for the answer.
    pub(crate) asker: u32,
    /// Time of the expiry, in milliseconds since the Unix epoch. After this time, the answer is no.
    pub(crate) expires: Time,
    /// True if the asking process accepts an answer from the store.
    pub(crate) answerable: bool,
    /// The request, as JSON.
    pub(crate) request: String,
    /// The answer, as JSON, if there is one.
    pub(crate) answer: Option<String>,
}

/// A change of a question's row.
#[derive(Clone, Debug)]
pub(crate) enum QuestionChange {
    /// Inserts the row.
    Ask(Box<OpenQuestion>),
    /// Deletes the row because the asking process has decided the event.
    Settle(String),
    /// Stores the answer to a question for which no process waits, and a new expiry. Fails if the question does not
    /// exist or has an answer.
    Allow {
        /// The event.
        id: String,
        /// The answer, as JSON.
        answer: String,
        /// Time of the expiry, in milliseconds since the Unix epoch.
        expires: Time,
    },
    /// Deletes the row of a question that this process did not ask. Fails if the row does not exist, because another
    /// process has taken it first.
    Take(String),
}

/// The first answer to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FirstAnswer {
    /// The answer, as JSON.
    pub(crate) answer: String,
    /// True if this is the answer that the caller has just given. Otherwise, the question already had an answer.
    pub(crate) is_this: bool,
}

/// A stored outcome of a call. If the agent reports the call again, it gets this outcome, even if the host was killed
/// in between.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "it is a row of the database: code that stores one sets every field")]
pub struct KeptOutcome {
    /// Digest of the session and of the number of the call. Each call has at most one stored outcome.
    pub call: [u8; 32],
    /// Digest of everything on which the outcome depends: the content of the call, the directory and the rules.
    pub terms: [u8; 32],
    /// Identifier of the event.
    pub event: Option<String>,
    /// Time of the outcome, in milliseconds since the Unix epoch.
    pub settled: u64,
    /// Expiry, in milliseconds since the Unix epoch.
    pub expires: u64,
    /// The outcome, as JSON.
    pub outcome: String,
}

/// A change of the rows of stored outcomes.
#[derive(Clone, Debug)]
pub(crate) enum OutcomeChange {
    /// Inserts an outcome, or replaces the outcome of the same call.
    Keep(KeptOutcome),
    /// Deletes the outcome of a call.
    Forget([u8; 32]),
}

impl OutcomeChange {
    /// Returns the length of the outcome's JSON, in bytes.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Keep(kept) => kept.outcome.len(),
            Self::Forget(_) => 0,
        }
    }
}
