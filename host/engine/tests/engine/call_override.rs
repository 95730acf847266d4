//! Calls that are rejected because nobody is to be asked, and that a person can let pass once.

use crate::support::{asking, bash, builder, plugin, written};
use hookhost::approval::Approval;
use hookhost::audit::{ApprovalRecord, EventRecord, Record};
use hookhost::config::{Entry, OnQuestion, Settings};
use hookhost::contract::{
    AnswerKind, Cause, Escalation, OutcomeKind, Refusal, Subagent, SubagentVerdict, ToolCall, ToolOrigin, ToolResult,
};
use hookhost::replay::replay;
use hookhost::session::Clock;
use hookhost::store::Log;
use hookhost::{Config, Decision, Host, QuestionGone, RecordedOutcome, Rule, Session, SessionSpec};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const MINUTE: u64 = 60;

/// A clock that a test moves.
struct Moved(AtomicU64);

impl Moved {
    fn by(&self, seconds: u64) {
        self.0.fetch_add(seconds, Ordering::Relaxed);
    }
}

impl Clock for Moved {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(self.0.load(Ordering::Relaxed))
    }
}

/// The rules of a host that asks nobody, and the log that its processes share.
struct Unattended {
    _directory: tempfile::TempDir,
    log: PathBuf,
    clock: Arc<Moved>,
}

impl Unattended {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("hookhost.db");
        Self { _directory: directory, log, clock: Arc::new(Moved(AtomicU64::new(1_000_000))) }
    }

    async fn host_of(&self, config: Config) -> Host {
        let builder = builder(config).clock(self.clock.clone()).store(&self.log).share_questions();
        builder.build().await.unwrap()
    }

    /// A host that wants to ask about each call.
    async fn host(&self) -> Host {
        self.host_of(asks_about_all("")).await
    }

    /// Another process of the user.
    async fn person(&self) -> Host {
        self.host_of(Config::empty()).await
    }

    /// Lets the call with this code pass once.
    async fn allow(&self, code: &str) -> Result<(), QuestionGone> {
        let person = self.person().await;
        let requests = person.questions().await.unwrap();
        let request = requests.iter().find(|request| request.code == code);
        let id = request.map_or("gone", |request| request.id.as_str());
        person.answer(id, Approval::yes().by("ada").via("test")).await
    }

    fn records(&self) -> Vec<Record> {
        written(&self.log)
    }

    fn answers(&self) -> Vec<ApprovalRecord> {
        let answer = |record| if let Record::Approval(answer) = record { Some(answer) } else { None };
        self.records().into_iter().filter_map(answer).collect()
    }

    fn events(&self) -> Vec<EventRecord> {
        let event = |record| if let Record::Event(event) = record { Some(*event) } else { None };
        self.records().into_iter().filter_map(event).collect()
    }
}

fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.on_question = OnQuestion::Reject;
    settings
}

fn asks_about_all(settings: &str) -> Config {
    asking("*", &format!("on-question = 'reject'\n{settings}"), vec![])
}

fn session(host: &Host, id: &str) -> Session {
    host.open_session(SessionSpec::new("test", Path::new("/work")).id(id)).unwrap()
}

type Settled = RecordedOutcome<Decision<ToolCall, ToolResult>>;

async fn call(session: &Session, command: &str) -> Settled {
    session.before_tool_call(bash(session, command)).await
}

async fn call_numbered(session: &Session, id: &str, command: &str) -> Settled {
    let call = session.tool_call(id, "bash", &json!({ "command": command }), ToolOrigin::Builtin);
    session.before_tool_call(call).await
}

/// Returns the code of a rejected call.
fn code(settled: &Settled) -> String {
    let Decision::Rejected(rejection) = &settled.outcome else { panic!("{settled:?}") };
    assert_eq!(rejection.cause, Cause::Overridable, "{rejection}");
    let code = settled.code.clone().unwrap();
    let shown_to_the_model = format!("{rejection} {}", serde_json::to_string(settled).unwrap());
    assert!(!shown_to_the_model.contains(&code), "the model sees no code: {shown_to_the_model}");
    code
}

