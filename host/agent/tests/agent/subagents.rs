//! Tests of sub-agents: their separate context under the same plugins, their limits, and their end.

use crate::support::{Harness, Prepared, calls, plugin, results, says, stored};
use hookhost::config::Settings;
use hookhost::{Config, Host};
use hookhost_agent::agent::{AgentEvent, Status};
use hookhost_agent::tool::Toolbox;
use hookhost_models::message::{Author, Message};
use serde_json::{Value, json};
use std::num::{NonZeroU32, NonZeroU64};
use std::time::{Duration, Instant};

fn agent(prompt: &str) -> (&'static str, Value) {
    ("agent", json!({ "prompt": prompt }))
}

/// Returns the events of sub-agents, with the depth of each sub-agent.
fn below(harness: &Harness) -> Vec<(u32, AgentEvent)> {
    let event =
        |event| if let AgentEvent::Subagent { depth, event, .. } = event { Some((depth, *event)) } else { None };
    harness.events().into_iter().filter_map(event).collect()
}

async fn host(behaviour: Value) -> Host {
    let config = Config::from_entries(vec![plugin("guard", behaviour)], Settings::default()).unwrap();
    Host::builder(config).build().await.unwrap()
}

#[tokio::test]
async fn a_sub_agent_has_its_own_context_and_its_answer_is_the_result() {
    let harness = Harness::bare([
        calls([agent("look around")]),
        calls([("bash", json!({ "command": "echo here" }))]),
        says("It is here."),
        says("Done."),
    ])
    .await;
    let outcome = harness.run().await;
    assert_eq!((outcome.status, outcome.text.as_str(), outcome.turns), (Status::Success, "Done.", 2));
    assert_eq!(results(&stored(&outcome)), [("It is here.", false)]);
    let requests = harness.fake.requests();
    // The sub-agent's task is the prompt that the parent's model wrote.
    let task = Message::User { text: "look around".into(), author: Author::Model };
    assert_eq!(requests[1].messages, [task]);
    assert_eq!(requests[1].messages[0].text(), "look around");
    // The usage contains all four model calls: two of the session itself and two of the sub-agent.
    assert_eq!((outcome.usage.input_tokens, outcome.usage.output_tokens, outcome.subagent_turns), (400, 40, 2));
    let session = below(&harness).into_iter().find_map(|(depth, event)| match event {
        AgentEvent::SessionStarted { session, .. } => Some((depth, session)),
        _ => None,
    });
    let (depth, session) = session.unwrap();
    assert!(depth == 1 && session != outcome.session);
}

#[tokio::test]
async fn no_sub_agent_escapes_a_plugin_and_its_events_name_their_parent() {
    let guard = json!({
        "before-tool-call": {
            "when": { "contains": "forbidden" }, "do": ["parent"], "verdict": "reject", "reason": "not that, below {last}",
        },
    });
    let forbidden = || calls([("bash", json!({ "command": "touch forbidden" }))]);
    let answers = [
        calls([agent("do it for me")]),
        calls([agent("you do it")]),
        forbidden(),
        says("I may not."),
        says("No."),
        says("So not."),
    ];
    let harness = Harness::with_host(host(guard).await, answers);
    let outcome = harness.run().await;
    assert_eq!(outcome.status, Status::Success);
    assert!(!harness.path("forbidden").exists());
    let refused = below(&harness).into_iter().find(|(_, event)| matches!(event, AgentEvent::ToolRejected { .. }));
    let Some((2, AgentEvent::ToolRejected { refusal, .. })) = refused else { panic!("{refused:?}") };
    // The parent of the session at depth 2 is the session at depth 1, which is a sub-agent of the user's session.
    let started = below(&harness).into_iter().find_map(|(depth, event)| match event {
        AgentEvent::SessionStarted { session, .. } if depth == 1 => Some(session),
        _ => None,
    });
    let (parent, said) = (started.unwrap(), format!("{refusal:?}"));
    assert!(said.contains(&format!("not that, below {parent}")) && parent != outcome.session, "{said}");
    assert_eq!(results(&stored(&outcome)), [("No.", false)]);
}

