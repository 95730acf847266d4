//! The verdict of a Claude Code hook on a call, as the agent reads it: <https://code.claude.com/docs/en/hooks>.

use serde_json::Value;
use std::fmt::{self, Display, Formatter};

/// The verdict of a hook on a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The call runs without a question to the user.
    Allow,
    /// The agent behaves as without the hook.
    NoObjection,
    /// The agent asks the user about the call.
    Ask,
    /// The call does not run.
    Deny,
    /// The hook failed, which does not stop the agent.
    Failure(String),
}

impl Verdict {
    /// Returns the verdict of a process with this exit code (`None` after a signal) and this output.
    pub(crate) fn of(exit: Option<i32>, stdout: &str) -> Self {
        match exit {
            Some(0) => Self::printed(stdout),
            Some(2) => Self::Deny,
            Some(code) => Self::Failure(format!("fails with exit code {code}")),
            None => Self::Failure("was ended by a signal".to_owned()),
        }
    }

    /// Returns the verdict of the printed JSON. Other output is text for people.
    fn printed(stdout: &str) -> Self {
        let Ok(said) = serde_json::from_str::<Value>(stdout.trim()) else { return Self::NoObjection };
        let decision = said.pointer("/hookSpecificOutput/permissionDecision").or_else(|| said.get("decision"));
        match decision.and_then(Value::as_str) {
            Some("allow" | "approve") => Self::Allow,
            Some("ask") => Self::Ask,
            Some("deny" | "block") => Self::Deny,
            _ if said.get("continue") == Some(&Value::Bool(false)) => Self::Deny,
            _ => Self::NoObjection,
        }
    }

    /// Returns true if this is the right verdict of the rule "no force push".
    pub(crate) fn is_right(&self, is_force_push: bool) -> bool {
        match self {
            Self::Allow | Self::NoObjection => !is_force_push,
            Self::Deny => is_force_push,
            Self::Ask | Self::Failure(_) => false,
        }
    }
}

/// Formats the verdict as the end of a sentence about the hook.
impl Display for Verdict {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Allow => "allows it",
            Self::NoObjection => "has no objection",
            Self::Ask => "asks the user",
            Self::Deny => "denies it",
            Self::Failure(how) => how,
        })
    }
}
