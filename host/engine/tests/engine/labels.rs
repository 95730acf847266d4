//! Labels: shared by all plugins and sub-agents of a session, kept only if the call returns, recorded and replayed.

use crate::support::{bash, builder, component, recording, written};
use hookhost::audit::Record;
use hookhost::config::{Entry, Mode, Settings};
use hookhost::contract::Decision;
use hookhost::replay::replay;
use hookhost::store::Log;
use hookhost::{Config, Host, Session, SessionSpec};
use std::path::Path;
use std::time::Duration;

/// The test plugin, which does what a command says and rejects the command with the result.
fn plugin(name: &str) -> Entry {
    let mut entry = Entry::from_file(name, component("facts_and_labels.wasm")).unwrap();
    entry.grants.facts = [hookhost::contract::FactName::User].into();
    entry.grants.labels = true;
    (entry.limits.compute, entry.limits.deadline) = (Some(Duration::from_secs(10)), Some(Duration::from_secs(10)));
    entry
}

async fn said(session: &Session, command: &str) -> String {
    match session.before_tool_call(bash(session, command)).await.outcome {
        Decision::Rejected(rejection) => rejection.refusal.reason,
        other => format!("{other:?}"),
    }
}

fn open(host: &Host, id: &str, parent: Option<&str>) -> Session {
    let mut spec = SessionSpec::new("test", Path::new("/work")).id(id);
    (spec.depth, spec.parent) = (u32::from(parent.is_some()), parent.map(str::to_owned));
    host.open_session(spec).unwrap()
}

#[tokio::test]
async fn the_labels_of_a_session_are_those_of_its_sub_agents_and_of_no_other_session() {
    let (_directory, log, recorder) = recording(vec![plugin("p")]);
    let host = recorder.build().await.unwrap();
    let (root, child, other) = (open(&host, "root", None), open(&host, "child", Some("root")), open(&host, "x", None));
    assert_eq!(said(&child, "add read:secret").await, r#"["read:secret"]"#);
    assert_eq!(said(&root, "has read:secret").await, "true");
    assert_eq!(said(&root, "add a").await, r#"["a", "read:secret"]"#);
    assert_eq!(said(&child, "list").await, r#"["a", "read:secret"]"#);
    assert_eq!(said(&other, "list").await, "[]");
    // Another handle finds the labels in the store.
    drop((root, child));
    assert_eq!(said(&open(&host, "root", None), "list").await, r#"["a", "read:secret"]"#);
    host.drain(Duration::from_secs(60)).await.unwrap();

    let added: Vec<_> = written(&log)
        .into_iter()
        .filter_map(|record| match record {
            Record::Event(event) => Some((event.header.session.clone(), event.calls[0].labels.clone())),
            _ => None,
        })
        .filter(|(_, labels)| !labels.is_empty())
        .collect();
    let label = |session: &str, label: &str| (session.to_owned(), [label.to_owned()].into());
    assert_eq!(added, [label("child", "read:secret"), label("root", "a")], "the log names the call");
}

#[tokio::test]
async fn a_label_is_dropped_if_the_call_does_not_return_or_the_plugin_only_observes() {
    let (_directory, _log, recorder) = recording(vec![plugin("p")]);
    let session = recorder.build().await.unwrap().session("test", "/work").unwrap();
    let failed = said(&session, "add-and-trap a").await;
    assert!(failed.contains("trapped"), "{failed}");
    assert_eq!(said(&session, "list").await, "[]");
    for label in ["A", "a,b", &"a".repeat(65)] {
        let refused = said(&session, &format!("add {label}")).await;
        assert!(refused.contains("a label has 1 to 64 bytes"), "{refused}");
    }

    let mut observes = plugin("p");
    observes.mode = Mode::Observe;
    let (_directory, log, recorder) = recording(vec![observes]);
    let host = recorder.build().await.unwrap();
    assert!(said(&open(&host, "s", None), "add a").await.starts_with("Allowed"));
    host.drain(Duration::from_secs(60)).await.unwrap();
    let enforces = Config::from_entries(vec![plugin("p")], Settings::default()).unwrap();
    let host = builder(enforces).store(log).build().await.unwrap();
    assert_eq!(said(&open(&host, "s", None), "list").await, "[]");
}

#[tokio::test]
async fn labels_are_the_same_in_a_replay() {
    let (_directory, log, recorder) = recording(vec![plugin("p")]);
    let host = recorder.build().await.unwrap();
    let session = host.session("test", "/work").unwrap();
    for command in ["list", "add a", "has a", "add b", "list"] {
        let _ = said(&session, command).await;
    }
    drop(session);
    host.drain(Duration::from_secs(60)).await.unwrap();
    let again = builder(Config::from_entries(vec![plugin("p")], Settings::default()).unwrap()).build().await.unwrap();
    let mut all = Vec::new();
    let summary = replay(&again, &Log::open(&log).unwrap(), |event| all.push(event.clone())).await.unwrap();
    assert_eq!((summary.same, summary.different, summary.not_replayable), (5, 0, 0), "{all:?}");
    let Some(event) = all.last() else { panic!() };
    assert_eq!(event.recorded.calls[0].inputs.labels, Some(["a".to_owned(), "b".to_owned()].into()));
}

#[tokio::test]
async fn one_label_too_many_ends_the_call() {
    let (_directory, _log, recorder) = recording(vec![plugin("p")]);
    let session = recorder.build().await.unwrap().session("test", "/work").unwrap();
    for number in 0..64 {
        let _ = said(&session, &format!("add {number}")).await;
    }
    let refused = said(&session, "add more").await;
    assert!(refused.contains("already has 64"), "{refused}");
    assert_eq!(said(&session, "has 63").await, "true");
}
