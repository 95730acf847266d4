//! The section `[agent]` of `hookhost.toml`: which provider and model, and how an agent runs.
//!
//! Keys are in the environment and nowhere else: the section only names the variables that hold them.

use crate::agent::AgentConfig;
use crate::provider::anthropic::{self, Anthropic};
use crate::provider::openai::{self, OpenAi};
use crate::provider::scripted::{Script, Scripted};
use crate::provider::{Endpoint, Provider, ProviderError, RetryPolicy, Timeouts};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The model of [`Kind::Anthropic`] where none is named.
const ANTHROPIC_MODEL: &str = "claude-sonnet-4-5";

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
pub struct AgentSection {
    /// A name of `providers`, or one of the kinds `anthropic`, `openai` and `scripted`. Default: `anthropic`.
    pub provider: Option<String>,
    /// The model. Required, but for `anthropic` (`claude-sonnet-4-5`) and `scripted`.
    pub model: Option<String>,
    /// Further models of this provider that a plugin may move a request to.
    pub models: Vec<String>,
    /// Where the provider is, for a kind: `https://host/v1`. Default: the kind's own servers.
    pub base_url: Option<String>,
    /// The environment variable with the provider's key, for a kind. Default: `ANTHROPIC_API_KEY` or `OPENAI_API_KEY`;
    /// none where `base-url` is given, so that a key never goes to a server that it is not meant for.
    pub key_variable: Option<String>,
    /// The script of the kind `scripted`; relative to the working directory.
    pub script: Option<PathBuf>,
    /// Providers by name, for `provider` and for plugins that move a request.
    pub providers: BTreeMap<String, ProviderSection>,
    /// Most model calls of one task. Default: 50.
    pub max_turns: Option<NonZeroU32>,
    /// Longest answer of the model, in tokens. Default: 8192.
    pub max_output_tokens: Option<NonZeroU32>,
    /// What the model is told first, in place of what is built in.
    pub system_prompt: Option<String>,
    /// Longest time of a run, such as `"90s"`, `"30m"` or `"2h"`; then it is stopped. Default: none.
    #[serde(deserialize_with = "time")]
    pub max_time: Option<Duration>,
    /// Most tokens of a run, read and written, sub-agents included. Default: none.
    pub max_tokens: Option<NonZeroU64>,
    /// What the model can read at once, in tokens: near it, the older part of the conversation is summarised. Default: not
    /// known, so never.
    pub context_window: Option<NonZeroU64>,
    /// How deep sub-agents go. Default: 3; 0: there are none.
    pub max_depth: Option<u8>,
    /// Most sub-agents that one session starts. Default: 16.
    pub max_subagents: Option<NonZeroU32>,
    /// Most sub-agents of one depth at a time; more wait. Default: 4.
    pub max_concurrent_subagents: Option<NonZeroU32>,
    /// How often a failed request is sent again (rate limits, failures of the server, no connection). Default: 3; 0: never.
    pub retries: Option<u32>,
}

/// One of `[agent.providers]`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ProviderSection {
    /// Which protocol it speaks.
    pub kind: Kind,
    /// As [`AgentSection::base_url`].
    pub base_url: Option<String>,
    /// As [`AgentSection::key_variable`].
    pub key_variable: Option<String>,
    /// As [`AgentSection::script`].
    pub script: Option<PathBuf>,
    /// The models that a plugin may move a request to.
    #[serde(default)]
    pub models: Vec<String>,
}

/// A protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI's chat completions, which most other servers speak.
    #[serde(rename = "openai")]
    OpenAi,
    /// A script in place of a model.
    Scripted,
}

/// What counts more than the section: a program's own flags.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Another provider.
    pub provider: Option<String>,
    /// Another model.
    pub model: Option<String>,
    /// Another script; alone, it chooses the provider `scripted`.
    pub script: Option<PathBuf>,
}

