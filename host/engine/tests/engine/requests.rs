//! The grant `http`: which servers a plugin reaches, and what bounds it there.

use crate::failure_table::says;
use crate::hostile::table::{bare, rows_under};
use crate::support::{bash, builder, component, plugin, recording, spec, written};
use futures_util::future::BoxFuture;
use hookhost::audit;
use hookhost::capability::Resolver;
use hookhost::config::{Digest, Entry, Settings};
use hookhost::contract::ToolOrigin;
use hookhost::replay::replay;
use hookhost::{Config, FailureKind, Session, TransformOutcome};
use serde_json::{Value, json};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// A server on loopback, which does what the path says.
struct Server {
    port: u16,
    /// The head of each request.
    heads: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let received = Arc::clone(&heads);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let received = Arc::clone(&received);
                // A client that goes away in the middle is what some tests are about.
                thread::spawn(move || serve(stream, &received).ok());
            }
        });
        Self { port, heads }
    }

    /// `localhost:PORT`, which is how an entry names it.
    fn name(&self) -> String {
        format!("localhost:{}", self.port)
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.name())
    }

    fn received(&self) -> usize {
        self.heads.lock().unwrap().len()
    }
}

fn serve(mut stream: TcpStream, received: &Mutex<Vec<String>>) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Ok(());
        }
    }
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    received.lock().unwrap().push(head.clone());
    let whole = |status: &str, headers: &str, body: &str| {
        format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
    };
    let (what, how) = path.trim_start_matches('/').split_once('/').unwrap_or((path.trim_start_matches('/'), ""));
    match what {
        "hello" => stream.write_all(whole("200 OK", "", "hello").as_bytes()),
        "may-fetch" if how == "known.example" => stream.write_all(whole("200 OK", "", "yes").as_bytes()),
        // So many bytes, announced.
        "large" => stream.write_all(whole("200 OK", "", &"y".repeat(how.parse().unwrap())).as_bytes()),
        "endless" => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n")?;
            loop {
                stream.write_all(&[b'z'; 8192])?;
            }
        }
        "head" => {
            let headers = format!("x-long: {}\r\n", "h".repeat(how.parse().unwrap()));
            stream.write_all(whole("200 OK", &headers, "").as_bytes())
        }
        // So many chunks of eight bytes.
        "chunks" => {
            let chunks = "8\r\neight by\r\n".repeat(how.parse().unwrap());
            stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n")?;
            stream.write_all(format!("{chunks}0\r\n\r\n").as_bytes())
        }
        // The length of a chunk, which never ends.
        "chunk" => {
            stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0")?;
            let more = [if how == "zeros" { b'0' } else { b' ' }; 60_000];
            loop {
                stream.write_all(&more)?;
            }
        }
        // Says again and again that it works on it.
        "interim" => {
            let interim = match how {
                "continue" => "HTTP/1.1 100 Continue\r\n\r\n".to_owned(),
                _ => format!("HTTP/1.1 103 Early Hints\r\nlink: {}\r\n\r\n", "h".repeat(30_000)),
            };
            if how == "long" {
                stream.write_all(
                    format!("HTTP/1.1 103 Early Hints\r\nlink: {}\r\n\r\n", "h".repeat(40_000)).as_bytes(),
                )?;
                return stream
                    .write_all(whole("200 OK", &format!("x-long: {}\r\n", "h".repeat(40_000)), "").as_bytes());
            }
            if how == "once" {
                stream.write_all(interim.as_bytes())?;
                return stream.write_all(whole("200 OK", "", "hello").as_bytes());
            }
            loop {
                stream.write_all(interim.as_bytes())?;
            }
        }
        "silent" => {
            thread::sleep(Duration::from_secs(30));
            Ok(())
        }
        "halting" => {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf")?;
            thread::sleep(Duration::from_secs(30));
            Ok(())
        }
        "broken" => stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf"),
        "garbage" => stream.write_all(b"SSH-2.0-OpenSSH_9.6\r\n"),
        "nothing" => Ok(()),
        "to" => {
            stream.write_all(whole("302 Found", &format!("location: {}\r\n", how.replace("~", "//")), "").as_bytes())
        }
        "length" => {
            let length =
                head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
            let body = match length {
                Some(length) => reader.take(length).bytes().count(),
                None => chunked(&mut reader)?,
            };
            stream.write_all(whole("200 OK", "", &body.to_string()).as_bytes())
        }
        _ => stream.write_all(whole("404 Not Found", "", "").as_bytes()),
    }
}