#[tokio::test]
async fn an_agent_as_deep_as_they_go_is_not_offered_another() {
    let mut harness =
        Harness::bare([calls([agent("go down")]), calls([agent("further")]), says("I cannot."), says("Done.")]).await;
    harness.config.max_depth = 1;
    let outcome = harness.run().await;
    assert_eq!(outcome.status, Status::Success);
    let requests = harness.fake.requests();
    let offers = |place: usize| requests[place].tools.iter().any(|tool| tool.name == "agent");
    assert!(offers(0) && !offers(1));
    let result = requests[2].messages[2].text();
    assert!(result.starts_with("there is no tool `agent`"), "{result}");
}

#[tokio::test]
async fn a_session_starts_so_many_and_no_more() {
    let mut harness = Harness::bare([calls([agent("one"), agent("two")]), says("First."), says("Done.")]).await;
    harness.config.max_subagents_per_session = NonZeroU32::MIN;
    let outcome = harness.run().await;
    let messages = stored(&outcome);
    let results = results(&messages);
    assert_eq!(results[0], ("First.", false));
    assert_eq!(results[1], ("this session has started all of its 1 sub-agents: do the rest yourself", true));
}

fn notices(harness: &Harness) -> Vec<String> {
    let told = |event| match event {
        AgentEvent::Notice { text } => Some(text),
        AgentEvent::Subagent { event, .. } => match *event {
            AgentEvent::Notice { text } => Some(text),
            _ => None,
        },
        _ => None,
    };
    harness.events().into_iter().filter_map(told).collect()
}

#[tokio::test]
async fn a_tree_starts_so_many_and_no_more_whichever_session_starts_them() {
    let answers = [calls([agent("one")]), calls([agent("two")]), says("Not."), calls([agent("three")]), says("Done.")];
    let mut harness = Harness::bare(answers).await;
    harness.config.max_subagents = NonZeroU32::MIN;
    let outcome = harness.run().await;
    assert_eq!(
        results(&stored(&outcome)).last().unwrap().0,
        "this run has started all of its 1 sub-agents: do the rest yourself"
    );
    let full = notices(&harness).into_iter().filter(|text| text.contains("`max-subagents`")).count();
    assert_eq!((outcome.status, full, harness.fake.requests().len()), (Status::Success, 1, 5));
}

#[tokio::test]
async fn a_tree_sends_so_many_requests_and_then_ends() {
    let mut harness = Harness::bare([calls([agent("one")]), says("One."), says("never")]).await;
    harness.config.max_requests = NonZeroU32::new(2).unwrap();
    let outcome = harness.run().await;
    assert_eq!((outcome.status, harness.fake.requests().len()), (Status::MaxTurns, 2));
    assert_eq!(outcome.reason.unwrap(), "the run has sent all of its 2 requests to models (`max-requests`)");
}

#[tokio::test]
async fn a_sub_agent_is_judged_by_what_the_whole_run_has_used() {
    let guard = json!({ "token-usage": {
        "when": { "contains": "\"session-input-tokens\":100,\"session-output-tokens\":10,\"run-input-tokens\":200" },
        "verdict": "reject", "reason": "the run has used enough", "stop": true,
    } });
    let harness = Harness::with_host(host(guard).await, [calls([agent("look")]), says("It is here."), says("never")]);
    let outcome = harness.run().await;
    assert_eq!((outcome.status, harness.fake.requests().len()), (Status::Rejected, 2));
}

