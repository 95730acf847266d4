//! Tests of tool calls while the answer streams in. Each call starts as soon as it is complete and allowed, runs only
//! once, and gets exactly one result.

use crate::support::{Harness, SharedHost, calls, on, results, says, says_and_calls, stored};
use async_trait::async_trait;
use futures_util::stream::{self, StreamExt as _};
use hookhost_agent::agent::{AgentEvent, Status};
use hookhost_models::message::{StopReason, ToolUse};
use hookhost_models::{Delta, DeltaStream, Provider, ProviderError, Request};
use serde_json::json;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The behaviour of the plugins in each test. The tests share this host, in which no plugin subscribes to
/// `before-tools`.
static HOST: SharedHost = SharedHost::new(|| {
    vec![
        on(
            "a_refusal_with_stop_of_a_shown_line_ends_the_run",
            "guard",
            json!({ "stream-delta": { "when": { "contains": "SECRET" }, "verdict": "reject", "reason": "no", "stop": true } }),
        ),
        on(
            "a_refusal_with_stop_ends_the_answer_in_the_middle",
            "guard",
            json!({ "before-tool-call": { "when": { "contains": "second" }, "verdict": "reject", "reason": "enough", "stop": true } }),
        ),
        on(
            "calls_are_asked_about_in_call_order_and_results_go_back_in_call_order",
            "guard",
            json!({ "before-tool-call": { "do": [{ "increment": ["session", "n", 1] }], "verdict": "modify",
                "when": { "lacks": "echo" }, "value": { "command": "sleep 0.{command}; echo {last} was {command}" } } }),
        ),
    ]
});

/// A host with a plugin that subscribes to `before-tools`.
static TOGETHER: SharedHost =
    SharedHost::new(|| vec![on("together", "guard", json!({ "before-tools": { "verdict": "allow" } }))]);

/// A host with a plugin that subscribes to `response-receive`.
static WHOLE: SharedHost =
    SharedHost::new(|| vec![on("whole", "guard", json!({ "response-receive": { "verdict": "keep" } }))]);

/// A host in which text waits until it is final, so that the text beside the calls is shown only then.
static FINAL: SharedHost = SharedHost::new(|| {
    vec![
        on("shown.stop", "guard", json!({ "finalize-content": { "verdict": "replace", "value": "{value} (final)" } })),
        on(
            "shown.stop",
            "masker",
            json!({ "stream-delta": { "when": { "contains": "(final)" }, "verdict": "reject", "reason": "hush", "stop": true } }),
        ),
    ]
});

/// A step of an answer.
#[derive(Clone)]
enum Step {
    Says(Result<Delta, ProviderError>),
    /// Waits until the file exists, but at most for this time.
    Until(PathBuf, Duration),
}

/// A provider whose first answer has pauses, and whose second answer is final. After each pause, it records whether the
/// file existed.
#[derive(Debug)]
struct Pausing {
    steps: Mutex<Vec<Step>>,
    asked: AtomicUsize,
    seen: Arc<Mutex<Vec<bool>>>,
}

impl std::fmt::Debug for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("step")
    }
}

#[async_trait]
impl Provider for Pausing {
    fn name(&self) -> &'static str {
        "pausing"
    }

    async fn send(&self, _: Request) -> Result<DeltaStream, ProviderError> {
        if self.asked.fetch_add(1, Ordering::Relaxed) > 0 {
            let end = [Delta::Text("Done.".into()), Delta::Stop(StopReason::EndTurn)];
            return Ok(stream::iter(end.map(Ok)).boxed());
        }
        let steps = std::mem::take(&mut *self.steps.lock().unwrap());
        let seen = Arc::clone(&self.seen);
        let stream = stream::iter(steps).filter_map(move |step| {
            let seen = Arc::clone(&seen);
            async move {
                match step {
                    Step::Says(delta) => Some(delta),
                    Step::Until(path, longest) => {
                        let deadline = Instant::now() + longest;
                        while !path.exists() && Instant::now() < deadline {
                            tokio::time::sleep(Duration::from_millis(5)).await;
                        }
                        seen.lock().unwrap().push(path.exists());
                        None
                    }
                }
            }
        });
        Ok(stream.chain(stream::pending()).boxed())
    }
}

