//! Reads the log for one sink. The sink gets each record at least once, in order, whatever happens to this process.

use crate::agents::SessionAgents;
use crate::error::TelemetryError;
use crate::positions::{PositionFile, SinkState};
use crate::sink::{Entry, Sent, Sink};
use hookhost::store::{FollowFrom, FollowedLog, LogError, Position};
use hookhost_agents::clock::now;
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Interval at which the log is asked for new records.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Interval at which the file of the log is compared with the opened file.
const FILE_INTERVAL: Duration = Duration::from_secs(1);

/// Longest time that a receiver can make the sink wait.
const MAX_WAIT: Duration = Duration::from_secs(3600);

/// Maximum number of records in a batch.
const MAX_BATCH: usize = 512;

/// Size at which a batch ends, in bytes.
const MAX_BATCH_BYTES: usize = 1024 * 1024;

/// Number of records that are read at once. A batch can exceed [`MAX_BATCH_BYTES`] by these.
const PAGE: usize = 32;

/// Delays before an attempt is repeated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delays {
    /// The first delay. Each further delay is twice as long as the one before.
    pub(crate) first: Duration,
    /// The longest delay.
    pub(crate) most: Duration,
}

impl Default for Delays {
    fn default() -> Self {
        Self { first: Duration::from_secs(1), most: Duration::from_secs(60) }
    }
}

/// Where a sink begins that has no position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FirstRecord {
    /// With the next record that is written.
    #[default]
    Now,
    /// With the first record of the log.
    Beginning,
}

/// A sink, the log and the sink's position.
pub(crate) struct Reader<S> {
    sink: S,
    log: FollowedLog,
    path: PathBuf,
    positions: Rc<PositionFile>,
    agents: Rc<RefCell<SessionAgents>>,
    state: SinkState,
    delays: Delays,
    delay: Duration,
    looked_at_file: Instant,
}

impl<S: Sink> Reader<S> {
    /// Opens the log for a sink.
    ///
    /// # Errors
    /// If the log or the positions cannot be read. Also returns the sink, so that it can be tried again.
    pub(crate) fn open(
        mut sink: S,
        path: PathBuf,
        first: FirstRecord,
        positions: Rc<PositionFile>,
        agents: Rc<RefCell<SessionAgents>>,
    ) -> Result<Self, (Box<S>, TelemetryError)> {
        match begin(&mut sink, &path, first, &positions) {
            Ok((log, state)) => {
                let delays = Delays::default();
                let looked_at_file = Instant::now();
                Ok(Self { sink, log, path, positions, agents, state, delays, delay: delays.first, looked_at_file })
            }
            Err(error) => Err((Box::new(sink), error)),
        }
    }
    /// Replaces the delays.
    #[cfg(test)]
    pub(crate) fn with_delays(self, delays: Delays) -> Self {
        Self { delays, delay: delays.first, ..self }
    }

    /// Sends records until `stop` is cancelled and every stored record was sent or an attempt has failed.
    pub(crate) async fn run(mut self, stop: CancellationToken) {
        loop {
            let ends = stop.is_cancelled();
            self.sink.tick().await;
            let wait = match self.step(&stop).await {
                Ok(ControlFlow::Break(())) => return,
                Ok(ControlFlow::Continue(true)) => {
                    // A sink with a backlog must not keep the others from their turn.
                    tokio::task::yield_now().await;
                    continue;
                }
                Ok(ControlFlow::Continue(false)) => POLL_INTERVAL,
                Err(error) => self.fail(&error.to_string(), None),
            };
            if ends {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = stop.cancelled() => {}
            }
        }
    }

    /// Sends the next batch. Returns true if there was one.
    async fn step(&mut self, stop: &CancellationToken) -> Result<ControlFlow<(), bool>, TelemetryError> {
        self.look_at_file()?;
        let before = self.log.position();
        let batch = self.next_batch()?;
        if batch.is_empty() && self.log.position() == before {
            return Ok(ControlFlow::Continue(false));
        }
        if self.deliver(&batch, stop).await.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        // Records at the end that cannot be read are passed, too.
        self.reached(self.log.position(), 0);
        Ok(ControlFlow::Continue(true))
    }

    /// Begins again if another file is at the path of the log.
    fn look_at_file(&mut self) -> Result<(), TelemetryError> {
        if self.looked_at_file.elapsed() < FILE_INTERVAL {
            return Ok(());
        }
        self.looked_at_file = Instant::now();
        if self.log.is_replaced() {
            let (log, is_other) = FollowedLog::open(&self.path, FollowFrom::After(self.log.position()))?;
            tracing::warn!(sink = self.sink.name(), is_other, "the file of the log was replaced");
            self.log = log;
            if is_other {
                self.sink.begin(None);
            }
        }
        Ok(())
    }

