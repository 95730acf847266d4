//! A call of a plugin, for an event or as a tool: limits, capabilities, record and effects.

use super::inner::SessionInner;
use crate::audit::{CallRecord, Inputs};
use crate::callback::Waiters;
use crate::contract::{Failure, FailureKind};
use crate::plugin::Plugin;
use crate::sandbox::capability::{Effects, EventFacts, OwnCall, ReplayedInputs};
use crate::sandbox::{CallOutcome, CallReport, GuestSetup};
use crate::state::{Labels, Source, View, Writes};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// A call of a plugin that is about to be made.
pub(super) struct Invocation<'a> {
    pub(super) session: &'a SessionInner,
    pub(super) plugin: &'a Plugin,
    /// The event or the tool's call. `round` is the number of the round in which the plugin is asked, from 1.
    pub(super) facts: Arc<EventFacts>,
    pub(super) round: u32,
    /// The state of the plugin, if it has the grant.
    pub(super) state: Option<Arc<dyn Source>>,
    /// The labels of the session before the event, if the plugin has the grant.
    pub(super) labels: Option<Arc<dyn Source>>,
    /// True if the call has a record. A call without a record has no effects.
    pub(super) is_recorded: bool,
    /// True if the session's turn is held until the call has returned.
    pub(super) holds_turn: bool,
    /// The recorded inputs, if the call is replayed.
    pub(super) replayed: Option<ReplayedInputs>,
    /// Maximum time to wait for a free instance.
    pub(super) overload_deadline: Duration,
}

/// The effects of a call. They are applied only if the call returned a valid answer.
pub(super) struct CallEffects {
    pub(super) writes: Option<Writes>,
    pub(super) effects: Effects,
}

impl Invocation<'_> {
    /// Returns the inputs and limits of the guest.
    pub(super) fn setup(self) -> Box<GuestSetup> {
        let Self { session, plugin, facts, round, state, labels, is_recorded, holds_turn, replayed, overload_deadline } =
            self;
        let quota = plugin.entry().grants.state.as_ref().map(|grant| grant.quota.get());
        let time = facts.time;
        let (preopens, servers) = plugin.outside();
        Box::new(GuestSetup {
            plugin: Arc::clone(&plugin.shared.name),
            event: facts,
            round,
            grants: Arc::clone(&plugin.shared.grants),
            preopens,
            servers,
            network: session.services.network.clone(),
            state: state.zip(quota).map(|(state, quota)| View::new(state, quota, time)),
            labels: labels.map(|labels| Labels::new(labels, replayed.as_ref().and_then(ReplayedInputs::labels), time)),
            is_recorded,
            transcript: session.transcript(),
            model: session.services.model.clone(),
            model_calls: plugin.shared.grants.model.is_some().then(|| session.state.model_calls(plugin.name())),
            own: (!plugin.shared.grants.capabilities.is_empty())
                .then(|| OwnCall { capabilities: session.services.own.clone(), session: session.id.to_string() }),
            waiters: match holds_turn {
                true => Waiters::here().and(session.turn_queue.waiting()),
                false => Waiters::here(),
            },
            replayed,
            patience: overload_deadline,
        })
    }
}

/// Size of a large event, in bytes. If a plugin reaches a limit with a large event, the failure does not count towards
/// tripping the plugin. Most tool calls are smaller, so a plugin that never finishes is still tripped by its first
/// calls.
const LARGE_EVENT: usize = 8 * 1024;

/// If `bytes` exceeds a plugin's limit for the input, returns the failure. `had` is the part of the failure's message
/// that precedes the number of bytes.
pub(super) fn too_large(plugin: &Plugin, had: &str, bytes: usize) -> Option<Failure> {
    let limit = plugin.entry().limits.input;
    (bytes > limit.get()).then(|| {
        let detail = format!("{had} {bytes} bytes, limits.input is {limit}");
        Failure::new(FailureKind::Oversized, detail)
    })
}

/// Returns the failure of a call, adjusted to the size of its event. If the plugin reaches a limit with a large event,
/// the failure becomes `oversized`, because the plugin's work grows with the event. If `asks` is true, a person is
/// asked in place of the plugin. The failure then becomes `oversized` for a small event, too, because a parser can
/// exceed any limit on a shell command of a few bytes.
pub(super) fn by_size(failure: Failure, bytes: usize, asks: bool) -> Failure {
    match failure.kind {
        FailureKind::OutOfFuel | FailureKind::Compute | FailureKind::OutOfMemory | FailureKind::AnswerTooLarge
            if asks || bytes >= LARGE_EVENT =>
        {
            Failure::new(FailureKind::Oversized, format!("could not handle an event of {bytes} bytes: it {failure}"))
        }
        _ => failure,
    }
}

/// Creates the record of a call that is about to be made.
pub(super) fn record(plugin: &Plugin, round: u32) -> CallRecord {
    let entry = plugin.entry();
    CallRecord {
        plugin: plugin.name().to_owned(),
        code: plugin.code_id().clone(),
        config: plugin.shared.config_digest,
        mode: entry.mode,
        round,
        verdict: None,
        failure: None,
        fuel: 0,
        micros: 0,
        inputs: Inputs::default(),
        wrote: Vec::new(),
        wrote_dropped: 0,
        log: Vec::new(),
        log_dropped: 0,
        findings: Vec::new(),
        labels: BTreeSet::new(),
    }
}

/// Adds the report of a call to its record. Returns the answer, the effects, and the reasons why the call cannot be
/// repeated.
pub(super) fn note<T>(
    session: &SessionInner,
    plugin: &Plugin,
    record: &mut CallRecord,
    called: CallOutcome<T>,
) -> (Result<T, Failure>, CallEffects, Vec<String>) {
    if plugin.entry().grants.model.is_some() {
        session.state.note_model_calls(plugin.name());
    }
    let CallOutcome { answer, did } = called;
    let CallReport { fuel, time, effects, writes, reads, inputs, unrepeatable, missed, log, log_dropped } = *did;
    record.fuel = fuel;
    record.micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    (record.log, record.log_dropped) = (log, log_dropped);
    let mut why: Vec<String> = unrepeatable.into_iter().map(str::to_owned).collect();
    if missed {
        why.push("the plugin asked for something that the log does not contain".to_owned());
    }
    if reads.incomplete {
        why.push("the plugin read more keys of its state than the log stores".to_owned());
    }
    record.inputs = Inputs { state: reads.recorded(), ..inputs };
    (answer, CallEffects { writes, effects }, why)
}
