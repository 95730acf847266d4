//! Measures how the cost of four operations depends on the size of the log: appending one record, opening the log, showing its last
//! records, and verifying it. A host writes the records, event by event. Runs of short operations alternate with runs of the same operation
//! on a log of a hundred records, so that a disturbance of the machine affects both.

use crate::Lines;
use crate::events::{Place, open, point};
use crate::subject::call;
use bench::line::{Line, Point};
use bench::measure::{median, times};
use hookhost::store::Log;
use hookhost::{Config, Engine, Host, PreparedCall, Session};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Number of records of the smallest log.
const MIN_RECORDS: u64 = 100;
/// Number of events without subscribers that are sent before an event that is recorded immediately. All of these events are written
/// together.
const WRITTEN_TOGETHER: u64 = 200;
/// The text of the events that fill the log.
const TEXT: &str =
    "The tests pass. What is left is the change log, which needs a line about the new flag and its default.";
/// Number of runs of short operations.
const ROUNDS: usize = 21;
/// Minimum time for which verifying a log is repeated.
const MIN_TIME: Duration = Duration::from_secs(2);

pub(crate) fn lines(most: u64) -> Vec<Lines> {
    let place = Place::new();
    let command = Command::new(
        std::env::var_os("HOOKHOST_COMMAND").expect("HOOKHOST_COMMAND: run `cargo run -p bench -- growth`"),
    );
    let bench = LogBench { engine: Engine::new(), hookhost: command.get_program().into(), place: &place };
    let small = place.path("small.db");
    bench.grow(&small, MIN_RECORDS);
    let big = place.path("big.db");
    let (mut append, mut opened, mut shown, mut verified) =
        (PairedTimes::default(), PairedTimes::default(), PairedTimes::default(), vec![]);
    let mut records = MIN_RECORDS;
    while records <= most {
        println!("a log of {records} records");
        bench.grow(&big, records);
        bench.append(&mut append, &big, records);
        opened.time(records, || bench.open(&big), || bench.open(&small));
        shown.time(records, || bench.show(&big), || bench.show(&small));
        verified.push(bench.verify(&big, records));
        records *= 10;
    }
    vec![
        ("append", vec![append.line("one recorded event"), opened.line("a host opens the log")]),
        ("show", vec![shown.line("hookhost audit show 10")]),
        ("verify", vec![Line { name: "hookhost audit verify".to_owned(), points: verified }]),
    ]
}

struct LogBench<'a> {
    place: &'a Place,
    engine: Engine,
    hookhost: PathBuf,
}

impl LogBench<'_> {
    /// Opens a session of a host with this log, and prepares an event that it records.
    fn session(&self, log: &Path) -> (Host, Session, PreparedCall) {
        let host = self.place.host(1, Some(log));
        let session = open(&host);
        let event = call(&session);
        (host, session, event)
    }

    /// Writes events until the log has this number of records.
    fn grow(&self, log: &Path, records: u64) {
        let (host, session, event) = self.session(log);
        self.place.runtime.block_on(host.flush()).unwrap();
        let mut missing = records.saturating_sub(Log::open(log).unwrap().last().unwrap());
        while missing > 0 {
            let together = WRITTEN_TOGETHER.min(missing - 1);
            for _ in 0..together {
                drop(self.place.runtime.block_on(session.stream_end(TEXT.into())));
            }
            // The commit of this event also writes the waiting records.
            self.place.allow(&session, &event);
            missing -= together + 1;
        }
        drop(session);
        self.place.runtime.block_on(host.drain(Duration::from_secs(60))).unwrap();
        assert!(Log::open(log).unwrap().last().unwrap() >= records);
    }

    /// Times appending one recorded event, alternately with the same event on a new log.
    fn append(&self, append: &mut PairedTimes, big: &Path, records: u64) {
        let new = self.place.path(&format!("beside-{records}.db"));
        self.grow(&new, MIN_RECORDS);
        let (subject, reference) = (self.session(big), self.session(&new));
        // The number of events is so small that the size of the log hardly changes.
        let events = (records / 100).clamp(1, 200) as u32;
        let batch = |(_, session, event): &(Host, Session, PreparedCall)| {
            (0..events).for_each(|_| self.place.allow(session, event));
        };
        append.time(records, || batch(&subject), || batch(&reference));
        append.divide(events);
    }

    fn open(&self, log: &Path) {
        let builder = Host::builder(Config::empty()).engine(&self.engine).store(log);
        drop(self.place.runtime.block_on(builder.build()).unwrap());
    }

    fn show(&self, log: &Path) {
        assert!(self.command(&["audit", "show", "10"], log).status().unwrap().success());
    }

    /// Times the verification of the log, at least once.
    fn verify(&self, log: &Path, records: u64) -> Point {
        let began = Instant::now();
        let mut took = Vec::new();
        while took.is_empty() || (began.elapsed() < MIN_TIME && took.len() < ROUNDS) {
            let began = Instant::now();
            assert!(self.command(&["audit", "verify"], log).status().unwrap().success());
            took.push(began.elapsed());
        }
        point(records as f64, &times(took))
    }

    fn command(&self, words: &[&str], log: &Path) -> Command {
        let mut command = Command::new(&self.hookhost);
        command.args(words).arg("--log").arg(log).stdin(Stdio::null()).stdout(Stdio::null());
        for variable in ["HOOKHOST_CONFIG_DIR", "HOOKHOST_STATE_DIR", "HOOKHOST_CACHE_DIR"] {
            command.env(variable, self.place.path("home"));
        }
        command
    }
}

/// The times of an operation on logs of growing size. At each size, the runs alternate with runs of the same operation on a small log.
#[derive(Default)]
struct PairedTimes {
    sizes: Vec<TimesAtSize>,
}

struct TimesAtSize {
    records: u64,
    /// The ratios of neighbouring runs.
    ratios: Vec<f64>,
    /// The median on the small log, in nanoseconds.
    reference: f64,
}

impl PairedTimes {
    fn time(&mut self, records: u64, subject: impl Fn(), reference: impl Fn()) {
        let nanos = |run: &dyn Fn()| {
            let began = Instant::now();
            run();
            began.elapsed().as_secs_f64() * 1e9
        };
        nanos(&subject);
        nanos(&reference);
        let pairs: Vec<(f64, f64)> = (0..ROUNDS).map(|_| (nanos(&subject), nanos(&reference))).collect();
        self.sizes.push(TimesAtSize {
            records,
            ratios: pairs.iter().map(|(subject, reference)| subject / reference).collect(),
            reference: median(pairs.iter().map(|(_, reference)| *reference).collect()),
        });
    }

    /// Divides the last time by the number of runs in it.
    fn divide(&mut self, runs: u32) {
        self.sizes.last_mut().unwrap().reference /= f64::from(runs);
    }

    /// Returns a line. The value at each size is the ratio at this size multiplied by the median of all times on the small log.
    fn line(self, name: &str) -> Line {
        let small = median(self.sizes.iter().map(|size| size.reference).collect());
        let points = self.sizes.into_iter().map(|TimesAtSize { records, mut ratios, .. }| {
            ratios.sort_by(f64::total_cmp);
            let at = |share: usize| ratios[(ratios.len() - 1) * share / 100] * small;
            Point { size: records as f64, median: at(50), low: at(5), high: at(95) }
        });
        Line { name: name.to_owned(), points: points.collect() }
    }
}
