//! Nothing that one event leaves behind is in the memory of the next, whosesoever it is.

use super::component::Shape;
use crate::support::spec;
use hookhost::config::{Entry, Settings};
use hookhost::{Config, Host, Session, TransformOutcome};
use std::num::NonZeroU32;

/// Fills what it has with the secret: all of its memory and as much more as it is given, a table,
/// globals, and its stack, deep down. Then it answers, or traps where the prompt says so.
const KEEPER: &str = r#"
    (table $mine 1000 5000 funcref)
    (global $secret (mut i64) (i64.const 0))
    (func $spill (param $deep i32) (param i64 i64 i64 i64) (result i64)
      (if (local.get $deep) (then (return (i64.xor
        (call $spill (i32.sub (local.get $deep) (i32.const 1))
          (local.get 1) (local.get 2) (local.get 3) (local.get 4))
        (i64.mul (local.get 1) (i64.mul (local.get 2) (i64.mul (local.get 3) (local.get 4))))))))
      (local.get 1))
    (func $bad (param $text i32) (param $len i32) (result i32)
      (local $at i32) (local $second i32)
      (local.set $second (i32.load8_u offset=1 (local.get $text)))
      (drop (call $spill (i32.const 2000) (i64.const 0x5ec2e7_5ec2e7_5ec2) (i64.const 0x5ec2e7_5ec2e7_5ec2)
        (i64.const 0x5ec2e7_5ec2e7_5ec2) (i64.const 0x5ec2e7_5ec2e7_5ec2)))
      (drop (table.grow $mine (ref.func $spill) (i32.const 4000)))
      (table.fill $mine (i32.const 0) (ref.func $spill) (table.size $mine))
      (global.set $secret (i64.const 0x5ec2e7_5ec2e7_5ec2))
      (drop (memory.grow (i32.const 100)))
      (local.set $at (i32.const 64))
      (loop
        (i64.store (local.get $at) (i64.const 0x5ec2e7_5ec2e7_5ec2))
        (br_if 0 (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 8)))
          (i32.sub (i32.shl (memory.size) (i32.const 16)) (i32.const 8)))))
      (if (i32.eq (local.get $second) (i32.const 116 (;t;))) (then unreachable))
      (call $keep))
    (elem declare func $spill)"#;

/// Looks at all that it has for anything that it did not put there itself: its memory (except
/// where the event is, which the host has just given it, and its answer), what it gets more of, its
/// table and globals. It answers with what it found.
const SEEKER: &str = r#"
    (table $mine 1000 5000 funcref)
    (global $secret (mut i64) (i64.const 0))
    (func $bad (param $text i32) (param $len i32) (result i32)
      (local $at i32) (local $found i32) (local $pages i32)
      (local.set $pages (memory.size))
      (drop (memory.grow (i32.const 100)))
      (drop (table.grow $mine (ref.null func) (i32.const 4000)))
      (local.set $at (i32.const 64))
      (loop
        (if (i64.ne (i64.const 0) (i64.load (local.get $at)))
          ;; The event is at 64 KiB, and shorter than a KiB.
          (then (if (i32.or (i32.lt_u (local.get $at) (i32.const 65536)) (i32.ge_u (local.get $at) (i32.const 66560)))
            (then (local.set $found (i32.const 1))))))
        (br_if 0 (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 8)))
          (i32.sub (i32.shl (memory.size) (i32.const 16)) (i32.const 8)))))
      (if (i64.ne (global.get $secret) (i64.const 0)) (then (local.set $found (i32.const 2))))
      (local.set $at (i32.const 0))
      (loop
        (if (i32.eqz (ref.is_null (table.get $mine (local.get $at)))) (then (local.set $found (i32.const 3))))
        (br_if 0 (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 1))) (table.size $mine))))
      (i32.store8 (i32.const 0) (i32.const 1 (;replace;)))
      (i32.store8 (i32.const 16) (i32.add (i32.const 48) (local.get $found)))
      (i32.store (i32.const 4) (i32.const 16))
      (i32.store (i32.const 8) (i32.const 1))
      (i32.const 0))"#;

/// Both in one: what begins with `bs` seeks.
fn both() -> String {
    let seeker =
        SEEKER.replace("(table $mine 1000 5000 funcref)", "").replace("(global $secret (mut i64) (i64.const 0))", "");
    let keeper = KEEPER.replace("(func $bad", "(func $fill");
    format!(
        "{keeper} {} (func $bad (param $text i32) (param $len i32) (result i32)
            (if (i32.eq (i32.load8_u offset=1 (local.get $text)) (i32.const 115 (;s;)))
                (then (return (call $seek (local.get $text) (local.get $len)))))
            (call $fill (local.get $text) (local.get $len)))",
        seeker.replace("(func $bad", "(func $seek")
    )
}

/// A host with room for one call at a time, so that each gets what the one before had.
async fn host(entries: Vec<Entry>) -> Host {
    let mut settings = Settings::default();
    settings.concurrent_calls = NonZeroU32::MIN;
    Host::builder(Config::from_entries(entries, settings).unwrap()).build().await.unwrap()
}

async fn ask(session: &Session, prompt: &str) -> Option<String> {
    match session.prompt_submit(prompt.into()).await.outcome {
        TransformOutcome::Passed { value } => Some(value),
        TransformOutcome::Withheld(_) => None,
    }
}

#[tokio::test]
async fn a_guest_finds_nothing_of_another_session_in_what_the_same_plugin_left() {
    let directory = tempfile::tempdir().unwrap();
    let host = host(vec![Shape::of_module("both", &both()).entry(directory.path())]).await;
    let (one, two) = (host.open_session(spec()).unwrap(), host.open_session(spec()).unwrap());
    for _ in 0..3 {
        // Also where the call was cut off.
        assert_eq!(ask(&one, "bt").await, None);
        assert_eq!(ask(&two, "bs").await.as_deref(), Some("0"));
        assert_eq!(ask(&one, "bad").await.as_deref(), Some("bad"));
        assert_eq!(ask(&two, "bs").await.as_deref(), Some("0"));
        assert_eq!(ask(&one, "bad").await.as_deref(), Some("bad"));
        assert_eq!(ask(&one, "bs").await.as_deref(), Some("0"));
    }
}

#[tokio::test]
async fn a_guest_finds_nothing_of_another_plugin() {
    let directory = tempfile::tempdir().unwrap();
    let mut keeper = Shape::of_module("keeper", KEEPER).entry(directory.path());
    let mut seeker = Shape::of_module("seeker", SEEKER).entry(directory.path());
    (keeper.priority, seeker.priority) = (1, 2);
    let host = host(vec![keeper, seeker]).await;
    for _ in 0..3 {
        let session = host.open_session(spec()).unwrap();
        assert_eq!(ask(&session, "bad").await.as_deref(), Some("0"));
    }
}

#[tokio::test]
async fn the_seeker_would_find_what_is_there() {
    // Its own, in the same event: otherwise the tests above could not fail.
    for (leave, found) in [
        ("(i64.store (i32.const 100_000) (i64.const 7))", "1"),
        ("(global.set $secret (i64.const 7))", "2"),
        ("(table.set $mine (i32.const 999) (ref.func $bad))", "3"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let module = SEEKER.replace("(local.set $pages (memory.size))", leave);
        let shape = Shape::of_module("seeker", &format!("{module} (elem declare func $bad)"));
        let session = host(vec![shape.entry(directory.path())]).await.open_session(spec()).unwrap();
        assert_eq!(ask(&session, "bad").await.as_deref(), Some(found), "{leave}");
    }
}
