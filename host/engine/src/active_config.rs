//! The active configuration: the loaded plugins in chain order, and the settings.
//!
//! An active configuration never changes. A new configuration is built separately and replaces the old configuration
//! between events. So each event is decided, recorded and passed to observers under the configuration with which it
//! began. If a lock protected a mutable configuration instead, a change would have to wait for the slowest event. If
//! plugins were replaced one at a time, an event could run through a chain that no configuration describes.

use crate::audit::LoadedPlugin;
use crate::config::{Code, Config, Digest, Enforcement, Entry, Layer, Settings};
use crate::contract::{EventKind, FailureKind, ToolSpec};
use crate::engine::Engine;
use crate::locked::locked;
#[cfg(feature = "cache")]
use crate::plugin::Cache;
use crate::plugin::{Compiler, LoadError, Plugin, PluginTool};
use crate::sandbox::capability::OwnCapabilities;
use crate::sandbox::{PoolSize, SandboxError};
use arc_swap::ArcSwap;
use futures_util::future::BoxFuture;
use std::path::Path;
use std::sync::{Arc, Mutex, Weak};

/// A reason why a configuration cannot become active.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotActive {
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
}

/// The resources with which a host loads each of its configurations.
pub(crate) struct Loading {
    pub(crate) engine: Engine,
    #[cfg(feature = "cache")]
    pub(crate) cache: Option<Cache>,
    pub(crate) own: OwnCapabilities,
    /// Version of the program, for the records of native rules.
    pub(crate) version: Option<Arc<str>>,
}

pub(crate) struct ActiveConfig {
    plugins: Vec<Plugin>,
    /// The chain of plugins for each event, indexed by the number of the event kind.
    chains: Vec<Vec<Plugin>>,
    config: Config,
}

impl ActiveConfig {
    /// Loads all enabled entries. If one entry cannot be loaded, none is loaded. Plugins that the engine already runs
    /// are not compiled again.
    ///
    /// # Errors
    /// If a plugin cannot be loaded, or if there is not enough address space for the sandbox.
    pub(crate) async fn load(loading: &Loading, config: &Config) -> Result<Self, NotActive> {
        if config.lacks_rules_plugin() {
            return Err(LoadError::NoRulesPlugin.into());
        }
        let mut entries: Vec<&Entry> = config.enabled().collect();
        entries.sort_by(|a, b| (a.priority, &a.name).cmp(&(b.priority, &b.name)));
        let plugins = Self::plugins_of(loading, &entries, config).await?;
        let mut chains = vec![Vec::new(); EventKind::ALL.len()];
        for plugin in &plugins {
            for event in plugin.events() {
                chains[event as usize].push(plugin.clone());
            }
        }
        Ok(Self { plugins, chains, config: config.clone() })
    }

    /// Loads the plugins of these entries.
    async fn plugins_of(loading: &Loading, entries: &[&Entry], config: &Config) -> Result<Vec<Plugin>, NotActive> {
        let Loading { engine, own, version, .. } = loading;
        let settings = config.settings();
        let most = settings.concurrent_calls;
        let components: Vec<&Entry> =
            entries.iter().copied().filter(|entry| !matches!(entry.code, Code::Native(_))).collect();
        // The sandbox is created for the first component. If there is no component, no address space need be reserved.
        let mut sandbox = None;
        let mut plugins = Vec::with_capacity(entries.len());
        for entry in entries {
            if let Code::Native(rule) = &entry.code {
                plugins.push(Plugin::load_native(entry, rule, version.as_ref(), most).await?);
                continue;
            }
            let sandbox = match &sandbox {
                Some(sandbox) => Arc::clone(sandbox),
                None => Arc::clone(sandbox.insert(engine.sandbox(PoolSize::of(&components, most))?)),
            };
            let compiler = Compiler {
                sandbox: &sandbox,
                #[cfg(feature = "cache")]
                cache: loading.cache.as_ref(),
                own,
                within: settings.compile_time,
            };
            let loaded = Plugin::load(&compiler, entry, engine.loaded(&sandbox, entry, own)).await;
            let plugin = loaded.map_err(|error| with_positions(error, entry, config))?;
            engine.remember(&plugin);
            plugins.push(plugin);
        }
        Ok(plugins)
    }

    /// Returns the directory from which relative paths in the rules start ([`Config::root_of`]).
    pub(crate) fn root_of<'a>(&'a self, workspace: &'a Path) -> &'a Path {
        self.config.root_of(workspace)
    }

    /// The plugins, in chain order.
    pub(crate) fn plugins(&self) -> &[Plugin] {
        &self.plugins
    }

