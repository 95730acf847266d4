//! Replay: recorded events, asked about again.
//!
//! Each recorded event is settled anew by the plugins of a host, with the identifier, the time, the
//! state and the answers of capabilities that its record has. With the same plugins the verdicts
//! are the same; with others one sees what a new rule would have made of them. Nothing is recorded,
//! nobody is asked, and what a plugin writes to its state is kept for the replay alone.

use crate::audit::{CallRecord, EventRecord, Line, Record, SessionOpened};
use crate::contract::{OutcomeKind, Shape};
use crate::host::Host;
use crate::session::{DispatchOptions, Recall, RecalledConsent, Session, SessionSpec};
use crate::store::{Log, LogError};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

/// A recorded event, and what came of it again.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Compared {
    /// The number of its record.
    pub seq: u64,
    /// What was recorded.
    pub recorded: EventRecord,
    /// What came of it now; absent where it could not be asked about.
    pub again: Option<EventRecord>,
    /// In what the two differ, in chain order; also where it could not be expected to be the same.
    pub differences: Vec<Difference>,
    /// Why it could not be expected to be the same, a sentence each; none: it could.
    pub not_replayable: Vec<String>,
}

/// In what two settlements of one event differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
#[non_exhaustive]
pub enum Difference {
    /// What came of it, or why.
    Outcome {
        /// As it was recorded.
        recorded: OutcomeKind,
        /// As it is now.
        again: OutcomeKind,
    },
    /// The final value, or the result in its place.
    Value,
    /// What a person is asked, and by whom, or which plugin waived that.
    Questions,
    /// What a plugin, which was asked then and now in the same round, answered.
    Verdict {
        /// The plugin.
        plugin: String,
        /// The round.
        round: u32,
    },
    /// A plugin was asked in this round, then or now, and not both.
    Asked {
        /// The plugin.
        plugin: String,
        /// The round.
        round: u32,
    },
}

/// What came of a replay.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Summary {
    /// Recorded events.
    pub events: u64,
    /// Of these, what came of them was the same.
    pub same: u64,
    /// It was not.
    pub different: u64,
    /// It could not be expected to be the same.
    pub not_replayable: u64,
    /// How many of those there were for each reason.
    pub reasons: BTreeMap<String, u64>,
}

/// Asks `host` about each event of `log`, in order, and hands what came of it to `each`. A host for this has neither a
/// store nor an approver. Each record is verified before it is asked about.
///
/// # Errors
/// If the log cannot be read, or is not as it was written: then nothing from the record on that the
/// error names was asked about. A record of a later version counts as an event that cannot be
/// replayed.
pub async fn replay(host: &Host, log: &Log, each: impl FnMut(&Compared)) -> Result<Summary, LogError> {
    replay_lines(host, log.verified_lines()?, each).await
}

/// As [`replay`], of a log that may be anybody's: a part of one, or one that somebody has changed.
///
/// # Errors
/// If the log cannot be read. A line that is not a valid record, or a later version's, counts as an
/// event that cannot be replayed.
pub async fn replay_unverified(host: &Host, log: &Log, each: impl FnMut(&Compared)) -> Result<Summary, LogError> {
    replay_lines(host, log.lines()?, each).await
}

