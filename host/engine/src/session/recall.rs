//! What is given again of an event that was recorded, when it is replayed.

use crate::audit::{CallRecord, StateUse};
use crate::sandbox::capability::Recalled;
use crate::state::{Scope, Snapshot, Stored};
use std::sync::Arc;

/// A recorded event's own facts, and what the plugins that were asked about it learnt from outside.
#[derive(Clone, Debug)]
pub(crate) struct Recall {
    /// The event's identifier.
    pub(crate) id: String,
    /// When it was, in milliseconds since the Unix epoch.
    pub(crate) time: u64,
    /// Each call that was made about it.
    pub(crate) calls: Vec<CallRecord>,
}

impl Recall {
    /// The inputs of a plugin's call, but for its state.
    pub(super) fn inputs(&self, plugin: &str, round: u32) -> Recalled {
        let call = self.calls.iter().find(|call| call.plugin == plugin && call.round == round);
        Recalled::new(call.map(|call| call.inputs.clone()).unwrap_or_default())
    }

    /// The state of a plugin: what it learnt then, over what the replay has made of the rest.
    pub(super) fn state(&self, plugin: &str, own: Arc<Snapshot>) -> Arc<Snapshot> {
        let calls = self.calls.iter().filter(|call| call.plugin == plugin);
        let used: Vec<StateUse> = calls.filter_map(|call: &CallRecord| call.inputs.state.clone()).collect();
        if used.is_empty() {
            return own;
        }
        Snapshot::new(move || {
            let mut spaces = own.read_spaces()?;
            for read in used.iter().flat_map(|used| &used.read) {
                let space = match read.scope {
                    Scope::Session => Arc::make_mut(&mut spaces.session),
                    Scope::Plugin => Arc::make_mut(&mut spaces.plugin),
                };
                let value = match (&read.value, read.size) {
                    (Some(value), _) => Some(value.0.clone()),
                    // Only its size was learnt, so only that can have mattered.
                    (None, Some(size)) => Some(vec![0; size.saturating_sub(read.key.len())]),
                    (None, None) => None,
                };
                match value {
                    Some(value) => space.put(&read.key, Stored { value, expires: None }),
                    None => space.remove(&read.key),
                }
            }
            spaces.used = used[0].used;
            Ok(spaces)
        })
    }
}
