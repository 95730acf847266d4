//! The section `[agent]` of `hookhost.toml`: provider, model and limits of an agent.
//!
//! The section holds no keys. Keys are in environment variables that it names, or in the user's [`Keys`].

mod hidden;

pub use hidden::HIDDEN_BY_DEFAULT;

use crate::agent::AgentConfig;
use crate::plugin_models::PluginModels;
use crate::provider::anthropic::Anthropic;
use crate::provider::openai::OpenAi;
use crate::provider::scripted::{Script, Scripted};
use crate::provider::{
    Endpoint, Keys, Origin, Provider, ProviderError, ProviderProgram, RetryPolicy, Timeouts, builtin, probe, program,
    variant,
};
use hookhost::config::Digest;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The section `[agent]`.
///
/// ```
/// let section: hookhost_agent::config::AgentSection = toml::from_str(r#"
///     provider = "local"
///     model = "qwen3:32b"
///     max-turns = 20
///
///     [providers.local]
///     kind = "openai"
///     base-url = "http://localhost:11434/v1"
/// "#)?;
/// let chosen = section.choose(&Default::default())?;
/// assert_eq!(chosen.provider.name(), "local");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
#[non_exhaustive]
pub struct AgentSection {
    /// Name of the provider: a key of `providers`, a built-in provider, or `scripted`. Default: the first one that is
    /// ready.
    pub provider: Option<String>,
    /// Name of the model. Default: the provider's default model, if it has one.
    pub model: Option<String>,
    /// Further models of this provider that a plugin may move a request to.
    pub models: Vec<String>,
    /// Base URL of a provider without a section in `providers`, such as `https://host/v1`. Default: the built-in
    /// provider's URL.
    pub base_url: Option<String>,
    /// Environment variable that holds the key of such a provider. Default: the built-in provider's variable, such as
    /// `ANTHROPIC_API_KEY`; none if `base-url` is given, so that a key never goes to another server.
    pub key_variable: Option<String>,
    /// Script of the provider `scripted`, relative to the working directory.
    pub script: Option<PathBuf>,
    /// Providers by name, for `provider` and for plugins that move requests.
    pub providers: BTreeMap<String, ProviderSection>,
    /// Models that plugins with the grant `model` may ask, by the name in the grant.
    pub plugin_models: BTreeMap<String, PluginModelSection>,
    /// Maximum number of model calls per task. Default: 50.
    pub max_turns: Option<NonZeroU32>,
    /// Maximum length of a model answer, in tokens. Default: 8192.
    pub max_output_tokens: Option<NonZeroU32>,
    /// System prompt. Default: [`SYSTEM_PROMPT`](crate::agent::SYSTEM_PROMPT).
    pub system_prompt: Option<String>,
    /// Time limit of a run, such as `"90s"`, `"30m"` or `"2h"`, after which the run is stopped. Default: none.
    #[serde(deserialize_with = "time")]
    pub max_time: Option<Duration>,
    /// Maximum number of input and output tokens of a run, sub-agents included. Default: none.
    pub max_tokens: Option<NonZeroU64>,
    /// Context window of the model, in tokens. Near it, the older part of the conversation is summarised. Default: the
    /// provider's limit for the model; if there is none, nothing is summarised.
    pub context_window: Option<NonZeroU64>,
    /// Maximum depth of sub-agents. 0: no sub-agents. Default: 3.
    pub max_depth: Option<u8>,
    /// Maximum number of requests to models per run, sub-agents included. Default: 500.
    pub max_requests: Option<NonZeroU32>,
    /// Maximum number of sub-agents per run at all depths. Default: 32.
    pub max_subagents: Option<NonZeroU32>,
    /// Maximum number of sub-agents that one session starts. Default: 16.
    pub max_subagents_per_session: Option<NonZeroU32>,
    /// Maximum number of sub-agents of one depth that run at the same time; further ones wait. Default: 4.
    pub max_concurrent_subagents: Option<NonZeroU32>,
    /// Number of times that a failed request is sent again (rate limits, server failures, no connection). 0: never.
    /// Default: 3.
    pub retries: Option<u32>,
    /// Environment variables that tools and MCP servers do not inherit, beside keys and [`HIDDEN_BY_DEFAULT`]. In a
    /// name, `*` means any text. The lists of the user's file and of a project's file are joined.
    pub hidden_variables: Vec<String>,
    /// Environment variables that tools and MCP servers inherit although `hidden-variables` or [`HIDDEN_BY_DEFAULT`]
    /// match them. Keys of providers are never inherited. A project's file cannot set this key.
    pub passed_variables: Vec<String>,
}

