//! What the generated types can do.

use crate::{
    BatchVerdict, CompactionVerdict, CompletionVerdict, CustomVerdict, Escalation, InferenceVerdict, PlanVerdict,
    Refusal, RequestVerdict, ResolutionVerdict, ResponseVerdict, SubagentVerdict, Task, TaskVerdict, TextVerdict,
    ToolCallVerdict, ToolResult, ToolResultVerdict, TurnVerdict, UsageVerdict,
};

impl Refusal {
    /// Longest reason that is passed on, in bytes of UTF-8. It is plugin text that a model reads: short enough to
    /// stay one sentence, too short to smuggle a prompt.
    pub const MAX_REASON: usize = 2048;

    /// "No", in one sentence that the model may read: what is wrong, and better still what to do instead.
    #[must_use]
    pub fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), ..Self::default() }
    }

    /// Names the rule for logs and tests, such as `shell.rm-rf-root`.
    #[must_use]
    pub fn code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }

    /// Another attempt, differently made, may succeed.
    #[must_use]
    pub fn retryable(mut self) -> Self {
        self.retryable = true;
        self
    }

    /// The agent's loop ends here.
    #[must_use]
    pub fn stop(mut self) -> Self {
        self.stop = true;
        self
    }
}

impl Escalation {
    /// A question that a person must answer, in one sentence.
    #[must_use]
    pub fn new(question: impl Into<String>) -> Self {
        Self { question: question.into(), code: None }
    }

    /// Names the rule that asks.
    #[must_use]
    pub fn code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }
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

/// What a rule that only says no, or asks, answers: `None` is no objection.
macro_rules! verdicts {
    ($($verdict:ident { $neutral:ident $(, $escalates:ident)? })*) => {
        $(
            impl From<Refusal> for $verdict {
                fn from(refusal: Refusal) -> Self {
                    Self::Reject(refusal)
                }
            }

            impl From<Option<Refusal>> for $verdict {
                fn from(refusal: Option<Refusal>) -> Self {
                    refusal.map_or(Self::$neutral, Self::Reject)
                }
            }

            $(
                impl From<Escalation> for $verdict {
                    fn from(question: Escalation) -> Self {
                        Self::$escalates(question)
                    }
                }

                impl From<Option<Escalation>> for $verdict {
                    fn from(question: Option<Escalation>) -> Self {
                        question.map_or(Self::$neutral, Self::$escalates)
                    }
                }
            )?
        )*
    };
}

verdicts! {
    ToolCallVerdict { Allow, Escalate }
    BatchVerdict { Allow, Escalate }
    ToolResultVerdict { Keep }
    InferenceVerdict { Allow, Escalate }
    UsageVerdict { Allow }
    TextVerdict { Keep }
    PlanVerdict { Allow, Escalate }
    TaskVerdict { Allow, Escalate }
    TurnVerdict { Allow, Escalate }
    ResolutionVerdict { Allow }
    RequestVerdict { Allow, Escalate }
    ResponseVerdict { Keep }
    SubagentVerdict { Allow, Escalate }
    CompactionVerdict { Allow }
    CustomVerdict { Allow, Escalate }
}
