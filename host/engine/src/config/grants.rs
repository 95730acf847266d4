//! The capabilities that an entry gives to its plugin.

use std::{
    collections::{BTreeMap, BTreeSet},
    num::{NonZeroU32, NonZeroUsize},
    path::PathBuf,
};

use serde::{Deserialize, Serialize};

use super::quantity::{Count32, Size};

/// The capabilities that an entry gives to its plugin, beside `event`, `log` and `effects`, which every plugin has.
/// Default: none. A component that imports one it is not granted is refused at load.
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
    /// `state = { quota = "1MiB" }`: key-value state of its own.
    pub state: Option<StateGrant>,
    /// `read-dirs = { "/policy" = "./policy" }`: guest directory to host directory, which the guest
    /// may read. A guest directory is absolute and has no `..`; a host directory is relative to the
    /// configuration file, and `~/` is the user's home.
    pub read_dirs: BTreeMap<String, PathBuf>,
    /// `write-dirs`: as `read-dirs`, and the guest may change what is in them. One guest directory in both is an error.
    pub write_dirs: BTreeMap<String, PathBuf>,
    /// `env = ["CI"]`: names of the host's environment variables that the guest sees.
    pub env: Vec<String>,
    /// `http = ["api.example.com"]`: hosts that the guest may send requests to over `https`; with
    /// `:port` where that is not 443, and then also over plain `http`. Neither scheme nor path nor
    /// `*`. A name that leads to an address that is not on the public internet is not connected to;
    /// `localhost`, and an address that is written here, are.
    pub http: Vec<String>,
    /// `model = { name = "small", max-calls = 10 }`: side calls to a language model.
    pub model: Option<ModelGrant>,
    /// `capabilities = ["customers"]`: names of capabilities that the program that embeds the host brings. The command
    /// `hookhost` brings none. A name that the program does not bring is an error at load.
    pub capabilities: BTreeSet<String>,
    /// `transcript = true`: the conversation.
    pub transcript: bool,
    /// `approve = true`: its `approve` waives the questions that the configuration asks; of an
    /// entry in a project's file, those that project files ask.
    pub approve: bool,
    /// `audit = true`: it may subscribe to `audit-record`.
    pub audit: bool,
    /// `clock = true`: the real time in place of the event's; its answers can then not be replayed.
    pub clock: bool,
    /// `random = true`: real random numbers in place of those seeded from the event; as `clock`.
    pub random: bool,
}

impl Grants {
    /// Returns true if they give something that answers in its own time: a model, a server, a capability of the embedding program.
    pub(crate) fn waits_for_others(&self) -> bool {
        self.model.is_some() || !self.http.is_empty() || !self.capabilities.is_empty()
    }

    /// A grant that lets a guest out of its sandbox, if there is one: a native rule is in none.
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

    /// Returns true if they give any directory.
    #[must_use]
    pub(crate) fn has_directories(&self) -> bool {
        !self.read_dirs.is_empty() || !self.write_dirs.is_empty()
    }
}

/// Key-value state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
#[non_exhaustive]
pub struct StateGrant {
    /// `quota`: bytes of keys and values in each scope; 1 to 1 GiB, default 1 MiB.
    #[serde(with = "Size")]
    pub quota: NonZeroUsize,
}

impl Default for StateGrant {
    fn default() -> Self {
        Self { quota: const { NonZeroUsize::new(1 << 20).unwrap() } }
    }
}

impl StateGrant {
    /// State of this size, in bytes of keys and values in each scope.
    #[must_use]
    pub fn new(quota: NonZeroUsize) -> Self {
        Self { quota }
    }
}

/// Side calls to a language model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct ModelGrant {
    /// `name`: which of the embedder's models; required.
    pub name: String,
    /// `max-calls`: calls per session; 1 to 2³² − 1, default 10.
    #[serde(with = "Count32", default = "ModelGrant::default_max_calls")]
    pub max_calls: NonZeroU32,
}

impl ModelGrant {
    /// The calls per session of a grant that does not say.
    const DEFAULT_MAX_CALLS: NonZeroU32 = NonZeroU32::new(10).unwrap();

    fn default_max_calls() -> NonZeroU32 {
        Self::DEFAULT_MAX_CALLS
    }

    /// The embedder's model of this name, and ten calls of it per session.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), max_calls: Self::DEFAULT_MAX_CALLS }
    }
}
