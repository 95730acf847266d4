//! The outcome of an event, as far as an agent can be told.

use hookhost_contract::{Question, Rejection, Task, ToolResult};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The outcome of an event for an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Outcome {
    /// What the agent has to do.
    pub answer: Answer,
    /// What the model is to read beside it: reminders of plugins, each named.
    pub context: Vec<String>,
    /// What the user is to read.
    pub notices: Vec<String>,
    /// A digest of the rules under which it came out; empty where that is not known.
    pub rules: String,
}

impl Outcome {
    /// An answer alone.
    #[must_use]
    pub fn new(answer: Answer) -> Self {
        Self { answer, context: Vec::new(), notices: Vec::new(), rules: String::new() }
    }

    /// The same under rules of this digest.
    #[must_use]
    pub fn under(mut self, rules: impl Into<String>) -> Self {
        self.rules = rules.into();
        self
    }

    /// The same with a text for the model.
    #[must_use]
    pub fn context(mut self, text: impl Into<String>) -> Self {
        self.context.push(text.into());
        self
    }

    /// The same with a text for the user.
    #[must_use]
    pub fn notice(mut self, text: impl Into<String>) -> Self {
        self.notices.push(text.into());
        self
    }
}

/// What an agent has to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// Nothing: no plugin objected to anything. This is no permission, and skips no question of the agent's own.
    Neutral,
    /// A plugin with the grant `approve` approved the call: the agent need not ask its user.
    Approved {
        /// The plugin.
        by: String,
    },
    /// The call runs with these arguments.
    Changed {
        /// The whole arguments object.
        arguments: Value,
        /// The plugins that changed it, in order.
        by: Vec<String>,
    },
    /// The tool does not run; this is its result.
    Responded {
        /// The result.
        result: ToolResult,
        /// The plugin that gave it.
        by: String,
    },
    /// It may not happen, or must not be used.
    Rejected(Rejection),
    /// The agent asks its user.
    Ask {
        /// What is asked, and by whom.
        questions: Vec<Question>,
        /// The arguments that the user is asked about, where plugins changed them.
        arguments: Option<Value>,
    },
    /// This text takes the place of the one that the event was about.
    Replaced(String),
    /// This result takes the place of the tool's.
    ReplacedResult(ToolResult),
    /// The agent continues with these tasks.
    GoOn(Vec<Task>),
}
