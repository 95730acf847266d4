//! Checks tool calls by name and arguments, and their results.

use super::handle::Session;
use super::recorded_outcome::RecordedOutcome;
use crate::contract::{Decision, ResultSource, ToolCall, ToolOrigin, ToolResult, TransformOutcome};
use serde_json::Value;

/// A tool call that may run. Run exactly this call and not the original call, because plugins may have changed the
/// call.
#[derive(Clone, Debug, PartialEq)]
pub struct AllowedCall {
    call: ToolCall,
    arguments: Value,
    changed_by: Vec<String>,
}

impl AllowedCall {
    /// Creates the allowed call. `json` and `asked` are the original arguments, as JSON and as a value.
    fn new(call: ToolCall, changed_by: &[String], (json, asked): (&str, &Value)) -> Self {
        let arguments = match *call.arguments == *json {
            // The arguments are unchanged. They are not parsed again, because numbers could then differ in their last
            // digit, and deep nesting would be an error.
            true => asked.clone(),
            // The host wrote this JSON after it had parsed the plugin's change, so parsing it cannot fail.
            false => call.arguments.read().unwrap_or_default(),
        };
        Self { call, arguments, changed_by: changed_by.to_vec() }
    }

    /// The tool's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.call.name
    }

    /// The arguments with which the tool must run.
    #[must_use]
    pub fn arguments(&self) -> &Value {
        &self.arguments
    }

    /// The plugins whose changes are part of the call, in the order of the changes. Empty if the call is unchanged.
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
    /// Asks `before-tool-call` about a call of one of the agent's own tools. The host gives the call an identifier.
    /// If the model has already given the call an identifier, use [`Self::before_tool_call`].
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

    /// Asks `after-tool-call` about the result of a call that ran. The model may read only the value that passes.
    pub async fn check_result(
        &self,
        ran: &AllowedCall,
        result: ToolResult,
    ) -> RecordedOutcome<TransformOutcome<ToolResult>> {
        self.after_tool_call(&ran.call, result, ResultSource::Tool).await
    }
}
