//! What a session promises across its events: pristine instances, effects once per event, order, approval.

use crate::failure_kinds::with_limits;
use crate::support::{bash, builder, host, plugin, session, spec, texts};
use futures_util::future::BoxFuture;
use hookhost::approval::{Approval, ApprovalRequest, Approver};
use hookhost::capability::{Model, ModelRequest, Transcript};
use hookhost::config::{ActionKind, Entry, Mode, Settings, StateGrant};
use hookhost::contract::{Cause, EventKind, ResultSource, ToolResult};
use hookhost::session::{DispatchOptions, RecordedOutcome};
use hookhost::{Config, Decision, Host, Session, TransformOutcome};
use serde_json::json;
use std::collections::BTreeSet;
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::{Arc, Mutex};

async fn text(session: &Session, prompt: &str) -> String {
    match session.prompt_submit(prompt.into()).await.outcome {
        TransformOutcome::Passed { value } => value,
        TransformOutcome::Withheld(rejection) => panic!("{rejection}"),
    }
}

fn command<R>(settled: &RecordedOutcome<Decision<hookhost::contract::ToolCall, R>>) -> String {
    match &settled.outcome {
        Decision::Allowed { value } => {
            let arguments: serde_json::Value = serde_json::from_str(&value.arguments).unwrap();
            arguments["command"].as_str().unwrap().to_owned()
        }
        _ => panic!("not allowed: {:?}", settled.record),
    }
}

#[tokio::test]
async fn every_event_gets_a_pristine_instance() {
    let session =
        session(vec![plugin("p", json!({"prompt-submit": {"verdict": "replace", "value": "{calls}"}}))]).await;
    for _ in 0..3 {
        assert_eq!(text(&session, "how many calls has this instance seen?").await, "1");
    }
}

#[tokio::test]
async fn what_configure_left_is_in_every_instance() {
    let host = host(vec![plugin("p", json!({"prompt-submit": {"verdict": "replace", "value": "configured"}}))]).await;
    assert!(host.plugins()[0].is_preinitialised());
    let session = host.open_session(spec()).unwrap();
    assert_eq!(text(&session, "x").await, "configured");
}

#[tokio::test]
async fn a_plugin_that_refuses_its_configuration_is_not_loaded() {
    let config = Config::from_entries(
        vec![plugin("p", json!({"configure": {"error": "I do not like it"}}))],
        Settings::default(),
    );
    let error = builder(config.unwrap()).build().await.unwrap_err();
    assert_eq!(error.to_string(), "plugin `p` refuses its configuration: I do not like it");
}

#[tokio::test]
async fn plugins_are_asked_by_priority_and_then_by_name() {
    let says = |name: &str, priority: i32| {
        let mut entry =
            plugin(name, json!({"prompt-submit": {"verdict": "replace", "value": format!("{{value}}{name}")}}));
        entry.priority = priority;
        entry
    };
    let session = session(vec![says("c", 1), says("b", 100), says("a", 100), says("d", -5)]).await;
    assert_eq!(text(&session, "").await, "dcab");
}

#[tokio::test]
async fn a_plugin_is_asked_again_about_what_another_has_changed() {
    let guard =
        plugin("a", json!({"before-tool-call": {"when": {"contains": "evil"}, "verdict": "reject", "reason": "evil"}}));
    let changer = plugin(
        "b",
        json!({"before-tool-call": {"when": {"lacks": "evil"}, "verdict": "modify", "value": {"command": "evil {command}"}}}),
    );
    let session = session(vec![guard, changer]).await;
    let settled = session.before_tool_call(bash(&session, "ls")).await;
    let Decision::Rejected(rejection) = settled.outcome else { panic!("what nobody saw was let through") };
    assert_eq!((rejection.by, rejection.cause), (vec!["a".to_owned()], Cause::Verdict));
    let asked: Vec<_> = settled.record.calls.iter().map(|call| (call.plugin.as_str(), call.round)).collect();
    assert_eq!(asked, [("a", 1), ("b", 1), ("a", 2)]);
}

