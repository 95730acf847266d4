//! What must hold of shared sessions and of questions also where something else happens meanwhile.

use crate::support::{Yes, bash, builder, plugin, recording, spec, written};
use futures_util::future::BoxFuture;
use hookhost::approval::{Approval, ApprovalRequest, Approver};
use hookhost::audit;
use hookhost::capability::{Message, Model, ModelRequest, Transcript};
use hookhost::config::{Entry, OnFailure, Settings};
use hookhost::contract::{AnswerKind, Cause, OutcomeKind, ToolCall, ToolResult};
use hookhost::replay::replay;
use hookhost::store::Log;
use hookhost::{Config, Decision, Host, OpenOutcome, PendingApproval, RecordedOutcome, Session};
use serde_json::json;
use std::collections::BTreeSet;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

type Outcome = Decision<ToolCall, ToolResult>;

fn config(entries: Vec<Entry>) -> Config {
    Config::from_entries(entries, Settings::default()).unwrap()
}

/// Asks a person about each command with `ask` in it.
fn asks() -> Entry {
    plugin(
        "asks",
        json!({"before-tool-call": {"when": {"contains": "ask"}, "verdict": "escalate", "question": "sure?"}}),
    )
}

/// Waits for a model about each command with `wait` in it, and appends a dot to what it knows of the session.
fn waits() -> Entry {
    let dot = json!([{"get": ["session", "n"]}, {"set": ["session", "n", "{last}."]}]);
    let wait = json!([{"get": ["session", "n"]}, {"set": ["session", "n", "{last}."]}, {"model": ["a", "b"]}]);
    let mut waits =
        plugin("waits", json!({"before-tool-call": [{"when": {"contains": "wait"}, "do": wait}, {"do": dot}]}));
    waits.limits.deadline = Some(Duration::from_secs(60));
    waits
}

async fn host_at(log: &Path, entries: Vec<Entry>) -> Host {
    builder(config(entries)).store(log).build().await.unwrap()
}

fn shared(host: &Host) -> Session {
    let mut spec = spec();
    spec.id = Some("shared".to_owned());
    host.open_session(spec).unwrap()
}

async fn call(session: &Session, command: &str) -> RecordedOutcome<Outcome> {
    session.before_tool_call(bash(session, command)).await
}

async fn ask(session: &Session, command: &str) -> PendingApproval<ToolCall, ToolResult> {
    session.begin_before_tool_call(bash(session, command)).await.into_final().expect_err("nobody asks")
}

fn settled(open: OpenOutcome<ToolCall, ToolResult>) -> RecordedOutcome<Outcome> {
    open.into_final().expect("not asked again")
}

fn cause(settled: &RecordedOutcome<Outcome>) -> Option<Cause> {
    match &settled.outcome {
        Decision::Rejected(rejection) => Some(rejection.cause),
        _ => None,
    }
}

/// The answers that the log has, in order.
fn answers(log: &Path) -> Vec<(AnswerKind, OutcomeKind)> {
    let of = |entry: &audit::Record| match entry {
        audit::Record::Approval(answer) => Some((answer.answer.kind, answer.outcome)),
        _ => None,
    };
    written(log).iter().filter_map(of).collect()
}

/// The events that the log has, in order.
fn events(log: &Path) -> Vec<audit::EventRecord> {
    let of = |entry| match entry {
        audit::Record::Event(event) => Some(*event),
        _ => None,
    };
    written(log).into_iter().filter_map(of).collect()
}

/// Answers when it is let.
#[derive(Clone, Default)]
struct Waits {
    asked: Arc<Notify>,
    let_go: Arc<Notify>,
}

impl Model for Waits {
    fn complete<'a>(&'a self, _: &'a str, _: ModelRequest) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async {
            self.asked.notify_one();
            self.let_go.notified().await;
            Ok("done".to_owned())
        })
    }
}

/// Sends the event until its plugin waits for the model.
async fn until_asked<T>(mut event: Pin<&mut (impl Future<Output = T> + Send)>, model: &Waits) {
    tokio::select! {
        _ = &mut event => panic!("it did not wait"),
        () = model.asked.notified() => {}
    }
}

