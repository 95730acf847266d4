//! The host: the active rules, and what an embedder provides.

pub use crate::active_config::{Changes, RuleSet, RuleSource};

use crate::active_config::{ActiveConfig, Loading, NotActive};
use crate::approval::{Approval, ApprovalRequest, Approver};
use crate::audit::{AuditSink, RulesChanged, ToRecord as _};
use crate::config::{Config, Entry, Settings};
use crate::contract::action::ActionMap;
use crate::contract::{EventKind, ToolCall, ToolCallVerdict};
use crate::engine::Engine;
use crate::native::Rule;
#[cfg(feature = "cache")]
use crate::plugin::Cache;
use crate::plugin::{LoadError, Plugin, PluginTool};
use crate::runtime::{self, Missing};
use crate::sandbox::SandboxError;
use crate::sandbox::capability::{Capability, Model, OwnCapabilities};
use crate::sandbox::http::Network;
#[cfg(feature = "http")]
use crate::sandbox::http::Resolver;
use crate::session::{
    Clock, Notice, ObserverTasks, QuestionGone, Services, Session, SessionError, SessionSpec, SystemClock,
};
use crate::store::{KeptOutcome, LateWrite, OutcomeChange, Store, StoreError};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Loaded plugins, ready to be asked. Cheap to clone; all clones are the same host.
///
/// ```
/// use hookhost::contract::{Refusal, ToolCall};
/// use hookhost::{Config, Host};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let no_deploys = |call: &ToolCall| (call.name == "deploy").then(|| Refusal::new("deploys are frozen"));
/// let host = Host::builder(Config::empty()).rule("no-deploys", no_deploys).build().await?;
///
/// let session = host.session("my-agent", "/work")?;
/// let outcome = session.check_tool("deploy", &serde_json::json!({})).await.outcome;
/// assert_eq!(outcome.to_string(), "Rejected by no-deploys: deploys are frozen");
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Clone)]
pub struct Host {
    shared: Arc<HostInner>,
}

struct HostInner {
    services: Arc<Services>,
    /// Held while a new configuration is loaded, so that only one is loaded at a time.
    reloading: tokio::sync::Mutex<()>,
    loading: Loading,
    /// Entries of the program itself, which hold under each configuration.
    entries: Vec<Entry>,
}

/// Builds a host.
///
/// ```
/// use hookhost::approval::PendingApprovals;
/// use hookhost::config::Entry;
/// use hookhost::{Config, Host};
/// use std::sync::Arc;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// # let plugins = std::env::var_os("HOOKHOST_PLUGINS").map_or("../../target/plugins".into(), std::path::PathBuf::from);
/// # let state = tempfile::tempdir()?;
/// # let state = state.path();
/// let guard = Entry::from_file("no-force-push", plugins.join("no_force_push.wasm"))?;
/// let pending = Arc::new(PendingApprovals::default());
/// let host = Host::builder(Config::empty())
///     .plugin(guard)
///     // The next start compiles nothing.
///     .cache(state.join("compiled"))
///     // The audit log and the state of plugins.
///     .store(state.join("hookhost.db"))
///     // A person answers on a page of the program.
///     .approver(pending.clone())
///     .build()
///     .await?;
/// assert_eq!(host.plugins()[0].name(), "no-force-push");
/// assert!(pending.list().is_empty());
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
pub struct HostBuilder {
    config: Config,
    /// Entries beside those of the configuration.
    entries: Vec<Result<Entry, crate::config::ConfigError>>,
    version: Option<Arc<str>>,
    clock: Arc<dyn Clock>,
    engine: Engine,
    #[cfg(feature = "cache")]
    cache: Option<PathBuf>,
    actions: ActionMap,
    approver: Option<Arc<dyn Approver>>,
    shares_questions: bool,
    model: Option<Arc<dyn Model>>,
    capabilities: Vec<Arc<dyn Capability>>,
    network: Network,
    store: Option<PathBuf>,
    sink: Option<Arc<dyn AuditSink>>,
}

