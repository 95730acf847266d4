//! Converts a hook's event to the engine's parameters, and the engine's outcome back.

use hookhost::contract::{EventKind, Rejection, ResultSource, Task, ToolResult};
use hookhost_agents::{HookCall, HookEvent, ToolUse};
use serde_json::{Map, Value, json};

/// Returns the parameters of the engine's event.
pub(crate) fn payload(agent: &str, call: &HookCall, depth: u32) -> Value {
    match &call.event {
        HookEvent::SessionStart { .. } => json!({}),
        HookEvent::SessionEnd => json!({ "usage": usage() }),
        HookEvent::PromptSubmit { prompt } => json!({ "prompt": prompt }),
        HookEvent::BeforeToolCall(tool) | HookEvent::PermissionRequest(tool) => json!({ "call": tool_call(tool) }),
        HookEvent::AfterToolCall { call, result } => after_tool_call(call, result, ResultSource::Tool),
        HookEvent::SubagentStart { id, prompt } => {
            json!({ "subagent": { "call-id": id, "depth": depth + 1, "prompt": prompt } })
        }
        HookEvent::SubagentEnd { id, text, .. } => json!({ "subagent": {
            "session": id, "call-id": id, "status": "success", "text": text, "turns": 0, "input-tokens": 0,
            "output-tokens": 0,
        } }),
        HookEvent::BeforeInference(request) => json!({ "request": request }),
        HookEvent::AfterInference { text } => {
            json!({ "response": { "text": text, "tool-calls": [], "stop-reason": "" } })
        }
        HookEvent::BeforeCompaction => {
            json!({ "compaction": { "messages": 0, "input-tokens": 0, "context-window": 0 } })
        }
        HookEvent::AfterCompaction { summary } => json!({ "summary": summary }),
        HookEvent::FinalText { text } => json!({ "content": text }),
        HookEvent::Stop { .. } => {
            json!({ "progress": { "tasks": 0, "turns": 0, "input-tokens": 0, "output-tokens": 0 } })
        }
        HookEvent::AgentError { message } => json!({ "message": message }),
        HookEvent::Custom { payload } => custom(agent, &call.point, payload),
        // A hook event unknown to this version is observed like one without a counterpart.
        _ => custom(agent, &call.point, &json!({})),
    }
}

/// Returns the parameters of `after-tool-call`.
pub(crate) fn after_tool_call(call: &ToolUse, result: &ToolResult, source: ResultSource) -> Value {
    json!({ "call": tool_call(call), "tool-result": result, "source": source })
}

/// Returns the parameters of `custom-event` for an event without a counterpart.
pub(crate) fn custom(agent: &str, point: &str, payload: &Value) -> Value {
    json!({ "event": { "name": format!("{agent}/{point}"), "payload": payload } })
}

/// Returns the parameters of `task-complete`. The agent reports only that it stops.
pub(crate) fn completion() -> Value {
    json!({ "completion": { "status": "success", "turns": 0, "input-tokens": 0, "output-tokens": 0 } })
}

fn tool_call(tool: &ToolUse) -> Value {
    let ToolUse { id, name, arguments, origin, .. } = tool;
    json!({ "id": id.as_deref().unwrap_or_default(), "name": name, "arguments": arguments, "origin": origin })
}

/// Returns an empty usage, since agents do not report theirs to hooks.
fn usage() -> Value {
    json!({
        "provider": "", "model": "", "input-tokens": 0, "cached-input-tokens": 0, "output-tokens": 0,
        "session-input-tokens": 0, "session-output-tokens": 0, "run-input-tokens": 0, "run-output-tokens": 0,
    })
}

/// The outcome of an event, read back from JSON.
#[derive(Debug)]
pub(crate) enum Said {
    /// The value of a gate or a transform, as it may be used.
    Value(Value),
    /// The result that a plugin gave in place of a gated action.
    Responded { response: Value, by: String },
    /// The rejection by a gate or a transform.
    No(Rejection),
    /// Tasks of plugins.
    Tasks(Vec<Task>),
    /// No outcome: the event was only observed.
    Nothing,
}