/// One provider of `[agent.providers]`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub struct ProviderSection {
    /// Protocol of the provider. Default: that of the built-in provider of this name.
    pub kind: Option<Kind>,
    /// See [`AgentSection::base_url`].
    pub base_url: Option<String>,
    /// See [`AgentSection::key_variable`].
    pub key_variable: Option<String>,
    /// See [`AgentSection::script`].
    pub script: Option<PathBuf>,
    /// Default model of the provider.
    pub model: Option<String>,
    /// Models that a plugin may move a request to.
    #[serde(default)]
    pub models: Vec<String>,
    /// Additional headers of each request. They must not carry a key.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Limits of its models, by model name.
    #[serde(default)]
    pub limits: BTreeMap<String, ModelLimits>,
    /// Absolute path of a program that answers instead of a server.
    pub program: Option<PathBuf>,
    /// Environment variables that the program gets beside the common ones. Default: those that the program names.
    pub variables: Option<Vec<String>>,
    /// Absolute path of a variant file, which names a protocol, a URL and a model.
    pub variant: Option<PathBuf>,
    /// Required SHA-256 digest of the program or the variant file.
    pub sha256: Option<Digest>,
    /// The program's own one-line description.
    #[serde(skip)]
    pub(crate) description: Option<String>,
}

/// One model of `[agent.plugin-models]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub struct PluginModelSection {
    /// Name of the provider, as in [`AgentSection::provider`]. There is no default.
    pub provider: String,
    /// Name of the model. Default: the provider's default model, if it has one.
    pub model: Option<String>,
}

/// Known limits of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub struct ModelLimits {
    /// Maximum size of request and answer together, in tokens.
    pub context_window: Option<NonZeroU64>,
    /// Maximum length of an answer, in tokens.
    pub max_output_tokens: Option<NonZeroU32>,
}

/// Protocol of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Kind {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI's chat completions, which most other servers speak.
    #[serde(rename = "openai")]
    OpenAi,
    /// A script that is played instead of asking a model.
    Scripted,
}

/// Command-line settings that take precedence over the section.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Overrides {
    /// Replaces the section's provider.
    pub provider: Option<String>,
    /// Replaces the section's model.
    pub model: Option<String>,
    /// Replaces the section's script. Without `provider`, it selects the provider `scripted`.
    pub script: Option<PathBuf>,
}

impl Overrides {
    /// Creates overrides; `None` keeps the section's setting.
    #[must_use]
    pub fn new(provider: Option<String>, model: Option<String>, script: Option<PathBuf>) -> Self {
        Self { provider, model, script }
    }
}

/// Providers and models of a section, ready for use.
#[derive(Debug)]
#[non_exhaustive]
pub struct Chosen {
    /// Provider of the agent.
    pub provider: Arc<dyn Provider>,
    /// Model of the agent.
    pub model: String,
    /// Known limits of the model.
    pub limits: ModelLimits,
    /// Models that a plugin may move a request to, by provider. They include further models of the agent's own
    /// provider.
    pub others: Vec<(Arc<dyn Provider>, Vec<String>)>,
    /// One sentence for each provider that is unusable and therefore missing in `others`.
    pub notices: Vec<String>,
}

