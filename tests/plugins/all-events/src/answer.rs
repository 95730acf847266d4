//! Converts a behaviour to the verdict type of an event. The JSON form of the type is an intermediate step.

use crate::behaviour::Behaviour;
use crate::facts::Facts;
use hookhost_guest::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The form of an event's answer, where the configuration's JSON differs from the type's JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// No answer, because the event is only observed.
    Nothing,
    /// A list of tasks, and no verdict.
    Tasks,
    /// A tool result, and no verdict.
    CallTool,
    /// `replace` carries a text.
    Text,
    /// `modify` carries JSON text, `respond` a tool result.
    ToolCall,
    /// `replace` carries a tool result.
    ToolResult,
    /// `modify` carries changes, `respond` a text.
    Inference,
    /// `modify` carries JSON text.
    Custom,
    /// `replace` carries JSON text.
    RawResponse,
    /// `modify` carries a model of a provider.
    Resolution,
    /// `modify` carries a task.
    Task,
    /// `modify` carries a text.
    Subagent,
    /// `respond` carries a text.
    Compaction,
    /// `go-on` carries tasks.
    Completion,
    /// The payload of each case has the same form as in the type's JSON.
    Plain,
}

/// A type that an event can be answered with.
pub(crate) trait Answer: DeserializeOwned {
    /// Returns the answer that means no objection.
    fn none() -> Self;
}

macro_rules! verdicts {
    ($($verdict:ty),*) => { $(impl Answer for $verdict { fn none() -> Self { Verdict::allow() } })* };
}
verdicts!(
    TextVerdict,
    InferenceVerdict,
    UsageVerdict,
    BatchVerdict,
    ToolCallVerdict,
    ToolResultVerdict,
    PlanVerdict,
    CompletionVerdict,
    CustomVerdict,
    TurnVerdict,
    ResolutionVerdict,
    RequestVerdict,
    ResponseVerdict,
    SubagentVerdict,
    CompactionVerdict,
    TaskVerdict
);

impl Answer for () {
    fn none() -> Self {}
}

impl Answer for Vec<Task> {
    fn none() -> Self {
        Self::new()
    }
}

impl Answer for ToolResult {
    fn none() -> Self {
        Self::new("")
    }
}

/// Builds the answer of a behaviour.
///
/// # Errors
/// If the answer does not fit the event. The message contains the case.
pub(crate) fn build<A: Answer>(behaviour: &Behaviour, facts: &Facts, shape: Shape) -> Result<A, String> {
    let value = || fill(behaviour.value.clone().unwrap_or(Value::Null), facts);
    let json = match (shape, behaviour.verdict.as_deref()) {
        (Shape::Nothing, _) => return Ok(A::none()),
        (Shape::Tasks | Shape::CallTool, Some(case)) => return Err(format!("there is no verdict `{case}` here")),
        (Shape::Tasks, None) if behaviour.value.is_none() => return Ok(A::none()),
        (Shape::Tasks, None) => value(),
        (Shape::CallTool, None) => tool_result(value()),
        // Without a verdict, every kind of event gets no objection, because the key `any` applies to all kinds.
        (_, None) => return Ok(A::none()),
        (_, Some(case)) => match payload(case, behaviour, facts, shape, value) {
            Some(payload) => json!({ case: payload }),
            None => json!(case),
        },
    };
    let what = json.to_string();
    serde_json::from_value(json).map_err(|error| format!("{what} is no answer here: {error}"))
}

fn payload(case: &str, behaviour: &Behaviour, facts: &Facts, shape: Shape, value: impl Fn() -> Value) -> Option<Value> {
    Some(match (case, shape) {
        ("allow" | "keep" | "finish", _) => return None,
        ("reject", _) => json!({
            "reason": facts.fill(&behaviour.reason),
            "code": behaviour.code,
            "retryable": behaviour.retryable,
            "stop": behaviour.stop,
        }),
        ("escalate", _) => json!({ "question": facts.fill(&behaviour.question), "code": behaviour.code }),
        ("approve", _) => json!(facts.fill(&behaviour.reason)),
        ("modify", Shape::ToolCall | Shape::Custom) | ("replace", Shape::RawResponse) => json!(value().to_string()),
        ("respond", Shape::ToolCall) | ("replace", Shape::ToolResult) => tool_result(value()),
        _ => value(),
    })
}

/// Expands the short form of a tool result: a string is its text, and `raw` may be any JSON value.
fn tool_result(value: Value) -> Value {
    match value {
        Value::Object(mut fields) => {
            if let Some(raw) = fields.get_mut("raw")
                && !raw.is_null()
            {
                *raw = json!(raw.to_string());
            }
            fields.entry("is-error").or_insert(json!(false));
            Value::Object(fields)
        }
        Value::Null => json!({ "text": "", "is-error": false }),
        text => json!({ "text": text, "is-error": false }),
    }
}

fn fill(value: Value, facts: &Facts) -> Value {
    match value {
        Value::String(text) => Value::String(facts.fill(&text)),
        Value::Array(values) => values.into_iter().map(|value| fill(value, facts)).collect(),
        Value::Object(fields) => fields.into_iter().map(|(key, value)| (key, fill(value, facts))).collect(),
        other => other,
    }
}