#[tokio::test]
async fn a_rewritten_command_reaches_the_tools_own_argument() {
    let rewrite = json!({"before-tool-call": {"when": {"lacks": "timeout"}, "verdict": "rewrite",
        "value": {"shell": {"command": "timeout 60 {command}", "cwd": "/work", "dialect": "posix"}}}});
    let session = session(vec![plugin("p", rewrite)]).await;
    let call =
        session.tool_call("1", "run_shell", &json!({"cmd": "ls", "why": "x"}), hookhost::contract::ToolOrigin::Builtin);
    assert!(matches!(call.action, hookhost::contract::Action::Other(_)));
    let call =
        session.tool_call("1", "shell", &json!({"cmd": "ls", "why": "x"}), hookhost::contract::ToolOrigin::Builtin);
    let Decision::Allowed { value } = session.before_tool_call(call).await.outcome else { panic!("not allowed") };
    let arguments: serde_json::Value = serde_json::from_str(&value.arguments).unwrap();
    assert_eq!(arguments, json!({"cmd": "timeout 60 ls", "why": "x"}));
}

#[tokio::test]
async fn an_entry_narrows_a_plugin_to_some_calls() {
    let mut entry = plugin("p", json!({"any": {"verdict": "reject", "reason": "no"}}));
    entry.actions = Some([ActionKind::WriteFiles].into());
    let session = session(vec![entry]).await;
    let settled = session.before_tool_call(bash(&session, "ls")).await;
    assert!(matches!(settled.outcome, Decision::Allowed { .. }));
    assert_eq!((settled.record.calls.len(), settled.record.not_matched), (0, vec!["p".to_owned()]));
    let write = session.tool_call("2", "write_file", &json!({"path": "a"}), hookhost::contract::ToolOrigin::Builtin);
    assert!(matches!(session.before_tool_call(write).await.outcome, Decision::Rejected(_)));
    // Events that are about no call are not narrowed.
    assert!(matches!(session.prompt_submit("x".into()).await.outcome, TransformOutcome::Withheld(_)));
}

#[tokio::test]
async fn an_entry_narrows_a_plugin_to_some_events() {
    let mut entry = plugin("p", json!({"any": {"verdict": "reject", "reason": "no"}}));
    entry.events = Some([EventKind::FinalizeContent].into());
    let session = session(vec![entry]).await;
    assert_eq!(text(&session, "x").await, "x");
    assert!(matches!(session.finalize_content("x".into()).await.outcome, TransformOutcome::Withheld(_)));
}

#[tokio::test]
async fn a_plugin_in_audit_mode_is_recorded_and_changes_nothing() {
    let mut entry = plugin(
        "p",
        json!({"before-tool-call": {"do": [{"remind": "x"}, {"report": "seen"}], "verdict": "reject", "reason": "no"}}),
    );
    entry.mode = Mode::Observe;
    let session = session(vec![entry]).await;
    let settled = session.before_tool_call(bash(&session, "ls")).await;
    assert_eq!(command(&settled), "ls");
    let call = &settled.record.calls[0];
    assert!(call.verdict.as_ref().unwrap().get().contains("reject"));
    assert_eq!(call.findings[0].code, "seen");
    assert!(session.reminders().is_empty());
}

fn counting(extra: &serde_json::Value) -> Entry {
    let mut behaviour = json!({"do": [{"increment": ["session", "n", 1]}]});
    behaviour.as_object_mut().unwrap().extend(extra.as_object().cloned().unwrap());
    plugin(
        "count",
        json!({ "before-tool-call": behaviour, "prompt-submit": {
        "do": [{"get": ["session", "n"]}], "verdict": "replace", "value": "{last}"} }),
    )
}

