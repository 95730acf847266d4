//! Rules of the program itself: composed, bounded and recorded like plugins.

use crate::support::{builder, plugin, spec};
use hookhost::approval::Approval;
use hookhost::audit::{MemoryLog, Record};
use hookhost::config::{Config, Mode, OnFailure, Settings};
use hookhost::contract::Rejection;
use hookhost::contract::{Cause, Escalation, FailureKind, Refusal, TextVerdict, ToolCallVerdict};
use hookhost::testing::ScriptedApprover;
use hookhost::{Error, GateOutcome, Host, NativePlugin, TransformOutcome, testing};
use serde_json::json;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

fn no_deploys() -> NativePlugin {
    let rule = NativePlugin::new("no-deploys").version("1.2.3");
    rule.before_tool_call(|_, call| match call.name.as_str() {
        "deploy" => Refusal::new("nothing is deployed on a Friday").with_code("deploys.friday").into(),
        _ => ToolCallVerdict::Allow,
    })
}

/// Rejections of a tool by this name.
async fn rejection(session: &hookhost::Session, tool: &str) -> Option<Rejection> {
    match session.check_tool(tool, &json!({})).await.outcome {
        GateOutcome::Rejected(rejection) => Some(rejection),
        _ => None,
    }
}

#[tokio::test]
async fn deploys_are_rejected() {
    let session = testing::session(no_deploys()).await;
    let rejected = rejection(&session, "deploy").await.unwrap();
    assert_eq!(rejected.to_string(), "Rejected by no-deploys: nothing is deployed on a Friday");
    assert_eq!(rejected.refusal.code.as_deref(), Some("deploys.friday"));
    assert_eq!(rejection(&session, "ls").await, None);
}

#[tokio::test]
async fn a_native_rule_and_a_component_see_what_the_other_has_changed() {
    let component = plugin(
        "component",
        json!({ "prompt-submit": { "when": { "lacks": "beta" }, "verdict": "replace", "value": "alpha and beta" } }),
    );
    let seen = Arc::new(Mutex::new(Vec::new()));
    let texts = Arc::clone(&seen);
    let native = NativePlugin::new("native").priority(1).prompt_submit(move |_, prompt| {
        texts.lock().unwrap().push(prompt.clone());
        if prompt.contains("alpha") { TextVerdict::Keep } else { TextVerdict::Replace(format!("alpha {prompt}")) }
    });
    let config = Config::from_entries(vec![component], Settings::default()).unwrap();
    let host = builder(config).native(native).build().await.unwrap();
    let settled = host.open_session(spec()).unwrap().prompt_submit("text".into()).await;
    let TransformOutcome::Passed { value } = settled.outcome else { panic!("nobody withholds it") };
    assert_eq!(value, "alpha and beta");
    assert_eq!(settled.record.changed_by, ["native", "component"]);
    assert_eq!(*seen.lock().unwrap(), ["text"], "a transform is a chain: each is asked once");
}

#[tokio::test]
async fn a_component_rejects_a_call_for_what_a_native_rule_has_made_of_it() {
    let component =
        json!({ "before-tool-call": { "when": { "contains": "evil" }, "verdict": "reject", "reason": "no" } });
    let native = NativePlugin::new("z-native").before_tool_call(|_, call| match call.arguments.contains("evil") {
        true => ToolCallVerdict::Allow,
        false => ToolCallVerdict::Modify(json!({ "command": "evil" }).to_string()),
    });
    let config = Config::from_entries(vec![plugin("component", component)], Settings::default()).unwrap();
    let host = builder(config).native(native).build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    // It was asked first, and is asked again about the change.
    assert_eq!(rejection(&session, "bash").await.unwrap().by, ["component"]);
}

