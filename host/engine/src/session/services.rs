//! The parts of a host that its sessions share: the services of the embedder, the store, and the active
//! configuration.

use super::clock::{Clock, milliseconds};
use super::notice::{MAX_NOTICES, Notice};
use super::observer_queue::ObserverTasks;
use super::refused_answers::RefusedAnswers;
use super::state;
use crate::active_config::RuleSet;
use crate::approval::Approver;
use crate::callback;
use crate::contract::action::ActionMap;
use crate::locked::locked;
use crate::passkey::Passkeys;
use crate::sandbox::capability::{Model, OwnCapabilities};
use crate::sandbox::http::Network;
use crate::store::Store;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

/// The parts of a host that its sessions share.
pub(crate) struct Services {
    /// The rules of sessions whose specification names no other rules.
    pub(crate) rules: RuleSet,
    pub(crate) actions: ActionMap,
    pub(crate) approver: Option<Arc<dyn Approver>>,
    /// True if the host accepts answers in the store, which other programs of the user may have written.
    pub(crate) shares_questions: bool,
    pub(crate) model: Option<Arc<dyn Model>>,
    /// The capabilities of the embedder.
    pub(crate) own: OwnCapabilities,
    pub(crate) network: Arc<Network>,
    pub(crate) store: Store,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) observer_tasks: ObserverTasks,
    /// The sessions with an open handle, by identifier.
    pub(crate) open: Mutex<HashMap<String, OpenSession>>,
    /// Notices of closed sessions for the user.
    pub(crate) notices: Mutex<Vec<Notice>>,
    /// The passkeys that were read last. Later ones can only follow them.
    pub(crate) known_passkeys: Mutex<Option<Passkeys>>,
    pub(crate) refused_answers: Mutex<RefusedAnswers>,
    /// The identifiers of the approvals with a passkey that have let a rejected call pass.
    pub(crate) used_approvals: Mutex<HashSet<String>>,
}

/// A session with an open handle.
pub(crate) struct OpenSession {
    /// The session at the root of the tree.
    root: String,
    handles: usize,
}

impl Services {
    pub(crate) fn leave_notices(&self, notices: Vec<Notice>) {
        let mut left = locked(&self.notices);
        let room = MAX_NOTICES.saturating_sub(left.len());
        left.extend(notices.into_iter().take(room));
    }

    pub(crate) fn take_notices(&self) -> Vec<Notice> {
        std::mem::take(&mut *locked(&self.notices))
    }

    /// Counts an open handle or a waiting question of a session in the tree of `root`. Returns true if the session
    /// has no other handle and no other question.
    pub(crate) fn claim(&self, id: &str, root: &str) -> bool {
        let mut open = locked(&self.open);
        let known = open.entry(id.to_owned()).or_insert_with(|| OpenSession { root: root.to_owned(), handles: 0 });
        known.handles += 1;
        known.handles == 1
    }

    /// Returns the root of a session's tree. This is the session itself if neither this host nor its store knows the
    /// root.
    pub(crate) fn root_of(&self, id: &str) -> String {
        let open = locked(&self.open).get(id).map(|open| open.root.clone());
        let kept = || state::root_in(id, &self.store.session(id).unwrap_or_default());
        open.or_else(kept).unwrap_or_else(|| id.to_owned())
    }

    pub(crate) fn release(&self, id: &str) {
        if let Entry::Occupied(mut open) = locked(&self.open).entry(id.to_owned()) {
            open.get_mut().handles -= 1;
            if open.get().handles == 0 {
                open.remove();
            }
        }
    }

    /// Returns the time of an event that begins now, in milliseconds since the Unix epoch.
    pub(crate) fn now(&self) -> u64 {
        milliseconds(callback::caught(|| self.clock.now()).unwrap_or_else(|_| {
            tracing::error!("the program's clock panicked, so the operating system's clock is used");
            SystemTime::now()
        }))
    }
}
