//! Filters for records.

use super::Record;
use crate::contract::{EventKind, OutcomeKind};

/// A filter for records. A record must match all fields that are set. If no field is set, every record matches.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Filter {
    /// Identifier of the session.
    pub session: Option<String>,
    /// The event.
    pub event: Option<EventKind>,
    /// The name of a plugin that was called.
    pub plugin: Option<String>,
    /// The outcome.
    pub outcome: Option<OutcomeKind>,
}

impl Filter {
    /// Returns true if every record matches.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.session.is_none() && self.event.is_none() && self.plugin.is_none() && self.outcome.is_none()
    }

    /// Returns true if the record matches.
    #[must_use]
    pub fn fits(&self, entry: &Record) -> bool {
        let Self { session, event, plugin, outcome } = self;
        session.as_deref().is_none_or(|id| entry.session() == Some(id))
            && event.is_none_or(|event| entry.event() == Some(event))
            && plugin.as_ref().is_none_or(|plugin| entry.calls().iter().any(|call| call.plugin == *plugin))
            && outcome.is_none_or(|outcome| entry.outcome() == Some(outcome))
    }
}
