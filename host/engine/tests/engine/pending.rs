//! Questions that are handed back: answered once, by the first to answer, and a no if nobody can say yes any more.

use crate::support::{bash, builder, plugin, recording, spec, state_by, state_in, written};
use futures_util::future::BoxFuture;
use hookhost::approval::{Approval, ApprovalRequest, Approver};
use hookhost::audit;
use hookhost::config::{Entry, Settings};
use hookhost::contract::{AnswerKind, Cause, OutcomeKind, ToolCall, ToolResult};
use hookhost::store::Log;
use hookhost::{
    Config, Decision, Host, HostBuilder, OpenOutcome, PendingApproval, QuestionGone, RecordedOutcome, Session,
};
use proptest::prelude::*;
use serde_json::json;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

type Outcome = Decision<ToolCall, ToolResult>;

const TIMEOUT: Duration = Duration::from_secs(60);

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

/// Appends a dot to what it knows of the session, for each call.
fn counts() -> Entry {
    plugin(
        "counts",
        json!({"before-tool-call": {"do": [{"get": ["session", "n"]}, {"set": ["session", "n", "{last}."]}]}}),
    )
}

/// A builder with a log, which takes answers from other processes.
fn sharing(entries: Vec<Entry>) -> (tempfile::TempDir, PathBuf, HostBuilder) {
    let (directory, log, recording) = recording(entries);
    (directory, log, recording.share_questions())
}

async fn host_at(log: &Path, entries: Vec<Entry>) -> Host {
    builder(config(entries)).store(log).share_questions().build().await.unwrap()
}

fn named(host: &Host, id: &str) -> Session {
    let mut spec = spec();
    spec.id = Some(id.to_owned());
    host.open_session(spec).unwrap()
}

async fn begin(session: &Session, command: &str) -> OpenOutcome<ToolCall, ToolResult> {
    session.begin_before_tool_call(bash(session, command)).await
}