#[tokio::test]
async fn before_each_request_plugins_are_told_what_session_and_run_have_used_so_far() {
    // This matches the sub-agent's second request. Before it, the sub-agent and the user's session have each sent one
    // request.
    let used = "\"session-input-tokens\":100,\"session-output-tokens\":10,\"run-input-tokens\":200,\"run-output-tokens\":20,\
                \"run-requests\":2";
    let guard = json!({ "before-inference": {
        "when": { "contains": used }, "verdict": "reject", "reason": "the run has used enough", "stop": true,
    } });
    let looks = calls([("bash", json!({ "command": "true" }))]);
    let harness = Harness::with_host(host(guard).await, [calls([agent("look")]), looks, says("never")]);
    let outcome = harness.run().await;
    assert_eq!((outcome.status, harness.fake.requests().len()), (Status::Rejected, 2));
}

#[tokio::test]
async fn a_run_that_nothing_else_bounds_says_so_at_its_first_sub_agent() {
    let answers = || [calls([agent("one"), agent("two")]), says("One."), says("Two."), says("Done.")];
    let mut harness = Harness::bare(answers()).await;
    let unbounded = |harness: &Harness| notices(harness).iter().filter(|text| text.contains("`max-tokens`")).count();
    harness.run().await;
    assert_eq!(unbounded(&harness), 1);
    harness = Harness::bare(answers()).await;
    harness.config.max_tokens = NonZeroU64::new(1_000_000);
    harness.run().await;
    assert_eq!(unbounded(&harness), 0);
}

#[tokio::test]
async fn a_stop_in_a_sub_agent_ends_the_run() {
    let guard = json!({
        "before-tool-call": { "when": { "contains": "forbidden" }, "verdict": "reject", "reason": "no", "stop": true },
    });
    let forbidden = calls([("bash", json!({ "command": "touch forbidden" }))]);
    let harness = Harness::with_host(host(guard).await, [calls([agent("try")]), forbidden, says("never")]);
    let outcome = harness.run().await;
    assert_eq!((outcome.status, harness.fake.requests().len()), (Status::Rejected, 2));
}

#[tokio::test]
async fn a_stop_in_a_sub_agent_ends_those_beside_it_and_nothing_of_them_runs_afterwards() {
    let guard = json!({
        "before-tool-call": { "when": { "contains": "forbidden" }, "verdict": "reject", "reason": "no", "stop": true },
    });
    let bash = |command: &str| calls([("bash", json!({ "command": command }))]);
    // One of the two sub-agents runs a command that waits. The other sub-agent is refused after that command has begun.
    let answers = [
        calls([agent("work"), agent("try")]),
        bash("touch on; sleep 600; touch after"),
        bash("until [ -e on ]; do sleep 0.01; done"),
        bash("touch forbidden"),
        says("never"),
    ];
    let begun = Instant::now();
    let harness = Harness::with_host(host(guard).await, answers);
    let outcome = harness.run().await;
    assert_eq!((outcome.status, harness.fake.requests().len()), (Status::Rejected, 4));
    assert!(begun.elapsed() < Duration::from_secs(60));
    assert!(harness.path("on").exists() && !harness.path("after").exists() && !harness.path("forbidden").exists());
    let ended: Vec<_> = below(&harness)
        .into_iter()
        .filter_map(|(_, event)| match event {
            AgentEvent::SessionEnded { status, .. } => Some(status),
            _ => None,
        })
        .collect();
    assert_eq!(ended, [Status::Rejected, Status::Cancelled]);
    let events = harness.events();
    let refused = |event: &AgentEvent| matches!(event, AgentEvent::Subagent { event, .. } if matches!(**event, AgentEvent::ToolRejected { .. }));
    let from = events.iter().position(refused).unwrap();
    let begins = |event: &AgentEvent| matches!(event, AgentEvent::ToolStarted { .. } | AgentEvent::TurnStarted { .. });
    let begins = |event: &AgentEvent| match event {
        AgentEvent::Subagent { event, .. } => begins(event),
        event => begins(event),
    };
    assert!(!events[from..].iter().any(begins), "{:?}", &events[from..]);
}