#[tokio::test]
async fn each_event_has_an_identifier_of_its_own_also_after_one_that_was_given_up() {
    for _ in 0..10 {
        let (_directory, log, recording) = recording(vec![waits()]);
        let model = Waits::default();
        let one = recording.model(Arc::new(model.clone())).build().await.unwrap();
        let other = host_at(&log, vec![waits()]).await;
        let (a, b) = (shared(&one), shared(&other));
        let mut first = Box::pin(call(&a, "wait"));
        until_asked(first.as_mut(), &model).await;
        let mut second = Box::pin(call(&b, "ls"));
        assert!(futures_util::poll!(&mut second).is_pending());
        drop(first);
        let _ = second.await;
        let _ = call(&b, "ls").await;
        // Now the record of the first event is written.
        one.drain(Duration::from_secs(10)).await.unwrap();
        let _ = call(&a, "ls").await;
        let ids: Vec<String> = events(&log).into_iter().map(|event| event.id).collect();
        assert_eq!(ids.len(), 4, "{ids:?}");
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), 4, "{ids:?}");
    }
}

#[tokio::test]
async fn two_names_of_one_database_are_one_line() {
    let (directory, log, recording) = recording(vec![waits()]);
    let lets = Waits::default();
    let one = recording.model(Arc::new(lets.clone())).build().await.unwrap();
    let link = directory.path().join("link.db");
    std::os::unix::fs::symlink(&log, &link).unwrap();
    let other = host_at(&link, vec![waits()]).await;
    let (a, b) = (shared(&one), shared(&other));
    let mut first = Box::pin(call(&a, "wait"));
    until_asked(first.as_mut(), &lets).await;
    // Without a turn it does not come to an end.
    let second = tokio::time::timeout(Duration::from_secs(2), call(&b, "ls")).await;
    assert!(second.is_err(), "it did not wait for its turn: {:?}", second.unwrap().outcome);
    lets.let_go.notify_one();
    let _ = first.await;
}

#[tokio::test]
async fn a_question_is_answered_once_also_where_the_file_of_turns_is_taken_away() {
    let (_directory, log, recording) = recording(vec![asks()]);
    let one = recording.build().await.unwrap();
    let session = shared(&one);
    let pending = ask(&session, "ask").await;
    std::fs::remove_file(log.with_file_name("hookhost.db-turns")).unwrap();
    // It takes the process that asked for dead.
    let other = host_at(&log, vec![]).await;
    let settled = settled(pending.resolve(Approval::yes()).await);
    one.drain(Duration::from_secs(10)).await.ok();
    drop(other);
    let answers = answers(&log);
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert!(matches!(settled.outcome, Decision::Rejected(_)), "its question was answered with no: {answers:?}");
}

#[tokio::test]
async fn no_effect_is_lost_also_where_the_file_of_turns_is_taken_away() {
    let (_directory, log, recording) = recording(vec![waits()]);
    let lets = Waits::default();
    let one = recording.model(Arc::new(lets.clone())).build().await.unwrap();
    let a = shared(&one);
    let mut first = Box::pin(call(&a, "wait"));
    until_asked(first.as_mut(), &lets).await;
    std::fs::remove_file(log.with_file_name("hookhost.db-turns")).unwrap();
    let other = host_at(&log, vec![waits()]).await;
    let b = shared(&other);
    let second = call(&b, "ls").await;
    lets.let_go.notify_one();
    let first = first.await;
    let allowed =
        [&first, &second].iter().filter(|settled| matches!(settled.outcome, Decision::Allowed { .. })).count();
    let dots = crate::support::state_in(&log).values().map(|value| value.matches('.').count()).sum::<usize>();
    assert_eq!(dots, allowed, "as many events are allowed as have counted");
}