#[tokio::test]
async fn a_question_that_is_rejected_can_be_overridden_once_and_both_are_recorded() {
    let unattended = Unattended::new();
    let host = unattended.host().await;
    let session = session(&host, "s");
    let first = call(&session, "git push").await;
    let code = code(&first);
    unattended.allow(&code).await.unwrap();
    let passes = call(&session, "git push").await;
    assert!(passes.outcome.is_allowed() && passes.code.is_none(), "{passes:?}");
    assert_eq!(passes.record.kept[0].of, first.record.id, "the record names the rejected event");

    let [answer] = &unattended.answers()[..] else { panic!("one answer") };
    assert_eq!((&answer.id, answer.answer.kind), (&first.record.id, AnswerKind::Approved));
    assert_eq!((answer.answer.by.as_deref(), answer.answer.via.as_deref()), (Some("ada"), Some("test")));
    let [rejected, allowed] = &unattended.events()[..] else { panic!("two events") };
    assert_eq!((rejected.outcome, rejected.questions.len()), (OutcomeKind::Rejected, 1));
    assert_eq!((allowed.outcome, &allowed.kept), (OutcomeKind::Allowed, &passes.record.kept));
    assert!(unattended.person().await.questions().await.unwrap().is_empty());
}

#[tokio::test]
async fn an_approval_is_used_up_by_the_call_that_it_let_pass() {
    let unattended = Unattended::new();
    let host = unattended.host().await;
    let session = session(&host, "s");
    let used = code(&call_numbered(&session, "1", "git push").await);
    unattended.allow(&used).await.unwrap();
    assert!(call_numbered(&session, "2", "git push").await.outcome.is_allowed());
    assert!(call_numbered(&session, "2", "git push").await.outcome.is_allowed(), "a second report of the same call");
    let next = call_numbered(&session, "3", "git push").await;
    assert_ne!(code(&next), used, "the next call needs a yes of its own");
    assert!(matches!(unattended.allow(&used).await, Err(QuestionGone::Unknown(_))));
    unattended.clock.by(11);
    assert!(!call_numbered(&session, "2", "git push").await.outcome.is_allowed(), "an agent may number a call again");
}

#[tokio::test]
async fn an_approval_is_for_exactly_the_call_that_was_rejected() {
    let unattended = Unattended::new();
    let host = unattended.host().await;
    let (one, other) = (session(&host, "s"), session(&host, "t"));
    unattended.allow(&code(&call(&one, "git push").await)).await.unwrap();

    assert!(!call(&one, "git push ").await.outcome.is_allowed(), "other arguments");
    assert!(!call(&other, "git push").await.outcome.is_allowed(), "another session");
    let tool = one.tool_call("1", "sh", &json!({ "command": "git push" }), ToolOrigin::Builtin);
    assert!(!one.before_tool_call(tool).await.outcome.is_allowed(), "another tool");
    let more = one.tool_call("1", "bash", &json!({ "command": "git push", "timeout": 1 }), ToolOrigin::Builtin);
    assert!(!one.before_tool_call(more).await.outcome.is_allowed(), "a further argument");
    let elsewhere = host.open_session(SessionSpec::new("test", Path::new("/elsewhere")).id("s")).unwrap();
    assert!(!call(&elsewhere, "git push").await.outcome.is_allowed(), "another directory");
    assert!(call(&one, "git push").await.outcome.is_allowed(), "none of them has used it up");
}

