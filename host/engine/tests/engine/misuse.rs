//! What an embedding program does by mistake: each has an answer that can be relied upon.
//! `docs/embedding.md` names these tests in its section "What happens if…".

use crate::support::{bash, builder, component, plugin, spec};
use futures_util::future::BoxFuture;
use hookhost::approval::{Approval, ApprovalRequest, Approver};
use hookhost::audit::{MemoryLog, Record};
use hookhost::config::{Config, Entry, Settings};
use hookhost::contract::action::{ActionMap, ToolShape};
use hookhost::contract::{Cause, Decision, Escalation, EventKind, OutcomeKind, Refusal, ShellDialect, ToolCall, Usage};
use hookhost::session::DispatchOptions;
use hookhost::testing::{self, ScriptedApprover};
use hookhost::{Engine, Host, HostBuilder, PreparedCall, Session, blocking};
use serde_json::{Value, json};
use std::future::Future;
use std::sync::{Arc, Barrier, OnceLock};
use std::time::Duration;

/// A host that asks a person about each call of `deploy`, and rejects `push`.
fn asks() -> HostBuilder {
    Host::builder(Config::empty())
        .rule("asks", |call: &ToolCall| (call.name == "deploy").then(|| Escalation::new("sure?")))
        .rule("no-push", |call: &ToolCall| (call.name == "push").then(|| Refusal::new("frozen")))
}

/// Does all that it can with the host and the session that ask it, and says yes if all of that was settled.
#[derive(Default)]
struct Busy {
    host: OnceLock<Host>,
    session: OnceLock<Session>,
}

impl Approver for Busy {
    fn ask(&self, _: ApprovalRequest) -> BoxFuture<'_, Approval> {
        Box::pin(async move {
            let (Some(host), Some(session)) = (self.host.get(), self.session.get()) else { return Approval::no() };
            let same = session.check_tool("push", &json!({})).await.outcome;
            let other = host.open_session(spec()).unwrap().check_tool("push", &json!({})).await.outcome;
            let reloaded = host.reload(&Config::empty()).await.is_ok();
            let drained = host.drain(Duration::from_secs(5)).await.is_ok();
            match same.to_string() == "Rejected by no-push: frozen" && same == other && reloaded && drained {
                true => Approval::yes(),
                false => Approval::no().because(format!("{same}, {other}, {reloaded}, {drained}")),
            }
        })
    }
}

#[tokio::test]
async fn an_approver_may_use_the_session_that_asks_any_other_and_the_host() {
    let busy = Arc::new(Busy::default());
    let host = asks().approver(busy.clone()).build().await.unwrap();
    assert!(busy.session.set(host.open_session(spec()).unwrap()).is_ok());
    assert!(busy.host.set(host).is_ok());
    let settled = busy.session.get().unwrap().check_tool("deploy", &json!({})).await;
    assert!(settled.outcome.is_allowed(), "{}", settled.outcome);
}

#[tokio::test]
async fn a_call_whose_arguments_rules_and_tool_could_read_differently_is_invalid() {
    let mut actions = ActionMap::default();
    let line = vec!["line".to_owned()];
    actions.insert("run_in_vm", ToolShape::Shell { command: line, cwd: vec![], dialect: ShellDialect::Posix });
    let host = Host::builder(Config::empty()).actions(actions).build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    for (tool, arguments) in [
        ("bash", json!({ "command": "ls", "COMMAND": "rm -rf ~" })),
        ("run_in_vm", json!({ "line": "ls", "LINE": "rm -rf ~" })),
        ("mcp__files__write", json!({ "edits": [{ "path": "a", "Path": "b" }] })),
    ] {
        let outcome = session.check_tool(tool, &arguments).await.outcome;
        let cause = outcome.rejection().map(|rejection| rejection.cause);
        assert_eq!(cause, Some(Cause::Invalid), "{tool} {arguments}: {outcome}");
        assert!(outcome.to_string().contains("only in case"), "{outcome}");
    }
    let arguments = json!({ "text": "x", "guid": "a", "Guid": "b" });
    assert!(session.check_tool("mcp__x__echo", &arguments).await.outcome.is_allowed());
}

