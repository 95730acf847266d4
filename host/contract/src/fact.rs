//! Facts about the world of an agent, which the host reads for plugins.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// The value of a fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fact {
    /// There is no such thing here: for example, no repository around the directory.
    Absent,
    /// It exists, and cannot be read or understood. The string is the reason.
    Unreadable(String),
    /// A text.
    Text(String),
    /// A number.
    Number(i64),
    /// True or false.
    Flag(bool),
}

/// Beginning of the names of variables, such as `env.CI`.
const VARIABLE: &str = "env.";

/// Defines [`FactName`], with the word of each variant.
macro_rules! facts {
    ($($(#[$of:meta])* $variant:ident = $word:literal,)*) => {
        /// The name of a fact. "Here" is the directory about which a plugin asks.
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum FactName {
            $($(#[$of])* $variant,)*
            /// A variable of the agent's environment: `env.CI`.
            Variable(String),
        }

        impl FactName {
            /// All facts except for the variables.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            const NAMES: &[&str] = &[$($word),*];

            /// Returns the name by which files and plugins ask for the fact.
            #[must_use]
            pub fn name(&self) -> Cow<'static, str> {
                match self {
                    $(Self::$variant => $word.into(),)*
                    Self::Variable(name) => format!("{VARIABLE}{name}").into(),
                }
            }
        }
    };
}

facts! {
    /// The branch of the repository here.
    GitBranch = "git.branch",
    /// The address of the remote to which the branch belongs, without a user's name and password.
    GitRemote = "git.remote",
    /// Whether there is a file, a directory or a link at the path.
    PathExists = "path.exists",
    /// Whether the repository tracks the file.
    PathIsTracked = "path.is_tracked",
    /// The current context of `kubectl`.
    KubeContext = "kube.context",
    /// The namespace of the current context of `kubectl`.
    KubeNamespace = "kube.namespace",
    /// The profile of `aws`.
    AwsProfile = "aws.profile",
    /// The account of the profile of `aws`.
    AwsAccount = "aws.account",
    /// The project of `gcloud`.
    GcloudProject = "gcloud.project",
    /// The workspace of `terraform` here.
    TerraformWorkspace = "terraform.workspace",
    /// The context of `docker`.
    DockerContext = "docker.context",
    /// The offset of the local time from UTC, in minutes: 60 for UTC+1.
    TimeOffset = "time.offset",
    /// The user of the agent's process.
    User = "user",
    /// How the agent asks its user about tool calls: a [`SessionMode`].
    SessionMode = "session.mode",
    /// Whether the kernel isolates the agent's process from the host.
    SessionSandboxed = "session.sandboxed",
    /// The version of the agent program.
    AgentVersion = "agent.version",
    /// Whether the tool of the call only reads, as its server says.
    ToolReadOnly = "tool.read_only",
    /// Whether the tool of the call can destroy something, as its server says.
    ToolDestructive = "tool.destructive",
    /// Whether the tool of the call reaches the outside world, as its server says.
    ToolOpenWorld = "tool.open_world",
}

impl FactName {
    /// Returns the fact with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name.strip_prefix(VARIABLE) {
            Some(variable) => is_variable(variable).then(|| Self::Variable(variable.to_owned())),
            None => Self::ALL.iter().find(|known| known.name() == name).cloned(),
        }
    }
}

/// Returns true if an environment can contain a variable of this name.
fn is_variable(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '*', '\0'])
}

impl fmt::Display for FactName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

impl Serialize for FactName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.name())
    }
}

impl<'de> Deserialize<'de> for FactName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::from_name(&name).ok_or_else(|| D::Error::unknown_variant(&name, Self::NAMES))
    }
}

/// How an agent asks its user about tool calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SessionMode {
    /// The agent plans, and changes nothing.
    Plan,
    /// The agent asks as its user's rules say.
    Default,
    /// The agent does not ask about changes of files.
    AcceptEdits,
    /// The agent does not ask.
    Bypass,
    /// The agent itself decides about what it asks.
    Auto,
}

impl SessionMode {
    /// Returns the word by which files and plugins name the mode.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Default => "default",
            Self::AcceptEdits => "accept-edits",
            Self::Bypass => "bypass",
            Self::Auto => "auto",
        }
    }
}

/// The annotations that an MCP server gives one of its tools, if a person has approved the tool with them. An annotation
/// that the server does not give is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct ToolHints {
    /// `readOnlyHint`: the tool changes nothing.
    pub read_only: Option<bool>,
    /// `destructiveHint`: the tool can destroy something.
    pub destructive: Option<bool>,
    /// `openWorldHint`: the tool reaches something outside of the server.
    pub open_world: Option<bool>,
}

#[cfg(test)]
mod tests {
    use super::{Fact, FactName, SessionMode};
    use serde_json::json;

    #[test]
    fn a_word_is_the_same_in_rust_and_in_json() {
        for name in FactName::ALL {
            assert_eq!(json!(name), json!(name.name()));
            assert_eq!(FactName::from_name(&name.name()).as_ref(), Some(name));
        }
        assert_eq!(json!(SessionMode::AcceptEdits), json!(SessionMode::AcceptEdits.name()));
        assert_eq!(FactName::from_name("git.brnch"), None);
    }

    #[test]
    fn a_variable_is_a_fact_if_it_has_a_name() {
        let variable = FactName::from_name("env.CI").unwrap();
        assert_eq!(variable, FactName::Variable("CI".to_owned()));
        assert_eq!((json!(variable), serde_json::from_value(json!("env.CI")).ok()), (json!("env.CI"), Some(variable)));
        for wrong in ["env.", "env.A=B", "env.*"] {
            assert_eq!(FactName::from_name(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_fact_has_a_short_json_form() {
        assert_eq!(json!([Fact::Absent, Fact::Flag(true)]), json!(["absent", { "flag": true }]));
    }
}