async fn ask(session: &Session, command: &str) -> PendingApproval<ToolCall, ToolResult> {
    begin(session, command).await.into_final().expect_err("nobody asks")
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

#[tokio::test]
async fn a_question_holds_up_no_other_event_of_its_session() {
    let (_directory, log, recording) = sharing(vec![asks(), counts()]);
    let host = recording.build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    let first = ask(&session, "ask 1").await;
    assert!(matches!(settled(begin(&session, "ls").await).outcome, Decision::Allowed { .. }));
    let second = ask(&session, "ask 2").await;
    assert_eq!(host.questions().await.unwrap().len(), 2);
    assert!(matches!(settled(second.resolve(Approval::yes()).await).outcome, Decision::Allowed { .. }));
    // Its plugin has counted two events meanwhile, and is asked again: no count is lost.
    let settled = settled(first.resolve(Approval::yes()).await);
    assert!(matches!(settled.outcome, Decision::Allowed { .. }));
    assert_eq!(settled.earlier.len(), 1);
    assert!(host.questions().await.unwrap().is_empty());
    drop((session, host));
    let state = state_in(&log);
    assert_eq!(state.values().next().unwrap().matches('.').count(), 3);
    assert_eq!(state, state_by(&written(&log)));
}

#[tokio::test]
async fn a_yes_lets_exactly_the_value_run_that_was_shown() {
    let changes = plugin(
        "changes",
        json!({"before-tool-call": {"when": {"lacks": "-l"}, "verdict": "modify",
        "value": {"command": "ask -l"}}}),
    );
    let (_directory, _log, recording) = sharing(vec![asks(), changes]);
    let host = recording.build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    let pending = ask(&session, "ask").await;
    let shown: ToolCall = serde_json::from_str(pending.request().value.get()).unwrap();
    assert_eq!(pending.request().changed_by, ["changes"]);
    let Decision::Allowed { value } = settled(pending.resolve(Approval::yes()).await).outcome else { panic!() };
    assert_eq!(
        (value.arguments, shown.arguments),
        (r#"{"command":"ask -l"}"#.parse().unwrap(), r#"{"command":"ask -l"}"#.parse().unwrap())
    );
}

#[tokio::test]
async fn another_process_may_answer_and_the_first_answer_counts() {
    let (_directory, log, recording) = sharing(vec![asks()]);
    let host = recording.build().await.unwrap();
    // Another open store is to this one as that of another process.
    let other = host_at(&log, vec![]).await;
    let session = host.open_session(spec()).unwrap();
    for (approval, runs) in [(Approval::yes(), true), (Approval::no().because("not now"), false)] {
        let pending = ask(&session, "ask").await;
        let [request] = &other.questions().await.unwrap()[..] else { panic!("one question waits") };
        assert_eq!(request.questions, pending.request().questions);
        assert_eq!(request.value.get(), pending.request().value.get());
        other.answer(&request.id, approval).await.unwrap();
        let late = other.answer(&request.id, Approval::yes()).await.unwrap_err();
        assert!(matches!(late, QuestionGone::Answered { id, .. } if id == request.id));
        // Nor does the asking process's own answer count.
        let settled = settled(pending.resolve(Approval::yes()).await);
        assert_eq!(matches!(settled.outcome, Decision::Allowed { .. }), runs, "{:?}", settled.outcome);
        let gone = other.answer(&request.id, Approval::yes()).await.unwrap_err();
        assert!(matches!(gone, QuestionGone::Unknown(_)));
    }
    use {AnswerKind as Kind, OutcomeKind as Came};
    assert_eq!(answers(&log), [(Kind::Approved, Came::Allowed), (Kind::Denied, Came::Rejected)]);
}

#[tokio::test]
async fn what_another_program_writes_into_the_store_is_not_an_answer_where_questions_are_not_shared() {
    let (_directory, log, recording) = recording(vec![asks()]);
    let host = recording.build().await.unwrap();
    let other = host_at(&log, vec![]).await;
    let session = host.open_session(spec()).unwrap();
    let pending = ask(&session, "ask").await;
    let id = pending.request().id.clone();
    assert!(other.questions().await.unwrap().is_empty());
    assert!(matches!(other.answer(&id, Approval::yes()).await, Err(QuestionGone::Unknown(_))));
    // As a tool of the agent could that runs as the same user.
    let connection = rusqlite::Connection::open(&log).unwrap();
    let yes = r#"{"kind": "approved", "micros": 0}"#;
    assert_eq!(connection.execute("UPDATE question SET answerable = 1, answer = ?1", [yes]).unwrap(), 1);
    drop(connection);
    let settled = settled(pending.resolve(Approval::no()).await);
    assert_eq!(cause(&settled), Some(Cause::NotApproved));
}

#[tokio::test]
async fn a_waiter_gets_the_answer_of_another_process() {
    let (_directory, log, recording) = sharing(vec![asks()]);
    let host = recording.build().await.unwrap();
    let other = host_at(&log, vec![]).await;
    let session = host.open_session(spec()).unwrap();
    let pending = ask(&session, "ask").await;
    let id = pending.request().id.clone();
    let (begun, answered) = tokio::join!(pending.wait(), other.answer(&id, Approval::yes()));
    answered.unwrap();
    assert!(matches!(settled(begun).outcome, Decision::Allowed { .. }));
}

#[tokio::test]
async fn a_yes_under_rules_that_reject_by_then_lets_nothing_run() {
    let (_directory, _log, recording) = sharing(vec![asks()]);
    let host = recording.build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    let pending = ask(&session, "ask").await;
    let rejects = plugin("rejects", json!({"before-tool-call": {"verdict": "reject", "reason": "closed"}}));
    host.reload(&config(vec![asks(), rejects])).await.unwrap();
    let settled = settled(pending.resolve(Approval::yes()).await);
    assert_eq!(cause(&settled), Some(Cause::Verdict));
}

#[tokio::test]
async fn another_question_after_a_yes_is_handed_back_in_turn_and_a_third_is_a_no() {
    let question = |text: &str| plugin("asks", json!({"before-tool-call": {"verdict": "escalate", "question": text}}));
    let (_directory, _log, recording) = sharing(vec![question("one?")]);
    let host = recording.build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    let pending = ask(&session, "ls").await;
    host.reload(&config(vec![question("two?")])).await.unwrap();
    let Decision::Escalated(pending) = pending.resolve(Approval::yes()).await.outcome else {
        panic!("there is another question")
    };
    assert_eq!(pending.request().questions[0].escalation.question, "two?");
    host.reload(&config(vec![question("three?")])).await.unwrap();
    let settled = settled(pending.resolve(Approval::yes()).await);
    assert_eq!(cause(&settled), Some(Cause::TooManyQuestions));
}

#[tokio::test]
async fn a_question_that_is_dropped_is_a_no_and_waits_no_more() {
    let (_directory, log, recording) = sharing(vec![asks(), counts()]);
    let host = recording.build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    drop(ask(&session, "ask").await);
    // The next event is written after it.
    let _ = settled(begin(&session, "ls").await);
    assert!(host.questions().await.unwrap().is_empty());
    assert_eq!(answers(&log), [(AnswerKind::Cancelled, OutcomeKind::Rejected)]);
    assert_eq!(state_in(&log).values().next().unwrap().matches('.').count(), 1);
}

#[tokio::test]
async fn no_answer_by_the_deadline_is_a_no_and_one_that_comes_later_counts_for_nothing() {
    let mut settings = Settings::default();
    settings.approval_deadline = Duration::from_millis(100);
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("hookhost.db");
    let config = Config::from_entries(vec![asks()], settings).unwrap();
    let host = builder(config).store(&log).share_questions().build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    let pending = ask(&session, "ask").await;
    let id = pending.request().id.clone();
    let settled_late = settled(pending.wait().await);
    assert_eq!(cause(&settled_late), Some(Cause::NotApproved));
    assert!(matches!(host.answer(&id, Approval::yes()).await, Err(QuestionGone::Unknown(_))));
    // Also where the yes is this process's own.
    let pending = ask(&session, "ask").await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    let settled = settled(pending.resolve(Approval::yes()).await);
    assert_eq!(cause(&settled), Some(Cause::NotApproved));
    assert_eq!(answers(&log), [(AnswerKind::TooLate, OutcomeKind::Rejected); 2]);
}

#[tokio::test]
async fn a_question_expires_into_no_when_its_waiter_waits_no_longer() {
    let (_directory, log, recording) = sharing(vec![asks()]);
    let host = recording.build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    let settled = settled(ask(&session, "ask").await.wait_at_most(Duration::from_millis(20)).await);
    assert_eq!(cause(&settled), Some(Cause::NotApproved));
    assert!(settled.outcome.to_string().contains("nobody answered within 20ms"), "{}", settled.outcome);
    assert_eq!(answers(&log), [(AnswerKind::TooLate, OutcomeKind::Rejected)]);
}

const ASKING: &str = "HOOKHOST_TEST_ASKING_LOG";

/// Not a test by itself: the process that asks, and is killed.
#[tokio::test]
async fn the_process_that_asks() {
    let Some(log) = std::env::var_os(ASKING).map(PathBuf::from) else { return };
    let host = host_at(&log, vec![asks(), counts()]).await;
    let session = named(&host, "s");
    let _ = settled(begin(&session, "ls").await);
    let pending = ask(&session, "ask").await;
    println!("asked: {}", pending.request().id);
    let _ = std::io::stdin().read(&mut [0]);
}

#[tokio::test]
async fn the_question_of_a_process_that_was_killed_is_a_no() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("hookhost.db");
    let other = host_at(&log, vec![asks(), counts()]).await;
    let mut process = Command::new(std::env::current_exe().unwrap());
    process.args(["--exact", "pending::the_process_that_asks", "--nocapture"]).env(ASKING, &log);
    let mut process = process.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let id = lines.map(Result::unwrap).find_map(|line| Some(line.split_once("asked: ")?.1.to_owned())).unwrap();
    assert_eq!(other.questions().await.unwrap()[0].id, id);
    process.kill().unwrap();
    process.wait().unwrap();
    assert!(matches!(other.answer(&id, Approval::yes()).await, Err(QuestionGone::Unknown(_))));
    assert!(other.questions().await.unwrap().is_empty());
    assert!(other.questions().await.unwrap().is_empty(), "it is reported once");
    assert_eq!(answers(&log), [(AnswerKind::AskerGone, OutcomeKind::Rejected)]);
    // Its session continues, with what was settled.
    let session = named(&other, "s");
    let _ = settled(begin(&session, "ls").await);
    assert_eq!(state_in(&log).values().next().unwrap().matches('.').count(), 2);
}

#[tokio::test]
async fn a_host_without_a_log_still_hands_questions_back() {
    let host = builder(config(vec![asks()])).share_questions().build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    let pending = ask(&session, "ask").await;
    let id = pending.request().id.clone();
    host.answer(&id, Approval::yes()).await.unwrap();
    let settled = settled(pending.resolve(Approval::no()).await);
    assert!(matches!(settled.outcome, Decision::Allowed { .. }));
    assert!(host.questions().await.unwrap().is_empty());
}

/// Sends events of the session whose question it is asked, and waits for them, before it says yes.
struct SendsEvents {
    session: Arc<OnceLock<Session>>,
    /// The outcomes of those events.
    outcomes: Mutex<Vec<String>>,
}

impl Approver for SendsEvents {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, Approval> {
        Box::pin(async move {
            let command: ToolCall = serde_json::from_str(request.value.get()).unwrap();
            if command.arguments.contains("inner") {
                return Approval::no().because("one is enough");
            }
            let session = self.session.get().unwrap();
            let prompt = session.prompt_submit("a prompt".into()).await.outcome;
            let mut stream = session.stream();
            assert!(stream.push("a line").await.is_empty(), "the plugin subscribes to every event");
            let text = stream.finish().await.text;
            let call = session.before_tool_call(bash(session, "ls")).await.outcome;
            let asked = session.before_tool_call(bash(session, "ask inner")).await.outcome;
            let handed_back = begin(session, "ask later").await;
            let is_open = matches!(&handed_back.outcome, Decision::Escalated(_));
            drop(handed_back);
            let said = format!("{prompt:?} {text} {call} {asked} {is_open}");
            self.outcomes.lock().unwrap().push(said);
            Approval::yes()
        })
    }
}

#[tokio::test]
async fn an_event_that_an_approver_sends_in_its_own_session_is_settled_while_the_question_is_open() {
    let said = "Passed { value: \"a prompt\" } a line Allowed Rejected: not approved (asked by asks): sure? (one is enough) true";
    for with_store in [false, true] {
        let (_directory, _log, recording) = sharing(vec![asks()]);
        let unrecorded = builder(config(vec![asks()]));
        let slot = Arc::new(OnceLock::new());
        let person = Arc::new(SendsEvents { session: Arc::clone(&slot), outcomes: Mutex::default() });
        let building = if with_store { recording } else { unrecorded }.approver(Arc::clone(&person) as _);
        let host = building.build().await.unwrap();
        let session = slot.get_or_init(|| host.open_session(spec()).unwrap());
        // The deadline of an approval is five minutes: an event that waited for itself would take as long.
        let by_the_host = tokio::time::timeout(TIMEOUT, session.before_tool_call(bash(session, "ask"))).await.unwrap();
        assert!(matches!(by_the_host.outcome, Decision::Allowed { .. }), "{:?}", by_the_host.outcome);
        let handed_back = ask(session, "ask").await;
        let by_the_program = tokio::time::timeout(TIMEOUT, handed_back.ask(&*person)).await.unwrap();
        assert!(matches!(by_the_program.outcome, Decision::Allowed { .. }), "{:?}", by_the_program.outcome);
        assert_eq!(*person.outcomes.lock().unwrap(), [said, said]);
    }
}

/// What happens to a session, in any order.
#[derive(Clone, Debug)]
enum Step {
    /// An event about which nobody asks.
    Event,
    /// One that is asked about.
    Ask,
    /// A question, of those that wait, gets this answer.
    Answer(usize, bool),
    /// The same from another process; who asked takes it up later.
    AnswerElsewhere(usize, bool),
    /// Nobody waits for it any more.
    Drop(usize),
    /// The rules change: from here on what is asked about is rejected, or asked about again.
    Reload(bool),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        2 => Just(Step::Event),
        3 => Just(Step::Ask),
        3 => (0..4_usize, any::<bool>()).prop_map(|(at, yes)| Step::Answer(at, yes)),
        2 => (0..4_usize, any::<bool>()).prop_map(|(at, yes)| Step::AnswerElsewhere(at, yes)),
        1 => (0..4_usize).prop_map(Step::Drop),
        1 => any::<bool>().prop_map(Step::Reload),
    ];
    proptest::collection::vec(step, 1..16)
}

