//! The first gate of an embedder: a host, a session and one call, with and without `async`.

use crate::support::{builder, component, host, plugin, spec};
use futures_util::FutureExt as _;
use hookhost::approval::{Approval, ApprovalRequest, Approver};
use hookhost::config::{Config, Entry};
use hookhost::contract::{Cause, ToolResult, TransformOutcome};
use hookhost::{Decision, Error, Host, blocking};
use serde_json::json;
use std::sync::{Arc, OnceLock};

fn guard() -> Entry {
    let entry = Entry::from_file("path-guard", component("path_guard.wasm")).unwrap();
    entry.with("protected", ["infra/**"])
}

#[tokio::test]
async fn a_call_is_checked_by_its_name_and_typed_arguments() {
    let host = builder(Config::empty()).plugin(guard()).build().await.unwrap();
    let session = host.session("my-agent", "/work").unwrap();
    let settled = session.check_tool("write_file", &json!({ "path": "infra/x", "content": "" })).await;
    let Decision::Rejected(rejection) = settled.outcome else { panic!("{:?}", settled.outcome) };
    assert!(rejection.to_string().starts_with("Rejected by path-guard: "), "{rejection}");

    let arguments = json!({ "path": "src/x", "content": "" });
    let Decision::Allowed { value: call } = session.check_tool("write_file", &arguments).await.outcome else {
        panic!("a path that nobody protects");
    };
    assert_eq!((call.name(), call.arguments(), call.changed_by()), ("write_file", &arguments, &[][..]));
}

#[tokio::test]
async fn an_allowed_call_says_who_changed_it() {
    let adds = plugin(
        "adds",
        json!({ "before-tool-call": { "when": { "lacks": "2" }, "verdict": "modify", "value": { "a": 2 } } }),
    );
    let host = host(vec![adds]).await;
    let session = host.open_session(spec()).unwrap();
    let Decision::Allowed { value: call } = session.check_tool("any", &json!({ "a": 1 })).await.outcome else {
        panic!("changed, and allowed");
    };
    assert_eq!(call.changed_by(), ["adds"]);
    assert_eq!(call.arguments(), &json!({ "a": 2 }));
}

#[tokio::test]
async fn the_result_of_a_checked_call_is_checked() {
    let withholds = plugin("withholds", json!({ "after-tool-call": { "verdict": "reject", "reason": "secret" } }));
    let host = host(vec![withholds]).await;
    let session = host.open_session(spec()).unwrap();
    let Decision::Allowed { value: call } = session.check_tool("any", &json!({})).await.outcome else {
        panic!("nobody rejects the call");
    };
    let result = ToolResult { text: "a secret".into(), ..ToolResult::default() };
    assert!(matches!(session.check_result(&call, result).await.outcome, TransformOutcome::Withheld(_)));
}

#[test]
fn without_a_runtime_there_is_an_error_and_no_panic() {
    let built = Host::builder(Config::empty()).build().now_or_never();
    assert!(matches!(built, Some(Err(Error::NoRuntime))), "{built:?}");
}

#[test]
fn within_a_runtime_without_a_timer_there_is_an_error_and_no_panic() {
    let without_timer = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let built = without_timer.block_on(Host::builder(Config::empty()).build());
    assert!(matches!(built, Err(Error::NoTimer)), "{built:?}");

    let with_timer = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let sleeps = plugin("sleeps", json!({ "before-tool-call": { "misbehave": "sleep" } }));
    let host = with_timer.block_on(host(vec![sleeps]));
    let session = host.open_session(spec()).unwrap();
    let asked = without_timer.block_on(session.check_tool("any", &json!({})));
    let Decision::Rejected(rejection) = asked.outcome else { panic!("the plugin cannot be waited for") };
    assert_eq!(rejection.cause, Cause::NoRuntime);
    assert!(rejection.to_string().contains("enable_time"), "{rejection}");
}

fn is_rejected(session: &blocking::Session) -> bool {
    let settled = session.check_tool("write_file", &json!({ "path": "infra/x", "content": "" }));
    matches!(settled.outcome, Decision::Rejected(_))
}

fn blocking_session() -> blocking::Session {
    let host = builder(Config::empty()).plugin(guard()).build_blocking().unwrap();
    host.session("my-agent", "/work").unwrap()
}

#[test]
fn a_blocking_host_works_without_a_runtime() {
    let session = blocking_session();
    assert!(is_rejected(&session));
    let sessions: Vec<_> = (0..8).map(|_| session.clone()).collect();
    std::thread::scope(|scope| {
        for session in &sessions {
            scope.spawn(|| assert!(is_rejected(session)));
        }
    });
}

#[test]
fn a_blocking_host_works_within_a_runtime_of_either_kind() {
    for mut kind in [tokio::runtime::Builder::new_current_thread(), tokio::runtime::Builder::new_multi_thread()] {
        kind.build().unwrap().block_on(async { assert!(is_rejected(&blocking_session())) });
    }
}

/// Asks a session of its own before it says yes.
struct LooksItUp {
    session: Arc<OnceLock<blocking::Session>>,
}

impl Approver for LooksItUp {
    fn ask(&self, _: ApprovalRequest) -> futures_util::future::BoxFuture<'_, Approval> {
        Box::pin(async move {
            match self.session.get().is_some_and(is_rejected) {
                true => Approval::yes(),
                false => Approval::no(),
            }
        })
    }
}

#[test]
fn an_approver_may_use_its_own_blocking_session() {
    let own = Arc::new(OnceLock::new());
    let asks = plugin(
        "asks",
        json!({ "before-tool-call": { "when": { "contains": "ask" }, "verdict": "escalate", "question": "?" } }),
    );
    let config = Config::from_entries(vec![asks, guard()], hookhost::config::Settings::default()).unwrap();
    let approver = Arc::new(LooksItUp { session: Arc::clone(&own) });
    let host = builder(config).approver(approver).build_blocking().unwrap();
    let session = own.get_or_init(|| host.session("my-agent", "/work").unwrap());
    let settled = session.check_tool("any", &json!({ "ask": true }));
    assert!(matches!(settled.outcome, Decision::Allowed { .. }), "{:?}", settled.outcome);
}

#[test]
fn an_approver_may_use_another_blocking_session() {
    let other = Arc::new(OnceLock::new());
    let _ = other.set(blocking_session());
    let asks = plugin("asks", json!({ "before-tool-call": { "verdict": "escalate", "question": "?" } }));
    let config = Config::from_entries(vec![asks], hookhost::config::Settings::default()).unwrap();
    let host = builder(config).approver(Arc::new(LooksItUp { session: other })).build_blocking().unwrap();
    // More than the runtime has threads.
    let sessions: Vec<_> = (0..4).map(|_| host.session("my-agent", "/work").unwrap()).collect();
    std::thread::scope(|scope| {
        for session in &sessions {
            scope.spawn(|| {
                let settled = session.check_tool("any", &json!({}));
                assert!(matches!(settled.outcome, Decision::Allowed { .. }), "{:?}", settled.outcome);
            });
        }
    });
}
