//! The host: the active rules, and the services that an embedder provides.

mod labels;

pub use crate::active_config::{Changes, RuleSet, RuleSource};

use crate::active_config::{ActiveConfig, Loading, NotActive};
use crate::approval::{Approval, ApprovalRequest, Approver};
#[cfg(feature = "store")]
use crate::audit::Archived;
use crate::audit::{AuditSink, OperatorAction, RulesChanged, ToRecord as _};
use crate::config::{Config, Entry, Settings};
use crate::contract::action::ActionMap;
use crate::contract::{EventKind, PasskeyProof, ToolCall, ToolCallVerdict};
use crate::engine::Engine;
use crate::native::Rule;
use crate::passkey::{NewPasskey, PasskeyChange, Passkeys};
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
    Clock, Notice, ObserverTasks, PasskeyError, QuestionGone, Services, Session, SessionError, SessionSpec, SystemClock,
};
#[cfg(feature = "store")]
use crate::store::RuleTexts;
use crate::store::{KeptOutcome, LateWrite, OutcomeChange, Store, StoreError, Unit};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A host: loaded plugins that decide the events of sessions. A host is cheap to clone, and all clones are the same
/// host.
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
    /// Locked while a new configuration is loaded, because only one configuration may be loaded at a time.
    reloading: tokio::sync::Mutex<()>,
    loading: Loading,
    /// Entries that the program adds to each configuration.
    entries: Vec<Entry>,
    #[cfg(feature = "store")]
    rule_texts: Option<RuleTexts>,
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
    /// Entries that the program adds to the configuration.
    entries: Vec<Result<Entry, crate::config::ConfigError>>,
    version: Option<Arc<str>>,
    clock: Arc<dyn Clock>,
    engine: Engine,
    #[cfg(feature = "cache")]
    cache: Option<PathBuf>,
    actions: ActionMap,
    approver: Option<Arc<dyn Approver>>,
    shares_questions: bool,
    shares_questions_with_passkey: bool,
    model: Option<Arc<dyn Model>>,
    capabilities: Vec<Arc<dyn Capability>>,
    network: Network,
    store: Option<PathBuf>,
    sink: Option<Arc<dyn AuditSink>>,
}

