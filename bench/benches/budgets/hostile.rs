//! Measures what hostile plugins cost other users of the machine. One part measures how long each endless plugin runs beyond its limit. The
//! other part measures the throughput of a neighbour, a well-behaved plugin of the same host, while a plugin misbehaves.

#[path = "../../../host/engine/tests/engine/hostile/component.rs"]
#[expect(dead_code, reason = "the tests need more of it")]
mod component;

use bench::measure::{self, median, spoken};
use bench::table::{Row, Table};
use component::{Shape, directory, neighbour};
use hookhost::config::Settings;
use hookhost::{Config, FailureKind, Host, SessionSpec};
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};

/// `limits.compute` or `limits.deadline` of the timed plugins.
const LIMIT: Duration = Duration::from_millis(20);
/// Budgets for the time beyond the limit: for the median, and for the longest run.
const MAX_DELAY: Duration = Duration::from_micros(1500);
const MAX_WORST_DELAY: Duration = Duration::from_millis(3);
/// Number of runs of each plugin.
const RUNS: usize = 20;
/// Duration of one count of a neighbour's events, and the number of counts.
const SPELL: Duration = Duration::from_millis(60);
const SPELLS: usize = 5;
/// Number of plugins with the worst results, for which the events are counted again, and the number of these counts.
const WORST: usize = 10;
const SPELLS_OF_WORST: usize = 25;
/// Bytes of each half of the memory that [`NeighbourLoad::Copier`] copies, and number of copies of each half. The load copies memory like
/// the plugin `giant-memory-copy`, but without a plugin.
const COPIED: usize = 8 << 20;
const COPIES: usize = 8;
/// The C library gets an allocation of this size directly from the kernel, and returns it to the kernel when it is freed:
/// `DEFAULT_MMAP_THRESHOLD_MAX` in mallopt(3).
const RESERVED: usize = 33 << 20;
/// Minimum throughput of a neighbour beside a misbehaving plugin, in relation to its throughput beside a well-behaved plugin.
const MIN_SHARE: f64 = 0.8;

pub(crate) fn rows(table: &mut Table) {
    stopped(table);
    neighbours(table);
}

/// Measures every hostile plugin that only a time limit stops.
fn stopped(table: &mut Table) {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let timed = shapes().into_iter().filter_map(|shape| {
        let host = runtime.block_on(host(&shape, Some(LIMIT)))?;
        beyond(&runtime, &host, &shape)?;
        // A plugin that is stopped by its fuel in any run is left out.
        let times: Option<Vec<_>> = (0..RUNS).map(|_| beyond(&runtime, &host, &shape)).collect();
        Some((shape.name, Delays::of(times?)))
    });
    let timed: Vec<(String, Delays)> = timed.collect();
    let (slowest, Delays { median, .. }) = timed.iter().max_by_key(|(_, late)| late.median).unwrap();
    let (latest, Delays { at_worst, .. }) = timed.iter().max_by_key(|(_, late)| late.at_worst).unwrap();
    // The delay that the machine itself causes, measured with a thread that only sleeps.
    let slept = |_| {
        let began = Instant::now();
        std::thread::sleep(LIMIT);
        began.elapsed().saturating_sub(LIMIT)
    };
    let sleeper = Delays::of((0..RUNS * timed.len()).map(slept).collect());
    let what = format!("a runaway guest, stopped after its limit of 20 ms: the worst of {} shapes", timed.len());
    let why = "The clock ticks each millisecond. Any delay beyond that comes from the machine's scheduler: see \
               the reference.";
    let row = Row { what: &what, component: slowest, log: "off", why };
    let measured = format!("{} in the median, {} at worst ({latest})", spoken(*median), spoken(*at_worst));
    let reference = format!(
        "{} in the median, {} at worst, a thread that sleeps 20 ms",
        spoken(sleeper.median),
        spoken(sleeper.at_worst)
    );
    let within = *median <= MAX_DELAY && *at_worst <= MAX_WORST_DELAY;
    table.beside(&row, &measured, &reference, "≤ 1.5 ms, ≤ 3 ms at worst", within);
}

/// The median and the longest delay of several runs.
struct Delays {
    median: Duration,
    at_worst: Duration,
}

impl Delays {
    fn of(times: Vec<Duration>) -> Self {
        Self { at_worst: *times.iter().max().unwrap(), median: measure::times(times).median }
    }
}

/// Measures a neighbour's throughput beside each hostile plugin that can be loaded.
fn neighbours(table: &mut Table) {
    // The command `hookhost` uses the same number of threads.
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let mut copier = Vec::new();
    let mut share = |shape: &Shape, spells: usize| {
        let host = runtime.block_on(host(shape, None))?;
        let mut interrupts = 0;
        let pairs = (0..spells).map(|_| {
            let fair = count(&runtime, &host, NeighbourLoad::Neighbour);
            let before = interrupted();
            let beside = count(
                &runtime,
                &host,
                if shape.is_about_tasks() { NeighbourLoad::Tasks } else { NeighbourLoad::Prompts },
            );
            interrupts += interrupted() - before;
            copier.push(count(&runtime, &host, NeighbourLoad::Copier) / fair);
            beside / fair
        });
        let share = median(pairs.collect());
        Some((share, interrupts as f64 / (SPELL.as_secs_f64() * 1e3 * spells as f64)))
    };
    let mut shares: Vec<(f64, Shape)> =
        shapes().into_iter().filter_map(|shape| Some((share(&shape, SPELLS)?.0, shape))).collect();
    shares.sort_by(|(share, _), (other, _)| share.total_cmp(other));
    // The lowest of many short measurements is mostly noise, so the worst plugins are measured again. The second result of such a plugin
    // can even be above the median of all plugins.
    let again = shares.iter().take(WORST).filter_map(|(_, shape)| Some((share(shape, SPELLS_OF_WORST)?, &shape.name)));
    let ((least, interrupts), worst) = again.min_by(|((share, _), _), ((other, _), _)| share.total_cmp(other)).unwrap();
    let middle = shares[shares.len() / 2].0;
    let copier = median(copier);
    let what = format!(
        "events of a neighbour while a plugin misbehaves: the worst of {} shapes, the {WORST} worst measured again",
        shares.len()
    );
    let why = "If a guest reads a page before it first writes to the page, the kernel maps the page a second time, and interrupts the other \
               processors of the process so that they flush their TLBs. A thread without a plugin causes such interrupts, too: see the reference.";
    let row = Row { what: &what, component: worst, log: "off", why };
    let measured = format!(
        "{:.0} %, with {interrupts:.1} flushes of a TLB a millisecond ({:.0} % beside the median shape)",
        least * 100.0,
        middle * 100.0
    );
    let reference = format!(
        "100 % beside a second neighbour that is as busy; {:.0} % beside a thread without a plugin that copies new memory as `giant-memory-copy` does",
        copier * 100.0
    );
    table.beside(&row, &measured, &reference, "≥ 80 %", least >= MIN_SHARE);
}

