//! The outcome of an event, in a form that an agent can carry out.

use hookhost_contract::{Question, Rejection, Task, ToolResult};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The outcome of an event, for an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The answer to the agent.
    pub answer: Answer,
    /// Texts for the model. These are the reminders of plugins, each with the name of its plugin.
    pub context: Vec<String>,
    /// Texts for the user.
    pub notices: Vec<String>,
    /// Digest of the rules that produced the outcome. Empty if the rules are unknown.
    pub rules: String,
}

impl Outcome {
    /// Creates an outcome with this answer, without texts and without a digest of the rules.
    pub fn new(answer: Answer) -> Self {
        Self { answer, context: Vec::new(), notices: Vec::new(), rules: String::new() }
    }

    /// Sets the digest of the rules.
    #[must_use]
    pub fn under(mut self, rules: impl Into<String>) -> Self {
        self.rules = rules.into();
        self
    }

    /// Adds a text for the model.
    #[must_use]
    pub fn context(mut self, text: impl Into<String>) -> Self {
        self.context.push(text.into());
        self
    }

    /// Adds a text for the user.
    #[must_use]
    pub fn notice(mut self, text: impl Into<String>) -> Self {
        self.notices.push(text.into());
        self
    }
}

/// The answer to an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// No plugin objected. This is not an approval, so the agent still asks its own questions.
    Neutral,
    /// A plugin with the grant `approve` approved the call, so the agent need not ask its user.
    Approved {
        /// The plugin.
        by: String,
    },
    /// The call runs with these arguments.
    Changed {
        /// The whole arguments object.
        arguments: Value,
        /// The plugins that changed the arguments, in order.
        by: Vec<String>,
    },
    /// The tool does not run, and `result` is used as the tool's result.
    Responded {
        /// The result.
        result: ToolResult,
        /// The plugin that gave the result.
        by: String,
    },
    /// The action must not happen, or the value must not be used.
    Rejected(Rejection),
    /// The agent asks its user.
    Ask {
        /// The questions, each with the plugin that asks it.
        questions: Vec<Question>,
        /// The changed arguments that the questions are about, or `None` if no plugin changed the arguments.
        arguments: Option<Value>,
    },
    /// This text replaces the text of the event.
    Replaced(String),
    /// This result replaces the tool's result.
    ReplacedResult(ToolResult),
    /// The agent continues with these tasks.
    GoOn(Vec<Task>),
}