/// The providers and models of a section, ready to be asked.
#[derive(Debug)]
pub struct Chosen {
    /// The agent's own provider.
    pub provider: Arc<dyn Provider>,
    /// The agent's own model.
    pub model: String,
    /// What a plugin may move a request to; the agent's own provider among them where it has further models.
    pub others: Vec<(Arc<dyn Provider>, Vec<String>)>,
    /// A sentence for each provider that is left out of `others`, since it cannot be used.
    pub notices: Vec<String>,
}

/// Why a section gives no provider.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// No such provider.
    #[error("there is no provider named `{name}`: use {known}, or add [agent.providers.{name}]")]
    UnknownProvider {
        /// The name.
        name: String,
        /// What there is.
        known: String,
    },
    /// No model is named.
    #[error("the provider {provider} needs a model: name one with --model, or with `model` in [agent]")]
    NoModel {
        /// The provider.
        provider: String,
    },
    /// A scripted provider without a script.
    #[error("the provider {provider} needs a script: name one with --script, or with `script` in the configuration")]
    NoScript {
        /// The provider.
        provider: String,
    },
    /// The provider cannot be used.
    #[error(transparent)]
    Provider(#[from] ProviderError),
}

impl Kind {
    const ALL: [(&str, Self); 3] =
        [("anthropic", Self::Anthropic), ("openai", Self::OpenAi), ("scripted", Self::Scripted)];

    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
    }

    fn default_model(self) -> Option<&'static str> {
        match self {
            Self::Anthropic => Some(ANTHROPIC_MODEL),
            Self::OpenAi => None,
            Self::Scripted => Some("scripted"),
        }
    }
}

impl AgentSection {
    /// Makes the providers.
    ///
    /// # Errors
    /// If the chosen one is not known or cannot be used (no key, no script), or no model is named. One that only
    /// plugins could choose is left out with a notice.
    pub fn choose(&self, overrides: &Overrides) -> Result<Chosen, ConfigError> {
        let name = match overrides {
            Overrides { provider: Some(name), .. } => name.as_str(),
            Overrides { script: Some(_), .. } => "scripted",
            _ => self.provider.as_deref().unwrap_or("anthropic"),
        };
        let mut section = self.provider(name)?;
        if section.kind == Kind::Scripted && overrides.script.is_some() {
            section.script.clone_from(&overrides.script);
        }
        let own = section.provider(name)?;
        // A model that is configured for one provider is none of another's.
        let configured =
            (self.provider.as_deref().unwrap_or("anthropic") == name).then_some(self.model.as_ref()).flatten();
        let model = overrides.model.clone().or_else(|| configured.cloned());
        let model = model.or_else(|| section.kind.default_model().map(str::to_owned));
        let model = model.ok_or_else(|| ConfigError::NoModel { provider: name.to_owned() })?;
        let mut others = Vec::new();
        if !section.models.is_empty() {
            others.push((Arc::clone(&own), section.models));
        }
        let mut notices = Vec::new();
        for (other, section) in
            self.providers.iter().filter(|(other, section)| *other != name && !section.models.is_empty())
        {
            match section.provider(other) {
                Ok(provider) => others.push((provider, section.models.clone())),
                Err(error) => notices.push(format!("plugins cannot use the provider {other}: {error}")),
            }
        }
        Ok(Chosen { provider: own, model, others, notices })
    }

