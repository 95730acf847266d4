//! Components that were built with the SDK of an earlier version of the contract. They are files of the repository, and
//! stay as they are: each host must load them and get the same verdicts.

use hookhost::config::{Config, Entry, Settings, StateGrant};
use hookhost::contract::{ToolOrigin, Usage};
use hookhost::{Decision, Session, SessionSpec};
use serde_json::json;
use std::path::Path;
use std::time::Duration;

/// Opens a session under a frozen component.
async fn session(version: &str, plugin: &str, set: impl FnOnce(&mut Entry)) -> Session {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("frozen").join(version);
    let mut entry = Entry::from_file(plugin, directory.join(format!("{plugin}.wasm"))).expect("a component");
    // Tests run on busy machines.
    (entry.limits.compute, entry.limits.deadline) = (Some(Duration::from_secs(30)), Some(Duration::from_secs(30)));
    set(&mut entry);
    let config = Config::from_entries(vec![entry], Settings::default()).expect("a configuration");
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache");
    let host = hookhost::Host::builder(config).cache(cache).build().await.expect("a host");
    host.open_session(SessionSpec::new("test", Path::new("/work/project"))).expect("a session")
}

#[tokio::test]
async fn a_gate_of_contract_0_1_rejects_and_allows() {
    let session = session("0.1", "no_force_push", |_| {}).await;
    for (command, is_rejected) in [("git push --force", true), ("git push", false)] {
        let call = session.tool_call("1", "bash", &json!({ "command": command }), ToolOrigin::Builtin);
        let outcome = session.before_tool_call(call).await.outcome;
        assert_eq!(matches!(outcome, Decision::Rejected(_)), is_rejected, "{command}: {outcome:?}");
    }
}

#[tokio::test]
async fn a_configuration_and_an_effect_of_contract_0_1_count() {
    let session = session("0.1", "token_budget", |entry| {
        entry.config.insert("session-tokens".into(), json!(100));
    })
    .await;
    for (tokens, is_rejected) in [(50, false), (100, true)] {
        let usage = Usage { session_input_tokens: tokens, ..Usage::default() };
        let outcome = session.token_usage(usage).await.outcome;
        assert_eq!(matches!(outcome, Decision::Rejected(_)), is_rejected, "{tokens}: {outcome:?}");
    }
}

#[tokio::test]
async fn tools_and_state_of_contract_0_1_work() {
    let session = session("0.1", "notebook", |entry| {
        entry.grants.state = Some(StateGrant::default());
    })
    .await;
    let tools = session.plugin_tools();
    let write = json!({ "title": "a", "text": "kept" });
    tools.call("notebook", "write_note", &write).await.expect("a result");
    let read = tools.call("notebook", "read_notes", &json!({})).await.expect("a result");
    assert!(read.text.contains("kept"), "{read:?}");
}
