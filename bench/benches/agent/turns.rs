//! Measures the cost of a turn of the agent's loop, without the cost of the model and the tool.

use crate::subject::{CallingProvider, IdleTool, agent, host};
use bench::measure::{Compared, median, times_of};
use bench::table::{Row, Table};
use futures_util::StreamExt as _;
use hookhost_agent::agent::{AgentEvent, Status};
use hookhost_agent::tool::{Tool as _, ToolContext, Workspace};
use hookhost_models::message::Message;
use hookhost_models::{Delta, Provider as _, Request};
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};

const RUNS: usize = 7;

pub(crate) fn rows(table: &mut Table, turns: usize) {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let row = |what, component, log| Row { what, component, log, why: "" };
    let what = format!("a turn of the loop with one tool call, of {turns}");
    let bare = || runtime.block_on(by_hand(turns));
    let reference = "the same requests and calls without a loop";
    let off = || looped(&runtime, turns, false, None);
    table.compared(&row(&what, "none", "off"), &compare(turns, off, bare), reference, None);
    let one = || looped(&runtime, turns, true, None);
    table.compared(&row(&what, "no-force-push", "off"), &compare(turns, one, off), "without plugins", None);
    let directory = tempfile::tempdir().unwrap();
    let kept = || looped(&runtime, turns, true, Some(directory.path()));
    let reference = "without log and session files";
    table.compared(&row(&what, "no-force-push, session files", "on"), &compare(turns, kept, one), reference, None);
}

/// Compares the times of one turn of the subject and of the reference.
fn compare(turns: usize, subject: impl Fn() -> Duration, reference: impl Fn() -> Duration) -> Compared {
    let each = u32::try_from(turns).unwrap();
    let mut ratios = Vec::new();
    let mut references = Vec::new();
    let of_subject = times_of(RUNS, || {
        let (subject, reference) = (subject() / each, reference() / each);
        ratios.push(subject.as_secs_f64() / reference.as_secs_f64());
        references.push(reference);
        subject
    });
    let mut references = references.into_iter();
    let of_reference = times_of(RUNS, || references.next().unwrap());
    Compared { subject: of_subject, reference: of_reference, ratio: median(ratios) }
}

/// Returns the time of a complete run of the agent. The host is created before and is not timed.
fn looped(runtime: &Runtime, turns: usize, plugin: bool, directory: Option<&Path>) -> Duration {
    runtime.block_on(async {
        let log = directory.map(|directory| directory.join("hookhost.db"));
        let host = host(plugin, log.as_deref()).await;
        let agent = agent(
            host,
            CallingProvider::new(turns),
            IdleTool::default(),
            directory.map(|directory| directory.join("sessions")),
        );
        let reporter = |_: &AgentEvent| {};
        let began = Instant::now();
        let outcome = agent.run("Go.", &reporter, &Default::default()).await.unwrap();
        let took = began.elapsed();
        assert_eq!((outcome.status, outcome.turns as usize), (Status::Success, turns + 1), "{:?}", outcome.reason);
        took
    })
}

/// Runs the simplest loop: the conversation grows, and each request contains the whole conversation.
async fn by_hand(turns: usize) -> Duration {
    let (provider, tool) = (CallingProvider::new(turns), IdleTool::default());
    let context = ToolContext::new(Workspace::open(&std::env::temp_dir()).unwrap());
    let mut messages = vec![Message::user("Go.")];
    let began = Instant::now();
    loop {
        let request = Request::new("model", messages.clone(), 8192);
        let mut deltas = provider.send(request).await.unwrap();
        let (mut said, mut calls) = (String::new(), Vec::new());
        while let Some(delta) = deltas.next().await {
            match delta.unwrap() {
                Delta::Text(text) => said.push_str(&text),
                Delta::ToolCall(call) => calls.push(call),
                Delta::Thinking(_) | Delta::Usage(_) | Delta::Stop(_) => {}
            }
        }
        if calls.is_empty() {
            assert_eq!(messages.len(), 2 * turns + 1);
            return began.elapsed();
        }
        messages.push(Message::assistant(said, calls.clone()));
        for call in calls {
            let output = tool.call(call.arguments, &context).await.unwrap();
            messages.push(Message::Tool { call_id: call.id, name: call.name, text: output.text, is_error: false });
        }
    }
}
