//! The active configuration: the loaded plugins in chain order, the ask rules and the settings.
//!
//! An active configuration never changes. A new one is built separately and replaces the old one between events: each
//! event is settled, recorded and dispatched to observers under the configuration that it began with.

use crate::audit::LoadedPlugin;
use crate::config::{AskRule, Config, Entry, Settings};
use crate::contract::{EventKind, ToolSpec};
use crate::plugin::{Cache, Compiler, LoadError, Plugin};
use crate::sandbox::{PoolSize, Sandbox, SandboxError, SharedSandbox};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Why a configuration cannot become active.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotActive {
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
}

pub(crate) struct ActiveConfig {
    plugins: Vec<Plugin>,
    chains: BTreeMap<EventKind, Vec<Plugin>>,
    asks: Vec<AskRule>,
    settings: Settings,
    sandbox: SharedSandbox,
}

impl ActiveConfig {
    /// Loads every enabled entry, or none. A plugin that has not changed since `before` is not compiled again.
    ///
    /// # Errors
    /// If a plugin cannot be loaded, or there is no address space for the sandbox.
    pub(crate) async fn load(config: &Config, cache: Option<&Cache>, before: Option<&Self>) -> Result<Self, NotActive> {
        let mut entries: Vec<&Entry> = config.enabled().collect();
        entries.sort_by(|a, b| (a.priority, &a.name).cmp(&(b.priority, &b.name)));
        let pool_size = PoolSize::of(&entries, config.settings().concurrent_calls);
        let sandbox = match before.filter(|before| before.sandbox.pool_size() == pool_size) {
            Some(before) => Arc::clone(&before.sandbox),
            None => Arc::new(Sandbox::new(pool_size)?),
        };
        let compiler = Compiler { sandbox: &sandbox, cache, within: config.settings().compile_time };
        let mut plugins = Vec::with_capacity(entries.len());
        for entry in entries {
            let loaded = before.and_then(|before| before.plugin(&entry.name));
            plugins.push(Plugin::load(&compiler, entry, loaded).await?);
        }
        let mut chains = BTreeMap::<EventKind, Vec<Plugin>>::new();
        for plugin in &plugins {
            for event in plugin.events() {
                chains.entry(event).or_default().push(plugin.clone());
            }
        }
        let (asks, settings) = (config.asks().to_vec(), config.settings().clone());
        Ok(Self { plugins, chains, asks, settings, sandbox })
    }

    /// The plugins, in chain order.
    pub(crate) fn plugins(&self) -> &[Plugin] {
        &self.plugins
    }

    /// The plugins that subscribe to an event, in the order in which they are asked: by priority, then by name.
    pub(crate) fn chain(&self, event: EventKind) -> &[Plugin] {
        self.chains.get(&event).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn has_subscriber(&self, event: EventKind) -> bool {
        !self.chain(event).is_empty()
    }

    pub(crate) fn asks(&self) -> &[AskRule] {
        &self.asks
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    fn plugin(&self, name: &str) -> Option<&Plugin> {
        self.plugins.iter().find(|plugin| plugin.name() == name)
    }

    /// The plugins as records name them.
    pub(crate) fn loaded(&self) -> Vec<LoadedPlugin> {
        let loaded = |plugin: &Plugin| LoadedPlugin {
            plugin: plugin.name().to_owned(),
            digest: plugin.digest(),
            config: plugin.shared.config_digest,
            mode: plugin.entry().mode,
        };
        self.plugins.iter().map(loaded).collect()
    }

    /// The differences between `before` and this configuration.
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
            settings: self.settings != before.settings || !same_rules(&self.asks, &before.asks),
        }
    }

    /// A sentence for each pattern of an entry's `tools` that matches none of a session's tools.
    pub(crate) fn tool_patterns_that_fit_none(&self, known: &[ToolSpec]) -> Vec<String> {
        if known.is_empty() {
            return Vec::new();
        }
        let unfit = |plugin: &Plugin| {
            let tools = plugin.entry().tools.iter().flatten();
            let unfit = tools.filter(|pattern| !known.iter().any(|tool| pattern.matches(&tool.name)));
            unfit
                .map(|pattern| {
                    format!("the plugin {}: the pattern `{pattern}` of its `tools` matches no tool", plugin.name())
                })
                .collect::<Vec<_>>()
        };
        self.plugins.iter().flat_map(unfit).collect()
    }
}

/// Whether two lists of ask rules are the same apart from their positions in the files of one layer.
fn same_rules(some: &[AskRule], others: &[AskRule]) -> bool {
    let said = |rules: &[AskRule]| rules.iter().map(|rule| (rule.layer(), rule.without_origin())).collect::<Vec<_>>();
    said(some) == said(others)
}

/// The changes by a new configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Plugins that were not loaded before, in chain order.
    pub added: Vec<String>,
    /// Plugins that are no longer loaded, in their former chain order.
    pub removed: Vec<String>,
    /// Plugins whose file or entry has changed, in chain order.
    pub changed: Vec<String>,
    /// Whether an ask rule or a setting has changed.
    pub settings: bool,
}

impl Changes {
    /// Whether nothing has changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self { added, removed, changed, settings } = self;
        added.is_empty() && removed.is_empty() && changed.is_empty() && !settings
    }
}

/// As `added a, b; removed c; changed d; settings changed`.
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