    /// The section of a provider: its own, or, for a kind, what stands in `[agent]` itself.
    fn provider(&self, name: &str) -> Result<ProviderSection, ConfigError> {
        if let Some(section) = self.providers.get(name) {
            return Ok(section.clone());
        }
        let Some(kind) = Kind::from_name(name) else {
            let kinds = Kind::ALL.iter().map(|(kind, _)| (*kind).to_owned());
            let known = kinds.chain(self.providers.keys().cloned()).collect::<Vec<_>>().join(", ");
            return Err(ConfigError::UnknownProvider { name: name.to_owned(), known });
        };
        // What stands in `[agent]` is about its own provider, and about no other that a flag chooses.
        if self.provider.as_deref().unwrap_or("anthropic") != name {
            return Ok(ProviderSection { kind, base_url: None, key_variable: None, script: None, models: Vec::new() });
        }
        Ok(ProviderSection {
            kind,
            base_url: self.base_url.clone(),
            key_variable: self.key_variable.clone(),
            script: self.script.clone(),
            models: self.models.clone(),
        })
    }

    /// The environment variables that hold keys, for [`AgentConfig::hidden_variables`].
    #[must_use]
    pub fn key_variables(&self) -> Vec<String> {
        let named = self.providers.values().filter_map(|section| section.key_variable.clone());
        let known = [anthropic::KEY_VARIABLE.to_owned(), openai::KEY_VARIABLE.to_owned()];
        let mut variables: Vec<String> = known.into_iter().chain(self.key_variable.clone()).chain(named).collect();
        variables.sort();
        variables.dedup();
        variables
    }

    /// The agent's settings, in `workspace`, with `model`.
    #[must_use]
    pub fn agent_config(&self, workspace: &Path, model: &str) -> AgentConfig {
        let mut config = AgentConfig::new(workspace, model);
        config.max_turns = self.max_turns.unwrap_or(config.max_turns);
        config.max_output_tokens = self.max_output_tokens.unwrap_or(config.max_output_tokens);
        config.max_time = self.max_time;
        config.max_tokens = self.max_tokens;
        config.context_window = self.context_window;
        config.max_depth = self.max_depth.unwrap_or(config.max_depth);
        config.max_subagents = self.max_subagents.unwrap_or(config.max_subagents);
        config.max_concurrent_subagents = self.max_concurrent_subagents.unwrap_or(config.max_concurrent_subagents);
        if let Some(prompt) = &self.system_prompt {
            config.system_prompt.clone_from(prompt);
        }
        config.retry = RetryPolicy { retries: self.retries.unwrap_or(config.retry.retries), ..config.retry };
        config.hidden_variables = self.key_variables();
        config
    }
}

/// A time with its unit, never zero.
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
    fn provider(&self, name: &str) -> Result<Arc<dyn Provider>, ConfigError> {
        Ok(match self.kind {
            Kind::Anthropic => {
                Arc::new(Anthropic::new(self.endpoint(name, anthropic::BASE_URL, anthropic::KEY_VARIABLE)?))
            }
            Kind::OpenAi => Arc::new(OpenAi::new(self.endpoint(name, openai::BASE_URL, openai::KEY_VARIABLE)?)),
            Kind::Scripted => {
                let script = self.script.as_deref();
                let script = script.ok_or_else(|| ConfigError::NoScript { provider: name.to_owned() })?;
                let script = Script::open(script).map_err(ProviderError::from)?;
                Arc::new(Scripted::new(script))
            }
        })
    }

    fn endpoint(&self, name: &str, base_url: &str, key_variable: &str) -> Result<Endpoint, ProviderError> {
        let default_key = self.base_url.is_none().then_some(key_variable);
        let key = self.key_variable.as_deref().or(default_key);
        Endpoint::new(name, self.base_url.as_deref().unwrap_or(base_url), key, Timeouts::default())
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
    fn what_stands_beside_the_provider_is_not_applied_to_another_that_a_flag_chooses() {
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
    fn an_unknown_provider_is_told_with_those_that_exist() {
        assert_eq!(
            error("provider = 'opnai'\n[providers.local]\nkind = 'openai'\n"),
            "there is no provider named `opnai`: use anthropic, openai, scripted, local, or add [agent.providers.opnai]"
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
        assert_eq!(config.hidden_variables, ["A", "ANTHROPIC_API_KEY", "B", "OPENAI_API_KEY"]);
    }
}
