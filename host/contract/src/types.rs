//! What the generated types can do.

use crate::{CompletionVerdict, Refusal, Task, ToolResult};

impl Refusal {
    /// Longest reason that is passed on, in bytes of UTF-8. It is plugin text that a model reads: short enough to
    /// stay one sentence, too short to smuggle a prompt.
    pub const MAX_REASON: usize = 2048;
}

impl ToolResult {
    /// A result that is text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: false, raw: None }
    }

    /// A failure that is text.
    pub fn error(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: true, raw: None }
    }
}

impl From<CompletionVerdict> for Vec<Task> {
    fn from(verdict: CompletionVerdict) -> Self {
        match verdict {
            CompletionVerdict::Finish => Self::new(),
            CompletionVerdict::GoOn(tasks) => tasks,
        }
    }
}