#[test]
fn a_session_outlives_its_host_and_the_runtime_that_built_it() {
    let runtime = || tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let rejects =
        || json!({ "before-tool-call": { "when": { "contains": "push" }, "verdict": "reject", "reason": "no" } });
    let first = runtime();
    let session = first.block_on(async {
        let config = Config::from_entries(vec![plugin("p", rejects())], Settings::default()).unwrap();
        let host =
            builder(config).rule("no-deploys", |call: &ToolCall| (call.name == "deploy").then(|| Refusal::new("no")));
        host.build().await.unwrap().open_session(spec()).unwrap()
    });
    drop(first);
    let rejected = |command: &'static str| {
        let settled = runtime().block_on(session.check_tool(command, &json!({ "command": command })));
        settled.outcome.rejection().map(|rejection| rejection.by.clone())
    };
    assert_eq!(rejected("push"), Some(vec!["p".to_owned()]));
    assert_eq!(rejected("deploy"), Some(vec!["no-deploys".to_owned()]));
    assert_eq!(rejected("ls"), None);
}

#[tokio::test]
async fn the_tools_of_a_session_that_was_dropped_are_not_called() {
    let host = builder(Config::empty()).build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    let tools = session.plugin_tools();
    drop(session);
    let error = tools.call("p", "look-up", &json!({})).await.unwrap_err().to_string();
    assert_eq!(error, "the tool `look-up` of the plugin p was not called: the session has ended");
}

#[tokio::test]
async fn a_host_that_was_drained_takes_further_events_and_its_sessions_end_once() {
    let log = MemoryLog::new();
    let host = asks().audit(log.clone()).build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    host.drain(Duration::from_secs(5)).await.unwrap();
    assert!(session.check_tool("ls", &json!({})).await.outcome.is_allowed());
    let _ = session.session_end(Usage::default()).await;
    let again = session.session_end(Usage::default()).await;
    assert_eq!(again.record.not_replayable, ["no plugin was asked"]);
    host.drain(Duration::from_secs(5)).await.unwrap();
    assert!(!session.check_tool("ls", &json!({})).await.outcome.is_allowed());
}

#[tokio::test]
async fn a_store_that_cannot_be_one_is_refused_by_its_name_and_left_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    std::fs::write(at("notes.txt"), "milk and eggs").unwrap();
    for (path, named) in [
        (directory.path().to_owned(), directory.path().to_string_lossy().into_owned()),
        ("/dev/null".into(), "/dev/null".to_owned()),
        (at("notes.txt"), "notes.txt".to_owned()),
        (at("notes.txt/log.db"), "notes.txt".to_owned()),
    ] {
        let error = Host::builder(Config::empty()).store(&path).build().await.unwrap_err().to_string();
        assert!(error.contains(&named), "{}: {error}", path.display());
    }
    assert_eq!(std::fs::read_to_string(at("notes.txt")).unwrap(), "milk and eggs");
    assert!(Host::builder(Config::empty()).store(at("new/directories/log.db")).build().await.is_ok());
}

#[tokio::test]
async fn a_plugin_that_is_a_directory_a_pipe_or_another_file_by_now_is_not_loaded() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
    for name in [at("pipe"), directory.path().to_owned(), at("nothing"), "/dev/zero".into()] {
        assert!(Entry::from_file("p", &name).is_err(), "{}", name.display());
    }
    std::fs::copy(component("path_guard.wasm"), at("guard.wasm")).unwrap();
    let entry = Entry::from_file("p", at("guard.wasm")).unwrap();
    std::fs::write(at("guard.wasm"), std::fs::read(component("customers.wasm")).unwrap()).unwrap();
    let error = Host::builder(Config::empty()).plugin(entry).build().await.unwrap_err().to_string();
    assert!(error.contains("guard.wasm") && error.contains("sha256"), "{error}");
}