    /// Reads the next records. Those that cannot be read are counted.
    fn next_batch(&mut self) -> Result<Vec<Entry>, TelemetryError> {
        let mut batch = Vec::new();
        let mut bytes = 0;
        while batch.len() < MAX_BATCH && bytes < MAX_BATCH_BYTES {
            let lines = match self.log.next_records(PAGE) {
                Ok(lines) => lines,
                Err(LogError::NotAsWritten { from, .. }) => {
                    self.skip(from, "it is not as it was written");
                    break;
                }
                Err(error) if batch.is_empty() => return Err(error.into()),
                Err(_) => break,
            };
            let is_last = lines.len() < PAGE;
            for line in lines {
                bytes += line.text().len();
                match line.entry() {
                    Ok(record) => {
                        let agent = self.agents.borrow_mut().of(&record);
                        batch.push(Entry { line, record, agent, log: self.log.position().log });
                    }
                    Err(error) => self.skip(line.seq(), &error.to_string()),
                }
            }
            if is_last {
                break;
            }
        }
        Ok(batch)
    }

    /// Sends all records of a batch. A part that is refused is halved until the record at fault is alone, and that record is given up.
    async fn deliver(&mut self, batch: &[Entry], stop: &CancellationToken) -> ControlFlow<()> {
        let (mut at, mut size) = (0, batch.len());
        while at < batch.len() {
            let part = &batch[at..batch.len().min(at + size)];
            let Some(last) = part.last() else { break };
            let wait = match self.sink.send(part).await {
                Sent::All => {
                    at += part.len();
                    self.reached(self.log.position_of(&last.line), part.len() as u64);
                    continue;
                }
                Sent::AllBut { refused, because } => {
                    at += part.len();
                    self.state.skipped += refused;
                    self.state.last_skipped = Some(last.line.seq());
                    self.reached(self.log.position_of(&last.line), (part.len() as u64).saturating_sub(refused));
                    tracing::warn!(sink = self.sink.name(), refused, "records were refused: {because}");
                    continue;
                }
                Sent::Refused { because } if part.len() == 1 => {
                    at += 1;
                    size = batch.len();
                    self.skip(last.line.seq(), &because);
                    self.reached(self.log.position_of(&last.line), 0);
                    continue;
                }
                Sent::Refused { .. } => {
                    size = part.len() / 2;
                    continue;
                }
                Sent::Later { because, after } => self.fail(&because, after),
                Sent::Misconfigured { because } => self.fail(&because, Some(self.delays.most)),
            };
            if stop.is_cancelled() {
                return ControlFlow::Break(());
            }
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = stop.cancelled() => {}
            }
        }
        ControlFlow::Continue(())
    }

    /// Notes that the sink has all records up to this one. If the position cannot be saved, records may be sent again after a
    /// restart.
    fn reached(&mut self, position: Position, sent: u64) {
        if self.state.position == Some(position) && sent == 0 && self.state.error.is_none() {
            return;
        }
        self.delay = self.delays.first;
        self.state.sent += sent;
        self.state.position = Some(position);
        (self.state.error, self.state.since, self.state.next_attempt) = (None, None, None);
        let sink = &mut self.sink;
        match self.positions.save(&self.state, |connection| sink.save(connection)) {
            Ok(()) => sink.saved(),
            Err(error) => tracing::warn!(sink = self.state.name, "{error}"),
        }
    }

    fn skip(&mut self, seq: u64, because: &str) {
        self.state.skipped += 1;
        self.state.last_skipped = Some(seq);
        tracing::warn!(sink = self.state.name, record = seq, "the record is not sent: {because}");
    }

    /// Notes that an attempt has failed. Returns the time until the next one.
    fn fail(&mut self, because: &str, after: Option<Duration>) -> Duration {
        // A receiver that says `Retry-After: 0` must not get the same records in a tight loop.
        let wait = after.unwrap_or_default().max(self.delay).min(MAX_WAIT);
        // Many machines must not come back at the same moment.
        let wait = wait.mul_f64(0.75 + rand::random::<f64>() / 2.0);
        self.delay = (self.delay * 2).min(self.delays.most);
        let now = now();
        self.state.error = Some(because.to_owned());
        self.state.since.get_or_insert(now);
        self.state.next_attempt = Some(now.saturating_add(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)));
        // A position that cannot be saved is saved with the next success.
        let _ = self.positions.save(&self.state, |_| Ok(()));
        wait
    }
}

/// Opens the log where the sink is, and returns it with the sink's state.
fn begin<S: Sink>(
    sink: &mut S,
    path: &Path,
    first: FirstRecord,
    positions: &PositionFile,
) -> Result<(FollowedLog, SinkState), TelemetryError> {
    let mut state = positions.sink(sink.name())?;
    let from = match (state.position, first) {
        (Some(position), _) => FollowFrom::After(position),
        (None, FirstRecord::Now) if !positions.is_after_loss => FollowFrom::End,
        // A sink may have been anywhere before its position was lost. A receiver recognizes what it has already.
        (None, _) => FollowFrom::Beginning,
    };
    let (log, is_other) = FollowedLog::open(path, from)?;
    sink.begin(state.position.filter(|_| !is_other).as_ref());
    state.position = Some(log.position());
    positions.save(&state, |_| Ok(()))?;
    Ok((log, state))
}

#[cfg(test)]
mod tests;