/// The bytes of a chunked body.
fn chunked(reader: &mut impl io::BufRead) -> io::Result<usize> {
    let mut bytes = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let size = usize::from_str_radix(line.trim(), 16).map_err(io::Error::other)?;
        let mut chunk = vec![0; size + 2];
        reader.read_exact(&mut chunk)?;
        bytes += size;
        if size == 0 {
            return Ok(bytes);
        }
    }
}

/// Finds the addresses that it was given, once for each question, and counts these.
struct Finds {
    addresses: Vec<IpAddr>,
    asked: AtomicUsize,
}

impl Finds {
    fn new(addresses: &[&str]) -> Arc<Self> {
        let addresses = addresses.iter().map(|address| address.parse().unwrap()).collect();
        Arc::new(Self { addresses, asked: AtomicUsize::new(0) })
    }
}

impl Resolver for Finds {
    fn resolve<'a>(&'a self, _: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Box::pin(async { Ok(self.addresses.clone()) })
    }
}

/// What a test must not need.
struct Fails;

impl Resolver for Fails {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        assert!(name != "panics.example", "as the test asked");
        Box::pin(async { Err(io::Error::other("no names here")) })
    }
}

/// A plugin that sends requests to these servers.
fn asking(servers: &[&str]) -> Entry {
    let path = component("asks_server.wasm");
    let mut entry = Entry::new("asking", &path, Digest::of_file(&path).unwrap());
    entry.grants.http = servers.iter().map(|server| (*server).to_owned()).collect();
    entry.limits.deadline = Some(Duration::from_secs(20));
    entry
}

async fn session_with(entry: Entry, resolver: Arc<dyn Resolver>) -> Session {
    let config = Config::from_entries(vec![entry], Settings::default()).unwrap();
    builder(config).resolver(resolver).build().await.unwrap().open_session(spec()).unwrap()
}

async fn session(entry: Entry) -> Session {
    session_with(entry, Arc::new(Fails)).await
}

async fn run(session: &Session, script: Value) -> Vec<String> {
    let settled = session.prompt_submit(script.to_string()).await;
    let TransformOutcome::Passed { value } = settled.outcome else { panic!("{:#?}", settled.record) };
    value.split('\n').map(str::to_owned).collect()
}

async fn get(session: &Session, url: &str) -> String {
    run(session, json!({"requests": [{"url": url}]})).await.remove(0)
}

async fn request(session: &Session, request: Value) -> String {
    run(session, json!({"requests": [request]})).await.remove(0)
}

#[tokio::test]
async fn a_plugin_reaches_the_server_that_its_entry_names() {
    let server = Server::start();
    let session = session(asking(&[&server.name()])).await;
    assert_eq!(get(&session, &server.url("/hello")).await, "200 hello");
    assert_eq!(get(&session, &server.url("")).await, "404 ");
    assert_eq!(
        request(&session, json!({"url": server.url("/length"), "method": "POST", "body": 10_000})).await,
        "200 10000"
    );
    let script = json!({"requests": vec![json!({"url": server.url("/hello")}); 10], "at-once": true});
    assert_eq!(run(&session, script).await, ["200 hello"; 10]);
    let head = server.heads.lock().unwrap()[0].to_lowercase();
    assert_eq!(head, format!("get /hello http/1.1\r\nhost: {}\r\n\r\n", server.name()), "and nothing of the host's");
}

