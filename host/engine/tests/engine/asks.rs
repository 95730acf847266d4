//! What the configuration asks a person about, and who can waive it.

use crate::support::{bash, builder, plugin, spec};
use futures_util::future::BoxFuture;
use hookhost::approval::{Approval, ApprovalRequest, Approver, AskingAgent};
use hookhost::config::{ActionKind, AskRule, Entry, Layer, Origin, Settings};
use hookhost::contract::{Asker, Cause};
use hookhost::session::SessionSpec;
use hookhost::{Config, GateOutcome, Session};
use serde_json::json;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Keeps what it is asked, and says yes.
#[derive(Default)]
struct Yes(Mutex<Vec<ApprovalRequest>>);

impl Approver for Yes {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, Approval> {
        self.0.lock().unwrap().push(request);
        Box::pin(async { Approval::Approved })
    }
}

fn ask_about_shell() -> AskRule {
    AskRule { actions: Some([ActionKind::Shell].into()), ..AskRule::default() }
}

async fn session(entries: Vec<Entry>, approver: Option<Arc<Yes>>) -> Session {
    let config = Config::from_entries(entries, Settings::default()).unwrap();
    let mut builder = builder(config.with_asks(vec![ask_about_shell()]).unwrap());
    if let Some(approver) = approver {
        builder = builder.approver(approver);
    }
    builder.build().await.unwrap().open_session(spec()).unwrap()
}

async fn questions(entries: Vec<Entry>, command: &str) -> Vec<ApprovalRequest> {
    let approver = Arc::new(Yes::default());
    let session = session(entries, Some(approver.clone())).await;
    let settled = session.before_tool_call(bash(&session, command)).await;
    assert!(!matches!(settled.outcome, GateOutcome::Rejected(_)), "{settled:?}");
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
async fn the_configuration_asks_also_where_no_plugin_hears_the_event() {
    let asked = questions(vec![], "make").await;
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].questions[0].by, Asker::Configuration);
    assert!(asked[0].questions[0].escalation.question.contains("bash"));
}

#[tokio::test]
async fn a_request_says_which_agent_it_is_of_and_what_that_one_works_on() {
    let approver = Arc::new(Yes::default());
    let config = Config::empty().with_asks(vec![ask_about_shell()]).unwrap();
    let host = builder(config).approver(approver.clone()).build().await.unwrap();
    let open = |spec| host.open_session(spec).unwrap();
    let (first, second) = (
        open(SessionSpec { depth: 1, parent: Some("above".into()), ..spec() }),
        open(SessionSpec { depth: 1, parent: Some("above".into()), ..spec() }),
    );
    let long = "é".repeat(500);
    let _ = first.prompt_submit("tidy up the docs".into()).await;
    let _ = second.prompt_submit(format!("  {long}")).await;
    for session in [&first, &second, &open(spec())] {
        let _ = session.before_tool_call(bash(session, "make")).await;
    }
    let asked = std::mem::take(&mut *approver.0.lock().unwrap());
    let agents: Vec<_> = asked.iter().map(|request| request.agent.clone()).collect();
    let below = |task: &str| AskingAgent { depth: 1, parent: Some("above".into()), task: Some(task.into()) };
    assert_eq!(agents, [below("tidy up the docs"), below(&"é".repeat(80)), AskingAgent::default()]);
    assert_eq!((asked[0].session.as_str(), asked[1].session.as_str()), (first.id(), second.id()));
    let written = serde_json::to_value(&asked[0]).unwrap();
    assert_eq!(written["agent"], json!({"depth": 1, "parent": "above", "task": "tidy up the docs"}));
}

#[tokio::test]
async fn it_asks_about_what_the_rule_matches_and_nothing_else() {
    let approver = Arc::new(Yes::default());
    let session = session(vec![], Some(approver.clone())).await;
    let arguments = json!({"path": "README.md"});
    let call = session.tool_call("1", "read_file", &arguments, hookhost::contract::ToolOrigin::Builtin);
    assert!(matches!(session.before_tool_call(call).await.outcome, GateOutcome::Allowed { .. }));
    assert!(approver.0.lock().unwrap().is_empty());
}

#[tokio::test]
async fn with_nobody_there_what_the_configuration_asks_about_is_rejected() {
    let session = session(vec![], None).await;
    let GateOutcome::Rejected(rejection) = session.before_tool_call(bash(&session, "make")).await.outcome else {
        panic!("not rejected")
    };
    assert_eq!(rejection.cause, Cause::NotApproved);
    assert!(rejection.to_string().starts_with("Not approved (asked by the configuration): "), "{rejection}");
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
        entry.origin = Some(Origin { file: "/somewhere/hookhost.toml".into(), line: 1, layer });
        entry
    };
    let asked = questions(vec![of(Layer::Project)], "ls").await;
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].questions[0].by, Asker::Configuration);
    assert!(
        questions(vec![of(Layer::Project), Entry { name: "b".into(), ..approves("b", true) }], "ls").await.is_empty()
    );
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

struct Never;

impl Approver for Never {
    fn ask(&self, _: ApprovalRequest) -> BoxFuture<'_, Approval> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn an_answer_is_waited_for_as_long_as_the_settings_say() {
    let settings = Settings { approval_deadline: Duration::from_millis(30), ..Settings::default() };
    let config = Config::from_entries(vec![], settings).unwrap().with_asks(vec![ask_about_shell()]).unwrap();
    let host = builder(config).approver(Arc::new(Never)).build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    let GateOutcome::Rejected(rejection) = session.before_tool_call(bash(&session, "ls")).await.outcome else {
        panic!("not rejected")
    };
    assert_eq!(rejection.cause, Cause::NotApproved);
    assert!(rejection.to_string().contains("nobody answered within 30ms"), "{rejection}");
}
