//! What a hook of Claude Code says about a call, as the agent reads it: <https://code.claude.com/docs/en/hooks>.

use serde_json::Value;
use std::fmt::{self, Display, Formatter};

/// What a hook says about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The call runs, and nobody is asked.
    Allow,
    /// What the agent does without the hook, it does now.
    NoObjection,
    /// The user is asked.
    Ask,
    /// The call does not run.
    Deny,
    /// The hook failed, which does not stop the agent.
    Failure(String),
}

impl Verdict {
    /// The verdict of a process that ended with this exit code, if it was not ended by a signal, and printed this.
    pub(crate) fn of(exit: Option<i32>, stdout: &str) -> Self {
        match exit {
            Some(0) => Self::printed(stdout),
            Some(2) => Self::Deny,
            Some(code) => Self::Failure(format!("fails with exit code {code}")),
            None => Self::Failure("was ended by a signal".to_owned()),
        }
    }

    /// What the printed JSON says. Anything else is text for people.
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

    /// Whether a guard with the rule "no force push" says this about a call that is one, or is not.
    pub(crate) fn is_right(&self, is_force_push: bool) -> bool {
        match self {
            Self::Allow | Self::NoObjection => !is_force_push,
            Self::Deny => is_force_push,
            Self::Ask | Self::Failure(_) => false,
        }
    }
}

/// As the end of a sentence about the hook.
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
