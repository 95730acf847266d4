//! What the sessions of one host share: what an embedder brings, the store, and the active configuration.

use super::SessionError;
use super::observers::Telling;
use crate::active_config::ActiveConfig;
use crate::approval::Approver;
use crate::contract::action::ActionMap;
use crate::sandbox::capability::Model;
use crate::sandbox::http::Network;
use crate::store::Store;
use arc_swap::ArcSwap;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most notices of closed sessions that wait to be taken.
const MAX_NOTICES: usize = 256;

/// What sessions share.
pub(crate) struct Services {
    /// What events that begin now are settled under.
    pub(crate) config: ArcSwap<ActiveConfig>,
    pub(crate) actions: ActionMap,
    pub(crate) approver: Option<Arc<dyn Approver>>,
    pub(crate) model: Option<Arc<dyn Model>>,
    pub(crate) network: Arc<Network>,
    pub(crate) store: Store,
    pub(crate) telling: Telling,
    /// The open sessions by identifier, each with the root of its tree.
    pub(crate) open: Mutex<HashMap<String, String>>,
    /// What the user is to be told of sessions that are closed.
    pub(crate) notices: Mutex<Vec<String>>,
}

impl Services {
    pub(crate) fn leave_notices(&self, notices: Vec<String>) {
        let mut left = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
        let room = MAX_NOTICES.saturating_sub(left.len());
        left.extend(notices.into_iter().take(room));
    }

    pub(crate) fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut *self.notices.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What events that begin now are settled under.
    pub(crate) fn config(&self) -> Arc<ActiveConfig> {
        self.config.load_full()
    }

    fn open(&self) -> MutexGuard<'_, HashMap<String, String>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the identifier of a session in the tree of `root`.
    ///
    /// # Errors
    /// If an open session has it.
    pub(crate) fn claim(&self, id: &str, root: &str) -> Result<(), SessionError> {
        match self.open().entry(id.to_owned()) {
            Entry::Occupied(_) => Err(SessionError::Open(id.to_owned())),
            Entry::Vacant(free) => {
                free.insert(root.to_owned());
                Ok(())
            }
        }
    }

    /// The root of the tree that a session is in, as far as this host knows: where it is not open here, itself.
    pub(crate) fn root_of(&self, id: &str) -> String {
        self.open().get(id).cloned().unwrap_or_else(|| id.to_owned())
    }

    pub(crate) fn release(&self, id: &str) {
        self.open().remove(id);
    }
}
