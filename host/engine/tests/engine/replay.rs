//! A recorded session, asked about again.

use crate::events::payload;
use crate::support::{bash, builder, plugin, recording, spec, written};
use futures_util::future::BoxFuture;
use hookhost::approval::{Approval, ApprovalRequest, Approver};
use hookhost::audit;
use hookhost::capability::{Message, Model, ModelRequest, Transcript};
use hookhost::config::{Entry, OnFailure, Settings};
use hookhost::contract::{EventKind, OutcomeKind, Shape, ToolSpec};
use hookhost::replay::{Compared, Difference, Summary, replay, replay_unverified};
use hookhost::session::DispatchOptions;
use hookhost::store::Log;
use hookhost::{Config, Host};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Bytes of the tools that the record of a session has at most.
const MAX_TOOLS_WRITTEN: usize = 1024 * 1024;

/// Answers something else each time.
#[derive(Default)]
struct Counts(AtomicU32);

impl Model for Counts {
    fn complete<'a>(&'a self, _: &'a str, _: ModelRequest) -> BoxFuture<'a, Result<String, String>> {
        let n = self.0.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move { if n % 3 == 2 { Err("no answer".into()) } else { Ok(format!("answer {n}")) } })
    }
}

struct Conversation;

impl Transcript for Conversation {
    fn length(&self) -> u32 {
        2
    }
    fn message(&self, index: u32) -> Option<Message> {
        (index < 2).then(|| Message::new("user", format!("message {index}")))
    }
}

struct Alternates(AtomicU32);

impl Approver for Alternates {
    fn ask(&self, _: ApprovalRequest) -> BoxFuture<'_, Approval> {
        let yes = self.0.fetch_add(1, Ordering::Relaxed).is_multiple_of(2);
        Box::pin(async move { if yes { Approval::yes() } else { Approval::no() } })
    }
}

/// Plugins whose verdicts depend on state, clock, random numbers, a model and the conversation.
fn plugins() -> Vec<Entry> {
    let mut fails = plugin("c-fails", json!({"any": {"when": {"contains": "fail"}, "misbehave": "trap"}}));
    fails.on_failure = Some(OnFailure::Skip);
    vec![
        plugin(
            "a-counts",
            json!({"any": {"do": [{"increment": ["plugin", "n", 1]}, {"set": ["session", "last", "{id}"]}]},
            "before-tool-call": {"verdict": "modify", "value": {"command": "n={last} {round}"}, "when": {"round": 1},
                                 "do": [{"increment": ["plugin", "n", 1]}]},
            "prompt-submit": {"verdict": "replace", "value": "{value} {last}", "do": ["random"]},
            "custom-event": {"verdict": "modify", "value": {"at": "{last}"}, "when": {"round": 1}, "do": ["clock"]},
            "finalize-content": {"verdict": "replace", "value": "{last}", "do": [{"model": ["say", "{value}"]}]},
            "after-tool-call": {"verdict": "replace", "value": "{last}", "do": [{"transcript": [0, 9]}]},
            "plan-submit": {"verdict": "reject", "reason": "{last}", "do": [{"get": ["session", "last"]}]}}),
        ),
        plugin(
            "b-asks",
            json!({"custom-event": {"verdict": "escalate", "question": "continue?"},
            "before-tools": {"verdict": "reject", "reason": "no batches", "when": {"contains": "ls"}},
            "before-inference": {"verdict": "reject", "reason": "{last}", "do": ["random"]}}),
        ),
        fails,
    ]
}

