//! Consent: the questions about one event that a person has answered with yes, and the questions that are still open.

/// Maximum number of rounds of questions about one event. If a further round is needed, the event is rejected.
pub(crate) const MAX_QUESTION_ROUNDS: usize = 2;

/// The approvals that a person has given about one event.
///
/// An approval answers the questions that the person was shown, about the value or the response that was shown with
/// them. After the approval, the chain is asked again about exactly this value. If the chain asks the same questions
/// again, the approval answers these, too.
#[derive(Clone, Debug)]
pub(crate) struct Consent<V, R, Q> {
    given: Vec<Yes<V, R, Q>>,
}

/// One round of questions that was answered with yes.
#[derive(Clone, Debug)]
struct Yes<V, R, Q> {
    value: V,
    response: Option<R>,
    questions: Vec<Q>,
}

/// The next step for the value that the chain agreed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step<Q> {
    /// No question is open, so the value may pass.
    Settled,
    /// These questions are open, in order. A person is asked.
    Ask(Vec<Q>),
    /// These questions are open after [`MAX_QUESTION_ROUNDS`] rounds, so the value is rejected.
    TooManyRounds(Vec<Q>),
}

impl<V, R, Q> Default for Consent<V, R, Q> {
    fn default() -> Self {
        Self { given: Vec::new() }
    }
}

impl<V: PartialEq, R: PartialEq, Q: PartialEq> Consent<V, R, Q> {
    /// Returns the next step after a chain has agreed on `value`, or on a `response` that replaces the value, and asks
    /// `questions`. `changed` is true if the chain has changed the value since the last approval. In this case no
    /// earlier approval applies, even if the values are equal.
    #[must_use]
    pub(crate) fn step(&self, value: &V, changed: bool, response: Option<&R>, questions: Vec<Q>) -> Step<Q> {
        let about_this = |yes: &&Yes<V, R, Q>| !changed && yes.value == *value && yes.response.as_ref() == response;
        let is_answered =
            |question: &Q| self.given.iter().filter(about_this).any(|yes| yes.questions.contains(question));
        let open: Vec<Q> = questions.into_iter().filter(|question| !is_answered(question)).collect();
        match open.is_empty() {
            true => Step::Settled,
            false if self.given.len() >= MAX_QUESTION_ROUNDS => Step::TooManyRounds(open),
            false => Step::Ask(open),
        }
    }

    /// Adds a person's approval of the open `questions` about `value`, or about the `response` that replaces the value.
    pub(crate) fn give(&mut self, value: V, response: Option<R>, questions: Vec<Q>) {
        self.given.push(Yes { value, response, questions });
    }
}
