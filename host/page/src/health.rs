//! Reads what works, and what does not.

use crate::log_rows::{LogReader, agent};
use crate::views::health::{AgentState, Failed};
use hookhost::audit::{DeliveryKind, Record};
use hookhost_agents::clock;
use hookhost_agents::install::check::{Check, CheckState};
use hookhost_telemetry::explained::newest_first;
use hookhost_telemetry::tally::is_proof;
use hookhost_transcripts::{TranscriptPlaces, UnseenSessions};
use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// Makes checks that the page does not know itself.
pub type FurtherChecks = Arc<dyn Fn() -> Vec<Check> + Send + Sync>;

/// Maximum number of records in which last events and failures are looked for.
const MAX_RECORDS: usize = 20_000;

/// Maximum number of failures that are shown.
const MAX_FAILURES: usize = 20;

/// Free space below which recording is in danger, in bytes.
const LITTLE_SPACE: u64 = 256 * 1024 * 1024;

/// Time for which sessions in transcripts are not counted again.
const UNSEEN_LIFETIME: Duration = Duration::from_secs(300);

/// Period of the transcripts that are read.
const WEEK: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// What the newest records say.
#[derive(Default)]
pub(crate) struct Newest {
    /// The last event of each agent: time, record, name.
    pub(crate) events: BTreeMap<String, (u64, u64, &'static str)>,
    pub(crate) failures: Vec<Failed>,
    pub(crate) records: u64,
}

impl Newest {
    pub(crate) fn read(reader: &LogReader) -> Result<Self, String> {
        let log = reader.open()?;
        let records = log.last().map_err(|error| error.to_string())?;
        let (mut newest, mut left) = (Self { records, ..Self::default() }, MAX_RECORDS);
        newest_first(&log, u64::MAX, |line| {
            match line.entry() {
                Ok(Record::Event(event)) if !is_proof(&event.header.session) => {
                    let seen = (event.header.time, line.seq(), event.event.name());
                    newest.events.entry(agent(&event.header.session).to_owned()).or_insert(seen);
                    for call in &event.calls {
                        if let Some(failure) = &call.failure {
                            let text = format!("{}{}", failure.kind.opening(), failure.detail);
                            newest.fail(event.header.time, line.seq(), call.plugin.clone(), text);
                        }
                    }
                }
                Ok(Record::Delivery(delivery))
                    if matches!(delivery.what, DeliveryKind::Unanswered | DeliveryKind::ChangeNotApplied) =>
                {
                    let who = agent(&delivery.header.session).to_owned();
                    newest.fail(delivery.header.time, line.seq(), who, delivery.note);
                }
                _ => {}
            }
            left -= 1;
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .map_err(|error| error.to_string())?;
        Ok(newest)
    }

    fn fail(&mut self, time: u64, seq: u64, who: String, text: String) {
        if self.failures.len() < MAX_FAILURES {
            self.failures.push(Failed { time, seq, who, text });
        }
    }
}

/// The sessions about which hookhost was not asked. Reading the transcripts takes seconds, so they are read in the background.
#[derive(Debug, Default)]
pub(crate) struct UnseenCount(Arc<Mutex<UnseenState>>);

#[derive(Debug, Default)]
struct UnseenState {
    is_reading: bool,
    read: Option<Instant>,
    /// The agents with their unseen and all sessions.
    agents: BTreeMap<&'static str, (u64, u64)>,
}

impl UnseenCount {
    /// Returns the last count, and whether another one is under way. Begins one if the last is old.
    pub(crate) fn get(&self, reader: &LogReader) -> (BTreeMap<&'static str, (u64, u64)>, bool) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.is_reading && state.read.is_none_or(|read| read.elapsed() > UNSEEN_LIFETIME) {
            state.is_reading = true;
            let (shared, reader) = (Arc::clone(&self.0), reader.clone());
            tokio::task::spawn_blocking(move || {
                let agents = unseen(&reader).unwrap_or_default();
                let mut state = shared.lock().unwrap_or_else(PoisonError::into_inner);
                *state = UnseenState { is_reading: false, read: Some(Instant::now()), agents };
            });
        }
        (state.agents.clone(), state.is_reading && state.read.is_none())
    }
}

fn unseen(reader: &LogReader) -> Option<BTreeMap<&'static str, (u64, u64)>> {
    let since = SystemTime::now().checked_sub(WEEK)?;
    let mut sessions = HashSet::new();
    let log = reader.open().ok()?;
    let cutoff = clock::milliseconds(since);
    newest_first(&log, u64::MAX, |line| match line.entry() {
        Ok(record) if record.time() < cutoff => ControlFlow::Break(()),
        Ok(Record::Event(event)) => {
            sessions.insert(event.header.session.split(':').take(2).collect::<Vec<_>>().join(":"));
            ControlFlow::Continue(())
        }
        _ => ControlFlow::Continue(()),
    })
    .ok()?;
    let places = TranscriptPlaces::of_environment(std::env::home_dir()?, |name| std::env::var_os(name));
    let found = UnseenSessions::read(places, since, |agent, id| sessions.contains(&format!("{agent}:{id}")));
    Some(found.agents.into_iter().map(|(agent, count)| (agent, (count.unseen, count.all))).collect())
}

/// Joins the agents of the log with those of the transcripts.
pub(crate) fn agents(newest: &Newest, unseen: &BTreeMap<&'static str, (u64, u64)>) -> Vec<AgentState> {
    let names: std::collections::BTreeSet<&str> =
        newest.events.keys().map(String::as_str).chain(unseen.keys().copied()).collect();
    let state = |name: &str| AgentState {
        agent: name.to_owned(),
        last: newest.events.get(name).copied(),
        unseen: unseen.get(name).copied(),
    };
    names.into_iter().map(state).collect()
}

/// Checks the space for the log, and returns the size of the database.
pub(crate) fn disk(database: &Path) -> (Check, u64) {
    let size = ["", "-wal"].iter().filter_map(|end| {
        let mut path = database.as_os_str().to_owned();
        path.push(end);
        std::fs::metadata(path).ok().map(|file| file.len())
    });
    let directory = database.parent().unwrap_or(Path::new("/"));
    let next = "make room on the disk of the log";
    let check = match rustix::fs::statvfs(directory) {
        Err(error) => Check::unknown("disk", format!("the free space cannot be read: {error}"), next),
        Ok(found) => {
            let free = found.f_bavail.saturating_mul(found.f_frsize);
            let says = format!(
                "{} free for the log; events whose records cannot be written are denied",
                crate::views::layout::bytes(free)
            );
            if free < LITTLE_SPACE { Check::problem("disk", says, next) } else { Check::ok("disk", says) }
        }
    };
    (check, size.sum())
}

/// The last time that the whole log was verified: the check, and the number of records at that time.
#[derive(Debug, Default)]
pub(crate) struct Verified(Mutex<Option<(Check, u64)>>);

impl Verified {
    /// Verifies the whole log.
    pub(crate) fn verify(&self, reader: &LogReader) -> Check {
        const NEXT: &str = "hookhost audit verify";
        let done = reader.open().and_then(|log| log.verify(None).map_err(|error| error.to_string()));
        let (check, records) = match done {
            Err(error) => (Check::problem("log", error, NEXT), 0),
            Ok(report) if report.is_sound() => {
                (Check::ok("log", format!("{} records are as they were written", report.lines)), report.lines)
            }
            Ok(report) => {
                let flaw = report.flaws.first().map(ToString::to_string).unwrap_or_default();
                (Check::problem("log", flaw, NEXT), report.lines)
            }
        };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((check.clone(), records));
        check
    }

    pub(crate) fn check(&self, records: u64) -> Check {
        match &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            None => Check::unknown("log", "not verified since this host began", "the button below"),
            Some((check, verified)) if check.state == CheckState::Ok => {
                Check::ok("log", format!("{}; {} came since then", check.says, records.saturating_sub(*verified)))
            }
            Some((check, _)) => check.clone(),
        }
    }
}
