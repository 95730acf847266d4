//! The dispatch of one event: asks the plugins, decides the event, records it, and applies the effects.

mod again;
mod ask_plugin;
mod call_override;
mod effects;
mod observers;
mod on_failure;
mod open_record;
mod pending;
mod records;

pub(super) use effects::written_labels;
pub use pending::{OpenDecision, OpenOutcome, PendingApproval};
pub(super) use records::{Durability, RecordEffects};

use super::inner::SessionInner;
use super::notice::{Notice, NoticeKind};
use super::recorded_outcome::RecordedOutcome;
use super::replay_inputs::ReplayInputs;
use crate::active_config::ActiveConfig;
use crate::approval::{ApprovalRequest, ProposedResponse};
use crate::audit::{ApprovalRecord, EventRecord, Header, Masking, raw};
use crate::compose::{
    self, Gate, GateResult, Layer, MAX_QUESTION_ROUNDS, Member, Objection, Passage, QuestionOrigin, Step, Transform,
    Verdict,
};
use crate::config::Digest;
use crate::contract::{
    self, Asker, Cause, Decision, Escalation, EventKind, Failure, FailureKind, OutcomeKind, Question, Rejection, Shape,
    Task, TransformOutcome,
};
use crate::event::{Binary, CollectEvent, GateEvent, Kind, TransformEvent};
use crate::plugin::Plugin;
use crate::sandbox::capability::{Effects, EventFacts};
use crate::state::{Source, Writes};
use crate::store::{OpenQuestion, QuestionChange, StoreError};
use again::Consent;
use call_override::Overridden;
use effects::{HeldEffects, PendingEffects};
use open_record::OpenRecord;
use pending::EventQuestion;
use serde_json::value::RawValue;
use std::sync::Arc;
use std::time::Instant;

/// An event during its dispatch.
pub(crate) struct Dispatch<'a> {
    session: &'a Arc<SessionInner>,
    rules: &'a Arc<ActiveConfig>,
    info: Arc<contract::Session>,
    facts: Arc<EventFacts>,
    chain: &'a [Plugin],
    pending_effects: Vec<PendingEffects>,
    /// The effects of the last call, until it is known whether its answer is valid.
    returned: Option<(usize, Option<Writes>, Effects)>,
    /// The labels of the session before the event, if a plugin with the grant was asked.
    labels: Option<Arc<dyn Source>>,
    record: OpenRecord,
    began: Instant,
    /// True if the record has been written, or must not be written.
    concluded: bool,
    /// The earlier dispatches of this event, each with the approval of its questions.
    earlier: Vec<(EventRecord, ApprovalRecord)>,
    /// Reminders from the earlier dispatches of this event.
    carried: HeldEffects,
    /// The recorded inputs, if the event is replayed.
    replay: Option<Box<ReplayInputs>>,
    /// True if the event's outcome is returned only after its observers have run.
    await_observers: bool,
    /// The current size of the value, in bytes of JSON.
    size: usize,
    /// The binary data that was removed from the payload of the last call.
    left_out: Option<Binary>,
}

/// The data with which a dispatch starts, except the value.
pub(super) struct EventStart {
    pub(super) info: Arc<contract::Session>,
    pub(super) facts: Arc<EventFacts>,
    pub(super) replay: Option<Box<ReplayInputs>>,
    pub(super) await_observers: bool,
}

/// A dispatch is dropped early if the sender of the event no longer waits. The calls so far are then recorded, but none
/// of their effects is applied.
impl Drop for Dispatch<'_> {
    fn drop(&mut self) {
        if self.concluded || self.replay.is_some() {
            return;
        }
        self.record.outcome = OutcomeKind::Cancelled;
        // The dispatch may have been dropped while its record was being written.
        self.void_effects();
        self.record.not_replayable.push("the agent stopped waiting before the decision".into());
        self.record_late();
    }
}

