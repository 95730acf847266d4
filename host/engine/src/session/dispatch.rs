//! One event on its way: ask the chain, settle, record, and make the effects hold.

use super::approving::Asked;
use super::outcome::{Cause, GateOutcome, OutcomeKind, Rejection, TransformOutcome};
use super::recording::Due;
use super::{Recall, Shared, observers};
use crate::approval::{self, ProposedResponse, Question};
use crate::audit::{Answer as ApproversAnswer, CallRecord, Observed, Record, raw};
use crate::chain::{self, Answer, Asker, Decision, Gate, Member, Objection, OnFailure, Passage, Transform};
use crate::contract::{self, Task};
use crate::event::{CollectEvent, Dispatched, Event, EventKind, GateEvent, Shape, TransformEvent};
use crate::plugin::Plugin;
use crate::sandbox::capability::{Effects, EventFacts, Reminder};
use crate::sandbox::{Called, Failure, FailureKind, GuestSetup};
use crate::state::{Snapshot, View, Writes};
use crate::store::StoreError;
use serde_json::value::RawValue;
use std::sync::Arc;

/// An event being settled.
pub(crate) struct Dispatch<'a> {
    session: &'a Arc<Shared>,
    info: contract::Session,
    facts: EventFacts,
    chain: &'a [Plugin],
    ledger: Vec<Ledger>,
    record: Record,
    answer: Option<ApproversAnswer>,
    /// What is given again of an event that was recorded.
    recall: Option<Recall>,
    /// Whether observers are waited for.
    await_observers: bool,
    /// Bytes of the value as JSON, as it now is.
    size: usize,
}

/// What one plugin did beside its verdicts, so far.
#[derive(Default)]
struct Ledger {
    snapshot: Option<Arc<Snapshot>>,
    /// Of its last call that returned, with the index of its record.
    writes: Option<(usize, Writes)>,
    /// Of its last call; none where that failed. With the index of its record.
    last: Option<(usize, Effects)>,
    /// Of each call whose change is part of the final value.
    kept: Vec<(usize, Effects)>,
    asked: bool,
    /// Whether its entry kept it from being asked.
    narrowed: bool,
}

/// What an event begins with, beside its value.
pub(super) struct Beginning {
    pub(super) info: contract::Session,
    pub(super) facts: EventFacts,
    pub(super) recall: Option<Recall>,
    pub(super) await_observers: bool,
}

impl<'a> Dispatch<'a> {
    pub(super) fn new(
        session: &'a Arc<Shared>,
        event: EventKind,
        beginning: Beginning,
        original: Box<RawValue>,
    ) -> Self {
        let Beginning { info, facts, recall, await_observers } = beginning;
        let chain = session.host.chain(event);
        let record = Record {
            id: facts.id.clone(),
            session: info.id.clone(),
            turn: info.turn,
            event,
            time: facts.time,
            outcome: OutcomeKind::Observed,
            by: Vec::new(),
            cause: None,
            reason: None,
            changed_by: Vec::new(),
            original,
            last: None,
            response: None,
            raw: facts.raw.clone(),
            questions: Vec::new(),
            approved_by: None,
            calls: Vec::new(),
            unconcerned: Vec::new(),
            not_replayable: Vec::new(),
            withheld: std::collections::BTreeMap::new(),
        };
        let size = record.original.get().len();
        let ledger = chain.iter().map(|_| Ledger::default()).collect();
        Self { session, info, facts, chain, ledger, record, answer: None, recall, await_observers, size }
    }

    /// Tells observers of an event that has been settled and recorded.
    pub(super) fn to_tell(
        session: &'a Arc<Shared>,
        event: EventKind,
        info: contract::Session,
        facts: EventFacts,
        size: usize,
    ) -> Self {
        let beginning = Beginning { info, facts, recall: None, await_observers: true };
        Self { size, ..Self::new(session, event, beginning, RawValue::NULL.to_owned()) }
    }

