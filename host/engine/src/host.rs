//! The host: the loaded plugins, in chain order, and what an embedder brings.

use crate::action::ActionMap;
use crate::allowlist::{AskRule, Config, Settings};
use crate::approval::Approver;
use crate::event::EventKind;
use crate::plugin::{Cache, LoadError, Plugin};
use crate::sandbox::capability::Model;
use crate::sandbox::{Room, Sandbox, SandboxError, may_wait};
use crate::session::Telling;
use crate::session::{Session, SessionError, SessionSpec};
use crate::store::{Store, StoreError};
use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Loaded plugins, ready to be asked. Cheap to clone; all clones are the same host.
#[derive(Clone)]
pub struct Host {
    shared: Arc<Shared>,
}

struct Shared {
    plugins: Vec<Plugin>,
    chains: BTreeMap<EventKind, Vec<Plugin>>,
    actions: ActionMap,
    approver: Option<Arc<dyn Approver>>,
    model: Option<Arc<dyn Model>>,
    store: Store,
    telling: Telling,
    asks: Vec<AskRule>,
    settings: Settings,
    /// Identifiers of the open sessions.
    open: Mutex<HashSet<String>>,
}

/// What a host is built from.
pub struct HostBuilder {
    config: Config,
    cache: Option<PathBuf>,
    actions: ActionMap,
    approver: Option<Arc<dyn Approver>>,
    model: Option<Arc<dyn Model>>,
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
        HostBuilder { config, cache: None, actions: ActionMap::default(), approver: None, model: None, store: None }
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
    pub fn plugins(&self) -> &[Plugin] {
        &self.shared.plugins
    }

    /// The plugins that hear an event, in the order in which they are asked: by priority, then by name.
    #[must_use]
    pub fn chain(&self, event: EventKind) -> &[Plugin] {
        self.shared.chains.get(&event).map_or(&[], Vec::as_slice)
    }

    /// Whether any plugin hears an event.
    #[must_use]
    pub fn subscribed(&self, event: EventKind) -> bool {
        !self.chain(event).is_empty()
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

    pub(crate) fn actions(&self) -> &ActionMap {
        &self.shared.actions
    }

    pub(crate) fn approver(&self) -> Option<&dyn Approver> {
        self.shared.approver.as_deref()
    }

    pub(crate) fn model(&self) -> Option<Arc<dyn Model>> {
        self.shared.model.clone()
    }

    pub(crate) fn store(&self) -> &Store {
        &self.shared.store
    }

    pub(crate) fn telling(&self) -> &Telling {
        &self.shared.telling
    }

    pub(crate) fn asks(&self) -> &[AskRule] {
        &self.shared.asks
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    /// Takes a session identifier; false where an open session has it.
    pub(crate) fn claim(&self, id: &str) -> bool {
        self.shared.open.lock().unwrap_or_else(PoisonError::into_inner).insert(id.to_owned())
    }

    pub(crate) fn release(&self, id: &str) {
        self.shared.open.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
    }

    /// A sentence for each pattern of an entry's `tools` that fits none of a session's tools.
    pub(crate) fn tool_patterns_that_fit_none(&self, spec: &SessionSpec) -> Vec<String> {
        if spec.tools.is_empty() {
            return Vec::new();
        }
        let unfit = |plugin: &Plugin| {
            let tools = plugin.entry().tools.iter().flatten();
            let unfit = tools.filter(|pattern| !spec.tools.iter().any(|tool| pattern.matches(&tool.name)));
            unfit
                .map(|pattern| {
                    format!("the plugin {}: the pattern `{pattern}` of its `tools` fits no tool", plugin.name())
                })
                .collect::<Vec<_>>()
        };
        self.shared.plugins.iter().flat_map(unfit).collect()
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

    /// Loads every enabled entry, or none.
    ///
    /// # Errors
    /// If a plugin cannot be loaded, the store cannot be used, or there is no room for the sandbox.
    pub async fn build(self) -> Result<Host, Error> {
        let mut entries: Vec<_> = self.config.enabled().collect();
        entries.sort_by(|a, b| (a.priority, &a.name).cmp(&(b.priority, &b.name)));
        let room = Room::for_all(entries.iter().map(|entry| &entry.limits));
        let any_waits = entries.iter().any(|entry| may_wait(&entry.grants));
        let sandbox = Arc::new(Sandbox::new(room, any_waits, self.config.settings().concurrent_calls)?);
        let cache = self.cache.as_deref().and_then(|folder| {
            let failed = |error| tracing::warn!(folder = %folder.display(), %error, "compiled code is not kept");
            Cache::open(folder).map_err(failed).ok()
        });
        let mut plugins = Vec::with_capacity(entries.len());
        for entry in entries {
            plugins.push(Plugin::load(&sandbox, cache.as_ref(), entry).await?);
        }
        let mut chains = BTreeMap::<EventKind, Vec<Plugin>>::new();
        for plugin in &plugins {
            for event in plugin.events() {
                chains.entry(event).or_default().push(plugin.clone());
            }
        }
        let store = match &self.store {
            Some(file) => Store::open(file, crate::session::now())?,
            None => Store::in_memory()?,
        };
        let Self { config, actions, approver, model, .. } = self;
        let shared = Shared {
            plugins,
            chains,
            actions,
            approver,
            model,
            store,
            telling: Telling::default(),
            asks: config.asks().to_vec(),
            settings: config.settings().clone(),
            open: Mutex::default(),
        };
        Ok(Host { shared: Arc::new(shared) })
    }
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host").field("plugins", &self.shared.plugins).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for HostBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostBuilder").finish_non_exhaustive()
    }
}
