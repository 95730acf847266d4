//! Runs the sinks of a configuration on a thread of their own. No event waits for them.

use crate::agents::SessionAgents;
use crate::error::TelemetryError;
use crate::exposition;
use crate::gauges;
use crate::meter::{Counted, Meter, SharedCounters, send_metrics};
use crate::positions::{PositionFile, SinkState};
use crate::reader::{FirstRecord, Reader};
use crate::settings::Sinks;
use crate::sink::Sink;
use hookhost::Host;
use hookhost::files;
use hookhost::store::{FollowFrom, FollowedLog, Log};
use std::cell::RefCell;
use std::fs::{File, TryLockError};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::runtime::Builder;
use tokio::task::{JoinSet, LocalSet};
use tokio_util::sync::CancellationToken;

/// Time that a host which ends waits for the sinks.
const LAST_ATTEMPT: Duration = Duration::from_secs(2);

/// Interval at which a failed start is repeated.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Interval at which the lock is tried.
const LOCK_INTERVAL: Duration = Duration::from_millis(100);

/// Time without the lock after which there is a warning.
const LOCK_PATIENCE: Duration = Duration::from_secs(10);

/// The content of the lock's file once there are positions. If they are missing later, they are lost.
const HAS_POSITIONS: &[u8] = b"positions\n";

/// The running sinks. They end when this is dropped, after one last attempt.
#[derive(Debug)]
pub struct Readers {
    stop: CancellationToken,
    thread: Option<JoinHandle<()>>,
    counters: Option<SharedCounters>,
    names: Vec<&'static str>,
    log: PathBuf,
}

impl Readers {
    /// Starts the sinks. The metrics contain the number of the questions of `host` that wait. If another process sends the records of this log, they wait until it has ended.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn start(sinks: Sinks, log: &Path, host: Option<Host>) -> Result<Self, TelemetryError> {
        let stop = CancellationToken::new();
        let counters = sinks.counts.then(SharedCounters::default);
        let names = sinks.names();
        let task = Sending {
            log: log.to_owned(),
            counters: counters.clone().unwrap_or_default(),
            first: sinks.first,
            host,
            stop: stop.clone(),
        };
        let thread = std::thread::Builder::new().name("telemetry".to_owned()).spawn(move || task.run(sinks))?;
        Ok(Self { stop, thread: Some(thread), counters, names, log: log.to_owned() })
    }

    /// Returns the metrics as Prometheus reads them, or `None` if nothing is counted. `waiting` is the number of questions that wait.
    ///
    /// # Errors
    /// If the log or the positions cannot be read.
    pub fn metrics(&self, waiting: Option<u64>) -> Result<Option<String>, TelemetryError> {
        let Some(counters) = &self.counters else { return Ok(None) };
        let (mut sinks, last) = states(&self.log)?;
        sinks.retain(|sink| self.names.contains(&sink.name.as_str()));
        let gauges = gauges::measure(&self.log, waiting);
        Ok(Some(exposition::text(&counters.get(), &gauges, &sinks, last)))
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was printed when it happened.
            let _ = thread.join();
        }
    }
}

/// Returns the states of all sinks that have ever run, and the number of the log's last stored record.
///
/// # Errors
/// If the log or the positions cannot be read.
pub fn states(log: &Path) -> Result<(Vec<SinkState>, u64), TelemetryError> {
    let last = Log::open(log)?.only_stored().last()?;
    let states = PositionFile::look(log)?.map(|file| file.sinks()).transpose()?;
    Ok((states.unwrap_or_default(), last))
}

/// Sends all stored records and returns, for a machine without a resident host. `most` is the longest time.
///
/// # Errors
/// [`TelemetryError::Busy`] if another process sends the records.
pub fn flush(sinks: Sinks, log: &Path, most: Duration) -> Result<(), TelemetryError> {
    let Some(lock) = lock(log)? else { return Err(TelemetryError::Busy) };
    let stop = CancellationToken::new();
    stop.cancel();
    let counters = SharedCounters::default();
    let sending = Sending { log: log.to_owned(), counters, first: sinks.first, host: None, stop };
    let positions = sending.positions(&lock)?;
    sending.send(sinks, positions, most)
}

/// Gives up the records that a sink has not taken. It goes on with the next record that is written.
///
/// # Errors
/// [`TelemetryError::Busy`] if a resident host sends the records.
pub fn skip(log: &Path, sink: &str) -> Result<(), TelemetryError> {
    let Some(_lock) = lock(log)? else { return Err(TelemetryError::Busy) };
    let positions = PositionFile::open(log)?;
    let mut state = positions.sink(sink)?;
    let (end, _) = FollowedLog::open(log, FollowFrom::End)?;
    let before = state.position.map_or(0, |position| position.seq);
    state.skipped += end.position().seq.saturating_sub(before);
    state.last_skipped = Some(end.position().seq);
    state.position = Some(end.position());
    (state.error, state.since, state.next_attempt) = (None, None, None);
    positions.save(&state, |_| Ok(()))
}

/// Takes the lock of telemetry. Returns `None` if another process has it.
fn lock(log: &Path) -> Result<Option<File>, TelemetryError> {
    let file = files::open_lock(&log.with_file_name("telemetry.lock"))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(files::FileError::from(error).into()),
    }
}

