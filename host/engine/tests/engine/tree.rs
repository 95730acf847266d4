//! The state of a tree: of a session that the user began, and of all sub-agents below it.

use crate::support::{builder, host, plugin, recording, spec, state_by, state_in, written};
use hookhost::audit;
use hookhost::config::{Entry, Settings};
use hookhost::replay::replay;
use hookhost::session::SessionError;
use hookhost::store::Log;
use hookhost::{Config, Host, Session, TransformOutcome};
use serde_json::json;
use std::time::Duration;

/// Counts prompts in the scope, and puts the count in a prompt's place.
fn counts(scope: &str) -> Entry {
    plugin(
        "counts",
        json!({"prompt-submit": {"do": [{"increment": [scope, "n", 1]}], "verdict": "replace", "value": "{last}"}}),
    )
}

fn open(host: &Host, id: &str, parent: Option<&str>, root: Option<&str>) -> Session {
    let (parent, root) = (parent.map(str::to_owned), root.map(str::to_owned));
    let mut spec = spec().id(id);
    (spec.depth, spec.parent, spec.root) = (u32::from(parent.is_some()), parent, root);
    host.open_session(spec).unwrap()
}

async fn count(session: &Session) -> String {
    match session.prompt_submit("x".into()).await.outcome {
        TransformOutcome::Passed { value } => value,
        TransformOutcome::Withheld(rejection) => panic!("{rejection}"),
    }
}

#[tokio::test]
async fn the_state_of_a_tree_is_that_of_a_session_and_of_all_below_it_and_of_no_other() {
    let (_directory, log, builder) = recording(vec![counts("tree")]);
    let host = builder.build().await.unwrap();
    let root = open(&host, "root", None, None);
    let child = open(&host, "child", Some("root"), None);
    let grandchild = open(&host, "grandchild", Some("child"), None);
    let other = open(&host, "other", None, None);
    let mut said = Vec::new();
    for session in [&root, &child, &grandchild, &other, &root] {
        said.push(count(session).await);
    }
    assert_eq!(said, ["1", "2", "3", "1", "4"]);
    // A session whose parent is open elsewhere has its root from its opener.
    drop(child);
    assert_eq!(count(&open(&host, "late", Some("child"), Some("root"))).await, "5");
    drop((root, grandchild, other));
    host.drain(Duration::from_secs(60)).await.unwrap();
    assert_eq!(state_in(&log), state_by(&written(&log)));
    let roots: Vec<_> = written(&log)
        .into_iter()
        .filter_map(|entry| match entry {
            audit::Record::Session(opened) => Some((opened.header.session, opened.root)),
            _ => None,
        })
        .collect();
    let of_root = |id: &str| (id.to_owned(), Some("root".to_owned()));
    let by_itself = |id: &str| (id.to_owned(), None);
    let expected = [by_itself("root"), of_root("child"), of_root("grandchild"), by_itself("other"), of_root("late")];
    assert_eq!(roots, expected);
}

#[tokio::test]
async fn the_scopes_of_a_root_session_are_three() {
    let steps = json!([{"set": ["session", "k", "s"]}, {"set": ["tree", "k", "t"]}, {"set": ["plugin", "k", "p"]}]);
    let (_directory, log, builder) = recording(vec![plugin("p", json!({"prompt-submit": {"do": steps}}))]);
    let host = builder.build().await.unwrap();
    let _ = open(&host, "root", None, None).prompt_submit("x".into()).await;
    let state: Vec<_> = state_in(&log).into_iter().map(|((_, of, _), value)| (of, value)).collect();
    let expected = [("plugin ", "p"), ("session root", "s"), ("tree root", "t")];
    assert_eq!(state, expected.map(|(of, value)| (of.to_owned(), value.to_owned())));
}

#[tokio::test]
async fn what_a_sub_agent_learnt_of_its_tree_is_learnt_again_in_a_replay() {
    let (_directory, log, recorder) = recording(vec![counts("tree")]);
    let host = recorder.build().await.unwrap();
    let root = open(&host, "root", None, None);
    let child = open(&host, "child", Some("root"), None);
    for session in [&root, &child, &root, &child] {
        count(session).await;
    }
    drop((root, child));
    host.drain(Duration::from_secs(60)).await.unwrap();
    let config = Config::from_entries(vec![counts("tree")], Settings::default()).unwrap();
    let again = builder(config).build().await.unwrap();
    let summary = replay(&again, &Log::open(&log).unwrap(), |_| {}).await.unwrap();
    assert_eq!((summary.events, summary.same), (4, 4), "{summary:?}");
}

#[tokio::test]
async fn a_root_that_is_not_an_identifier_opens_no_session() {
    let host = host(vec![]).await;
    let named = spec().root("a\nb");
    let inherited = spec().under("", 0);
    for spec in [named, inherited] {
        assert!(matches!(host.open_session(spec), Err(SessionError::Id(_))));
    }
}
