//! A yes is put to the rules and the state that count when it is given.

use crate::support::{State, bash, builder, plugin, recording, spec, state_by, state_in, texts, written};
use futures_util::future::BoxFuture;
use hookhost::approval::{Approval, ApprovalRequest, Approver};
use hookhost::config::{Entry, Settings};
use hookhost::contract::{Cause, OutcomeKind, ToolCall, ToolResult};
use hookhost::replay::replay;
use hookhost::{Config, Decision, Host, RecordedOutcome, Session};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

type Outcome = RecordedOutcome<Decision<ToolCall, ToolResult>>;
/// What happens while a person thinks, by how often one was asked before.
type Meanwhile = Box<dyn Fn(usize, Host) -> BoxFuture<'static, Approval> + Send + Sync>;

/// A person while whom something happens.
struct Person {
    host: OnceLock<Host>,
    meanwhile: Meanwhile,
    /// The questions of each request.
    asked: Mutex<Vec<Vec<String>>>,
}

impl Approver for Person {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, Approval> {
        let questions = request.questions.iter().map(|asked| format!("{}: {}", asked.by, asked.escalation.question));
        let mut asked = self.asked.lock().unwrap();
        asked.push(questions.collect());
        (self.meanwhile)(asked.len() - 1, self.host.get().unwrap().clone())
    }
}

impl Person {
    fn asked(&self) -> Vec<Vec<String>> {
        self.asked.lock().unwrap().clone()
    }
}

fn config(entries: Vec<Entry>) -> Config {
    Config::from_entries(entries, Settings::default()).unwrap()
}

/// A session with a log, of these plugins, whose questions such a person answers.
async fn asking(
    entries: Vec<Entry>,
    meanwhile: impl Fn(usize, Host) -> BoxFuture<'static, Approval> + Send + Sync + 'static,
) -> (tempfile::TempDir, std::path::PathBuf, Arc<Person>, Session) {
    let (directory, log, builder) = recording(entries);
    let person = Arc::new(Person { host: OnceLock::new(), meanwhile: Box::new(meanwhile), asked: Mutex::default() });
    let host = builder.approver(Arc::clone(&person) as _).build().await.unwrap();
    assert!(person.host.set(host.clone()).is_ok());
    let session = host.open_session(spec()).unwrap();
    (directory, log, person, session)
}

/// Other rules are taken up while the person thinks, who then says yes.
fn reloads(rules: impl Fn(usize) -> Option<Vec<Entry>> + Send + Sync + 'static) -> Meanwhile {
    Box::new(move |round, host| {
        let entries = rules(round);
        Box::pin(async move {
            if let Some(entries) = entries {
                host.reload(&config(entries)).await.unwrap();
            }
            Approval::yes()
        })
    })
}

fn asks(question: &str) -> Entry {
    plugin("asks", json!({"before-tool-call": {"verdict": "escalate", "question": question}}))
}

/// Counts the calls that it was asked about, and asks a person about each.
fn counts(scope: &str) -> Value {
    json!({"before-tool-call": {"do": [{"increment": [scope, "n", 1]}], "verdict": "escalate", "question": "continue?"}})
}

fn rejects() -> Entry {
    plugin("rejects", json!({"before-tool-call": {"verdict": "reject", "reason": "closed on Fridays"}}))
}

async fn ask(session: &Session, command: &str) -> Outcome {
    session.before_tool_call(bash(session, command)).await
}

fn word(outcome: &Outcome) -> String {
    match &outcome.outcome {
        Decision::Allowed { value } => format!("allowed {}", value.arguments),
        Decision::Responded { by, .. } => format!("responded by {by}"),
        Decision::Rejected(rejection) => rejection.to_string(),
        Decision::Escalated(never) => match *never {},
    }
}

/// What the log says of events and answers, in order.
fn story(log: &Path) -> Vec<(&'static str, OutcomeKind)> {
    let entries = written(log);
    entries.iter().filter_map(|entry| Some((entry.kind(), entry.outcome()?))).collect()
}

fn at(plugin: &str, key: &str, value: &str) -> State {
    State::from([((plugin.to_owned(), "plugin ".to_owned(), key.to_owned()), value.to_owned())])
}