#[tokio::test]
async fn two_plugins_of_one_name_and_names_with_other_characters_are_refused() {
    let rule = |name: &str| Host::builder(Config::empty()).rule(name, |_: &ToolCall| None::<Refusal>);
    let error = rule("guard").rule("guard", |_: &ToolCall| None::<Refusal>).build().await.unwrap_err().to_string();
    assert_eq!(error, "the entry `guard` cannot be used: another entry has this name");
    for name in ["", "two\nlines", "\u{1b}[2J", "a b", &"x".repeat(65), "..", "ümlaut"] {
        let error = rule(name).build().await.unwrap_err().to_string();
        assert!(!error.contains(['\n', '\u{1b}']), "{error:?}");
        assert!(error.contains("a name is 1 to 64"), "{error}");
    }
    let session = asks().build().await.unwrap();
    for parent in ["two\nlines", ""] {
        let error = session.open_session(spec().root("root").under(parent, 1)).unwrap_err().to_string();
        assert!(error.contains("is not a valid session id") && !error.contains('\n'), "{error}");
    }
}

#[tokio::test]
async fn the_arguments_that_run_are_exactly_those_that_were_asked_about() {
    let host = asks().build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    let deep = (0..500).fold(json!(1), |value, _| json!([value]));
    let number = f64::from_bits(0x3fd5_5555_5555_5556);
    for arguments in
        [json!({ "deep": deep }), json!({ "x": number, "y": 5e-324, "z": u64::MAX, "n": -0.0 }), json!(null)]
    {
        let Decision::Allowed { value: call } = session.check_tool("any", &arguments).await.outcome else {
            panic!("nobody rejects it");
        };
        assert_eq!(call.arguments(), &arguments);
    }
}

#[tokio::test]
async fn an_event_that_is_given_up_while_a_plugin_waits_holds_up_no_other() {
    let sleeps = json!({ "before-tool-call": { "when": { "contains": "slow" }, "misbehave": "sleep" } });
    let config = Config::from_entries(vec![plugin("p", sleeps)], Settings::default()).unwrap();
    let log = MemoryLog::new();
    let host = builder(config).audit(log.clone()).build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    {
        let mut slow = std::pin::pin!(session.before_tool_call(bash(&session, "slow")));
        assert!(futures_util::poll!(slow.as_mut()).is_pending());
    }
    assert!(session.before_tool_call(bash(&session, "ls")).await.outcome.is_allowed());
    let outcomes: Vec<_> = log.records().iter().filter_map(Record::outcome).collect();
    assert_eq!(outcomes, [OutcomeKind::Cancelled, OutcomeKind::Allowed]);
}

#[tokio::test]
async fn a_record_that_the_program_makes_up_reaches_observers_and_no_log() {
    let log = MemoryLog::new();
    let host = asks().audit(log.clone()).build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    let before = log.records().len();
    let payload = json!({ "entry": "{\"kind\":\"event\"}" });
    let settled = session.dispatch_event(EventKind::AuditRecord, payload, DispatchOptions::default()).await;
    assert!(settled.is_ok(), "{settled:?}");
    host.drain(Duration::from_secs(5)).await.unwrap();
    assert_eq!(log.records().len(), before);
}

#[test]
fn hosts_and_sessions_are_shared_by_threads_and_their_futures_move_between_them() {
    fn shared<T: Send + Sync + 'static>() {}
    fn moves(_: &(impl Future + Send)) {}
    shared::<Host>();
    shared::<Session>();
    shared::<Engine>();
    shared::<blocking::Host>();
    shared::<blocking::Session>();
    shared::<PreparedCall>();
    let _ = |session: &Session, arguments: &Value| moves(&session.check_tool("any", arguments));
    let _ = |host: &Host, config: &Config| moves(&host.reload(config));
}