#[tokio::test]
async fn a_plugin_reaches_no_other_server_port_or_scheme() {
    let (named, other) = (Server::start(), Server::start());
    let session = session(asking(&[&named.name(), "example.com"])).await;
    let port = named.port;
    for url in [
        other.url("/hello"),
        format!("http://127.0.0.1:{port}/hello"),
        format!("http://[::1]:{port}/hello"),
        format!("http://[::ffff:127.0.0.1]:{port}/hello"),
        format!("http://sub.localhost:{port}/hello"),
        "http://localhost/hello".into(),
        "https://localhost/hello".into(),
        "http://example.com/".into(),
        "https://example.com:8443/".into(),
        "https://www.example.com/".into(),
    ] {
        assert_eq!(get(&session, &url).await, "ErrorCode::HttpRequestDenied", "{url}");
    }
    for (url, why) in [
        (format!("http://2130706433:{port}/hello"), "HttpRequestUriInvalid"),
        (format!("http://0x7f.1:{port}/hello"), "HttpRequestUriInvalid"),
        (format!("http://localhost:{port}@127.0.0.1/"), "HttpRequestUriInvalid"),
        (format!("ftp://localhost:{port}/"), "HttpProtocolError"),
    ] {
        let answer = get(&session, &url).await;
        assert!(answer.contains(why) || answer.starts_with("no such"), "{url}: {answer}");
    }
    let connect = json!({"url": named.url("/hello"), "method": "CONNECT"});
    assert_eq!(request(&session, connect).await, "ErrorCode::HttpRequestMethodInvalid");
    assert_eq!((named.received(), other.received()), (0, 0));
}

#[tokio::test]
async fn the_host_that_a_server_is_sent_is_the_one_that_was_checked() {
    let server = Server::start();
    let session = session(asking(&[&server.name()])).await;
    let answer = request(&session, json!({"url": server.url("/hello"), "headers": {"Host": "other.example"}})).await;
    assert!(answer.starts_with("header Host: "), "{answer}");
    assert_eq!(get(&session, &format!("http://LOCALHOST.:{}/hello", server.port)).await, "200 hello");
    let heads = server.heads.lock().unwrap().join("").to_lowercase();
    assert!(heads.contains(&format!("host: {}\r\n", server.name())) && !heads.contains("other"), "{heads}");
}

#[tokio::test]
async fn a_name_that_leads_to_an_address_that_is_not_public_is_not_connected_to() {
    let server = Server::start();
    let name = format!("rebinds.example:{}", server.port);
    for addresses in [
        &["127.0.0.1"][..],
        &["10.0.0.1"],
        &["169.254.169.254"],
        &["::1"],
        &["::ffff:127.0.0.1"],
        &["fd00::1"],
        &["0.0.0.0"],
        // One among public ones is one too many.
        &["192.0.43.8", "127.0.0.1"],
    ] {
        let finds = Finds::new(addresses);
        let session = session_with(asking(&[&name]), Arc::clone(&finds) as Arc<dyn Resolver>).await;
        let answer = get(&session, &format!("http://{name}/hello")).await;
        assert_eq!(answer, "ErrorCode::DestinationIpProhibited", "{addresses:?}");
        assert_eq!(finds.asked.load(Ordering::Relaxed), 1, "a name is looked up once");
    }
    assert_eq!(server.received(), 0);
}

#[tokio::test]
async fn an_address_that_the_entry_names_is_one_that_the_operator_meant() {
    let server = Server::start();
    let session = session(asking(&[&format!("127.0.0.1:{}", server.port)])).await;
    assert_eq!(get(&session, &format!("http://127.0.0.1:{}/hello", server.port)).await, "200 hello");
    assert_eq!(get(&session, &server.url("/hello")).await, "ErrorCode::HttpRequestDenied");
}

