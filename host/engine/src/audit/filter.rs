//! Which records somebody wants to see.

use super::Record;
use crate::contract::{EventKind, OutcomeKind};

/// Which records somebody wants to see. All that are given must fit; none: every record fits.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Filter {
    /// The session's identifier.
    pub session: Option<String>,
    /// What the event is.
    pub event: Option<EventKind>,
    /// A plugin that was called.
    pub plugin: Option<String>,
    /// The outcome.
    pub outcome: Option<OutcomeKind>,
}

impl Filter {
    /// Whether no record is left out.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.session.is_none() && self.event.is_none() && self.plugin.is_none() && self.outcome.is_none()
    }

    /// Whether a record fits.
    #[must_use]
    pub fn fits(&self, entry: &Record) -> bool {
        let Self { session, event, plugin, outcome } = self;
        session.as_deref().is_none_or(|id| entry.session() == Some(id))
            && event.is_none_or(|event| entry.event() == Some(event))
            && plugin.as_ref().is_none_or(|plugin| entry.calls().iter().any(|call| call.plugin == *plugin))
            && outcome.is_none_or(|outcome| entry.outcome() == Some(outcome))
    }
}
