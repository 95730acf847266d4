//! Tests that the JSON of events agrees with `docs/run.schema.json`: the schema accepts the JSON, and the JSON covers
//! the schema.

use super::*;
use serde_json::json;
use std::collections::BTreeSet;

fn refused() -> RejectionReport {
    RejectionReport { by: vec!["guard".into()], cause: "rejected", reason: "no".into(), code: Some("x.y".into()) }
}

/// Returns the number of a variant. If a variant is added, this function does not compile until the variant is listed,
/// and the test then requires a sample of the new variant.
fn place(event: &AgentEvent) -> usize {
    match event {
        AgentEvent::SessionStarted { .. } => 0,
        AgentEvent::ContextGathered { .. } => 1,
        AgentEvent::Notice { .. } => 2,
        AgentEvent::TaskStarted { .. } => 3,
        AgentEvent::Queue { .. } => 4,
        AgentEvent::PlanSubmitted { .. } => 5,
        AgentEvent::PlanEnded { .. } => 6,
        AgentEvent::Subagent { .. } => 7,
        AgentEvent::Compacted { .. } => 8,
        AgentEvent::Changed { .. } => 9,
        AgentEvent::Rejected { .. } => 10,
        AgentEvent::TurnStarted { .. } => 11,
        AgentEvent::Retrying { .. } => 12,
        AgentEvent::Text { .. } => 13,
        AgentEvent::Reasoning { .. } => 14,
        AgentEvent::TextHeld { .. } => 15,
        AgentEvent::Answered { .. } => 16,
        AgentEvent::ToolChanged { .. } => 17,
        AgentEvent::ToolRejected { .. } => 18,
        AgentEvent::ToolAnswered { .. } => 19,
        AgentEvent::ToolStarted { .. } => 20,
        AgentEvent::ResultChanged { .. } => 21,
        AgentEvent::ResultWithheld { .. } => 22,
        AgentEvent::ToolFinished { .. } => 23,
        AgentEvent::Usage { .. } => 24,
        AgentEvent::Answer { .. } => 25,
        AgentEvent::TaskEnded { .. } => 26,
        AgentEvent::SessionEnded { .. } => 27,
    }
}

const VARIANTS: usize = 28;

/// Returns one event of each variant.
fn samples() -> Vec<AgentEvent> {
    let text = || "x".to_owned();
    let call = || (text(), text());
    let (by, usage) = (vec![text()], TokenUsage::new(3, 1).cached(2));
    let ((id, name), title) = (call(), Some(text()));
    vec![
        AgentEvent::SessionStarted {
            session: text(),
            provider: text(),
            model: text(),
            transcript: Some("/x".into()),
            messages: 1,
        },
        AgentEvent::ContextGathered { instructions: vec!["/x".into()], skills: vec![text()] },
        AgentEvent::Notice { text: text() },
        AgentEvent::TaskStarted { prompt: text(), title },
        AgentEvent::Queue { ended: 1, waiting: 1 },
        AgentEvent::PlanSubmitted { title: text(), tasks: vec![text()] },
        AgentEvent::PlanEnded { title: text(), tasks: 1, completed: 1 },
        AgentEvent::Subagent { call: text(), depth: 1, event: Box::new(AgentEvent::Text { text: text() }) },
        AgentEvent::Compacted { messages: 1, before: 2, after: 1 },
        AgentEvent::Changed {
            event: EventKind::PromptSubmit,
            by: by.clone(),
            before: json!("x"),
            after: json!({ "x": 1 }),
        },
        AgentEvent::Rejected { event: EventKind::PromptSubmit, refusal: refused() },
        AgentEvent::TurnStarted { turn: 1, provider: text(), model: text() },
        AgentEvent::Retrying { error: text(), wait: Duration::from_millis(5) },
        AgentEvent::Text { text: text() },
        AgentEvent::Reasoning { text: text() },
        AgentEvent::TextHeld { bytes: 1 },
        AgentEvent::Answered { by: text() },
        AgentEvent::ToolChanged {
            id: id.clone(),
            name: name.clone(),
            by: by.clone(),
            before: json!({}),
            after: json!({}),
        },
        AgentEvent::ToolRejected { id: id.clone(), name: name.clone(), arguments: json!({}), refusal: refused() },
        AgentEvent::ToolAnswered { id: id.clone(), name: name.clone(), by: text() },
        AgentEvent::ToolStarted {
            id: id.clone(),
            name: name.clone(),
            origin: ToolOrigin::Plugin(text()),
            arguments: json!({}),
        },
        AgentEvent::ResultChanged { id: id.clone(), name: name.clone(), by },
        AgentEvent::ResultWithheld { id: id.clone(), name: name.clone(), refusal: refused() },
        AgentEvent::ToolFinished { id, name, text: text(), is_error: true },
        AgentEvent::Usage { provider: text(), model: text(), call: usage, session: usage },
        AgentEvent::Answer { text: text() },
        AgentEvent::TaskEnded { status: Status::Error, reason: Some(text()), turns: 1 },
        AgentEvent::SessionEnded { status: Status::Success, usage },
    ]
}

