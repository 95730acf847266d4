//! The host: the rules that count, and what an embedder brings.

mod rule_set;

pub use rule_set::Changes;

pub(crate) use rule_set::RuleSet;

use crate::action::ActionMap;
use crate::allowlist::Config;
use crate::approval::Approver;
use crate::audit::{Loggable as _, RulesChanged};
use crate::event::EventKind;
use crate::plugin::{Cache, LoadError, Plugin, PluginTool};
use crate::sandbox::SandboxError;
use crate::sandbox::capability::Model;
use crate::sandbox::http::{Network, Resolver};
use crate::session::Telling;
use crate::session::{Session, SessionError, SessionSpec};
use crate::store::{Store, StoreError};
use arc_swap::ArcSwap;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Most notices of closed sessions that wait to be taken.
const MAX_NOTICES: usize = 256;

/// Loaded plugins, ready to be asked. Cheap to clone; all clones are the same host.
#[derive(Clone)]
pub struct Host {
    shared: Arc<Shared>,
}

struct Shared {
    /// What events that begin now are settled under.
    rules: ArcSwap<RuleSet>,
    /// Held while a new set is made: they take turns.
    reloading: tokio::sync::Mutex<()>,
    cache: Option<Cache>,
    actions: ActionMap,
    approver: Option<Arc<dyn Approver>>,
    model: Option<Arc<dyn Model>>,
    network: Arc<Network>,
    store: Store,
    telling: Telling,
    /// The open sessions by identifier, each with the root of its tree.
    open: Mutex<HashMap<String, String>>,
    /// What the user is to be told of sessions that are closed.
    notices: Mutex<Vec<String>>,
}

/// What a host is built from.
pub struct HostBuilder {
    config: Config,
    cache: Option<PathBuf>,
    actions: ActionMap,
    approver: Option<Arc<dyn Approver>>,
    model: Option<Arc<dyn Model>>,
    network: Network,
    store: Option<PathBuf>,
}

/// Why there is no host.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A plugin of the allowlist cannot be loaded. All of its enabled entries load, or none.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The machine gives no room for the sandbox.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// Audit log and state cannot be kept where they should.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Host {
    /// A host of what `config` allows.
    #[must_use]
    pub fn builder(config: Config) -> HostBuilder {
        HostBuilder {
            config,
            cache: None,
            actions: ActionMap::default(),
            approver: None,
            model: None,
            network: Network::default(),
            store: None,
        }
    }

    /// Opens a session.
    ///
    /// # Errors
    /// If the schema of one of its tools is not a JSON Schema, or its identifier is none or that of an open session.
    pub fn open_session(&self, spec: SessionSpec) -> Result<Session, SessionError> {
        Session::open(self.clone(), spec)
    }

    /// The loaded plugins, in chain order.
    #[must_use]
    pub fn plugins(&self) -> Vec<Plugin> {
        self.rules().plugins().to_vec()
    }

    /// The plugins that hear an event, in the order in which they are asked: by priority, then by name.
    #[must_use]
    pub fn chain(&self, event: EventKind) -> Vec<Plugin> {
        self.rules().chain(event).to_vec()
    }

    /// The tools that plugins bring, in chain order. A plugin in audit mode brings none.
    #[must_use]
    pub fn tools(&self) -> Vec<PluginTool> {
        self.rules().plugins().iter().flat_map(|plugin| plugin.tools().to_vec()).collect()
    }

    /// Whether any plugin hears an event.
    #[must_use]
    pub fn subscribed(&self, event: EventKind) -> bool {
        self.rules().subscribed(event)
    }

    /// Takes up another configuration, while sessions run: its plugins are loaded and checked aside, then take the place of
    /// the old ones between two events. An event under way is settled, recorded and told to observers by the plugins that
    /// it began with; none is lost, asked about twice, or settled by some of both. What the new configuration leaves as it
    /// was is not compiled again. The log says what was taken up.
    ///
    /// A plugin that is new hears of a session from its next event on: it gets no `session-start`. Failures in a row count
    /// anew for a plugin that has changed; model calls do not.
    ///
    /// # Errors
    /// As [`HostBuilder::build`]; then all stays as it was.
    pub async fn reload(&self, config: &Config) -> Result<Changes, Error> {
        let shared = &self.shared;
        let _turn = shared.reloading.lock().await;
        let before = self.rules();
        let rules = RuleSet::load(config, shared.cache.as_ref(), Some(&before)).await?;
        let changes = rules.changes_since(&before);
        if changes.is_empty() {
            return Ok(changes);
        }
        let record = RulesChanged::new(rules.plugins(), crate::session::now());
        if shared.store.keeps_log() {
            shared.store.push(record.body(&rules.settings().audit))?;
        }
        shared.rules.store(Arc::new(rules));
        Ok(changes)
    }

    /// Waits until observers have heard of everything and all of it is recorded, for `deadline` at most. Whatever ends a
    /// process that has opened sessions calls it last. Events that observers have not heard of by then are given up; how
    /// many they were is recorded, and returned.
    ///
    /// # Errors
    /// If the last records could not be written.
    pub async fn drain(&self, deadline: Duration) -> Result<u64, StoreError> {
        let given_up = self.shared.telling.drain(deadline).await;
        self.shared.store.flush().await?;
        Ok(given_up)
    }

    /// What the user is to be told of sessions that are closed, each sentence once: what their own
    /// [`take_notices`](crate::Session::take_notices) was not asked for, and what observers did afterwards. At most 256 wait
    /// here. A process that ends takes them behind [`Self::drain`].
    #[must_use]
    pub fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut *self.shared.notices.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn leave_notices(&self, notices: Vec<String>) {
        let mut left = self.shared.notices.lock().unwrap_or_else(PoisonError::into_inner);
        let room = MAX_NOTICES.saturating_sub(left.len());
        left.extend(notices.into_iter().take(room));
    }

    pub(crate) fn actions(&self) -> &ActionMap {
        &self.shared.actions
    }

    pub(crate) fn approver(&self) -> Option<&dyn Approver> {
        self.shared.approver.as_deref()
    }

    pub(crate) fn model(&self) -> Option<Arc<dyn Model>> {
        self.shared.model.clone()
    }

    pub(crate) fn network(&self) -> Arc<Network> {
        Arc::clone(&self.shared.network)
    }

    pub(crate) fn store(&self) -> &Store {
        &self.shared.store
    }

    pub(crate) fn telling(&self) -> &Telling {
        &self.shared.telling
    }

    /// What events that begin now are settled under.
    pub(crate) fn rules(&self) -> Arc<RuleSet> {
        self.shared.rules.load_full()
    }

    fn open(&self) -> MutexGuard<'_, HashMap<String, String>> {
        self.shared.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a session identifier; false where an open session has it.
    pub(crate) fn claim(&self, id: &str, root: &str) -> bool {
        let mut open = self.open();
        let is_free = !open.contains_key(id);
        if is_free {
            open.insert(id.to_owned(), root.to_owned());
        }
        is_free
    }

    /// The root of the tree that a session is in, as far as this host knows: where it is not open here, itself.
    pub(crate) fn root_of(&self, id: &str) -> String {
        self.open().get(id).cloned().unwrap_or_else(|| id.to_owned())
    }

    pub(crate) fn release(&self, id: &str) {
        self.open().remove(id);
    }
}

