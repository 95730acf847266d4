//! One thing that was looked at, and what to do about it.

use serde::Serialize;

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It is as it should be.
    Ok,
    /// It is not: rules do not hold, or not all of them.
    Problem,
    /// It cannot be told from here.
    Unknown,
}

impl State {
    /// The word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Problem => "problem",
            Self::Unknown => "unknown",
        }
    }
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Check {
    /// What it is about, one word.
    pub about: &'static str,
    /// What was found.
    pub state: State,
    /// One sentence.
    pub says: String,
    /// What to do: a command or a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

impl Check {
    /// It is as it should be.
    pub fn ok(about: &'static str, says: impl Into<String>) -> Self {
        Self { about, state: State::Ok, says: says.into(), next: None }
    }

    /// It is not, and this helps.
    pub fn problem(about: &'static str, says: impl Into<String>, next: impl Into<String>) -> Self {
        Self { about, state: State::Problem, says: says.into(), next: Some(next.into()) }
    }

    /// It cannot be told, and this helps.
    pub fn unknown(about: &'static str, says: impl Into<String>, next: impl Into<String>) -> Self {
        Self { about, state: State::Unknown, says: says.into(), next: Some(next.into()) }
    }
}
