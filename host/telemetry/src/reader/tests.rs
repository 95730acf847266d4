use super::{Delays, FirstRecord, Reader};
use crate::agents::SessionAgents;
use crate::positions::PositionFile;
use crate::sink::{Entry, Sent, Sink};
use crate::tests::write;
use crate::webhook::{Occasion, Webhook, WebhookSecret};
use hookhost::contract::{Refusal, ToolCall};
use hookhost::{Config, Host};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A sink that refuses some records for ever, and fails some times.
#[derive(Default)]
struct Scripted {
    bad: BTreeSet<u64>,
    failures: u32,
    taken: Rc<RefCell<Vec<u64>>>,
}

impl Sink for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    async fn send(&mut self, entries: &[Entry]) -> Sent {
        if self.failures > 0 {
            self.failures -= 1;
            return Sent::Later { because: "down".into(), after: None };
        }
        if entries.iter().any(|entry| self.bad.contains(&entry.line.seq())) {
            return Sent::Refused { because: "bad".into() };
        }
        self.taken.borrow_mut().extend(entries.iter().map(|entry| entry.line.seq()));
        Sent::All
    }
}

fn reader<S: Sink>(log: &Path, sink: S, first: FirstRecord, positions: &Rc<PositionFile>) -> Reader<S> {
    let agents = Rc::new(RefCell::new(SessionAgents::new(Rc::clone(positions))));
    let opened = Reader::open(sink, log.to_owned(), first, Rc::clone(positions), agents);
    opened.map_err(|(_, error)| error).unwrap()
}

/// Sends everything through a sink. Returns the records that it took, and its state.
async fn sent(log: &Path, bad: BTreeSet<u64>, failures: u32) -> (Vec<u64>, crate::positions::SinkState) {
    let positions = Rc::new(PositionFile::open(log).unwrap());
    let taken = Rc::new(RefCell::new(Vec::new()));
    let sink = Scripted { bad, failures, taken: Rc::clone(&taken) };
    let reader = reader(log, sink, FirstRecord::Beginning, &positions);
    let milliseconds = Duration::from_millis(1);
    let stop = CancellationToken::new();
    let run = reader.with_delays(Delays { first: milliseconds, most: milliseconds }).run(stop.clone());
    let last = hookhost::store::Log::open(log).unwrap().last().unwrap();
    let watch = async {
        while positions.sink("scripted").unwrap().position.map(|position| position.seq) != Some(last) {
            tokio::time::sleep(milliseconds).await;
        }
        stop.cancel();
    };
    tokio::join!(run, watch);
    let taken = taken.borrow().clone();
    (taken, positions.sink("scripted").unwrap())
}

#[tokio::test]
async fn exactly_the_records_that_a_receiver_refuses_are_given_up() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("hookhost.db");
    write(&log, 30).await;
    for bad in [
        vec![],
        vec![1],
        vec![61],
        vec![30, 31],
        vec![1, 2, 3, 60, 61],
        (1..=61).collect(),
        (1..=61).step_by(7).collect(),
    ] {
        let _ = std::fs::remove_file(PositionFile::path_of(&log));
        let bad: BTreeSet<u64> = bad.into_iter().collect();
        let (taken, state) = sent(&log, bad.clone(), 0).await;
        let expected: Vec<u64> = (1..=61).filter(|seq| !bad.contains(seq)).collect();
        assert_eq!(taken, expected, "{bad:?}");
        assert_eq!((state.sent, state.skipped), (expected.len() as u64, bad.len() as u64));
        assert_eq!(state.last_skipped, bad.last().copied());
    }
}

#[tokio::test]
async fn a_receiver_that_was_down_gets_each_record_once_and_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("hookhost.db");
    write(&log, 10).await;
    let (taken, state) = sent(&log, BTreeSet::new(), 5).await;
    assert_eq!(taken, (1..=21).collect::<Vec<_>>());
    assert_eq!((state.error, state.next_attempt), (None, None));
}

/// Answers requests at this address, and returns the header `webhook-id` of each until `count` have come.
fn receive(address: SocketAddr, count: usize) -> Vec<String> {
    let listener = TcpListener::bind(address).unwrap();
    let mut ids = Vec::new();
    for mut stream in listener.incoming().map(Result::unwrap) {
        let mut reader = BufReader::new(&stream);
        let (mut line, mut length) = (String::new(), 0);
        while reader.read_line(&mut line).unwrap() > 2 {
            match line.trim().split_once(": ") {
                Some(("content-length", value)) => length = value.parse().unwrap(),
                Some(("webhook-id", value)) => ids.push(value.to_owned()),
                _ => {}
            }
            line.clear();
        }
        std::io::copy(&mut reader.take(length), &mut std::io::sink()).unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n").unwrap();
        if ids.len() == count {
            break;
        }
    }
    ids
}