#[tokio::test]
async fn a_stop_about_a_plugins_tool_in_a_sub_agent_ends_the_run() {
    let tool = json!({ "name": "run", "description": "runs", "input-schema": { "type": "object" } });
    let mut kit = plugin("kit", json!({ "tools": [tool], "call-tool": { "value": "ran" } }));
    kit.events = None;
    let refuses = json!({ "when": { "contains": "13" }, "verdict": "reject", "reason": "no", "stop": true });
    let guard = plugin("guard", json!({ "before-tool-call": refuses }));
    let config = Config::from_entries(vec![kit, guard], Settings::default()).unwrap();
    let host = Host::builder(config).build().await.unwrap();
    let tools = Toolbox::builtin().unwrap().with_plugins(&host).unwrap();
    let answers = [calls([agent("run it")]), calls([("kit__run", json!({ "n": 13 }))]), says("never")];
    let mut harness = Harness::with_host(host, answers);
    harness.tools = tools;
    let outcome = harness.run().await;
    assert_eq!((outcome.status, harness.fake.requests().len()), (Status::Rejected, 2));
    let started = |event: &AgentEvent| matches!(event, AgentEvent::ToolStarted { name, .. } if name == "kit__run");
    assert!(!below(&harness).iter().any(|(_, event)| started(event)));
}

#[tokio::test]
async fn a_stop_two_levels_down_ends_the_run_though_an_earlier_task_of_the_sub_agent_had_failed() {
    // The first task of the plan is rejected without `stop`, and the sub-agent ends with the status of that task.
    let guard = json!({ "task-start": [
        { "when": { "contains": "first" }, "verdict": "reject", "reason": "not this one" },
        { "when": { "contains": "second" }, "verdict": "reject", "reason": "enough", "stop": true },
    ] });
    let plan = json!({ "title": "Two", "tasks": ["first", "second"] });
    let answers = [
        calls([agent("go down")]),
        calls([agent("plan")]),
        calls([("submit_plan", plan)]),
        says("Planned."),
        says("never"),
    ];
    let harness = Harness::with_host(host(guard).await, answers);
    let outcome = harness.run().await;
    assert_eq!((outcome.status, harness.fake.requests().len()), (Status::Rejected, 4));
    assert_eq!(outcome.reason.as_deref(), Some("Rejected by guard: enough"));
}

fn tries(command: &str) -> Prepared {
    calls([("bash", json!({ "command": command }))])
}

/// Creates a host with a plugin that refuses every command.
async fn refusing() -> Host {
    let refuses = json!({ "when": { "contains": "command" }, "verdict": "reject", "reason": "no" });
    host(json!({ "before-tool-call": refuses })).await
}

#[tokio::test]
async fn a_refused_call_that_sub_agents_repeat_ends_the_run() {
    let mut answers = Vec::new();
    for prompt in ["one", "two", "three"] {
        answers.extend([calls([agent(prompt)]), tries("x"), tries("x"), says("I may not.")]);
    }
    let harness = Harness::with_host(refusing().await, answers);
    let outcome = harness.run().await;
    assert_eq!((outcome.status, harness.fake.requests().len()), (Status::Rejected, 10));
    let reason = outcome.reason.unwrap();
    let said = "the model repeated a rejected call of bash 5 times in this run: Rejected by guard: no";
    assert_eq!(reason, said);
    let told =
        |event: &AgentEvent| matches!(event, AgentEvent::TaskEnded { reason: Some(reason), .. } if reason == said);
    assert_eq!(harness.events().iter().filter(|event| told(event)).count(), 1);
}

#[tokio::test]
async fn refused_answers_of_sub_agents_are_in_a_row_until_one_of_them_is_good_for_something() {
    let varied = |numbers: std::ops::Range<u32>| numbers.map(|number| tries(&format!("x {number}")));
    let mut answers = vec![calls([agent("one")])];
    answers.extend(varied(0..6).chain([says("I may not."), calls([agent("two")])]).chain(varied(6..12)));
    let harness = Harness::with_host(refusing().await, answers);
    let outcome = harness.run().await;
    assert_eq!((outcome.status, harness.fake.requests().len()), (Status::Rejected, 1 + 6 + 2 + 4));
    let reason = outcome.reason.unwrap();
    assert!(reason.starts_with("all calls of the last 10 answers in this run were rejected"), "{reason}");

    // Between the refused calls, the sub-agent reads a file, which resets the count.
    let mut answers = vec![calls([agent("one")])];
    let reads = calls([("read_file", json!({ "path": "missing" }))]);
    answers.extend(varied(0..9).chain([reads]).chain(varied(9..18)).chain([says("I may not."), says("Done.")]));
    let harness = Harness::with_host(refusing().await, answers);
    assert_eq!(harness.run().await.status, Status::Success);
}