/// Reasons why a section gives no usable provider.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// No provider has this name.
    #[error("there is no provider named `{name}`: use {known}, or add [agent.providers.{name}]")]
    UnknownProvider {
        /// The unknown name.
        name: String,
        /// The existing names, separated by commas.
        known: String,
    },
    /// A provider that is not built in has no `kind`.
    #[error("[agent.providers.{name}] needs `kind`, the protocol: `anthropic` or `openai`")]
    NoKind {
        /// Name of the provider.
        name: String,
    },
    /// Neither the section nor a flag names a model, and the provider has no default.
    #[error("the provider {provider} needs a model: name one with --model, or with `model` in [agent]")]
    NoModel {
        /// Name of the provider.
        provider: String,
    },
    /// A scripted provider has no script.
    #[error("the provider {provider} needs a script: name one with --script, or with `script` in the configuration")]
    NoScript {
        /// Name of the provider.
        provider: String,
    },
    /// The provider cannot be used.
    #[error(transparent)]
    Provider(#[from] ProviderError),
}

impl AgentSection {
    /// Creates the providers, with keys from the environment only.
    ///
    /// # Errors
    /// See [`Self::choose_with`].
    pub fn choose(&self, overrides: &Overrides) -> Result<Chosen, ConfigError> {
        self.choose_with(overrides, &Keys::default())
    }

    /// Creates the providers. The default is Anthropic; see [`Self::first_ready`] for a search.
    ///
    /// # Errors
    /// Returns an error if the provider is unknown or unusable (no key, no script), or if no model is named. An
    /// unusable provider that only plugins could choose gives a notice instead.
    pub fn choose_with(&self, overrides: &Overrides, keys: &Keys) -> Result<Chosen, ConfigError> {
        let name = match overrides {
            Overrides { provider: Some(name), .. } => name.as_str(),
            Overrides { script: Some(_), .. } => "scripted",
            _ => self.named(),
        };
        let mut section = self.provider(name)?;
        if section.kind == Some(Kind::Scripted) && overrides.script.is_some() {
            section.script.clone_from(&overrides.script);
        }
        let own = section.provider(name, keys)?;
        // The configured model belongs to the configured provider only.
        let configured = (self.named() == name).then_some(self.model.as_ref()).flatten();
        let model = overrides.model.as_ref().or(configured).or(section.model.as_ref()).cloned();
        let scripted = || (section.kind == Some(Kind::Scripted)).then(|| "scripted".to_owned());
        let model = model.or_else(scripted).ok_or_else(|| ConfigError::NoModel { provider: name.to_owned() })?;
        let known = section.limits.get(&model).copied().unwrap_or_default();
        let limits = ModelLimits { context_window: self.context_window.or(known.context_window), ..known };
        let mut others = Vec::new();
        if !section.models.is_empty() {
            others.push((Arc::clone(&own), section.models));
        }
        let mut notices = Vec::new();
        for (other, section) in
            self.providers.iter().filter(|(other, section)| *other != name && !section.models.is_empty())
        {
            match self.provider(other).and_then(|section| section.provider(other, keys)) {
                Ok(provider) => others.push((provider, section.models.clone())),
                Err(error) => notices.push(format!("plugins cannot use the provider {other}: {error}")),
            }
        }
        Ok(Chosen { provider: own, model, limits, others, notices })
    }

    /// Creates the models that plugins may ask. An unusable model fails with the reason when a plugin asks it.
    #[must_use]
    pub fn plugin_models(&self, keys: &Keys) -> PluginModels {
        let models = PluginModels::new(self.retry());
        self.plugin_models.iter().fold(models, |models, (name, chosen)| {
            let found = self.provider(&chosen.provider).and_then(|section| {
                let model = chosen.model.clone().or_else(|| section.model.clone());
                let model = model.or_else(|| (section.kind == Some(Kind::Scripted)).then(|| "scripted".to_owned()));
                Ok((section.provider(&chosen.provider, keys)?, model, section.limits))
            });
            match found {
                Ok((provider, Some(model), limits)) => {
                    let longest = limits.get(&model).and_then(|limits| limits.max_output_tokens);
                    models.with(name, provider, model, longest.map(NonZeroU32::get))
                }
                Ok((_, None, _)) => models.without(
                    name,
                    format!("[agent.plugin-models] needs a `model` for {name}, of the provider {}", chosen.provider),
                ),
                Err(error) => models.without(name, format!("the model {name} for plugins cannot be used: {error}")),
            }
        })
    }