#[tokio::test]
async fn an_approver_that_is_asked_after_the_deadline_cannot_say_yes() {
    let mut settings = Settings::default();
    settings.approval_deadline = Duration::from_millis(50);
    let (_directory, log, _) = recording(vec![]);
    let config = Config::from_entries(vec![asks()], settings).unwrap();
    let host = builder(config).store(&log).share_questions().build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    let pending = ask(&session, "ask").await;
    let asked = Instant::now();
    let mut waited = tokio::time::interval(Duration::from_millis(20));
    while asked.elapsed() < Duration::from_millis(50) {
        waited.tick().await;
    }
    let settled = pending.ask(&Yes).await;
    assert_eq!(cause(&settled), Some(Cause::NotApproved), "{:?}", answers(&log));
}

/// Never answers, and panics when it is called off.
struct PanicsWhenDropped;

impl Approver for PanicsWhenDropped {
    fn ask(&self, _: ApprovalRequest) -> BoxFuture<'_, Approval> {
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                panic!("an embedder's mistake")
            }
        }
        Box::pin(async {
            let _bomb = Bomb;
            std::future::pending().await
        })
    }
}

#[tokio::test]
async fn an_approver_that_panics_when_another_process_has_answered_is_not_the_hosts_panic() {
    let (_directory, log, recording) = recording(vec![asks()]);
    let host = recording.share_questions().approver(Arc::new(PanicsWhenDropped)).build().await.unwrap();
    let other = host_at(&log, vec![]).await;
    let session = host.open_session(spec()).unwrap();
    let event = tokio::spawn(async move { call(&session, "ask").await });
    let mut waited = tokio::time::interval(Duration::from_millis(5));
    let id = loop {
        match other.questions().await.unwrap().first() {
            Some(request) => break request.id.clone(),
            None => waited.tick().await,
        };
    };
    other.answer(&id, Approval::yes()).await.unwrap();
    let settled = event.await.expect("the host does not panic");
    assert!(matches!(settled.outcome, Decision::Allowed { .. }), "{:?}", settled.outcome);
}

#[tokio::test]
async fn a_plugin_that_was_tripped_when_it_was_asked_is_asked_after_a_yes() {
    let mut guard = plugin(
        "guard",
        json!({"before-tool-call": [
            {"when": {"contains": "boom"}, "misbehave": "trap"},
            {"when": {"contains": "ask"}, "verdict": "reject", "reason": "closed"}
        ]}),
    );
    guard.on_failure = Some(OnFailure::Skip);
    let (_directory, _log, recording) = recording(vec![asks(), guard]);
    let host = recording.build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    for _ in 0..3 {
        let _ = call(&session, "boom").await;
    }
    let pending = ask(&session, "ask").await;
    // As after its back-off: from here on it is called.
    assert!(session.reset_failures("guard"));
    let settled = settled(pending.resolve(Approval::yes()).await);
    assert_eq!(cause(&settled), Some(Cause::Verdict), "{:?}", settled.outcome);
}

#[tokio::test]
async fn what_one_handle_settles_after_another_was_closed_is_replayed() {
    let (_directory, log, recording) = recording(vec![waits()]);
    let one = recording.build().await.unwrap();
    let other = host_at(&log, vec![waits()]).await;
    let (a, b) = (shared(&one), shared(&other));
    let _ = call(&a, "ls").await;
    other.drain(Duration::from_secs(10)).await.unwrap();
    drop(a);
    one.drain(Duration::from_secs(10)).await.unwrap();
    let _ = call(&b, "ls").await;
    drop(b);
    other.drain(Duration::from_secs(10)).await.unwrap();
    let again = builder(config(vec![waits()])).build().await.unwrap();
    let summary = replay(&again, &Log::open(&log).unwrap(), |_| {}).await.unwrap();
    assert_eq!((summary.events, summary.same), (2, 2), "{summary:?}");
}

#[tokio::test]
async fn a_session_that_is_taken_up_after_months_uses_no_identifier_twice() {
    let (_directory, log, recording) = recording(vec![]);
    let host = recording.build().await.unwrap();
    let session = shared(&host);
    let _ = call(&session, "ls").await;
    drop((session, host));
    // As if it were long ago.
    let connection = rusqlite::Connection::open(&log).unwrap();
    assert_eq!(connection.execute("UPDATE session SET touched = 0", []).unwrap(), 2);
    drop(connection);
    let host = host_at(&log, vec![]).await;
    let session = shared(&host);
    let _ = call(&session, "ls").await;
    let ids: Vec<String> = events(&log).into_iter().map(|event| event.id).collect();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), 2, "{ids:?}");
}