    /// Settles a gate event.
    pub(crate) async fn gate<E: GateEvent + Dispatched>(
        &mut self,
        payload: E::Payload,
    ) -> GateOutcome<E::Payload, E::Response> {
        let mut gate = Gate::new(self.members(), payload);
        while let Some(ask) = gate.ask() {
            let answer = self.answer::<E>(ask.member, ask.round, gate.value()).await;
            let version = gate.version();
            gate.answer(answer);
            if gate.version() > version {
                self.changed(ask.member, gate.value());
            }
        }
        let rules = self.session.rules(&self.info);
        match gate.decide(|value| E::asks(value, &rules)) {
            Decision::Rejected(objection) => {
                let rejection = self.rejection(objection);
                // It is a no all the same; the log says so once it can be written.
                if let Err(error) = self.conclude(Due::Now).await {
                    self.record_without_effects(&error);
                }
                GateOutcome::Rejected(rejection)
            }
            Decision::Stands { value, changed_by, response, questions, approved_by } => {
                let response = response.map(|(member, response)| (self.chain[member].name().to_owned(), response));
                self.record.changed_by = self.names(changed_by);
                self.record.approved_by = approved_by.map(|member| self.chain[member].name().to_owned());
                self.record.response = response.as_ref().map(|(_, response)| raw(response));
                let stands = if response.is_some() { OutcomeKind::Responded } else { OutcomeKind::Allowed };
                self.record.outcome = if questions.is_empty() { stands } else { OutcomeKind::Escalated };
                self.record.by = match &response {
                    Some((by, _)) if questions.is_empty() => vec![by.clone()],
                    _ => questions.iter().map(|(asker, _)| self.asker(*asker).to_string()).collect(),
                };
                let question = |(asker, escalation)| Question { by: self.asker(asker), escalation };
                self.record.questions = questions.into_iter().map(question).collect();
                if let Err(error) = self.conclude(Due::Now).await {
                    return GateOutcome::Rejected(self.not_recorded(&error));
                }
                if self.record.outcome == OutcomeKind::Escalated {
                    let proposed = response
                        .as_ref()
                        .zip(self.record.response.clone())
                        .map(|((by, _), result)| ProposedResponse { by: by.clone(), result });
                    let asked = Asked::new(self.session, &self.info, &self.record, proposed, stands);
                    match asked.answer().await {
                        Ok(answer) => self.answer = Some(answer),
                        Err((answer, rejection)) => {
                            self.answer = Some(answer);
                            return GateOutcome::Rejected(rejection);
                        }
                    }
                }
                match response {
                    Some((by, response)) => GateOutcome::Responded { value, response, by },
                    None => GateOutcome::Allowed { value },
                }
            }
        }
    }

    /// Settles a transform event.
    pub(crate) async fn transform<E: TransformEvent + Dispatched>(
        &mut self,
        mut payload: E::Payload,
    ) -> TransformOutcome<E::Value> {
        let mut transform = Transform::new(self.members(), E::value(&payload).clone());
        while let Some(member) = transform.ask() {
            let passage = if self.concerns::<E>(member, &payload) {
                let called = self.call::<E>(member, 1, &payload).await;
                let checked = called.and_then(|(verdict,)| {
                    self.verdict(&verdict);
                    E::passage(verdict).map_err(Failure::invalid)
                });
                self.outcome_of(member, checked).unwrap_or_else(Passage::Failed)
            } else {
                Passage::Keep
            };
            if transform.answer(passage) {
                E::replace(&mut payload, transform.value().clone());
                self.changed(member, &payload);
            }
        }
        match transform.decide() {
            Ok((value, changed_by)) => {
                self.record.changed_by = self.names(changed_by);
                self.record.outcome = OutcomeKind::Passed;
                match self.conclude(Due::Soon).await {
                    Ok(()) => TransformOutcome::Passed { value },
                    Err(error) => TransformOutcome::Withheld(self.not_recorded(&error)),
                }
            }
            Err(objection) => {
                let rejection = self.rejection(objection);
                if let Err(error) = self.conclude(Due::Soon).await {
                    self.record_without_effects(&error);
                }
                TransformOutcome::Withheld(rejection)
            }
        }
    }