impl<'a> Dispatch<'a> {
    pub(super) fn new(
        session: &'a Arc<SessionInner>,
        rules: &'a Arc<ActiveConfig>,
        event: EventKind,
        start: EventStart,
        original: Box<RawValue>,
    ) -> Box<Self> {
        let EventStart { info, facts, replay, await_observers } = start;
        let chain = rules.chain(event);
        let record = OpenRecord::new(EventRecord {
            id: facts.id.clone(),
            header: Header::new(&*info.id, facts.time),
            turn: info.turn,
            enforcement: rules.enforcement(),
            calls: Vec::with_capacity(chain.len()),
            raw: facts.raw.as_deref().map(str::to_owned),
            sandboxed: facts.world.process().is_sandboxed() == Ok(Some(true)),
            ..EventRecord::new(event, original)
        });
        Box::new(Self {
            session,
            rules,
            info,
            facts,
            chain,
            pending_effects: chain.iter().map(|_| PendingEffects::default()).collect(),
            returned: None,
            labels: None,
            size: record.original.get().len(),
            record,
            began: Instant::now(),
            // An `audit-record` event writes no record.
            concluded: event == EventKind::AuditRecord,
            earlier: Vec::new(),
            carried: HeldEffects::default(),
            replay,
            await_observers,
            left_out: None,
        })
    }

    /// Creates a dispatch to the observers of an event that has its outcome and record.
    pub(super) fn for_observers(
        session: &'a Arc<SessionInner>,
        rules: &'a Arc<ActiveConfig>,
        event: EventKind,
        info: Arc<contract::Session>,
        facts: Arc<EventFacts>,
        size: usize,
    ) -> Box<Self> {
        let start = EventStart { info, facts, replay: None, await_observers: true };
        let mut dispatch = Self::new(session, rules, event, start, RawValue::NULL.to_owned());
        dispatch.size = size;
        dispatch.concluded = true;
        dispatch
    }

    /// Decides a gate event, as far as this is possible without a person.
    // Not an `async fn`, because it would copy the payload and the outcome once more.
    pub(crate) fn gate<E: GateEvent + Kind>(
        self: Box<Self>,
        payload: E::Payload,
    ) -> impl Future<Output = OpenOutcome<E::Payload, E::Response>> + Send {
        let consent = self.consent_so_far();
        self.gate_with::<E>(payload, consent)
    }

    /// Decides a gate event. `consent` contains the questions that a person has already answered with yes.
    pub(super) async fn gate_with<E: GateEvent + Kind>(
        mut self: Box<Self>,
        payload: E::Payload,
        consent: Consent,
    ) -> OpenOutcome<E::Payload, E::Response> {
        let passing = (!self.record.enforcement.is_enforced()).then(|| payload.clone());
        if let Some(rejection) = self.no_plugin() {
            let outcome = Box::pin(self.conclude_rejected(rejection, passing)).await;
            return self.finish(outcome);
        }
        let mut gate = Gate::new(self.members(), payload);
        let mut asked_by_rules = None;
        while let Some(ask) = gate.ask() {
            let mut answer = self.answer::<E>(ask.member, ask.round, gate.value()).await;
            if self.chain[ask.member].entry().judges_rows {
                answer = self.take_question(answer, &mut asked_by_rules);
            }
            let version = gate.version();
            gate.answer(answer);
            if gate.version() > version {
                self.changed(ask.member, gate.value());
            }
        }
        let (value, response, mut questions) = match gate.decide(asked_by_rules) {
            GateResult::Rejected(objection) => {
                let rejection = self.rejection(objection);
                let outcome = Box::pin(self.conclude_rejected(rejection, passing)).await;
                return self.finish(outcome);
            }
            GateResult::Accepted { value, changed_by, response, questions, approved_by } => {
                self.record.changed_by = self.names(changed_by);
                self.record.approved_by = approved_by.map(|member| self.chain[member].name().to_owned());
                let response = response.map(|(member, response)| (self.chain[member].name().to_owned(), response));
                self.record.response = response.as_ref().map(|(_, response)| raw(response));
                let question = |(asker, escalation)| Question::new(self.asker(asker), escalation);
                (value, response, questions.into_iter().map(question).collect::<Vec<_>>())
            }
        };
        let responder = response.as_ref().map(|(by, _)| by.clone());
        let accepted = if response.is_some() { OutcomeKind::Responded } else { OutcomeKind::Allowed };
        self.answer_from_kept::<E>(&value, &mut questions);
        let questions = match self.open_questions(&consent, questions) {
            Step::Settled => {
                self.record.outcome = accepted;
                self.record.by = responder.into_iter().collect();
                let outcome = match self.conclude(Durability::Now).await {
                    Ok(()) => passing.map_or_else(|| outcome(value, response), |value| Decision::Allowed { value }),
                    Err(error) => Decision::Rejected(self.not_recorded(&error)),
                };
                return self.finish(outcome);
            }
            Step::TooManyRounds(open) => {
                let rejection = self.asked_too_often(&open);
                let outcome = Box::pin(self.conclude_rejected(rejection, passing)).await;
                return self.finish(outcome);
            }
            Step::Ask(open) if passing.is_none() && self.rejects_questions(&open) => {
                let terms = self.override_terms::<E>(&value, &open);
                return match Box::pin(self.reject_questions(open, terms, accepted, responder)).await {
                    Overridden::Passes => self.finish(outcome(value, response)),
                    Overridden::Rejected { rejection, code } => {
                        RecordedOutcome { code, ..self.finish(Decision::Rejected(rejection)) }
                    }
                };
            }
            Step::Ask(open) => open,
        };
        self.record.outcome = OutcomeKind::Escalated;
        self.record.by = questions.iter().map(|question| question.by.to_string()).collect();
        self.record.questions = questions;
        if let Some(value) = passing {
            let outcome = Box::pin(self.conclude_passing(value)).await;
            return self.finish(outcome);
        }
        let proposed = responder.zip(self.record.response.clone());
        let request = self.request(proposed.map(|(by, result)| ProposedResponse { by, result }));
        let held = match Box::pin(self.conclude_escalated(&request)).await {
            Ok(held) => held,
            Err(error) => {
                let rejection = self.not_recorded(&error);
                return self.finish(Decision::Rejected(rejection));
            }
        };
        // Keeps the session open while the question waits. Without this, a new handle would number the session's events
        // from the start if there is no log.
        self.session.services.claim(&self.session.id, &self.session.root);
        let question = EventQuestion::<E> {
            session: Arc::clone(self.session),
            rules: Arc::clone(self.rules),
            info: self.info.clone(),
            facts: self.facts.clone(),
            request,
            value,
            response,
            consent,
            held,
            earlier: std::mem::take(&mut self.earlier),
            await_observers: self.await_observers,
            began: Instant::now(),
            answered: None,
            is_recorded: false,
            record: self.take_record(),
        };
        question.into_outcome()
    }

