//! Earlier answers: the approvals that a person has given, and the questions that are still open.

use super::{Dispatch, HeldEffects};
use crate::audit::{ApprovalRecord, AskedAgain, EventRecord};
use crate::compose::{self, Step};
use crate::contract::Question;
use crate::event::GateEvent;
use crate::locked::locked;

/// The approvals of a person for one event. Values and responses are compared as the JSON that was shown.
pub(super) type Consent = compose::Consent<String, String, Question>;

impl Dispatch<'_> {
    /// Returns the approvals that were given before this dispatch. In a replay, they come from the record.
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

    /// Removes the questions that a person has already answered, and records these answers.
    pub(super) fn answer_from_kept<E: GateEvent>(&mut self, value: &E::Payload, questions: &mut Vec<Question>) {
        self.record.kept = match (&self.replay, E::calls(value)) {
            (Some(replay), _) => {
                let kept_for = |question: &Question| replay.kept.iter().find(|kept| kept.question == *question);
                let kept = questions.iter().filter_map(kept_for).cloned().collect();
                questions.retain(|question| kept_for(question).is_none());
                kept
            }
            (None, Some([call])) => {
                locked(&self.session.kept_answers).answer(self.rules, call, questions, self.facts.time)
            }
            (None, _) => Vec::new(),
        };
    }

    /// Finds the open questions, and records all other questions as answered.
    pub(super) fn open_questions(&mut self, consent: &Consent, questions: Vec<Question>) -> Step<Question> {
        // Usually there are no questions. Nothing has to be compared then, so the value is not copied.
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

    /// Records that the plugins are asked again after an approval, and takes over the reminders of the earlier round.
    pub(super) fn follow(&mut self, asked_again: AskedAgain, held: HeldEffects) {
        self.record.asked_again = Some(asked_again);
        self.carried = held.carried();
    }

    /// Stores the records of the earlier rounds, each with the approval that it got.
    pub(super) fn come_after(&mut self, earlier: Vec<(EventRecord, ApprovalRecord)>) {
        self.earlier = earlier;
    }

    /// Returns the current value, as JSON.
    fn value(&self) -> String {
        self.record.last.as_ref().unwrap_or(&self.record.original).get().to_owned()
    }

    /// Returns the response of a plugin, which replaces the result of the tool or of the model, as JSON.
    fn response(&self) -> Option<String> {
        self.record.response.as_ref().map(|response| response.get().to_owned())
    }
}