    /// Settles an event to which plugins add tasks.
    pub(crate) async fn collect<E: CollectEvent + Dispatched>(&mut self, payload: E::Payload) -> Vec<Task> {
        let mut additions = Vec::new();
        for (member, standing) in self.members().into_iter().enumerate() {
            let called = self.call::<E>(member, 1, &payload).await;
            let tasks = called.map(|(verdict,)| {
                self.verdict(&verdict);
                E::tasks(verdict)
            });
            if let Ok(tasks) = self.outcome_of(member, tasks) {
                if standing.enforcing && !tasks.is_empty() {
                    self.record.by.push(self.chain[member].name().to_owned());
                }
                additions.push((standing, tasks));
            }
        }
        let (tasks, left_out) = chain::merge(additions);
        if left_out > 0 {
            self.session.notice(format!(
                "plugins added more than {} tasks at once: {left_out} were left out",
                chain::MAX_TASKS
            ));
        }
        self.record.outcome = OutcomeKind::Collected;
        match self.conclude(Due::Soon).await {
            Ok(()) => tasks,
            Err(error) => {
                if !tasks.is_empty() {
                    self.session.notice(format!("the tasks that plugins added are left out: {error}"));
                }
                self.record_without_effects(&error);
                Vec::new()
            }
        }
    }

    /// Records what happened, and has those told who listen.
    pub(crate) async fn observe<E: Dispatched<Return = ()>>(&mut self, payload: E::Payload) {
        // Whoever feeds records in by hand does not write any.
        if E::KIND != EventKind::AuditRecord
            && let Err(error) = self.conclude(Due::Soon).await
        {
            tracing::error!(%error, event = %E::KIND, "an event could not be recorded");
        }
        if self.chain.is_empty() {
            return;
        }
        if self.await_observers {
            self.hear::<E>(&payload).await;
            self.conclude_observed().await;
        } else {
            let (info, facts) = (self.info.clone(), self.facts.clone());
            observers::tell::<E>(self.session, info, facts, payload, self.size);
        }
    }

    /// Tells each observer.
    pub(super) async fn hear<E: Dispatched<Return = ()>>(&mut self, payload: &E::Payload) {
        for member in 0..self.chain.len() {
            let called = self.call::<E>(member, 1, payload).await;
            // An observer's failure is in the record, and changes nothing.
            let _ = self.outcome_of(member, called);
        }
    }

    /// Records what the observers did, and makes what they wrote hold.
    pub(super) async fn conclude_observed(&mut self) {
        let (writes, reminders) = self.effects();
        // The record of a record would never end.
        if self.record.event == EventKind::AuditRecord {
            return;
        }
        let observed = Observed {
            id: self.record.id.clone(),
            session: self.info.id.clone(),
            event: self.record.event,
            time: super::now(),
            calls: self.record.calls.clone(),
            withheld: std::collections::BTreeMap::new(),
        };
        match self.session.record(&self.info, &observed, writes, Due::Soon).await {
            Ok(()) => self.session.remind(reminders),
            Err(error) => tracing::error!(%error, "what observers did could not be recorded, and does not hold"),
        }
    }

    /// The record, and what a person answered.
    pub(super) fn finish(self) -> (Record, Option<ApproversAnswer>) {
        (self.record, self.answer)
    }

    /// Records the event and makes its effects hold: both, or neither.
    async fn conclude(&mut self, due: Due) -> Result<(), StoreError> {
        let (writes, reminders) = self.effects();
        self.session.record(&self.info, &self.record, writes, due).await?;
        self.session.remind(reminders);
        Ok(())
    }

