//! One event on its way: ask the chain, settle, commit the effects.

use super::Shared;
use super::outcome::{Cause, GateOutcome, Rejection, TransformOutcome};
use crate::approval::{self, ApprovalRequest, ProposedResponse, Question};
use crate::audit::{CallRecord, Record, raw};
use crate::chain::{self, Answer, Decision, Gate, Member, Objection, OnFailure, Passage, Transform};
use crate::contract::{self, Escalation, Json, Task};
use crate::event::{CollectEvent, Dispatched, Event, EventKind, GateEvent, Shape, TransformEvent};
use crate::plugin::Plugin;
use crate::sandbox::capability::{Effects, EventFacts};
use crate::sandbox::{Failure, FailureKind, GuestSetup};
use crate::state::{View, Writes};
use serde_json::value::RawValue;
use std::sync::Arc;

/// An event being settled.
pub(crate) struct Dispatch<'a> {
    session: &'a Shared,
    info: contract::Session,
    facts: EventFacts,
    chain: &'a [Plugin],
    ledger: Vec<Ledger>,
    record: Record,
    /// Bytes of the value as JSON, as it now is.
    size: usize,
}

/// What one plugin did beside its verdicts, so far.
#[derive(Default)]
struct Ledger {
    snapshot: Option<View>,
    /// Of its last call that returned.
    writes: Option<Writes>,
    /// Of its last call; none where that failed. With the index of its record.
    last: Option<(usize, Effects)>,
    /// Of each call whose change is part of the final value.
    kept: Vec<(usize, Effects)>,
    asked: bool,
    /// Whether its entry kept it from being asked.
    narrowed: bool,
}