/// What the thread needs.
struct Sending {
    log: PathBuf,
    counters: SharedCounters,
    first: FirstRecord,
    host: Option<Host>,
    stop: CancellationToken,
}

impl Sending {
    fn run(self, sinks: Sinks) {
        let Some(lock) = self.once(|| lock(&self.log)) else { return };
        let Some(positions) = self.once(|| self.positions(&lock).map(Some)) else { return };
        if let Err(error) = self.send(sinks, positions, LAST_ATTEMPT) {
            tracing::error!("telemetry has ended: {error}");
        }
    }

    /// Repeats an attempt until it returns something, or until `stop` is cancelled. Warns once of each error, and once if nothing comes
    /// for [`LOCK_PATIENCE`].
    fn once<T>(&self, attempt: impl Fn() -> Result<Option<T>, TelemetryError>) -> Option<T> {
        let (began, mut warned) = (Instant::now(), String::new());
        loop {
            let (problem, pause) = match attempt() {
                Ok(Some(done)) => return Some(done),
                Ok(None) if began.elapsed() < LOCK_PATIENCE => (String::new(), LOCK_INTERVAL),
                Ok(None) => (TelemetryError::Busy.to_string(), LOCK_INTERVAL),
                Err(error) => (error.to_string(), RETRY_INTERVAL),
            };
            if !problem.is_empty() && problem != warned {
                tracing::warn!("telemetry waits: {problem}");
                warned = problem;
            }
            if self.stop.is_cancelled() {
                return None;
            }
            std::thread::sleep(pause);
        }
    }

    /// Opens the positions, and notes in the file of the lock that there are some.
    fn positions(&self, mut lock: &File) -> Result<PositionFile, TelemetryError> {
        let had_positions = lock.metadata().is_ok_and(|metadata| metadata.len() > 0);
        let is_missing = !PositionFile::path_of(&self.log).exists();
        let mut positions = PositionFile::open(&self.log)?;
        positions.is_after_loss |= had_positions && is_missing;
        if positions.is_after_loss {
            tracing::warn!("the positions of telemetry are lost: each sink begins with the first record of the log");
        }
        if !had_positions {
            // If this fails, only a loss of the positions before the next start stays unnoticed.
            let _ = lock.write_all(HAS_POSITIONS);
        }
        Ok(positions)
    }

    /// Sends records until `stop` is cancelled, and then for at most `after` what is left.
    fn send(&self, sinks: Sinks, positions: PositionFile, after: Duration) -> Result<(), TelemetryError> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let positions = Rc::new(positions);
        let agents = Rc::new(RefCell::new(SessionAgents::new(Rc::clone(&positions))));
        let local = LocalSet::new();
        let mut tasks = JoinSet::new();
        let mut add = Tasks { sending: self, local: &local, tasks: &mut tasks, positions: &positions, agents: &agents };
        sinks.otlp.into_iter().for_each(|otlp| add.follow(otlp));
        sinks.file.into_iter().for_each(|file| add.follow(file));
        sinks.webhook.into_iter().for_each(|webhook| add.follow(webhook));
        sinks.notices.into_iter().for_each(|notices| add.follow(notices));
        if sinks.counts {
            add.follow(Meter::new(self.counters.clone(), &positions));
        }
        if let Some((otlp, interval)) = sinks.otlp_metrics {
            let counted = Counted { counters: self.counters.clone(), log: self.log.clone(), host: self.host.clone() };
            let sent = send_metrics(otlp, interval, counted, Rc::clone(&positions), self.stop.clone());
            tasks.spawn_local_on(sent, &local);
        }
        local.block_on(&runtime, async {
            let limit = async {
                self.stop.cancelled().await;
                tokio::time::sleep(after).await;
            };
            tokio::select! {
                () = limit => {}
                () = async { while tasks.join_next().await.is_some() {} } => {}
            }
        });
        Ok(())
    }
}

/// Starts the tasks of the sinks.
struct Tasks<'a> {
    sending: &'a Sending,
    local: &'a LocalSet,
    tasks: &'a mut JoinSet<()>,
    positions: &'a Rc<PositionFile>,
    agents: &'a Rc<RefCell<SessionAgents>>,
}

impl Tasks<'_> {
    fn follow<S: Sink + 'static>(&mut self, sink: S) {
        let Sending { log, first, stop, .. } = self.sending;
        let (log, first, stop) = (log.clone(), *first, stop.clone());
        let (positions, agents) = (Rc::clone(self.positions), Rc::clone(self.agents));
        let follow = async move {
            let mut sink = Some(sink);
            while let Some(unopened) = sink.take() {
                match Reader::open(unopened, log.clone(), first, Rc::clone(&positions), Rc::clone(&agents)) {
                    Ok(reader) => reader.run(stop.clone()).await,
                    Err((unopened, error)) => {
                        tracing::warn!(sink = unopened.name(), "the log cannot be followed: {error}");
                        if stop.is_cancelled() {
                            return;
                        }
                        sink = Some(*unopened);
                        tokio::time::sleep(RETRY_INTERVAL).await;
                    }
                }
            }
        };
        self.tasks.spawn_local_on(follow, self.local);
    }
}

#[cfg(test)]
mod tests;