    /// Where a record could not be written, none of its effects hold; what is left of it is written when that can be done.
    fn record_without_effects(&mut self, error: &StoreError) {
        tracing::error!(%error, event = %self.record.event, id = self.record.id, "an event could not be recorded");
        for call in &mut self.record.calls {
            call.wrote.clear();
            call.findings.clear();
        }
        self.session.record_soon(&self.info, &self.record);
    }

    /// What has no record may not happen.
    fn not_recorded(&mut self, error: &StoreError) -> Rejection {
        let rejection = self.rejected(Rejection::host(Vec::new(), Cause::NotRecorded, error.to_string()));
        self.record_without_effects(error);
        rejection
    }

    /// Settles which effects hold: notes them in the record, and gives what is to be written and what the model is told.
    fn effects(&mut self) -> (Vec<(Arc<str>, Writes)>, Vec<Reminder>) {
        let (mut all_writes, mut reminders) = (Vec::new(), Vec::new());
        // Without a final value no change is part of it; then only the effects of the last call hold.
        let stands = !self.record.outcome.is_no();
        let fresh = self.chain.iter().map(|_| Ledger::default()).collect();
        for (plugin, mut ledger) in self.chain.iter().zip(std::mem::replace(&mut self.ledger, fresh)) {
            let last = self.record.calls.iter().rposition(|call| call.plugin == plugin.name());
            ledger.kept.retain(|(call, _)| stands || Some(*call) == last);
            if let Some((call, writes)) = ledger.writes.filter(|(_, writes)| !writes.is_empty()) {
                self.record.calls[call].wrote = writes.recorded();
                all_writes.push((Arc::clone(&plugin.shared.name), writes));
            }
            for (call, effects) in ledger.kept.into_iter().chain(ledger.last) {
                self.record.calls[call].findings = effects.findings;
                if plugin.enforces() {
                    reminders.extend(effects.reminders);
                }
            }
            if ledger.narrowed && !ledger.asked {
                self.record.unconcerned.push(plugin.name().to_owned());
            }
        }
        (all_writes, reminders)
    }

    fn members(&self) -> Vec<Member> {
        let member =
            |plugin: &Plugin| Member { enforcing: plugin.enforces(), may_approve: plugin.entry().grants.approve };
        self.chain.iter().map(member).collect()
    }

    async fn answer<E: GateEvent + Dispatched>(
        &mut self,
        member: usize,
        round: u32,
        payload: &E::Payload,
    ) -> Answer<E::Payload, E::Response> {
        if !self.concerns::<E>(member, payload) {
            return Answer::Unconcerned;
        }
        let called = self.call::<E>(member, round, payload).await;
        let answer = called.and_then(|(verdict,)| {
            self.verdict(&verdict);
            E::answer(verdict, payload, &self.session.rules(&self.info)).map_err(Failure::invalid)
        });
        self.outcome_of(member, answer).unwrap_or_else(Answer::Failed)
    }

    fn concerns<E: Event>(&mut self, member: usize, payload: &E::Payload) -> bool {
        let concerned = self.chain[member].is_concerned(E::calls(payload));
        self.ledger[member].narrowed |= !concerned;
        concerned
    }

