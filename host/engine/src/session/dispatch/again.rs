//! After a yes: whether the plugins are asked again about what it was given to, and asking them.

use super::{Beginning, Dispatch, Held};
use crate::active_config::ActiveConfig;
use crate::audit::{ApprovalRecord, AskedAgain, CallRecord, StateUse, raw};
use crate::compose::{self, Step};
use crate::contract::{Cause, GateOutcome, Question};
use crate::event::{GateEvent, Kind};
use crate::plugin::Plugin;
use crate::session::now;
use crate::state::{Found, Source};
use std::collections::HashMap;
use std::sync::Arc;

/// What a person has said yes to about one event. Values and responses are compared as the JSON that was shown.
pub(super) type Consent = compose::Consent<String, String, Question>;

impl Dispatch<'_> {
    /// The yeses that came before this asking: of a replayed event those of its record.
    pub(super) fn consent_so_far(&self) -> Consent {
        let mut consent = Consent::default();
        if let Some(again) = self.recall.as_ref().and_then(|recall| recall.asked_again.as_ref()) {
            let (value, response) = (self.value(), again.response.clone());
            for round in 1..=again.round {
                let answered = if round == again.round { again.answered.clone() } else { Vec::new() };
                consent.give(value.clone(), response.clone(), answered);
            }
        }
        consent
    }

    /// Takes those questions out that a person has answered for the rest of the session, and notes the answers.
    pub(super) fn answer_from_kept<E: GateEvent>(&mut self, value: &E::Payload, questions: &mut Vec<Question>) {
        self.record.kept = match (&self.recall, E::calls(value)) {
            (Some(recall), _) => {
                let stood_in = |question: &Question| recall.kept.iter().find(|kept| kept.question == *question);
                let kept = questions.iter().filter_map(stood_in).cloned().collect();
                questions.retain(|question| stood_in(question).is_none());
                kept
            }
            (None, Some([call])) => self.session.kept_answers().answer(self.rules, call, questions),
            (None, _) => Vec::new(),
        };
    }

    /// Keeps a yes that was given for the rest of the session, once it is in the log.
    pub(super) fn keep_yes<E: GateEvent>(&self, value: &E::Payload) {
        if let Some([call]) = E::calls(value) {
            self.session.kept_answers().keep(self.rules, call, &self.record.questions, &self.record.id);
        }
    }

    /// Which of the questions are open; the others are noted as answered.
    pub(super) fn open_questions(&mut self, consent: &Consent, questions: Vec<Question>) -> Step<Question> {
        let changed = !self.record.changed_by.is_empty();
        let step = consent.step(&self.value(), changed, self.response().as_ref(), questions.clone());
        if let Some(again) = &mut self.record.asked_again {
            let open: &[Question] = match &step {
                Step::Settled => &[],
                Step::Ask(open) | Step::TooManyRounds(open) => open,
            };
            again.answered = questions.into_iter().filter(|question| !open.contains(question)).collect();
        }
        step
    }

    /// Notes the yes to the questions of the record.
    pub(super) fn agree(&self, consent: &mut Consent) {
        consent.give(self.value(), self.response(), self.record.questions.clone());
    }

    /// Whether the plugins would answer as they did. Verdicts are functions of event, rules and what was learnt from
    /// outside, so that asking them again can be skipped where all of that is as it was.
    pub(super) fn would_answer_the_same(&self) -> bool {
        let mut states = HashMap::new();
        self.record.not_replayable.is_empty()
            && self.record.calls.iter().all(|call| match (&call.inputs.state, self.called(call)) {
                (None, _) => true,
                (Some(_), None) => false,
                (Some(learnt), Some(plugin)) => {
                    let state = states.entry(plugin.name()).or_insert_with(|| self.state_now(plugin));
                    would_learn_the_same(&**state, learnt)
                }
            })
    }

    /// Asks the chain of the rules that count now about exactly the value that a person agreed to.
    pub(super) async fn gate_again<E: GateEvent + Kind>(
        &mut self,
        value: E::Payload,
        consent: Consent,
        yes: ApprovalRecord,
        held: Held,
        rules: &Arc<ActiveConfig>,
    ) -> GateOutcome<E::Payload, E::Response> {
        let mut facts = self.facts.clone();
        facts.id = self.session.next_event_id();
        facts.time = now();
        let beginning =
            Beginning { info: self.info.clone(), facts, recall: None, await_observers: self.await_observers };
        let mut again = Dispatch::new(self.session, rules, E::KIND, beginning, raw(&value));
        let (of, round) = match &self.record.asked_again {
            Some(before) => (before.of.clone(), before.round + 1),
            None => (self.record.id.clone(), 1),
        };
        again.record.asked_again = Some(AskedAgain { of, round, answered: Vec::new() });
        again.carried = held.carried();
        // Boxed, since it may ask once more.
        let outcome = Box::pin(again.gate_with::<E>(value, consent)).await;
        let settled = again.finish(outcome);
        self.tell_refused_after_yes(&settled.outcome, rules);
        self.earlier.push((std::mem::replace(&mut self.record, settled.record), yes));
        self.earlier.extend(settled.earlier);
        self.answer = settled.answer;
        settled.outcome
    }

    /// Tells the person who said yes that it was no longer theirs to say. What they refuse themselves they know.
    fn tell_refused_after_yes<V, R>(&self, outcome: &GateOutcome<V, R>, rules: &Arc<ActiveConfig>) {
        if let GateOutcome::Rejected(rejection) = outcome
            && rejection.cause != Cause::NotApproved
        {
            let changed = if Arc::ptr_eq(rules, self.rules) { "what the plugins know" } else { "the rules" };
            let event = self.record.event;
            self.session.notice(format!(
                "your yes to {event} did not count: {changed} had changed by then, and it was rejected: {rejection}"
            ));
        }
    }

    /// The value as it now is, as JSON.
    fn value(&self) -> String {
        self.record.last.as_ref().unwrap_or(&self.record.original).get().to_owned()
    }

    /// The result in its place, as JSON.
    fn response(&self) -> Option<String> {
        self.record.response.as_ref().map(|response| response.get().to_owned())
    }

    fn called(&self, call: &CallRecord) -> Option<&Plugin> {
        self.chain.iter().find(|plugin| plugin.name() == call.plugin)
    }

    fn state_now(&self, plugin: &Plugin) -> Arc<dyn Source> {
        self.session.services.store.snapshot(&plugin.shared.name, self.session.lineage(), now())
    }
}

/// Whether a plugin that looks at the same keys learns the same.
fn would_learn_the_same(state: &dyn Source, learnt: &StateUse) -> bool {
    let reads = learnt.read.iter().all(|read| match &read.value {
        Some(value) => state.value(read.scope, &read.key) == Ok(Found::Value(Some(value.0.clone()))),
        None => state.size(read.scope, &read.key) == Ok(read.size),
    });
    let usage = learnt.used.is_none_or(|used| state.usage().is_ok_and(|usage| usage.map(|usage| usage.bytes) == used));
    reads && usage
}
