//! Checks the changes that plugins make. Changed arguments must fit the tool's schema, a changed action must fit the
//! arguments of the tool, and a changed model must be configured.

use crate::contract::action::{ActionMap, AgentActions};
use crate::contract::{Action, Json, ModelRef, ToolCall, ToolSpec};
use crate::schema::{Schema, SchemaError};
use serde_json::Value;
use std::collections::HashMap;

/// The data against which the changes in one session are checked.
#[derive(Clone, Copy)]
pub(crate) struct CallValidator<'a> {
    pub(crate) actions: &'a ActionMap,
    /// The agent to which the tools belong.
    pub(crate) agent: &'a str,
    pub(crate) schemas: &'a Schemas,
    pub(crate) models: &'a [ModelRef],
    pub(crate) cwd: &'a str,
}

/// The input schemas of a session's tools, compiled.
pub(crate) struct Schemas(HashMap<String, Schema>);

impl Schemas {
    /// # Errors
    /// Returns the first tool whose schema cannot be used, and the reason. Without the schema, the tool's arguments
    /// could not be checked.
    pub(crate) fn compile(tools: &[ToolSpec]) -> Result<Self, (String, SchemaError)> {
        let compiled = tools.iter().map(|tool| {
            let schema = Schema::compile(&tool.input_schema).map_err(|error| (tool.name.clone(), error))?;
            Ok((tool.name.clone(), schema))
        });
        compiled.collect::<Result<_, _>>().map(Self)
    }
}

impl CallValidator<'_> {
    /// Returns the map from the agent's tools to actions. Looks the map up at each use, because most events are not
    /// about a tool call.
    fn actions(&self) -> AgentActions<'_> {
        self.actions.of(self.agent)
    }

    /// Returns the call with its action, and with its arguments in canonical form. Without the canonical form, a
    /// person, a plugin and a tool could interpret white space and repeated keys differently.
    pub(crate) fn prepared(&self, call: ToolCall) -> ToolCall {
        let arguments = call.arguments.read().unwrap_or_else(|_| Value::String(call.arguments.into()));
        self.actions().call(call.id, call.name, &arguments, call.origin, self.cwd)
    }

    /// Returns the call with `arguments` in place of its own arguments.
    ///
    /// # Errors
    /// Fails if the arguments are not a valid JSON object, or do not fit the tool's schema.
    pub(crate) fn modified(&self, call: &ToolCall, arguments: &Json) -> Result<ToolCall, String> {
        let new: Value = arguments
            .read()
            .map_err(|error| format!("answered `modify` with arguments that cannot be read: {error}"))?;
        self.with_arguments(call, &new)
    }

    /// Returns the call with arguments that express `action`.
    ///
    /// # Errors
    /// Fails if the action cannot be written into the tool's arguments, or if the new arguments do not fit the tool's
    /// schema.
    pub(crate) fn rewritten(&self, call: &ToolCall, action: &Action) -> Result<ToolCall, String> {
        let arguments: Value = call.arguments.read().unwrap_or_default();
        let written = self.actions().write_back(&call.name, &arguments, &call.origin, self.cwd, action);
        self.with_arguments(call, &written.map_err(|error| format!("answered `rewrite`: {error}"))?)
    }

    fn with_arguments(&self, call: &ToolCall, arguments: &Value) -> Result<ToolCall, String> {
        if !arguments.is_object() {
            return Err("answered `modify` with arguments that are not a JSON object".into());
        }
        // Compare the values and not the JSON texts, because a different spelling of the same value is not a change.
        if call.arguments.read::<Value>().is_ok_and(|old| old == *arguments) {
            return Ok(call.clone());
        }
        if let Some(why) = self.actions.ambiguity(arguments) {
            return Err(format!("changed the arguments, which {why}"));
        }
        if let Some(schema) = self.schemas.0.get(&call.name)
            && let Some(problem) = schema.masked_problem(arguments)
        {
            return Err(format!("changed the arguments to some that `{}` does not take: {problem}", call.name));
        }
        Ok(self.actions().call(call.id.clone(), call.name.clone(), arguments, call.origin.clone(), self.cwd))
    }

    /// Returns true if the model is configured. Only then may a request be sent to it.
    pub(crate) fn knows_model(&self, provider: &str, model: &str) -> bool {
        self.models.iter().any(|known| known.provider == provider && known.model == model)
    }
}
