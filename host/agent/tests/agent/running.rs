//! Tests of how calls run: their order, which of them run at the same time, and the results of calls that do not run.

use crate::support::{Harness, calls, results, says, says_and_calls, stored};
use async_trait::async_trait;
use hookhost_agent::agent::Status;
use hookhost_agent::tool::{Tool, ToolContext, ToolDefinition, ToolError, ToolOutput};
use hookhost_models::message::Message;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

#[tokio::test]
async fn results_go_back_in_call_order_and_the_workspace_is_changed() {
    let harness = Harness::bare([
        says_and_calls(
            "I write.",
            [
                ("write_file", json!({ "path": "a", "content": "one" })),
                ("bash", json!({ "command": "cat a; exit 1" })),
                ("read_file", json!({ "path": "a" })),
            ],
        ),
        says("Done."),
    ])
    .await;
    let outcome = harness.run().await;
    assert_eq!((outcome.status, outcome.text.as_str(), outcome.turns), (Status::Success, "Done.", 2));
    assert_eq!(
        (outcome.usage.input_tokens, outcome.usage.cached_input_tokens, outcome.usage.output_tokens),
        (200, 120, 20)
    );
    let messages = stored(&outcome);
    assert_eq!(results(&messages), [("wrote 3 bytes to a", false), ("one\n[exit code 1]", true), ("one", false)]);
    assert_eq!(harness.fake.requests()[1].messages, messages[..5]);
    assert_eq!(messages[5], Message::assistant("Done.", Vec::new()));
    assert_eq!(harness.shown(), "I write.Done.");
}

#[tokio::test]
async fn a_call_that_cannot_run_is_reported_to_the_model() {
    let harness = Harness::bare([
        calls([
            ("fly", json!({})),
            ("bash", json!({ "cmd": "ls" })),
            ("bash", json!("{\"command\": \"rm -rf")),
            ("read_file", json!({ "path": "../secret" })),
        ]),
        says("Done."),
    ])
    .await;
    let outcome = harness.run().await;
    let messages = stored(&outcome);
    let results = results(&messages);
    assert!(results.iter().all(|(_, is_error)| *is_error));
    for (result, part) in
        results.iter().zip(["no tool `fly`", "\"command\" is a required", "no JSON object", "outside of the workspace"])
    {
        assert!(result.0.contains(part), "{result:?}");
    }
}

#[derive(Debug)]
struct Meeting {
    name: &'static str,
    /// Number of calls that are running.
    running: Arc<watch::Sender<usize>>,
}

#[async_trait]
impl Tool for Meeting {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(self.name, "Waits for another call.", json!({ "type": "object" }))
    }

    async fn call(&self, _: Value, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        self.running.send_modify(|running| *running += 1);
        let mut running = self.running.subscribe();
        let both = running.wait_for(|running| *running == 2);
        if tokio::time::timeout(Duration::from_millis(300), both).await.is_ok() {
            return Ok(ToolOutput::success("met"));
        }
        self.running.send_modify(|running| *running -= 1);
        Ok(ToolOutput::success("alone"))
    }
}

#[tokio::test]
async fn calls_run_together_but_for_those_that_write_files() {
    // The action of a call decides whether the call writes files. The name of the tool alone does not matter.
    for (names, expected) in [
        (["one", "two"], "met"),
        (["create_file", "two"], "alone"),
        (["one", "create_file"], "alone"),
        (["create_file", "append_file"], "alone"),
    ] {
        let running = Arc::new(watch::Sender::new(0));
        let meeting = |name| Meeting { name, running: Arc::clone(&running) };
        let of = |name| (name, json!({ "path": "a" }));
        let harness = Harness::bare([calls([of(names[0]), of(names[1])]), says("Done.")]).await;
        let harness = harness.with_tool(meeting(names[0])).with_tool(meeting(names[1]));
        let outcome = harness.run().await;
        assert_eq!(results(&stored(&outcome)), [(expected, false), (expected, false)], "{names:?}");
    }
}

#[derive(Debug)]
struct Buggy;

#[async_trait]
impl Tool for Buggy {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new("buggy", "Panics.", json!({ "type": "object" }))
    }

    async fn call(&self, _: Value, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        panic!("a bug");
    }
}

#[tokio::test]
async fn a_tool_that_panics_fails_alone() {
    let harness = Harness::bare([calls([("buggy", json!({}))]), says("Done.")]).await.with_tool(Buggy);
    let outcome = harness.run().await;
    assert_eq!(outcome.status, Status::Success);
    assert_eq!(results(&stored(&outcome)), [("the tool `buggy` had an internal error: try something else", true)]);
}
