//! Identifiers of events, of calls and of records.

use super::state::SessionCopy;
use std::sync::atomic::{AtomicU64, Ordering};
use uuid::Uuid;

/// Creates the identifiers for one handle of a session. Events, calls and records are counted separately. So the
/// identifier of an event is the same whether or not a plugin subscribes to the log. This matters because a plugin's
/// random numbers derive from this identifier.
pub(super) struct EventIds {
    session: String,
    /// The prefix of event identifiers if there is no log.
    without_log: String,
    /// The prefix of identifiers of calls and records, unique among all handles of all sessions.
    handle: String,
    events: AtomicU64,
    calls: AtomicU64,
    records: AtomicU64,
}

impl EventIds {
    /// Creates the identifiers for a handle of `session`. `is_only_handle` is true if this host has no other open
    /// handle of the session.
    pub(super) fn new(session: &str, is_only_handle: bool) -> Self {
        let handle = format!("{session}.{}", Uuid::now_v7().simple());
        Self {
            session: session.to_owned(),
            without_log: if is_only_handle { session.to_owned() } else { handle.clone() },
            handle,
            events: AtomicU64::new(0),
            calls: AtomicU64::new(0),
            records: AtomicU64::new(0),
        }
    }

    /// Returns the identifier of the next event. With a log, the number comes from `state`; without a log, each
    /// handle counts separately.
    pub(super) fn next_event(&self, state: &SessionCopy, keeps_log: bool) -> String {
        match keeps_log {
            true => format!("{}.{}", self.session, state.next_number()),
            false => format!("{}.{}", self.without_log, self.events.fetch_add(1, Ordering::Relaxed)),
        }
    }

    /// Returns the unique identifier of a call that is not an event.
    pub(super) fn next_call(&self) -> String {
        format!("{}.call-{}", self.handle, self.calls.fetch_add(1, Ordering::Relaxed))
    }

    /// Returns the identifier of the event through which observers of the audit log get a record.
    pub(super) fn next_record(&self) -> String {
        format!("{}.record-{}", self.handle, self.records.fetch_add(1, Ordering::Relaxed))
    }
}
