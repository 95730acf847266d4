//! Each limit of `[plugin.limits]` is reached: what is then said of the plugin, and that its next event works.

use super::component::Shape;
use crate::events::payload;
use crate::failure_kinds::with_limits;
use crate::support::{plugin, spec};
use hookhost::config::{Entry, Limits, Settings};
use hookhost::contract::EventKind;
use hookhost::session::DispatchOptions;
use hookhost::{Config, Host, Session, TransformOutcome};
use serde_json::{Value, json};
use std::path::Path;

/// A session of a plugin with a core module like that, under limits written like that.
async fn session(directory: &Path, limits: &str, module: &str) -> Result<Session, String> {
    let shape = Shape::of_module("p", &format!(";;@ limits: {limits}\n{module}"));
    let config = Config::from_entries(vec![shape.entry(directory)], Settings::default()).unwrap();
    let host = Host::builder(config).build().await.map_err(|error| error.to_string())?;
    Ok(host.open_session(spec()).unwrap())
}

/// The report about the plugin at an event at which it misbehaves; none: it continues.
async fn misbehaves(session: &Session) -> Option<(Value, String)> {
    let settled = session.prompt_submit("bad".into()).await;
    let failure = settled.record.calls[0].failure.clone()?;
    Some((json!(failure.kind), settled.record.reason.unwrap_or_default()))
}

async fn behaves(session: &Session) -> bool {
    let settled = session.prompt_submit("good".into()).await;
    matches!(settled.outcome, TransformOutcome::Passed { value } if value == "good")
}

/// A call of it does this, and then answers.
fn doing(what: &str) -> String {
    format!("(func $bad (param $text i32) (param $len i32) (result i32) (local $n i32) {what} (call $keep))")
}

#[tokio::test]
async fn each_limit_on_a_call_has_its_kind_and_names_its_key_and_the_next_event_works() {
    let grow = "(if (i32.eq (i32.const -1) (memory.grow (i32.const 14))) (then unreachable))";
    let table = "(if (i32.eq (i32.const -1) (table.grow $table (ref.null func) (i32.const 98))) (then unreachable))";
    let things = "(loop (drop (call $thing-new (i32.const 1)))
        (br_if 0 (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 50))))";
    let calls = "(loop (drop (call $time))
        (br_if 0 (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 50))))";
    let spin =
        "(loop (br_if 0 (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 1_000_000))))";
    let answer = "(i32.store8 (i32.const 0) (i32.const 1)) (i32.store (i32.const 4) (i32.const 64))
        (i32.store (i32.const 8) (i32.const 50_000)) (return (i32.const 0))";
    // Each with the limit that is just enough, and the one that is not.
    for (what, enough, less, kind) in [
        (spin, "fuel = 10_000_000", "fuel = 1_000_000", "out-of-fuel"),
        (grow, "memory = \"1MiB\"", "memory = 1_048_575", "out-of-memory"),
        (table, "table-elements = 100", "table-elements = 99", "out-of-memory"),
        (things, "handles = 50", "handles = 49", "out-of-memory"),
        (calls, "capability-calls = 50", "capability-calls = 49", "capability-calls"),
        (answer, "output = 50_000", "output = 20_000", "answer-too-large"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let generous = session(directory.path(), enough, &doing(what)).await.unwrap();
        assert_eq!(misbehaves(&generous).await, None, "{enough}");
        let strict = session(directory.path(), less, &doing(what)).await.unwrap();
        let (found, said) = misbehaves(&strict).await.unwrap_or_else(|| panic!("{less} is not held"));
        let key = less.split(' ').next().unwrap();
        assert!(found == json!(kind) && said.contains(&format!("(limits.{key})")), "{less}: {found} {said}");
        assert!(behaves(&strict).await, "{less}");
    }
}

#[tokio::test]
async fn what_a_plugin_is_made_of_is_limited_when_it_is_loaded() {
    // The skeleton has one table, three core modules, and one of wasmtime's where it calls itself.
    for (enough, less) in [("tables = 3", "tables = 2"), ("instances = 4", "instances = 3")] {
        let directory = tempfile::tempdir().unwrap();
        let module = "(table 1 funcref) (table 1 funcref)";
        assert!(behaves(&session(directory.path(), enough, module).await.unwrap()).await, "{enough}");
        let refused = session(directory.path(), less, module).await.map(drop).unwrap_err();
        let key = less.split(' ').next().unwrap();
        assert!(refused.contains(&format!("limits.{key} allows")), "{less}: {refused}");
    }
}

