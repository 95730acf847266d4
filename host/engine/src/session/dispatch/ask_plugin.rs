//! Calls one plugin about the event: prepares the inputs, and records the call.

use super::Dispatch;
use crate::audit::raw;
use crate::contract::{EventKind, Failure, FailureKind, Shape};
use crate::event::{Binary, Event, Kind, MIN_BINARY};
use crate::failure_policy::{FAILURES_TO_TRIP, OnFailure};
use crate::sandbox::{CallOutcome, GuestSetup};
use crate::session::failure_count::NextCall;
use crate::session::invocation::{self, Invocation};
use std::sync::Arc;

impl Dispatch<'_> {
    pub(super) fn concerns<E: Event>(&mut self, member: usize, payload: &E::Payload) -> bool {
        let concerned = self.chain[member].is_concerned(E::calls(payload));
        self.pending_effects[member].filtered_out |= !concerned;
        concerned
    }

    /// Calls one plugin, and records the call.
    pub(super) async fn call<E: Kind>(
        &mut self,
        member: usize,
        round: u32,
        payload: &E::Payload,
    ) -> Result<E::Return, Failure> {
        let plugin = &self.chain[member];
        self.pending_effects[member].asked = true;
        self.pending_effects[member].last = None;
        self.returned = None;
        self.record.calls.push(invocation::record(plugin, round));
        let next = match &self.replay {
            // In a replay, the record decides whether the plugin was tripped, because tripping depends on the time
            // between events.
            Some(replay) => replay.next_call(plugin, round),
            None => self.session.next_call(plugin, self.observes()),
        };
        if next == NextCall::Tripped {
            return Err(Failure::new(
                FailureKind::Tripped,
                format!("failed {FAILURES_TO_TRIP} times in a row and is not called until it is tried again"),
            ));
        }
        let may_have_binary = self.size >= MIN_BINARY && !plugin.wants_binary();
        let (without, left_out) = may_have_binary.then(|| E::without_binary(payload)).flatten().unzip();
        self.left_out = left_out;
        let payload = without.as_ref().unwrap_or(payload);
        let size = self.size.saturating_sub(self.left_out.as_ref().map_or(0, Binary::saved));
        if let Some(failure) = invocation::too_large(plugin, "was not asked: the event has", size) {
            return Err(failure);
        }
        let setup = self.setup(member, round);
        let called = plugin.call::<E>(&self.info, payload, setup).await;
        self.note(member, called).map_err(|failure| {
            if failure.kind.is_wall_time() {
                let why = format!("{}: it ran out of wall time", self.chain[member].name());
                self.cannot_be_replayed(why);
            }
            let asks = plugin.on_failure(E::KIND) == OnFailure::Ask && E::KIND.shape() == Shape::Gate;
            invocation::by_size(failure, size, asks)
        })
    }

    /// Returns the inputs and limits of a plugin's call.
    fn setup(&mut self, member: usize, round: u32) -> Box<GuestSetup> {
        let Self { session, facts, replay, .. } = self;
        let plugin = &self.chain[member];
        let replay = replay.as_ref();
        let state = plugin.entry().grants.state.as_ref().map(|_| {
            let snapshot = self.pending_effects[member].snapshot.get_or_insert_with(|| {
                let snapshot = session.services.store.snapshot(&plugin.shared.name, session.lineage(), facts.time);
                match replay {
                    Some(replay) => replay.state(plugin.name(), snapshot),
                    None => snapshot,
                }
            });
            Arc::clone(snapshot)
        });
        let labels = plugin.entry().grants.labels.then(|| {
            let labels = self.labels.get_or_insert_with(|| session.labels(facts.time));
            Arc::clone(labels)
        });
        let invocation = Invocation {
            session,
            plugin,
            facts: Arc::clone(facts),
            round,
            state,
            labels,
            is_recorded: self.record.event != EventKind::AuditRecord,
            // Observers are called after the turn, unless the sender waits for them.
            holds_turn: self.record.event.shape() != Shape::Observe || self.await_observers,
            replayed: replay.map(|replay| replay.inputs(plugin.name(), round)),
            overload_deadline: self.rules.settings().overload_deadline,
        };
        invocation.setup()
    }

    /// Records a call that has returned, and keeps its effects.
    fn note<T>(&mut self, member: usize, called: CallOutcome<T>) -> Result<T, Failure> {
        let call = self.record.calls.len() - 1;
        let plugin = &self.chain[member];
        let (answer, did, why) = invocation::note(self.session, plugin, &mut self.record.calls[call], called);
        for why in why {
            self.cannot_be_replayed(format!("{}: {why}", plugin.name()));
        }
        self.returned = Some((call, did.writes, did.effects));
        answer
    }

    /// Records the verdict of the last call.
    pub(super) fn verdict<T: serde::Serialize>(&mut self, verdict: &T) {
        if let Some(record) = self.record.calls.last_mut() {
            record.verdict = Some(raw(verdict));
        }
    }

    /// Records a reason why the verdicts cannot be reproduced. Each reason is recorded once.
    pub(super) fn cannot_be_replayed(&mut self, why: String) {
        if !self.record.not_replayable.contains(&why) {
            self.record.not_replayable.push(why);
        }
    }

    pub(super) fn observes(&self) -> bool {
        self.record.event.shape() == Shape::Observe
    }
}
