//! Facts about the world of an agent, which the host reads for plugins.

use serde::{Deserialize, Serialize};
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

/// Defines an enum of words, with the word of each variant.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$of])* #[serde(rename = $word)] $variant,)*
        }

        impl $name {
            /// All variants.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Returns the word by which files and plugins name the variant.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }

            /// Returns the variant with this word.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|known| known.name() == name)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

words! {
    /// The name of a fact. "Here" is the directory about which a plugin asks.
    FactName {
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
}

words! {
    /// How an agent asks its user about tool calls.
    SessionMode {
        /// The agent plans, and changes nothing.
        Plan = "plan",
        /// The agent asks as its user's rules say.
        Default = "default",
        /// The agent does not ask about changes of files.
        AcceptEdits = "accept-edits",
        /// The agent does not ask.
        Bypass = "bypass",
        /// The agent itself decides about what it asks.
        Auto = "auto",
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
            assert_eq!(FactName::from_name(name.name()), Some(*name));
        }
        assert_eq!(SessionMode::from_name("accept-edits"), Some(SessionMode::AcceptEdits));
        assert_eq!(FactName::from_name("git.brnch"), None);
    }

    #[test]
    fn a_fact_has_a_short_json_form() {
        assert_eq!(json!([Fact::Absent, Fact::Flag(true)]), json!(["absent", { "flag": true }]));
    }
}