/// A reason why a host cannot be built or reloaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An entry of [`HostBuilder::plugin`] cannot be used.
    #[error(transparent)]
    Config(#[from] crate::config::ConfigError),
    /// A plugin of the allowlist cannot be loaded. In this case, no other plugin of the allowlist is loaded either.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The machine has no address space for the sandbox.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The database for the audit log and the state cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A capability of [`HostBuilder::capability`] has an invalid name or interface. The string is a sentence that
    /// describes the problem.
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
    /// Returns a builder for a host with the plugins that `config` allows.
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
            shares_questions_with_passkey: false,
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
    /// If the schema of one of the session's tools is not a JSON Schema, or if the session's identifier or one of its
    /// directories is invalid.
    pub fn open_session(&self, spec: SessionSpec) -> Result<Session, SessionError> {
        Session::open(Arc::clone(&self.shared.services), spec)
    }

    /// The loaded plugins, in chain order.
    #[must_use]
    pub fn plugins(&self) -> Vec<Plugin> {
        self.shared.services.rules.plugins()
    }

    /// Returns the plugins that subscribe to an event, in the order in which they are asked: by priority, then by
    /// name.
    #[must_use]
    pub fn chain(&self, event: EventKind) -> Vec<Plugin> {
        self.shared.services.rules.chain(event)
    }

    /// The tools that plugins provide, in chain order. A plugin in observe mode provides none.
    #[must_use]
    pub fn tools(&self) -> Vec<PluginTool> {
        self.shared.services.rules.tools()
    }

    /// Returns true if any plugin subscribes to an event.
    #[must_use]
    pub fn has_subscriber(&self, event: EventKind) -> bool {
        self.shared.services.rules.has_subscriber(event)
    }

    /// Returns the settings that apply to new events.
    #[must_use]
    pub fn settings(&self) -> Settings {
        self.shared.services.rules.settings()
    }

    /// Returns the active configuration, including the entries that the program adds. An entry contains the
    /// digest of its plugin's code, but not the code; [`Self::plugins`] returns the loaded plugins. A reload that
    /// changes no rule does not replace this configuration.
    #[must_use]
    pub fn config(&self) -> Config {
        self.shared.services.rules.config()
    }

    /// Activates another configuration while sessions run. The new plugins are loaded and checked first, and then
    /// replace the old plugins between two events. If an event is in progress at that moment, the plugins with which
    /// the event began still decide it and observe it. So no event is lost, dispatched twice, or decided by a mix of
    /// old and new plugins. Unchanged plugins are not compiled again. The log records the change.
    ///
    /// A new plugin takes part in an open session from the session's next event on, so the plugin gets no
    /// `session-start`. For a changed plugin, the host counts failures in a row from 0 again, but continues the count
    /// of model calls.
    ///
    /// # Errors
    /// As [`HostBuilder::build`]. The previous configuration then stays active.
    pub async fn reload(&self, config: &Config) -> Result<Changes, Error> {
        self.reload_rules(&self.shared.services.rules, config).await
    }

    /// Like [`Self::reload`], but replaces the configuration of the rule set `rules`, which affects only the sessions
    /// that use this rule set.
    ///
    /// # Errors
    /// As [`HostBuilder::build`]. The previous configuration then stays active.
    pub async fn reload_rules(&self, rules: &RuleSet, config: &Config) -> Result<Changes, Error> {
        let HostInner { services, reloading, loading, entries, .. } = &*self.shared;
        let _turn = reloading.lock().await;
        let before = rules.active();
        let config = ActiveConfig::load(loading, &config.clone().with_entries(entries.clone())?).await?;
        let changes = config.changes_since(&before);
        if changes.is_empty() {
            return Ok(changes);
        }
        self.shared.keep_texts(&config);
        let record = RulesChanged { time: services.now(), plugins: config.loaded() };
        if services.store.wants_records() {
            services.store.push(LateWrite::of(record.body(&config.settings().audit)))?;
        }
        rules.replace(config);
        Ok(changes)
    }

    /// Returns the host's own rule set. A session uses this rule set unless the specification of the session names
    /// another rule set.
    #[must_use]
    pub fn rules(&self) -> RuleSet {
        self.shared.services.rules.clone()
    }

    /// Loads another configuration in addition to the host's own, and returns its rule set. A session uses this rule
    /// set if the specification of the session names it ([`SessionSpec::rules`]).
    ///
    /// # Errors
    /// As [`HostBuilder::build`].
    pub async fn load_rules(&self, config: &Config) -> Result<RuleSet, Error> {
        let HostInner { loading, entries, .. } = &*self.shared;
        let config = config.clone().with_entries(entries.clone())?;
        let config = ActiveConfig::load(loading, &config).await?;
        self.shared.keep_texts(&config);
        Ok(RuleSet::new(config))
    }

    /// Waits, for `deadline` at most, until observers have handled all events and the calls of the observers are
    /// recorded. Call this last in a process that has opened sessions. After the deadline, the remaining events are
    /// dropped, and their number is recorded and returned.
    ///
    /// # Errors
    /// If the last records could not be written.
    pub async fn drain(&self, deadline: Duration) -> Result<u64, StoreError> {
        let given_up = self.shared.services.observer_tasks.drain(deadline).await;
        self.shared.services.store.flush().await?;
        Ok(given_up)
    }

    /// Writes all records so far to the store at once. Without this call, the host may take 20 ms to write records that
    /// are not urgent.
    ///
    /// # Errors
    /// If the records could not be written. The host tries again later.
    pub async fn flush(&self) -> Result<(), StoreError> {
        self.shared.services.store.flush().await
    }

    /// Returns the questions that wait for a person's answer, in the order in which they expire. The list also contains
    /// the questions of other processes that use the same store and call [`HostBuilder::share_questions`].
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn questions(&self) -> Result<Vec<ApprovalRequest>, StoreError> {
        self.shared.services.open_questions().await
    }

    /// Answers a question of this process, or of another process with the same store. If there are several answers,
    /// the first counts. The process that asked then decides the event and records it. If the question is about a call
    /// that was rejected ([`ApprovalRequest::is_overridable`]), nobody waits for the answer, so it is recorded here.
    ///
    /// # Errors
    /// If the question no longer waits for an answer, or the answer cannot be written.
    pub async fn answer(&self, id: &str, approval: Approval) -> Result<(), QuestionGone> {
        self.shared.services.answer(id, approval).await
    }

    /// Records that an answer to a question does not count, for a reason that the caller has found, such as that the
    /// person was shown another text. `why` is the end of a sentence that begins with "the answer does not count:". The
    /// question stays open. Of many such answers in a short time, only the first are recorded.
    pub fn refuse_answer(&self, request: &ApprovalRequest, approval: Approval, why: &str) {
        self.shared.services.refuse_answer(request, approval, why);
    }

    /// Returns the passkeys that are registered in the store. As soon as there is one, each yes needs a proof
    /// ([`Approval::proof`]).
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn passkeys(&self) -> Result<Passkeys, StoreError> {
        self.shared.services.passkeys().await
    }

    /// Registers a passkey. `own` is the signature of the new passkey over [`Passkeys::challenge_to_add`], and `by` the
    /// signature of a registered one over the same challenge, which only the first passkey does not need. The log
    /// records the change with the signatures.
    ///
    /// # Errors
    /// If a signature does not count, or the change cannot be written.
    pub async fn add_passkey(
        &self,
        new: NewPasskey,
        own: PasskeyProof,
        by: Option<PasskeyProof>,
    ) -> Result<(), PasskeyError> {
        self.shared.services.change_passkeys(PasskeyChange::Add { new, own, by }).await
    }

    /// Removes a passkey. `by` is the signature of a registered passkey over [`Passkeys::challenge_to_remove`].
    ///
    /// # Errors
    /// If the signature does not count, or the change cannot be written.
    pub async fn remove_passkey(&self, id: &str, by: PasskeyProof) -> Result<(), PasskeyError> {
        self.shared.services.change_passkeys(PasskeyChange::Remove { id: id.to_owned(), by }).await
    }

    /// Records a change that the user made to hookhost itself. This method sets the time of the record.
    ///
    /// # Errors
    /// If the record cannot be written.
    pub async fn record_operator_action(&self, action: OperatorAction) -> Result<(), StoreError> {
        let services = &self.shared.services;
        let action = OperatorAction { time: services.now(), ..action };
        let records = vec![action.body(&services.rules.settings().audit)];
        services.store.commit(&Unit { records, time: action.time, ..Unit::default() }).await
    }

    /// Moves old records from the log into a file beside it: the records before a time, in milliseconds since the Unix
    /// epoch, at most 20 000 of them. Returns the record about the archive, or `None` if there is no older record. Events
    /// continue meanwhile. They wait only while the records are removed from the database, after the file is on the disk.
    ///
    /// A record with a later time holds back those after it, even if the clock was wrong when it was written.
    ///
    /// # Errors
    /// If a record is not as it was written, the file cannot be written, or another process archives these records. The
    /// log then still has all records.
    #[cfg(feature = "store")]
    pub async fn archive(&self, before: u64) -> Result<Option<Archived>, StoreError> {
        let services = Arc::clone(&self.shared.services);
        let now = services.now();
        services.store.flush().await?;
        let writing = tokio::task::spawn_blocking(move || services.store.write_archive(before, now));
        let written = writing.await.map_err(|error| StoreError::Io {
            path: PathBuf::new(),
            problem: format!("archiving the log failed: {error}"),
        })??;
        let Some(written) = written else { return Ok(None) };
        self.shared.services.store.commit_archive(&written).await?;
        Ok(Some(written.record().clone()))
    }

    /// Queues the outcome of a call for the store. Later hosts with the same store can read the outcome with
    /// [`Self::kept_outcomes`].
    ///
    /// # Errors
    /// If too many changes wait to be written.
    pub fn keep_outcome(&self, kept: KeptOutcome) -> Result<(), StoreError> {
        self.change_outcome(OutcomeChange::Keep(kept))
    }

    /// Queues the removal of a call's outcome from the store.
    ///
    /// # Errors
    /// If too many changes wait to be written.
    pub fn forget_outcome(&self, call: [u8; 32]) -> Result<(), StoreError> {
        self.change_outcome(OutcomeChange::Forget(call))
    }

    fn change_outcome(&self, change: OutcomeChange) -> Result<(), StoreError> {
        self.shared.services.store.push(LateWrite { outcome: Some(change), ..LateWrite::default() })
    }

    /// Returns the outcomes that [`Self::keep_outcome`] stored in this host or in other hosts with the same store, and
    /// that are still valid.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn kept_outcomes(&self) -> Result<Vec<KeptOutcome>, StoreError> {
        let services = &self.shared.services;
        services.store.outcomes(services.now()).await
    }

    /// Takes the notices of closed sessions for the user. There are two kinds: notices that the session's own
    /// [`take_notices`](crate::Session::take_notices) has not returned, and notices of observers that ran after the
    /// session was closed. Each notice is returned once. The host stores at most 256 notices. When the process ends,
    /// call this method after [`Self::drain`].
    #[must_use]
    pub fn take_notices(&self) -> Vec<Notice> {
        self.shared.services.take_notices()
    }
}