/// Reads an outcome.
///
/// # Errors
/// If this version does not know the outcome. The event must then count as not settled.
pub(crate) fn said(kind: EventKind, outcome: Value) -> Result<Said, String> {
    let strange = || format!("the outcome of {kind} cannot be read");
    match outcome {
        Value::Null => Ok(Said::Nothing),
        tasks @ Value::Array(_) => serde_json::from_value(tasks).map(Said::Tasks).map_err(|_| strange()),
        Value::Object(mut object) => {
            let mut take = |key: &str| object.remove(key);
            match take("kind").as_ref().and_then(Value::as_str) {
                Some("allowed" | "passed") => take("value").map(Said::Value).ok_or_else(strange),
                Some("responded") => match (take("response"), take("by")) {
                    (Some(response), Some(Value::String(by))) => Ok(Said::Responded { response, by }),
                    _ => Err(strange()),
                },
                Some("rejected" | "withheld") => rejection(object).ok_or_else(strange),
                _ => Err(strange()),
            }
        }
        _ => Err(strange()),
    }
}

fn rejection(object: Map<String, Value>) -> Option<Said> {
    serde_json::from_value(Value::Object(object)).ok().map(Said::No)
}

#[cfg(test)]
mod tests {
    use super::payload;
    use hookhost::contract::{Json, ToolResult};
    use hookhost::session::DispatchOptions;
    use hookhost::{Config, Host};
    use hookhost_agents::{AgentSession, HookCall, HookEvent, ToolUse};
    use serde_json::json;

    #[tokio::test]
    async fn the_engine_takes_the_payload_of_each_event_without_a_field_that_it_does_not_know() {
        let call = || ToolUse::new(None, "Bash", json!({ "command": "ls" }));
        let text = || "text".to_owned();
        let events = [
            HookEvent::SessionStart { is_resumed: false },
            HookEvent::PromptSubmit { prompt: text() },
            HookEvent::BeforeToolCall(call()),
            HookEvent::PermissionRequest(call()),
            HookEvent::AfterToolCall { call: call(), result: ToolResult::text("x") },
            HookEvent::SubagentStart { id: text(), prompt: text() },
            HookEvent::SubagentEnd { id: text(), text: text(), is_continued: false },
            HookEvent::BeforeInference(
                serde_json::from_value(json!({
                    "provider": "", "model": "m", "system-prompt": "", "prompt": "p", "tools": [], "input-tokens": 0,
                    "used": { "session-input-tokens": 0, "session-output-tokens": 0, "run-input-tokens": 0,
                        "run-output-tokens": 0, "run-requests": 0 },
                }))
                .unwrap(),
            ),
            HookEvent::AfterInference { text: text() },
            HookEvent::BeforeCompaction,
            HookEvent::AfterCompaction { summary: text() },
            HookEvent::FinalText { text: text() },
            HookEvent::Stop { text: None, is_continued: false },
            HookEvent::AgentError { message: text() },
            HookEvent::Custom { payload: json!({ "a": 1 }) },
            HookEvent::SessionEnd,
        ];
        let host = Host::builder(Config::empty()).build().await.unwrap();
        let session = host.session("codex", "/work").unwrap();
        for event in events {
            let kind = event.kind();
            let call = HookCall::new("Point", AgentSession::new(None, "/work".into()), event, Json::from(json!({})));
            let mut options = DispatchOptions::default();
            options.refuse_unknown_fields = true;
            let settled = session.dispatch_event(kind, payload("codex", &call, 0), options).await;
            let settled = settled.unwrap_or_else(|error| panic!("{kind}: {error}"));
            super::said(kind, settled.outcome).unwrap();
        }
        let settled =
            session.dispatch_event(hookhost::EventKind::TaskComplete, super::completion(), DispatchOptions::default());
        assert!(settled.await.is_ok());
    }
}
