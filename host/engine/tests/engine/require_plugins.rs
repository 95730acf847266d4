//! The setting `require-plugins`: nothing passes that no plugin could have looked at.

use crate::support::{builder, plugin, spec};
use hookhost::config::{Config, Entry, Mode, Settings};
use hookhost::contract::{Cause, TransformOutcome, Turn};
use hookhost::{Decision, Host};
use serde_json::json;

fn required() -> Settings {
    let mut settings = Settings::default();
    settings.require_plugins = true;
    settings
}

async fn host(settings: Settings, entries: Vec<Entry>) -> Host {
    builder(Config::from_entries(entries, settings).unwrap()).build().await.unwrap()
}

#[tokio::test]
async fn without_a_plugin_gates_are_rejected_and_texts_withheld() {
    let host = host(required(), vec![]).await;
    let session = host.open_session(spec()).unwrap();
    let settled = session.check_tool("any", &json!({})).await;
    let Decision::Rejected(rejection) = settled.outcome else { panic!("{:?}", settled.outcome) };
    assert_eq!(rejection.cause, Cause::NoPlugin);
    assert_eq!(
        rejection.to_string(),
        "Rejected because no plugin is loaded: `require-plugins` is set; add an entry to the configuration"
    );
    assert_eq!(settled.record.cause, Some(Cause::NoPlugin));
    let TransformOutcome::Withheld(rejection) = session.prompt_submit("hello".into()).await.outcome else {
        panic!("nobody has seen it");
    };
    assert_eq!(rejection.cause, Cause::NoPlugin);
}

#[tokio::test]
async fn unless_plugins_are_required_none_need_be_there() {
    let host = host(Settings::default(), vec![]).await;
    let session = host.open_session(spec()).unwrap();
    assert!(session.check_tool("any", &json!({})).await.outcome.is_allowed());
}

#[tokio::test]
async fn a_plugin_in_audit_mode_is_enough() {
    let mut watches = plugin("watches", json!({ "before-tool-call": { "verdict": "reject", "reason": "no" } }));
    watches.mode = Mode::Observe;
    let host = host(required(), vec![watches]).await;
    let session = host.open_session(spec()).unwrap();
    assert!(session.check_tool("any", &json!({})).await.outcome.is_allowed());
    assert!(session.turn_start(Turn::default()).await.outcome.is_allowed(), "it need not subscribe");
}