fn schema() -> Value {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/run.schema.json");
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

fn keys(object: &Value) -> BTreeSet<&String> {
    object.as_object().unwrap().keys().collect()
}

#[test]
fn each_event_is_a_line_of_the_schema_with_the_same_members_and_the_schema_has_no_other() {
    let (schema, samples) = (schema(), samples());
    let places: Vec<_> = samples.iter().map(place).collect();
    assert_eq!(places, (0..VARIANTS).collect::<Vec<_>>(), "a sample of each variant, in order");
    let validator = jsonschema::validator_for(&schema).unwrap();
    let mut types = Vec::new();
    for sample in &samples {
        let line = serde_json::to_value(sample).unwrap();
        assert!(validator.is_valid(&line), "{line}");
        let kind = line["type"].as_str().unwrap().to_owned();
        let described = &schema["$defs"][&kind];
        assert_eq!(keys(&line), keys(&described["properties"]), "{kind}");
        assert_eq!(described["required"].as_array().unwrap().len(), keys(&line).len(), "{kind}");
        types.push(json!({ "$ref": format!("#/$defs/{kind}") }));
    }
    assert_eq!(schema["$defs"]["event"]["oneOf"], Value::from(types));
}

#[test]
fn every_status_origin_and_cause_is_one_of_the_schema() {
    let schema = schema();
    let valid = |definition: &str, value: Value| {
        let part = json!({ "$ref": format!("#/$defs/{definition}"), "$defs": schema["$defs"] });
        assert!(jsonschema::validator_for(&part).unwrap().is_valid(&value), "{definition}: {value}");
    };
    let statuses = [
        Status::Success,
        Status::Rejected,
        Status::MaxTurns,
        Status::MaxTokens,
        Status::MaxTime,
        Status::Error,
        Status::Cancelled,
    ];
    let written: Vec<_> = statuses.iter().map(|status| json!(status)).collect();
    assert_eq!(schema["$defs"]["status"]["enum"], Value::from(written));
    let name = || "x".to_owned();
    for origin in [ToolOrigin::Builtin, ToolOrigin::Plugin(name()), ToolOrigin::Mcp(name()), ToolOrigin::External] {
        valid("origin", json!(origin));
    }
    use hookhost::contract::Cause;
    use hookhost::contract::Stop;
    let refusal = Refusal { reason: name(), code: None, retryable: false, stop: false };
    let kinds = [
        Cause::Verdict,
        Cause::Failed(hookhost::FailureKind::Trap),
        Cause::Failed(hookhost::FailureKind::Deadline),
        Cause::Failed(hookhost::FailureKind::Overloaded),
        Cause::Failed(hookhost::FailureKind::Oversized),
        Cause::Disagreement,
        Cause::NotApproved,
        Cause::TooManyQuestions,
        Cause::NotRecorded,
        Cause::Ended,
        Cause::NoRuntime,
        Cause::Invalid,
        Cause::NoPlugin,
    ];
    for cause in kinds {
        for ends in [None, Some(Stop::Run), Some(Stop::Session)] {
            let mut rejection = Rejection::host(vec![name()], cause, String::new());
            (rejection.refusal, rejection.ends) = (refusal.clone(), ends);
            valid("cause", json!(rejection.word()));
            valid("rejection", json!(rejection));
        }
    }
    for event in EventKind::ALL {
        valid("hook", json!(event));
    }
}