#[tokio::test]
async fn one_event_changes_a_plugins_state_once_however_often_it_is_asked() {
    // It counts when asked; the other one changes the value, so it is asked twice about one event.
    let changer = plugin(
        "other",
        json!({"before-tool-call": {"when": {"lacks": "-l"}, "verdict": "modify", "value": {"command": "ls -l"}}}),
    );
    let session = session(vec![counting(&json!({})), changer]).await;
    let settled = session.before_tool_call(bash(&session, "ls")).await;
    assert_eq!(settled.record.calls.iter().filter(|call| call.plugin == "count").count(), 2);
    assert_eq!(text(&session, "x").await, "1");
}

#[tokio::test]
async fn effects_of_a_call_that_did_not_return_are_void() {
    let failing = json!({"do": [{"increment": ["session", "n", 1]}, {"remind": "x"}, {"report": "y"}, {"log": "z"}], "misbehave": "trap"});
    let session = session(vec![counting(&failing)]).await;
    let settled = session.before_tool_call(bash(&session, "ls")).await;
    let call = &settled.record.calls[0];
    assert!(call.findings.is_empty() && session.reminders().is_empty());
    assert!(call.log.iter().any(|line| line.message == "z"), "what it logged before it failed is kept: {call:?}");
    assert!(!text(&session, "x").await.contains('1'));
}

#[tokio::test]
async fn a_flood_of_state_is_refused_and_takes_nothing_from_others() {
    let fill = |count: u32, key: usize, value: usize| {
        let steps = json!([{"fill": ["plugin", count, key, value]}]);
        json!({"do": steps, "verdict": "replace", "value": "{last}"})
    };
    for (filled, refused, events) in
        [(fill(100_000, 0, 1), "999", 1), (fill(20, 1 << 20, 0), "20 of 20", 2), (fill(20, 0, 1 << 20), "20 of 20", 2)]
    {
        let mut flooding = with_limits(plugin("a-floods", json!({ "prompt-submit": filled })), |limits| {
            limits.capability_calls = NonZeroU32::MAX;
        });
        flooding.grants.state = Some(StateGrant::new(NonZeroUsize::new(4096).unwrap()));
        let other =
            json!({"do": [{"increment": ["plugin", "n", 1]}], "verdict": "replace", "value": "{value}, {last}"});
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("hookhost.db");
        let entries = vec![flooding, plugin("b", json!({ "prompt-submit": other }))];
        let config = Config::from_entries(entries, Settings::default()).unwrap();
        let host = builder(config).store(&log).build().await.unwrap();
        let session = host.open_session(spec()).unwrap();
        for round in 1..=events {
            let settled = session.prompt_submit("x".into()).await;
            let TransformOutcome::Passed { value } = settled.outcome else { panic!("{:?}", settled.record) };
            assert!(value.starts_with(refused) && value.ends_with(&format!("refused, {round}")), "{value}");
        }
        assert!(std::fs::metadata(&log).unwrap().len() < 1 << 20);
    }
}

#[tokio::test]
async fn effects_of_a_call_with_an_invalid_answer_are_void() {
    let steps = json!([{"increment": ["plugin", "n", 1]}, {"report": "c"}, {"remind": "r"}]);
    let behaviours = [
        json!({"when": {"contains": "bad"}, "do": steps, "misbehave": "invalid-json"}),
        json!({"when": {"contains": "good"}, "do": steps}),
    ];
    let mut entry = plugin("p", json!({ "before-tool-call": behaviours }));
    entry.on_failure = Some(hookhost::config::OnFailure::Skip);
    let session = session(vec![entry]).await;
    let bad = session.before_tool_call(bash(&session, "bad")).await;
    assert_eq!(bad.record.calls[0].failure.as_ref().unwrap().kind, hookhost::FailureKind::InvalidAnswer);
    assert!(bad.record.calls[0].wrote.is_empty() && bad.record.calls[0].findings.is_empty());
    assert!(session.reminders().is_empty());
    let good = session.before_tool_call(bash(&session, "good")).await;
    let state = good.record.calls[0].inputs.state.as_ref().unwrap();
    assert_eq!(state.read[0].value, None);
    assert_eq!((good.record.calls[0].findings.len(), session.reminders().len()), (1, 1));
}