#[tokio::test]
async fn a_name_that_cannot_be_looked_up_is_an_error_of_the_request() {
    let session = session(asking(&["gone.example", "panics.example"])).await;
    assert!(get(&session, "https://gone.example/").await.starts_with("ErrorCode::DnsError"));
    assert!(get(&session, "https://panics.example/").await.starts_with("ErrorCode::InternalError"));
    let nowhere = session_with(asking(&["gone.example"]), Finds::new(&[])).await;
    assert_eq!(get(&nowhere, "https://gone.example/").await, "ErrorCode::DestinationNotFound");
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_the_request_that_follows_it_is_checked() {
    let (server, other) = (Server::start(), Server::start());
    let session = session(asking(&[&server.name()])).await;
    let to = |target: &str| server.url(&format!("/to/{}", target.replace("//", "~")));
    assert_eq!(get(&session, &to(&other.url("/hello"))).await, "302 ");
    assert_eq!(other.received(), 0);
    let follow = |url: String| json!({"url": url, "follow": 3});
    assert_eq!(request(&session, follow(to(&server.url("/hello")))).await, "200 hello");
    for target in [other.url("/hello"), "http://169.254.169.254/latest/meta-data/".into()] {
        assert_eq!(request(&session, follow(to(&target))).await, "ErrorCode::HttpRequestDenied", "{target}");
    }
    assert_eq!(other.received(), 0);
}

#[tokio::test]
async fn a_response_that_is_too_large_ends_with_an_error() {
    let server = Server::start();
    let mut entry = asking(&[&server.name()]);
    entry.limits.http_body = NonZeroUsize::new(100_000).unwrap();
    let session = session(entry).await;
    assert_eq!(get(&session, &server.url("/large/100000")).await, "200 (100000 bytes)");
    for path in ["/large/100001", "/large/50000000", "/endless"] {
        let answer = get(&session, &server.url(path)).await;
        assert!(answer.starts_with("ErrorCode::HttpResponseBodySize(Some(100000)) after "), "{path}: {answer}");
    }
    assert_eq!(get(&session, &server.url("/head/60000")).await, "200 ");
    let answer = get(&session, &server.url("/head/66000")).await;
    assert!(answer.starts_with("ErrorCode::HttpResponseHeaderSectionSize"), "{answer}");
}

#[tokio::test]
async fn interim_responses_that_end_are_skipped() {
    let server = Server::start();
    let session = session(asking(&[&server.name()])).await;
    assert_eq!(get(&session, &server.url("/interim/once")).await, "200 hello");
}

#[tokio::test]
async fn every_row_of_servers_that_answer_for_ever_is_what_a_plugin_gets() {
    let server = Server::start();
    let mut entry = asking(&[&server.name()]);
    entry.limits.http_body = NonZeroUsize::new(100_000).unwrap();
    let session = session(entry).await;
    let rows = rows_under("server", ["what it sends", "at most", "what the plugin gets"]);
    assert_eq!(rows.len(), 7, "{rows:?}");
    for row in rows {
        let answer = get(&session, &server.url(&bare(row[0]))).await;
        assert!(says(&bare(row[3]), &answer), "{row:?}: {answer}");
    }
}

#[tokio::test]
async fn a_request_that_is_too_large_ends_with_an_error() {
    let server = Server::start();
    let mut entry = asking(&[&server.name()]);
    entry.limits.http_body = NonZeroUsize::new(100_000).unwrap();
    let session = session(entry).await;
    let post = |bytes: usize| json!({"url": server.url("/length"), "method": "POST", "body": bytes});
    assert_eq!(request(&session, post(100_000)).await, "200 100000");
    assert_eq!(request(&session, post(100_001)).await, "ErrorCode::HttpRequestBodySize(Some(100000))");
    assert_eq!(request(&session, post(9_000_000)).await, "ErrorCode::HttpRequestBodySize(Some(100000))");
}

#[tokio::test]
async fn a_server_that_breaks_off_or_talks_something_else_is_an_error_of_the_request() {
    let server = Server::start();
    let session = session(asking(&[&server.name(), "localhost:1"])).await;
    for (path, error) in [
        ("/broken", "ErrorCode::HttpResponseIncomplete after 4 bytes"),
        ("/garbage", "ErrorCode::HttpProtocolError"),
        ("/nothing", "ErrorCode::HttpResponseIncomplete"),
    ] {
        assert_eq!(get(&session, &server.url(path)).await, error, "{path}");
    }
    assert_eq!(get(&session, "http://localhost:1/").await, "ErrorCode::ConnectionRefused");
    // It does not speak TLS.
    let answer = get(&session, &format!("https://{}/hello", server.name())).await;
    assert!(answer.starts_with("ErrorCode::Tls") || answer.starts_with("ErrorCode::Connection"), "{answer}");
}

#[tokio::test]
async fn a_silent_server_holds_a_plugin_up_no_longer_than_its_deadline() {
    let server = Server::start();
    let mut entry = asking(&[&server.name()]);
    entry.limits.deadline = Some(Duration::from_millis(500));
    let session = session(entry).await;
    for path in ["/silent", "/halting"] {
        let began = Instant::now();
        let settled = session.prompt_submit(json!({"requests": [{"url": server.url(path)}]}).to_string()).await;
        let failure = settled.record.calls[0].failure.as_ref().unwrap();
        assert_eq!(failure.kind, FailureKind::Deadline, "{failure:?}");
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
        assert_eq!(get(&session, &server.url("/hello")).await, "200 hello");
    }
}

/// On one thread, which the connections have as long as they like.
#[tokio::test]
async fn a_server_that_keeps_the_host_busy_holds_a_plugin_up_no_longer_than_its_deadline() {
    let server = Server::start();
    let mut entry = asking(&[&server.name()]);
    entry.limits.deadline = Some(Duration::from_secs(1));
    entry.limits.http_body = NonZeroUsize::new(1 << 30).unwrap();
    let session = session(entry).await;
    let began = Instant::now();
    let script = json!({"requests": vec![json!({"url": server.url("/chunk/zeros")}); 4], "at-once": true});
    let settled = session.prompt_submit(script.to_string()).await;
    let failure = settled.record.calls[0].failure.as_ref().unwrap();
    assert_eq!(failure.kind, FailureKind::Deadline, "{failure:?}");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_body_in_small_chunks_is_read_to_its_end() {
    let server = Server::start();
    let mut entry = asking(&[&server.name()]);
    entry.limits.http_body = NonZeroUsize::new(1_000_000).unwrap();
    // Reading so many chunks takes a while in a build without optimisation.
    entry.limits.compute = Some(Duration::from_secs(20));
    let session = session(entry).await;
    assert_eq!(get(&session, &server.url("/chunks/125000")).await, "200 (1000000 bytes)");
}

#[tokio::test]
async fn a_plugin_can_give_up_earlier() {
    let server = Server::start();
    let session = session(asking(&[&server.name()])).await;
    let silent = json!({"url": server.url("/silent"), "first-byte-ms": 100});
    assert_eq!(request(&session, silent).await, "ErrorCode::ConnectionReadTimeout");
    let halting = json!({"url": server.url("/halting"), "between-bytes-ms": 100});
    assert_eq!(request(&session, halting).await, "ErrorCode::ConnectionReadTimeout after 4 bytes");
    let hello =
        json!({"url": server.url("/hello"), "connect-ms": 5_000, "first-byte-ms": 5_000, "between-bytes-ms": 5_000});
    assert_eq!(request(&session, hello).await, "200 hello");
}

#[tokio::test]
async fn each_request_counts_as_a_call_of_a_capability() {
    let server = Server::start();
    let mut entry = asking(&[&server.name()]);
    entry.limits.capability_calls = NonZeroU32::new(3).unwrap();
    let session = session(entry).await;
    let script = |requests| json!({"requests": vec![json!({"url": server.url("/hello")}); requests]});
    assert_eq!(run(&session, script(3)).await, ["200 hello"; 3]);
    let settled = session.prompt_submit(script(4).to_string()).await;
    let failure = settled.record.calls[0].failure.as_ref().unwrap();
    assert_eq!(failure.kind, FailureKind::CapabilityCalls);
    assert_eq!(server.received(), 6);
}

#[tokio::test]
async fn a_plugin_holds_only_so_many_requests_at_once() {
    let server = Server::start();
    let session = session(asking(&[&server.name()])).await;
    let script = json!({"requests": vec![json!({"url": server.url("/silent")}); 400], "at-once": true});
    let settled = session.prompt_submit(script.to_string()).await;
    let failure = settled.record.calls[0].failure.as_ref().unwrap();
    assert!(failure.detail.ends_with("held more than 256 handles at once (limits.handles)"), "{}", failure.detail);
}

#[tokio::test]
async fn what_a_plugin_does_not_wait_for_ends_with_the_call() {
    let server = Server::start();
    let session = session(asking(&[&server.name()])).await;
    let began = Instant::now();
    let answer = request(&session, json!({"url": server.url("/silent"), "abandon": true})).await;
    assert_eq!(answer, "abandoned");
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}

#[tokio::test]
async fn where_no_server_is_granted_a_plugin_loads_and_each_request_is_denied() {
    let server = Server::start();
    let config = Config::from_entries(vec![asking(&[])], Settings::default()).unwrap();
    assert!(builder(config).build().await.unwrap().plugins()[0].is_denied_requests());
    let session = session(asking(&[])).await;
    assert_eq!(get(&session, &server.url("/hello")).await, "ErrorCode::HttpRequestDenied");
    assert_eq!(server.received(), 0);
    // The grant without the import is no error, and gives nothing else.
    let mut granted = plugin("x", json!({}));
    granted.grants.http = vec!["example.com".into()];
    let config = Config::from_entries(vec![granted], Settings::default()).unwrap();
    assert!(builder(config).build().await.is_ok());
}

#[tokio::test]
async fn what_sent_requests_cannot_be_replayed_and_a_replay_sends_none() {
    let server = Server::start();
    let entry = || asking(&[&server.name()]);
    let (_directory, log, recorder) = recording(vec![entry()]);
    let host = recorder.build().await.unwrap();
    let session = host.open_session(spec()).unwrap();
    assert_eq!(get(&session, &server.url("/hello")).await, "200 hello");
    assert_eq!(run(&session, json!({"requests": []})).await, [""]);
    drop(session);
    host.drain(Duration::from_secs(60)).await.unwrap();
    let reasons: Vec<_> = written(&log)
        .into_iter()
        .filter_map(|entry| if let audit::Record::Event(record) = entry { Some(record.not_replayable) } else { None })
        .collect();
    assert_eq!(reasons, [vec!["asking: the plugin sent requests over HTTP".to_owned()], vec![]]);

    let config = Config::from_entries(vec![entry()], Settings::default()).unwrap();
    let (again, log) = (builder(config).build().await.unwrap(), hookhost::store::Log::open(&log).unwrap());
    let summary = replay(&again, &log, |_| {}).await.unwrap();
    assert_eq!((summary.not_replayable, summary.same), (1, 1));
    assert_eq!(server.received(), 1);
}

/// The example of the guide.
#[tokio::test]
async fn a_policy_can_be_what_a_server_says() {
    let server = Server::start();
    let mut entry = asking(&[&server.name()]);
    entry.config = serde_json::from_value(json!({"server": server.name(), "plain": true})).unwrap();
    let session = session(entry).await;
    let mut outcomes = Vec::new();
    for url in ["https://known.example/page", "https://unknown.example/page"] {
        let call = session.tool_call("1", "fetch", &json!({"url": url}), ToolOrigin::Builtin);
        outcomes.push(session.before_tool_call(call).await.record.reason);
    }
    outcomes.push(session.before_tool_call(bash(&session, "ls")).await.record.reason);
    assert_eq!(outcomes[0], None);
    assert!(outcomes[1].as_ref().unwrap().contains("does not know `unknown.example`"), "{outcomes:?}");
    assert_eq!(outcomes[2], None);
    assert_eq!(server.received(), 2);
}
