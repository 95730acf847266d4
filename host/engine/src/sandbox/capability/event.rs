//! The capability `event`: facts about the event that the plugin handles.

use super::{Guest, of_the_contract, wit};
use crate::contract::Json;
use crate::facts::FactReader;

/// The facts that a plugin can read about its event.
#[derive(Clone, Debug, Default)]
pub(crate) struct EventFacts {
    pub(crate) id: String,
    /// Milliseconds since the Unix epoch.
    pub(crate) time: u64,
    pub(crate) parent_session: Option<String>,
    pub(crate) raw: Option<Json>,
    /// The facts about the world of the agent, for the capability `facts`.
    pub(crate) world: FactReader,
}

/// The capability `event`.
pub(super) struct Facts;

of_the_contract!(Facts = event, "event", None, |_| true);

impl wit::event::Host for Guest {
    fn id(&mut self) -> wasmtime::Result<String> {
        self.count_call()?;
        Ok(self.given.event.id.clone())
    }

    fn time(&mut self) -> wasmtime::Result<u64> {
        self.count_call()?;
        Ok(self.given.event.time)
    }

    fn round(&mut self) -> wasmtime::Result<u32> {
        self.count_call()?;
        Ok(self.given.round)
    }

    fn parent_session(&mut self) -> wasmtime::Result<Option<String>> {
        self.count_call()?;
        Ok(self.given.event.parent_session.clone())
    }

    fn raw(&mut self) -> wasmtime::Result<Option<String>> {
        self.count_call()?;
        Ok(self.given.event.raw.as_deref().map(str::to_owned))
    }
}