    /// Creates the request to a person.
    fn request(&self, response: Option<ProposedResponse>) -> ApprovalRequest {
        let Self { record, info, .. } = self;
        ApprovalRequest {
            id: record.id.clone(),
            code: String::new(),
            session: info.id.clone(),
            agent: self.session.asking_agent(),
            event: record.event,
            original: record.original.clone(),
            value: record.last.as_ref().unwrap_or(&record.original).clone(),
            changed_by: record.changed_by.clone(),
            response,
            questions: record.questions.clone(),
            deadline: self.rules.settings().approval_deadline,
            terms: None,
            rejected: None,
            needs_passkey: false,
            digest: None,
        }
        .with_code()
    }

    /// Creates the question's row, which is committed with the event's record.
    fn question(&mut self, request: &ApprovalRequest) -> Result<QuestionChange, StoreError> {
        Ok(self.question_of(self.session.services.store.asker()?, request))
    }

    fn question_of(&mut self, asker: u32, request: &ApprovalRequest) -> QuestionChange {
        let deadline = u64::try_from(request.deadline.as_millis()).unwrap_or(u64::MAX);
        let is_shared = self.session.services.shares_questions;
        // If questions are not shared, no other process shows the values, so they are not written to disk a second
        // time.
        let stored = match is_shared {
            true => request.stored(&Masking::new(&self.rules.settings().audit)),
            false => raw(&request.without_values()).get().to_owned(),
        };
        self.record.question = is_shared.then(|| Digest::of_bytes(stored.as_bytes()));
        QuestionChange::Ask(Box::new(OpenQuestion {
            id: request.id.clone(),
            session: request.session.clone(),
            asker,
            expires: self.session.services.now().saturating_add(deadline),
            answerable: is_shared,
            request: stored,
            answer: None,
        }))
    }