    /// Calls one plugin, and notes the call.
    async fn call<E: Dispatched>(
        &mut self,
        member: usize,
        round: u32,
        payload: &E::Payload,
    ) -> Result<E::Return, Failure> {
        let plugin = &self.chain[member];
        let entry = plugin.entry();
        self.ledger[member].asked = true;
        self.ledger[member].last = None;
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
            inputs: crate::audit::Inputs::default(),
            wrote: Vec::new(),
            log: Vec::new(),
            log_dropped: 0,
            findings: Vec::new(),
        });
        if self.session.is_tripped(plugin.name(), self.observes()) {
            return Err(Failure::new(
                FailureKind::Tripped,
                format!("failed {} times in a row and is not asked again in this session", super::FAILURES_TO_TRIP),
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
                let snapshot = session.host.store().snapshot(&plugin.shared.name, &self.info.id, self.facts.time);
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
            state,
            transcript: session.transcript(),
            model: session.host.model(),
            model_calls: session.model_calls(plugin.name()),
            recalled: recall.map(|recall| recall.inputs(plugin.name(), round)),
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
        let unrepeatable = unrepeatable.into_iter().map(|why| format!("{name}: {why}"));
        for why in unrepeatable {
            if !self.record.not_replayable.contains(&why) {
                self.record.not_replayable.push(why);
            }
        }
        if called.answer.is_ok() {
            let ledger = &mut self.ledger[member];
            ledger.writes = called.writes.map(|writes| (call, writes));
            ledger.last = Some((call, called.effects));
        }
        called.answer
    }

    /// Notes the verdict of the call noted last.
    fn verdict<T: serde::Serialize>(&mut self, verdict: &T) {
        if let Some(record) = self.record.calls.last_mut() {
            record.verdict = Some(raw(verdict));
        }
    }

    /// Notes a failure and what the plugin's `on-failure` makes of it; trips the plugin after several.
    fn outcome_of<T>(&mut self, member: usize, called: Result<T, Failure>) -> Result<T, OnFailure> {
        let plugin = &self.chain[member];
        match called {
            Ok(value) => {
                self.session.succeeded(plugin.name(), self.observes());
                Ok(value)
            }
            Err(failure) => {
                if failure.kind != FailureKind::Tripped {
                    self.session.failed(plugin, self.observes(), &failure);
                }
                if let Some(why) = self.session.why_a_failure_cannot_be_replayed(plugin, self.observes(), &failure) {
                    self.record.not_replayable.push(format!("{}: {why}", plugin.name()));
                }
                if let Some(record) = self.record.calls.last_mut() {
                    record.failure = Some(failure);
                }
                Err(plugin.on_failure(self.record.event))
            }
        }
    }

    fn observes(&self) -> bool {
        self.record.event.shape() == Shape::Observe
    }

    /// A plugin's change is part of the value: so are the effects of the call that made it.
    fn changed<T: serde::Serialize>(&mut self, member: usize, value: &T) {
        let value = raw(value);
        self.size = value.get().len();
        self.record.last = Some(value);
        let ledger = &mut self.ledger[member];
        ledger.kept.extend(ledger.last.take());
    }

    fn rejection(&mut self, objection: Objection) -> Rejection {
        let rejection = match objection {
            Objection::Verdict { by, refusal } => Rejection::verdict(self.chain[by].name(), refusal),
            Objection::Failure { by } => {
                let name = self.chain[by].name();
                let failure = self.record.calls.iter().rev().find(|call| call.plugin == name);
                let failure = failure.and_then(|call| call.failure.clone());
                let failure = failure.unwrap_or_else(|| Failure::new(FailureKind::Trap, "gave no answer"));
                Rejection::host(vec![name.to_owned()], Cause::Failed(failure.kind), failure.detail)
            }
            Objection::Disagreement { by } => Rejection::host(
                self.names(by),
                Cause::Disagreement,
                format!("after {} passes the plugins still change each other's values", chain::MAX_PASSES),
            ),
        };
        self.rejected(rejection)
    }

    fn rejected(&mut self, rejection: Rejection) -> Rejection {
        let transforms = self.record.event.shape() == Shape::Transform;
        self.record.outcome = if transforms { OutcomeKind::Withheld } else { OutcomeKind::Rejected };
        self.record.by.clone_from(&rejection.by);
        self.record.cause = Some(rejection.cause);
        self.record.reason = Some(rejection.to_string());
        rejection
    }

    fn asker(&self, asker: Asker) -> approval::Asker {
        match asker {
            Asker::Configuration => approval::Asker::Configuration,
            Asker::Member(member) => approval::Asker::Plugin(self.chain[member].name().to_owned()),
        }
    }

    fn names(&self, members: Vec<usize>) -> Vec<String> {
        members.into_iter().map(|member| self.chain[member].name().to_owned()).collect()
    }
}
