//! Selects the events of the log that become cases.

use super::mask::Masked;
use super::session_case::SessionCase;
use crate::args::RecordArgs;
use crate::audit_log;
use crate::exit::CliError;
use hookhost::audit::{EventRecord, Record, SessionOpened};
use hookhost::config::Enforcement;
use hookhost::contract::{Cause, EventKind};
use hookhost::store::{Log, LogError};
use hookhost_telemetry::tally::{TRIAL_AGENT, is_proof};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// What was selected.
#[derive(Default)]
pub(super) struct Recording {
    /// The cases, in the order of their first events.
    cases: Vec<SessionCase>,
    masked: Masked,
    /// The number of events that are left out, by reason.
    left_out: BTreeMap<String, u64>,
}

impl Recording {
    /// Reads the log. `since` is the beginning of the period, in milliseconds since the Unix epoch.
    pub(super) fn read(log: &Log, args: &RecordArgs, since: u64) -> Result<Self, CliError> {
        let mut recording = Self::default();
        let mut sessions: HashMap<String, SessionOpened> = HashMap::new();
        for line in log.lines().map_err(audit_log::unreadable)? {
            let line = match line {
                Ok(line) => line,
                Err(LogError::Line { .. }) => continue,
                Err(error) => return Err(audit_log::unreadable(error)),
            };
            match line.entry() {
                Ok(Record::Session(opened)) => {
                    sessions.insert(opened.header.session.clone(), *opened);
                }
                Ok(Record::Event(event)) if event.header.time >= since => {
                    let opened = sessions.get(&event.header.session).filter(|opened| is_selected(opened, args));
                    if let Some(opened) = opened {
                        recording.add(opened, &event);
                    }
                }
                _ => {}
            }
        }
        Ok(recording)
    }

    fn add(&mut self, opened: &SessionOpened, event: &EventRecord) {
        // The second record of an event that was asked about again is about the same call.
        if !matches!(event.event, EventKind::BeforeToolCall | EventKind::PromptSubmit) || event.asked_again.is_some() {
            return;
        }
        if let Some(why) = why_not(event) {
            *self.left_out.entry(why).or_default() += 1;
            return;
        }
        let known = self.cases.iter().position(|case| case.is_of(opened));
        let index = known.unwrap_or_else(|| {
            self.cases.push(SessionCase::new(opened.clone(), event.header.time));
            self.cases.len() - 1
        });
        if let Some(case) = self.cases.get_mut(index) {
            case.add(event, &mut self.masked);
        }
    }

    pub(super) fn events(&self) -> usize {
        self.cases.iter().map(SessionCase::events).sum()
    }

    pub(super) fn sessions(&self) -> usize {
        self.cases.len()
    }

    /// Returns the kinds of the masked secrets, if there are any.
    pub(super) fn masked(&self) -> Option<String> {
        Some(self.masked.in_words()).filter(|masked| !masked.is_empty())
    }

    pub(super) fn left_out(&self) -> &BTreeMap<String, u64> {
        &self.left_out
    }

    /// Returns the case file.
    pub(super) fn to_toml(&self, log: &Path) -> String {
        let mut text = format!("# Recorded by `hookhost record` from {}.\n", log.display().to_string().escape_debug());
        if let Some(masked) = self.masked() {
            text.push_str(&format!("# Masked: {masked}.\n"));
        }
        self.cases.iter().for_each(|case| text.push_str(&case.to_toml()));
        text
    }
}

fn is_selected(opened: &SessionOpened, args: &RecordArgs) -> bool {
    let SessionOpened { header, agent, root, parent, .. } = opened;
    let is_of = |id: &String| [Some(&header.session), root.as_ref(), parent.as_ref()].contains(&Some(id));
    // What a person tried is recorded only if it is asked for.
    let is_wanted = |wanted: Option<&String>| wanted.map_or(agent != TRIAL_AGENT, |wanted| wanted == agent);
    args.session.as_ref().is_none_or(is_of)
        && (args.session.is_some() && args.agent.is_none() || is_wanted(args.agent.as_ref()))
        && !is_proof(&header.session)
}

/// Returns the reason why a case of this event would not have the recorded outcome.
fn why_not(event: &EventRecord) -> Option<String> {
    if event.enforcement == Enforcement::Paused {
        return Some("because hookhost was paused".to_owned());
    }
    if !event.redacted.is_empty() {
        return Some("because the configuration redacts the log".to_owned());
    }
    if let Some(Cause::Failed(_)) = event.cause {
        return Some(format!("because {} failed", event.by.join(", ")));
    }
    event.not_replayable.first().map(|why| format!("because the outcome cannot be repeated: {why}"))
}