    fn retry(&self) -> RetryPolicy {
        let policy = RetryPolicy::default();
        RetryPolicy { retries: self.retries.unwrap_or(policy.retries), ..policy }
    }

    /// Finds the first ready provider and its model, unless the section or a flag already chooses one. A provider is
    /// ready if its key is present, its program says so, or its local server answers. The user's own providers come
    /// first.
    pub async fn first_ready(&self, overrides: &Overrides, keys: &Keys) -> Option<Overrides> {
        let says_which = self.provider.is_some() || self.model.is_some() || self.base_url.is_some();
        let says_which = says_which || self.key_variable.is_some() || self.script.is_some();
        if says_which || overrides.provider.is_some() || overrides.script.is_some() {
            return None;
        }
        let own = self.providers.keys().cloned();
        let known = builtin::names().into_iter().filter(|name| !self.providers.contains_key(name));
        for name in own.chain(known) {
            let Ok(section) = self.provider(&name) else { continue };
            if section.kind == Some(Kind::Scripted) || section.provider(&name, keys).is_err() {
                continue;
            }
            let program = section.program(&name);
            if let Some(program) = &program
                && !program.is_ready().await
            {
                continue;
            }
            let mut model = overrides.model.clone().or(section.model);
            if section.key_variable.is_none() && program.is_none() {
                let Some(served) = probe::models(section.base_url.as_deref().unwrap_or_default()).await else {
                    continue;
                };
                model = model.or_else(|| served.into_iter().next());
            }
            if model.is_some() {
                return Some(Overrides { provider: Some(name), model, script: None });
            }
        }
        None
    }

    /// Returns all valid provider names: the built-in ones, then those of the section.
    #[must_use]
    pub fn provider_names(&self) -> Vec<String> {
        let own = self.providers.keys().filter(|name| builtin::provider(name).is_none()).cloned();
        builtin::names().into_iter().chain(own).collect()
    }

    /// Asks each provider program for its default model and its description. Failures are ignored here: choosing such a
    /// provider reports them.
    pub async fn ask_programs(&mut self) {
        for (name, section) in &mut self.providers {
            let Some(program) = section.program(name) else { continue };
            let Ok(facts) = program.facts().await else { continue };
            section.model = section.model.take().or_else(|| facts.defaults.get("model").cloned());
            section.description = facts.description;
        }
    }

    fn named(&self) -> &str {
        self.provider.as_deref().unwrap_or("anthropic")
    }

    /// Returns the settings of a provider: its own section, or the keys of `[agent]` if that names it, completed with
    /// the built-in table.
    ///
    /// # Errors
    /// Returns an error if no provider has this name, or if its protocol is not given.
    pub fn provider(&self, name: &str) -> Result<ProviderSection, ConfigError> {
        let known = builtin::provider(name);
        let mut section = match self.providers.get(name) {
            Some(section) => section.clone(),
            None if known.is_none() => {
                let names = builtin::names().into_iter().chain(self.providers.keys().cloned());
                let known = names.collect::<Vec<_>>().join(", ");
                return Err(ConfigError::UnknownProvider { name: name.to_owned(), known });
            }
            // The keys of `[agent]` do not apply to another provider that a flag chooses.
            None if self.named() == name => ProviderSection {
                base_url: self.base_url.clone(),
                key_variable: self.key_variable.clone(),
                script: self.script.clone(),
                models: self.models.clone(),
                ..ProviderSection::default()
            },
            None => ProviderSection::default(),
        };
        if let Some(file) = &section.variant {
            section = section.with_variant(name, file)?;
        }
        let Some(known) = known else {
            return if section.kind.is_some() {
                Ok(section)
            } else {
                Err(ConfigError::NoKind { name: name.to_owned() })
            };
        };
        section.kind = section.kind.or(known.kind);
        if section.kind == known.kind {
            // A key must never go to a server that it is not meant for.
            if section.base_url.is_none() {
                section.base_url = known.base_url;
                section.key_variable = section.key_variable.or(known.key_variable);
                section.model = section.model.or(known.model);
            }
            let own = std::mem::replace(&mut section.limits, known.limits);
            section.limits.extend(own);
        }
        Ok(section)
    }

