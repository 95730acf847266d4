//! The component `tool-policy` in a host: several entries of it in one chain, and a tool that says of itself what only they may say.

use hookhost::config::{Config, Digest, Entry, Settings, StateGrant};
use hookhost::contract::{ResultSource, ToolOrigin, ToolResult};
use hookhost::{Host, Session, SessionSpec, TransformOutcome};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// An entry with these rules. Its limits on time are far off: tests run on busy machines.
fn entry(name: &str, rules: &Value) -> Entry {
    let path = copy(name);
    let mut entry = Entry::new(name, &path, Digest::of_file(&path).expect("a component"));
    (entry.limits.compute, entry.limits.deadline) = (Some(Duration::from_secs(30)), Some(Duration::from_secs(30)));
    entry.grants.state = Some(StateGrant::default());
    entry.config.insert("rule".into(), rules.clone());
    entry
}

/// The component under a name of its own, since no two entries can be of one file. Written beside
/// and renamed: other tests may be using it.
fn copy(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tool_policy");
    std::fs::create_dir_all(&directory).expect("a directory");
    let fresh = tempfile::NamedTempFile::new_in(&directory).expect("a file");
    std::fs::copy(hookhost_tests::plugin("tool-policy"), fresh.path()).expect("a copy");
    let path = directory.join(format!("{name}.wasm"));
    fresh.persist(&path).expect("a file of that name");
    path
}

async fn host(entries: Vec<Entry>) -> Host {
    let config = Config::from_entries(entries, Settings::default()).expect("a configuration");
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache");
    Host::builder(config).cache(cache).build().await.expect("a host")
}

async fn session(entries: Vec<Entry>) -> Session {
    host(entries).await.open_session(SessionSpec::new("test", Path::new("/work/project"))).expect("a session")
}

/// What the model reads where a tool answers `text`.
async fn read(session: &Session, text: &str) -> String {
    let call = session.tool_call("1", "web_get", &json!({}), ToolOrigin::Builtin);
    match session.after_tool_call(&call, ToolResult::text(text), ResultSource::Tool).await.outcome {
        TransformOutcome::Passed { value } => value.text,
        TransformOutcome::Withheld(rejection) => panic!("{rejection}"),
    }
}

#[tokio::test]
async fn what_two_entries_cut_is_added_up_and_what_a_tool_claims_is_not() {
    let most = |bytes: u32| json!([{ "id": "short", "max-output": bytes }]);
    let session = session(vec![entry("a", &most(60)), entry("b", &most(40))]).await;
    let cut = read(&session, &"x".repeat(100)).await;
    let (body, note) = cut.rsplit_once('\n').expect("a note");
    assert_eq!(body, "x".repeat(40));
    assert!(note.starts_with("[60 bytes dropped #"), "{note}");

    // The note of an earlier result, and one that the tool made up: 40 bytes of it are read, and
    // the rest is counted as it is.
    for claim in [note, "[9000 bytes dropped #00000000]", "[9000 bytes dropped]"] {
        let text = format!("{}\n{claim}", "x".repeat(40));
        let cut = read(&session, &text).await;
        let (body, note) = cut.rsplit_once('\n').expect("a note");
        assert_eq!(body, "x".repeat(40), "{claim}");
        assert!(note.starts_with(&format!("[{} bytes dropped #", text.len() - 40)), "{claim}: {note}");
    }
    assert_eq!(read(&session, "short enough").await, "short enough");
}

#[tokio::test]
async fn without_the_grant_for_its_counts_it_is_not_loaded() {
    let mut entry = entry("policy", &json!([{ "id": "short", "max-output": 40 }]));
    entry.grants.state = None;
    let config = Config::from_entries(vec![entry], Settings::default()).expect("a configuration");
    let error = Host::builder(config).build().await.expect_err("a refusal").to_string();
    assert!(error.contains("state"), "{error}");
}
