use super::{Counted, Meter, SharedCounters, send_metrics};
use crate::otlp::{Otlp, OtlpTarget, Signal};
use crate::positions::{PositionFile, SinkState};
use crate::sink::{Sent, Sink as _};
use reqwest::header::HeaderMap;
use rusqlite::Connection;
use serde_json::json;
use std::rc::Rc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

#[tokio::test]
async fn counters_that_were_not_committed_are_written_with_the_next_position() {
    let directory = tempfile::tempdir().unwrap();
    let positions = PositionFile::open(&directory.path().join("hookhost.db")).unwrap();
    let mut meter = Meter::new(SharedCounters::default(), &positions);
    assert_eq!(meter.send(&crate::tests::entries()).await, Sent::All);
    let state = SinkState { name: Meter::NAME.into(), ..SinkState::default() };
    // The disk is full.
    let full = |connection: &Connection| {
        meter.save(connection)?;
        Err(rusqlite::Error::InvalidQuery)
    };
    positions.save(&state, full).unwrap_err();
    positions.save(&state, |connection| meter.save(connection)).unwrap();
    meter.saved();
    let saved = positions.series();
    assert!(saved.iter().any(|(key, _)| key.contains("hookhost.events")), "{saved:?}");
    // What is committed is not written again.
    let other = Connection::open(PositionFile::path_of(&directory.path().join("hookhost.db"))).unwrap();
    other.execute("DELETE FROM series", []).unwrap();
    positions.save(&state, |connection| meter.save(connection)).unwrap();
    assert_eq!(positions.series().len(), 1, "only the time of the first record");
}

#[tokio::test]
async fn metrics_are_sent_again_after_positions_that_could_not_be_read() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("hookhost.db");
    let positions = Rc::new(PositionFile::open(&log).unwrap());
    let other = Connection::open(PositionFile::path_of(&log)).unwrap();
    other.execute_batch("ALTER TABLE sink RENAME TO away").unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1/metrics", listener.local_addr().unwrap()).parse().unwrap();
    let target = OtlpTarget { url, headers: HeaderMap::new(), timeout: Duration::from_secs(10), resource: Vec::new() };
    let otlp = Otlp::new(Signal::Metrics, target, false).unwrap();
    let (interval, stop) = (Duration::from_millis(1), CancellationToken::new());
    let counted = Counted { counters: SharedCounters::default(), log, host: None };
    let sending = send_metrics(otlp, interval, counted, Rc::clone(&positions), stop);
    let arrives = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        other.execute_batch("ALTER TABLE away RENAME TO sink").unwrap();
        let zeros = "0".repeat(64);
        let position = serde_json::from_value(json!({ "log": zeros, "seq": 1, "hash": zeros })).unwrap();
        let state = SinkState { name: Meter::NAME.into(), position: Some(position), ..SinkState::default() };
        positions.save(&state, |_| Ok(())).unwrap();
        tokio::time::timeout(Duration::from_secs(60), listener.accept()).await.unwrap().unwrap()
    };
    tokio::select! {
        () = sending => panic!("it has ended"),
        _ = arrives => {}
    }
}
