//! What a person has said yes to before, and which questions are open.

use super::{Dispatch, Held};
use crate::audit::{ApprovalRecord, AskedAgain, EventRecord};
use crate::compose::{self, Step};
use crate::contract::Question;
use crate::event::GateEvent;

/// What a person has said yes to about one event. Values and responses are compared as the JSON that was shown.
pub(in crate::session) type Consent = compose::Consent<String, String, Question>;

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

    /// Which of the questions are open; the others are noted as answered.
    pub(super) fn open_questions(&mut self, consent: &Consent, questions: Vec<Question>) -> Step<Question> {
        // As nearly always: nothing is compared, and so the value is not copied.
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

    /// It is the asking after a yes, whose changes it takes over.
    pub(in crate::session) fn follow(&mut self, asked_again: AskedAgain, held: Held) {
        self.record.asked_again = Some(asked_again);
        self.carried = held.carried();
    }

    /// These askings were before it.
    pub(in crate::session) fn come_after(&mut self, earlier: Vec<(EventRecord, ApprovalRecord)>) {
        self.earlier = earlier;
    }

    /// The value as it now is, as JSON.
    fn value(&self) -> String {
        self.record.last.as_ref().unwrap_or(&self.record.original).get().to_owned()
    }

    /// The result in its place, as JSON.
    fn response(&self) -> Option<String> {
        self.record.response.as_ref().map(|response| response.get().to_owned())
    }
}
