//! Tools that plugins bring: what is offered, what a call does and leaves, and how it fails.

use crate::support::{host, plugin, recording, session, spec, state_in, written};
use hookhost::audit;
use hookhost::contract::{ToolOrigin, ToolResult};
use hookhost::session::ToolCallError;
use hookhost::{FailureKind, Host, Session};
use serde_json::{Value, json};

/// A plugin that brings `run` and does this when it is called.
#[expect(clippy::needless_pass_by_value, reason = "so that a test reads as what it hands over")]
fn brings(name: &str, call: Value) -> hookhost::config::Entry {
    plugin(
        name,
        json!({
            "tools": [{ "name": "run", "description": "runs", "input-schema": { "type": "object" } }],
            "call-tool": call,
        }),
    )
}

async fn call(session: &Session, plugin: &str, arguments: Value) -> Result<ToolResult, ToolCallError> {
    session.plugin_tools().call(plugin, "run", &arguments).await
}

fn failure(error: &ToolCallError) -> FailureKind {
    match error {
        ToolCallError::Failed { failure, .. } => failure.kind,
        other => panic!("{other}"),
    }
}

fn runs(entries: &[audit::Record]) -> Vec<&audit::ToolRun> {
    entries
        .iter()
        .filter_map(|entry| match entry {
            audit::Record::ToolRun(run) => Some(&**run),
            _ => None,
        })
        .collect()
}

#[tokio::test]
async fn a_plugins_tools_are_listed_under_its_name_and_none_in_audit_mode() {
    let mut watching = brings("watching", json!({}));
    watching.mode = hookhost::config::Mode::Observe;
    let host = host(vec![brings("kit", json!({})), watching]).await;
    let tools = host.tools();
    assert_eq!(tools.len(), 1, "{tools:?}");
    assert_eq!(
        (tools[0].full_name.as_str(), tools[0].plugin.as_str(), tools[0].name.as_str()),
        ("kit__run", "kit", "run")
    );
    assert_eq!((tools[0].description.as_str(), &tools[0].input_schema), ("runs", &json!({ "type": "object" })));
    let session = host.open_session(spec()).unwrap();
    let error = call(&session, "watching", json!({})).await.unwrap_err();
    assert_eq!(error.to_string(), "the plugin watching has no tool `run`; the configuration may have changed");
}

#[tokio::test]
async fn tools_that_cannot_be_offered_keep_the_plugin_from_loading() {
    let config = |entry| hookhost::Config::from_entries(vec![entry], hookhost::config::Settings::default()).unwrap();
    let bad = plugin("kit", json!({ "tools": [{ "name": "a b", "description": "", "input-schema": {} }] }));
    let error = crate::support::builder(config(bad)).build().await.unwrap_err().to_string();
    assert!(error.starts_with("plugin `kit` cannot bring its tools: the name `a b` has to consist of"), "{error}");
    let named = brings("mcp", json!({}));
    let error = crate::support::builder(config(named)).build().await.unwrap_err().to_string();
    assert!(error.contains("give it another `name`"), "{error}");
}

#[tokio::test]
async fn each_call_has_a_fresh_instance_the_arguments_and_its_session() {
    let session = session(vec![brings("kit", json!({ "value": "{tool} {value} {calls} {session}" }))]).await;
    for _ in 0..2 {
        let result = call(&session, "kit", json!({ "a": 1 })).await.unwrap();
        assert_eq!(result.text, format!("run {{\"a\":1}} 1 {}", session.id()));
    }
}