#[tokio::test]
async fn after_an_hour_without_its_receiver_a_webhook_sends_each_message_once_and_in_order() {
    /// All delays are shorter by this factor, so a second is an hour.
    const FASTER: u32 = 3600;
    const EVENTS: usize = 100;
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("hookhost.db");
    let no = |_: &ToolCall| Some(Refusal::new("no"));
    let host = Host::builder(Config::empty()).rule("no", no).store(&log).build().await.unwrap();
    let session = host.session("some-agent", "/work").unwrap();
    for number in 0..EVENTS {
        let _ = session.check_tool("bash", &serde_json::json!({ "number": number })).await;
    }
    host.drain(Duration::from_secs(5)).await.unwrap();
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://{address}/").parse().unwrap();
    let secret = WebhookSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
    let webhook = Webhook::new(url, secret, vec![Occasion::Rejected]).unwrap();
    let positions = Rc::new(PositionFile::open(&log).unwrap());
    let stop = CancellationToken::new();
    let delays = Delays { first: Delays::default().first / FASTER, most: Delays::default().most / FASTER };
    let run = reader(&log, webhook, FirstRecord::Beginning, &positions).with_delays(delays).run(stop.clone());
    let outage = async {
        tokio::time::sleep(Duration::from_secs(3600) / FASTER).await;
        let down = positions.sink("webhook").unwrap();
        assert!(down.sent == 0 && down.error.is_some(), "{down:?}");
        let ids = tokio::task::spawn_blocking(move || receive(address, EVENTS)).await.unwrap();
        stop.cancel();
        ids
    };
    let ((), ids) = tokio::join!(run, outage);
    let numbers: Vec<u64> = ids.iter().map(|id| id.rsplit('_').next().unwrap().parse().unwrap()).collect();
    assert!(numbers.len() == EVENTS && numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
    let state = positions.sink("webhook").unwrap();
    assert_eq!((state.error, state.skipped), (None, 0));
}

#[tokio::test]
async fn a_sink_goes_on_where_it_was_and_begins_again_in_another_log() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("hookhost.db");
    write(&log, 1).await;
    assert_eq!(sent(&log, BTreeSet::new(), 0).await.0, [1, 2, 3]);
    write(&log, 1).await;
    assert_eq!(sent(&log, BTreeSet::new(), 0).await.0, [4, 5]);
    for end in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(directory.path().join(format!("hookhost.db{end}")));
    }
    write(&log, 1).await;
    assert_eq!(sent(&log, BTreeSet::new(), 0).await.0, [1, 2, 3]);
}

#[tokio::test]
async fn a_receiver_decides_how_long_the_sink_waits_at_least_and_only_within_bounds() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("hookhost.db");
    write(&log, 1).await;
    let positions = Rc::new(PositionFile::open(&log).unwrap());
    let mut reader = reader(&log, Scripted::default(), FirstRecord::Beginning, &positions);
    let hour = Duration::from_secs(3600);
    for (after, from, to) in [
        (Some(Duration::ZERO), Duration::from_millis(700), Duration::from_secs(2)),
        (Some(Duration::ZERO), Duration::from_millis(1400), Duration::from_secs(3)),
        (Some(hour / 2), hour / 4, hour),
        (Some(hour * 9), hour / 2, hour * 2),
    ] {
        let wait = reader.fail("busy", after);
        assert!(from < wait && wait < to, "{after:?}: {wait:?}");
    }
}

#[tokio::test]
async fn a_new_sink_begins_now_but_after_a_loss_of_the_positions_it_begins_with_the_first_record() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("hookhost.db");
    write(&log, 1).await;
    let begins = || {
        let positions = Rc::new(PositionFile::open(&log).unwrap());
        reader(&log, Scripted::default(), FirstRecord::Now, &positions).state.position.unwrap().seq
    };
    assert_eq!(begins(), 3);
    std::fs::write(PositionFile::path_of(&log), "not a database".repeat(100)).unwrap();
    assert_eq!(begins(), 0);
}