#[tokio::test]
async fn what_a_plugin_is_made_of_is_limited_for_each_plugin_though_another_may_have_more() {
    let directory = tempfile::tempdir().unwrap();
    let generous = Shape::of_module("generous", ";;@ limits: instances = 200, tables = 100").entry(directory.path());
    for (limit, said) in [
        ("instances = 2", "has more core instances than the allowed 2 (limits.instances)"),
        ("tables = 1", "has more tables than the allowed 1 (limits.tables)"),
        ("memory = \"64KiB\"", "asked for more than its 65536 bytes of memory (limits.memory)"),
        ("table-elements = 1", "asked for more than its 1 elements of tables (limits.table-elements)"),
    ] {
        let module = format!(";;@ limits: {limit}\n(table 1 funcref)");
        let strict = Shape::of_module("strict", &module).entry(directory.path());
        let config = Config::from_entries(vec![generous.clone(), strict], Settings::default()).unwrap();
        let refused = Host::builder(config).build().await.map(drop).unwrap_err().to_string();
        assert_eq!(refused, format!("plugin `strict` failed while it was set up: it {said}"));
    }
}

#[tokio::test]
async fn handles_that_are_given_back_can_be_had_again() {
    let directory = tempfile::tempdir().unwrap();
    let things = "(loop (call $thing-drop (call $thing-new (i32.const 1)))
        (br_if 0 (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 1000))))";
    let destructor = "(elem (i32.const 1) $destructor) (func $destructor (param i32))";
    let module = format!("{destructor} {}", doing(things));
    let session = session(directory.path(), "handles = 1", &module).await.unwrap();
    assert_eq!(misbehaves(&session).await, None);
}

#[tokio::test]
async fn what_is_logged_beyond_the_limit_is_dropped_and_counted() {
    let directory = tempfile::tempdir().unwrap();
    let lines = "(loop (call $log (i32.const 1) (i32.const 64) (i32.const 100))
        (br_if 0 (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 50))))";
    let session = session(directory.path(), "log = 1_000", &doing(lines)).await.unwrap();
    let record = session.prompt_submit("bad".into()).await.record;
    // A line is 100 bytes that are 0, and each of them is six in the log.
    assert_eq!((record.calls[0].log.len(), record.calls[0].log_dropped), (1, 49));
}

#[tokio::test]
async fn lines_beyond_their_number_are_dropped_and_counted_however_short_they_are() {
    let directory = tempfile::tempdir().unwrap();
    let lines = "(loop (call $log (i32.const 1) (i32.const 64) (i32.const 0))
        (br_if 0 (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 1500))))";
    let session = session(directory.path(), "log = \"1MiB\", capability-calls = 2_000", &doing(lines)).await.unwrap();
    let record = session.prompt_submit("bad".into()).await.record;
    assert_eq!((record.calls[0].log.len(), record.calls[0].log_dropped), (1_000, 500));
}

#[tokio::test]
async fn an_event_that_is_too_large_is_not_given() {
    let directory = tempfile::tempdir().unwrap();
    let session = session(directory.path(), "input = 400", "").await.unwrap();
    assert!(behaves(&session).await);
    let record = session.prompt_submit("x".repeat(400)).await.record;
    let failure = record.calls[0].failure.as_ref().unwrap();
    assert_eq!(json!(failure.kind), json!("oversized"));
    assert!(behaves(&session).await);
}

#[tokio::test]
async fn recursion_ends_at_the_stack_whatever_the_limits_are() {
    let directory = tempfile::tempdir().unwrap();
    let deeper = "(func $deeper (param i32) (result i32) (if (local.get 0) (then
        (return (i32.add (i32.const 1) (call $deeper (i32.sub (local.get 0) (i32.const 1))))))) (i32.const 0))";
    for (depth, fails) in [(1_000, false), (10_000_000, true)] {
        let module = format!("{deeper} {}", doing(&format!("(drop (call $deeper (i32.const {depth})))")));
        let session = session(directory.path(), "memory = \"4GiB\"", &module).await.unwrap();
        let found = misbehaves(&session).await;
        assert_eq!(found.is_some(), fails, "{found:?}");
        assert!(found.is_none_or(|(kind, said)| kind == "trap" && said.contains("call stack exhausted")));
        assert!(behaves(&session).await);
    }
}

#[tokio::test]
async fn questions_to_the_model_are_recorded_up_to_a_bound() {
    // Nobody answers them here; each is a megabyte.
    let ask = json!({"model": ["what is this?", "{value}"]});
    let entry: Entry =
        with_limits(plugin("p", json!({"prompt-submit": {"do": vec![ask; 6]}})), |limits: &mut Limits| {
            limits.input = (2 << 20).try_into().unwrap();
            limits.memory = (256 << 20).try_into().unwrap();
        });
    let session = crate::support::session(vec![entry]).await;
    let mut event = payload(EventKind::PromptSubmit);
    event["prompt"] = json!("x".repeat(1 << 20));
    let settled = session.dispatch_event(EventKind::PromptSubmit, event, DispatchOptions::default()).await.unwrap();
    let call = &settled.record.calls[0];
    assert_eq!(call.failure, None);
    assert_eq!(call.inputs.model.len(), 3);
    assert!(json!(settled.record).to_string().contains("the plugin asked the model for more than the log stores"));
}