impl HostInner {
    /// Keeps the texts of the rules beside the log. A text that cannot be kept is missing later when somebody asks what a
    /// rule said. It stops no event, because the log names the digest of the rules either way.
    fn keep_texts(&self, config: &ActiveConfig) {
        #[cfg(feature = "store")]
        if let Some(texts) = &self.rule_texts {
            for plugin in config.plugins() {
                let text = serde_json::Value::Object(plugin.entry().config.clone()).to_string();
                if let Err(error) = texts.keep(plugin.shared.config_digest, text, &config.settings().audit) {
                    tracing::warn!(plugin = plugin.name(), %error, "the text of a rule could not be kept beside the log");
                }
            }
        }
        #[cfg(not(feature = "store"))]
        let _ = config;
    }
}

impl HostBuilder {
    /// Adds a plugin of the program itself. The plugin stays loaded when another configuration is loaded later.
    #[must_use]
    pub fn plugin(mut self, entry: Entry) -> Self {
        self.entries.push(Ok(entry));
        self
    }

    /// Adds a rule of the program itself, without WebAssembly. The rule is a closure that is asked about each tool
    /// call. The closure returns a [`ToolCallVerdict`], or a value that converts to one: a `Refusal`, an
    /// `Escalation`, or an `Option` of either. For other events, use a [`Rule`] with [`Entry::from_rule`].
    #[must_use]
    pub fn rule<V: Into<ToolCallVerdict>>(
        self,
        name: impl Into<String>,
        rule: impl Fn(&ToolCall) -> V + Send + Sync + 'static,
    ) -> Self {
        self.plugin(Entry::from_rule(name, Rule::new().before_tool_call(move |_, call| rule(call))))
    }