#[tokio::test]
async fn a_rule_that_rejects_by_then_rejects_what_was_agreed_to() {
    let rules = reloads(|_| Some(vec![asks("continue?"), rejects()]));
    let (_directory, log, person, session) = asking(vec![asks("continue?")], rules).await;
    let settled = ask(&session, "ls").await;
    assert_eq!(word(&settled), "Rejected by rejects: closed on Fridays");
    assert_eq!(person.asked(), [["asks: continue?"]]);
    let kinds = [OutcomeKind::Escalated, OutcomeKind::Escalated, OutcomeKind::Rejected];
    assert_eq!(story(&log), ["event", "answer", "event"].into_iter().zip(kinds).collect::<Vec<_>>());
    assert_eq!((settled.kind(), settled.earlier.len()), (OutcomeKind::Rejected, 1));
    let again = settled.record.asked_again.as_ref().unwrap();
    assert_eq!((&again.of, again.round), (&settled.earlier[0].0.id, 1));
    assert_ne!(settled.record.id, settled.earlier[0].0.id);
    let told = "your yes to before-tool-call did not count: the rules had changed by then, and it was rejected: \
                Rejected by rejects: closed on Fridays";
    assert_eq!(texts(session.take_notices()), [told]);
}

#[tokio::test]
async fn a_rule_that_changes_what_was_agreed_to_has_it_asked_about_again() {
    let dry = || {
        let change =
            json!({"when": {"lacks": "--dry-run"}, "verdict": "modify", "value": {"command": "push --dry-run"}});
        plugin("dry", json!({"before-tool-call": change}))
    };
    let rules = reloads(move |round| (round == 0).then(|| vec![asks("{command}?"), dry()]));
    let (_directory, _, person, session) = asking(vec![asks("{command}?")], rules).await;
    let settled = ask(&session, "push").await;
    assert_eq!(word(&settled), r#"allowed {"command":"push --dry-run"}"#);
    assert_eq!(person.asked(), [["asks: push?"], ["asks: push --dry-run?"]]);
}

#[tokio::test]
async fn a_further_question_is_asked_and_the_answered_one_is_not_asked_again() {
    let more = || plugin("more", json!({"before-tool-call": {"verdict": "escalate", "question": "on a Friday?"}}));
    let rules = reloads(move |round| (round == 0).then(|| vec![asks("continue?"), more()]));
    let (_directory, log, person, session) = asking(vec![asks("continue?")], rules).await;
    let settled = ask(&session, "ls").await;
    assert_eq!(word(&settled), r#"allowed {"command":"ls"}"#);
    assert_eq!(person.asked(), [["asks: continue?"], ["more: on a Friday?"]]);
    let again = settled.record.asked_again.unwrap();
    assert_eq!(again.answered.len(), 1);
    assert_eq!(again.answered[0].escalation.question, "continue?");
    let kinds: Vec<OutcomeKind> = story(&log).into_iter().map(|(_, kind)| kind).collect();
    let escalated = OutcomeKind::Escalated;
    assert_eq!(kinds, [escalated, escalated, escalated, OutcomeKind::Allowed]);
}

#[tokio::test]
async fn a_third_round_of_questions_is_a_rejection() {
    let rules = reloads(|round| Some(vec![asks(&format!("continue {round}?"))]));
    let (_directory, log, person, session) = asking(vec![asks("continue?")], rules).await;
    let settled = ask(&session, "ls").await;
    let Decision::Rejected(rejection) = &settled.outcome else { panic!("{settled:?}") };
    assert_eq!((rejection.cause, &rejection.by[..]), (Cause::TooManyQuestions, &["asks".to_owned()][..]));
    assert_eq!(person.asked().len(), 2);
    assert_eq!(story(&log).last(), Some(&("event", OutcomeKind::Rejected)));
    assert_eq!(settled.earlier.len(), 2);
}

#[tokio::test]
async fn under_the_same_rules_and_state_nobody_is_asked_again() {
    let same = reloads(|_| Some(vec![plugin("asks", counts("plugin"))]));
    let (_directory, log, person, session) = asking(vec![plugin("asks", counts("plugin"))], same).await;
    let settled = ask(&session, "ls").await;
    assert_eq!(word(&settled), r#"allowed {"command":"ls"}"#);
    assert_eq!((person.asked().len(), settled.record.calls.len(), settled.earlier.len()), (1, 1, 0));
    assert_eq!(story(&log), [("event", OutcomeKind::Escalated), ("answer", OutcomeKind::Allowed)]);
    assert_eq!(state_in(&log), at("asks", "n", "1"));
}

#[tokio::test]
async fn state_that_another_session_has_changed_by_then_is_looked_at() {
    // It lets the first call of all sessions pass when it is asked, and no other.
    let once = || {
        let first =
            json!({"when": {"contains": "first"}, "do": [{"increment": ["plugin", "n", 1]}], "verdict": "allow"});
        let behaviour = json!({"do": [{"get": ["plugin", "n"]}], "verdict": "escalate", "question": "after {last}?"});
        plugin("once", json!({"before-tool-call": [first, behaviour]}))
    };
    let (_directory, _, person, session) = asking(vec![once()], |round, host| {
        Box::pin(async move {
            if round == 0 {
                let other = host.open_session(spec()).unwrap();
                assert_eq!(word(&ask(&other, "first").await), r#"allowed {"command":"first"}"#);
            }
            Approval::yes()
        })
    })
    .await;
    let settled = ask(&session, "ls").await;
    assert_eq!(word(&settled), r#"allowed {"command":"ls"}"#);
    assert_eq!(person.asked(), [["once: after nothing?"], ["once: after 1?"]]);
}

/// What one event does to the state, and when.
#[tokio::test]
async fn the_effects_of_an_event_hold_once_it_is_answered_and_once() {
    let before = Arc::new(Mutex::new(Vec::new()));
    let path = Arc::new(OnceLock::<std::path::PathBuf>::new());
    for (command, expected) in [("yes", "1"), ("no", "2"), ("again", "3")] {
        let (saw, log) = (Arc::clone(&before), Arc::clone(&path));
        let answers: Meanwhile = Box::new(move |round, host| {
            let (saw, log) = (Arc::clone(&saw), Arc::clone(&log));
            Box::pin(async move {
                saw.lock().unwrap().push(state_in(log.get().unwrap()));
                match command {
                    "no" => return Approval::no(),
                    "again" if round == 0 => {
                        let more = plugin("more", json!({"before-tool-call": {"verdict": "allow"}}));
                        host.reload(&config(vec![plugin("asks", counts("plugin")), more])).await.unwrap();
                    }
                    _ => {}
                }
                Approval::yes()
            })
        });
        let person = Arc::new(Person { host: OnceLock::new(), meanwhile: answers, asked: Mutex::default() });
        let directory = tempfile::tempdir().unwrap();
        let log = path.get_or_init(|| directory.keep().join("hookhost.db")).clone();
        let host =
            builder(config(vec![plugin("asks", counts("plugin"))])).store(&log).approver(Arc::clone(&person) as _);
        let host = host.build().await.unwrap();
        assert!(person.host.set(host.clone()).is_ok());
        let session = host.open_session(spec()).unwrap();
        let settled = ask(&session, command).await;
        assert_eq!(settled.kind().is_no(), command == "no");
        assert_eq!(settled.earlier.len(), usize::from(command == "again"));
        assert_eq!(state_in(&log), at("asks", "n", expected), "{command}");
        assert_eq!(state_in(&log), state_by(&written(&log)), "{command}");
    }
    let before: Vec<usize> =
        before.lock().unwrap().iter().map(|state| state.values().map(|n| n.parse::<usize>().unwrap()).sum()).collect();
    assert_eq!(before, [0, 1, 2]);
    std::fs::remove_dir_all(path.get().unwrap().parent().unwrap()).unwrap();
}

#[tokio::test]
async fn where_nobody_waits_for_the_answer_any_more_no_effect_holds() {
    let never: Meanwhile = Box::new(|_, _| Box::pin(std::future::pending()));
    let (_directory, log, person, session) = asking(vec![plugin("asks", counts("plugin"))], never).await;
    {
        let event = ask(&session, "ls");
        tokio::pin!(event);
        while person.asked().is_empty() {
            tokio::select! {
                settled = &mut event => panic!("{settled:?}"),
                () = tokio::task::yield_now() => {}
            }
        }
    }
    drop(session);
    person.host.get().unwrap().drain(std::time::Duration::from_secs(20)).await.unwrap();
    assert_eq!(story(&log), [("event", OutcomeKind::Escalated), ("answer", OutcomeKind::Rejected)]);
    assert_eq!(state_in(&log), State::new());
    assert_eq!(state_by(&written(&log)), State::new());
}

#[tokio::test]
async fn the_asking_after_a_yes_can_be_replayed() {
    let other = || plugin("other", json!({"before-tool-call": {"verdict": "allow"}}));
    let rules = reloads(move |round| (round == 0).then(|| vec![asks("continue?"), other()]));
    let (_directory, log, _, session) = asking(vec![asks("continue?")], rules).await;
    assert_eq!(word(&ask(&session, "ls").await), r#"allowed {"command":"ls"}"#);
    drop(session);
    let host = builder(config(vec![asks("continue?"), other()])).build().await.unwrap();
    let mut outcomes = Vec::new();
    let recorded = hookhost::store::Log::open(&log).unwrap();
    let summary = replay(&host, &recorded, |compared| {
        outcomes.push((compared.recorded.outcome, compared.is_same()));
    });
    assert_eq!(summary.await.unwrap().events, 2);
    assert_eq!(outcomes, [(OutcomeKind::Escalated, true), (OutcomeKind::Allowed, true)]);
}
