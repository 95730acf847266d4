//! Consent: the approvals that a person has given for one event, and the questions that are still open.

/// Maximum number of rounds of questions about one event. If a further round is needed, the event is rejected.
pub(crate) const MAX_QUESTION_ROUNDS: usize = 2;

/// The approvals that a person has given for one event.
///
/// An approval answers certain questions about one value, and about the response in its place if one was shown. After an
/// approval, the chain is asked again about exactly that value, and the approval answers the same questions again.
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
    /// No question is open: it may pass.
    Settled,
    /// These questions are open, in order; a person is asked.
    Ask(Vec<Q>),
    /// These questions are open after [`MAX_QUESTION_ROUNDS`] rounds: it is rejected.
    TooManyRounds(Vec<Q>),
}

impl<V, R, Q> Default for Consent<V, R, Q> {
    fn default() -> Self {
        Self { given: Vec::new() }
    }
}

impl<V: PartialEq, R: PartialEq, Q: PartialEq> Consent<V, R, Q> {
    /// Returns the next step after a chain that leaves `value`, with `response` in its place, and asks `questions`. `changed` is
    /// true if the chain changed the value since the last yes: then it is another form of the value, about which nobody was asked,
    /// even if the two are equal.
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

    /// A person has said yes to `questions`, the open ones, about `value` with `response` in its place.
    pub(crate) fn give(&mut self, value: V, response: Option<R>, questions: Vec<Q>) {
        self.given.push(Yes { value, response, questions });
    }
}
