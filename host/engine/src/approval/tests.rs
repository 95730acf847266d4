//! Tests of the rules for asking a person. A yes is accepted only once and only in time. In every other case the answer
//! is no.

use super::{Approval, ApprovalRequest, Approver, AskingAgent, PendingApprovals};
use crate::contract::action::ActionMap;
use crate::contract::{AnswerKind, Answered, Asker, Escalation, EventKind, Question, ToolOrigin};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::json;
use serde_json::value::RawValue;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const DEADLINE: Duration = Duration::from_secs(3600);

fn request(id: &str, deadline: Duration) -> ApprovalRequest {
    ApprovalRequest {
        id: id.to_owned(),
        code: String::new(),
        session: "s".to_owned(),
        agent: AskingAgent::default(),
        event: EventKind::BeforeToolCall,
        original: RawValue::NULL.to_owned(),
        value: RawValue::NULL.to_owned(),
        changed_by: Vec::new(),
        response: None,
        questions: vec![question(Asker::Plugin("careful".to_owned()))],
        deadline,
        terms: None,
        rejected: None,
        needs_passkey: false,
        digest: None,
    }
}

/// Asks the approver. The deadline begins now, and no answer comes from a different process.
async fn resolve(approver: Option<&dyn Approver>, request: ApprovalRequest) -> Answered {
    let deadline = request.deadline;
    super::resolve(approver, request, deadline, std::future::pending()).await
}

fn question(by: Asker) -> Question {
    Question::new(by, Escalation { question: "Really?".to_owned(), code: None })
}

/// An approver that answers with the function's result as soon as it is polled.
struct Says(fn() -> Approval);

impl Approver for Says {
    fn ask(&self, _: ApprovalRequest) -> BoxFuture<'_, Approval> {
        Box::pin(async { self.0() })
    }
}

/// An approver that panics before it returns a future.
struct PanicsAtOnce;

impl Approver for PanicsAtOnce {
    fn ask(&self, _: ApprovalRequest) -> BoxFuture<'_, Approval> {
        panic!("an embedder's mistake")
    }
}

/// An approver that never answers and whose future panics when it is dropped.
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

fn sentence(answered: &Answered) -> (AnswerKind, &str) {
    (answered.kind, answered.reason.as_deref().unwrap_or(""))
}

#[tokio::test]
async fn only_an_approvers_yes_is_a_yes_and_a_no_says_why() {
    let table: [(Option<&dyn Approver>, AnswerKind, &str); 6] = [
        (Some(&Says(Approval::yes)), AnswerKind::Approved, ""),
        (Some(&Says(Approval::no)), AnswerKind::Denied, "the user said no"),
        (Some(&Says(|| Approval::no().because("not now".to_owned()))), AnswerKind::Denied, "not now"),
        (None, AnswerKind::NobodyThere, "nobody is there to answer"),
        (Some(&Says(|| panic!("an embedder's mistake"))), AnswerKind::Panicked, "the approver failed"),
        (Some(&PanicsAtOnce), AnswerKind::Panicked, "the approver failed"),
    ];
    for (approver, kind, reason) in table {
        let answered = resolve(approver, request("1", DEADLINE)).await;
        assert_eq!(sentence(&answered), (kind, reason));
        assert_eq!(answered.is_approved(), kind == AnswerKind::Approved);
    }
}

#[tokio::test]
async fn a_reason_that_is_too_long_is_cut_and_says_so() {
    let longest = Says(|| Approval::no().because("é".repeat(2048)));
    let longer = Says(|| Approval::no().because("é".repeat(50_000)));
    assert_eq!(resolve(Some(&longest), request("1", DEADLINE)).await.reason.unwrap(), "é".repeat(2048));
    let cut = resolve(Some(&longer), request("1", DEADLINE)).await.reason.unwrap();
    assert_eq!(cut, "é".repeat(2048) + " … (95904 bytes more)");
}

#[tokio::test]
async fn without_an_answer_by_the_deadline_the_answer_is_no() {
    let pending = PendingApprovals::default();
    let answered = resolve(Some(&pending), request("1", Duration::from_millis(2))).await;
    assert_eq!(sentence(&answered), (AnswerKind::TooLate, "nobody answered within 2ms"));
    assert!(answered.micros >= 2000, "{answered:?}");
}

#[tokio::test]
async fn a_yes_after_the_deadline_is_a_no_even_if_the_approver_delayed_the_timer() {
    let answered = resolve(Some(&Says(Approval::yes)), request("1", Duration::ZERO)).await;
    assert_eq!(answered.kind, AnswerKind::TooLate);
}

#[tokio::test]
async fn the_host_survives_an_approver_that_panics_when_it_is_dropped() {
    let answered = resolve(Some(&PanicsWhenDropped), request("1", Duration::from_millis(2))).await;
    assert!(!answered.is_approved());
}

