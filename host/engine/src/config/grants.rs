//! The capabilities that an entry grants to its plugin.

use std::{
    collections::{BTreeMap, BTreeSet},
    num::{NonZeroU32, NonZeroUsize},
    path::{Component, Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::contract::FactName;
use crate::secrets::Sources;

use super::quantity::{Count32, Size};

/// The capabilities that an entry grants to its plugin, in addition to `event`, `log` and `effects`, which every plugin
/// has. The default is none. A component that imports a capability without the grant is rejected when it is loaded.
///
/// ```
/// use hookhost::config::{Grants, ModelGrant, StateGrant};
///
/// // `entry.grants` of a program's own entry.
/// let mut grants = Grants::default();
/// grants.state = Some(StateGrant::default());
/// grants.model = Some(ModelGrant::new("small"));
/// grants.capabilities = ["customers".to_owned()].into();
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
#[non_exhaustive]
pub struct Grants {
    /// `state = { quota = "1MiB" }`: key-value state of the plugin.
    pub state: Option<StateGrant>,
    /// `read-dirs = { "/policy" = "./policy" }`: maps guest directories to host directories that the guest may read. A
    /// guest directory is an absolute path without `..`. A host directory is relative to the directory of the
    /// configuration file, and `~/` stands for the user's home.
    pub read_dirs: BTreeMap<String, PathBuf>,
    /// `write-dirs`: like `read-dirs`, but the guest may also change the content. The same guest directory in both keys
    /// is an error.
    pub write_dirs: BTreeMap<String, PathBuf>,
    /// `env = ["CI"]`: names of the host's environment variables that the guest sees.
    pub env: Vec<String>,
    /// `http = ["api.example.com"]`: hosts to which the guest may send requests over `https`. If a host has a `:port`
    /// other than 443, plain `http` is allowed, too. A scheme, a path and `*` are errors. hookhost connects only to
    /// addresses in the public internet, to `localhost` if it is listed, and to addresses that are listed themselves.
    pub http: Vec<String>,
    /// `model = { name = "small", max-calls = 10 }`: side calls to a language model.
    pub model: Option<ModelGrant>,
    /// `capabilities = ["customers"]`: names of capabilities that the embedding program provides. The command
    /// `hookhost` provides none. If the program does not provide a capability of this name, the plugin is not loaded.
    pub capabilities: BTreeSet<String>,
    /// `transcript = true`: the plugin may read the conversation.
    pub transcript: bool,
    /// `facts = ["git.branch", "env.CI"]`: names of the facts about the agent's world that the plugin may read.
    pub facts: BTreeSet<FactName>,
    /// `labels = true`: the plugin may read and add the labels of the session.
    pub labels: bool,
    /// `secrets = { files = [".env*"], variables = [] }`: the plugin may find the values of the project's secrets in texts.
    pub secrets: Option<SecretsGrant>,
    /// `approve = true`: the plugin's verdict `approve` waives the questions of the configuration. If the entry is in a
    /// project's file, the verdict waives only the questions of project files.
    pub approve: bool,
    /// `audit = true`: the plugin may subscribe to `audit-record`.
    pub audit: bool,
    /// `clock = true`: the plugin gets the real time instead of the event's time. As a result, its calls cannot be
    /// replayed.
    pub clock: bool,
    /// `random = true`: the plugin gets real random numbers instead of numbers that are derived from the event. As a
    /// result, its calls cannot be replayed.
    pub random: bool,
}

impl Grants {
    /// Returns true if a call with these grants may wait for something outside of the host: a model, a server, or a
    /// capability of the embedding program.
    pub(crate) fn waits_for_others(&self) -> bool {
        self.model.is_some() || !self.http.is_empty() || !self.capabilities.is_empty()
    }

    /// Returns a grant that has an effect only in a sandbox, if the entry has such a grant. A native rule has no
    /// sandbox.
    pub(crate) fn of_sandbox(&self) -> Option<&'static str> {
        let given = [
            ("read-dirs", !self.read_dirs.is_empty()),
            ("write-dirs", !self.write_dirs.is_empty()),
            ("env", !self.env.is_empty()),
            ("http", !self.http.is_empty()),
            ("model", self.model.is_some()),
            ("capabilities", !self.capabilities.is_empty()),
            ("clock", self.clock),
            ("random", self.random),
        ];
        given.into_iter().find_map(|(grant, is_given)| is_given.then_some(grant))
    }

    /// Returns true if the grants contain a directory.
    #[must_use]
    pub(crate) fn has_directories(&self) -> bool {
        !self.read_dirs.is_empty() || !self.write_dirs.is_empty()
    }
}

/// The grant of key-value state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
#[non_exhaustive]
pub struct StateGrant {
    /// `quota`: maximum size of the keys and values in each scope, in bytes; 1 to 1 GiB, default 1 MiB.
    #[serde(with = "Size")]
    pub quota: NonZeroUsize,
}

impl Default for StateGrant {
    fn default() -> Self {
        Self { quota: const { NonZeroUsize::new(1 << 20).unwrap() } }
    }
}

impl StateGrant {
    /// Creates a grant of state. `quota` is the maximum size of the keys and values in each scope, in bytes.
    #[must_use]
    pub fn new(quota: NonZeroUsize) -> Self {
        Self { quota }
    }
}

/// The grant to find the values of the project's secrets in texts. The plugin does not get the values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
#[non_exhaustive]
pub struct SecretsGrant {
    /// `files`: paths of files with lines `NAME=value`, relative to the workspace. The last component may contain `*`, which
    /// does not match examples such as `.env.example`. The default is `[".env*"]`.
    pub files: Vec<String>,
    /// `variables`: names of environment variables of the agent.
    pub variables: Vec<String>,
}

impl Default for SecretsGrant {
    fn default() -> Self {
        Self { files: vec![".env*".to_owned()], variables: Vec::new() }
    }
}

impl SecretsGrant {
    pub(crate) fn sources(&self) -> Sources<'_> {
        Sources { files: &self.files, variables: &self.variables }
    }

    /// Checks the path of a file.
    ///
    /// # Errors
    /// Returns the broken rule in one sentence.
    pub(crate) fn check_file(file: &str) -> Result<(), String> {
        let path = Path::new(file);
        let is_below = path.components().all(|part| matches!(part, Component::Normal(_)));
        let directory = path.parent().and_then(Path::to_str).unwrap_or_default();
        if file.is_empty() || !is_below || directory.contains('*') {
            return Err(format!(
                "`{file}` is no path in the workspace: name a file such as `.env` or `web/.env*`, with `*` only in its name"
            ));
        }
        Ok(())
    }
}

/// The grant of side calls to a language model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct ModelGrant {
    /// `name`: name of one of the embedding program's models; required.
    pub name: String,
    /// `max-calls`: maximum number of calls per session; 1 to 2³² − 1, default 10.
    #[serde(with = "Count32", default = "ModelGrant::default_max_calls")]
    pub max_calls: NonZeroU32,
}

impl ModelGrant {
    /// Maximum number of calls per session if a grant does not set it.
    const DEFAULT_MAX_CALLS: NonZeroU32 = NonZeroU32::new(10).unwrap();

    fn default_max_calls() -> NonZeroU32 {
        Self::DEFAULT_MAX_CALLS
    }

    /// Creates a grant for the embedding program's model with this name. The plugin may call this model ten times per
    /// session.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), max_calls: Self::DEFAULT_MAX_CALLS }
    }
}
