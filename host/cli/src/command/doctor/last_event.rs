//! Finds the last event of each agent in the audit log.

use crate::audit_log;
use crate::output::time;
use hookhost::audit::Record;
use hookhost::contract::{EventKind, OutcomeKind};
use hookhost::store::Log;
use hookhost_agents::install::check::Check;
use hookhost_agents::{Agent, canary};
use std::collections::{BTreeMap, HashMap};

/// Maximum number of records that are searched for the last event of an agent. Searching more records would take too long for a person who
/// waits.
const MAX_RECORDS: u64 = 100_000;

/// An event of an agent.
#[derive(Clone, Debug)]
pub(crate) struct LastEvent {
    pub(crate) event: EventKind,
    /// Milliseconds since the Unix epoch.
    pub(crate) time: u64,
    /// True if the hook ran in `hookhost exec`.
    pub(crate) is_sandboxed: bool,
}

/// The last event of each agent, by the agent's name.
#[derive(Debug, Default)]
pub(crate) struct LastEvents {
    events: BTreeMap<String, LastEvent>,
    /// The error, if the log could not be read.
    problem: Option<String>,
}

impl LastEvents {
    /// Reads the end of the user's log. If there is no log, there are no events.
    pub(crate) fn read() -> Self {
        if !audit_log::path().is_ok_and(|path| path.exists()) {
            return Self::default();
        }
        match audit_log::open(None) {
            Ok(log) => Self { events: events(&log), problem: None },
            Err(error) => {
                let message = error.message();
                Self { events: BTreeMap::new(), problem: message.lines().next().map(str::to_owned) }
            }
        }
    }

    pub(crate) fn of(&self, agent: &str) -> Option<&LastEvent> {
        self.events.get(agent)
    }

    pub(super) fn check(&self, agent: &Agent) -> Check {
        if let Some(problem) = &self.problem {
            return Check::problem("event", format!("the log cannot be read: {problem}"), "hookhost audit verify");
        }
        match self.of(agent.name) {
            Some(LastEvent { event, time, .. }) => {
                let says = format!("{} last called hookhost on {} ({event})", agent.title, time::minute(*time));
                Check::ok("event", says)
            }
            None => {
                let says = format!("{} has not called hookhost yet", agent.title);
                Check::unknown("event", says, format!("use {}, then run: hookhost doctor {}", agent.title, agent.name))
            }
        }
    }
}

fn events(log: &Log) -> BTreeMap<String, LastEvent> {
    let mut events = BTreeMap::new();
    each(log, log.last().unwrap_or(0).saturating_sub(MAX_RECORDS), |agent, _, record| {
        if let Record::Event(event) = record
            && !is_canary(event.raw.as_deref().unwrap_or_default())
            && !is_canary(&event.header.session)
        {
            let (time, is_sandboxed) = (event.header.time, event.sandboxed);
            events.insert(agent.to_owned(), LastEvent { event: event.event, time, is_sandboxed });
        }
    });
    events
}

/// Calls `does` for each record after the record `after`, with the agent of the record's session. Records of sessions that were opened
/// before `after` are skipped, because their agent is not known.
fn each(log: &Log, after: u64, mut does: impl FnMut(&str, u64, &Record)) {
    let mut agents: HashMap<String, String> = HashMap::new();
    let Ok(lines) = log.lines_after(after) else { return };
    for line in lines.flatten() {
        let Ok(record) = line.entry() else { continue };
        if let Record::Session(session) = &record {
            agents.insert(session.header.session.clone(), session.agent.clone());
        } else if let Some(agent) = record.session().and_then(|session| agents.get(session)) {
            does(agent, line.seq(), &record);
        }
    }
}

fn is_canary(text: &str) -> bool {
    text.contains(canary::SESSION)
}

/// Returns the number of the last record, or 0 if there is no log.
pub(super) fn last_record() -> u64 {
    let exists = audit_log::path().is_ok_and(|path| path.exists());
    let log = if exists { audit_log::open(None).ok() } else { None };
    log.and_then(|log| log.last().ok()).unwrap_or(0)
}

/// Returns the outcome of the canary call that must be denied. Canary calls are harmless test calls. Returns `None` if the agent did not
/// make this call after the record `after`.
pub(super) fn of_denied_canary(agent: &str, after: u64) -> Option<OutcomeKind> {
    let log = audit_log::open(None).ok()?;
    let mut outcome = None;
    // Starts with earlier records, because the session may have been opened long before the call.
    each(&log, after.saturating_sub(MAX_RECORDS), |of, number, record| {
        if of == agent
            && number > after
            && let Record::Event(event) = record
            && event.event == EventKind::BeforeToolCall
            && event.original.get().contains(canary::DENIED)
        {
            outcome = Some(event.outcome);
        }
    });
    outcome
}