    /// Returns the environment variables that hold keys of providers, sorted.
    #[must_use]
    pub fn key_variables(&self) -> Vec<String> {
        let of_programs = self.providers.values().filter_map(|section| section.variables.clone()).flatten();
        let named = self.providers.values().filter_map(|section| section.key_variable.clone());
        let named = named.chain(of_programs.filter(|name| !program::COMMON_VARIABLES.contains(&name.as_str())));
        let known = builtin::providers().into_iter().filter_map(|(_, section)| section.key_variable);
        let mut variables: Vec<String> = known.chain(self.key_variable.clone()).chain(named).collect();
        variables.sort();
        variables.dedup();
        variables
    }

    /// Returns the agent's settings for a workspace and a model.
    #[must_use]
    pub fn agent_config(&self, workspace: &Path, model: &str) -> AgentConfig {
        let mut config = AgentConfig::new(workspace, model);
        config.max_turns = self.max_turns.unwrap_or(config.max_turns);
        config.max_output_tokens = self.max_output_tokens.unwrap_or(config.max_output_tokens);
        config.max_time = self.max_time;
        config.max_tokens = self.max_tokens;
        config.context_window = self.context_window;
        config.max_depth = self.max_depth.unwrap_or(config.max_depth);
        config.max_requests = self.max_requests.unwrap_or(config.max_requests);
        config.max_subagents = self.max_subagents.unwrap_or(config.max_subagents);
        config.max_subagents_per_session = self.max_subagents_per_session.unwrap_or(config.max_subagents_per_session);
        config.max_concurrent_subagents = self.max_concurrent_subagents.unwrap_or(config.max_concurrent_subagents);
        if let Some(prompt) = &self.system_prompt {
            config.system_prompt.clone_from(prompt);
        }
        config.retry = self.retry();
        config.hidden_variables = self.hidden_variables(hidden::names_of_environment());
        config
    }
}

/// Parses a positive duration with a unit: `ms`, `s`, `m` or `h`.
fn time<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let digits = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = match unit.trim() {
        "ms" => Some(1),
        "s" => Some(1_000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        _ => None,
    };
    let milliseconds = unit.and_then(|unit: u64| number.parse::<u64>().ok()?.checked_mul(unit));
    match milliseconds.filter(|milliseconds| *milliseconds > 0) {
        Some(milliseconds) => Ok(Some(Duration::from_millis(milliseconds))),
        None => Err(serde::de::Error::custom(format!("`{text}` is no time: give one with its unit, such as \"30m\""))),
    }
}

impl ProviderSection {
    fn provider(&self, name: &str, keys: &Keys) -> Result<Arc<dyn Provider>, ConfigError> {
        Ok(match self.kind {
            Some(Kind::Anthropic) => Arc::new(Anthropic::new(self.endpoint(name, keys, "anthropic")?)),
            Some(Kind::OpenAi) => Arc::new(OpenAi::new(self.endpoint(name, keys, "openai")?)),
            Some(Kind::Scripted) => {
                let script = self.script.as_deref();
                let script = script.ok_or_else(|| ConfigError::NoScript { provider: name.to_owned() })?;
                let script = Script::open(script).map_err(ProviderError::from)?;
                Arc::new(Scripted::new(script))
            }
            None => return Err(ConfigError::NoKind { name: name.to_owned() }),
        })
    }

    /// Returns the program that answers instead of a server, if one is configured.
    fn program(&self, name: &str) -> Option<ProviderProgram> {
        let program = |file: &PathBuf| ProviderProgram::new(name, file.clone(), self.sha256, self.variables.clone());
        self.program.as_ref().map(program)
    }

