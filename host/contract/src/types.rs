//! What the generated types can do.

use crate::{
    BatchVerdict, CompactionVerdict, CompletionVerdict, CustomVerdict, InferenceVerdict, PlanVerdict, Refusal,
    RequestVerdict, ResolutionVerdict, ResponseVerdict, SubagentVerdict, Task, TaskVerdict, TextVerdict,
    ToolCallVerdict, ToolResult, ToolResultVerdict, TurnVerdict, UsageVerdict,
};

impl Refusal {
    /// Longest reason that is passed on, in bytes of UTF-8. It is plugin text that a model reads: short enough to
    /// stay one sentence, too short to smuggle a prompt.
    pub const MAX_REASON: usize = 2048;

    /// A refusal with this reason, one sentence for the model and the user.
    #[must_use]
    pub fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), code: None, retryable: false, stop: false }
    }

    /// The same with a code for programs: `deploys.friday`.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }
}

macro_rules! refuses {
    ($($verdict:ident)*) => {
        $(impl From<Refusal> for $verdict {
            fn from(refusal: Refusal) -> Self {
                Self::Reject(refusal)
            }
        })*
    };
}

refuses! {
    TextVerdict TurnVerdict ResolutionVerdict InferenceVerdict RequestVerdict ResponseVerdict UsageVerdict BatchVerdict
    ToolCallVerdict ToolResultVerdict SubagentVerdict CompactionVerdict TaskVerdict PlanVerdict CustomVerdict
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
