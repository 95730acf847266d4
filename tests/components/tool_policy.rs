//! The component `tool-policy` in a host: several entries of it in one chain, what they keep from
//! call to call, and a tool that says of itself what only they may say.

use futures_util::future::join_all;
use hookhost::config::{Config, Digest, Entry, Settings, StateGrant};
use hookhost::contract::{ResultSource, ToolOrigin, ToolResult};
use hookhost::{Decision, Host, Session, SessionSpec, TransformOutcome};
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
    opened(&host(entries).await)
}

fn opened(host: &Host) -> Session {
    host.open_session(SessionSpec::new("test", Path::new("/work/project"))).expect("a session")
}

/// The code of the refusal that a call gets; `allow` where it gets none.
async fn asked(session: &Session, tool: &str, arguments: &Value) -> String {
    let call = session.tool_call("1", tool, arguments, ToolOrigin::Builtin);
    match session.before_tool_call(call).await.outcome {
        Decision::Allowed { .. } => "allow".into(),
        Decision::Rejected(rejection) => rejection.refusal.code.clone().unwrap_or_else(|| rejection.to_string()),
        other @ Decision::Responded { .. } => format!("{other:?}"),
    }
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
async fn calls_are_refused_and_asked_about_by_their_names_and_arguments() {
    let session = session(vec![entry(
        "policy",
        &json!([
            { "id": "no-exec", "tool": "exec_*", "deny": "exec_* is gated" },
            { "id": "production", "tool": "query", "when": [{ "argument": "database.name", "matches": "^prod" }], "ask": "Sure?" },
        ]),
    )])
    .await;
    assert_eq!(asked(&session, "exec_shell", &json!({})).await, "no-exec");
    assert_eq!(asked(&session, "query", &json!({ "database": { "name": "test" } })).await, "allow");
    let call = session.tool_call("1", "query", &json!({ "database": { "name": "production" } }), ToolOrigin::Builtin);
    let settled = session.before_tool_call(call).await;
    // Nobody is there to be asked.
    let Decision::Rejected(rejection) = settled.outcome else { panic!("it is not refused") };
    assert_eq!(rejection.by, ["policy"]);
    assert_eq!(settled.record.calls[0].findings[0].code, "production");
}

/// The stretch is an hour, so that no clock decides here.
fn hourly(scope: Option<&str>) -> Vec<Entry> {
    let mut rate = json!({ "calls": 3, "seconds": 3600 });
    if let Some(scope) = scope {
        rate["scope"] = scope.into();
    }
    vec![entry("policy", &json!([{ "id": "slowly", "tool": "web_*", "rate": rate }]))]
}

/// A sub-agent of the session.
fn below(host: &Host, parent: &Session) -> Session {
    let spec = SessionSpec::new("test", Path::new("/work/project"));
    let spec = spec.under(parent.id(), 1);
    host.open_session(spec).expect("a session")
}

#[tokio::test]
async fn a_rate_is_of_a_run_and_is_kept_from_call_to_call() {
    let host = host(hourly(None)).await;
    let (one, other) = (opened(&host), opened(&host));
    let (first, second) = (below(&host, &one), below(&host, &one));
    for (session, tool) in [(&one, "web_get"), (&first, "web_put"), (&second, "web_get")] {
        assert_eq!(asked(session, tool, &json!({})).await, "allow");
    }
    for session in [&one, &first, &second] {
        assert_eq!(asked(session, "web_get", &json!({})).await, "slowly");
        assert_eq!(asked(session, "read", &json!({})).await, "allow");
    }
    assert_eq!(asked(&other, "web_get", &json!({})).await, "allow");
}

#[tokio::test]
async fn calls_that_sessions_of_a_run_make_at_the_same_time_all_count() {
    let host = host(hourly(None)).await;
    let root = opened(&host);
    let children: Vec<_> = (0..3).map(|_| below(&host, &root)).collect();
    let none = json!({});
    let answers = join_all(children.iter().map(|child| asked(child, "web_get", &none))).await;
    assert_eq!(answers, ["allow"; 3]);
    assert_eq!(asked(&root, "web_get", &json!({})).await, "slowly");
}

#[tokio::test]
async fn a_rate_can_be_of_a_session_or_of_all() {
    for (scope, of_another_run, of_a_child) in [("session", "allow", "allow"), ("plugin", "slowly", "slowly")] {
        let host = host(hourly(Some(scope))).await;
        let (one, other) = (opened(&host), opened(&host));
        for expected in ["allow", "allow", "allow", "slowly"] {
            assert_eq!(asked(&one, "web_get", &json!({})).await, expected, "{scope}");
        }
        assert_eq!(asked(&other, "web_get", &json!({})).await, of_another_run, "{scope}");
        assert_eq!(asked(&below(&host, &one), "web_get", &json!({})).await, of_a_child, "{scope}");
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
    let mut entry = entry("policy", &json!([{ "id": "slowly", "rate": { "calls": 1, "seconds": 1 } }]));
    entry.grants.state = None;
    let config = Config::from_entries(vec![entry], Settings::default()).expect("a configuration");
    let error = Host::builder(config).build().await.expect_err("a refusal").to_string();
    assert!(error.contains("state"), "{error}");
}
