//! Tests of plugins' tools in the loop: their calls cause the same events as other calls, and the model reads their
//! failures.

use crate::support::{Harness, calls, plugin, results, says, stored};
use hookhost::config::Settings;
use hookhost::{Config, Host};
use hookhost_agent::agent::{AgentEvent, Status};
use hookhost_agent::tool::Toolbox;
use serde_json::{Value, json};

/// Creates a host with a plugin `kit`, which brings the tool `run`, and a plugin that repeats what it sees.
async fn host(call: Value) -> Host {
    let tool = json!({
        "name": "run",
        "description": "runs",
        "input-schema": { "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] },
    });
    let mut kit = plugin("kit", json!({ "tools": [tool], "call-tool": call }));
    kit.events = None;
    let guard = plugin(
        "guard",
        json!({
            "before-tool-call": { "when": { "contains": "13" }, "verdict": "reject", "reason": "not {tool}" },
            "after-tool-call": { "verdict": "replace", "value": "{value} from {tool} by a {source}" },
        }),
    );
    let config = Config::from_entries(vec![kit, guard], Settings::default()).unwrap();
    Host::builder(config).build().await.unwrap()
}

async fn run(call: Value, arguments: Value) -> (Harness, Vec<(String, bool)>, Status) {
    let host = host(call).await;
    let tools = Toolbox::builtin().unwrap().with_plugins(&host).unwrap();
    let mut harness = Harness::with_host(host, [calls([("kit__run", arguments)]), says("done")]);
    harness.tools = tools;
    let outcome = harness.run().await;
    let messages = stored(&outcome);
    let results = results(&messages).into_iter().map(|(text, is_error)| (text.to_owned(), is_error)).collect();
    (harness, results, outcome.status)
}

#[tokio::test]
async fn a_plugins_tool_is_offered_runs_and_its_result_passes_after_tool_call() {
    let (harness, results, status) = run(json!({ "value": "ran with {value}" }), json!({ "n": 7 })).await;
    assert_eq!(status, Status::Success);
    assert_eq!(results, [(r#"ran with {"n":7} from kit__run by a tool"#.to_owned(), false)]);
    let offered = &harness.fake.requests()[0].tools;
    let offered = offered.iter().find(|tool| tool.name == "kit__run").unwrap();
    assert_eq!(offered.description, "runs");
    let started = harness.events().into_iter().find_map(|event| match event {
        AgentEvent::ToolStarted { origin, .. } => Some(origin),
        _ => None,
    });
    assert_eq!(started, Some(hookhost::contract::ToolOrigin::Plugin("kit".into())));
}

#[tokio::test]
async fn another_plugin_can_refuse_it_and_it_does_not_run() {
    let (harness, results, _) = run(json!({ "value": "ran" }), json!({ "n": 13 })).await;
    assert!(results[0].1 && results[0].0.contains("not kit__run"), "{results:?}");
    assert!(!harness.events().iter().any(|event| matches!(event, AgentEvent::ToolStarted { .. })));
}

#[tokio::test]
async fn arguments_that_miss_its_schema_are_reported_and_it_is_not_called() {
    let (_, results, status) = run(json!({ "misbehave": "trap" }), json!({ "n": "seven" })).await;
    assert_eq!(status, Status::Success);
    assert!(results[0].0.starts_with("the arguments do not fit the tool `kit__run`: at /n"), "{results:?}");
}

#[tokio::test]
async fn when_it_fails_the_model_reads_how_and_continues() {
    let (_, results, status) = run(json!({ "misbehave": "trap" }), json!({ "n": 1 })).await;
    assert_eq!(status, Status::Success);
    assert!(results[0].0.starts_with("the tool `run` failed: the plugin kit trapped"), "{results:?}");
}
