//! The engine's payloads of a hook's event.

use hookhost::Session;
use hookhost::contract::{
    Compaction, Completion, Custom, Json, Progress, Response, ResultSource, Subagent, SubagentSummary, ToolOutcome,
    ToolResult,
};
use hookhost_agents::ToolUse;
use serde_json::json;

/// The status of a task or a sub-agent that has ended. Agents report no other one.
const SUCCESS: &str = "success";

/// Returns the payload of `after-tool-call`.
pub(crate) fn tool_outcome(
    session: &Session,
    tool: &ToolUse,
    result: &ToolResult,
    source: ResultSource,
) -> ToolOutcome {
    let ToolUse { id, name, arguments, origin, .. } = tool;
    let call = session.tool_call(id.as_deref().unwrap_or_default(), name, arguments, origin.clone());
    ToolOutcome { call: call.into_call(), tool_result: result.clone(), source }
}

/// Returns the payload of `subagent-start`. `depth` is the depth of the agent that starts the sub-agent.
pub(crate) fn subagent(id: &str, depth: u32, prompt: &str) -> Subagent {
    Subagent { call_id: id.to_owned(), depth: depth + 1, prompt: prompt.to_owned() }
}

/// Returns the payload of `subagent-end`.
pub(crate) fn subagent_summary(id: &str, text: &str) -> SubagentSummary {
    SubagentSummary {
        session: id.to_owned(),
        call_id: id.to_owned(),
        status: SUCCESS.to_owned(),
        text: text.to_owned(),
        turns: 0,
        input_tokens: 0,
        output_tokens: 0,
    }
}

/// Returns the payload of `after-inference`.
pub(crate) fn response(text: &str) -> Response {
    Response { text: text.to_owned(), tool_calls: Vec::new(), stop_reason: String::new() }
}

/// Returns the payload of `before-compaction`. Agents do not report the sizes.
pub(crate) fn compaction() -> Compaction {
    Compaction { messages: 0, input_tokens: 0, context_window: 0 }
}

/// Returns the payload of `task-complete`. An agent reports only that it stops.
pub(crate) fn completion() -> Completion {
    Completion { status: SUCCESS.to_owned(), turns: 0, input_tokens: 0, output_tokens: 0 }
}

/// Returns the payload of `queue-empty`.
pub(crate) fn progress() -> Progress {
    Progress { tasks: 0, turns: 0, input_tokens: 0, output_tokens: 0 }
}

/// Returns the payload of `custom-event` for an event without a counterpart.
pub(crate) fn custom(agent: &str, point: &str, payload: Json) -> Custom {
    Custom { name: format!("{agent}/{point}"), payload }
}

/// Returns the payload of `custom-event` for an event of which only the hook point is known.
pub(crate) fn unknown(agent: &str, point: &str) -> Custom {
    custom(agent, point, json!({}).into())
}