/// The reason why there is no host.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An entry of [`HostBuilder::plugin`] cannot be used.
    #[error(transparent)]
    Config(#[from] crate::config::ConfigError),
    /// A plugin of the allowlist cannot be loaded. All of its enabled entries load, or none.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The machine has no address space for the sandbox.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// Audit log and state cannot be kept where they should.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A capability of [`HostBuilder::capability`] has no valid name or interface; one sentence says which.
    #[error("{0}")]
    Capability(String),
    /// There is no tokio runtime.
    #[error("a host is built and used within a tokio runtime: call it from one, or use `hookhost::blocking`")]
    NoRuntime,
    /// The tokio runtime has no timer.
    #[error("a host needs the timer of its tokio runtime: build the runtime with `enable_time` or `enable_all`")]
    NoTimer,
    /// There are no threads for a [`blocking`](crate::blocking) host.
    #[error("the threads of a blocking host could not be started: {0}")]
    NoThreads(String),
}

impl From<NotActive> for Error {
    fn from(error: NotActive) -> Self {
        match error {
            NotActive::Load(error) => Self::Load(error),
            NotActive::Sandbox(error) => Self::Sandbox(error),
        }
    }
}

impl Host {
    /// A host of what `config` allows.
    #[must_use]
    pub fn builder(config: Config) -> HostBuilder {
        HostBuilder {
            config,
            entries: Vec::new(),
            version: None,
            clock: Arc::new(SystemClock),
            engine: Engine::new(),
            #[cfg(feature = "cache")]
            cache: crate::plugin::cache::default_directory(),
            actions: ActionMap::default(),
            approver: None,
            shares_questions: false,
            model: None,
            capabilities: Vec::new(),
            network: Network::default(),
            store: None,
            sink: None,
        }
    }

    /// Opens a session of the agent program `agent` in the directory `workspace`, an absolute path.
    ///
    /// # Errors
    /// If the path is not absolute.
    pub fn session(&self, agent: &str, workspace: impl AsRef<Path>) -> Result<Session, SessionError> {
        self.open_session(SessionSpec::new(agent, workspace.as_ref()))
    }

    /// Opens a session.
    ///
    /// # Errors
    /// If the schema of one of its tools is not a JSON Schema, or its identifier or a directory of it is invalid.
    pub fn open_session(&self, spec: SessionSpec) -> Result<Session, SessionError> {
        Session::open(Arc::clone(&self.shared.services), spec)
    }

    /// The loaded plugins, in chain order.
    #[must_use]
    pub fn plugins(&self) -> Vec<Plugin> {
        self.shared.services.rules.plugins()
    }

    /// The plugins that subscribe to an event, in the order in which they are asked: by priority, then by name.
    #[must_use]
    pub fn chain(&self, event: EventKind) -> Vec<Plugin> {
        self.shared.services.rules.chain(event)
    }

    /// The tools that plugins bring, in chain order. A plugin in audit mode brings none.
    #[must_use]
    pub fn tools(&self) -> Vec<PluginTool> {
        self.shared.services.rules.tools()
    }

    /// Returns true if any plugin subscribes to an event.
    #[must_use]
    pub fn has_subscriber(&self, event: EventKind) -> bool {
        self.shared.services.rules.has_subscriber(event)
    }

    /// The settings that events that begin now are settled under.
    #[must_use]
    pub fn settings(&self) -> Settings {
        self.shared.services.rules.settings()
    }

    /// The configuration under which the host runs, with the program's own entries. An entry names its code by digest;
    /// [`Self::plugins`] has what was loaded. A reload that changes no rule leaves it as it is.
    #[must_use]
    pub fn config(&self) -> Config {
        self.shared.services.rules.config()
    }

