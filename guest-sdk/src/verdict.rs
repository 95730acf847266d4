//! Short ways to write an answer, with the same words for every event that permits them.

use crate::types::{
    Action, CompactionVerdict, CompletionVerdict, CustomVerdict, Escalation, InferenceChanges, InferenceVerdict,
    Refusal, RequestVerdict, ResponseVerdict, SubagentVerdict, Task, TextVerdict, ToolCallVerdict, ToolResult,
    ToolResultVerdict,
};
use serde::Serialize;

/// The common part of all answers: each event has one that changes nothing.
///
/// `Verdict::allow()` takes its type from the place where it is returned, so it fits every event. With `.into()`, a [`Refusal`] becomes any
/// verdict that can reject, and an [`Escalation`] any verdict that can escalate.
///
/// ```
/// # use hookhost_guest::prelude::*;
/// let verdict: ToolCallVerdict = Verdict::allow();
/// assert_eq!(verdict, ToolCallVerdict::Allow);
/// let verdict: TextVerdict = Refusal::new("holds a key").into();
/// assert!(matches!(verdict, TextVerdict::Reject(_)));
/// ```
pub trait Verdict: Sized {
    /// Returns the verdict without an objection: `allow`, `keep` or `finish`, as the event calls it.
    #[must_use]
    fn allow() -> Self;

    /// The same as [`allow`](Verdict::allow), in the word of events that pass a value.
    #[must_use]
    fn keep() -> Self {
        Self::allow()
    }
}

hookhost_guest_macros::verdicts!();

impl Refusal {
    /// Creates a "no", in one sentence that the model may read: the problem and, better still, an alternative. The host cuts it at 2 KiB
    /// and puts the plugin's name before it.
    ///
    /// The model may continue with other things and should not try this one again, unless [`retryable`](Refusal::retryable) or
    /// [`stop`](Refusal::stop) changes that.
    #[must_use]
    pub fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), code: None, retryable: false, stop: false }
    }

    /// Names the rule for logs and tests, such as `shell.rm-rf-root`.
    #[must_use]
    pub fn code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }

    /// Tells the model that a different attempt may succeed.
    #[must_use]
    pub fn retryable(mut self) -> Self {
        self.retryable = true;
        self
    }

    /// Ends the agent's loop.
    #[must_use]
    pub fn stop(mut self) -> Self {
        self.stop = true;
        self
    }
}

impl Escalation {
    /// Creates a question that a person must answer, in one sentence.
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

impl ToolCallVerdict {
    /// Allows the call, and no person need be asked; `why` is for the log. Counts only with the grant `approve`.
    #[must_use]
    pub fn approve(why: impl Into<String>) -> Self {
        Self::Approve(why.into())
    }

    /// Runs the call with these arguments instead: the whole object, not a part of it.
    ///
    /// A value that cannot be written as JSON becomes a refusal that says so, because you did not mean the original call.
    #[must_use]
    pub fn modify(arguments: &impl Serialize) -> Self {
        json(arguments).map_or_else(Self::Reject, Self::Modify)
    }

    /// Replaces the action: the host writes it back into the tool's own arguments, under their own names.
    #[must_use]
    pub fn rewrite(action: impl Into<Action>) -> Self {
        Self::Rewrite(action.into())
    }

    /// Answers with this result; the tool does not run.
    #[must_use]
    pub fn respond(result: ToolResult) -> Self {
        Self::Respond(result)
    }
}

impl TextVerdict {
    /// Replaces the text by this one.
    #[must_use]
    pub fn replace(text: impl Into<String>) -> Self {
        Self::Replace(text.into())
    }
}

impl ToolResultVerdict {
    /// Replaces the result by this one.
    #[must_use]
    pub fn replace(result: ToolResult) -> Self {
        Self::Replace(result)
    }
}

impl InferenceVerdict {
    /// Uses this text as the model's answer; the request is not sent.
    #[must_use]
    pub fn respond(text: impl Into<String>) -> Self {
        Self::Respond(text.into())
    }
}

impl From<InferenceChanges> for InferenceVerdict {
    fn from(changes: InferenceChanges) -> Self {
        Self::Modify(changes)
    }
}

/// No changes: name those that you want, and end with `..Default::default()`.
impl Default for InferenceChanges {
    fn default() -> Self {
        Self { provider: None, model: None, system_prompt: None, prompt: None, tools: None }
    }
}

impl CustomVerdict {
    /// Replaces the payload; plugins are called again with it. A value that cannot be written as JSON becomes a refusal that says so.
    #[must_use]
    pub fn modify(payload: &impl Serialize) -> Self {
        json(payload).map_or_else(Self::Reject, Self::Modify)
    }
}

impl RequestVerdict {
    /// Replaces the body; plugins are called again with it. A value that cannot be written as JSON becomes a refusal that says so.
    #[must_use]
    pub fn modify(body: &impl Serialize) -> Self {
        json(body).map_or_else(Self::Reject, Self::Modify)
    }
}

impl ResponseVerdict {
    /// Replaces the answer by this one. An answer that cannot be written as JSON becomes a refusal that says so.
    #[must_use]
    pub fn replace(body: &impl Serialize) -> Self {
        json(body).map_or_else(Self::Reject, Self::Replace)
    }
}

impl SubagentVerdict {
    /// Gives the sub-agent this prompt.
    #[must_use]
    pub fn modify(prompt: impl Into<String>) -> Self {
        Self::Modify(prompt.into())
    }
}

impl CompactionVerdict {
    /// Uses this text as the summary; the model is not asked.
    #[must_use]
    pub fn respond(summary: impl Into<String>) -> Self {
        Self::Respond(summary.into())
    }
}

impl CompletionVerdict {
    /// Adds these tasks to the queue, up to the host's cap.
    #[must_use]
    pub fn go_on(tasks: impl IntoIterator<Item = Task>) -> Self {
        Self::GoOn(tasks.into_iter().collect())
    }
}

fn json(value: &impl Serialize) -> Result<String, Refusal> {
    serde_json::to_string(value).map_err(|error| {
        Refusal::new(format!("the plugin could not write its change as JSON: {error}")).code("hookhost.guest.json")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_change_that_is_not_json_is_refused_rather_than_dropped() {
        let no_json = BTreeMap::from([((1, 2), 3)]);
        assert!(matches!(ToolCallVerdict::modify(&no_json), ToolCallVerdict::Reject(_)));
        assert!(matches!(CustomVerdict::modify(&no_json), CustomVerdict::Reject(_)));
        assert!(matches!(RequestVerdict::modify(&no_json), RequestVerdict::Reject(_)));
        assert!(matches!(ResponseVerdict::replace(&no_json), ResponseVerdict::Reject(_)));
    }

    #[test]
    fn a_change_is_the_whole_object() {
        let arguments = BTreeMap::from([("path", "a.txt")]);
        assert_eq!(ToolCallVerdict::modify(&arguments), ToolCallVerdict::Modify(r#"{"path":"a.txt"}"#.into()));
    }

    #[test]
    fn a_refusal_is_final_and_lets_the_loop_continue_unless_it_says_otherwise() {
        let refusal = Refusal::new("no");
        assert!(!refusal.retryable && !refusal.stop);
        let refusal = refusal.code("a.b").retryable().stop();
        assert_eq!(refusal, Refusal { reason: "no".into(), code: Some("a.b".into()), retryable: true, stop: true });
    }
}
