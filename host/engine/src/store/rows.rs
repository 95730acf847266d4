//! The rows of sessions, open questions and kept outcomes, wherever they are kept.

use crate::state::Time;

/// A session's row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SessionRow {
    /// Number of writes of the row; 0 if there is none yet.
    pub(crate) version: u64,
    /// Number of used event numbers.
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

    /// Returns true if it has unwritten changes.
    fn is_changed(&self) -> bool;

    /// The new row, given the current one. Called within the transaction, so that nobody else changes the row.
    fn changed(&self, row: SessionRow) -> Changed;

    /// Called after the commit of this row.
    fn note_written(&self, changed: Changed);
}

/// A row to be written.
pub(crate) struct Changed {
    pub(crate) row: SessionRow,
    /// Number of the handle's changes so far that are written with it.
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
    /// Time of expiry, after which the answer is no: milliseconds since the Unix epoch.
    pub(crate) expires: Time,
    /// True if the asking process accepts an answer from the store.
    pub(crate) answerable: bool,
    /// The request, as JSON.
    pub(crate) request: String,
    /// The answer, as JSON, once there is one.
    pub(crate) answer: Option<String>,
}

/// A transaction's change of a question's row.
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
    /// True for the answer that was given now.
    pub(crate) is_this: bool,
}

/// The outcome of a call, for an agent that reports the call again. A host that is killed leaves it to the next one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "it is a row: who keeps one gives all of it")]
pub struct KeptOutcome {
    /// Digest of the session and of the number of the call. One outcome is kept for each.
    pub call: [u8; 32],
    /// Digest of what the outcome depends on: the content of the call, its directory, the rules.
    pub terms: [u8; 32],
    /// The identifier of the event that was settled.
    pub event: Option<String>,
    /// Time of the outcome, in milliseconds since the Unix epoch.
    pub settled: u64,
    /// Time from which it does not count, in milliseconds since the Unix epoch.
    pub expires: u64,
    /// The outcome, as JSON.
    pub outcome: String,
}

/// A change of the rows of kept outcomes.
#[derive(Clone, Debug)]
pub(crate) enum OutcomeChange {
    /// Inserts one, or replaces that of the same call.
    Keep(KeptOutcome),
    /// Deletes that of a call.
    Forget([u8; 32]),
}

impl OutcomeChange {
    /// The length of its text, in bytes.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Keep(kept) => kept.outcome.len(),
            Self::Forget(_) => 0,
        }
    }
}
