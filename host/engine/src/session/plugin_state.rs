//! The state of plugins, as a test of rules sets it before an event and reads it afterwards.

use super::handle::Session;
use crate::state::{Found, Scope, StateError, View};
use crate::store::Unit;
use std::sync::Arc;

impl Session {
    /// Stores a value as if the plugin had stored it in an earlier event. No record says so.
    ///
    /// # Errors
    /// One sentence, if the value cannot be stored.
    #[doc(hidden)]
    pub async fn set_plugin_state(&self, plugin: &str, scope: Scope, key: &str, value: Vec<u8>) -> Result<(), String> {
        let inner = &self.shared;
        let (plugin, time) = (Arc::from(plugin), inner.services.now());
        let mut view = View::new(inner.services.store.snapshot(&plugin, inner.lineage(), time), usize::MAX, time);
        view.set(scope, key, value, None).map_err(|error| match error {
            StateError::QuotaExceeded => format!("the state of {plugin} has too many keys"),
            StateError::Unavailable(why) => why,
        })?;
        let writes = vec![(plugin, view.into_parts().0)];
        let (session, root) = (Arc::clone(&inner.id), Arc::clone(&inner.root));
        let unit = Unit { writes, session, root, time, ..Unit::default() };
        inner.services.store.commit(&unit).await.map_err(|error| error.to_string())
    }

    /// Returns a value of a plugin's state. Returns `None` if there is no such key.
    ///
    /// # Errors
    /// One sentence, if the state cannot be read.
    #[doc(hidden)]
    pub fn plugin_state(&self, plugin: &str, scope: Scope, key: &str) -> Result<Option<Vec<u8>>, String> {
        let inner = &self.shared;
        let state = inner.services.store.snapshot(&Arc::from(plugin), inner.lineage(), inner.services.now());
        match state.value(scope, key)? {
            Found::Value(value) => Ok(value),
            Found::SizeAlone => Ok(None),
        }
    }
}
