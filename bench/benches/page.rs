//! Prints how long the page takes for a search in a long log, without its index and with it, how soon a tab shows an event, and how much memory
//! a tab takes. The argument is the number of events in the log.

#![expect(clippy::unwrap_used, reason = "a measurement that cannot continue fails")]

use hookhost::contract::{Refusal, ToolCall};
use hookhost::{Config, Host};
use hookhost_client::frame::LinkPurpose;
use hookhost_page::{Page, PageSettings};
use hookhost_resident::{ConfigurationSource, FoundConfiguration, PageLinks as _, Settler};
use serde_json::json;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

/// Number of events, unless the argument names another one.
const EVENTS: u64 = 500_000;

/// Number of measurements of each search.
const ROUNDS: usize = 20;

/// Number of events whose rows a tab shows live, and the time between two of them: 200 a second.
const LIVE_EVENTS: u64 = 4_000;
const LIVE_INTERVAL: Duration = Duration::from_millis(5);

/// Searches of people: for what is common, what is rare, what is in no record, fields alone and with words, and a second page.
const SEARCHES: &[&str] = &[
    "git",
    "force",
    "cargo+test",
    "number-77777",
    "nothing-has-this-word",
    "decision:rejected",
    "decision:rejected+git",
    "agent:codex",
    "session:codex:7+git",
    "rule:no-force&before=1000",
    "pack",
];

struct NoRules;

impl ConfigurationSource for NoRules {
    fn find(&self, _: &Path, _: Option<&Config>) -> Result<FoundConfiguration, String> {
        Ok(FoundConfiguration::new(Config::empty()))
    }

    fn files(&self, _: &Path, _: Option<&Config>) -> Vec<PathBuf> {
        Vec::new()
    }
}

#[tokio::main]
async fn main() {
    let events = std::env::args().find_map(|argument| argument.parse().ok()).unwrap_or(EVENTS);
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("hookhost.db");
    let begun = Instant::now();
    fill(&database, events).await;
    let size = std::fs::metadata(&database).unwrap().len() >> 20;
    println!("{events} events, {size} MB, written in {:.0?}", begun.elapsed());

    let host = Host::builder(Config::empty()).store(&database).share_questions().build().await.unwrap();
    let settler = Arc::new(Settler::new(host, Arc::new(NoRules)));
    let page = Page::new(PageSettings::new(&settler, database.clone()));
    let tab = Tab::open(&page).await;
    let index = database.with_file_name("search.db");
    // No index can be made where a directory is.
    std::fs::create_dir(&index).unwrap();
    std::fs::write(index.join("kept"), "").unwrap();
    measure(&tab, "without the index").await;
    std::fs::remove_dir_all(&index).unwrap();
    let begun = Instant::now();
    while !tab.search("git").await.contains("with the index") || tab.is_behind(&index, events) {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let size = std::fs::metadata(&index).unwrap().len() >> 20;
    println!("the index: {size} MB, made in {:.1?}", begun.elapsed());
    measure(&tab, "with the index").await;
    live(&tab, &database).await;
}

/// Prints the time from the end of an event until its row is at the tab. At this rate, a tab gets a part of the rows.
async fn live(tab: &Tab, database: &Path) {
    let before = resident_memory();
    let mut rows = tab.live().await;
    let host = Host::builder(Config::empty()).store(database).build().await.unwrap();
    let session = host.session("codex", "/work").unwrap();
    let events = tokio::spawn(async move {
        let mut interval = tokio::time::interval(LIVE_INTERVAL);
        let mut ends = HashMap::new();
        for event in 0..LIVE_EVENTS {
            interval.tick().await;
            let _ = session.check_tool("Bash", &json!({ "command": format!("echo live-{event}.") })).await;
            ends.insert(event, Instant::now());
        }
        ends
    });
    let mut arrivals = HashMap::new();
    let mut line = String::new();
    while !events.is_finished() {
        line.clear();
        match tokio::time::timeout(Duration::from_millis(100), rows.read_line(&mut line)).await {
            Ok(read) => assert_ne!(read.unwrap(), 0, "the stream ended"),
            // The end of the line follows.
            Err(_) => continue,
        }
        let event = line.split("live-").nth(1).and_then(|rest| rest.split('.').next()?.parse::<u64>().ok());
        arrivals.extend(event.map(|event| (event, Instant::now())));
    }
    let ends = events.await.unwrap();
    let mut times: Vec<_> =
        arrivals.iter().filter_map(|(event, at)| Some(at.saturating_duration_since(*ends.get(event)?))).collect();
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() * percent / 100).min(times.len() - 1)];
    let grown = resident_memory().saturating_sub(before) >> 10;
    println!(
        "an event to its row, {} rows of {LIVE_EVENTS} events at 200 a second: p50 {:.1?}, p99 {:.1?}; memory +{grown} KiB, the host of the \
         events included",
        times.len(),
        at(50),
        at(99)
    );
}

