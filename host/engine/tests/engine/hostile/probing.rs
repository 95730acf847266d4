//! A guest that looks for the time and for chance learns the event's time, and what follows from its identifier.

use super::component::Shape;
use crate::support::spec;
use hookhost::config::Settings;
use hookhost::replay::replay;
use hookhost::store::Log;
use hookhost::{Config, Host, Session, TransformOutcome};
use std::time::Duration;

/// Looks at every clock, spins in between, looks again, and draws random numbers. It answers with
/// 40 bytes, each byte of them as two letters: the time of the event, the wall clock's seconds and
/// nanoseconds, how far either clock advanced, and a random number.
const PROBE: &str = r#"
    (func $hex (param $from i32) (param $to i32) (param $bytes i32)
      (loop
        (i32.store8 (local.get $to) (i32.add (i32.const 97) (i32.shr_u (i32.load8_u (local.get $from)) (i32.const 4))))
        (i32.store8 offset=1 (local.get $to)
          (i32.add (i32.const 97) (i32.and (i32.load8_u (local.get $from)) (i32.const 15))))
        (local.set $from (i32.add (local.get $from) (i32.const 1)))
        (local.set $to (i32.add (local.get $to) (i32.const 2)))
        (br_if 0 (local.tee $bytes (i32.sub (local.get $bytes) (i32.const 1))))))
    (func $bad (param $text i32) (param $len i32) (result i32)
      (local $began i64) (local $spin i32)
      (local.set $began (call $monotonic))
      (i64.store (i32.const 256) (call $time))
      (call $wall (i32.const 264))
      (i32.store (i32.const 276) (i32.const 0))
      (loop (br_if 0 (i32.lt_u (local.tee $spin (i32.add (local.get $spin) (i32.const 1))) (i32.const 3_000_000))))
      (call $wall (i32.const 512))
      (i64.store (i32.const 280) (i64.add
        (i64.sub (call $monotonic) (local.get $began))
        (i64.add (i64.sub (i64.load (i32.const 512)) (i64.load (i32.const 264)))
          (i64.extend_i32_u (i32.sub (i32.load (i32.const 520)) (i32.load (i32.const 272)))))))
      (i64.store (i32.const 288) (call $random-u64))
      (call $hex (i32.const 256) (i32.const 1024) (i32.const 40))
      (i32.store8 (i32.const 0) (i32.const 1 (;replace;)))
      (i32.store (i32.const 4) (i32.const 1024))
      (i32.store (i32.const 8) (i32.const 80))
      (i32.const 0))"#;

/// What it learnt.
#[derive(Debug, PartialEq, Eq)]
struct Learnt {
    event: u64,
    wall: (u64, u64),
    advanced: u64,
    random: u64,
}

async fn probe(session: &Session) -> (Learnt, u64) {
    let settled = session.prompt_submit("bad".into()).await;
    let TransformOutcome::Passed { value } = settled.outcome else { panic!("{:?}", settled.record) };
    let bytes: Vec<u8> = value.as_bytes().chunks(2).map(|pair| (pair[0] - b'a') << 4 | (pair[1] - b'a')).collect();
    let word = |index: usize| u64::from_le_bytes(bytes[8 * index..8 * index + 8].try_into().unwrap());
    let learnt = Learnt { event: word(0), wall: (word(1), word(2)), advanced: word(3), random: word(4) };
    (learnt, settled.record.header.time)
}

#[tokio::test]
async fn a_guest_that_probes_for_time_and_chance_learns_nothing_but_the_event() {
    let directory = tempfile::tempdir().unwrap();
    let shape = Shape::of_module("probe", PROBE);
    let config = Config::from_entries(vec![shape.entry(directory.path())], Settings::default()).unwrap();
    let log = directory.path().join("hookhost.db");
    let host = Host::builder(config.clone()).store(&log).build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    let mut randoms = std::collections::BTreeSet::new();
    for _ in 0..3 {
        let (learnt, time) = probe(&session).await;
        assert_eq!(learnt.event, time);
        assert_eq!(learnt.wall, (time / 1000, time % 1000 * 1_000_000));
        assert_eq!(learnt.advanced, 0, "a clock advanced while it computed");
        randoms.insert(learnt.random);
    }
    assert_eq!(randoms.len(), 3, "each event has numbers of its own");

    // Asked again about the same events, later, it learns the same.
    drop(session);
    host.drain(Duration::from_secs(10)).await.unwrap();
    let again = Host::builder(config).build().await.unwrap();
    let summary = replay(&again, &Log::open(&log).unwrap(), |_| {}).await.unwrap();
    assert_eq!((summary.different, summary.not_replayable), (0, 0), "{summary:?}");
    assert!(summary.same >= 3, "{summary:?}");
}