fn call(id: &str, command: &str) -> Step {
    let arguments = json!({ "command": command });
    Step::Says(Ok(Delta::ToolCall(ToolUse::new(id, "bash", arguments))))
}

fn stop() -> Step {
    Step::Says(Ok(Delta::Stop(StopReason::ToolCalls)))
}

fn broken() -> Step {
    Step::Says(Err(ProviderError::BrokenStream { provider: "pausing".into(), reason: "closed".into() }))
}

fn pausing(harness: &mut Harness, steps: impl IntoIterator<Item = Step>) -> Arc<Pausing> {
    let steps = Mutex::new(steps.into_iter().collect());
    let provider = Arc::new(Pausing { steps, asked: AtomicUsize::new(0), seen: Arc::default() });
    harness.provider = Arc::clone(&provider) as _;
    provider
}

const TIMEOUT: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(300);

#[tokio::test]
async fn a_call_runs_while_the_answer_still_streams_in() {
    let mut harness = Harness::on(&HOST, "free.1", []).await;
    let made = harness.path("made");
    let provider = pausing(&mut harness, [call("a", "touch made"), Step::Until(made, TIMEOUT), stop()]);
    let outcome = harness.run().await;
    assert_eq!((outcome.status, provider.seen.lock().unwrap().as_slice()), (Status::Success, &[true][..]));
    assert_eq!(results(&stored(&outcome)), [("[exit code 0]", false)]);
}

#[tokio::test]
async fn nothing_runs_before_the_answer_is_complete_if_a_plugin_subscribes_to_batches_or_whole_answers() {
    for (host, name) in [(&TOGETHER, "together"), (&WHOLE, "whole")] {
        let mut harness = Harness::on(host, name, []).await;
        let made = harness.path("made");
        let text = Step::Says(Ok(Delta::Text("I touch.\n".into())));
        let steps = [text, call("a", "touch made"), Step::Until(made.clone(), SHORT), stop()];
        let provider = pausing(&mut harness, steps);
        let outcome = harness.run().await;
        assert_eq!(
            (outcome.status, provider.seen.lock().unwrap().as_slice()),
            (Status::Success, &[false][..]),
            "{name}"
        );
        assert!(made.exists());
    }
}

#[tokio::test]
async fn calls_are_asked_about_in_call_order_and_results_go_back_in_call_order() {
    let name = "calls_are_asked_about_in_call_order_and_results_go_back_in_call_order";
    let bash = |tenths: &str| ("bash", json!({ "command": tenths }));
    let harness = Harness::on(&HOST, name, [calls([bash("3"), bash("2"), bash("1")]), says("Done.")]).await;
    let outcome = harness.run().await;
    let messages = stored(&outcome);
    let said: Vec<_> = results(&messages).iter().map(|(text, _)| text.lines().next().unwrap()).collect();
    assert_eq!(said, ["1 was 3", "2 was 2", "3 was 1"]);
    let started = harness.events().iter().filter(|event| matches!(event, AgentEvent::ToolStarted { .. })).count();
    assert_eq!(started, 3);
}

#[tokio::test]
async fn a_stream_that_fails_after_a_call_runs_it_once_and_continues_with_its_result() {
    let mut harness = Harness::on(&HOST, "free.2", []).await;
    let made = harness.path("made");
    let steps = [call("a", "echo once >> made; sleep 0.2"), Step::Until(made.clone(), TIMEOUT), broken()];
    let provider = pausing(&mut harness, steps);
    let outcome = harness.run().await;
    assert_eq!((outcome.status, outcome.text.as_str()), (Status::Success, "Done."));
    assert_eq!(std::fs::read_to_string(made).unwrap(), "once\n");
    assert_eq!(results(&stored(&outcome)), [("[exit code 0]", false)]);
    assert_eq!(provider.asked.load(Ordering::Relaxed), 2);
    assert!(harness.events().iter().any(|event| matches!(event, AgentEvent::Retrying { .. })));
}

