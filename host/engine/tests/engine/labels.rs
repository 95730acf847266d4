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
    for command in ["list", "add a", "has a", "add b", "added-at a", "added-at c", "list"] {
        let _ = said(&session, command).await;
    }
    drop(session);
    host.drain(Duration::from_secs(60)).await.unwrap();
    let again = builder(Config::from_entries(vec![plugin("p")], Settings::default()).unwrap()).build().await.unwrap();
    let mut all = Vec::new();
    let summary = replay(&again, &Log::open(&log).unwrap(), |event| all.push(event.clone())).await.unwrap();
    assert_eq!((summary.same, summary.different, summary.not_replayable), (7, 0, 0), "{all:?}");
    let Some(event) = all.last() else { panic!() };
    let Some(labels) = &event.recorded.calls[0].inputs.labels else { panic!() };
    assert_eq!(labels.keys().collect::<Vec<_>>(), ["a", "b"]);
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

#[tokio::test]
async fn a_label_has_the_time_of_the_event_that_added_it_first() {
    let (_directory, log, recorder) = recording(vec![plugin("p")]);
    let host = recorder.build().await.unwrap();
    let session = open(&host, "s", None);
    assert_eq!(said(&session, "added-at a").await, "None");
    for command in ["add a", "add a", "add-and-trap b"] {
        let _ = said(&session, command).await;
    }
    let time = said(&session, "added-at a").await;
    assert_eq!(said(&session, "added-at b").await, "None");
    host.drain(Duration::from_secs(60)).await.unwrap();
    let events: Vec<_> = written(&log)
        .into_iter()
        .filter_map(|record| match record {
            Record::Event(event) => Some((event.id.clone(), event.header.time)),
            _ => None,
        })
        .collect();
    let (added_by, added) = &events[1];
    assert_eq!(time, format!("Some({added})"));
    let [(labelled, label)] = &host.labels().await.unwrap()[..] else { panic!() };
    assert_eq!((labelled.as_str(), label.name.as_str(), label.added, &label.of), ("s", "a", *added, added_by));
}

#[tokio::test]
async fn a_person_removes_labels_and_the_log_says_who_did() {
    let (_directory, log, recorder) = recording(vec![plugin("p")]);
    let host = recorder.build().await.unwrap();
    let (root, child, other) = (open(&host, "root", None), open(&host, "child", Some("root")), open(&host, "x", None));
    for command in ["add a", "add b"] {
        let _ = (said(&child, command).await, said(&other, command).await);
    }
    let mut labels: Vec<_> = host.labels().await.unwrap();
    assert_eq!(labels.iter().map(|(session, _)| session.as_str()).collect::<Vec<_>>(), ["root", "root", "x", "x"]);
    let removed = labels.remove(0).1;
    // Another process removes the label.
    let person = builder(Config::empty()).store(&log).build().await.unwrap();
    person.remove_labels("root", vec![removed.clone()], Some("ada".to_owned())).await.unwrap();
    assert_eq!((said(&root, "list").await, said(&child, "has a").await), (r#"["b"]"#.into(), "false".into()));
    assert_eq!(said(&other, "list").await, r#"["a", "b"]"#);
    assert_eq!(said(&child, "add a").await, r#"["a", "b"]"#, "a later call can add it again");
    host.drain(Duration::from_secs(60)).await.unwrap();
    let actions = written(&log).into_iter().filter_map(|record| match record {
        Record::Operator(action) => Some(action),
        _ => None,
    });
    let [action] = &actions.collect::<Vec<_>>()[..] else { panic!() };
    assert_eq!(action.action.name(), "label-remove");
    assert_eq!((action.by.as_deref(), action.session.as_deref()), (Some("ada"), Some("root")));
    assert_eq!(action.labels, [removed]);
}

#[tokio::test]
async fn a_session_that_is_resumed_after_its_reported_end_still_has_its_labels() {
    let (_directory, _log, recorder) = recording(vec![plugin("p")]);
    let host = recorder.build().await.unwrap();
    let session = open(&host, "s", None);
    let _ = said(&session, "add a").await;
    let _ = session.session_end(hookhost::contract::Usage::default()).await;
    drop(session);
    assert_eq!(said(&open(&host, "s", None), "list").await, r#"["a"]"#);
    assert_eq!(said(&open(&host, "new", None), "list").await, "[]");
}
