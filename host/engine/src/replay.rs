//! Replay: asks plugins about recorded events a second time.
//!
//! The plugins of a host are asked about each recorded event again. They get the inputs that the record contains:
//! identifier, time, state, and the answers of the capabilities. The same plugins give the same verdicts. With other
//! plugins, the replay shows what a new rule would have decided. Nothing is recorded, and no person is asked. State
//! that plugins write is discarded after the replay.
//!
//! ```
//! use hookhost::config::Entry;
//! use hookhost::replay::replay;
//! use hookhost::store::Log;
//! use hookhost::{Config, Host};
//! use serde_json::json;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! # let plugins = std::env::var_os("HOOKHOST_PLUGINS").map_or("../../target/plugins".into(), std::path::PathBuf::from);
//! # let directory = tempfile::tempdir()?;
//! # let file = directory.path().join("hookhost.db");
//! // What has happened, under no rule at all.
//! let host = Host::builder(Config::empty()).store(&file).build().await?;
//! let session = host.session("my-agent", "/work")?;
//! for command in ["git status", "git push --force"] {
//!     let _ = session.check_tool("bash", &json!({ "command": command })).await;
//! }
//!
//! // What would have happened under a new rule.
//! let guard = Entry::from_file("no-force-push", plugins.join("no_force_push.wasm"))?;
//! let new = Host::builder(Config::empty()).plugin(guard).build().await?;
//! let summary = replay(&new, &Log::open(&file)?, |event| {
//!     if !event.is_same() {
//!         println!("record {}: {:?}", event.seq, event.differences);
//!     }
//! })
//! .await?;
//! assert_eq!((summary.same, summary.different), (1, 1));
//! # Ok(())
//! # }
//! # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
//! ```

use crate::audit::{CallRecord, EventRecord, Line, Record, SessionOpened};
use crate::contract::{Json, OutcomeKind, Shape};
use crate::host::Host;
use crate::session::{DispatchOptions, ReplayInputs, ReplayedConsent, Session, SessionSpec};
use crate::store::{Log, LogError};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

/// A recorded event and its replay.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Compared {
    /// Number of the event's record.
    pub seq: u64,
    /// The recorded event.
    pub recorded: EventRecord,
    /// The replayed event; absent if the event could not be replayed.
    pub again: Option<EventRecord>,
    /// The differences between the record and the replay, in chain order, even if the event is not replayable.
    pub differences: Vec<Difference>,
    /// The reasons why the outcome may differ, one sentence for each. Empty if the event is replayable.
    pub not_replayable: Vec<String>,
}

/// A difference between a recorded event and its replay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
#[non_exhaustive]
pub enum Difference {
    /// The outcome, the reason, or the plugins that decided the outcome are different.
    Outcome {
        /// The recorded outcome.
        recorded: OutcomeKind,
        /// The outcome of the replay.
        again: OutcomeKind,
    },
    /// The final value, or the response in place of the value, is different.
    Value,
    /// The questions to a person are different, or the plugins that ask or waive these questions are different.
    Questions,
    /// A plugin was asked in this round both in the record and in the replay, and gave different answers.
    Verdict {
        /// The plugin.
        plugin: String,
        /// The round.
        round: u32,
    },
    /// A plugin was asked in this round only in the record or only in the replay.
    Asked {
        /// The plugin.
        plugin: String,
        /// The round.
        round: u32,
    },
}

/// The result of a replay.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Summary {
    /// Number of recorded events.
    pub events: u64,
    /// Events with the same outcome.
    pub same: u64,
    /// Events with a different outcome.
    pub different: u64,
    /// Events that are not replayable.
    pub not_replayable: u64,
    /// The number of events that are not replayable, by reason.
    pub reasons: BTreeMap<String, u64>,
}

/// Replays each event of `log` with `host`, in order, and passes the result to `each`. The host should have neither a store
/// nor an approver. Each record is verified before it is replayed.
///
/// # Errors
/// If the log cannot be read or was changed. The record that the error names and all later records are then not
/// replayed. A record of a later version counts as an event that is not replayable.
pub async fn replay(host: &Host, log: &Log, each: impl FnMut(&Compared)) -> Result<Summary, LogError> {
    replay_lines(host, log.verified_lines()?, each).await
}

/// Like [`replay`], but does not verify the records. Use this for a part of a log, or for a log that somebody may
/// have changed.
///
/// # Errors
/// If the log cannot be read. A line that is not a valid record, or has a later version, counts as an event that is not
/// replayable.
pub async fn replay_unverified(host: &Host, log: &Log, each: impl FnMut(&Compared)) -> Result<Summary, LogError> {
    replay_lines(host, log.lines()?, each).await
}

