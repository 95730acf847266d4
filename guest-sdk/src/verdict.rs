//! Short ways to create a verdict. A method that several types of verdicts have, such as `modify`, has the same name in
//! all of them.

use crate::types::{
    Action, CompactionVerdict, CompletionVerdict, CustomVerdict, Escalation, InferenceChanges, InferenceVerdict,
    Refusal, RequestVerdict, ResponseVerdict, SubagentVerdict, Task, TextVerdict, ToolCallVerdict, ToolResult,
    ToolResultVerdict,
};
use serde::Serialize;

/// The trait of all verdict types. Each of these types has a verdict that changes nothing.
///
/// `Verdict::allow()` takes its type from the method that returns it, so it fits every event. `.into()` converts a
/// [`Refusal`] into any verdict type that can reject, and an [`Escalation`] into any verdict type that can escalate.
///
/// ```
/// # use hookhost_guest::prelude::*;
/// let verdict: ToolCallVerdict = Verdict::allow();
/// assert_eq!(verdict, ToolCallVerdict::Allow);
/// let verdict: TextVerdict = Refusal::new("holds a key").into();
/// assert!(matches!(verdict, TextVerdict::Reject(_)));
/// ```
pub trait Verdict: Sized {
    /// Returns the verdict without an objection. Depending on the event, the variant's name is `Allow`, `Keep` or
    /// `Finish`.
    #[must_use]
    fn allow() -> Self;

    /// Returns the same as [`allow`](Verdict::allow). Use this name for transforms, which pass a value on.
    #[must_use]
    fn keep() -> Self {
        Self::allow()
    }
}

hookhost_guest_macros::verdicts!();

impl Refusal {
    /// Creates a refusal. `reason` is one sentence for the model. It states the problem and preferably suggests an
    /// alternative. The host truncates it to 2 KiB and puts the plugin's name before it.
    ///
    /// The model may continue with other work, but should not try this action again. [`retryable`](Refusal::retryable)
    /// and [`stop`](Refusal::stop) change this.
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

    /// Ends the agent's run. With `stop = "session"` in the plugin's allowlist entry, the refusal ends only the session
    /// of the event.
    #[must_use]
    pub fn stop(mut self) -> Self {
        self.stop = true;
        self
    }
}

impl Escalation {
    /// Creates a question that a person must answer. `question` is one sentence.
    #[must_use]
    pub fn new(question: impl Into<String>) -> Self {
        Self { question: question.into(), code: None }
    }

    /// Names the rule that asks the question.
    #[must_use]
    pub fn code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }
}

impl ToolCallVerdict {
    /// Allows the call without a question to a person. `why` is the reason for the log. Without the grant `approve`,
    /// this has the same effect as `allow`.
    #[must_use]
    pub fn approve(why: impl Into<String>) -> Self {
        Self::Approve(why.into())
    }

    /// Runs the call with these arguments instead of its own. `arguments` must be the complete object of arguments and
    /// not only the changed ones.
    ///
    /// If the arguments cannot be written as JSON, the verdict is a refusal that says so, because the plugin did not
    /// want the original call to run.
    #[must_use]
    pub fn modify(arguments: &impl Serialize) -> Self {
        json(arguments).map_or_else(Self::Reject, Self::Modify)
    }

    /// Replaces the action. The host writes the action into the tool's arguments, under the names that the tool uses.
    #[must_use]
    pub fn rewrite(action: impl Into<Action>) -> Self {
        Self::Rewrite(action.into())
    }

    /// Answers the call with this result. The tool does not run.
    #[must_use]
    pub fn respond(result: ToolResult) -> Self {
        Self::Respond(result)
    }
}

impl TextVerdict {
    /// Replaces the text with `text`.
    #[must_use]
    pub fn replace(text: impl Into<String>) -> Self {
        Self::Replace(text.into())
    }
}

impl ToolResultVerdict {
    /// Replaces the result of the tool with `result`.
    #[must_use]
    pub fn replace(result: ToolResult) -> Self {
        Self::Replace(result)
    }
}

impl InferenceVerdict {
    /// Uses this text as the model's answer. The request is not sent.
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

/// Returns a value that changes nothing. Set the fields that you want to change, and end with `..Default::default()`.
impl Default for InferenceChanges {
    fn default() -> Self {
        Self { provider: None, model: None, system_prompt: None, prompt: None, tools: None }
    }
}

impl CustomVerdict {
    /// Replaces the payload. The plugins are called again with the new payload. If the payload cannot be written as
    /// JSON, the verdict is a refusal that says so.
    #[must_use]
    pub fn modify(payload: &impl Serialize) -> Self {
        json(payload).map_or_else(Self::Reject, Self::Modify)
    }
}

impl RequestVerdict {
    /// Replaces the body. The plugins are called again with the new body. If the body cannot be written as JSON, the
    /// verdict is a refusal that says so.
    #[must_use]
    pub fn modify(body: &impl Serialize) -> Self {
        json(body).map_or_else(Self::Reject, Self::Modify)
    }
}

impl ResponseVerdict {
    /// Replaces the body of the answer with `body`. If `body` cannot be written as JSON, the verdict is a refusal that
    /// says so.
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
    /// Uses this text as the summary. The model is not asked to summarise the conversation.
    #[must_use]
    pub fn respond(summary: impl Into<String>) -> Self {
        Self::Respond(summary.into())
    }
}

impl CompletionVerdict {
    /// Adds these tasks to the queue, up to the maximum length that the host allows.
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