#[tokio::test]
async fn what_is_not_an_identifier_of_a_session_is_refused() {
    let host = host(vec![]).await;
    for id in [String::new(), "x".repeat(257), "a\nb".into()] {
        let mut spec = spec();
        spec.id = Some(id);
        let error = host.open_session(spec).unwrap_err().to_string();
        assert!(error.contains("is not a valid session id"), "{error}");
    }
}

#[tokio::test]
async fn state_of_a_session_is_not_seen_in_another() {
    let host = host(vec![counting(&json!({}))]).await;
    let (one, two) = (host.open_session(spec()).unwrap(), host.open_session(spec()).unwrap());
    let _ = one.before_tool_call(bash(&one, "ls")).await;
    assert_eq!(text(&one, "x").await, "1");
    assert_ne!(text(&two, "x").await, "1");
}

#[tokio::test]
async fn a_reminder_lives_as_many_turns_as_it_says_and_a_newer_one_replaces_it() {
    let remind = json!({"prompt-submit": {"do": [{"remind":
        {"body": "{value}", "tags": [], "dedupe-key": "k", "ttl-turns": 2}}]}});
    let session = session(vec![plugin("p", remind)]).await;
    let bodies = || session.reminders().into_iter().map(|reminder| reminder.body).collect::<Vec<_>>();
    text(&session, "first").await;
    text(&session, "second").await;
    assert_eq!(bodies(), ["second"]);
    session.set_turn(1);
    assert_eq!(bodies(), ["second"]);
    session.set_turn(2);
    assert!(bodies().is_empty());
}

#[tokio::test]
async fn the_clock_and_the_random_numbers_of_a_guest_are_the_events() {
    let ask = json!({"prompt-submit": {"do": ["clock"], "verdict": "replace", "value": "{last} {time}"},
                     "finalize-content": {"do": ["random"], "verdict": "replace", "value": "{last}"}});
    let random = async |id: &str| {
        let mut spec = spec();
        spec.id = Some(id.into());
        let session = host(vec![plugin("p", ask.clone())]).await.open_session(spec).unwrap();
        let TransformOutcome::Passed { value } = session.finalize_content("x".into()).await.outcome else { panic!() };
        value
    };
    let session = session(vec![plugin("p", ask.clone())]).await;
    let shown = text(&session, "x").await;
    let (clock, time) = shown.split_once(' ').unwrap();
    assert_eq!(clock, time);
    let (one, again, other) = (random("one").await, random("one").await, random("other").await);
    assert_eq!(one, again);
    assert_ne!(one, other);
}

/// The same event, so often: each time in a session of the same name, and so with the same random numbers.
async fn outcomes_of(host: Host, times: usize) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    for _ in 0..times {
        let session = host.open_session(spec().id("same")).unwrap();
        let settled = session.before_tool_call(bash(&session, "ls")).await;
        let mut call = settled.record.calls[0].clone();
        call.micros = 0;
        let told = session.reminders().pop().map(|reminder| reminder.body);
        seen.insert(format!("{} {told:?}", serde_json::to_string(&call).unwrap()));
    }
    seen
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_thousand_times_the_same_event_gives_the_same_verdict_fuel_and_effects_on_one_thread_and_on_many() {
    let behaviour = json!({"before-tool-call": {
        "do": ["random", {"set": ["session", "k", "{last}"]}, {"remind": "{last}"}, {"report": "code"}, {"log": "{last}"}],
        "verdict": "approve", "reason": "{command} {last}"
    }});
    let host = || async { host(vec![plugin("p", behaviour.clone())]).await };
    // State that is there when the event comes is part of it: what the first one wrote.
    let settled = |host: Host| async move {
        outcomes_of(host.clone(), 1).await;
        host
    };
    let one = outcomes_of(settled(host().await).await, 500).await;
    assert_eq!(one.len(), 1, "{one:?}");
    let mut on_many = Vec::new();
    for _ in 0..4 {
        on_many.push(tokio::spawn(outcomes_of(settled(host().await).await, 125)));
    }
    for seen in on_many {
        assert_eq!(seen.await.unwrap(), one);
    }
}