/// Returns the memory of this process that is in use, in bytes.
fn resident_memory() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

/// Writes a log of events, of which some are rejected.
async fn fill(database: &Path, events: u64) {
    let rule = |call: &ToolCall| call.arguments.contains("--force").then(|| Refusal::new("no").code("no-force"));
    let host = Host::builder(Config::empty()).rule("careful", rule).store(database).build().await.unwrap();
    const SESSIONS: u64 = 20;
    let sessions = (0..SESSIONS).map(|number| {
        let agent = ["codex", "claude-code"][usize::try_from(number % 2).unwrap()];
        let spec = hookhost::SessionSpec::new(agent, Path::new("/work")).id(format!("{agent}:{number}"));
        let session = host.open_session(spec).unwrap();
        tokio::spawn(async move {
            for event in (number..events).step_by(usize::try_from(SESSIONS).unwrap()) {
                let command = match event % 50 {
                    0 => format!("git push --force origin branch-{event}"),
                    1..10 => format!("cargo test --workspace test_{event} 2>&1 | tail -n 40"),
                    10..20 => format!("git log --oneline -n {event} -- src/package-{event}/main.rs"),
                    _ => format!("sed -n '{event},+40p' src/file-{event}.rs # number-{event}"),
                };
                let _ = session
                    .check_tool("Bash", &json!({ "command": command, "description": "what an agent says about it" }))
                    .await;
            }
        })
    });
    for session in sessions.collect::<Vec<_>>() {
        session.await.unwrap();
    }
    host.drain(Duration::from_secs(60)).await.unwrap();
}

/// Prints the times of all searches.
async fn measure(tab: &Tab, how: &str) {
    let mut times = Vec::new();
    let mut slowest = (Duration::ZERO, "");
    for _ in 0..ROUNDS {
        for search in SEARCHES {
            let begun = Instant::now();
            let _ = tab.search(search).await;
            let took = begun.elapsed();
            slowest = slowest.max((took, search));
            times.push(took);
        }
    }
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() * percent / 100).min(times.len() - 1)];
    println!("{how}: p50 {:.1?}, p95 {:.1?}, slowest {:.1?} ({})", at(50), at(95), slowest.0, slowest.1);
}

/// A tab of the page.
struct Tab {
    port: u16,
    token: String,
}

impl Tab {
    async fn open(page: &Page) -> Self {
        let link = page.link(Path::new("/work"), LinkPurpose::View).unwrap();
        let (origin, code) = link.split_once("/#").unwrap();
        let port = origin.rsplit_once(':').unwrap().1.parse().unwrap();
        let body = json!({ "code": code }).to_string();
        let head = format!("Content-Type: application/json\r\nContent-Length: {}", body.len());
        let answer =
            send(port, &format!("POST /session HTTP/1.1\r\nHost: localhost:{port}\r\n{head}\r\n\r\n{body}")).await;
        let token = answer.split("\"token\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        Self { port, token }
    }

    async fn search(&self, query: &str) -> String {
        let Self { port, token } = self;
        let head = format!("Host: localhost:{port}\r\nAuthorization: Bearer {token}");
        send(*port, &format!("GET /search?q={query} HTTP/1.1\r\n{head}\r\n\r\n")).await
    }

    /// Returns the stream of new rows.
    async fn live(&self) -> BufReader<TcpStream> {
        let Self { port, token } = self;
        let mut stream = TcpStream::connect(("127.0.0.1", *port)).await.unwrap();
        let head = format!("Host: localhost:{port}\r\nAuthorization: Bearer {token}");
        stream.write_all(format!("GET /live HTTP/1.1\r\n{head}\r\n\r\n").as_bytes()).await.unwrap();
        BufReader::new(stream)
    }

    /// Returns true while the index lacks records.
    fn is_behind(&self, index: &Path, events: u64) -> bool {
        let place = rusqlite::Connection::open(index)
            .and_then(|index| index.query_row("SELECT ifnull(max(seq), 0) FROM place", [], |row| row.get::<_, i64>(0)));
        place.is_ok_and(|last| last.cast_unsigned() < events)
    }
}

async fn send(port: u16, request: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}