#[test]
fn the_record_has_one_word_for_the_outcome_of_a_question() {
    let yes = Answered::new(AnswerKind::Approved, None);
    assert_eq!(serde_json::to_value(&yes).unwrap(), json!({ "kind": "approved", "micros": 0 }));
    let words = [
        (AnswerKind::Denied, "denied"),
        (AnswerKind::NobodyThere, "nobody-there"),
        (AnswerKind::Panicked, "panicked"),
        (AnswerKind::TooLate, "too-late"),
    ];
    for (kind, word) in words {
        let no = Answered::new(kind, Some("why".to_owned()));
        let json = json!({ "kind": word, "reason": "why", "micros": 0 });
        assert_eq!(serde_json::to_value(&no).unwrap(), json);
        assert_eq!(serde_json::from_value::<Answered>(json).unwrap(), no);
    }
}

#[test]
fn a_request_says_of_each_question_whether_a_plugin_or_the_configuration_asks_it() {
    let mut request = request("1", Duration::from_secs(300));
    request.questions.push(question(Asker::Configuration));
    let json = serde_json::to_value(&request).unwrap();
    assert_eq!(
        json["questions"],
        json!([
            { "plugin": "careful", "question": "Really?", "code": null },
            { "configuration": true, "question": "Really?", "code": null },
        ])
    );
    assert_eq!(json["deadline-ms"], 300_000);
    let askers: Vec<_> = request.questions.iter().map(|question| question.by.to_string()).collect();
    assert_eq!(askers, ["careful", "the configuration"]);
}

/// Returns the identifiers of the requests that wait for an answer.
fn ids(pending: &PendingApprovals) -> Vec<String> {
    pending.list().iter().map(|request| request.id.clone()).collect()
}

#[tokio::test]
async fn a_listed_request_is_answered_by_its_identifier() {
    for (approval, kind) in [(Approval::yes(), AnswerKind::Approved), (Approval::no(), AnswerKind::Denied)] {
        let pending = PendingApprovals::default();
        let mut asked = Box::pin(resolve(Some(&pending), request("1", DEADLINE)));
        assert!(asked.as_mut().now_or_never().is_none());
        assert_eq!(ids(&pending), ["1"]);
        pending.answer("1", approval).unwrap();
        assert!(pending.list().is_empty(), "it is answered");
        assert_eq!(asked.await.kind, kind);
    }
}

#[tokio::test]
async fn the_first_answer_counts_and_the_second_is_an_error() {
    let pending = PendingApprovals::default();
    let mut asked = Box::pin(resolve(Some(&pending), request("1", DEADLINE)));
    assert!(asked.as_mut().now_or_never().is_none());
    pending.answer("1", Approval::no()).unwrap();
    let second = pending.answer("1", Approval::yes()).unwrap_err();
    assert!(second.to_string().starts_with("no request `1` waits for an answer: it has been answered, "), "{second}");
    assert_eq!(asked.await.kind, AnswerKind::Denied);
    assert!(pending.answer("1", Approval::yes()).is_err());
}

#[tokio::test]
async fn an_answer_to_an_unknown_request_answers_no_other() {
    let pending = PendingApprovals::default();
    let mut asked = Box::pin(resolve(Some(&pending), request("1", DEADLINE)));
    assert!(asked.as_mut().now_or_never().is_none());
    assert_eq!(pending.answer("2", Approval::yes()).unwrap_err().id, "2");
    assert!(asked.as_mut().now_or_never().is_none());
    assert_eq!(ids(&pending), ["1"]);
}

#[tokio::test]
async fn an_answer_after_the_deadline_is_an_error_even_before_the_event_has_noticed() {
    let pending = PendingApprovals::default();
    let mut asked = pending.ask(request("1", Duration::ZERO));
    assert!(asked.as_mut().now_or_never().is_none());
    assert!(pending.list().is_empty());
    assert!(pending.answer("1", Approval::yes()).is_err());
    assert_ne!(asked.await, Approval::yes());
}

#[tokio::test]
async fn a_request_that_nobody_waits_for_any_more_is_not_listed_and_cannot_be_answered() {
    let pending = PendingApprovals::default();
    let mut cancelled = Box::pin(resolve(Some(&pending), request("1", DEADLINE)));
    assert!(cancelled.as_mut().now_or_never().is_none());
    drop(cancelled);
    assert!(pending.list().is_empty(), "its event was cancelled");
    assert!(pending.answer("1", Approval::yes()).is_err());

    let late = resolve(Some(&pending), request("1", Duration::from_millis(1))).await;
    assert_eq!(late.kind, AnswerKind::TooLate);
    let mut again = Box::pin(resolve(Some(&pending), request("1", DEADLINE)));
    assert!(again.as_mut().now_or_never().is_none(), "the one before it is gone");
}

#[tokio::test]
async fn a_second_request_of_the_same_identifier_is_denied_and_does_not_touch_the_first() {
    let pending = PendingApprovals::default();
    let mut first = Box::pin(resolve(Some(&pending), request("1", DEADLINE)));
    assert!(first.as_mut().now_or_never().is_none());
    let second = resolve(Some(&pending), request("1", DEADLINE)).await;
    assert_eq!(sentence(&second), (AnswerKind::Denied, "a request of the same identifier waits for an answer"));
    pending.answer("1", Approval::yes()).unwrap();
    assert!(first.await.is_approved());
}