/// Returns all hostile plugins that are stored in files.
fn shapes() -> Vec<Shape> {
    let files = std::fs::read_dir(directory()).unwrap().map(|file| file.unwrap().path());
    let mut names: Vec<String> = files
        .filter(|path| path.extension().is_some_and(|end| end == "wat"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    names.iter().map(|name| Shape::read(name)).collect()
}

/// Creates a host with this plugin and a neighbour. Returns `None` if the plugin is refused, as some of these plugins must be.
async fn host(shape: &Shape, limit: Option<Duration>) -> Option<Host> {
    let directory = tempfile::tempdir().unwrap();
    let mut entry = shape.entry(directory.path());
    if let Some(limit) = limit {
        (entry.limits.compute, entry.limits.deadline) = (Some(limit), Some(limit));
    }
    let entries = vec![entry, neighbour().entry(directory.path())];
    Host::builder(Config::from_entries(entries, Settings::default()).unwrap()).build().await.ok()
}

fn spec() -> SessionSpec {
    SessionSpec::new("bench", Path::new("/work"))
}

/// Returns the time that the plugin runs beyond its limit. Returns `None` if the plugin was not stopped by this limit.
fn beyond(runtime: &Runtime, host: &Host, shape: &Shape) -> Option<Duration> {
    // Open a new session each time, because after three failures a plugin is not called any more.
    let session = host.open_session(spec()).unwrap();
    let began = Instant::now();
    let record = runtime.block_on(async {
        if shape.is_about_tasks() {
            session.session_start().await.record
        } else {
            session.prompt_submit("bad".into()).await.record
        }
    });
    let took = began.elapsed();
    let failure = record.calls[0].failure.as_ref()?;
    matches!(failure.kind, FailureKind::Compute | FailureKind::Deadline).then(|| took.saturating_sub(LIMIT))
}

/// The work that runs beside a neighbour.
#[derive(Clone, Copy)]
enum NeighbourLoad {
    Neighbour,
    Prompts,
    Tasks,
    /// A thread without a plugin that copies new memory.
    Copier,
}

/// Returns the number of TLB flushes by interrupts so far, which is `TLB` in `/proc/interrupts`. Returns 0 if the system does not report
/// this number.
fn interrupted() -> u64 {
    let table = std::fs::read_to_string("/proc/interrupts").unwrap_or_default();
    let line = table.lines().find_map(|line| line.trim_start().strip_prefix("TLB:"));
    line.unwrap_or_default().split_whitespace().map_while(|count| count.parse::<u64>().ok()).sum()
}

/// Copies the halves of new memory over each other, like `giant-memory-copy`, until `over` is set.
fn copy(over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        // The compiler must not see that the memory is zero, or that the halves are the same after the first copy.
        let mut memory = black_box(vec![0_u8; RESERVED]);
        for _ in 0..COPIES {
            memory.copy_within(COPIED..2 * COPIED, 0);
            let copied = black_box(&mut *memory);
            copied.copy_within(..COPIED, COPIED);
            black_box(copied);
        }
    }
}

/// Returns a neighbour's events per second while the load runs beside it without a pause.
fn count(runtime: &Runtime, host: &Host, beside: NeighbourLoad) -> f64 {
    let over = Arc::new(AtomicBool::new(false));
    let other = runtime.spawn({
        let (host, over) = (host.clone(), Arc::clone(&over));
        async move {
            if let NeighbourLoad::Copier = beside {
                return copy(&over);
            }
            while !over.load(Ordering::Relaxed) {
                let session = host.open_session(spec()).unwrap();
                match beside {
                    NeighbourLoad::Prompts => drop(session.prompt_submit("bad".into()).await),
                    NeighbourLoad::Tasks => drop(session.session_start().await),
                    NeighbourLoad::Neighbour | NeighbourLoad::Copier => {
                        drop(session.finalize_content("content".into()).await);
                    }
                }
            }
        }
    });
    let session = host.open_session(spec()).unwrap();
    let counted = runtime.block_on(runtime.spawn(async move {
        let (began, mut events) = (Instant::now(), 0.0);
        while began.elapsed() < SPELL {
            drop(session.finalize_content("content".into()).await);
            events += 1.0;
        }
        events / began.elapsed().as_secs_f64()
    }));
    over.store(true, Ordering::Relaxed);
    runtime.block_on(other).unwrap();
    counted.unwrap()
}