    /// Returns the plugins that subscribe to an event, in the order in which they are asked: by priority, then by
    /// name.
    pub(crate) fn chain(&self, event: EventKind) -> &[Plugin] {
        self.chains.get(event as usize).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn has_subscriber(&self, event: EventKind) -> bool {
        !self.chain(event).is_empty()
    }

    /// Returns the digest of the rules ([`Config::digest`]).
    pub(crate) fn digest(&self) -> Digest {
        self.config.digest()
    }

    pub(crate) fn settings(&self) -> &Settings {
        self.config.settings()
    }

    pub(crate) fn enforcement(&self) -> Enforcement {
        self.config.enforcement()
    }

    /// Returns the layer of the rule in words with this id.
    pub(crate) fn layer_of_rule(&self, id: &str) -> Option<Layer> {
        self.config.layer_of_rule(id)
    }

    fn plugin(&self, name: &str) -> Option<&Plugin> {
        self.plugins.iter().find(|plugin| plugin.name() == name)
    }

    /// Returns the loaded plugins as audit records list them.
    pub(crate) fn loaded(&self) -> Vec<LoadedPlugin> {
        let loaded = |plugin: &Plugin| LoadedPlugin {
            plugin: plugin.name().to_owned(),
            code: plugin.code_id().clone(),
            config: plugin.shared.config_digest,
            mode: plugin.entry().mode,
        };
        self.plugins.iter().map(loaded).collect()
    }

    /// Returns the differences between `before` and this configuration.
    pub(crate) fn changes_since(&self, before: &Self) -> Changes {
        let names = |plugins: &[Plugin], taken: &dyn Fn(&Plugin) -> bool| {
            plugins.iter().filter(|plugin| taken(plugin)).map(|plugin| plugin.name().to_owned()).collect()
        };
        let changed = |plugin: &Plugin| {
            before.plugin(plugin.name()).is_some_and(|old| !old.entry().says_the_same(plugin.entry()))
        };
        Changes {
            added: names(&self.plugins, &|plugin| before.plugin(plugin.name()).is_none()),
            removed: names(&before.plugins, &|plugin| self.plugin(plugin.name()).is_none()),
            changed: names(&self.plugins, &changed),
            settings: self.settings() != before.settings() || self.enforcement() != before.enforcement(),
        }
    }

    /// Finds the patterns in the `tools` of entries that match none of a session's tools. For each such pattern,
    /// returns the plugin and a sentence about the pattern.
    pub(crate) fn unmatched_tool_patterns(&self, known: &[ToolSpec]) -> Vec<(String, String)> {
        if known.is_empty() {
            return Vec::new();
        }
        let unfit = |plugin: &Plugin| {
            let tools = plugin.entry().tools.iter().flatten();
            let unfit = tools.filter(|pattern| !known.iter().any(|tool| pattern.matches(&tool.name)));
            unfit
                .map(|pattern| {
                    let name = plugin.name();
                    (
                        name.to_owned(),
                        format!("the plugin {name}: the pattern `{pattern}` of its `tools` matches no tool"),
                    )
                })
                .collect::<Vec<_>>()
        };
        self.plugins.iter().flat_map(unfit).collect()
    }
}

/// The rules of a session: loaded plugins and settings. A rule set is cheap to clone, and all clones refer
/// to the same rules. [`Host::reload_rules`](crate::Host::reload_rules) replaces the rules for all sessions that use
/// the set.
///
/// Rule sets of one host share the state of plugins with the same name. If tenants must not see each other's state,
/// give each tenant a separate [`Host`](crate::Host) on one shared [`Engine`].
///
/// ```
/// use hookhost::config::{Entry, Settings};
/// use hookhost::contract::{Refusal, ToolCall};
/// use hookhost::{Config, Host, Rule, SessionSpec};
/// use std::path::Path;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let host = Host::builder(Config::empty()).build().await?;
///
/// // The rules of one tenant.
/// let frozen = Rule::new().before_tool_call(|_, call| (call.name == "deploy").then(|| Refusal::new("frozen")));
/// let config = Config::from_entries(vec![Entry::from_rule("no-deploys", frozen)], Settings::default())?;
/// let acme = host.load_rules(&config).await?;
///
/// let of_acme = host.open_session(SessionSpec::new("my-agent", Path::new("/work")).rules(&acme))?;
/// let of_others = host.session("my-agent", "/work")?;
/// let deploy = serde_json::json!({});
/// assert!(!of_acme.check_tool("deploy", &deploy).await.outcome.is_allowed());
/// assert!(of_others.check_tool("deploy", &deploy).await.outcome.is_allowed());
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Clone)]
pub struct RuleSet {
    active: Arc<ArcSwap<ActiveConfig>>,
    source: Arc<Mutex<Option<Weak<dyn RuleSource>>>>,
}

/// Keeps a rule set up to date with its files ([`RuleSet::follow`]).
pub trait RuleSource: Send + Sync {
    /// Reads the files again, and returns when their current rules are active. When a person has approved an event, the
    /// host calls this method before it checks the approval against the rules. The method may wait for a load in
    /// progress. The method must not send an event of the session whose event is being decided.
    ///
    /// # Errors
    /// Returns one sentence if the source cannot tell which rules are active. The event is then rejected despite the
    /// approval. A file that cannot be read is not an error if the loaded rules stay active.
    fn refresh(&self) -> BoxFuture<'_, Result<(), String>>;
}

