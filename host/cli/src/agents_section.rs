//! The section `[agents]` of the user's own hookhost.toml: settings for each agent.

use hookhost_agents::plan::OnFailure;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// `[agents]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct AgentsSection(BTreeMap<AgentName, AgentSettings>);

/// The name of an agent that has an adapter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct AgentName(String);

/// `[agents.NAME]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct AgentSettings {
    on_failure: Option<OnFailureWord>,
    directories: Option<DirectoriesWord>,
}

/// The source from which an agent's hook gets the directories of hookhost's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum DirectoriesWord {
    /// The command of the hook names the directories.
    Fixed,
    /// The directories come from the environment in which the agent starts the hook.
    Environment,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum OnFailureWord {
    Deny,
    Allow,
}

static NAMES: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| hookhost_agents::all().iter().map(|adapter| adapter.agent().name).collect());

impl<'de> Deserialize<'de> for AgentName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        if NAMES.contains(&name.as_str()) { Ok(Self(name)) } else { Err(D::Error::unknown_field(&name, &NAMES)) }
    }
}

impl AgentsSection {
    /// Returns what an agent's hook does if no host answers it.
    #[must_use]
    pub(crate) fn on_failure(&self, agent: &str) -> OnFailure {
        match self.of(agent).on_failure {
            Some(OnFailureWord::Allow) => OnFailure::Allow,
            Some(OnFailureWord::Deny) | None => OnFailure::Deny,
        }
    }

    /// Returns true if the command of an agent's hook names the directories of hookhost's files.
    #[must_use]
    pub(crate) fn fixes_directories(&self, agent: &str) -> bool {
        self.of(agent).directories != Some(DirectoriesWord::Environment)
    }

    fn of(&self, agent: &str) -> AgentSettings {
        self.0.get(&AgentName(agent.to_owned())).cloned().unwrap_or_default()
    }
}