async fn replay_lines(
    host: &Host,
    lines: impl Iterator<Item = Result<Line, LogError>>,
    mut each: impl FnMut(&Compared),
) -> Result<Summary, LogError> {
    let mut summary = Summary::default();
    let mut sessions: HashMap<String, Known> = HashMap::new();
    for line in lines {
        let line = match line {
            Ok(line) => line,
            Err(LogError::Line { .. }) => {
                summary.left_out("the line is not a record");
                continue;
            }
            Err(error) => return Err(error),
        };
        match line.entry() {
            Ok(Record::Session(opened)) => {
                let (id, lacks_schemas) = (opened.session.clone(), !opened.without_schema.is_empty());
                let handles = sessions.get(&id).map_or(0, |known| known.handles) + 1;
                sessions.insert(id, Known { session: Replayed::Announced(opened), lacks_schemas, handles });
            }
            Ok(Record::SessionEnded(ended)) => {
                if let Entry::Occupied(mut known) = sessions.entry(ended.session) {
                    known.get_mut().handles -= 1;
                    // Through the others its events go on.
                    if known.get().handles == 0 {
                        known.remove();
                    }
                }
            }
            Ok(Record::Event(recorded)) => {
                let compared = compare(host, &mut sessions, line.seq(), *recorded).await;
                summary.count(&compared);
                each(&compared);
            }
            Ok(_) => {}
            Err(_) => summary.left_out("the line is not a record"),
        }
    }
    Ok(summary)
}

/// A session of the log.
struct Known {
    session: Replayed,
    /// Arguments that missed a schema when they were recorded fit now.
    lacks_schemas: bool,
    /// Handles of it that are open; one of a process that was killed stays among them.
    handles: u64,
}

/// How far it is opened again.
enum Replayed {
    Announced(Box<SessionOpened>),
    Open(Session),
    /// It cannot be opened again; why.
    Closed(String),
}

impl Replayed {
    /// The session, opened when it is first needed.
    fn session(&mut self, host: &Host) -> Result<&Session, String> {
        if let Self::Announced(opened) = self {
            let opened = host.open_session(spec(opened)).map_err(|error| error.to_string());
            *self = opened.map_or_else(Self::Closed, Self::Open);
        }
        match self {
            Self::Open(session) => Ok(session),
            Self::Closed(why) => Err(why.clone()),
            Self::Announced(_) => Err("the session is not open".into()),
        }
    }
}

fn spec(opened: &SessionOpened) -> SessionSpec {
    SessionSpec {
        id: Some(opened.session.clone()),
        agent: opened.agent.clone(),
        cwd: PathBuf::from(&opened.cwd),
        workspace: PathBuf::from(&opened.workspace),
        depth: opened.depth,
        interactive: opened.interactive,
        parent: opened.parent.clone(),
        root: opened.root.clone(),
        rules: None,
        tools: opened.tools.clone(),
        models: opened.models.clone(),
    }
}

async fn compare(host: &Host, sessions: &mut HashMap<String, Known>, seq: u64, recorded: EventRecord) -> Compared {
    let mut compared = Compared {
        seq,
        not_replayable: recorded.not_replayable.clone(),
        recorded,
        again: None,
        differences: Vec::new(),
    };
    let recorded = &compared.recorded;
    if sessions.get(&recorded.session).is_some_and(|known| known.lacks_schemas) {
        compared.not_replayable.push("the log does not hold the schemas of all tools of its session".into());
    }
    if !recorded.redacted.is_empty() {
        compared.not_replayable.push("the configuration kept a part of it out of the log".into());
    }
    if recorded.redacted.contains_key("original") {
        return compared;
    }
    let again = match sessions.get_mut(&recorded.session).map(|known| known.session.session(host)) {
        None => Err("the log does not have the opening of its session".to_owned()),
        Some(Err(why)) => Err(why),
        Some(Ok(session)) => again(session, recorded).await,
    };
    match again {
        Ok(again) => {
            if again.original.get() == recorded.original.get() {
                compared.differences = differences(recorded, &again);
                for why in &again.not_replayable {
                    if !compared.not_replayable.contains(why) {
                        compared.not_replayable.push(why.clone());
                    }
                }
                compared.again = Some(again);
            } else {
                compared.not_replayable.push("the agent prepares it otherwise than this command".into());
            }
        }
        Err(why) => compared.not_replayable.push(why),
    }
    compared
}

