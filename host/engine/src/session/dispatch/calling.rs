//! One plugin's call about the event: what it is given, and what is noted of it.

use super::Dispatch;
use crate::audit::{CallRecord, Inputs, raw};
use crate::compose::OnFailure;
use crate::contract::{EventKind, Failure, FailureKind, Shape};
use crate::event::{Event, Kind};
use crate::sandbox::capability::EventFacts;
use crate::sandbox::{Called, GuestSetup};
use crate::session::streak::{FAILURES_TO_TRIP, NextCall};
use crate::state::View;
use std::sync::Arc;

impl Dispatch<'_> {
    pub(super) fn concerns<E: Event>(&mut self, member: usize, payload: &E::Payload) -> bool {
        let concerned = self.chain[member].is_concerned(E::calls(payload));
        self.ledger[member].narrowed |= !concerned;
        concerned
    }

    /// Calls one plugin, and notes the call.
    pub(super) async fn call<E: Kind>(
        &mut self,
        member: usize,
        round: u32,
        payload: &E::Payload,
    ) -> Result<E::Return, Failure> {
        let plugin = &self.chain[member];
        let entry = plugin.entry();
        self.ledger[member].asked = true;
        self.ledger[member].last = None;
        self.returned = None;
        self.record.calls.push(CallRecord {
            plugin: plugin.name().to_owned(),
            digest: entry.digest,
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
        });
        let next = match &self.recall {
            // Whether it was tripped then is an input: it depends on the time between the events.
            Some(recall) => recall.next_call(plugin, round),
            None => self.session.next_call(plugin, self.observes()),
        };
        if next == NextCall::Tripped {
            return Err(Failure::new(
                FailureKind::Tripped,
                format!("failed {FAILURES_TO_TRIP} times in a row and is not called until it is tried again"),
            ));
        }
        if self.size > entry.limits.input.get() {
            return Err(Failure::new(
                FailureKind::InputTooLarge,
                format!("is not given an event of {} bytes (limits.input is {})", self.size, entry.limits.input),
            ));
        }
        let setup = self.setup(member, round);
        let called = plugin.call::<E>(&self.info, payload, setup).await;
        self.note(member, called)
    }

    /// What the call of a plugin has.
    fn setup(&mut self, member: usize, round: u32) -> GuestSetup {
        let session = self.session;
        let plugin = &self.chain[member];
        let recall = self.recall.as_ref();
        let state = plugin.entry().grants.state.as_ref().map(|grant| {
            let snapshot = self.ledger[member].snapshot.get_or_insert_with(|| {
                let snapshot = session.services.store.snapshot(&plugin.shared.name, session.lineage(), self.facts.time);
                match recall {
                    Some(recall) => recall.state(plugin.name(), snapshot),
                    None => snapshot,
                }
            });
            View::new(Arc::clone(snapshot), grant.quota.get(), self.facts.time)
        });
        GuestSetup {
            plugin: Arc::clone(&plugin.shared.name),
            event: EventFacts { round, ..self.facts.clone() },
            grants: Arc::clone(&plugin.shared.grants),
            preopens: Arc::clone(&plugin.shared.preopens),
            servers: Arc::clone(&plugin.shared.servers),
            network: session.services.network.clone(),
            state,
            is_recorded: self.record.event != EventKind::AuditRecord,
            transcript: session.transcript(),
            model: session.services.model.clone(),
            model_calls: session.model_calls(plugin.name()),
            recalled: recall.map(|recall| recall.inputs(plugin.name(), round)),
            patience: self.rules.settings().overload_deadline,
        }
    }

    /// Notes what a call did.
    fn note<T>(&mut self, member: usize, called: Called<T>) -> Result<T, Failure> {
        let call = self.record.calls.len() - 1;
        let record = &mut self.record.calls[call];
        record.fuel = called.fuel;
        record.micros = u64::try_from(called.time.as_micros()).unwrap_or(u64::MAX);
        record.log = called.log;
        record.log_dropped = called.log_dropped;
        record.inputs = called.inputs;
        let name = self.chain[member].name();
        let mut unrepeatable: Vec<&str> = called.unrepeatable.into_iter().collect();
        if called.missed {
            unrepeatable.push("it asked for what the log does not have");
        }
        if called.reads.incomplete {
            unrepeatable.push("it looked at more keys of its state than the log repeats");
        }
        record.inputs.state = called.reads.recorded();
        let unrepeatable: Vec<_> = unrepeatable.into_iter().map(|why| format!("{name}: {why}")).collect();
        for why in unrepeatable {
            self.cannot_be_replayed(why);
        }
        self.returned = Some((call, called.writes, called.effects));
        called.answer
    }

    /// Notes the verdict of the call noted last.
    pub(super) fn verdict<T: serde::Serialize>(&mut self, verdict: &T) {
        if let Some(record) = self.record.calls.last_mut() {
            record.verdict = Some(raw(verdict));
        }
    }

    /// Once it is known whether the call has a valid answer: takes its effects, or notes the failure and what the plugin's
    /// `on-failure` makes of it; trips the plugin after several.
    pub(super) fn outcome_of<T>(&mut self, member: usize, called: Result<T, Failure>) -> Result<T, OnFailure> {
        let plugin = &self.chain[member];
        match called {
            Ok(value) => {
                self.session.succeeded(plugin, self.observes());
                if let Some((call, writes, effects)) = self.returned.take() {
                    let ledger = &mut self.ledger[member];
                    ledger.writes = writes.map(|writes| (call, writes));
                    ledger.last = Some((call, effects));
                }
                Ok(value)
            }
            Err(failure) => {
                self.session.failed(plugin, self.observes(), &failure);
                if failure.kind.is_wall_time() {
                    let why = format!("{}: it ran out of wall time", plugin.name());
                    self.cannot_be_replayed(why);
                }
                let on_failure = plugin.on_failure(self.record.event);
                if on_failure == OnFailure::Skip || !plugin.enforces() {
                    self.session.skipped(plugin, self.record.event, &failure);
                }
                if let Some(record) = self.record.calls.last_mut() {
                    record.failure = Some(failure);
                }
                Err(on_failure)
            }
        }
    }

    /// Notes why the verdicts cannot be reproduced, each reason once.
    pub(super) fn cannot_be_replayed(&mut self, why: String) {
        if !self.record.not_replayable.contains(&why) {
            self.record.not_replayable.push(why);
        }
    }

    fn observes(&self) -> bool {
        self.record.event.shape() == Shape::Observe
    }
}