#[tokio::test]
async fn numbers_that_another_program_has_put_into_a_sessions_row_are_no_panic() {
    for change in ["events = -1", "version = -1", "events = 9223372036854775807", "version = 9223372036854775807"] {
        let (_directory, log, recording) = recording(vec![waits()]);
        let host = recording.build().await.unwrap();
        let session = shared(&host);
        let _ = call(&session, "ls").await;
        drop((session, host));
        let connection = rusqlite::Connection::open(&log).unwrap();
        assert_eq!(connection.execute(&format!("UPDATE session SET {change} WHERE id <> ''"), []).unwrap(), 1);
        drop(connection);
        let event = tokio::spawn(async move {
            let host = host_at(&log, vec![waits()]).await;
            let session = shared(&host);
            for _ in 0..70 {
                let _ = call(&session, "ls").await;
            }
        });
        assert!(event.await.is_ok(), "{change}");
    }
}

#[tokio::test]
async fn a_row_that_is_not_a_question_keeps_no_host_from_being_built() {
    let (_directory, log, recording) = recording(vec![]);
    drop(recording.build().await.unwrap());
    let connection = rusqlite::Connection::open(&log).unwrap();
    let row = "INSERT INTO question (id, session, asker, expires, answerable, request) VALUES ('x', 's', -1, 'soon', 1, x'ff')";
    assert_eq!(connection.execute(row, []).unwrap(), 1);
    drop(connection);
    let host = builder(config(vec![])).store(&log).build().await;
    assert!(host.is_ok(), "{:?}", host.err());
}

