//! Facts about the world of an agent: granted by name, recorded, and the same in a replay.

use crate::support::{bash, builder, component, recording, written};
use hookhost::audit::Record;
use hookhost::config::{Entry, Settings};
use hookhost::contract::{Decision, Fact, FactName, SessionMode};
use hookhost::facts::{AgentContext, AgentProcess};
use hookhost::replay::{Compared, replay};
use hookhost::store::Log;
use hookhost::{Config, Host, Session, SessionSpec};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The test plugin, which rejects each command with the fact that the command names.
fn reader(facts: &[FactName]) -> Entry {
    let mut entry = Entry::from_file("reader", component("facts_and_labels.wasm")).unwrap();
    entry.grants.facts = facts.iter().cloned().collect();
    entry.grants.labels = true;
    // Tests run on busy machines.
    (entry.limits.compute, entry.limits.deadline) = (Some(Duration::from_secs(10)), Some(Duration::from_secs(10)));
    entry
}

async fn host(entry: Entry) -> Host {
    builder(Config::from_entries(vec![entry], Settings::default()).unwrap()).build().await.unwrap()
}

async fn said(session: &Session, command: &str, agent: AgentContext) -> String {
    let decided = session.before_tool_call(bash(session, command).agent(agent)).await;
    match decided.outcome {
        Decision::Rejected(rejection) => rejection.refusal.reason,
        other => panic!("{command}: {other:?}"),
    }
}

/// Makes a repository with this branch.
fn check_out(repository: &Path, branch: &str) {
    for name in ["objects", "refs"] {
        std::fs::create_dir_all(repository.join(".git").join(name)).unwrap();
    }
    std::fs::write(repository.join(".git/HEAD"), format!("ref: refs/heads/{branch}\n")).unwrap();
}

async fn replayed(log: &Path, entry: Entry) -> (u64, Vec<Compared>) {
    let mut all = Vec::new();
    let summary = replay(&host(entry).await, &Log::open(log).unwrap(), |event| all.push(event.clone())).await.unwrap();
    (summary.same, all)
}

#[tokio::test]
async fn a_fact_is_recorded_and_is_the_same_in_a_replay_after_the_world_has_changed() {
    let repository = tempfile::tempdir().unwrap();
    check_out(repository.path(), "main");
    let [branch, variable] = ["git.branch", "env.DOCKER_CONTEXT"].map(|name| FactName::from_name(name).unwrap());
    let granted = [branch.clone(), variable.clone()];
    let (_directory, log, recorder) = recording(vec![reader(&granted)]);
    let host = recorder.build().await.unwrap();
    let session = host.open_session(SessionSpec::new("test", repository.path())).unwrap();
    assert_eq!(said(&session, "fact git.branch", AgentContext::default()).await, r#"Fact::Text("main")"#);
    assert_eq!(said(&session, "fact git.branch ..", AgentContext::default()).await, "Fact::Absent");
    let mut agent = AgentContext::default();
    agent.process = Some(Arc::new(Hook));
    assert_eq!(said(&session, "fact env.DOCKER_CONTEXT", agent).await, r#"Fact::Text("remote")"#);
    drop(session);
    host.drain(Duration::from_secs(60)).await.unwrap();
    let reads: Vec<_> = written(&log)
        .into_iter()
        .flat_map(|record| match record {
            Record::Event(event) => event.calls.into_iter().flat_map(|call| call.inputs.facts).collect(),
            _ => Vec::new(),
        })
        .map(|read| (read.name, read.at, read.value))
        .collect();
    let [main, remote] = ["main", "remote"].map(|text| Fact::Text(text.into()));
    let read = [(branch.clone(), None, main), (branch, Some("..".into()), Fact::Absent), (variable, None, remote)];
    assert_eq!(reads, read);

    for change in [|path: &Path| check_out(path, "other"), |path: &Path| std::fs::remove_dir_all(path).unwrap()] {
        change(repository.path());
        let (same, all) = replayed(&log, reader(&granted)).await;
        assert!(same == 3 && all.iter().all(|event| event.not_replayable.is_empty()), "{all:?}");
    }
    std::fs::create_dir_all(repository.path()).unwrap();
}

#[tokio::test]
async fn a_fact_that_is_not_granted_ends_the_call_with_its_name() {
    let session = host(reader(&[FactName::GitBranch])).await.session("test", "/work").unwrap();
    for (name, shown) in [("kube.context", "kube.context"), ("git.brnch", "git.brnch"), ("\u{1b}[1m", "\\u{1b}[1m")] {
        let reason = said(&session, &format!("fact {name}"), AgentContext::default()).await;
        assert!(reason.contains(&format!("the fact `{shown}`")) && reason.contains("[plugin.grants]"), "{reason}");
    }
}

#[tokio::test]
async fn a_component_without_the_grant_does_not_load_and_the_line_to_add_is_named() {
    let config = |entry| Config::from_entries(vec![entry], Settings::default()).unwrap();
    for (facts, labels, line) in
        [(false, true, r#"facts = ["git.branch"]"#), (true, false, "labels = true"), (false, false, "facts = ")]
    {
        let mut entry = reader(if facts { &[FactName::User] } else { &[] });
        entry.grants.labels = labels;
        let error = builder(config(entry)).build().await.unwrap_err().to_string();
        assert!(error.contains(line) && error.contains("@0.2.0"), "{error}");
    }
}

/// A process of an agent that has started a hook.
#[derive(Debug)]
struct Hook;

impl AgentProcess for Hook {
    fn variable(&self, name: &str) -> Result<Option<String>, String> {
        Ok((name == "DOCKER_CONTEXT").then(|| "remote".to_owned()))
    }

    fn user(&self) -> Result<Option<String>, String> {
        Ok(Some("ada".to_owned()))
    }

    fn is_sandboxed(&self) -> Result<Option<bool>, String> {
        Ok(Some(true))
    }
}

#[tokio::test]
async fn the_agents_own_facts_and_variables_come_with_the_event() {
    let session = host(reader(FactName::ALL)).await.session("test", "/work").unwrap();
    let mut agent = AgentContext::default();
    agent.mode = Some(SessionMode::Plan);
    agent.version = Some("2.1".into());
    agent.process = Some(Arc::new(Hook));
    for (name, expected) in [
        ("session.mode", r#"Fact::Text("plan")"#),
        ("agent.version", r#"Fact::Text("2.1")"#),
        ("docker.context", r#"Fact::Text("remote")"#),
        ("user", r#"Fact::Text("ada")"#),
        ("session.sandboxed", "Fact::Flag(true)"),
        ("terraform.workspace", "Fact::Absent"),
    ] {
        assert_eq!(said(&session, &format!("fact {name}"), agent.clone()).await, expected, "{name}");
    }
    assert_eq!(said(&session, "fact session.mode", AgentContext::default()).await, "Fact::Absent");
}