    /// Fills the fields that are not set from the variant file.
    fn with_variant(&self, name: &str, file: &Path) -> Result<Self, ProviderError> {
        let unusable = |reason: String| {
            let (provider, program) = (name.to_owned(), file.display().to_string());
            ProviderError::Program { provider, program, reason }
        };
        if !file.is_absolute() {
            return Err(unusable("must be named by its full path".to_owned()));
        }
        let bytes = program::pinned(file, self.sha256, variant::MAX_FILE).map_err(unusable)?;
        let text = String::from_utf8(bytes).map_err(|_| unusable("is not UTF-8 text".to_owned()))?;
        let variant = variant::read(&text).map_err(unusable)?;
        let mut section = self.clone();
        section.kind = section.kind.or(variant.kind);
        section.base_url = section.base_url.or(variant.base_url);
        section.key_variable = section.key_variable.or(variant.key_variable);
        section.model = section.model.or(variant.model);
        section.limits.extend(variant.limits);
        Ok(section)
    }

    /// Creates the endpoint. Without a base URL, it is the protocol's own server.
    fn endpoint(&self, name: &str, keys: &Keys, protocol: &str) -> Result<Endpoint, ProviderError> {
        if let Some(program) = self.program(name) {
            return Endpoint::of_program(name, program, self.description.clone(), Timeouts::default());
        }
        let home = self.home(protocol);
        let base_url = self.base_url.as_ref().or(home.base_url.as_ref()).cloned().unwrap_or_default();
        let key = self.key_variable.as_ref().or(home.key_variable.as_ref());
        Endpoint::with_keys(name, &base_url, key.map(String::as_str), keys, Timeouts::default())?
            .with_headers(&self.headers)
    }

    /// Returns the built-in settings of the protocol's own server, or empty ones if a base URL is set.
    fn home(&self, protocol: &str) -> Self {
        self.base_url.is_none().then(|| builtin::provider(protocol)).flatten().unwrap_or_default()
    }

    /// Returns the server that receives this provider's key; `None` for a program or a script.
    #[must_use]
    pub fn origin(&self) -> Option<Origin> {
        if self.program.is_some() {
            return None;
        }
        let home = self.home(self.protocol()?);
        Origin::of(self.base_url.as_ref().or(home.base_url.as_ref())?)
    }

    /// Returns the environment variable whose value is sent as the key; `None` if no key is sent.
    pub(crate) fn sent_variable(&self) -> Option<String> {
        if self.program.is_some() {
            return None;
        }
        let home = self.home(self.protocol()?);
        self.key_variable.clone().or(home.key_variable)
    }