    /// Decides a transform event.
    pub(crate) async fn transform<E: TransformEvent + Kind>(
        &mut self,
        mut payload: E::Payload,
    ) -> TransformOutcome<E::Value> {
        let passing = (!self.record.enforcement.is_enforced()).then(|| E::value(&payload).clone());
        if let Some(rejection) = self.no_plugin() {
            return self.conclude_withheld(rejection, passing).await;
        }
        let mut transform = Transform::new(self.members(), E::value(&payload).clone());
        while let Some(member) = transform.ask() {
            let passage = if self.concerns::<E>(member, &payload) {
                let called = self.call::<E>(member, 1, &payload).await;
                let checked = called.and_then(|(mut verdict,)| {
                    self.verdict(&verdict);
                    if let Some(binary) = &mut self.left_out {
                        E::put_back(&mut verdict, binary);
                    }
                    E::passage(verdict, &payload).map_err(Failure::invalid)
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
                match self.conclude(Durability::Soon).await {
                    Ok(()) => TransformOutcome::Passed { value: passing.unwrap_or(value) },
                    Err(error) => TransformOutcome::Withheld(self.not_recorded(&error)),
                }
            }
            Err(objection) => {
                let rejection = self.rejection(objection);
                self.conclude_withheld(rejection, passing).await
            }
        }
    }

    /// Withholds the value, unless its rules are not enforced and `passing` is its original form.
    async fn conclude_withheld<V>(&mut self, rejection: Rejection, passing: Option<V>) -> TransformOutcome<V> {
        match self.conclude(Durability::Soon).await {
            Ok(()) => passing.map_or(TransformOutcome::Withheld(rejection), |value| TransformOutcome::Passed { value }),
            Err(error) => {
                self.record_without_effects(&error);
                TransformOutcome::Withheld(rejection)
            }
        }
    }

    /// Asks plugins for tasks, and returns the tasks that they add.
    pub(crate) async fn collect<E: CollectEvent + Kind>(&mut self, payload: E::Payload) -> Vec<Task> {
        let mut additions = Vec::new();
        for (member, standing) in self.members().enumerate() {
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
        let (tasks, left_out) = compose::merge(additions);
        if left_out > 0 {
            self.session.notice(Notice::new(
                NoticeKind::TasksLeftOut,
                format!("plugins added more than {} tasks at once: {left_out} were left out", compose::MAX_TASKS),
            ));
        }
        self.record.outcome = OutcomeKind::Collected;
        match self.conclude(Durability::Soon).await {
            Ok(()) if !self.record.enforcement.is_enforced() => Vec::new(),
            Ok(()) => tasks,
            Err(error) => {
                if !tasks.is_empty() {
                    let text = format!("the tasks that plugins added are left out: {error}");
                    self.session.notice(Notice::new(NoticeKind::TasksLeftOut, text));
                }
                self.record_without_effects(&error);
                Vec::new()
            }
        }
    }

    /// Records an event, and dispatches it to its observers.
    pub(crate) async fn observe<E: Kind<Return = ()>>(&mut self, payload: E::Payload) {
        if !self.concluded
            && let Err(error) = self.conclude(Durability::Soon).await
        {
            self.record_without_effects(&error);
        }
        if self.chain.is_empty() {
            return;
        }
        if self.await_observers {
            // The record is written before its observers are called.
            if let Err(error) = self.session.services.store.flush().await {
                tracing::error!(%error, event = %E::KIND, "observers do not get an event that cannot be recorded");
                return;
            }
            // Boxed, because only a caller that tries out a plugin waits for observers (see `boxed`).
            Box::pin(async {
                self.call_observers::<E>(&payload).await;
                self.conclude_observed().await;
            })
            .await;
        } else {
            let (info, facts) = (self.info.clone(), self.facts.clone());
            observers::enqueue::<E>(self.session, self.rules, info, facts, payload, self.size);
        }
    }

    /// Calls each observer.
    pub(super) async fn call_observers<E: Kind<Return = ()>>(&mut self, payload: &E::Payload) {
        for member in 0..self.chain.len() {
            let called = self.call::<E>(member, 1, payload).await;
            // A failure of an observer is recorded, and has no other effect.
            let _ = self.outcome_of(member, called);
        }
    }

    /// Returns the outcome with the record.
    pub(super) fn finish<O>(mut self: Box<Self>, outcome: O) -> RecordedOutcome<O> {
        let earlier = std::mem::take(&mut self.earlier);
        RecordedOutcome { outcome, record: self.take_record(), answer: None, earlier, code: None }
    }

    /// Takes the record. After this, the dispatch writes nothing more about the event.
    fn take_record(&mut self) -> Box<EventRecord> {
        self.concluded = true;
        self.record.take()
    }

    fn members(&self) -> impl Iterator<Item = Member> + use<'a> {
        self.chain.iter().map(|plugin| {
            let entry = plugin.entry();
            let layer = Layer::of(entry.origin.as_ref());
            Member {
                enforcing: plugin.enforces(),
                may_approve: entry.grants.approve.then_some(layer),
                sees_own_changes: entry.judges_rows,
            }
        })
    }

    async fn answer<E: GateEvent + Kind>(
        &mut self,
        member: usize,
        round: u32,
        payload: &E::Payload,
    ) -> Verdict<E::Payload, E::Response> {
        if !self.concerns::<E>(member, payload) {
            return Verdict::NotMatched;
        }
        let called = self.call::<E>(member, round, payload).await;
        let answer = called.and_then(|(mut verdict,)| {
            self.verdict(&verdict);
            if let Some(binary) = &mut self.left_out {
                E::put_back(&mut verdict, binary);
            }
            E::answer(verdict, payload, &self.session.validator(&self.info)).map_err(Failure::invalid)
        });
        self.outcome_of(member, answer).unwrap_or_else(|on_failure| self.in_place_of_verdict(on_failure))
    }

    /// Makes the question of the plugin that judges the rules in words a question of the configuration, which has the layer
    /// of its rule. A plugin with the grant `approve` may then waive it.
    fn take_question<V, R>(&self, answer: Verdict<V, R>, question: &mut Option<(Layer, Escalation)>) -> Verdict<V, R> {
        match answer {
            Verdict::Escalate(asked) => {
                let layer = asked.code.as_deref().and_then(|id| self.rules.layer_of_rule(id));
                *question = Some((layer.unwrap_or(Layer::User), asked));
                Verdict::Allow
            }
            Verdict::NotMatched | Verdict::Failed(_) | Verdict::Unanswered(_) => answer,
            _ => {
                *question = None;
                answer
            }
        }
    }

    fn rejection(&mut self, objection: Objection) -> Rejection {
        let rejection = match objection {
            Objection::Verdict { by, refusal } => {
                let plugin = &self.chain[by];
                Rejection::verdict(plugin.name(), refusal, plugin.entry().stop)
            }
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
                format!("after {} rounds the plugins still change each other's values", compose::MAX_ROUNDS),
            ),
        };
        self.rejected(rejection)
    }

    /// Rejects the event if `require-plugins` is set and no plugin is loaded.
    fn no_plugin(&mut self) -> Option<Rejection> {
        let is_missing = self.rules.settings().require_plugins && self.rules.plugins().is_empty();
        let reason = "`require-plugins` is set; add an entry to the configuration";
        is_missing.then(|| self.rejected(Rejection::host(Vec::new(), Cause::NoPlugin, reason.into())))
    }

    /// Records the decision of rules that are not enforced, and lets the original value pass.
    async fn conclude_passing<V, R, P>(&mut self, value: V) -> Decision<V, R, P> {
        match self.conclude(Durability::Now).await {
            Ok(()) => Decision::Allowed { value },
            Err(error) => Decision::Rejected(self.not_recorded(&error)),
        }
    }

    /// Rejects the event, unless its rules are not enforced and `passing` is its original value. A rejection that cannot
    /// be recorded now is recorded later.
    async fn conclude_rejected<V, R, P>(&mut self, rejection: Rejection, passing: Option<V>) -> Decision<V, R, P> {
        if let Some(value) = passing {
            return self.conclude_passing(value).await;
        }
        if let Err(error) = self.conclude(Durability::Now).await {
            self.record_without_effects(&error);
        }
        Decision::Rejected(rejection)
    }

    fn asked_too_often(&mut self, open: &[Question]) -> Rejection {
        let by = open.iter().map(|question| question.by.to_string()).collect();
        let reason = format!("there are new questions after {MAX_QUESTION_ROUNDS} answers; send the call again");
        self.rejected(Rejection::host(by, Cause::TooManyQuestions, reason))
    }

    fn rejected(&mut self, rejection: Rejection) -> Rejection {
        let transforms = self.record.event.shape() == Shape::Transform;
        self.record.outcome = if transforms { OutcomeKind::Withheld } else { OutcomeKind::Rejected };
        self.record.by.clone_from(&rejection.by);
        self.record.cause = Some(rejection.cause);
        self.record.reason = Some(rejection.to_string());
        rejection
    }

    fn asker(&self, asker: QuestionOrigin) -> Asker {
        match asker {
            QuestionOrigin::Configuration => Asker::Configuration,
            QuestionOrigin::Member(member) => Asker::Plugin(self.chain[member].name().to_owned()),
        }
    }

    fn names(&self, members: Vec<usize>) -> Vec<String> {
        members.into_iter().map(|member| self.chain[member].name().to_owned()).collect()
    }
}

/// Returns the outcome of a gate without open questions.
fn outcome<V, R, P>(value: V, response: Option<(String, R)>) -> Decision<V, R, P> {
    match response {
        Some((by, response)) => Decision::Responded { value, response, by },
        None => Decision::Allowed { value },
    }
}