#[tokio::test]
async fn the_record_has_the_programs_version_in_place_of_a_digest_and_cannot_be_replayed() {
    let log = MemoryLog::new();
    let host = Host::builder(Config::empty()).native(no_deploys()).audit(log.clone()).build().await.unwrap();
    let session = host.session("test", "/work").unwrap();
    assert!(rejection(&session, "deploy").await.is_some());
    let records = log.records();
    let Some(Record::Event(record)) = records.iter().find(|record| record.kind() == "event") else {
        panic!("{records:?}")
    };
    let [call] = &record.calls[..] else { panic!("one call") };
    assert_eq!((call.digest, call.native.as_deref()), (None, Some("1.2.3")));
    assert!(call.verdict.as_ref().unwrap().get().contains("deploys.friday"));
    assert_eq!(record.not_replayable, ["no-deploys: it is a rule of the program itself"]);
    assert!(log.to_json_lines().contains(r#""native":"1.2.3""#));
    let loaded = &host.plugins()[0];
    assert_eq!((loaded.digest(), loaded.native_version()), (None, Some("1.2.3")));
}

#[tokio::test]
async fn a_panic_is_a_failure_and_trips_the_rule_after_three() {
    let rule = NativePlugin::new("broken").before_tool_call(|_, _| panic!("a bug"));
    let session = testing::session(rule).await;
    for _ in 0..3 {
        let rejected = rejection(&session, "ls").await.unwrap();
        assert_eq!(rejected.cause, Cause::Failed(FailureKind::Trap));
        assert!(rejected.to_string().contains("the plugin broken failed: it panicked"), "{rejected}");
    }
    assert_eq!(rejection(&session, "ls").await.unwrap().cause, Cause::Failed(FailureKind::Tripped));
    let skips = NativePlugin::new("broken").on_failure(OnFailure::Skip).before_tool_call(|_, _| panic!("a bug"));
    assert_eq!(rejection(&testing::session(skips).await, "ls").await, None);
}

#[tokio::test]
async fn a_rule_that_does_not_return_is_given_up_and_no_more_than_sixteen_are_left_running() {
    let gate = Arc::new((Mutex::new(false), Condvar::new()));
    let running = Arc::new(AtomicU32::new(0));
    let (closed, count) = (Arc::clone(&gate), Arc::clone(&running));
    let rule = NativePlugin::new("stuck").deadline(Duration::from_millis(1)).before_tool_call(move |_, _| {
        count.fetch_add(1, Ordering::Relaxed);
        let mut open = closed.0.lock().unwrap();
        while !*open {
            open = closed.1.wait(open).unwrap();
        }
        ToolCallVerdict::Allow
    });
    let mut settings = Settings::default();
    settings.overload_deadline = Duration::from_millis(1);
    let config = Config::from_entries(Vec::new(), settings).unwrap();
    let host = Host::builder(config).native(rule).build().await.unwrap();
    for call in 0..18 {
        // Each in a session of its own: it is not tripped there.
        let rejected = rejection(&host.session("test", "/work").unwrap(), "ls").await.unwrap();
        let expected = if call < 16 { FailureKind::Deadline } else { FailureKind::Overloaded };
        assert_eq!(rejected.cause, Cause::Failed(expected), "{call}");
    }
    assert_eq!(running.load(Ordering::Relaxed), 16);
    *gate.0.lock().unwrap() = true;
    gate.1.notify_all();
}

#[tokio::test]
async fn in_audit_mode_a_native_rule_changes_nothing() {
    let session = testing::session(no_deploys().mode(Mode::Audit)).await;
    assert_eq!(rejection(&session, "deploy").await, None);
}

#[tokio::test]
async fn a_native_rule_asks_a_person_and_the_script_answers() {
    let asks = NativePlugin::new("asks").before_tool_call(|_, call| {
        ToolCallVerdict::Escalate(Escalation { question: format!("May {} run?", call.name), code: None })
    });
    let approver = ScriptedApprover::new([Approval::yes().by("ada").via("chat"), Approval::no().because("not twice")]);
    let host = Host::builder(Config::empty()).native(asks).approver(approver.clone().into_arc()).build().await.unwrap();
    let session = host.session("test", "/work").unwrap();
    let settled = session.check_tool("a", &json!({})).await;
    assert!(matches!(settled.outcome, GateOutcome::Allowed { .. }));
    // What a rule of the program says may change at any time: it is asked again after the yes.
    let answer = &settled.earlier[0].1.answer;
    assert_eq!((answer.by.as_deref(), answer.via.as_deref()), (Some("ada"), Some("chat")));
    let rejected = rejection(&session, "b").await.unwrap();
    assert_eq!(rejected.to_string(), "Rejected: not approved (asked by asks): May b run? (not twice)");
    let beyond = rejection(&session, "c").await.unwrap();
    assert!(beyond.to_string().ends_with("(the script has no answer 3)"), "{beyond}");
    let asked: Vec<_> =
        approver.asked().into_iter().map(|request| request.questions[0].escalation.question.clone()).collect();
    assert_eq!((asked, approver.left()), (["a", "b", "c"].map(|tool| format!("May {tool} run?")).to_vec(), 0));
}

#[tokio::test]
async fn a_native_rule_observes_and_stays_when_the_rules_are_reloaded() {
    let told = Arc::new(AtomicBool::new(false));
    let noted = Arc::clone(&told);
    let observes = no_deploys().stream_end(move |_, text| noted.store(text == "all", Ordering::Release));
    let host = Host::builder(Config::empty()).native(observes).build().await.unwrap();
    let session = host.session("test", "/work").unwrap();
    let _ = session.stream_end("all".into()).await;
    host.drain(Duration::from_secs(20)).await.unwrap();
    assert!(told.load(Ordering::Acquire));
    host.reload(&Config::empty()).await.unwrap();
    assert!(rejection(&session, "deploy").await.is_some());
}

#[tokio::test]
async fn a_native_rule_has_a_valid_name_that_no_other_plugin_has() {
    let build = |rules: Vec<NativePlugin>| {
        rules.into_iter().fold(Host::builder(Config::empty()), hookhost::HostBuilder::native).build()
    };
    for (rules, why) in [
        (vec![NativePlugin::new("a b")], "a name is 1 to 64"),
        (vec![no_deploys(), no_deploys()], "another plugin has this name"),
    ] {
        let error = build(rules).await.unwrap_err();
        assert!(matches!(&error, Error::Native { why: found, .. } if found.contains(why)), "{error}");
    }
    let config = Config::from_entries(vec![plugin("no-deploys", json!({}))], Settings::default()).unwrap();
    assert!(matches!(builder(config).native(no_deploys()).build().await, Err(Error::Native { .. })));
}
