//! Tests of Ctrl-C: running processes are killed, the transcript is complete, and the session ends in order.

use crate::support::{Harness, Prepared, SharedHost, calls, on, results, says, stored};
use async_trait::async_trait;
use hookhost_agent::agent::{AgentEvent, Status};
use hookhost_agent::tool::{Tool, ToolContext, ToolDefinition, ToolError, ToolOutput};
use hookhost_models::Delta;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Waits for a condition that another task or process brings about.
async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < deadline, "never: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn number(path: &Path) -> Option<i32> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Returns true if the process is gone, or is a zombie that its parent has not waited for yet.
fn is_dead(pid: i32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !status.rsplit(") ").next().is_some_and(|rest| rest.starts_with(['R', 'S', 'D', 'T']))
}

/// The behaviour of the plugins in each test. All tests of this file share one host.
static HOST: SharedHost = SharedHost::new(|| {
    let hush = json!({ "after-tool-call": { "verdict": "reject", "reason": "hush" } });
    vec![
        on("printed.withheld", "guard", hush),
        on(
            "no_further_task_begins",
            "starter",
            json!({
                "session-start": { "value": [{ "prompt": "more" }] },
                "task-complete": { "verdict": "go-on", "value": [{ "prompt": "still more" }] },
            }),
        ),
    ]
});

#[tokio::test]
async fn in_the_middle_of_a_tool_its_processes_die_and_every_call_has_a_result() {
    let sleeper = "bash -c 'sleep 600 & echo $! > pid; wait'";
    let harness = Harness::bare([calls([
        ("bash", json!({ "command": "echo first" })),
        ("bash", json!({ "command": sleeper })),
        ("write_file", json!({ "path": "later", "content": "" })),
    ])])
    .await;
    let pid_file = harness.path("pid");
    let (outcome, ()) = tokio::join!(harness.run(), async {
        until("the tool starts", || number(&pid_file).is_some()).await;
        // The first call runs at the same time and may not have ended yet.
        let ended = |event: &AgentEvent| matches!(event, AgentEvent::ToolFinished { .. });
        until("the first call ends", || harness.events().iter().any(ended)).await;
        harness.cancel.cancel();
    });
    assert_eq!(outcome.status, Status::Cancelled);
    let pid = number(&pid_file).unwrap();
    until("the grandchild dies", || is_dead(pid)).await;
    assert!(!harness.path("later").exists());
    let aborted = ("aborted: the run was cancelled", true);
    assert_eq!(results(&stored(&outcome)), [("first\n[exit code 0]", false), aborted, aborted]);
    assert!(matches!(harness.events().last(), Some(AgentEvent::SessionEnded { status: Status::Cancelled, .. })));
}

/// A tool that counts its calls.
#[derive(Debug)]
struct Count(Arc<AtomicUsize>);

#[async_trait]
impl Tool for Count {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new("count", "Counts its calls.", json!({ "type": "object", "additionalProperties": false }))
    }

    async fn call(&self, _: Value, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(ToolOutput::success("counted"))
    }
}

#[tokio::test]
async fn a_call_that_was_carried_out_is_reported_as_such_although_its_result_is_not_looked_at() {
    let harness =
        Harness::bare([calls([("bash", json!({ "command": "touch waits; sleep 600" })), ("count", json!({}))])]).await;
    let counted = Arc::new(AtomicUsize::new(0));
    let harness = harness.with_tool(Count(counted.clone()));
    let (outcome, ()) = tokio::join!(harness.run(), async {
        let has_counted = || counted.load(Ordering::Relaxed) == 1;
        until("the first has begun and the second has ended", || harness.path("waits").exists() && has_counted()).await;
        // The result is passed from task to task. All these tasks run on this thread and none of them waits, so
        // yielding often enough lets the result arrive.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        harness.cancel.cancel();
    });
    assert_eq!(outcome.status, Status::Cancelled);
    assert_eq!(
        results(&stored(&outcome)),
        [
            ("aborted: the run was cancelled", true),
            ("aborted: the run was cancelled before its result was looked at; the call had been carried out", true),
        ]
    );
}

#[tokio::test]
async fn in_the_middle_of_an_answer_the_stream_is_dropped() {
    // The stream of the fake provider never ends by itself.
    let endless: Prepared = Ok(vec![Ok(Delta::Text("Once upon\na time".into()))]);
    let harness = Harness::bare([endless]).await;
    let (outcome, ()) = tokio::join!(harness.run(), async {
        until("text is shown", || !harness.shown().is_empty()).await;
        harness.cancel.cancel();
    });
    assert_eq!(outcome.status, Status::Cancelled);
    assert_eq!(stored(&outcome).len(), 1);
}

#[tokio::test]
async fn no_further_task_begins() {
    let harness = Harness::on(&HOST, "no_further_task_begins", [says("never")]).await;
    harness.cancel.cancel();
    let outcome = harness.run().await;
    assert_eq!((outcome.status, outcome.turns), (Status::Cancelled, 0));
    assert!(stored(&outcome).is_empty());
}

#[tokio::test]
async fn what_an_interrupted_command_had_printed_is_its_result_as_far_as_plugins_let_it_pass() {
    for (session, result) in [
        ("printed", "aborted: the run was cancelled; it had printed:\nhalf\n"),
        (
            "printed.withheld",
            "aborted: the run was cancelled; what it had printed is withheld: Rejected by guard: hush",
        ),
    ] {
        let command = "echo half; touch begun; sleep 600";
        let harness = Harness::on(&HOST, session, [calls([("bash", json!({ "command": command }))])]).await;
        let (outcome, ()) = tokio::join!(harness.run(), async {
            until("the command has printed", || harness.path("begun").exists()).await;
            harness.cancel.cancel();
        });
        assert_eq!(outcome.status, Status::Cancelled);
        assert_eq!(results(&stored(&outcome)), [(result, true)]);
        let finished = |event: &AgentEvent| matches!(event, AgentEvent::ToolFinished { text, .. } if text == result);
        assert!(harness.events().iter().any(finished), "{:?}", harness.events());
    }
}