#[derive(Default)]
struct Person {
    asked: Mutex<Vec<ApprovalRequest>>,
    says: Mutex<Option<Approval>>,
}

impl Approver for Person {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, Approval> {
        self.asked.lock().unwrap().push(request);
        let answer = self.says.lock().unwrap().clone();
        Box::pin(async move { answer.expect("an approver that panics") })
    }
}

async fn asking(person: &Arc<Person>, entries: Vec<Entry>) -> Session {
    let config = Config::from_entries(entries, Settings::default()).unwrap();
    let host = builder(config).approver(Arc::clone(person) as Arc<dyn Approver>).build().await.unwrap();
    host.open_session(spec()).unwrap()
}

#[tokio::test]
async fn a_person_is_shown_what_would_run_and_by_whom_it_was_changed() {
    let escalates = plugin("a", json!({"before-tool-call": {"verdict": "escalate", "question": "run {command}?"}}));
    let changes = plugin(
        "b",
        json!({"before-tool-call": {"when": {"lacks": "-l"}, "verdict": "modify", "value": {"command": "ls -l"}}}),
    );
    let person = Arc::new(Person { says: Mutex::new(Some(Approval::yes())), ..Person::default() });
    let session = asking(&person, vec![escalates, changes]).await;
    assert_eq!(command(&session.before_tool_call(bash(&session, "ls")).await), "ls -l");
    let asked = person.asked.lock().unwrap();
    let request = &asked[0];
    assert_eq!(asked.len(), 1);
    assert!(
        request.original.get().contains(r#""command":"ls""#) && request.value.get().contains(r#""command":"ls -l""#)
    );
    assert_eq!(request.changed_by, ["b"]);
    assert_eq!(request.questions[0].escalation.question, "run ls -l?");
}

#[tokio::test]
async fn a_no_and_an_approver_that_panics_are_both_a_no() {
    let entry = || plugin("a", json!({"before-tool-call": {"verdict": "escalate", "question": "sure?"}}));
    for (says, why) in [
        (Some(Approval::no().because("not today")), "sure? (not today)"),
        (Some(Approval::no()), "sure? (the user said no)"),
        (None, "sure? (the approver failed)"),
    ] {
        let person = Arc::new(Person { says: Mutex::new(says), ..Person::default() });
        let session = asking(&person, vec![entry()]).await;
        let Decision::Rejected(rejection) = session.before_tool_call(bash(&session, "ls")).await.outcome else {
            panic!("{why}")
        };
        assert_eq!((rejection.cause, rejection.refusal.reason.as_str()), (Cause::NotApproved, why));
    }
}

struct Conversation;

impl Transcript for Conversation {
    fn length(&self) -> u32 {
        2
    }
    fn message(&self, index: u32) -> Option<hookhost::capability::Message> {
        let role = ["user", "assistant"].get(index as usize)?;
        Some(hookhost::capability::Message::new(*role, format!("message {index}")))
    }
}

#[tokio::test]
async fn a_plugin_with_the_grant_reads_the_conversation() {
    let read = json!({"prompt-submit": {"do": [{"transcript": [0, 10]}], "verdict": "replace", "value": "{last}"}});
    let session = session(vec![plugin("p", read)]).await;
    session.set_transcript(Arc::new(Conversation));
    assert_eq!(text(&session, "x").await, "2 of 2\nuser: message 0\nassistant: message 1");
}

struct Echo;

impl Model for Echo {
    fn complete<'a>(&'a self, name: &'a str, request: ModelRequest) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            tokio::task::yield_now().await;
            Ok(format!("{name}: {} / {}", request.instructions, request.input))
        })
    }
}