#[tokio::test]
async fn so_many_run_at_a_time_and_more_wait() {
    // If only one sub-agent runs at a time, the command of the first ends before the command of the second begins.
    let bash = |command: &str| calls([("bash", json!({ "command": command }))]);
    let mut harness = Harness::bare([
        calls([agent("one"), agent("two")]),
        bash("echo begin >> log; sleep 0.2; echo end >> log"),
        says("One."),
        bash("echo begin >> log; sleep 0.2; echo end >> log"),
        says("Two."),
        says("Done."),
    ])
    .await;
    harness.config.max_concurrent_subagents = NonZeroU32::MIN;
    let outcome = harness.run().await;
    assert_eq!(results(&stored(&outcome)), [("One.", false), ("Two.", false)]);
    assert_eq!(std::fs::read_to_string(harness.path("log")).unwrap(), "begin\nend\nbegin\nend\n");
}

#[tokio::test]
async fn sub_agents_end_with_their_parent_in_order() {
    let harness =
        Harness::bare([calls([agent("wait")]), calls([("bash", json!({ "command": "touch on; sleep 600" }))])]).await;
    let begun = Instant::now();
    let (outcome, ()) = tokio::join!(harness.run(), async {
        while !harness.path("on").exists() && begun.elapsed() < Duration::from_secs(20) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        harness.cancel.cancel();
    });
    assert_eq!(outcome.status, Status::Cancelled);
    assert!(begun.elapsed() < Duration::from_secs(60));
    assert_eq!(results(&stored(&outcome)), [("aborted: the run was cancelled", true)]);
    assert_eq!(outcome.usage.input_tokens, 200);
    let ended = below(&harness)
        .into_iter()
        .any(|(_, event)| matches!(event, AgentEvent::SessionEnded { status: Status::Cancelled, .. }));
    assert!(ended);
}

#[tokio::test]
async fn what_sub_agents_use_counts_against_the_budget_of_all() {
    let mut harness = Harness::bare([calls([agent("one")]), says("One."), says("never")]).await;
    harness.config.max_tokens = NonZeroU64::new(220);
    let outcome = harness.run().await;
    assert_eq!(outcome.status, Status::MaxTokens);
    assert_eq!(harness.fake.requests().len(), 2);
    assert_eq!(results(&stored(&outcome)), [("One.", false)]);
}

#[tokio::test]
async fn a_sub_agent_that_fails_is_a_failed_call() {
    let mut harness =
        Harness::bare([calls([agent("loop")]), calls([("bash", json!({ "command": "true" }))]), says("Done.")]).await;
    harness.config.max_turns = NonZeroU32::new(2).unwrap();
    // The parent's second model call is the last call that its limit permits.
    let answers = results_of(&harness).await;
    assert!(answers.contains(&("Done.".into(), false)), "{answers:?}");
    let mut harness =
        Harness::bare([calls([agent("loop")]), calls([("bash", json!({ "command": "true" }))]), says("never")]).await;
    harness.config.max_turns = NonZeroU32::MIN;
    let answers = results_of(&harness).await;
    let (text, is_error) = &answers[0];
    assert!(*is_error && text.starts_with("the sub-agent ended as max-turns: "), "{answers:?}");
}

async fn results_of(harness: &Harness) -> Vec<(String, bool)> {
    let outcome = harness.run().await;
    results(&stored(&outcome)).into_iter().map(|(text, is_error)| (text.to_owned(), is_error)).collect()
}