#[tokio::test]
async fn a_request_that_was_answered_makes_room_for_another_of_its_identifier() {
    let pending = PendingApprovals::default();
    let mut first = Box::pin(resolve(Some(&pending), request("1", DEADLINE)));
    assert!(first.as_mut().now_or_never().is_none());
    pending.answer("1", Approval::yes()).unwrap();
    let mut second = Box::pin(resolve(Some(&pending), request("1", DEADLINE)));
    assert!(second.as_mut().now_or_never().is_none());
    // Dropping the first request's handle must not remove the second request.
    drop(first);
    assert_eq!(ids(&pending), ["1"]);
}

#[tokio::test]
async fn a_watcher_is_notified_of_each_new_request_and_of_each_that_no_longer_waits() {
    let pending = PendingApprovals::default();
    let mut changes = pending.changes();
    assert!(changes.next().now_or_never().is_none(), "nothing has happened");
    let mut first = Box::pin(resolve(Some(&pending), request("1", DEADLINE)));
    let mut second = Box::pin(resolve(Some(&pending), request("2", DEADLINE)));
    assert!(first.as_mut().now_or_never().is_none());
    assert_eq!(changes.next().now_or_never(), Some(true), "a request that came before the wait is not missed");
    assert!(second.as_mut().now_or_never().is_none());
    assert_eq!(changes.next().now_or_never(), Some(true));
    assert_eq!(ids(&pending), ["1", "2"]);
    drop(second);
    assert_eq!(changes.next().now_or_never(), Some(true));
    assert!(pending.answer("2", Approval::yes()).is_err());
    assert!(changes.next().now_or_never().is_none(), "the list is as it was");
    pending.answer("1", Approval::yes()).unwrap();
    assert_eq!(changes.next().now_or_never(), Some(true));
    drop(first);
    drop(pending);
    while changes.next().now_or_never() != Some(false) {}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_answers_at_once_one_is_accepted_for_each_request_and_that_one_counts() {
    const REQUESTS: usize = 100;
    let pending = Arc::new(PendingApprovals::default());
    let asked: Vec<_> = (0..REQUESTS)
        .map(|n| {
            let pending = Arc::clone(&pending);
            tokio::spawn(async move { resolve(Some(&*pending), request(&n.to_string(), DEADLINE)).await })
        })
        .collect();
    let taken = Arc::new(Mutex::new(Vec::new()));
    let people: Vec<_> = ["ada", "grace", "edsger"]
        .into_iter()
        .map(|name| {
            let (pending, taken) = (Arc::clone(&pending), Arc::clone(&taken));
            std::thread::spawn(move || {
                while taken.lock().unwrap().len() < REQUESTS {
                    for request in pending.list() {
                        if pending.answer(&request.id, Approval::no().because(name.to_owned())).is_ok() {
                            taken.lock().unwrap().push((request.id.clone(), name.to_owned()));
                        }
                    }
                }
            })
        })
        .collect();
    let mut counted = Vec::new();
    for (n, asked) in asked.into_iter().enumerate() {
        counted.push((n.to_string(), asked.await.unwrap().reason.unwrap()));
    }
    for person in people {
        person.join().unwrap();
    }
    let mut taken = taken.lock().unwrap().clone();
    counted.sort();
    taken.sort();
    assert_eq!(taken, counted);
}

#[test]
fn a_function_is_an_approver_and_reads_the_call_of_a_request_about_one() {
    let is_deploy = |request: ApprovalRequest| async move {
        match request.tool_call() {
            Some(call) if call.name == "deploy" => Approval::yes().by("ada"),
            Some(_) => Approval::no(),
            None => Approval::no().because("not a call"),
        }
    };
    let asked = |event: EventKind, value: serde_json::Value| {
        let mut request = request("e", DEADLINE);
        request.event = event;
        request.value = serde_json::value::to_raw_value(&value).unwrap();
        is_deploy.ask(request).now_or_never().unwrap()
    };
    let call = |name: &str| {
        let made = ActionMap::default().of("a").call("1".into(), name.into(), &json!({}), ToolOrigin::Builtin, "/work");
        serde_json::to_value(made).unwrap()
    };
    assert_eq!(asked(EventKind::BeforeToolCall, call("deploy")), Approval::yes().by("ada"));
    assert_eq!(asked(EventKind::BeforeToolCall, call("build")), Approval::no());
    assert_eq!(asked(EventKind::PlanSubmit, call("deploy")), Approval::no().because("not a call"));
    assert_eq!(asked(EventKind::BeforeToolCall, json!({ "name": 1 })), Approval::no().because("not a call"));
}

#[test]
fn each_question_has_a_code_that_no_other_question_has_be_they_alike_or_not() {
    let code = |id: &str| request(id, DEADLINE).with_code().code;
    let codes: std::collections::HashSet<_> = (0..50).flat_map(|n| [code("s.1"), code(&format!("s.1{n}"))]).collect();
    assert_eq!(codes.len(), 100);
    assert!(
        codes.iter().all(|code| code.len() == 8 && code.bytes().all(|digit| digit.is_ascii_hexdigit())),
        "{codes:?}"
    );
}