#[tokio::test]
async fn a_stream_that_always_fails_after_a_call_is_given_up() {
    let mut harness = Harness::on(&HOST, "free.3", []).await;
    harness.config.retry.retries = 0;
    let made = harness.path("made");
    pausing(&mut harness, [call("a", "touch made"), Step::Until(made, TIMEOUT), broken()]);
    let outcome = harness.run().await;
    assert_eq!(outcome.status, Status::Error);
    assert_eq!(results(&stored(&outcome)).len(), 1);
}

#[tokio::test]
async fn a_run_that_is_cancelled_in_the_middle_of_an_answer_gives_its_calls_their_results() {
    let mut harness = Harness::on(&HOST, "free.4", []).await;
    let made = harness.path("made");
    let never = harness.path("never");
    pausing(&mut harness, [call("a", "touch made; sleep 600"), Step::Until(never, TIMEOUT)]);
    let (outcome, ()) = tokio::join!(harness.run(), async {
        while !made.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        harness.cancel.cancel();
    });
    assert_eq!(outcome.status, Status::Cancelled);
    assert_eq!(results(&stored(&outcome)), [("aborted: the run was cancelled", true)]);
}

#[tokio::test]
async fn a_refusal_with_stop_ends_the_answer_in_the_middle() {
    let mut harness = Harness::on(&HOST, "a_refusal_with_stop_ends_the_answer_in_the_middle", []).await;
    let (first, never) = (harness.path("first"), harness.path("never"));
    let steps = [
        call("a", "touch first; sleep 600"),
        Step::Until(first, TIMEOUT),
        call("b", "touch second"),
        Step::Until(never, TIMEOUT),
        stop(),
    ];
    let provider = pausing(&mut harness, steps);
    let outcome = harness.run().await;
    assert_eq!(outcome.status, Status::Rejected);
    let messages = stored(&outcome);
    assert_eq!(results(&messages), [("aborted: Rejected by guard: enough", true), ("Rejected by guard: enough", true)]);
    assert!(!harness.path("second").exists());
    // The run did not wait for the rest of the answer.
    assert_eq!(provider.seen.lock().unwrap().as_slice(), [true]);
}

#[tokio::test]
async fn the_part_of_an_interrupted_answer_is_shown() {
    let mut harness = Harness::on(&HOST, "free.5", []).await;
    let never = harness.path("never");
    let text = Step::Says(Ok(Delta::Text("Half of a line".into())));
    let provider = pausing(&mut harness, [text, Step::Until(never, TIMEOUT)]);
    let (outcome, ()) = tokio::join!(harness.run(), async {
        while harness.shown().is_empty() && provider.seen.lock().unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        harness.cancel.cancel();
    });
    assert_eq!((outcome.status, harness.shown().as_str()), (Status::Cancelled, "Half of a line"));
}

#[tokio::test]
async fn a_refusal_with_stop_of_a_shown_line_ends_the_run() {
    for text in ["SECRET one\n", "SECRET one"] {
        let answers = [says_and_calls(text, [("bash", json!({ "command": "sleep 600; touch late" }))]), says("never")];
        let harness = Harness::on(&HOST, "a_refusal_with_stop_of_a_shown_line_ends_the_run", answers).await;
        let outcome = harness.run().await;
        assert_eq!((outcome.status, harness.fake.requests().len()), (Status::Rejected, 1));
        assert!(!harness.path("late").exists());
    }
}

#[tokio::test]
async fn a_refusal_with_stop_of_a_shown_line_lets_no_call_run_where_another_plugin_makes_text_final() {
    let mut harness = Harness::on(&FINAL, "shown.stop", []).await;
    // The call waits for the text before it, and this text is shown only when it is final.
    let text = Step::Says(Ok(Delta::Text("I look.".into())));
    let steps = [text, call("a", "touch late"), stop()];
    let provider = pausing(&mut harness, steps);
    let outcome = harness.run().await;
    assert_eq!((outcome.status, provider.asked.load(Ordering::Relaxed)), (Status::Rejected, 1));
    assert_eq!(harness.shown(), "[withheld: Rejected by masker: hush]");
    assert!(!harness.path("late").exists());
    assert_eq!(results(&stored(&outcome)), [("not run: Rejected by masker: hush", true)]);
}