#[tokio::test]
async fn an_approval_is_for_the_rules_under_which_the_call_was_rejected() {
    let unattended = Unattended::new();
    let host = unattended.host().await;
    let session = session(&host, "s");
    unattended.allow(&code(&call(&session, "git push").await)).await.unwrap();
    host.reload(&asks_about_all("approval-deadline = '7s'")).await.unwrap();
    assert!(!call(&session, "git push").await.outcome.is_allowed());
    host.reload(&asks_about_all("")).await.unwrap();
    assert!(call(&session, "git push").await.outcome.is_allowed(), "the yes is for these rules");

    let frozen = Rule::new().before_tool_call(|_, _| Some(Refusal::new("frozen")));
    let frozen = Config::from_entries(vec![Entry::from_rule("frozen", frozen)], settings()).unwrap();
    host.reload(&frozen).await.unwrap();
    let rejected = call(&session, "git push").await;
    let Decision::Rejected(rejection) = &rejected.outcome else { panic!("{rejected:?}") };
    assert_eq!((rejection.cause, &rejected.code), (Cause::Verdict, &None), "the rejection of a plugin has no code");
}

#[tokio::test]
async fn the_same_call_has_one_code_until_a_person_would_have_little_time() {
    let unattended = Unattended::new();
    let host = unattended.host().await;
    let session = session(&host, "s");
    let first = code(&call(&session, "git push").await);
    unattended.clock.by(4 * MINUTE);
    assert_eq!(code(&call(&session, "git push").await), first);
    assert_ne!(code(&call(&session, "git pull").await), first);
    assert_eq!(unattended.person().await.questions().await.unwrap().len(), 2);
    unattended.clock.by(2 * MINUTE);
    let later = code(&call(&session, "git push").await);
    assert_ne!(later, first);
    for code in [first, later] {
        unattended.allow(&code).await.unwrap();
    }
}

#[tokio::test]
async fn after_ten_minutes_a_code_is_void_and_the_log_says_that_nobody_answered() {
    let unattended = Unattended::new();
    let host = unattended.host().await;
    let session = session(&host, "s");
    let late = code(&call(&session, "git push").await);
    unattended.clock.by(10 * MINUTE);
    assert!(matches!(unattended.allow(&late).await, Err(QuestionGone::Unknown(_))));
    assert_eq!(unattended.answers()[0].answer.kind, AnswerKind::TooLate);

    let code_in_time = code(&call(&session, "git push").await);
    unattended.clock.by(9 * MINUTE);
    unattended.allow(&code_in_time).await.unwrap();
    unattended.clock.by(9 * MINUTE);
    assert!(call(&session, "git push").await.outcome.is_allowed(), "ten minutes begin with the yes");

    unattended.allow(&code(&call_numbered(&session, "7", "git push").await)).await.unwrap();
    unattended.clock.by(10 * MINUTE);
    assert!(!call(&session, "git push").await.outcome.is_allowed(), "the yes has lapsed");
}

#[tokio::test]
async fn a_code_is_void_if_the_clock_was_set_back() {
    let unattended = Unattended::new();
    let host = unattended.host().await;
    let early = code(&call(&session(&host, "s"), "git push").await);
    unattended.clock.0.fetch_sub(MINUTE, Ordering::Relaxed);
    assert!(unattended.allow(&early).await.is_err());
}

#[tokio::test]
async fn an_approval_outlives_the_process_that_rejected_the_call() {
    let unattended = Unattended::new();
    let host = unattended.host().await;
    let session_before = session(&host, "s");
    let rejected = code(&call(&session_before, "git push").await);
    drop((session_before, host));
    unattended.allow(&rejected).await.unwrap();
    let (one, other) = (unattended.host().await, unattended.host().await);
    let (one, other) = (session(&one, "s"), session(&other, "s"));
    let both = futures_util::join!(call_numbered(&one, "1", "git push"), call_numbered(&other, "2", "git push"));
    let passed = [both.0, both.1].iter().filter(|settled| settled.outcome.is_allowed()).count();
    assert_eq!(passed, 1, "it counts once, whichever process comes first");
}