    /// Adds a plugin that is written with the guest SDK and compiled into the program, without WebAssembly. `P` is the
    /// type that implements the SDK's `Plugin` trait, as for a component. `config` is the plugin's configuration, an
    /// object or `null`.
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

    /// Sets the version of this program, usually `env!("CARGO_PKG_VERSION")`. For native rules, which have no digest,
    /// audit records contain this version.
    #[must_use]
    pub fn version(mut self, version: impl Into<Arc<str>>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// Sets the clock. By default it is the clock of the operating system.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Runs the plugins on this engine, which other hosts can share. By default the host has its own engine.
    #[must_use]
    pub fn engine(mut self, engine: &Engine) -> Self {
        self.engine = engine.clone();
        self
    }

    /// Sets the actions of the embedder's own tools. They are added to the tables of [`ActionMap`].
    #[must_use]
    pub fn actions(mut self, actions: ActionMap) -> Self {
        self.actions = actions;
        self
    }

    /// Keeps compiled code in this directory, which is created if it is missing. Only the user may have access to the
    /// directory and its files. If others can access them, the host does not use them, and logs a warning. By default,
    /// the host uses the directory of the command `hookhost`: `compiled` in `HOOKHOST_CACHE_DIR`, or in `hookhost` in
    /// the platform's cache directory. If neither directory is known, every start compiles all plugins.
    #[cfg(feature = "cache")]
    #[must_use]
    pub fn cache(mut self, directory: impl Into<PathBuf>) -> Self {
        self.cache = Some(directory.into());
        self
    }

    /// Keeps no compiled code. Every start then compiles all plugins.
    #[cfg(feature = "cache")]
    #[must_use]
    pub fn without_cache(mut self) -> Self {
        self.cache = None;
        self
    }

    /// Keeps the audit log and the state of plugins in this database file, which is created if it is missing. Several
    /// processes may share the file. Without a store, only the sink of [`Self::audit`] gets records, and the state of
    /// plugins is lost when the host is dropped.
    #[must_use]
    pub fn store(mut self, file: impl Into<PathBuf>) -> Self {
        self.store = Some(file.into());
        self
    }

    /// Also gives each record of the audit log to `sink`, with or without a store. Examples of a sink ([`AuditSink`])
    /// are a [`MemoryLog`](crate::audit::MemoryLog) and a function.
    #[must_use]
    pub fn audit(mut self, sink: impl AuditSink + 'static) -> Self {
        self.sink = Some(Arc::new(sink));
        self
    }

    /// Sets the approver, which answers escalations. Without an approver, each escalation is rejected.
    #[must_use]
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = Some(approver);
        self
    }

