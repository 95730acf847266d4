//! The output and the exit code of the hook.

use serde_json::Value;

/// The reply to an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// Exit code of the hook. It is never 1, because agents treat exit code 1 as a failed hook and continue.
    pub exit: u8,
    /// Standard output of the hook, or the body of the response if the agent uses HTTP.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Reply {
    /// Returns an empty reply with exit code 0.
    pub fn empty() -> Self {
        Self::default()
    }

    /// Returns a reply with a JSON value on the standard output.
    pub fn json(value: &Value) -> Self {
        Self { stdout: value.to_string(), ..Self::default() }
    }

    /// Returns a reply with a text on the standard output.
    pub fn text(text: impl Into<String>) -> Self {
        Self { stdout: text.into(), ..Self::default() }
    }

    /// Returns a reply with exit code 2 and a text on the standard error. Most agents treat such a reply as a denial.
    /// An empty text is replaced, because some agents would continue if the standard error is empty.
    pub fn exit_2(text: &str) -> Self {
        let text = if text.trim().is_empty() { "rejected by policy" } else { text };
        Self { exit: 2, stdout: String::new(), stderr: text.to_owned() }
    }

    /// Returns the JSON on the standard output if the exit code is 0, otherwise `null`.
    pub(crate) fn json_output(&self) -> Value {
        let is_read = self.exit == 0;
        is_read.then(|| serde_json::from_str(self.stdout.trim()).ok()).flatten().unwrap_or_default()
    }
}