impl HostBuilder {
    /// What the embedder's tools do, in place of [`ActionMap::default`].
    #[must_use]
    pub fn actions(mut self, actions: ActionMap) -> Self {
        self.actions = actions;
        self
    }

    /// Keeps compiled code in this folder, which must be the user's alone (it is made so where it is missing); without one,
    /// every start compiles. A folder or file that others can reach is not used, and the log says so.
    #[must_use]
    pub fn cache(mut self, folder: impl Into<PathBuf>) -> Self {
        self.cache = Some(folder.into());
        self
    }

    /// Keeps the audit log and the state of plugins in this database, which is made where there is none; several processes
    /// may share it. Without one, nothing is recorded, and state lives as long as the host.
    #[must_use]
    pub fn store(mut self, file: impl Into<PathBuf>) -> Self {
        self.store = Some(file.into());
        self
    }

    /// Who answers escalations; without one, each is rejected.
    #[must_use]
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = Some(approver);
        self
    }

    /// The models behind the capability `model`; without one, each side call is denied.
    #[must_use]
    pub fn model(mut self, model: Arc<dyn Model>) -> Self {
        self.model = Some(model);
        self
    }

    /// Who turns the names of servers into addresses, for the grant `http`; without one, the operating system does.
    #[must_use]
    pub fn resolver(mut self, resolver: Arc<dyn Resolver>) -> Self {
        self.network = Network::new(resolver);
        self
    }

    /// Loads every enabled entry, or none.
    ///
    /// # Errors
    /// If a plugin cannot be loaded, the store cannot be used, or there is no room for the sandbox.
    pub async fn build(self) -> Result<Host, Error> {
        let cache = self.cache.as_deref().and_then(|folder| {
            let failed = |error| tracing::warn!(folder = %folder.display(), %error, "compiled code is not kept");
            Cache::open(folder).map_err(failed).ok()
        });
        let rules = RuleSet::load(&self.config, cache.as_ref(), None).await?;
        let store = match &self.store {
            Some(file) => Store::open(file, crate::session::now())?,
            None => Store::in_memory(),
        };
        let Self { actions, approver, model, network, .. } = self;
        let shared = Shared {
            rules: ArcSwap::from_pointee(rules),
            reloading: tokio::sync::Mutex::default(),
            cache,
            actions,
            approver,
            model,
            network: Arc::new(network),
            store,
            telling: Telling::default(),
            open: Mutex::default(),
            notices: Mutex::default(),
        };
        Ok(Host { shared: Arc::new(shared) })
    }
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host").field("plugins", &self.plugins()).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for HostBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostBuilder").finish_non_exhaustive()
    }
}
