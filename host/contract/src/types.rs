//! Constructors and conversions of the generated types.

use crate::{
    BatchVerdict, CompactionVerdict, CompletionVerdict, CustomVerdict, Escalation, InferenceVerdict, PlanVerdict,
    Refusal, RequestVerdict, ResolutionVerdict, ResponseVerdict, SubagentVerdict, Task, TaskVerdict, TextVerdict,
    ToolCallVerdict, ToolResult, ToolResultVerdict, TurnVerdict, UsageVerdict,
};

impl Refusal {
    /// Maximum length of a reason, in bytes of UTF-8. A plugin writes the reason, and a model reads it. The limit leaves
    /// little space for a prompt injection. One sentence is enough.
    pub const MAX_REASON: usize = 2048;

    /// Creates a refusal. `reason` is one sentence for the model: the fault, and preferably an alternative.
    #[must_use]
    pub fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), ..Self::default() }
    }

    /// Sets the code of the rule for logs and tests, such as `shell.rm-rf-root`.
    #[must_use]
    pub fn code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }

    /// Marks the refusal as retryable: a different attempt may succeed.
    #[must_use]
    pub fn retryable(mut self) -> Self {
        self.retryable = true;
        self
    }

    /// Makes the refusal also end the agent's loop.
    #[must_use]
    pub fn stop(mut self) -> Self {
        self.stop = true;
        self
    }
}

impl Escalation {
    /// Creates a question that a person must answer. It should be one sentence.
    #[must_use]
    pub fn new(question: impl Into<String>) -> Self {
        Self { question: question.into(), code: None }
    }

    /// Sets the code of the rule that asks the question.
    #[must_use]
    pub fn code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }
}

impl ToolResult {
    /// Creates a successful result with this text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: false, raw: None }
    }

    /// Creates an error with this text.
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

/// Implements conversions into verdicts from an optional refusal or escalation. `None` means no objection.
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
