//! An example payload of each event, to be shown where one is missing or wrong. A test sends each of them.

use hookhost::event::EventKind;
use serde_json::{Map, Value};

/// A payload that the event takes.
pub(super) fn payload(event: EventKind) -> &'static str {
    const USAGE: &str = r#"{"usage": {"provider": "anthropic", "model": "m", "input-tokens": 1000, "cached-input-tokens": 0, "output-tokens": 50, "session-input-tokens": 4000, "session-output-tokens": 200}}"#;
    match event {
        EventKind::SessionStart => "{}",
        EventKind::SessionEnd | EventKind::TokenUsage => USAGE,
        EventKind::PromptSubmit => r#"{"prompt": "Tidy up the docs"}"#,
        EventKind::TurnStart => r#"{"turn": {"number": 4, "number-in-task": 2}}"#,
        EventKind::TurnEnd => {
            r#"{"turn": {"number": 4, "number-in-task": 2, "tool-calls": 1, "input-tokens": 1000, "cached-input-tokens": 0, "output-tokens": 50}}"#
        }
        EventKind::ProviderResolve => {
            r#"{"resolution": {"chosen": {"provider": "anthropic", "model": "m"}, "candidates": [{"provider": "anthropic", "model": "m"}]}}"#
        }
        EventKind::BeforeInference => {
            r#"{"request": {"provider": "anthropic", "model": "m", "system-prompt": "", "prompt": "Tidy up", "tools": ["bash"], "input-tokens": 1000, "used": {"session-input-tokens": 900, "session-output-tokens": 40, "run-input-tokens": 2700, "run-output-tokens": 120, "run-requests": 3}}}"#
        }
        EventKind::RequestSend => {
            r#"{"request": {"provider": "openai", "model": "m", "body": {"model": "m", "messages": [{"role": "user", "content": "Tidy up"}]}}}"#
        }
        EventKind::ResponseReceive => {
            r#"{"response": {"provider": "openai", "model": "m", "body": {"text": "All done.", "tool-calls": [], "stop-reason": "end-turn"}}}"#
        }
        EventKind::StreamDelta => r#"{"delta": "one line of the answer"}"#,
        EventKind::StreamEnd => r#"{"text": "the whole answer"}"#,
        EventKind::AfterInference => {
            r#"{"response": {"text": "I look.", "tool-calls": [{"id": "1", "name": "bash", "arguments": {"command": "ls"}}], "stop-reason": "tool-calls"}}"#
        }
        EventKind::FinalizeContent => r#"{"content": "All done."}"#,
        EventKind::BeforeTools => r#"{"calls": [{"id": "1", "name": "bash", "arguments": {"command": "ls"}}]}"#,
        EventKind::BeforeToolCall => r#"{"call": {"id": "1", "name": "bash", "arguments": {"command": "ls"}}}"#,
        EventKind::AfterToolCall => {
            r#"{"call": {"id": "1", "name": "bash", "arguments": {"command": "ls"}}, "tool-result": {"text": "a.txt", "is-error": false}, "source": "tool"}"#
        }
        EventKind::SubagentStart => r#"{"subagent": {"call-id": "1", "depth": 1, "prompt": "Look for dead links"}}"#,
        EventKind::SubagentEnd => {
            r#"{"subagent": {"session": "s", "call-id": "1", "status": "success", "text": "There are two.", "turns": 3, "input-tokens": 4000, "output-tokens": 200}}"#
        }
        EventKind::BeforeCompaction => {
            r#"{"compaction": {"messages": 40, "input-tokens": 170000, "context-window": 200000}}"#
        }
        EventKind::AfterCompaction => r#"{"summary": "The docs are tidied up; two links are dead."}"#,
        EventKind::TaskStart => r#"{"task": {"prompt": "Tidy up", "title": null}}"#,
        EventKind::PlanSubmit => {
            r#"{"plan": {"title": "Docs", "tasks": [{"prompt": "Tidy up", "title": null}], "clear-existing": false}}"#
        }
        EventKind::TaskComplete => {
            r#"{"completion": {"status": "success", "turns": 3, "input-tokens": 4000, "output-tokens": 200}}"#
        }
        EventKind::PlanComplete => r#"{"plan": {"title": "Docs", "tasks": 3, "completed": 3}}"#,
        EventKind::QueueEmpty => {
            r#"{"progress": {"tasks": 3, "turns": 9, "input-tokens": 4000, "output-tokens": 200}}"#
        }
        EventKind::AgentError => r#"{"message": "the provider failed"}"#,
        EventKind::CustomEvent => r#"{"event": {"name": "deploy", "payload": {"to": "staging"}}}"#,
        EventKind::AuditRecord => r#"{"entry": {"event": "prompt-submit", "outcome": "passed"}}"#,
        // An event that was added and has no example yet: `wit/events.wit` has its parameters.
        _ => "{}",
    }
}

/// The names of the event's parameters, `session` left out.
pub(super) fn parameters(event: EventKind) -> Vec<String> {
    let example: Map<String, Value> = serde_json::from_str(payload(event)).unwrap_or_default();
    example.into_iter().map(|(key, _)| key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_is_a_json_object() {
        for event in EventKind::ALL {
            assert!(payload(*event) != "{}" || event.name() == "session-start", "{event} has no example");
            let example: Value = serde_json::from_str(payload(*event)).unwrap();
            assert!(example.is_object(), "{event}");
        }
    }
}
