//! Earlier answers: what a person has said yes to, and which questions are still open.

use super::{Dispatch, HeldEffects};
use crate::audit::{ApprovalRecord, AskedAgain, EventRecord};
use crate::compose::{self, Step};
use crate::contract::Question;
use crate::event::GateEvent;
use crate::locked::locked;

/// The yeses of a person about one event. Values and responses are compared as the JSON that was shown.
pub(super) type Consent = compose::Consent<String, String, Question>;

impl Dispatch<'_> {
    /// The yeses before this asking; those of the record if the event is replayed.
    pub(super) fn consent_so_far(&self) -> Consent {
        let mut consent = Consent::default();
        if let Some(again) = self.replay.as_ref().and_then(|replay| replay.asked_again.as_ref()) {
            let (value, response) = (self.value(), again.response.clone());
            for round in 1..=again.round {
                let answered = if round == again.round { again.answered.clone() } else { Vec::new() };
                consent.give(value.clone(), response.clone(), answered);
            }
        }
        consent
    }

    /// Removes the questions that a person has answered for the rest of the session, and notes the answers.
    pub(super) fn answer_from_kept<E: GateEvent>(&mut self, value: &E::Payload, questions: &mut Vec<Question>) {
        self.record.kept = match (&self.replay, E::calls(value)) {
            (Some(replay), _) => {
                let kept_for = |question: &Question| replay.kept.iter().find(|kept| kept.question == *question);
                let kept = questions.iter().filter_map(kept_for).cloned().collect();
                questions.retain(|question| kept_for(question).is_none());
                kept
            }
            (None, Some([call])) => locked(&self.session.kept_answers).answer(self.rules, call, questions),
            (None, _) => Vec::new(),
        };
    }

    /// Finds the open questions; the others are noted as answered.
    pub(super) fn open_questions(&mut self, consent: &Consent, questions: Vec<Question>) -> Step<Question> {
        // The usual case: nothing is compared, so the value is not copied.
        if questions.is_empty() && self.record.asked_again.is_none() {
            return Step::Settled;
        }
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

    /// Notes that this is an asking after a yes, and takes over the effects of the changes before it.
    pub(super) fn follow(&mut self, asked_again: AskedAgain, held: HeldEffects) {
        self.record.asked_again = Some(asked_again);
        self.carried = held.carried();
    }

    /// Notes the askings before this one.
    pub(super) fn come_after(&mut self, earlier: Vec<(EventRecord, ApprovalRecord)>) {
        self.earlier = earlier;
    }

    /// The current value, as JSON.
    fn value(&self) -> String {
        self.record.last.as_ref().unwrap_or(&self.record.original).get().to_owned()
    }

    /// The response in its place, as JSON.
    fn response(&self) -> Option<String> {
        self.record.response.as_ref().map(|response| response.get().to_owned())
    }
}