#[test]
fn a_blocking_host_that_is_dropped_while_a_call_is_under_way_still_answers_it() {
    let (entered, leave) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let (is_entered, may_leave) = (Arc::clone(&entered), Arc::clone(&leave));
    let mut entry = Entry::from_rule(
        "slow",
        hookhost::Rule::new().before_tool_call(move |_, _| {
            is_entered.wait();
            may_leave.wait();
            Refusal::new("no")
        }),
    );
    entry.limits.deadline = Some(Duration::from_secs(20));
    let host = Host::builder(Config::empty()).plugin(entry).build_blocking().unwrap();
    let session = host.session("test", "/work").unwrap();
    let asking = std::thread::spawn(move || session.check_tool("any", &json!({})).outcome.to_string());
    entered.wait();
    drop(host);
    leave.wait();
    assert_eq!(asking.join().unwrap(), "Rejected by slow: no");
}

#[tokio::test]
async fn a_lying_action_is_worked_out_again() {
    let host = testing::start(asks().rule("shells", |call: &ToolCall| {
        matches!(call.action, hookhost::contract::Action::Shell(_)).then(|| Refusal::new("no commands"))
    }))
    .await
    .unwrap();
    let lies = json!({ "call": { "id": "1", "name": "bash", "arguments": { "command": "rm -rf /" }, "action": { "other": "" } } });
    let options = DispatchOptions::default();
    let settled = host.session().dispatch_event(EventKind::BeforeToolCall, lies, options).await;
    match settled {
        Ok(settled) => assert!(settled.outcome.to_string().contains("no commands"), "{}", settled.outcome),
        Err(error) => panic!("{error}"),
    }
}

/// A host that asks about each call and records what was asked and answered.
async fn asked(answer: Approval, settings: Settings) -> (String, MemoryLog) {
    let (people, log) = (ScriptedApprover::new([answer]), MemoryLog::new());
    let config = Config::from_entries(Vec::new(), settings).unwrap();
    let builder = Host::builder(config).rule("asks", |_: &ToolCall| Escalation::new("sure?"));
    let host = testing::start(builder.approver(people).audit(log.clone())).await.unwrap();
    (host.check("deploy", json!({})).await.to_string(), log)
}

#[tokio::test]
async fn who_answered_how_and_why_is_masked_and_bounded_as_everything_in_the_log() {
    let mut settings = Settings::default();
    settings.audit.mask = vec!["token".parse().unwrap()];
    let secret = r#"{"token": "hunter2"}"#;
    for answer in [Approval::no().because(secret), Approval::yes().by(secret), Approval::yes().via(secret)] {
        let (_, log) = asked(answer, settings.clone()).await;
        let text = log.to_json_lines();
        assert!(!text.contains("hunter2") && text.contains("(masked)"), "{text}");
        let redacted = log.records().into_iter().find_map(|record| match record {
            Record::Approval(answer) => Some(answer.redacted),
            _ => None,
        });
        assert_eq!(redacted.unwrap().len(), 1);
    }
    let long = "x".repeat(1 << 20);
    let (outcome, log) = asked(Approval::no().because(&*long).by(&*long).via("two\nlines"), Settings::default()).await;
    assert!(outcome.len() < 10_000 && log.to_json_lines().len() < 20_000, "{}", log.to_json_lines().len());
    assert_eq!(log.to_json_lines().lines().count(), log.records().len() + 1, "one record is one line");
}

#[tokio::test]
async fn a_yes_after_the_end_of_the_session_lets_nothing_run() {
    let builder = Host::builder(Config::empty()).rule("asks", |_: &ToolCall| Escalation::new("sure?"));
    let host = testing::start(builder).await.unwrap();
    let session = host.session();
    let call = session.tool_call("1", "deploy", &json!({}), hookhost::contract::ToolOrigin::Builtin);
    let Decision::Escalated(pending) = session.begin_before_tool_call(call).await.outcome else {
        panic!("it is asked")
    };
    let _ = session.session_end(Usage::default()).await;
    let settled = pending.resolve(Approval::yes()).await;
    assert_eq!(settled.outcome.rejection().map(|no| no.cause), Some(Cause::Ended), "{}", settled.outcome);
}