#[tokio::test]
async fn a_plugin_with_the_grant_asks_the_model_within_its_budget() {
    let ask = json!({"prompt-submit": {"do": [{"model": ["judge", "data"]}], "verdict": "replace", "value": "{last}"}});
    let mut entry = plugin("p", ask);
    entry.grants.model.as_mut().unwrap().max_calls = NonZeroU32::new(2).unwrap();
    let config = Config::from_entries(vec![entry], Settings::default()).unwrap();
    let host = builder(config).model(Arc::new(Echo)).build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    for _ in 0..2 {
        assert_eq!(text(&session, "x").await, "small: judge / data");
    }
    assert!(text(&session, "x").await.contains("error"), "the third call is over the budget");
}

#[tokio::test]
async fn what_a_guest_prints_goes_into_its_log_and_nowhere_else() {
    let session = session(vec![plugin("p", json!({"after-tool-call": {"do": [{"log": "a line"}]}}))]).await;
    let call = bash(&session, "ls");
    let settled = session.after_tool_call(&call, ToolResult::text("out"), ResultSource::Tool).await;
    assert_eq!(settled.record.calls[0].log[0].message, "a line");
}

#[tokio::test]
async fn the_reason_that_a_model_reads_is_bounded_and_attributed() {
    let long = "x".repeat(10_000);
    let session = session(vec![plugin("p", json!({"before-tool-call": {"verdict": "reject", "reason": long}}))]).await;
    let Decision::Rejected(rejection) = session.before_tool_call(bash(&session, "ls")).await.outcome else { panic!() };
    let text = rejection.to_string();
    assert!(text.starts_with("Rejected by p: xxx") && text.len() < 2100, "{}", text.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_of_one_session_are_settled_in_call_order() {
    let session = Arc::new(session(vec![plugin("p", json!({}))]).await);
    let events = (0..50).map(|n| {
        let session = Arc::clone(&session);
        async move { session.prompt_submit(n.to_string()).await.record.id }
    });
    let ids = futures_util::future::join_all(events).await;
    let numbers: Vec<u64> = ids.iter().map(|id| id.rsplit('.').next().unwrap().parse().unwrap()).collect();
    assert!(numbers.is_sorted(), "{numbers:?}");
}

#[tokio::test]
async fn a_pattern_that_fits_no_tool_is_reported() {
    let mut entry = plugin("p", json!({}));
    entry.tools = Some(vec!["nosuch*".parse().unwrap(), "bash".parse().unwrap()]);
    let host = host(vec![entry]).await;
    let mut spec = spec();
    spec.tools = vec![hookhost::contract::ToolSpec::new("bash", json!({"type": "object"}))];
    let notices = texts(host.open_session(spec).unwrap().take_notices());
    assert_eq!(notices, ["the plugin p: the pattern `nosuch*` of its `tools` matches no tool"]);
}

#[tokio::test]
async fn a_person_is_shown_the_result_that_a_plugin_gave_in_the_tools_place() {
    let person = Arc::new(Person { says: Mutex::new(Some(Approval::yes())), ..Person::default() });
    let asks = plugin("a", json!({"before-tool-call": {"verdict": "escalate", "question": "sure?"}}));
    let answers = plugin("b", json!({"before-tool-call": {"verdict": "respond", "value": "instead"}}));
    let session = asking(&person, vec![asks, answers]).await;
    let outcome = session.before_tool_call(bash(&session, "ls")).await.outcome;
    assert!(matches!(outcome, Decision::Responded { .. }));
    let asked = person.asked.lock().unwrap();
    let response = asked[0].response.as_ref().unwrap();
    assert_eq!(response.by, "b");
    assert!(response.result.get().contains("instead"));
}

#[tokio::test]
async fn what_is_asked_about_is_in_one_spelling_and_its_action_is_the_hosts() {
    let person = Arc::new(Person { says: Mutex::new(Some(Approval::yes())), ..Person::default() });
    let asks = plugin("a", json!({"before-tool-call": {"verdict": "escalate", "question": "{command}?"}}));
    let session = asking(&person, vec![asks]).await;
    let mut call = bash(&session, "ls").into_call();
    // A tool could take the first of the two keys; and the action is somebody's claim.
    call.arguments = r#"{"command": "rm -rf /", "command": "ls"}"#.parse().unwrap();
    call.action = hookhost::contract::Action::ReadFile("harmless".into());
    let settled = session.before_tool_call(session.prepare(call)).await;
    let Decision::Allowed { value } = settled.outcome else { panic!("not allowed") };
    assert_eq!(value.arguments, r#"{"command":"ls"}"#);
    assert!(matches!(&value.action, hookhost::contract::Action::Shell(shell) if shell.command == "ls"));
    let asked = person.asked.lock().unwrap();
    assert!(!asked[0].value.get().contains("rm -rf"));
    assert_eq!(asked[0].questions[0].escalation.question, "ls?");
}

#[tokio::test]
async fn a_plugin_narrowed_to_an_action_is_asked_where_the_arguments_cannot_be_read() {
    let mut entry = plugin("p", json!({"any": {"verdict": "reject", "reason": "no"}}));
    entry.actions = Some([ActionKind::WriteFiles].into());
    let session = session(vec![entry]).await;
    for arguments in [json!({"path": ["infra/x"]}), json!({"paht": "infra/x"})] {
        let write = session.tool_call("1", "write_file", &arguments, hookhost::contract::ToolOrigin::Builtin);
        assert!(matches!(session.before_tool_call(write).await.outcome, Decision::Rejected(_)), "{arguments}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn more_events_at_once_than_there_are_slots_are_queued_and_none_fails() {
    let mut entry = plugin("p", json!({}));
    entry.limits.deadline = Some(std::time::Duration::from_secs(60));
    let host = host(vec![entry]).await;
    let sessions = (0..100).map(|_| {
        let session = host.open_session(spec()).unwrap();
        tokio::spawn(async move {
            for _ in 0..20 {
                let settled = session.before_tool_call(bash(&session, "ls")).await;
                assert!(matches!(settled.outcome, Decision::Allowed { .. }), "{:?}", settled.record);
            }
        })
    });
    for session in sessions.collect::<Vec<_>>() {
        session.await.unwrap();
    }
}

#[tokio::test]
async fn where_the_event_is_rejected_only_the_effects_of_the_last_call_hold() {
    let changes = plugin(
        "a",
        json!({"before-tool-call": [
            {"when": {"round": 1}, "do": [{"remind": "first"}], "verdict": "modify", "value": {"command": "ls -l"}},
            {"do": [{"remind": "second"}], "verdict": "reject", "reason": "no"}]}),
    );
    let other = plugin(
        "b",
        json!({"before-tool-call": {"when": {"lacks": "-a"}, "verdict": "modify", "value": {"command": "{command} -a"}}}),
    );
    let session = session(vec![changes, other]).await;
    assert!(matches!(session.before_tool_call(bash(&session, "ls")).await.outcome, Decision::Rejected(_)));
    let bodies: Vec<_> = session.reminders().into_iter().map(|reminder| reminder.body).collect();
    assert_eq!(bodies, ["second"]);
}

struct Panics;

impl Model for Panics {
    fn complete<'a>(&'a self, _: &'a str, _: ModelRequest) -> BoxFuture<'a, Result<String, String>> {
        panic!("an embedder's mistake")
    }
}

impl Transcript for Panics {
    fn length(&self) -> u32 {
        panic!("an embedder's mistake")
    }
    fn message(&self, _: u32) -> Option<hookhost::capability::Message> {
        None
    }
}

#[tokio::test]
async fn a_panic_of_the_embedders_model_or_transcript_is_not_the_hosts() {
    let ask = json!({"prompt-submit": {"do": [{"model": ["a", "b"]}], "verdict": "replace", "value": "{last}"},
                     "finalize-content": {"do": [{"transcript": [0, 1]}]}});
    let config = Config::from_entries(vec![plugin("p", ask)], Settings::default()).unwrap();
    let host = builder(config).model(Arc::new(Panics)).build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    session.set_transcript(Arc::new(Panics));
    assert!(text(&session, "x").await.contains("the model failed"));
    let withheld = session.finalize_content("x".into()).await.outcome;
    assert!(matches!(withheld, TransformOutcome::Withheld(_)));
}

struct Slow;

impl Model for Slow {
    fn complete<'a>(&'a self, _: &'a str, _: ModelRequest) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn plugins_that_wait_for_a_model_starve_no_other() {
    let wait = json!({"prompt-submit": {"do": [{"model": ["judge", "data"]}]}});
    let mut waiting = plugin("a", wait);
    waiting.limits.deadline = Some(std::time::Duration::from_secs(60));
    waiting.events = Some([EventKind::PromptSubmit].into());
    let path = crate::support::component("no_force_push.wasm");
    let digest = hookhost::config::Digest::of_file(&path).unwrap();
    let mut guard = Entry::new("b", path, digest);
    guard.limits.deadline = Some(std::time::Duration::from_secs(20));
    let config = Config::from_entries(vec![waiting, guard], Settings::default()).unwrap();
    let host = builder(config).model(Arc::new(Slow)).build().await.unwrap();
    let waiters: Vec<_> = (0..40)
        .map(|_| {
            let session = host.open_session(spec()).unwrap();
            tokio::spawn(async move { session.prompt_submit("x".into()).await.record })
        })
        .collect();
    tokio::task::yield_now().await;
    let session = host.open_session(spec()).unwrap();
    let outcome = session.before_tool_call(bash(&session, "ls")).await.outcome;
    assert!(matches!(outcome, Decision::Allowed { .. }), "{outcome:?}");
    for waiter in waiters {
        waiter.abort();
    }
}

#[tokio::test]
async fn a_directory_that_is_not_absolute_opens_no_session() {
    let host = host(vec![]).await;
    for path in ["", ".", "work", "../work", "/work/../elsewhere", "/work\0"] {
        for is_workspace in [true, false] {
            let mut spec = spec();
            *if is_workspace { &mut spec.workspace } else { &mut spec.cwd } = path.into();
            let what = if is_workspace { "workspace" } else { "working directory" };
            let error = host.open_session(spec).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("the {what} `")) && error.contains("must be an absolute path"),
                "{error}"
            );
        }
    }
}

#[tokio::test]
async fn events_of_one_session_in_two_hosts_have_different_identifiers() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("hookhost.db");
    let mut ids = BTreeSet::new();
    let mut open = Vec::new();
    for _ in 0..20 {
        let config = Config::from_entries(vec![], Settings::default()).unwrap();
        let host = builder(config).store(&log).build().await.unwrap();
        let session = host.open_session(spec().id("same")).unwrap();
        open.push(session);
    }
    for _ in 0..3 {
        for session in &open {
            ids.insert(session.prompt_submit("x".into()).await.record.id);
        }
    }
    assert_eq!(ids.len(), 60);
}

#[tokio::test]
async fn a_payload_needs_nothing_that_the_host_works_out() {
    let session = session(vec![]).await;
    let call = json!({ "call": { "id": "1", "name": "bash", "arguments": { "command": "ls" } } });
    let settled = session.dispatch_event(EventKind::BeforeToolCall, call, DispatchOptions::default()).await.unwrap();
    assert_eq!(settled.outcome["value"]["action"]["shell"]["command"], "ls");
}
