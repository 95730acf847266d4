//! Checks the order of events in `docs/events.md`. For each sequence on the page there is a run, and the log of the run
//! has the same events in the same order.

use crate::support::{Harness, Prepared, Scenario, calls, plugins_of, says, says_and_calls, stored};
use hookhost::Host;
use hookhost::audit::Record;
use hookhost::config::{Config, Settings};
use hookhost::store::Log;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

/// Events that are sent only if a plugin exports them. If a plugin does, plugins are asked about a call only after the
/// whole answer has arrived.
const HELD: [&str; 3] = ["request-send", "response-receive", "before-tools"];

/// Returns the events below this heading in the page's section on order. Events of a sub-agent are in brackets.
fn written(heading: &str) -> Vec<String> {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/events.md")).unwrap();
    let block = page.split(&format!("{heading}:\n\n```text\n")).nth(1).unwrap_or_else(|| panic!("no {heading}"));
    let block = block.split("\n```").next().unwrap();
    block.split_whitespace().filter(|word| *word != "→").map(str::to_owned).collect()
}

/// Returns the events in the log of a run, with a plugin that subscribes to `events`.
async fn ran(events: &[&str], answers: Vec<Prepared>) -> Vec<String> {
    let behaviour: serde_json::Map<String, Value> =
        events.iter().map(|event| ((*event).to_owned(), json!({}))).collect();
    let plugins = plugins_of([Scenario::new("run".into(), "order", Value::Object(behaviour))]);
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log.db");
    let config = Config::from_entries(plugins, Settings::default()).unwrap();
    let host = Host::builder(config).store(log.clone()).build().await.unwrap();
    let mut harness = Harness::with_host(host.clone(), answers);
    harness.config.session = Some("run".into());
    stored(&harness.run().await);
    drop(harness);
    host.drain(Duration::from_secs(20)).await.unwrap();
    let mut fired = Vec::new();
    for line in Log::open(&log).unwrap().lines().unwrap() {
        let Record::Event(record) = line.unwrap().entry().unwrap() else { continue };
        let name = record.event.name();
        fired.push(if record.header.session == "run" { name.to_owned() } else { format!("({name})") });
    }
    fired
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prompt_that_takes_one_tool_call_fires_its_events_in_the_order_of_the_page() {
    let answers = vec![says_and_calls("Look.", [("bash", json!({ "command": "true" }))]), says("Done.")];
    let fired = ran(&["before-tool-call"], answers).await;
    assert_eq!(fired, written("A prompt that needs one tool call"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_call_of_an_answer_is_asked_about_before_the_end_of_the_answer_is_reported() {
    let bash = || ("bash", json!({ "command": "true" }));
    let fired = ran(&["before-tool-call"], vec![calls([bash(), bash(), bash()]), says("Done.")]).await;
    let end = fired.iter().position(|event| event == "stream-end").unwrap();
    assert_eq!(fired[..end].iter().filter(|event| *event == "before-tool-call").count(), 3, "{fired:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_that_exports_all_gets_three_more_events_and_calls_wait_for_the_whole_answer() {
    let answers = vec![says_and_calls("Look.", [("bash", json!({ "command": "true" }))]), says("Done.")];
    let fired = ran(&HELD, answers).await;
    assert_eq!(
        fired,
        written("The same prompt, with a plugin that exports `request-send`, `response-receive` and `before-tools`")
    );
}

#[tokio::test]
async fn a_sub_agent_fires_its_events_between_its_start_and_its_end() {
    let answers = vec![calls([("agent", json!({ "prompt": "look" }))]), says("Found."), says("Done.")];
    assert_eq!(
        ran(&HELD, answers).await,
        written("With such a plugin, a prompt that needs a sub-agent. The sub-agent's events are in brackets")
    );
}

#[tokio::test]
async fn the_tasks_of_a_plan_follow_the_task_that_submitted_it() {
    let plan = json!({ "title": "One", "tasks": ["first"] });
    let answers = vec![calls([("submit_plan", plan)]), says("Planned."), says("One.")];
    assert_eq!(ran(&HELD, answers).await, written("With such a plugin, a plan of one task"));
}
