//! What the configuration asks a person about, and who can waive it.

use crate::support::{asking, bash, builder, plugin, spec};
use futures_util::future::BoxFuture;
use hookhost::approval::{Approval, ApprovalRequest, Approver};
use hookhost::config::{Entry, Layer, Origin};
use hookhost::contract::{Action, Asker, Cause, OutcomeKind, Refusal, ToolCall, ToolOrigin, ToolResult};
use hookhost::replay::replay;
use hookhost::store::Log;
use hookhost::{Config, Decision, Host, RecordedOutcome, Rule, Session};
use serde_json::json;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

/// Keeps what it is asked, and says yes.
#[derive(Default)]
struct Yes(Mutex<Vec<ApprovalRequest>>);

impl Approver for Yes {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, Approval> {
        self.0.lock().unwrap().push(request);
        Box::pin(async { Approval::yes() })
    }
}

/// Keeps what it is asked, and says yes for the rest of the session.
#[derive(Default)]
struct Always(Mutex<Vec<ApprovalRequest>>);

impl Approver for Always {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, Approval> {
        self.0.lock().unwrap().push(request);
        Box::pin(async { Approval::yes_for_session() })
    }
}

impl Always {
    /// Who asked what so far.
    fn asked(&self) -> Vec<Vec<String>> {
        let by = |request: &ApprovalRequest| request.questions.iter().map(|question| question.by.to_string()).collect();
        self.0.lock().unwrap().iter().map(by).collect()
    }
}

/// A host with a rule that asks and these plugins, whose questions such a person answers.
async fn always(entries: Vec<Entry>) -> (Arc<Always>, Host) {
    let person = Arc::new(Always::default());
    let host = builder(asking_config(entries)).approver(person.clone()).build().await.unwrap();
    (person, host)
}

fn asking_config(entries: Vec<Entry>) -> Config {
    asking("shell", "", entries)
}

async fn passes(session: &Session, command: &str) {
    let _ = runs(session, command).await;
}

async fn runs(session: &Session, command: &str) -> RecordedOutcome<Decision<ToolCall, ToolResult>> {
    let settled = session.before_tool_call(bash(session, command)).await;
    assert!(matches!(settled.outcome, Decision::Allowed { .. }), "{settled:?}");
    settled
}

async fn session(entries: Vec<Entry>, approver: Option<Arc<Yes>>) -> Session {
    let mut builder = builder(asking_config(entries));
    if let Some(approver) = approver {
        builder = builder.approver(approver);
    }
    builder.build().await.unwrap().open_session(spec()).unwrap()
}

async fn questions(entries: Vec<Entry>, command: &str) -> Vec<ApprovalRequest> {
    let approver = Arc::new(Yes::default());
    let session = session(entries, Some(approver.clone())).await;
    let settled = session.before_tool_call(bash(&session, command)).await;
    assert!(!matches!(settled.outcome, Decision::Rejected(_)), "{settled:?}");
    std::mem::take(&mut *approver.0.lock().unwrap())
}

fn approves(name: &str, granted: bool) -> Entry {
    let mut entry = plugin(
        name,
        json!({"before-tool-call": {"verdict": "approve", "reason": "harmless", "when": {"contains": "ls"}}}),
    );
    entry.grants.approve = granted;
    entry
}

#[tokio::test]
async fn the_configuration_asks_also_if_no_other_plugin_subscribes_to_the_event() {
    let asked = questions(vec![], "make").await;
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].questions[0].by, Asker::Configuration);
    assert_eq!(asked[0].questions[0].escalation.question, "May this run? make");
}

