//! The first gate: a tool call by its name and its arguments.

use super::handle::Session;
use super::recorded_outcome::RecordedOutcome;
use crate::contract::{Decision, ResultSource, ToolCall, ToolOrigin, ToolResult, TransformOutcome};
use serde_json::Value;

/// A tool call that may run: exactly this, not what was asked about.
#[derive(Clone, Debug, PartialEq)]
pub struct AllowedCall {
    call: ToolCall,
    arguments: Value,
    changed_by: Vec<String>,
}

impl AllowedCall {
    /// A call; `asked` are the arguments that it was asked about with, in JSON and as a value.
    fn new(call: ToolCall, changed_by: &[String], (json, asked): (&str, &Value)) -> Self {
        let arguments = match *call.arguments == *json {
            // Read again, numbers could differ in their last digit, and what nests deep would be an error.
            true => asked.clone(),
            // A plugin's change was read before, and written by the host.
            false => call.arguments.read().unwrap_or_default(),
        };
        Self { call, arguments, changed_by: changed_by.to_vec() }
    }

    /// The tool's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.call.name
    }

    /// The arguments to run it with.
    #[must_use]
    pub fn arguments(&self) -> &Value {
        &self.arguments
    }

    /// The plugins whose changes are part of it, in the order of the changes; empty where it is what was asked about.
    #[must_use]
    pub fn changed_by(&self) -> &[String] {
        &self.changed_by
    }

    /// The call as plugins see it.
    #[must_use]
    pub fn call(&self) -> &ToolCall {
        &self.call
    }
}

impl Session {
    /// Asks `before-tool-call` about a call of one of the agent's own tools. The call gets an identifier of its own;
    /// [`Self::before_tool_call`] takes the model's.
    pub async fn check_tool(
        &self,
        name: &str,
        arguments: &Value,
    ) -> RecordedOutcome<Decision<AllowedCall, ToolResult>> {
        let call = self.tool_call(&self.shared.ids.next_call(), name, arguments, ToolOrigin::Builtin);
        let json = call.arguments.clone();
        let settled = self.before_tool_call(call).await;
        let asked = (&*json, arguments);
        let changed_by = settled.record.changed_by.clone();
        settled.map(|outcome| match outcome {
            Decision::Allowed { value } => Decision::Allowed { value: AllowedCall::new(value, &changed_by, asked) },
            Decision::Responded { value, response, by } => {
                Decision::Responded { value: AllowedCall::new(value, &changed_by, asked), response, by }
            }
            Decision::Rejected(rejection) => Decision::Rejected(rejection),
        })
    }

    /// Asks `after-tool-call` about the result of a call that ran. What passes is what the model may read.
    pub async fn check_result(
        &self,
        ran: &AllowedCall,
        result: ToolResult,
    ) -> RecordedOutcome<TransformOutcome<ToolResult>> {
        self.after_tool_call(&ran.call, result, ResultSource::Tool).await
    }
}