    /// Activates another configuration while sessions run. Its plugins are loaded and checked separately, and replace the old
    /// ones between two events. An event under way is settled, recorded and dispatched to observers under the plugins that
    /// it began with: no event is lost, asked about twice, or settled by some of both. Unchanged plugins are not compiled
    /// again. The log records the change.
    ///
    /// A new plugin takes part in a session from its next event on: it gets no `session-start`. Failures in a row count
    /// from 0 for a plugin that has changed; model calls do not.
    ///
    /// # Errors
    /// As [`HostBuilder::build`]; then nothing has changed.
    pub async fn reload(&self, config: &Config) -> Result<Changes, Error> {
        self.reload_rules(&self.shared.services.rules, config).await
    }

    /// The same for the rules of a rule set, and the sessions that run under it.
    ///
    /// # Errors
    /// As [`HostBuilder::build`]; then nothing has changed.
    pub async fn reload_rules(&self, rules: &RuleSet, config: &Config) -> Result<Changes, Error> {
        let HostInner { services, reloading, loading, entries } = &*self.shared;
        let _turn = reloading.lock().await;
        let before = rules.active();
        let config = ActiveConfig::load(loading, &config.clone().with_entries(entries.clone())?).await?;
        let changes = config.changes_since(&before);
        if changes.is_empty() {
            return Ok(changes);
        }
        let record = RulesChanged { time: services.now(), plugins: config.loaded() };
        if services.store.wants_records() {
            services.store.push(LateWrite::of(record.body(&config.settings().audit)))?;
        }
        rules.replace(config);
        Ok(changes)
    }

    /// The rules of sessions that name no others.
    #[must_use]
    pub fn rules(&self) -> RuleSet {
        self.shared.services.rules.clone()
    }

    /// Loads another configuration beside the host's own, for the sessions that name it ([`SessionSpec::rules`]).
    ///
    /// # Errors
    /// As [`HostBuilder::build`].
    pub async fn load_rules(&self, config: &Config) -> Result<RuleSet, Error> {
        let HostInner { loading, entries, .. } = &*self.shared;
        let config = config.clone().with_entries(entries.clone())?;
        Ok(RuleSet::new(ActiveConfig::load(loading, &config).await?))
    }

    /// Waits until observers have handled all events and their calls are recorded, for `deadline` at most. Call it last in a
    /// process that has opened sessions. Events that observers have not handled by then are given up; their number is
    /// recorded and returned.
    ///
    /// # Errors
    /// If the last records could not be written.
    pub async fn drain(&self, deadline: Duration) -> Result<u64, StoreError> {
        let given_up = self.shared.services.observer_tasks.drain(deadline).await;
        self.shared.services.store.flush().await?;
        Ok(given_up)
    }

    /// Writes what was recorded so far. Records that need not be there at once are otherwise written within 20 ms.
    ///
    /// # Errors
    /// If they could not be written; they are tried again later.
    pub async fn flush(&self) -> Result<(), StoreError> {
        self.shared.services.store.flush().await
    }

    /// The questions that wait for a person's answer, of all processes with the same store that share theirs, the first to
    /// expire first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn questions(&self) -> Result<Vec<ApprovalRequest>, StoreError> {
        self.shared.services.open_questions().await
    }

    /// Answers a question, of this process or another one with the same store. The first answer counts. The process
    /// that asked settles and records the event.
    ///
    /// # Errors
    /// If the question waits for no answer any more, or the answer cannot be written.
    pub async fn answer(&self, id: &str, approval: Approval) -> Result<(), QuestionGone> {
        self.shared.services.answer(id, approval).await
    }

    /// Keeps the outcome of a call in the store, soon, for hosts that come after this one.
    ///
    /// # Errors
    /// If too much waits to be written.
    pub fn keep_outcome(&self, kept: KeptOutcome) -> Result<(), StoreError> {
        self.change_outcome(OutcomeChange::Keep(kept))
    }

    /// Forgets the outcome of a call, soon.
    ///
    /// # Errors
    /// If too much waits to be written.
    pub fn forget_outcome(&self, call: [u8; 32]) -> Result<(), StoreError> {
        self.change_outcome(OutcomeChange::Forget(call))
    }

    fn change_outcome(&self, change: OutcomeChange) -> Result<(), StoreError> {
        self.shared.services.store.push(LateWrite { outcome: Some(change), ..LateWrite::default() })
    }

    /// Returns the outcomes that hosts with the same store have kept, and that count now.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn kept_outcomes(&self) -> Result<Vec<KeptOutcome>, StoreError> {
        let services = &self.shared.services;
        services.store.outcomes(services.now()).await
    }

    /// The notices of closed sessions for the user, each once: what their own
    /// [`take_notices`](crate::Session::take_notices) was not asked for, and what observers did afterwards. At most 256 wait
    /// here. A process that ends takes them after [`Self::drain`].
    #[must_use]
    pub fn take_notices(&self) -> Vec<Notice> {
        self.shared.services.take_notices()
    }
}

