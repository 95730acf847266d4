//! Options of an event.

use crate::contract::Json;
use crate::facts::AgentContext;

/// Options of an event in addition to its payload.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct DispatchOptions {
    /// The agent's own message about the event, if the event came from outside of the program.
    pub raw: Option<Json>,
    /// What the sender knows about the agent, for plugins that read facts.
    pub agent: AgentContext,
    /// Waits for observers. The returned record then contains their calls. Use this option only to try out a plugin,
    /// because the event then takes as long as its observers.
    pub await_observers: bool,
    /// Rejects a payload with a field that the event does not have. Use this for a payload that a person wrote,
    /// because the field may be misspelt. By default such a field is ignored, because a program of a later version
    /// may have written it.
    pub refuse_unknown_fields: bool,
}

impl DispatchOptions {
    /// Returns options that wait for observers.
    #[must_use]
    pub fn awaiting_observers() -> Self {
        Self { await_observers: true, ..Self::default() }
    }
}
