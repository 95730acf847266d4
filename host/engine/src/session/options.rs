//! Options of an event.

use crate::contract::Json;

/// Options of an event beside its payload.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct DispatchOptions {
    /// The agent's own message, if the event came from outside.
    pub raw: Option<Json>,
    /// Waits for observers. Then their calls are in the returned record. This is for trying a plugin: it makes the
    /// event as slow as its observers.
    pub await_observers: bool,
    /// Treats a field that the event does not have as an error, for a payload that a person wrote and may have misspelt.
    /// Otherwise it is read past, since a program of a later version may have written it.
    pub refuse_unknown_fields: bool,
}

impl DispatchOptions {
    /// Waits for observers.
    #[must_use]
    pub fn awaiting_observers() -> Self {
        Self { await_observers: true, ..Self::default() }
    }
}