/// Records more than 200 events of one session.
async fn record(entries: Vec<Entry>) -> (tempfile::TempDir, std::path::PathBuf) {
    let (directory, log, builder) = recording(entries);
    let builder = builder.model(Arc::new(Counts::default())).approver(Arc::new(Alternates(AtomicU32::new(0))));
    let host = builder.build().await.unwrap();
    let mut spec = spec();
    let schema = json!({"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]});
    spec.tools = vec![ToolSpec::new("bash", schema)];
    let session = host.open_session(spec).unwrap();
    session.set_transcript(Arc::new(Conversation));
    for turn in 0..14 {
        session.set_turn(turn);
        let ends = (turn == 13).then_some(&EventKind::SessionEnd);
        let is_once = |event: &&EventKind| !matches!(event, EventKind::AuditRecord | EventKind::SessionEnd);
        for &event in EventKind::ALL.iter().filter(is_once).chain(ends) {
            let mut payload = payload(event);
            // Every third time the failing plugin fails, so that it is never tripped.
            if turn % 3 == 0
                && let Some(Value::String(text)) =
                    payload.as_object_mut().and_then(|payload| payload.values_mut().next())
            {
                text.push_str(" fail");
            }
            let _ = session.dispatch_event(event, payload, DispatchOptions::default()).await.unwrap();
        }
    }
    drop(session);
    assert_eq!(host.drain(Duration::from_secs(60)).await.unwrap(), 0);
    (directory, log)
}

#[tokio::test]
async fn the_opening_of_a_session_has_a_megabyte_of_tools_at_most_and_what_it_lacks_is_not_replayed() {
    let (_directory, log, builder) = recording(vec![]);
    let host = builder.build().await.unwrap();
    let tool = |number: usize| {
        let input_schema = json!({ "type": "object", "description": "\n".repeat(10_000) });
        ToolSpec::new(format!("t{number:02}"), input_schema)
    };
    let with_tools = |id: &str, number: usize| {
        let mut spec = spec().id(id);
        spec.tools = (0..number).map(tool).collect();
        spec
    };
    for (id, number) in [("few", 40), ("many", 60)] {
        let session = host.open_session(with_tools(id, number)).unwrap();
        let _ = session.prompt_submit("a".into()).await;
        drop(session);
    }
    assert_eq!(host.drain(Duration::from_secs(60)).await.unwrap(), 0);
    let openings: Vec<_> = written(&log)
        .into_iter()
        .filter_map(|entry| if let audit::Record::Session(opened) = entry { Some(opened) } else { None })
        .collect();
    let [few, many] = &openings[..] else { panic!("{openings:?}") };
    assert!(few.without_schema.is_empty() && few.tools == with_tools("few", 40).tools);
    let written = serde_json::to_vec(&many).unwrap().len();
    assert!((MAX_TOOLS_WRITTEN - 30_000..MAX_TOOLS_WRITTEN + 3_000).contains(&written), "{written}");
    assert_eq!((many.tools.len(), many.without_schema.first().unwrap().as_str()), (60, "t52"));
    assert!(many.tools[51] == tool(51) && many.tools[52].input_schema == json!({}));
    let (summary, _) = replayed(&log, vec![]).await;
    let why = "the log does not hold the schemas of all tools of its session";
    assert_eq!((summary.same, summary.reasons.get(why)), (1, Some(&1)));
}

async fn host(entries: Vec<Entry>) -> Host {
    builder(Config::from_entries(entries, Settings::default()).unwrap()).build().await.unwrap()
}

async fn replayed(log: &Path, entries: Vec<Entry>) -> (Summary, Vec<Compared>) {
    let mut all = Vec::new();
    let summary = replay(&host(entries).await, &Log::open(log).unwrap(), |compared| all.push(compared.clone())).await;
    (summary.unwrap(), all)
}

#[tokio::test]
async fn with_the_same_plugins_every_verdict_of_a_recorded_session_is_reproduced() {
    let (_directory, log) = record(plugins()).await;
    let (summary, all) = replayed(&log, plugins()).await;
    let differing: Vec<_> = all
        .iter()
        .filter(|compared| !compared.differences.is_empty() || !compared.not_replayable.is_empty())
        .map(|compared| (compared.recorded.event, &compared.differences, &compared.not_replayable))
        .collect();
    assert!(differing.is_empty(), "{differing:?}");
    assert!(summary.events >= 200, "{summary:?}");
    assert_eq!((summary.same, summary.different, summary.not_replayable), (summary.events, 0, 0), "{summary:?}");
    // The session was worth replaying: every gate was settled, in every way, and by what comes from outside.
    for &event in EventKind::ALL.iter().filter(|event| event.shape() == Shape::Gate) {
        assert!(all.iter().any(|compared| compared.recorded.event == event), "{event}");
    }
    for outcome in [OutcomeKind::Allowed, OutcomeKind::Rejected, OutcomeKind::Escalated, OutcomeKind::Passed] {
        assert!(all.iter().any(|compared| compared.recorded.outcome == outcome), "{outcome}");
    }
    let calls = || all.iter().flat_map(|compared| &compared.recorded.calls);
    assert!(calls().any(|call| !call.inputs.model.is_empty()) && calls().any(|call| call.inputs.transcript.is_some()));
    assert!(calls().any(|call| call.failure.is_some()) && calls().any(|call| !call.wrote.is_empty()));
    let reasons: std::collections::BTreeSet<_> = all
        .iter()
        .filter(|compared| compared.recorded.event == EventKind::BeforeInference)
        .map(|c| &c.recorded.reason)
        .collect();
    assert_eq!(reasons.len(), 14, "random numbers, and so the reasons, differ from event to event: {reasons:?}");
}

#[tokio::test]
async fn a_new_rule_is_tried_on_recorded_events_also_on_those_without_subscribers() {
    let (_directory, log) = record(vec![]).await;
    let rule = plugin("new-rule", json!({"before-tool-call": {"verdict": "reject", "reason": "not any more"}}));
    let (summary, all) = replayed(&log, vec![rule]).await;
    assert_eq!((summary.different, summary.not_replayable), (14, 0));
    let different: Vec<_> = all.iter().filter(|compared| !compared.is_same()).collect();
    for compared in different {
        assert_eq!(compared.recorded.event, EventKind::BeforeToolCall);
        let change = Difference::Outcome { recorded: OutcomeKind::Allowed, again: OutcomeKind::Rejected };
        assert!(compared.differences.contains(&change), "{:?}", compared.differences);
        assert_eq!(compared.again.as_ref().unwrap().reason.as_deref(), Some("Rejected by new-rule: not any more"));
    }
}

#[tokio::test]
async fn a_new_rule_that_counts_has_state_of_its_own_in_the_replay() {
    let (_directory, log) = record(vec![]).await;
    let counts = plugin(
        "budget",
        json!({
        "stream-end": {"do": [{"increment": ["session", "n", 1]}]},
        "custom-event": {"verdict": "modify", "value": {"n": "{last}"}, "when": {"round": 1}, "do": [{"get": ["session", "n"]}]}}),
    );
    let (_, all) = replayed(&log, vec![counts]).await;
    let last = all.iter().rfind(|compared| compared.recorded.event == EventKind::CustomEvent).unwrap();
    let value = last.again.as_ref().unwrap().last.as_ref().unwrap().get().to_owned();
    assert!(value.contains("14"), "{value}");
}

#[tokio::test]
async fn what_cannot_be_reproduced_says_why_and_is_counted() {
    let mut clock =
        plugin("clock", json!({"prompt-submit": {"verdict": "replace", "value": "{last}", "do": ["clock"]}}));
    clock.grants.clock = true;
    let mut slow = plugin("slow", json!({"stream-delta": {"misbehave": "sleep"}}));
    slow.limits.compute = Some(Duration::from_millis(5));
    slow.limits.deadline = Some(Duration::from_millis(5));
    clock.events = Some([EventKind::PromptSubmit].into());
    slow.events = Some([EventKind::StreamDelta].into());
    let entries = vec![clock, slow];
    let (_directory, log, builder) = recording(entries.clone());
    let recorder = builder.build().await.unwrap();
    let session = recorder.open_session(spec()).unwrap();
    let _ = session.prompt_submit("x".into()).await;
    let _ = session.stream_delta("x".into()).await;
    let allowed = session.before_tool_call(bash(&session, "ls")).await.outcome;
    assert!(matches!(allowed, hookhost::Decision::Allowed { .. }));
    recorder.drain(Duration::from_secs(60)).await.unwrap();
    let (summary, all) = replayed(&log, entries).await;
    assert_eq!((summary.events, summary.same, summary.not_replayable), (3, 1, 2));
    assert_eq!(all[0].not_replayable, ["clock: it has the real time"]);
    assert_eq!(all[1].not_replayable, ["slow: it ran out of wall time"]);
    assert_eq!(summary.reasons.len(), 2);
}

#[tokio::test]
async fn what_the_record_does_not_have_cannot_be_asked_for_again() {
    let (_directory, log) = record(vec![]).await;
    let asks = plugin(
        "new",
        json!({"prompt-submit": {"verdict": "replace", "value": "{last}", "do": [{"model": ["a", "b"]}]}}),
    );
    let (summary, all) = replayed(&log, vec![asks]).await;
    assert_eq!(summary.not_replayable, 14);
    let prompt = all.iter().find(|compared| compared.recorded.event == EventKind::PromptSubmit).unwrap();
    assert_eq!(prompt.not_replayable, ["new: it asked for what the log does not have"]);
}

#[tokio::test]
async fn a_value_that_was_read_in_one_round_and_only_written_in_the_next_is_the_same_again() {
    let reads = plugin(
        "a",
        json!({
            "prompt-submit": {"do": [{"set": ["session", "k", "5"]}]},
            "before-tool-call": [
                {"when": {"round": 1}, "do": [{"get": ["session", "k"]}], "verdict": "modify", "value": {"command": "ls {last}"}},
                {"when": {"round": 2}, "do": [{"set": ["session", "k", "6"]}]},
            ],
        }),
    );
    let changes = plugin(
        "b",
        json!({"before-tool-call": {"when": {"round": 1}, "verdict": "modify", "value": {"command": "{command} ok"}}}),
    );
    let entries = vec![reads, changes];
    let (_directory, log, recorder) = recording(entries.clone());
    let host = recorder.build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    let _ = session.prompt_submit("x".into()).await;
    let settled = session.before_tool_call(bash(&session, "ls")).await;
    assert!(settled.record.last.unwrap().get().contains("ls 5 ok"));
    drop(session);
    host.drain(Duration::from_secs(60)).await.unwrap();
    let (summary, all) = replayed(&log, entries).await;
    assert_eq!((summary.same, summary.different), (2, 0), "{all:?}");
}

#[tokio::test]
async fn a_log_that_names_an_impossible_size_harms_nobody() {
    let (directory, log) = record(plugins()).await;
    let lines = Log::open(&log).unwrap();
    let lines: Vec<String> = lines.lines().unwrap().map(|line| line.unwrap().text().to_owned()).collect();
    let (mut changed, key) = (0, r#""key":"last""#);
    let exported: String = lines
        .into_iter()
        .map(|line| {
            let other = line.replace(
                &format!("{{\"scope\":\"session\",{key}"),
                &format!("{{\"scope\":\"session\",\"size\":18446744073709551615,{key}"),
            );
            changed += u32::from(other != line);
            other + "\n"
        })
        .collect();
    assert!(changed > 0);
    let export = directory.path().join("export.jsonl");
    std::fs::write(&export, exported).unwrap();
    let config = Config::from_entries(plugins(), Settings::default()).unwrap();
    let host = builder(config).build().await.unwrap();
    let export = Log::open(&export).unwrap();
    assert!(replay(&host, &export, |_| {}).await.is_err());
    let summary = replay_unverified(&host, &export, |_| {}).await.unwrap();
    assert!(summary.events > 200);
}