fn approval(yes: bool) -> Approval {
    if yes { Approval::yes() } else { Approval::no() }
}

async fn run(steps: Vec<Step>) {
    let rejects = plugin("rejects", json!({"before-tool-call": {"when": {"contains": "ask"}, "verdict": "reject"}}));
    let (_directory, log, recording) = sharing(vec![asks(), counts()]);
    let host = recording.build().await.unwrap();
    let other = host_at(&log, vec![]).await;
    let session = host.open_session(spec()).unwrap();
    // The slow model: which events count, which questions wait with which answer, and whether the rules reject.
    let (mut counted, mut rejecting) = (0, false);
    let mut waiting: Vec<(PendingApproval<ToolCall, ToolResult>, Option<bool>, usize)> = Vec::new();
    for step in steps {
        match step {
            Step::Event => {
                assert!(matches!(settled(begin(&session, "ls").await).outcome, Decision::Allowed { .. }));
                counted += 1;
            }
            Step::Ask => match begin(&session, "ask").await.into_final() {
                Err(pending) => {
                    assert!(!rejecting);
                    waiting.push((pending, None, counted));
                }
                Ok(settled) => {
                    assert_eq!((rejecting, cause(&settled)), (true, Some(Cause::Verdict)));
                    // Its last call returned, so what it did holds.
                    counted += 1;
                }
            },
            Step::Answer(at, yes) if at < waiting.len() => {
                let (pending, elsewhere, counted_then) = waiting.remove(at);
                let is_yes = elsewhere.unwrap_or(yes);
                let settled = settled(pending.resolve(approval(yes)).await);
                // After a yes the plugins are asked again where others have counted meanwhile; after a no what they worked out
                // then is dropped.
                counted += usize::from(is_yes || counted_then == counted);
                match &settled.outcome {
                    Decision::Allowed { .. } => assert!(is_yes && !rejecting),
                    Decision::Rejected(rejection) if is_yes => {
                        assert_eq!((rejecting, &rejection.cause), (true, &Cause::Verdict));
                    }
                    Decision::Rejected(rejection) => assert_eq!(rejection.cause, Cause::NotApproved),
                    Decision::Responded { .. } | Decision::Escalated(_) => panic!("nobody responds or asks"),
                }
            }
            Step::AnswerElsewhere(at, yes) if at < waiting.len() => {
                let (pending, elsewhere, _) = &mut waiting[at];
                let answered = other.answer(&pending.request().id, approval(yes)).await;
                assert_eq!(answered.is_ok(), elsewhere.is_none());
                elsewhere.get_or_insert(yes);
            }
            Step::Drop(at) if at < waiting.len() => drop(waiting.remove(at)),
            Step::Reload(to) => {
                rejecting = to;
                let rules = if to { vec![rejects.clone(), asks(), counts()] } else { vec![asks(), counts()] };
                host.reload(&config(rules)).await.unwrap();
            }
            Step::Answer(..) | Step::AnswerElsewhere(..) | Step::Drop(_) => {}
        }
    }
    drop((waiting, session));
    host.drain(Duration::from_secs(10)).await.unwrap();
    assert!(host.questions().await.unwrap().is_empty());
    let dots = state_in(&log).values().map(|value| value.matches('.').count()).sum::<usize>();
    assert_eq!(dots, counted);
    let entries = written(&log);
    assert_eq!(state_in(&log), state_by(&entries));
    // Each escalation has exactly one answer.
    let escalated =
        entries.iter().filter(|entry| entry.kind() == "event" && entry.outcome() == Some(OutcomeKind::Escalated));
    assert_eq!(escalated.count(), answers(&log).len());
    assert!(Log::open(&log).unwrap().verify(None).unwrap().is_sound());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn whatever_happens_while_questions_wait_each_event_counts_once_and_nothing_runs_under_a_stale_yes(steps in steps()) {
        tokio::runtime::Runtime::new().unwrap().block_on(run(steps));
    }
}