#[tokio::test]
async fn what_is_masked_in_the_log_is_not_on_disk_with_a_question() {
    for is_shared in [false, true] {
        let mut settings = Settings::default();
        settings.audit.mask = vec!["*password*".to_owned().try_into().unwrap()];
        let (directory, log, _) = recording(vec![]);
        let config = Config::from_entries(vec![asks()], settings).unwrap();
        let builder = builder(config).store(&log);
        let host = if is_shared { builder.share_questions() } else { builder }.build().await.unwrap();
        let session = host.open_session(spec()).unwrap();
        let arguments = json!({"command": "ask", "password": "correct-horse"});
        let origin = hookhost::contract::ToolOrigin::Builtin;
        let begun = session.begin_before_tool_call(session.tool_call("1", "bash", &arguments, origin)).await;
        let Decision::Escalated(pending) = begun.outcome else { panic!("nobody asks") };
        assert!(pending.request().value.get().contains("correct-horse"), "who is asked here sees all of it");
        let mut directories = vec![directory.path().to_owned()];
        while let Some(directory) = directories.pop() {
            for file in std::fs::read_dir(directory).unwrap() {
                let file = file.unwrap().path();
                if file.is_dir() {
                    directories.push(file);
                    continue;
                }
                let bytes = std::fs::read(&file).unwrap();
                let secret = b"correct-horse";
                assert!(!bytes.windows(secret.len()).any(|window| window == secret), "{}", file.display());
            }
        }
        let answered = match is_shared {
            true => {
                let other = host_at(&log, vec![]).await;
                let [request] = &other.questions().await.unwrap()[..] else { panic!("one question") };
                assert!(request.value.get().contains(r#""password":"(masked)""#), "{}", request.value);
                assert!(request.value.get().contains(r#""command":"ask""#), "{}", request.value);
                other.answer(&request.id, Approval::yes()).await.unwrap();
                pending.wait().await
            }
            false => pending.resolve(Approval::yes()).await,
        };
        let Decision::Allowed { value } = settled(answered).outcome else { panic!("a person said yes") };
        assert!(value.arguments.contains("correct-horse"), "exactly what was asked about runs");
    }
}

#[tokio::test]
async fn events_are_settled_in_order_of_arrival_also_where_one_process_has_several() {
    let (_directory, log, recording) = recording(vec![waits()]);
    let lets = Waits::default();
    let one = recording.model(Arc::new(lets.clone())).build().await.unwrap();
    let other = host_at(&log, vec![waits()]).await;
    let (a, b) = (shared(&one), shared(&other));
    let (mut first, mut second, mut third) =
        (Box::pin(call(&a, "wait")), Box::pin(call(&a, "second")), Box::pin(call(&b, "third")));
    until_asked(first.as_mut(), &lets).await;
    for event in [&mut second, &mut third] {
        assert!(futures_util::poll!(event).is_pending());
    }
    lets.let_go.notify_one();
    let _ = futures_util::join!(first, second, third);
    let commands: Vec<String> = events(&log).iter().map(|event| event.original.get().to_owned()).collect();
    let place = |command: &str| commands.iter().position(|original| original.contains(command)).unwrap();
    assert!(place("wait") < place("second") && place("second") < place("third"), "{commands:?}");
}

/// A conversation of so many messages.
struct Conversation(u32);

impl Transcript for Conversation {
    fn length(&self) -> u32 {
        self.0
    }

    fn message(&self, index: u32) -> Option<Message> {
        (index < self.0).then(|| Message::new("user", format!("message {index}")))
    }
}

#[tokio::test]
async fn a_plugin_that_has_read_the_conversation_is_asked_again_if_that_continued() {
    let reads = plugin(
        "reads",
        json!({"before-tool-call": {"do": [{"transcript": [0, 9]}], "verdict": "escalate", "question": "{last}"}}),
    );
    let (_directory, _log, recording) = recording(vec![reads]);
    let host = recording.build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    session.set_transcript(Arc::new(Conversation(1)));
    let pending = ask(&session, "ls").await;
    session.set_transcript(Arc::new(Conversation(2)));
    let begun = pending.resolve(Approval::yes()).await;
    assert!(matches!(begun.outcome, Decision::Escalated(_)), "its question would be another one by now");
}

#[tokio::test]
async fn a_row_that_is_not_a_sessions_keeps_no_other_session_from_being_recorded() {
    let (_directory, log, recording) = recording(vec![waits()]);
    let host = recording.build().await.unwrap();
    let (session, other) = (shared(&host), host.open_session(spec()).unwrap());
    let _ = call(&session, "ls").await;
    host.drain(Duration::from_secs(10)).await.unwrap();
    drop(session);
    let connection = rusqlite::Connection::open(&log).unwrap();
    assert_eq!(connection.execute("UPDATE session SET life = x'ff' WHERE id = 'shared'", []).unwrap(), 1);
    drop(connection);
    let session = shared(&host);
    let _ = session.stream_end("a".to_owned()).await;
    drop(session);
    let settled = call(&other, "ls").await;
    assert!(matches!(settled.outcome, Decision::Allowed { .. }), "{:?}", settled.outcome);
}

#[tokio::test]
async fn a_yes_to_one_question_is_none_to_another_of_a_session_that_was_opened_again_without_a_log() {
    let host = builder(config(vec![asks()])).share_questions().build().await.unwrap();
    let first = shared(&host);
    let denied = ask(&first, "ask rm").await;
    drop(first);
    let second = shared(&host);
    let approved = ask(&second, "ask ls").await;
    assert_ne!(denied.request().id, approved.request().id);
    host.answer(&approved.request().id, Approval::yes()).await.unwrap();
    let settled = settled(denied.resolve(Approval::no()).await);
    assert_eq!(cause(&settled), Some(Cause::NotApproved), "{:?}", settled.outcome);
}

#[tokio::test]
async fn events_that_wait_for_nothing_let_other_tasks_of_their_thread_run() {
    let host = builder(config(Vec::new())).build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    let other = tokio::spawn(async {});
    for _ in 0..1_000 {
        drop(session.stream_end("text".into()).await);
    }
    assert!(other.is_finished());
}
