//! The section `[agent]` of `hookhost.toml`: provider, model and limits of an agent.
//!
//! The section contains no API keys. The keys are in environment variables that the section names, or in the user's
//! [`Keys`](hookhost_models::Keys).

mod choice;
mod hidden;
mod sent_variables;

pub use choice::{Overrides, ProviderChoice};
pub use hidden::HIDDEN_BY_DEFAULT;
pub use sent_variables::SentVariable;

use crate::agent::AgentConfig;
use hookhost_models::RetryPolicy;
use hookhost_models::section::{PluginModelSection, ProviderSection};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::{Path, PathBuf};
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
    /// Name of the provider: a key of `providers`, a built-in provider, or `scripted`. Default: the first provider that is ready.
    pub provider: Option<String>,
    /// Name of the model. Default: the provider's default model, if it has one.
    pub model: Option<String>,
    /// Further models of this provider that a plugin may choose for a request.
    pub models: Vec<String>,
    /// Base URL of a provider without a section in `providers`, such as `https://host/v1`. Default: the built-in
    /// provider's URL.
    pub base_url: Option<String>,
    /// Environment variable that holds the key of a provider without a section in `providers`. Default: the built-in provider's variable,
    /// such as `ANTHROPIC_API_KEY`. If `base-url` is given, there is no default, so that a key never goes to another server.
    pub key_variable: Option<String>,
    /// Script of the provider `scripted`, relative to the working directory.
    pub script: Option<PathBuf>,
    /// Providers by name, for `provider` and for plugins that choose a provider for a request.
    pub providers: BTreeMap<String, ProviderSection>,
    /// Models to which plugins with the grant `model` may send requests. The key is the name in the grant.
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
    /// Context window of the model, in tokens. When the conversation nears this size, its older part is summarised. Default: the provider's
    /// limit for the model; if the provider gives no limit, nothing is summarised.
    pub context_window: Option<NonZeroU64>,
    /// Maximum depth of sub-agents. 0: no sub-agents. Default: 3.
    pub max_depth: Option<u8>,
    /// Maximum number of requests to models per run, sub-agents included. Default: 500.
    pub max_requests: Option<NonZeroU32>,
    /// Maximum number of sub-agents per run at all depths. Default: 32.
    pub max_subagents: Option<NonZeroU32>,
    /// Maximum number of sub-agents that one session starts. Default: 16.
    pub max_subagents_per_session: Option<NonZeroU32>,
    /// Maximum number of sub-agents of one depth that run at the same time. Further sub-agents wait. Default: 4.
    pub max_concurrent_subagents: Option<NonZeroU32>,
    /// Number of times that a request is sent again if it failed because of a rate limit, a failure of the server or a lost connection.
    /// With 0, no request is sent again. Default: 3.
    pub retries: Option<u32>,
    /// Environment variables that tools and MCP servers do not inherit, in addition to keys and [`HIDDEN_BY_DEFAULT`]. In a name, `*`
    /// matches any string. The lists of the user's file and of a project's file are combined.
    pub hidden_variables: Vec<String>,
    /// Environment variables that tools and MCP servers inherit although `hidden-variables` or [`HIDDEN_BY_DEFAULT`]
    /// match them. Keys of providers are never inherited. A project's file cannot set this key.
    pub passed_variables: Vec<String>,
}

impl AgentSection {
    fn retry(&self) -> RetryPolicy {
        let mut policy = RetryPolicy::default();
        policy.retries = self.retries.unwrap_or(policy.retries);
        policy
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
        config.launcher.hidden_variables = self.hidden_variables(hidden::names_of_environment());
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
        None => Err(serde::de::Error::custom(format!(
            "`{text}` is not a duration: give one with its unit, such as \"30m\""
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(text: &str) -> AgentSection {
        toml::from_str(text).unwrap()
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
        let hidden = config.launcher.hidden_variables;
        assert!(
            ["A", "ANTHROPIC_API_KEY", "B", "GROQ_API_KEY"].iter().all(|name| hidden.contains(&(*name).to_owned()))
        );
    }
}