async fn replay_lines(
    host: &Host,
    lines: impl Iterator<Item = Result<Line, LogError>>,
    mut each: impl FnMut(&Compared),
) -> Result<Summary, LogError> {
    let mut summary = Summary::default();
    let mut sessions: HashMap<String, RecordedSession> = HashMap::new();
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
                let (id, lacks_schemas) = (opened.header.session.clone(), !opened.without_schema.is_empty());
                let handles = sessions.get(&id).map_or(0, |known| known.handles) + 1;
                sessions.insert(
                    id,
                    RecordedSession { session: ReplayedSession::Announced(opened), lacks_schemas, handles },
                );
            }
            Ok(Record::SessionEnded(ended)) => {
                if let Entry::Occupied(mut known) = sessions.entry(ended.header.session) {
                    known.get_mut().handles -= 1;
                    // The session continues while another of its handles is open.
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

/// A session in the log.
struct RecordedSession {
    session: ReplayedSession,
    /// True if the log lacks schemas of the session's tools. Then a replay accepts arguments that were invalid when
    /// they were recorded.
    lacks_schemas: bool,
    /// Number of the session's open handles. A handle of a killed process counts as open.
    handles: u64,
}

/// A session of the log, which may already be open for the replay.
enum ReplayedSession {
    Announced(Box<SessionOpened>),
    Open(Session),
    /// The session cannot be opened. The string is the reason.
    Closed(String),
}

impl ReplayedSession {
    /// Returns the session, and opens it at first use.
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

/// Replays one event of the session `opened` with `host`. `seq` is the number of the event's record.
pub async fn replay_event(host: &Host, opened: SessionOpened, seq: u64, recorded: EventRecord) -> Compared {
    let lacks_schemas = !opened.without_schema.is_empty();
    let id = opened.header.session.clone();
    let session = ReplayedSession::Announced(Box::new(opened));
    let mut sessions = HashMap::from([(id, RecordedSession { session, lacks_schemas, handles: 1 })]);
    compare(host, &mut sessions, seq, recorded).await
}

fn spec(opened: &SessionOpened) -> SessionSpec {
    SessionSpec {
        id: Some(opened.header.session.clone()),
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

async fn compare(
    host: &Host,
    sessions: &mut HashMap<String, RecordedSession>,
    seq: u64,
    recorded: EventRecord,
) -> Compared {
    let mut compared = Compared {
        seq,
        not_replayable: recorded.not_replayable.clone(),
        recorded,
        again: None,
        differences: Vec::new(),
    };
    let recorded = &compared.recorded;
    if sessions.get(&recorded.header.session).is_some_and(|known| known.lacks_schemas) {
        compared.not_replayable.push("the log does not contain the schemas of all tools of the session".into());
    }
    if !recorded.redacted.is_empty() {
        compared
            .not_replayable
            .push("part of the event is not in the log, because the configuration redacts it".into());
    }
    if recorded.redacted.contains_key("original") {
        return compared;
    }
    let again = match sessions.get_mut(&recorded.header.session).map(|known| known.session.session(host)) {
        None => Err("the log does not contain the beginning of the session".to_owned()),
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
                compared
                    .not_replayable
                    .push("the replay builds another input for this event than the recorded agent did".into());
            }
        }
        Err(why) => compared.not_replayable.push(why),
    }
    compared
}

/// Replays a recorded event.
async fn again(session: &Session, recorded: &EventRecord) -> Result<EventRecord, String> {
    session.set_turn(recorded.turn);
    let asked_again = recorded.asked_again.as_ref().map(|again| ReplayedConsent {
        round: again.round,
        response: json(recorded.response.as_deref()),
        answered: again.answered.clone(),
    });
    let inputs = ReplayInputs {
        id: recorded.id.clone(),
        time: recorded.header.time,
        calls: recorded.calls.clone(),
        asked_again,
        kept: recorded.kept.clone(),
    };
    let raw = recorded.raw.clone().map(Json::try_from).transpose();
    let raw = raw.map_err(|error| format!("the agent's own message is not JSON: {error}"))?;
    let options = DispatchOptions { raw, ..DispatchOptions::awaiting_observers() };
    let value: Value = serde_json::from_str(recorded.original.get()).map_err(|error| error.to_string())?;
    let payload = match recorded.event.parameters() {
        [parameter] => Value::Object([((*parameter).to_owned(), value)].into_iter().collect()),
        _ => value,
    };
    let settled = session.dispatch_again(recorded.event, payload, options, inputs).await;
    settled
        .map(|settled| *settled.record)
        .map_err(|error| format!("the recorded value does not have the type of the event: {error}"))
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
    // The calls of observers are in a separate record.
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

/// Returns the verdict or the failure of a call.
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
    /// Returns true if the outcome is the same, even if other plugins were asked.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.again.is_some()
            && !self.differences.iter().any(|difference| !matches!(difference, Difference::Asked { .. }))
    }
}
