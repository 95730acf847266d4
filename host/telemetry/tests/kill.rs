//! Kills the sending process again and again. Each record arrives, and each copy of a record is equal to the first.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue fails")]

use hookhost::{Config, Host};
use hookhost_telemetry::settings::Directories;
use hookhost_telemetry::{Environment, FirstRecord, Readers, Signal, TelemetrySettings};
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use prost::Message as _;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The records that arrived, by their numbers, each with its bytes and the number of its copies.
type Arrived = Arc<Mutex<BTreeMap<i64, (Vec<u8>, u64)>>>;

/// Serves OTLP and counts. Records whose copies differ are a failure of the test.
fn serve(listener: TcpListener) -> Arrived {
    let arrived = Arrived::default();
    let shared = Arc::clone(&arrived);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let arrived = Arc::clone(&shared);
            std::thread::spawn(move || while answer(&stream, &arrived).is_some() {});
        }
    });
    arrived
}

/// Answers one request. Returns `None` at the end of the connection.
fn answer(stream: &TcpStream, arrived: &Arrived) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let request = ExportLogsServiceRequest::decode(body.as_slice()).expect("a message of OTLP");
    let records = request.resource_logs.into_iter().flat_map(|logs| logs.scope_logs).flat_map(|logs| logs.log_records);
    for record in records {
        let seq = record.attributes.iter().find(|attribute| attribute.key == "hookhost.seq");
        let Some(Value::IntValue(seq)) = seq.and_then(|seq| seq.value.clone()?.value) else { panic!("no number") };
        let bytes = record.encode_to_vec();
        let mut arrived = arrived.lock().unwrap();
        let (first, copies) = arrived.entry(seq).or_insert_with(|| (bytes.clone(), 0));
        assert_eq!(*first, bytes, "a copy of record {seq} differs");
        *copies += 1;
    }
    let mut stream = stream;
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\r\n").ok()
}

/// Starts this program again, to send the records of a log.
fn follower(log: &Path, address: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "follow_until_killed", "--ignored"])
        .env("HOOKHOST_TEST_LOG", log)
        .env("HOOKHOST_TEST_OTLP", address)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
#[ignore = "the tests below start it as a process of its own"]
fn follow_until_killed() {
    let Some(log) = std::env::var_os("HOOKHOST_TEST_LOG") else { return };
    let mut settings = TelemetrySettings::default();
    settings.otlp = std::env::var("HOOKHOST_TEST_OTLP").ok();
    settings.signals = Some(vec![Signal::Logs]);
    settings.from = FirstRecord::Beginning;
    let directories = Directories { config: Path::new("/"), home: None };
    let (sinks, _) = settings.sinks(&Environment::default(), directories);
    let _readers = Readers::start(sinks, Path::new(&log), None).unwrap();
    loop {
        std::thread::park();
    }
}

fn write(host: &Host, sessions: usize) {
    for _ in 0..sessions {
        drop(host.session("some-agent", "/work").unwrap());
    }
}

/// Waits until the record with this number has arrived.
fn wait_for(arrived: &Arrived, last: u64) {
    let began = Instant::now();
    while arrived.lock().unwrap().last_key_value().is_none_or(|(seq, _)| seq.unsigned_abs() < last) {
        assert!(began.elapsed() < Duration::from_secs(300), "record {last} did not arrive");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn last(log: &Path) -> u64 {
    hookhost::store::Log::open(log).unwrap().last().unwrap()
}

#[tokio::test]
async fn each_record_arrives_although_the_sending_process_is_killed_fifty_times() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("hookhost.db");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let arrived = serve(listener);
    let host = Host::builder(Config::empty()).store(&log).build().await.unwrap();
    write(&host, 1);
    for round in 0..50_u64 {
        let before = arrived.lock().unwrap().len();
        let mut child = follower(&log, &address);
        write(&host, 40);
        // Some are killed at their first record, others later.
        let began = Instant::now();
        while arrived.lock().unwrap().len() <= before + (round % 4) as usize * 20
            && began.elapsed() < Duration::from_secs(60)
        {
            std::thread::sleep(Duration::from_micros(200 * (round % 7)));
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    host.drain(Duration::from_secs(5)).await.unwrap();
    let mut child = follower(&log, &address);
    wait_for(&arrived, last(&log));
    child.kill().unwrap();
    child.wait().unwrap();
    let arrived = arrived.lock().unwrap();
    assert!(arrived.keys().copied().eq(1..=last(&log).cast_signed()), "{} of {}", arrived.len(), last(&log));
    let copies: u64 = arrived.values().map(|(_, copies)| copies - 1).sum();
    println!("{} records, {copies} copies", arrived.len());
}

/// Returns the memory of a process, in KiB.
#[cfg(target_os = "linux")]
fn memory(child: &Child) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_memory_stays_flat_while_the_receiver_is_down_and_everything_arrives_later() {
    let sessions = std::env::var("HOOKHOST_TEST_SESSIONS").map_or(4_000, |count| count.parse().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("hookhost.db");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let host = Host::builder(Config::empty()).store(&log).build().await.unwrap();
    write(&host, 600);
    host.drain(Duration::from_secs(5)).await.unwrap();
    let mut child = follower(&log, &format!("http://{address}"));
    let state = || hookhost_telemetry::states(&log).ok().and_then(|(states, _)| states.into_iter().next());
    while state().is_none_or(|state| state.error.is_none()) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let before = memory(&child);
    for _ in 0..sessions / 500 {
        write(&host, 500);
        host.drain(Duration::from_secs(60)).await.unwrap();
    }
    let grown = memory(&child).saturating_sub(before);
    assert!(grown <= 5 * 1024, "{grown} KiB more");
    let arrived = serve(TcpListener::bind(address).unwrap());
    while arrived.lock().unwrap().is_empty() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let began = Instant::now();
    wait_for(&arrived, last(&log));
    let seconds = began.elapsed().as_secs_f64();
    child.kill().unwrap();
    child.wait().unwrap();
    let arrived = arrived.lock().unwrap();
    assert!(arrived.keys().copied().eq(1..=last(&log).cast_signed()));
    println!("{grown} KiB more; {} records in {seconds:.2} s: {:.0}/s", arrived.len(), arrived.len() as f64 / seconds);
}