    /// Lets other processes with the same store ([`Self::store`]) answer questions, too. Every program that can write
    /// the store's file can then approve calls, including programs that the agent has started as this user. So do not
    /// call this method if a tool of the agent can write that file.
    #[must_use]
    pub fn share_questions(mut self) -> Self {
        self.shares_questions = true;
        self
    }

    /// Like [`Self::share_questions`], but only if a passkey is registered in the store when the host is built. Then no
    /// program can approve a call without the person.
    #[must_use]
    pub fn share_questions_with_passkey(mut self) -> Self {
        self.shares_questions_with_passkey = true;
        self
    }

    /// Sets the models behind the capability `model`. Without this, each model call of a plugin is denied.
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

    /// Sets the resolver of server names, for the grant `http`. By default the operating system resolves server names.
    #[cfg(feature = "http")]
    #[must_use]
    pub fn resolver(mut self, resolver: Arc<dyn Resolver>) -> Self {
        self.network = Network::new(resolver);
        self
    }

    /// Loads all enabled entries, and returns the host.
    ///
    /// # Errors
    /// If a plugin cannot be loaded, the store cannot be used, there is no address space for the sandbox, or there is
    /// no tokio runtime with a timer.
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
        let mut services = Services {
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
            known_passkeys: Mutex::default(),
            refused_answers: Mutex::default(),
            used_approvals: Mutex::default(),
        };
        // Whoever removes passkeys from the store later is noticed.
        let passkeys = services.passkeys().await?;
        services.shares_questions |= self.shares_questions_with_passkey && passkeys.is_required();
        // This also answers the questions of processes that have ended.
        services.open_questions().await?;
        let reloading = tokio::sync::Mutex::default();
        let shared = HostInner {
            services: Arc::new(services),
            reloading,
            loading,
            entries,
            #[cfg(feature = "store")]
            rule_texts: self.store.as_deref().map(RuleTexts::of),
        };
        shared.keep_texts(&shared.services.rules.active());
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
