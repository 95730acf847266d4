//! Measures how the cost of one event depends on the number of plugins, on the bytes of its payload, and on the number of open sessions.
//! The batches of all subjects alternate.

use crate::plugins::Copies;
use crate::subject::{call, component};
use bench::line::{Line, Point};
use bench::measure::{Times, in_turns};
use hookhost::config::{Entry, Settings};
use hookhost::contract::ToolOrigin;
use hookhost::{Config, Decision, Host, PreparedCall, Session, SessionSpec};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

const PLUGINS: [usize; 5] = [1, 3, 10, 30, 100];
/// From 1 KB to 1 MB.
const PAYLOADS: [usize; 7] = [1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000];
const SESSIONS: [usize; 5] = [10, 100, 1_000, 10_000, 100_000];
/// Number of batches of each subject.
const ROUNDS: usize = 31;
/// The lines that each subject has in the page. Each element is the name of the line, and true if the host has a log.
const LINE_NAMES: [(&str, bool); 2] = [("log off", false), ("log on", true)];

/// A directory for logs and compiled code, and the runtime on which events are sent.
pub(crate) struct Place {
    directory: TempDir,
    pub(crate) runtime: Runtime,
}

impl Place {
    pub(crate) fn new() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        Self { directory: tempfile::tempdir().unwrap(), runtime }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Creates a host with this number of plugins, each of which rejects forced pushes.
    pub(crate) fn host(&self, plugins: usize, log: Option<&Path>) -> Host {
        let copies = Copies::of(&std::fs::read(component()).unwrap(), plugins);
        let entries = copies.entries().into_iter().map(patient).collect();
        let builder = Host::builder(Config::from_entries(entries, Settings::default()).unwrap());
        let builder = builder.cache(self.path("compiled"));
        let builder = if let Some(log) = log { builder.store(log) } else { builder };
        self.runtime.block_on(builder.build()).unwrap()
    }

    pub(crate) fn allow(&self, session: &Session, event: &PreparedCall) {
        let outcome = self.runtime.block_on(session.before_tool_call(event.clone())).outcome;
        assert!(matches!(outcome, Decision::Allowed { .. }));
    }
}

/// Returns the entry with generous limits, because the machine may be busy.
fn patient(mut entry: Entry) -> Entry {
    (entry.limits.compute, entry.limits.deadline) = (Some(Duration::from_secs(10)), Some(Duration::from_secs(10)));
    // The input limit must allow a payload of one megabyte and the rest of the event.
    entry.limits.input = (4 << 20).try_into().unwrap();
    entry
}

pub(crate) fn open(host: &Host) -> Session {
    host.open_session(SessionSpec::new("bench", Path::new("/work"))).unwrap()
}

pub(crate) fn of_plugins() -> Vec<Line> {
    let place = Place::new();
    lines(&PLUGINS, |count, log| {
        let log = log.then(|| place.path(&format!("{count}.db")));
        let session = open(&place.host(count, log.as_deref()));
        let (event, place) = (call(&session), &place);
        Box::new(move || place.allow(&session, &event))
    })
}

pub(crate) fn of_payloads() -> Vec<Line> {
    let place = Place::new();
    let hosts = LINE_NAMES.map(|(_, log)| place.host(1, log.then(|| place.path("hookhost.db")).as_deref()));
    lines(&PAYLOADS, |bytes, log| {
        let session = open(&hosts[usize::from(log)]);
        let arguments = json!({ "path": "notes.txt", "content": "text\n".repeat(bytes / 5) });
        let event = session.tool_call("call-1", "write_file", &arguments, ToolOrigin::Builtin);
        let place = &place;
        Box::new(move || place.allow(&session, &event))
    })
}

/// Measures one event with many open sessions. One event of each session is sent in turn, so that the processor's caches contain the data
/// of other sessions when an event begins.
pub(crate) fn of_sessions() -> Vec<Line> {
    let place = Place::new();
    lines(&SESSIONS, |count, log| {
        let log = log.then(|| place.path(&format!("{count}.db")));
        let host = place.host(1, log.as_deref());
        let sessions: Vec<Session> = (0..count).map(|_| open(&host)).collect();
        let (event, place) = (call(&sessions[0]), &place);
        let mut turn = 0;
        Box::new(move || {
            turn = (turn + 1) % sessions.len();
            place.allow(&sessions[turn], &event);
        })
    })
}

/// Returns the lines with and without a log, each with one point per size.
fn lines<'a>(sizes: &[usize], subject: impl Fn(usize, bool) -> Box<dyn FnMut() + 'a>) -> Vec<Line> {
    let all = LINE_NAMES.iter().flat_map(|(_, log)| sizes.iter().map(|size| subject(*size, *log)));
    let mut subjects: Vec<_> = all.collect();
    let mut times = in_turns(ROUNDS, &mut subjects).into_iter();
    let mut line = |name: &str| {
        let points = sizes.iter().zip(times.by_ref()).map(|(size, times)| point(*size as f64, &times));
        Line { name: name.to_owned(), points: points.collect() }
    };
    LINE_NAMES.map(|(name, _)| line(name)).into()
}

pub(crate) fn point(size: f64, times: &Times) -> Point {
    let nanos = |time: Duration| time.as_secs_f64() * 1e9;
    Point { size, median: nanos(times.median), low: nanos(times.low), high: nanos(times.high) }
}