#[tokio::test]
async fn what_a_call_did_holds_and_is_recorded_if_it_returned() {
    let steps = json!([{ "set": ["session", "k", "v"] }, { "report": "found" }, { "remind": "mind {value}" }]);
    let call_tool = json!([
        { "when": { "contains": "fail" }, "do": steps, "misbehave": "trap" },
        { "when": { "lacks": "fail" }, "do": steps, "value": "done" },
    ]);
    let (_directory, log, builder) = recording(vec![brings("kit", call_tool)]);
    let host: Host = builder.build().await.unwrap();
    let session = host.open_session(spec()).unwrap();

    let error = call(&session, "kit", json!({ "do": "fail" })).await.unwrap_err();
    assert_eq!(failure(&error), FailureKind::Trap);
    assert!(error.to_string().starts_with("the tool `run` failed: the plugin kit trapped"), "{error}");
    assert!(session.reminders().is_empty() && state_in(&log).is_empty());

    assert_eq!(call(&session, "kit", json!({ "do": "well" })).await.unwrap().text, "done");
    assert_eq!(session.reminders().len(), 1);
    assert_eq!(state_in(&log).into_values().collect::<Vec<_>>(), ["v"]);

    drop(session);
    host.drain(std::time::Duration::from_secs(5)).await.unwrap();
    let entries = written(&log);
    let runs = runs(&entries);
    let failed = &runs[0].call;
    assert_eq!(failed.failure.as_ref().unwrap().kind, FailureKind::Trap);
    assert!(failed.verdict.is_none() && failed.wrote.is_empty() && failed.findings.is_empty());
    let ran = &runs[1];
    assert_eq!((ran.tool.as_str(), ran.call.plugin.as_str(), ran.arguments.get()), ("run", "kit", r#"{"do":"well"}"#));
    assert!(ran.call.verdict.as_ref().unwrap().get().contains(r#""text":"done""#));
    assert_eq!((ran.call.wrote.len(), ran.call.findings.len()), (1, 1));
}

#[tokio::test]
async fn failures_are_told_apart_and_do_not_trip_the_plugin() {
    let behaviour = |name: &str, misbehave: &str| {
        let mut entry = brings(name, json!({ "misbehave": misbehave }));
        entry.config.insert("before-tool-call".into(), json!({ "verdict": "reject", "reason": "no" }));
        entry
    };
    let entries = vec![
        behaviour("loops", "loop"),
        behaviour("waits", "sleep"),
        behaviour("lies", "invalid-json"),
        behaviour("fills", "big-answer"),
    ];
    let session = session(entries).await;
    let kinds = [
        ("loops", &[FailureKind::OutOfFuel, FailureKind::Compute, FailureKind::Deadline][..]),
        ("waits", &[FailureKind::Deadline]),
        ("lies", &[FailureKind::InvalidAnswer]),
        ("fills", &[FailureKind::AnswerTooLarge]),
    ];
    for (plugin, expected) in kinds {
        for _ in 0..4 {
            let kind = failure(&call(&session, plugin, json!({})).await.unwrap_err());
            assert!(expected.contains(&kind), "{plugin}: {kind:?}");
        }
    }
    let asked = session.tool_call("1", "bash", &json!({ "command": "ls" }), ToolOrigin::Builtin);
    let record = session.before_tool_call(asked).await.record;
    assert!(record.calls.iter().all(|call| call.failure.is_none()), "{:?}", record.calls);
    assert!(session.take_notices().is_empty());
}

#[tokio::test]
async fn arguments_beyond_the_input_limit_are_not_handed_over() {
    let mut entry = brings("kit", json!({ "value": "done" }));
    entry.limits.input = hookhost::config::Limits::default().input;
    let limit = entry.limits.input.get();
    let session = session(vec![entry]).await;
    let error = call(&session, "kit", json!({ "a": "x".repeat(limit) })).await.unwrap_err();
    assert_eq!(failure(&error), FailureKind::Oversized);
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_is_recorded_and_leaves_nothing() {
    let waits = json!({ "do": [{ "set": ["session", "k", "v"] }], "misbehave": "sleep" });
    let (_directory, log, builder) = recording(vec![brings("kit", waits)]);
    let host = builder.build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    let given_up = tokio::time::timeout(std::time::Duration::from_millis(20), call(&session, "kit", json!({}))).await;
    assert!(given_up.is_err());
    drop(session);
    host.drain(std::time::Duration::from_secs(5)).await.unwrap();
    let entries = written(&log);
    let runs = runs(&entries);
    assert_eq!(runs[0].not_replayable, ["the agent stopped waiting before the call returned"]);
    assert!(runs[0].call.verdict.is_none() && state_in(&log).is_empty());
}