/// Settles a recorded event again.
async fn again(session: &Session, recorded: &EventRecord) -> Result<EventRecord, String> {
    session.set_turn(recorded.turn);
    let asked_again = recorded.asked_again.as_ref().map(|again| RecalledConsent {
        round: again.round,
        response: json(recorded.response.as_deref()),
        answered: again.answered.clone(),
    });
    let recall = Recall {
        id: recorded.id.clone(),
        time: recorded.time,
        calls: recorded.calls.clone(),
        asked_again,
        kept: recorded.kept.clone(),
    };
    let options = DispatchOptions { raw: recorded.raw.clone(), await_observers: true };
    let value: Value = serde_json::from_str(recorded.original.get()).map_err(|error| error.to_string())?;
    let payload = match recorded.event.parameters() {
        [parameter] => Value::Object([((*parameter).to_owned(), value)].into_iter().collect()),
        _ => value,
    };
    let settled = session.dispatch_again(recorded.event, payload, options, recall).await;
    settled.map(|settled| *settled.record).map_err(|error| format!("it is not of its event's type: {error}"))
}

fn differences(recorded: &EventRecord, again: &EventRecord) -> Vec<Difference> {
    let mut differences = Vec::new();
    let decided = |record: &EventRecord| (record.outcome, record.by.clone(), record.cause, record.reason.clone());
    if decided(recorded) != decided(again) {
        differences.push(Difference::Outcome { recorded: recorded.outcome, again: again.outcome });
    }
    let final_value = |record: &EventRecord| {
        let value = record.last.as_ref().unwrap_or(&record.original);
        (!record.outcome.is_no()).then(|| (value.get().to_owned(), json(record.response.as_deref())))
    };
    if recorded.outcome.is_no() == again.outcome.is_no() && final_value(recorded) != final_value(again) {
        differences.push(Difference::Value);
    }
    let asked = |record: &EventRecord| (record.questions.clone(), record.kept.clone(), record.approved_by.clone());
    if recorded.outcome == again.outcome && asked(recorded) != asked(again) {
        differences.push(Difference::Questions);
    }
    // What observers did is in a record of their own.
    if recorded.event.shape() == Shape::Observe {
        return differences;
    }
    let in_both = |call: &CallRecord, calls: &[CallRecord]| calls.iter().any(|other| is_same_ask(call, other));
    for call in &again.calls {
        let (plugin, round) = (call.plugin.clone(), call.round);
        match recorded.calls.iter().find(|other| is_same_ask(call, other)) {
            Some(then) if said(then) != said(call) => differences.push(Difference::Verdict { plugin, round }),
            Some(_) => {}
            None => differences.push(Difference::Asked { plugin, round }),
        }
    }
    for call in recorded.calls.iter().filter(|call| !in_both(call, &again.calls)) {
        differences.push(Difference::Asked { plugin: call.plugin.clone(), round: call.round });
    }
    differences
}

fn is_same_ask(one: &CallRecord, other: &CallRecord) -> bool {
    one.plugin == other.plugin && one.round == other.round
}

/// What a call answered, or why it did not.
fn said(call: &CallRecord) -> (Option<String>, Option<crate::contract::FailureKind>) {
    (json(call.verdict.as_deref()), call.failure.as_ref().map(|failure| failure.kind))
}

fn json(value: Option<&RawValue>) -> Option<String> {
    value.map(|value| value.get().to_owned())
}

impl Summary {
    fn count(&mut self, compared: &Compared) {
        self.events += 1;
        if !compared.not_replayable.is_empty() {
            self.not_replayable += 1;
            for why in &compared.not_replayable {
                *self.reasons.entry(why.clone()).or_default() += 1;
            }
        } else if compared.is_same() {
            self.same += 1;
        } else {
            self.different += 1;
        }
    }

    fn left_out(&mut self, why: &str) {
        self.events += 1;
        self.not_replayable += 1;
        *self.reasons.entry(why.to_owned()).or_default() += 1;
    }
}

impl Compared {
    /// Whether the outcome is the same. That other plugins were asked is no difference in that.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.again.is_some()
            && !self.differences.iter().any(|difference| !matches!(difference, Difference::Asked { .. }))
    }
}
