//! State that lives as long as the host: without a file, and without a log.

use super::{Owner, Unit, owner};
use crate::state::{Lineage, Scope, Source, Space, Spaces, Time};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The spaces of all plugins.
#[derive(Default)]
pub(super) struct Memory(Mutex<HashMap<Owner, Arc<Space>>>);

impl Memory {
    fn spaces(&self) -> MutexGuard<'_, HashMap<Owner, Arc<Space>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state of a plugin as it is now.
    pub(super) fn snapshot(&self, plugin: &Arc<str>, lineage: Lineage<'_>, now: Time) -> Arc<dyn Source> {
        let spaces = self.spaces();
        let of = |scope| spaces.get(&owner(plugin, lineage, scope)).cloned().unwrap_or_default();
        Arc::new(Spaces::new(Scope::ALL.map(of), now))
    }

    pub(super) fn commit(&self, unit: &Unit) {
        let mut spaces = self.spaces();
        for (plugin, writes) in &unit.writes {
            for scope in Scope::ALL {
                if writes.of(scope).next().is_some() {
                    let space = spaces.entry(owner(plugin, unit.lineage(), scope)).or_default();
                    // An event that still reads the space keeps it as it was.
                    Arc::make_mut(space).apply(scope, writes, unit.time);
                }
            }
        }
    }
}