    /// Returns the name of the built-in provider that defines the protocol; `None` for a script.
    fn protocol(&self) -> Option<&'static str> {
        match self.kind? {
            Kind::Anthropic => Some("anthropic"),
            Kind::OpenAi => Some("openai"),
            Kind::Scripted => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(text: &str) -> AgentSection {
        toml::from_str(text).unwrap()
    }

    fn error(text: &str) -> String {
        section(text).choose(&Overrides::default()).unwrap_err().to_string()
    }

    #[test]
    fn no_key_goes_to_another_server_unless_it_is_named() {
        // The default variable may well be set where this runs: with a base URL of its own it must not even be read.
        let elsewhere = section("provider = 'openai'\nmodel = 'm'\nbase-url = 'http://localhost:1/v1'\n");
        assert!(elsewhere.choose(&Overrides::default()).is_ok());
        let named = "provider = 'openai'\nmodel = 'm'\nbase-url = 'http://localhost:1/v1'\nkey-variable = 'HOOKHOST_TEST_NO_SUCH_KEY'\n";
        assert!(error(named).contains("HOOKHOST_TEST_NO_SUCH_KEY"));
        let official = "key-variable = 'HOOKHOST_TEST_NO_SUCH_KEY'\n";
        assert!(error(official).starts_with("the provider anthropic needs an API key"));
    }

    #[test]
    fn settings_beside_the_provider_do_not_apply_to_another_that_a_flag_chooses() {
        let section = section(
            "provider = 'openai'\nmodel = 'm'\nbase-url = 'http://localhost:1/v1'\n[providers.x]\nkind = 'openai'\nbase-url = 'http://localhost:2/v1'\n",
        );
        let overrides = Overrides { provider: Some("x".into()), ..Overrides::default() };
        let error = section.choose(&overrides).unwrap_err().to_string();
        assert_eq!(error, "the provider x needs a model: name one with --model, or with `model` in [agent]");
    }

    #[test]
    fn a_script_alone_chooses_the_scripted_provider() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "[[turn]]\ntext = 'hello'\n").unwrap();
        let overrides = Overrides { script: Some(file.path().to_owned()), ..Overrides::default() };
        let chosen = AgentSection::default().choose(&overrides).unwrap();
        assert_eq!((chosen.provider.name(), chosen.model.as_str()), ("scripted", "scripted"));
        assert!(error("provider = 'scripted'").contains("needs a script"));
    }

    #[test]
    fn an_unknown_provider_is_reported_with_those_that_exist() {
        assert_eq!(
            error("provider = 'opnai'\n[providers.local]\nkind = 'openai'\n"),
            "there is no provider named `opnai`: use anthropic, openai, groq, deepseek, openrouter, fireworks, zai, ollama, llama.cpp, vllm, scripted, local, or add [agent.providers.opnai]"
        );
    }

    #[test]
    fn a_provider_that_only_plugins_could_choose_is_left_out_with_a_notice() {
        let text = "provider = 'openai'\nmodel = 'm'\nmodels = ['n']\nbase-url = 'http://localhost:1/v1'\n[providers.far]\nkind = 'anthropic'\nkey-variable = 'HOOKHOST_TEST_NO_SUCH_KEY'\nmodels = ['x']\n";
        let chosen = section(text).choose(&Overrides::default()).unwrap();
        assert_eq!(chosen.others.len(), 1);
        assert_eq!(chosen.others[0].1, ["n"]);
        assert!(chosen.notices[0].starts_with("plugins cannot use the provider far: "));
    }

    #[test]
    fn zero_is_never_unlimited_and_unknown_keys_are_errors() {
        for text in [
            "max-turns = 0",
            "max-output-tokens = 0",
            "max-tokens = 0",
            "context-window = 0",
            "max-subagents = 0",
            "max-subagents-per-session = 0",
            "max-requests = 0",
            "max-time = '0s'",
            "max-time = '5'",
            "max-time = '5 weeks'",
            "max-time = '99999999999999999999h'",
            "max_turns = 3",
            "[providers.x]\nkind = 'openia'",
        ] {
            assert!(toml::from_str::<AgentSection>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_time_has_its_unit() {
        let config = section("max-time = '30m'").agent_config(Path::new("/"), "m");
        assert_eq!(config.max_time, Some(Duration::from_secs(1800)));
        assert_eq!(section("").agent_config(Path::new("/"), "m").max_time, None);
    }

    #[test]
    fn every_key_variable_is_hidden_from_commands() {
        let section = section("key-variable = 'A'\n[providers.x]\nkind = 'openai'\nkey-variable = 'B'\n");
        let config = section.agent_config(Path::new("/"), "m");
        let hidden = config.hidden_variables;
        assert!(
            ["A", "ANTHROPIC_API_KEY", "B", "GROQ_API_KEY"].iter().all(|name| hidden.contains(&(*name).to_owned()))
        );
    }

    #[test]
    fn a_section_of_a_shipped_name_changes_what_it_says_and_no_more() {
        let own = section("[providers.groq]\nmodel = 'm'\n[providers.groq.limits.m]\ncontext-window = 5\n");
        let groq = own.provider("groq").unwrap();
        assert_eq!(groq.base_url.as_deref(), Some("https://api.groq.com/openai/v1"));
        assert_eq!((groq.key_variable.as_deref(), groq.model.as_deref()), (Some("GROQ_API_KEY"), Some("m")));
        assert_eq!(groq.limits["m"].context_window, NonZeroU64::new(5));
        // Another server is given no key that it was not named.
        let elsewhere = section("[providers.groq]\nbase-url = 'http://localhost:1/v1'\n").provider("groq").unwrap();
        assert_eq!((elsewhere.key_variable, elsewhere.kind), (None, Some(Kind::OpenAi)));
        assert!(matches!(section("[providers.x]\n").provider("x"), Err(ConfigError::NoKind { .. })));
    }

    #[test]
    fn a_kept_key_opens_its_own_server_and_no_other() {
        let mut keys = Keys::default();
        keys.set("far", &Origin::of("https://far.example.com").unwrap(), "sk-kept").unwrap();
        let at = |url: &str| {
            let text = format!(
                "provider = 'far'\nmodel = 'm'\n[providers.far]\nkind = 'openai'\nbase-url = '{url}'\nkey-variable = 'HOOKHOST_TEST_NO_SUCH_KEY'\n"
            );
            section(&text).choose_with(&Overrides::default(), &keys)
        };
        assert!(at("https://far.example.com/v1").is_ok());
        for other in ["https://evil.example.com/v1", "https://far.example.com:8443/v1", "http://far.example.com:443/v1"]
        {
            let error = at(other).unwrap_err().to_string();
            assert!(error.contains("the one that is kept is for https://far.example.com, "), "{error}");
        }
    }

    #[test]
    fn a_key_never_travels_in_the_clear_to_another_machine() {
        let at = |url: &str, more: &str| {
            let text = format!(
                "provider = 'far'\nmodel = 'm'\n[providers.far]\nkind = 'openai'\nbase-url = '{url}'\n{more}\n[plugin-models]\nsmall = {{ provider = 'far', model = 'm' }}\n"
            );
            section(&text)
        };
        // A variable that is set wherever this runs.
        let key = "key-variable = 'PATH'";
        let refused = at("http://far.example.com/v1", key);
        let said = refused.choose(&Overrides::default()).unwrap_err().to_string();
        assert!(
            said.starts_with("the provider far is at http://far.example.com/v1, and its API key would travel"),
            "{said}"
        );
        assert!(refused.plugin_models(&Keys::default()).problem("small").unwrap().contains("in the clear"));
        assert!(at("http://ada:secret@far.example.com", "").choose(&Overrides::default()).is_err());
        for url in ["http://127.0.0.1:1/v1", "http://localhost:1/v1", "https://far.example.com/v1"] {
            assert!(at(url, key).choose(&Overrides::default()).is_ok(), "{url}");
        }
        assert!(at("http://far.example.com/v1", "").choose(&Overrides::default()).is_ok(), "there is no key");
    }

    #[test]
    fn a_header_that_carries_a_key_is_refused() {
        let text = "provider = 'x'\nmodel = 'm'\n[providers.x]\nkind = 'openai'\nbase-url = 'http://localhost:1'\nheaders = { Authorization = 'sk' }\n";
        assert!(error(text).starts_with("the header Authorization of the provider x cannot be sent: it carries a key"));
    }

    #[tokio::test]
    async fn the_first_provider_that_is_ready_is_taken_and_a_server_is_asked_for_its_model() {
        use std::io::{Read as _, Write as _};
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let _ = stream.read(&mut [0; 4096]);
                let body = r#"{"data":[{"id":"served-1"},{"id":"served-2"}]}"#;
                let _ = write!(
                    stream,
                    "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                    body.len()
                );
            }
        });
        let text = format!(
            "[providers.a]\nkind = 'openai'\nbase-url = 'http://127.0.0.1:1/v1'\n[providers.b]\nkind = 'openai'\nbase-url = '{url}'\n"
        );
        let none = Overrides::default();
        let found = section(&text).first_ready(&none, &Keys::default()).await.unwrap();
        assert_eq!((found.provider.as_deref(), found.model.as_deref()), (Some("b"), Some("served-1")));
        assert_eq!(section("model = 'm'").first_ready(&none, &Keys::default()).await, None);
    }
}
