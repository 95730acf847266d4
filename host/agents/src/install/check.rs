//! The result of one check, with the next step for a person.

use serde::Serialize;

/// The state that a check found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckState {
    /// The state is correct.
    Ok,
    /// The check found a problem, so some or all rules do not take effect.
    Problem,
    /// The state cannot be determined by this check.
    Unknown,
}

impl CheckState {
    /// Returns the name of the state.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Problem => "problem",
            Self::Unknown => "unknown",
        }
    }
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Check {
    /// Subject of the check, in one word.
    pub about: &'static str,
    /// The state.
    pub state: CheckState,
    /// The finding, as one sentence.
    pub says: String,
    /// The next step, which is a command or a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

impl Check {
    /// Creates a check without a problem.
    pub fn ok(about: &'static str, says: impl Into<String>) -> Self {
        Self { about, state: CheckState::Ok, says: says.into(), next: None }
    }

    /// Creates a check that found a problem. `next` says how to solve the problem.
    pub fn problem(about: &'static str, says: impl Into<String>, next: impl Into<String>) -> Self {
        Self { about, state: CheckState::Problem, says: says.into(), next: Some(next.into()) }
    }

    /// Creates a check that could not determine the state. `next` says how a person can find out more.
    pub fn unknown(about: &'static str, says: impl Into<String>, next: impl Into<String>) -> Self {
        Self { about, state: CheckState::Unknown, says: says.into(), next: Some(next.into()) }
    }
}