#[tokio::test]
async fn a_question_that_is_left_to_the_agents_own_prompt_is_settled_once_and_its_effects_hold() {
    let (_directory, log, builder) = sharing(vec![asks(), counts()]);
    let host = builder.build().await.unwrap();
    let session = named(&host, "s");
    let pending = ask(&session, "ask 1").await;
    let id = pending.request().id.clone();
    assert_eq!(host.questions().await.unwrap().len(), 1);
    let answer = pending.hand_over("the agent").await.unwrap();
    assert_eq!((answer.id.as_str(), answer.answer.kind), (id.as_str(), AnswerKind::HandedOver));
    assert!(!answer.answer.is_approved(), "what the user says is not known");
    assert!(host.questions().await.unwrap().is_empty(), "nobody else is asked");
    assert!(matches!(host.answer(&id, Approval::yes()).await, Err(QuestionGone::Unknown(_))));
    host.drain(TIMEOUT).await.unwrap();
    assert_eq!(state_in(&log).values().next().unwrap().matches('.').count(), 1);
    assert_eq!(state_in(&log), state_by(&written(&log)));
    assert_eq!(answers(&log), [(AnswerKind::HandedOver, OutcomeKind::Escalated)]);
    // One that somebody has answered before is not handed over any more.
    let pending = ask(&session, "ask 2").await;
    host.answer(&pending.request().id, Approval::no()).await.unwrap();
    assert!(matches!(pending.hand_over("the agent").await, Err(QuestionGone::Answered { .. })));
}