impl RuleSet {
    pub(crate) fn new(config: ActiveConfig) -> Self {
        Self { active: Arc::new(ArcSwap::from_pointee(config)), source: Arc::default() }
    }

    /// Lets `source` update the rules before a person's approval is checked against them. Without a source, an approval
    /// is checked against the rules that were loaded last, for example by
    /// [`Host::reload_rules`](crate::Host::reload_rules). The caller must keep `source` alive: after it is dropped, no
    /// approval is accepted under these rules.
    pub fn follow(&self, source: &Arc<impl RuleSource + 'static>) {
        let source = Arc::downgrade(source);
        *locked(&self.source) = Some(source);
    }

    /// Lets the source, if there is one, update the rules.
    pub(crate) async fn refresh(&self) -> Result<(), String> {
        let source = locked(&self.source).clone();
        match source.map(|source| source.upgrade()) {
            None => Ok(()),
            Some(Some(source)) => source.refresh().await,
            Some(None) => {
                Err("the source of the rules was dropped, so the rules may be outdated: send the call again".to_owned())
            }
        }
    }

    /// Returns the configuration for events that begin now.
    pub(crate) fn active(&self) -> Arc<ActiveConfig> {
        self.active.load_full()
    }

    pub(crate) fn replace(&self, config: ActiveConfig) {
        self.active.store(Arc::new(config));
    }

    /// The loaded plugins, in chain order.
    #[must_use]
    pub fn plugins(&self) -> Vec<Plugin> {
        self.active().plugins().to_vec()
    }

    /// Returns the plugins that subscribe to an event, in the order in which they are asked: by priority, then by
    /// name.
    #[must_use]
    pub fn chain(&self, event: EventKind) -> Vec<Plugin> {
        self.active().chain(event).to_vec()
    }

    /// The tools that plugins provide, in chain order. A plugin in observe mode provides none.
    #[must_use]
    pub fn tools(&self) -> Vec<PluginTool> {
        self.active().plugins().iter().flat_map(|plugin| plugin.tools().to_vec()).collect()
    }

    /// Returns true if a plugin subscribes to an event.
    #[must_use]
    pub fn has_subscriber(&self, event: EventKind) -> bool {
        self.active().has_subscriber(event)
    }

    /// Returns the settings for events that begin now.
    #[must_use]
    pub fn settings(&self) -> Settings {
        self.active().settings().clone()
    }

    /// Returns the configuration from which these rules were loaded, including the entries that the program adds. An
    /// entry contains only the digest of its code. To get the loaded plugins, call [`Self::plugins`]. A reload that
    /// changes no rule does not replace this configuration.
    #[must_use]
    pub fn config(&self) -> Config {
        self.active().config.clone()
    }
}

impl std::fmt::Debug for RuleSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RuleSet").field("plugins", &self.plugins()).finish_non_exhaustive()
    }
}

/// Adds the positions in the files to the mistakes that the plugin of the rules in words has found in them.
fn with_positions(error: LoadError, entry: &Entry, config: &Config) -> LoadError {
    match &error {
        LoadError::Refused { message, .. } if entry.judges_rows => {
            config.rule_problems(message).map_or(error, LoadError::InvalidRules)
        }
        // The limits of this call are not those of the entry.
        LoadError::Failed { name, failure }
            if entry.judges_rows && (failure.kind.is_timeout() || failure.kind == FailureKind::OutOfMemory) =>
        {
            let count = config.rules().len();
            let message =
                format!("{count} rules with their examples are too much: write fewer rules, or shorter examples");
            LoadError::Refused { name: name.clone(), message }
        }
        _ => error,
    }
}

/// The differences between a new configuration and the previous one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Changes {
    /// Plugins that were not loaded before, in chain order.
    pub added: Vec<String>,
    /// Plugins that are no longer loaded, in their former chain order.
    pub removed: Vec<String>,
    /// Plugins whose file or entry has changed, in chain order.
    pub changed: Vec<String>,
    /// True if a setting has changed.
    pub settings: bool,
}

impl Changes {
    /// Returns true if nothing has changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self { added, removed, changed, settings } = self;
        added.is_empty() && removed.is_empty() && changed.is_empty() && !settings
    }
}

/// Formats the changes as `added a, b; removed c; changed d; settings changed`.
impl std::fmt::Display for Changes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = [("added", &self.added), ("removed", &self.removed), ("changed", &self.changed)];
        let mut parts: Vec<String> = names
            .iter()
            .filter(|(_, names)| !names.is_empty())
            .map(|(what, names)| format!("{what} {}", names.join(", ")))
            .collect();
        parts.extend(self.settings.then(|| "settings changed".to_owned()));
        if parts.is_empty() { f.write_str("nothing changed") } else { f.write_str(&parts.join("; ")) }
    }
}
