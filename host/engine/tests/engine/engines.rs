//! One engine for many hosts and rule sets of a process.

use crate::support::{bash, plugin, spec};
use hookhost::config::{Entry, Settings};
use hookhost::contract::Decision;
use hookhost::{Config, Engine, Host, Session};
use serde_json::json;
use std::num::NonZeroU32;

fn config(entries: Vec<Entry>) -> Config {
    Config::from_entries(entries, Settings::default()).unwrap()
}

/// A rule that rejects commands that contain `word`.
fn rejects(word: &str) -> Entry {
    plugin("rejects", json!({"before-tool-call": {"when": {"contains": word}, "verdict": "reject", "reason": word}}))
}

async fn is_rejected(session: &Session, command: &str) -> bool {
    matches!(session.before_tool_call(bash(session, command)).await.outcome, Decision::Rejected(_))
}

#[tokio::test]
async fn more_hosts_share_an_engine_than_a_process_has_address_space_for() {
    let engine = Engine::new();
    let mut hosts = Vec::new();
    // A pool reserves a terabyte, and a process has 128.
    for _ in 0..300 {
        hosts.push(Host::builder(config(vec![rejects("deploy")])).engine(&engine).build().await.unwrap());
    }
    assert_eq!(format!("{engine:?}"), "Engine { pools: 1, .. }");
    for host in [&hosts[0], &hosts[299]] {
        let session = host.open_session(spec()).unwrap();
        assert!(is_rejected(&session, "deploy").await);
        assert!(!is_rejected(&session, "ls").await);
    }
}

#[tokio::test]
async fn a_session_runs_under_the_rules_that_it_names() {
    let host = Host::builder(config(vec![rejects("deploy")])).build().await.unwrap();
    let other = host.load_rules(&config(vec![rejects("push")])).await.unwrap();
    let own = host.open_session(spec()).unwrap();
    let named = host.open_session(spec().rules(&other)).unwrap();
    assert!(is_rejected(&own, "deploy").await && !is_rejected(&own, "push").await);
    assert!(!is_rejected(&named, "deploy").await && is_rejected(&named, "push").await);
    assert_eq!(other.plugins()[0].entry().config, rejects("push").config);
    assert_eq!(host.rules().plugins()[0].entry().config, rejects("deploy").config);
}

#[tokio::test]
async fn a_rule_set_that_is_reloaded_counts_for_its_sessions_and_no_others() {
    let host = Host::builder(config(vec![rejects("deploy")])).build().await.unwrap();
    let other = host.load_rules(&config(vec![rejects("push")])).await.unwrap();
    let own = host.open_session(spec()).unwrap();
    let named = host.open_session(spec().rules(&other)).unwrap();
    let changes = host.reload_rules(&other, &config(vec![rejects("tag")])).await.unwrap();
    assert_eq!(changes.changed, ["rejects"]);
    assert!(is_rejected(&named, "tag").await && !is_rejected(&named, "push").await);
    assert!(is_rejected(&own, "deploy").await && !is_rejected(&own, "tag").await);
}

#[tokio::test]
async fn rule_sets_with_larger_limits_have_a_pool_with_room_for_them_and_the_others_use_it_too() {
    let engine = Engine::new();
    let small = Host::builder(config(vec![rejects("a")])).engine(&engine).build().await.unwrap();
    let mut large = rejects("b");
    large.limits.memory = large.limits.memory.checked_mul(2.try_into().unwrap()).unwrap();
    let rules = small.load_rules(&config(vec![large])).await.unwrap();
    assert_eq!(format!("{engine:?}"), "Engine { pools: 2, .. }");
    let again = small.load_rules(&config(vec![rejects("c")])).await.unwrap();
    assert_eq!(format!("{engine:?}"), "Engine { pools: 2, .. }");
    let session = small.open_session(spec().rules(&rules)).unwrap();
    assert!(is_rejected(&session, "b").await);
    let session = small.open_session(spec().rules(&again)).unwrap();
    assert!(is_rejected(&session, "c").await);
}

#[tokio::test]
async fn rules_that_want_fewer_calls_at_once_have_a_pool_of_their_own() {
    let engine = Engine::new();
    let host = Host::builder(config(vec![rejects("a")])).engine(&engine).build().await.unwrap();
    let mut settings = Settings::default();
    settings.concurrent_calls = NonZeroU32::MIN;
    let narrow = host.load_rules(&Config::from_entries(vec![rejects("b")], settings).unwrap()).await.unwrap();
    assert_eq!(format!("{engine:?}"), "Engine { pools: 2, .. }");
    drop(narrow);
    assert_eq!(format!("{engine:?}"), "Engine { pools: 1, .. }", "what nobody uses is given back");
}