impl HostBuilder {
    /// Loads this plugin, too. It is the program's: it holds under each configuration that the host is given later.
    #[must_use]
    pub fn plugin(mut self, entry: Entry) -> Self {
        self.entries.push(Ok(entry));
        self
    }

    /// Asks a closure about each tool call: a rule of the program itself, without wasm. It answers with a
    /// [`ToolCallVerdict`], or with what becomes one: a `Refusal`, an `Escalation`, or an
    /// `Option` of either. Rules about other events are a [`Rule`], which [`Entry::from_rule`] names.
    #[must_use]
    pub fn rule<V: Into<ToolCallVerdict>>(
        self,
        name: impl Into<String>,
        rule: impl Fn(&ToolCall) -> V + Send + Sync + 'static,
    ) -> Self {
        self.plugin(Entry::from_rule(name, Rule::new().before_tool_call(move |_, call| rule(call))))
    }

    /// Asks a plugin of the guest SDK as part of the program, without wasm: the type of which a component is built.
    /// `config` is its configuration, an object or `null`.
    #[cfg(feature = "native")]
    #[must_use]
    pub fn native<P: hookhost_guest::Plugin + 'static>(mut self, name: &str, config: serde_json::Value) -> Self {
        let mut entry = Entry::from_rule(name, Rule::of::<P>());
        self.entries.push(match config {
            serde_json::Value::Null => Ok(entry),
            serde_json::Value::Object(config) => {
                entry.config = config;
                Ok(entry)
            }
            _ => {
                let why = "its configuration is neither a JSON object nor `null`".to_owned();
                Err(crate::config::ConfigError::Entry { name: name.to_owned(), why })
            }
        });
        self
    }

    /// Sets the version of this program, which records of its native rules name in place of a digest:
    /// `env!("CARGO_PKG_VERSION")`.
    #[must_use]
    pub fn version(mut self, version: impl Into<Arc<str>>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// Sets the clock; without one, it is the operating system's.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Runs the plugins on this engine, which other hosts share; without it, the host has one of its own.
    #[must_use]
    pub fn engine(mut self, engine: &Engine) -> Self {
        self.engine = engine.clone();
        self
    }

    /// The actions of the embedder's own tools: rows beside the tables of [`ActionMap`].
    #[must_use]
    pub fn actions(mut self, actions: ActionMap) -> Self {
        self.actions = actions;
        self
    }

    /// Keeps compiled code in this directory, which must be the user's alone (it is created so if it is missing). A directory or
    /// file that others can access is not used, and the log says so. By default it is the command's: `HOOKHOST_CACHE_DIR`, or
    /// `hookhost` in the platform's directory for caches, and in it `compiled`. Where neither is known, every start compiles.
    #[cfg(feature = "cache")]
    #[must_use]
    pub fn cache(mut self, directory: impl Into<PathBuf>) -> Self {
        self.cache = Some(directory.into());
        self
    }

    /// Keeps no compiled code, so that every start compiles.
    #[cfg(feature = "cache")]
    #[must_use]
    pub fn without_cache(mut self) -> Self {
        self.cache = None;
        self
    }

    /// Keeps the audit log and the state of plugins in this database, which is created if it is missing; several processes
    /// may share it. Without one, only [`Self::audit`] gets records, and state lives as long as the host.
    #[must_use]
    pub fn store(mut self, file: impl Into<PathBuf>) -> Self {
        self.store = Some(file.into());
        self
    }

    /// Gives each record of the audit log to `sink`, too, with or without a store ([`AuditSink`]): a
    /// [`MemoryLog`](crate::audit::MemoryLog), or a function.
    #[must_use]
    pub fn audit(mut self, sink: impl AuditSink + 'static) -> Self {
        self.sink = Some(Arc::new(sink));
        self
    }

    /// Sets the approver, which answers escalations; without one, each is rejected.
    #[must_use]
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = Some(approver);
        self
    }

    /// Has other processes with the same store answer questions, too ([`Self::store`]). Every program that can write that file
    /// can then say yes, what the agent itself has started as this user included: leave it off where a tool of the agent could.
    #[must_use]
    pub fn share_questions(mut self) -> Self {
        self.shares_questions = true;
        self
    }

    /// The models behind the capability `model`; without one, each side call is denied.
    #[must_use]
    pub fn model(mut self, model: Arc<dyn Model>) -> Self {
        self.model = Some(model);
        self
    }

    /// Adds a capability that plugins may import if their entries grant it (see [`Capability`]).
    #[must_use]
    pub fn capability(mut self, capability: Arc<dyn Capability>) -> Self {
        self.capabilities.push(capability);
        self
    }

    /// Sets the resolver of server names, for the grant `http`; without one, the operating system resolves them.
    #[cfg(feature = "http")]
    #[must_use]
    pub fn resolver(mut self, resolver: Arc<dyn Resolver>) -> Self {
        self.network = Network::new(resolver);
        self
    }

    /// Loads every enabled entry, or none.
    ///
    /// # Errors
    /// If a plugin cannot be loaded, the store cannot be used, there is no room for the sandbox, or there is no tokio runtime with a timer.
    pub async fn build(self) -> Result<Host, Error> {
        runtime::check().map_err(|missing| match missing {
            Missing::Runtime => Error::NoRuntime,
            Missing::Timer => Error::NoTimer,
        })?;
        let entries = self.entries.into_iter().collect::<Result<Vec<_>, _>>()?;
        let config = self.config.with_entries(entries.clone())?;
        #[cfg(feature = "cache")]
        let cache = self.cache.as_deref().and_then(|directory| {
            let failed = |error| tracing::warn!(directory = %directory.display(), %error, "compiled code is not kept");
            Cache::open(directory).map_err(failed).ok()
        });
        let own = OwnCapabilities::new(self.capabilities).map_err(Error::Capability)?;
        let loading = Loading {
            engine: self.engine,
            #[cfg(feature = "cache")]
            cache,
            own: own.clone(),
            version: self.version,
        };
        let config = ActiveConfig::load(&loading, &config).await?;
        let store = match &self.store {
            Some(file) => Store::open(file, crate::session::now())?,
            None => Store::in_memory(),
        }
        .with_sink(self.sink);
        let Self { clock, actions, approver, shares_questions, model, network, .. } = self;
        let services = Services {
            rules: RuleSet::new(config),
            actions,
            approver,
            shares_questions,
            model,
            own,
            network: Arc::new(network),
            store,
            clock,
            observer_tasks: ObserverTasks::default(),
            open: Mutex::default(),
            notices: Mutex::default(),
        };
        // Questions of processes that are gone.
        services.open_questions().await?;
        let reloading = tokio::sync::Mutex::default();
        let shared = HostInner { services: Arc::new(services), reloading, loading, entries };
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
