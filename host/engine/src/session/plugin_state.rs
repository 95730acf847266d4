//! The state of plugins and the labels, as a test of rules sets them before an event and reads them afterwards.

use super::handle::Session;
use crate::state::{Found, LABELS, LabelOrigin, Labels, Scope, StateError, View, Writes};
use crate::store::Unit;
use std::collections::BTreeSet;
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
        self.commit(plugin, view.into_parts().0).await
    }

    /// Labels the session as if an earlier event had done so. No record says so.
    ///
    /// # Errors
    /// One sentence, if a label is not valid, or if the labels cannot be stored.
    #[doc(hidden)]
    pub async fn add_labels(&self, labels: &BTreeSet<String>) -> Result<(), String> {
        let time = self.shared.services.now();
        let mut known = Labels::new(self.shared.labels(time), None, time);
        labels.iter().try_for_each(|label| known.add(label)).map_err(|error| format!("the case {error}"))?;
        self.commit(
            LABELS.into(),
            Writes::of_labels(&known.into_parts().1, &LabelOrigin { time, event: "test".to_owned() }),
        )
        .await
    }

    /// Returns the labels of the session.
    ///
    /// # Errors
    /// One sentence, if the labels cannot be read.
    #[doc(hidden)]
    pub fn labels(&self) -> Result<BTreeSet<String>, String> {
        self.shared.labels(self.shared.services.now()).keys(Scope::Tree).map(|labels| labels.into_iter().collect())
    }

    async fn commit(&self, namespace: Arc<str>, writes: Writes) -> Result<(), String> {
        let inner = &self.shared;
        let (session, root) = (Arc::clone(&inner.id), Arc::clone(&inner.root));
        let unit =
            Unit { writes: vec![(namespace, writes)], session, root, time: inner.services.now(), ..Unit::default() };
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
