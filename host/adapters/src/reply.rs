//! What the hook prints, and its exit code.

use serde_json::Value;

/// What an agent gets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reply {
    /// The exit code of the hook. It is never 1: agents read that as a hook that failed, and continue.
    pub exit: u8,
    /// Standard output; over HTTP the body.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Reply {
    /// Nothing, and the exit code 0.
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }

    /// A JSON value on the standard output.
    #[must_use]
    pub fn json(value: &Value) -> Self {
        Self { stdout: value.to_string(), ..Self::default() }
    }

    /// A text on the standard output.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { stdout: text.into(), ..Self::default() }
    }

    /// Exit code 2 and a text on the standard error. Most agents read that as a no. The text is never empty: then some would
    /// continue.
    #[must_use]
    pub fn exit_2(text: &str) -> Self {
        let text = if text.trim().is_empty() { "rejected by policy" } else { text };
        Self { exit: 2, stdout: String::new(), stderr: text.to_owned() }
    }

    /// What the hook printed as JSON, where it ended with exit code 0; otherwise `null`.
    pub(crate) fn said(&self) -> Value {
        let is_read = self.exit == 0;
        is_read.then(|| serde_json::from_str(self.stdout.trim()).ok()).flatten().unwrap_or_default()
    }
}