impl<'a> Dispatch<'a> {
    pub(super) fn new(
        session: &'a Shared,
        event: EventKind,
        info: contract::Session,
        raw_event: Option<Json>,
        original: Box<RawValue>,
    ) -> Self {
        let chain = session.host.chain(event);
        let time = super::now();
        let facts = EventFacts {
            id: session.next_event_id(),
            time,
            round: 1,
            parent_session: session.spec.parent.clone(),
            raw: raw_event,
        };
        let record = Record {
            id: facts.id.clone(),
            session: info.id.clone(),
            event,
            time,
            outcome: "observed",
            by: Vec::new(),
            reason: None,
            changed_by: Vec::new(),
            original,
            last: None,
            calls: Vec::new(),
            unconcerned: Vec::new(),
        };
        let size = record.original.get().len();
        Self { session, info, facts, chain, ledger: chain.iter().map(|_| Ledger::default()).collect(), record, size }
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
        match gate.decide() {
            Decision::Rejected(objection) => GateOutcome::Rejected(self.rejection(objection)),
            Decision::Stands { value, changed_by, response, questions, .. } => {
                self.record.changed_by = self.names(changed_by);
                let proposed = response.as_ref().map(|(member, response)| ProposedResponse {
                    by: self.chain[*member].name().to_owned(),
                    result: raw(response),
                });
                if let Err(rejection) = self.approve(questions, proposed).await {
                    return GateOutcome::Rejected(rejection);
                }
                match response {
                    Some((member, response)) => {
                        let by = self.chain[member].name().to_owned();
                        self.record.outcome = "responded";
                        self.record.by = vec![by.clone()];
                        GateOutcome::Responded { value, response, by }
                    }
                    None => {
                        self.record.outcome = "allowed";
                        GateOutcome::Allowed { value }
                    }
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
                self.record.outcome = "passed";
                TransformOutcome::Passed { value }
            }
            Err(objection) => TransformOutcome::Withheld(self.rejection(objection)),
        }
    }

    /// Settles an event to which plugins add tasks.
    pub(crate) async fn collect<E: CollectEvent + Dispatched>(&mut self, payload: E::Payload) -> Vec<Task> {
        let mut additions = Vec::new();
        for member in 0..self.chain.len() {
            let called = self.call::<E>(member, 1, &payload).await;
            let tasks = called.map(|(verdict,)| {
                self.verdict(&verdict);
                E::tasks(verdict)
            });
            if let Ok(tasks) = self.outcome_of(member, tasks)
                && self.chain[member].enforces()
            {
                if !tasks.is_empty() {
                    self.record.by.push(self.chain[member].name().to_owned());
                }
                additions.push(tasks);
            }
        }
        let (tasks, left_out) = chain::merge(additions);
        if left_out > 0 {
            self.session.notice(format!(
                "plugins added more than {} tasks at once: {left_out} were left out",
                chain::MAX_TASKS
            ));
        }
        self.record.outcome = "collected";
        tasks
    }

    /// Tells those who only listen.
    pub(crate) async fn observe<E: Dispatched<Return = ()>>(&mut self, payload: E::Payload) {
        for member in 0..self.chain.len() {
            let called = self.call::<E>(member, 1, &payload).await;
            // An observer's failure is in the record, and changes nothing.
            let _ = self.outcome_of(member, called);
        }
    }

    /// Makes the effects hold, and gives the record.
    pub(super) fn finish(mut self) -> Record {
        let session = self.session;
        // Without a final value no change is part of it; then only the effects of the last call hold.
        let stands = !matches!(self.record.outcome, "rejected" | "withheld");
        for (plugin, mut ledger) in self.chain.iter().zip(std::mem::take(&mut self.ledger)) {
            let last = self.record.calls.iter().rposition(|call| call.plugin == plugin.name());
            ledger.kept.retain(|(call, _)| stands || Some(*call) == last);
            if let Some(writes) = ledger.writes {
                session.host.state().commit(plugin.name(), &self.info.id, writes, self.facts.time);
            }
            for (call, effects) in ledger.kept.into_iter().chain(ledger.last) {
                self.record.calls[call].findings = effects.findings;
                if plugin.enforces() {
                    session.remind(effects.reminders);
                }
            }
            if ledger.narrowed && !ledger.asked {
                self.record.unconcerned.push(plugin.name().to_owned());
            }
        }
        self.record
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
        let session = self.session;
        let plugin = &self.chain[member];
        let entry = plugin.entry();
        self.ledger[member].asked = true;
        self.ledger[member].last = None;
        self.record.calls.push(CallRecord {
            plugin: plugin.name().to_owned(),
            digest: entry.digest,
            mode: entry.mode,
            round,
            verdict: None,
            failure: None,
            fuel: 0,
            micros: 0,
            log: Vec::new(),
            log_dropped: 0,
            findings: Vec::new(),
        });
        if session.is_tripped(plugin.name()) {
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
        let state = entry.grants.state.as_ref().map(|grant| {
            let snapshot = &mut self.ledger[member].snapshot;
            let view = || session.host.state().view(plugin.name(), &self.info.id, grant.quota.get(), self.facts.time);
            snapshot.get_or_insert_with(view).clone()
        });
        let setup = GuestSetup {
            plugin: Arc::clone(&plugin.shared.name),
            event: EventFacts { round, ..self.facts.clone() },
            grants: Arc::clone(&plugin.shared.grants),
            state,
            transcript: session.transcript(),
            model: session.host.model(),
            model_calls: session.model_calls(plugin.name()),
        };
        let called = plugin.call::<E>(&self.info, payload, setup).await;
        if let Some(record) = self.record.calls.last_mut() {
            record.fuel = called.fuel;
            record.micros = u64::try_from(called.time.as_micros()).unwrap_or(u64::MAX);
            record.log = called.log;
            record.log_dropped = called.log_dropped;
        }
        if called.answer.is_ok() {
            let call = self.record.calls.len() - 1;
            let ledger = &mut self.ledger[member];
            ledger.writes = called.writes;
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
                self.session.succeeded(plugin.name());
                Ok(value)
            }
            Err(failure) => {
                if failure.kind != FailureKind::Tripped {
                    self.session.failed(plugin, &failure);
                }
                if let Some(record) = self.record.calls.last_mut() {
                    record.failure = Some(failure);
                }
                Err(plugin.on_failure(self.record.event))
            }
        }
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
        self.record.outcome = if self.record.event.shape() == Shape::Transform { "withheld" } else { "rejected" };
        self.record.by.clone_from(&rejection.by);
        self.record.reason = Some(rejection.to_string());
        rejection
    }

    /// Asks a person, where plugins hold questions.
    async fn approve(
        &mut self,
        questions: Vec<(usize, Escalation)>,
        response: Option<ProposedResponse>,
    ) -> Result<(), Rejection> {
        if questions.is_empty() {
            return Ok(());
        }
        let by: Vec<String> = questions.iter().map(|(member, _)| self.chain[*member].name().to_owned()).collect();
        let asked = questions.into_iter().zip(&by);
        let questions: Vec<Question> =
            asked.map(|((_, escalation), plugin)| Question { plugin: plugin.clone(), escalation }).collect();
        let first = questions.first().map(|question| question.escalation.question.clone()).unwrap_or_default();
        let request = ApprovalRequest {
            id: self.record.id.clone(),
            session: self.info.id.clone(),
            event: self.record.event,
            original: self.record.original.clone(),
            value: self.record.last.as_ref().unwrap_or(&self.record.original).clone(),
            changed_by: self.record.changed_by.clone(),
            response,
            questions,
        };
        approval::resolve(self.session.host.approver(), request)
            .await
            .map_err(|reason| self.rejected(Rejection::host(by, Cause::NotApproved, format!("{first} ({reason})"))))
    }

    fn names(&self, members: Vec<usize>) -> Vec<String> {
        members.into_iter().map(|member| self.chain[member].name().to_owned()).collect()
    }
}