#[tokio::test]
async fn a_request_says_which_agent_it_is_of_and_what_that_one_works_on() {
    let approver = Arc::new(Yes::default());
    let host = builder(asking_config(vec![])).approver(approver.clone()).build().await.unwrap();
    let open = |spec| host.open_session(spec).unwrap();
    let (first, second) = (open(spec().under("above", 1)), open(spec().under("above", 1)));
    let long = "é".repeat(500);
    let _ = first.prompt_submit("tidy up the docs".into()).await;
    let _ = second.prompt_submit(format!("  {long}")).await;
    for session in [&first, &second, &open(spec())] {
        let _ = session.before_tool_call(bash(session, "make")).await;
    }
    let asked = std::mem::take(&mut *approver.0.lock().unwrap());
    let agents: Vec<_> = asked
        .iter()
        .map(|request| &request.agent)
        .map(|agent| (agent.depth, agent.parent.as_deref(), agent.task.as_deref()))
        .collect();
    let below = |task| (1, Some("above"), Some(task));
    assert_eq!(agents, [below("tidy up the docs"), below(&"é".repeat(80)), (0, None, None)]);
    assert_eq!((asked[0].session.as_str(), asked[1].session.as_str()), (first.id(), second.id()));
    let written = serde_json::to_value(&asked[0]).unwrap();
    assert_eq!(written["agent"], json!({"depth": 1, "parent": "above", "task": "tidy up the docs"}));
}

#[tokio::test]
async fn it_asks_about_what_the_rule_matches_and_nothing_else() {
    let approver = Arc::new(Yes::default());
    let session = session(vec![], Some(approver.clone())).await;
    let arguments = json!({"path": "README.md"});
    let call = session.tool_call("1", "read_file", &arguments, ToolOrigin::Builtin);
    assert!(matches!(session.before_tool_call(call).await.outcome, Decision::Allowed { .. }));
    assert!(approver.0.lock().unwrap().is_empty());
}

#[tokio::test]
async fn with_nobody_there_what_the_configuration_asks_about_is_rejected() {
    let session = session(vec![], None).await;
    let Decision::Rejected(rejection) = session.before_tool_call(bash(&session, "make")).await.outcome else {
        panic!("not rejected")
    };
    assert_eq!(rejection.cause, Cause::NotApproved);
    assert!(rejection.to_string().starts_with("Rejected: not approved (asked by the configuration): "), "{rejection}");
}

#[tokio::test]
async fn a_plugin_with_the_grant_waives_what_the_configuration_asks() {
    assert!(questions(vec![approves("a", true)], "ls").await.is_empty());
    assert_eq!(questions(vec![approves("a", true)], "make").await.len(), 1);
    assert_eq!(questions(vec![approves("a", false)], "ls").await.len(), 1);
}

#[tokio::test]
async fn a_plugin_of_a_projects_file_waives_nothing_that_others_than_projects_ask() {
    let of = |layer| {
        let mut entry = approves("a", true);
        entry.origin = Some(Origin::new("/somewhere/hookhost.toml", 1, layer));
        entry
    };
    let asked = questions(vec![of(Layer::Project)], "ls").await;
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].questions[0].by, Asker::Configuration);
    assert!(questions(vec![of(Layer::Project), approves("b", true)], "ls").await.is_empty());
    for layer in [Layer::User, Layer::Chosen] {
        assert!(questions(vec![of(layer)], "ls").await.is_empty());
    }
}

#[tokio::test]
async fn no_approval_waives_another_plugins_question() {
    let careful = plugin("b", json!({"before-tool-call": {"verdict": "escalate", "question": "sure?"}}));
    let asked = questions(vec![approves("a", true), careful], "ls").await;
    assert_eq!(asked.len(), 1);
    assert_eq!(
        asked[0].questions.iter().map(|question| &question.by).collect::<Vec<_>>(),
        [&Asker::Plugin("b".into())]
    );
}

#[tokio::test]
async fn an_approval_of_what_was_changed_afterwards_waives_nothing() {
    let changes = plugin(
        "b",
        json!({"before-tool-call": {"when": {"round": 1}, "verdict": "modify", "value": {"command": "make"}}}),
    );
    let asked = questions(vec![approves("a", true), changes], "ls").await;
    assert_eq!(asked.len(), 1);
    assert!(asked[0].value.get().contains("make") && asked[0].original.get().contains("ls"));
    assert_eq!(asked[0].changed_by, ["b"]);
}