#[tokio::test]
async fn a_person_can_say_no_and_a_second_answer_is_refused() {
    let unattended = Unattended::new();
    let host = unattended.host().await;
    let session = session(&host, "s");
    let first = call(&session, "git push").await;
    let person = unattended.person().await;
    person.answer(&first.record.id, Approval::no().because("not today")).await.unwrap();
    assert!(matches!(person.answer(&first.record.id, Approval::yes()).await, Err(QuestionGone::Unknown(_))));
    assert_eq!(unattended.answers()[0].answer.kind, AnswerKind::Denied);

    let again = code(&call(&session, "git push").await);
    unattended.allow(&again).await.unwrap();
    let id = &unattended.events()[1].id;
    assert!(matches!(person.answer(id, Approval::yes()).await, Err(QuestionGone::Answered { .. })));
}

#[tokio::test]
async fn the_entry_of_a_plugin_can_reject_its_questions_alone() {
    let asks = |name: &str, word: &str, on_question| {
        let verdict = json!({"when": {"contains": word}, "verdict": "escalate", "question": format!("{word}?")});
        let mut entry = plugin(name, json!({ "before-tool-call": verdict }));
        entry.on_question = on_question;
        entry
    };
    let entries = vec![asks("asks", "one", OnQuestion::Ask), asks("rejects", "two", OnQuestion::Reject)];
    let unattended = Unattended::new();
    let host = unattended.host_of(Config::from_entries(entries, Settings::default()).unwrap()).await;
    let session = session(&host, "s");
    let open = session.begin_before_tool_call(bash(&session, "one")).await;
    assert!(matches!(&open.outcome, Decision::Escalated(_)), "{:?}", open.outcome);
    drop(open);
    let both = call(&session, "one two").await;
    assert_eq!(both.record.by, ["asks", "rejects"]);
    unattended.allow(&code(&both)).await.unwrap();
    assert!(call(&session, "one two").await.outcome.is_allowed(), "a yes answers all questions about the call");
}

#[tokio::test]
async fn a_host_that_shares_no_questions_rejects_without_a_code() {
    let host = builder(asks_about_all("")).build().await.unwrap();
    let settled = call(&session(&host, "s"), "git push").await;
    assert!(!settled.outcome.is_allowed() && settled.code.is_none(), "{settled:?}");
}

#[tokio::test]
async fn an_event_that_is_no_tool_call_is_rejected_without_a_code() {
    let unattended = Unattended::new();
    let ask = Rule::new().subagent_start(|_, _| SubagentVerdict::Escalate(Escalation::new("start it?")));
    let config = Config::from_entries(vec![Entry::from_rule("asks", ask)], settings()).unwrap();
    let session = session(&unattended.host_of(config).await, "s");
    let subagent = Subagent { call_id: "1".into(), depth: 1, prompt: "x".into() };
    let settled = session.subagent_start(subagent).await;
    let Decision::Rejected(rejection) = &settled.outcome else { panic!("{settled:?}") };
    assert_eq!((rejection.cause, settled.code), (Cause::NotApproved, None));
    let said =
        "Rejected: not approved (asked by asks): start it? (nobody is asked, because `on-question` is \"reject\")";
    assert_eq!(rejection.to_string(), said);
}

#[tokio::test]
async fn rejected_and_overridden_calls_can_be_replayed() {
    let unattended = Unattended::new();
    let host = unattended.host().await;
    let session = session(&host, "s");
    unattended.allow(&code(&call(&session, "git push").await)).await.unwrap();
    assert!(call(&session, "git push").await.outcome.is_allowed());
    drop(session);
    host.drain(Duration::from_secs(20)).await.unwrap();
    let again = builder(asks_about_all("")).build().await.unwrap();
    let (log, mut same) = (Log::open(&unattended.log).unwrap(), Vec::new());
    replay(&again, &log, |compared| same.push((compared.recorded.outcome, compared.is_same()))).await.unwrap();
    assert_eq!(same, [(OutcomeKind::Rejected, true), (OutcomeKind::Allowed, true)]);
}