#[tokio::test]
async fn where_a_plugin_gives_the_result_the_configuration_has_nothing_to_ask() {
    let responds = plugin("a", json!({"before-tool-call": {"verdict": "respond", "value": "done"}}));
    assert!(questions(vec![responds], "ls").await.is_empty());
}

#[tokio::test]
async fn a_yes_for_the_session_answers_the_same_call_later_and_each_use_is_recorded() {
    let (person, host) = always(vec![]).await;
    let session = host.open_session(spec()).unwrap();
    let first = runs(&session, "make").await;
    assert!(first.answer.as_ref().unwrap().answer.for_session && first.record.kept.is_empty());
    for _ in 0..2 {
        // The provider gives each call an identifier of its own.
        let call = session.tool_call("another", "bash", &json!({"command": "make"}), ToolOrigin::Builtin);
        let settled = session.before_tool_call(call).await;
        assert!(matches!(settled.outcome, Decision::Allowed { .. }), "{settled:?}");
        assert_eq!((settled.record.outcome, &settled.answer), (OutcomeKind::Allowed, &None));
        assert!(settled.record.questions.is_empty());
        let kept: Vec<_> = settled.record.kept.iter().map(|kept| (&kept.question.by, &kept.of)).collect();
        assert_eq!(kept, [(&Asker::Configuration, &first.record.id)]);
    }
    assert_eq!(person.asked().len(), 1);
}

#[tokio::test]
async fn a_yes_for_the_session_answers_no_other_call_and_no_other_session() {
    let (person, host) = always(vec![]).await;
    let session = host.open_session(spec()).unwrap();
    passes(&session, "make").await;
    passes(&session, "make install").await;
    let other_tool = session.tool_call("1", "shell", &json!({"command": "make"}), ToolOrigin::Builtin);
    let other_origin = session.tool_call("1", "bash", &json!({"command": "make"}), ToolOrigin::Mcp("ci".into()));
    let other_arguments =
        session.tool_call("1", "bash", &json!({"command": "make", "timeout": 1}), ToolOrigin::Builtin);
    let mut asked = 2;
    for call in [other_tool, other_origin, other_arguments] {
        if matches!(call.action, Action::Shell(_)) {
            asked += 1;
        }
        let settled = session.before_tool_call(call).await;
        assert!(settled.record.kept.is_empty(), "{settled:?}");
    }
    assert_eq!(person.asked().len(), asked);
    let other = host.open_session(spec()).unwrap();
    passes(&other, "make").await;
    assert_eq!(person.asked().len(), asked + 1);
}

#[tokio::test]
async fn a_yes_for_the_session_does_not_answer_a_plugins_question() {
    let careful = plugin("b", json!({"before-tool-call": {"verdict": "escalate", "question": "sure?"}}));
    let (person, host) = always(vec![careful]).await;
    let session = host.open_session(spec()).unwrap();
    passes(&session, "make").await;
    let settled = runs(&session, "make").await;
    assert_eq!(settled.record.kept.len(), 1);
    passes(&session, "make").await;
    assert_eq!(person.asked(), [vec!["the configuration", "b"], vec!["b"], vec!["b"]]);
    let offered: Vec<bool> = person.0.lock().unwrap().iter().map(ApprovalRequest::can_be_kept).collect();
    assert_eq!(offered, [false; 3], "it is no answer to offer where a plugin asks");
}

#[tokio::test]
async fn a_yes_for_the_session_waives_no_rejection() {
    // It lets one call pass.
    let is_over = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&is_over);
    let once = move || asked.load(Ordering::Relaxed).then(|| Refusal::new("once is enough"));
    let rule = Rule::new().before_tool_call(move |_, _| once());
    let (person, host) = always(vec![Entry::from_rule("once", rule)]).await;
    let session = host.open_session(spec()).unwrap();
    passes(&session, "make").await;
    is_over.store(true, Ordering::Relaxed);
    let settled = session.before_tool_call(bash(&session, "make")).await;
    let Decision::Rejected(rejection) = &settled.outcome else { panic!("{settled:?}") };
    assert_eq!((&rejection.by[..], rejection.cause), (&["once".to_owned()][..], Cause::Verdict));
    assert!(settled.record.kept.is_empty() && person.asked().len() == 1);
}

#[tokio::test]
async fn a_yes_for_the_session_counts_no_longer_than_the_rules() {
    let (person, host) = always(vec![]).await;
    let session = host.open_session(spec()).unwrap();
    passes(&session, "make").await;
    passes(&session, "make").await;
    assert_eq!(person.asked().len(), 1);
    // The same rules, and so the same answer.
    assert!(host.reload(&asking_config(vec![])).await.unwrap().is_empty());
    passes(&session, "make").await;
    assert_eq!(person.asked().len(), 1);
    let more = plugin("b", json!({"before-tool-call": {"verdict": "allow"}}));
    host.reload(&asking_config(vec![more])).await.unwrap();
    passes(&session, "make").await;
    assert_eq!(person.asked().len(), 2);
    // Nor do those count that were given under rules that come back.
    host.reload(&asking_config(vec![])).await.unwrap();
    passes(&session, "make").await;
    assert_eq!(person.asked().len(), 3);
}

/// Says yes for the session, once other rules count.
struct AlwaysMeanwhile(OnceLock<Host>, Mutex<u32>);

impl Approver for AlwaysMeanwhile {
    fn ask(&self, _: ApprovalRequest) -> BoxFuture<'_, Approval> {
        Box::pin(async {
            let first = std::mem::replace(&mut *self.1.lock().unwrap(), 1) == 0;
            if first {
                let more = plugin("b", json!({"before-tool-call": {"verdict": "allow"}}));
                self.0.get().unwrap().reload(&asking_config(vec![more])).await.unwrap();
                return Approval::yes_for_session();
            }
            Approval::no()
        })
    }
}

#[tokio::test]
async fn a_yes_for_the_session_is_for_this_once_where_the_rules_changed_before_it_came() {
    let person = Arc::new(AlwaysMeanwhile(OnceLock::new(), Mutex::new(0)));
    let host = builder(asking_config(vec![])).approver(person.clone()).build().await.unwrap();
    assert!(person.0.set(host.clone()).is_ok());
    let session = host.open_session(spec()).unwrap();
    passes(&session, "make").await;
    let settled = session.before_tool_call(bash(&session, "make")).await;
    assert!(matches!(settled.outcome, Decision::Rejected(_)), "{settled:?}");
}

#[tokio::test]
async fn a_use_of_a_kept_yes_can_be_replayed() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("hookhost.db");
    let host = builder(asking_config(vec![])).store(&log).approver(Arc::new(Always::default())).build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    passes(&session, "make").await;
    passes(&session, "make").await;
    drop(session);
    host.drain(Duration::from_secs(20)).await.unwrap();
    let again = builder(asking_config(vec![])).build().await.unwrap();
    let mut same = Vec::new();
    let recorded = Log::open(&log).unwrap();
    let summary = replay(&again, &recorded, |compared| same.push((compared.recorded.outcome, compared.is_same())));
    assert_eq!(summary.await.unwrap().events, 2);
    assert_eq!(same, [(OutcomeKind::Escalated, true), (OutcomeKind::Allowed, true)]);
}

struct Never;

impl Approver for Never {
    fn ask(&self, _: ApprovalRequest) -> BoxFuture<'_, Approval> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn an_answer_is_waited_for_as_long_as_the_settings_say() {
    let config = asking("shell", "approval-deadline = '30ms'", vec![]);
    let host = builder(config).approver(Arc::new(Never)).build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    let Decision::Rejected(rejection) = session.before_tool_call(bash(&session, "ls")).await.outcome else {
        panic!("not rejected")
    };
    assert_eq!(rejection.cause, Cause::NotApproved);
    assert!(rejection.to_string().contains("nobody answered within 30ms"), "{rejection}");
}
