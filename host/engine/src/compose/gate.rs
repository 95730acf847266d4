//! Gates: nothing passes that an enforcing plugin has not seen in exactly that form.

use super::{Layer, Member, Objection, OnFailure, Verdict};
use crate::contract::Escalation;

/// Most rounds. If plugins still disagree then, the value is rejected.
pub(crate) const MAX_ROUNDS: u32 = 4;

/// One gate event on its way through a chain.
#[derive(Clone, Debug)]
pub(crate) struct Gate<V, R> {
    chain: Vec<Standing>,
    value: V,
    /// Counts the changes: equal values of different versions are not the same, since somebody objected in between.
    version: u32,
    /// Who made each version, from version 1 on.
    authors: Vec<usize>,
    response: Option<(usize, R)>,
    round: u32,
    /// Those before it wait for the next round. Itself has seen the value, or written it, once it has answered.
    next: usize,
    asking: Option<usize>,
    objection: Option<Objection>,
}

/// Where a member stands.
#[derive(Clone, Debug)]
struct Standing {
    member: Member,
    /// The version of the value that it last answered about; `None` before its first answer.
    answered: Option<u32>,
    /// Whether its last answer was none: a failure that does not reject, or a value it is not concerned with.
    is_silent: bool,
    /// Its question, until it withdraws it.
    question: Option<Escalation>,
    /// The question in place of its last answer, where it gave none and a person decides; until it answers.
    unanswered: Option<Escalation>,
    /// The version that its last answer is about, if that was `approve`.
    approved: Option<u32>,
}

/// Whom to ask next, about [`Gate::value`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ask {
    /// Index in the chain.
    pub(crate) member: usize,
    /// The round, from 1.
    pub(crate) round: u32,
}

/// The decision when nobody is left to ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GateResult<V, R> {
    /// The value may pass, once the questions are answered by a person.
    Accepted {
        /// The value that every enforcing plugin has seen in exactly this form.
        value: V,
        /// Who changed it, in the order of the changes.
        changed_by: Vec<usize>,
        /// The result that a plugin gave in its place.
        response: Option<(usize, R)>,
        /// Who asks a person what: the configuration first, then the plugins in chain order. Empty: *allowed* (or
        /// *responded*); else *escalated*.
        questions: Vec<(QuestionOrigin, Escalation)>,
        /// The first plugin with the grant that approved exactly this value, one that may waive all
        /// that the configuration asks before one that may not: what it may waive is not asked.
        approved_by: Option<usize>,
    },
    /// It may not.
    Rejected(Objection),
}

/// Who asks a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QuestionOrigin {
    /// The configuration, with its `ask` rules.
    Configuration,
    /// The plugin of this index, with its `escalate`.
    Member(usize),
}

impl<V: PartialEq, R> Gate<V, R> {
    /// A gate event about `value` before a chain of `members`.
    #[must_use]
    pub(crate) fn new(members: impl IntoIterator<Item = Member>, value: V) -> Self {
        let standing = |member| Standing {
            member,
            answered: None,
            is_silent: false,
            question: None,
            unanswered: None,
            approved: None,
        };
        Self {
            chain: members.into_iter().map(standing).collect(),
            value,
            version: 0,
            authors: Vec::new(),
            response: None,
            round: 1,
            next: 0,
            asking: None,
            objection: None,
        }
    }

    /// The value as it is now: what the next plugin is asked about.
    #[must_use]
    pub(crate) fn value(&self) -> &V {
        &self.value
    }

    /// How often the value has been changed so far.
    #[must_use]
    pub(crate) fn version(&self) -> u32 {
        self.version
    }

    /// Whom to ask next; `None` when the asking has ended. Until [`Gate::answer`] is called it names the same one.
    pub(crate) fn ask(&mut self) -> Option<Ask> {
        if self.objection.is_some() {
            return None;
        }
        while self.asking.is_none() {
            match (self.next..self.chain.len()).find(|&member| self.is_due(member)) {
                Some(member) => {
                    self.next = member;
                    self.asking = Some(member);
                }
                None if !self.begin_pass() => return None,
                None => {}
            }
        }
        self.asking.map(|member| Ask { member, round: self.round })
    }

    /// Takes the answer of the member that [`Gate::ask`] named last; without one asked, nothing happens.
    pub(crate) fn answer(&mut self, answer: Verdict<V, R>) {
        let Some(member) = self.asking.take() else { return };
        let asked = &mut self.chain[member];
        asked.answered = Some(self.version);
        asked.approved = None;
        asked.is_silent =
            matches!(answer, Verdict::NotMatched | Verdict::Failed(OnFailure::Skip) | Verdict::Unanswered(_));
        if !asked.member.enforcing {
            return;
        }
        if !asked.is_silent {
            asked.unanswered = None;
        }
        match answer {
            Verdict::Allow => asked.question = None,
            Verdict::Approve => {
                asked.question = None;
                asked.approved = asked.member.may_approve.and(Some(self.version));
            }
            Verdict::Change(value) if value == self.value => asked.question = None,
            Verdict::Change(value) => {
                self.value = value;
                self.version += 1;
                self.authors.push(member);
                // It was a response to another value.
                self.response = None;
            }
            Verdict::Escalate(question) => asked.question = Some(question),
            Verdict::Reject(refusal) => self.objection = Some(Objection::Verdict { by: member, refusal }),
            Verdict::Respond(response) => {
                self.response.get_or_insert((member, response));
            }
            Verdict::Failed(OnFailure::Reject | OnFailure::Ask) => {
                self.objection = Some(Objection::Failure { by: member });
            }
            Verdict::Unanswered(question) => asked.unanswered = Some(question),
            Verdict::NotMatched | Verdict::Failed(OnFailure::Skip) => {}
        }
    }

    /// The decision. `asks` gives the questions that the configuration asks about a value, each
    /// with the layer that it is written in; it is consulted about the final one, and only where
    /// that would run unless a person says no: nothing is rejected, and no response takes its
    /// place. A question is waived where a plugin with the grant, of a layer that
    /// [may](Layer::may_waive), approved exactly this value.
    ///
    /// Called before [`Gate::ask`] has named everybody, it gives a rejection, never a value that an
    /// enforcing plugin has not seen.
    #[must_use]
    pub(crate) fn decide(self, asks: impl FnOnce(&V) -> Vec<(Layer, Escalation)>) -> GateResult<V, R> {
        if let Some(objection) = self.objection {
            return GateResult::Rejected(objection);
        }
        let unseen =
            (0..self.chain.len()).filter(|&member| self.chain[member].member.enforcing && self.has_not_seen(member));
        let (silent, disagreeing): (Vec<usize>, Vec<usize>) = unseen.partition(|&member| self.chain[member].is_silent);
        if !disagreeing.is_empty() {
            return GateResult::Rejected(Objection::Disagreement { by: disagreeing });
        }
        if !silent.is_empty() {
            return GateResult::Rejected(Objection::Disagreement { by: silent });
        }
        let approvers = || {
            let current = self.chain.iter().enumerate().filter(|(_, asked)| asked.approved == Some(self.version));
            current.filter_map(|(at, asked)| Some((at, asked.member.may_approve?)))
        };
        let widest = approvers().find(|(_, layer)| layer.may_waive(Layer::User)).or_else(|| approvers().next());
        let approved_by = widest.map(|(member, _)| member);
        let mut asked = if self.response.is_some() { Vec::new() } else { asks(&self.value) };
        asked.retain(|(asking, _)| !approvers().any(|(_, layer)| layer.may_waive(*asking)));
        let held = self.chain.into_iter().enumerate();
        let held = held.flat_map(|(member, asked)| {
            let questions = asked.question.into_iter().chain(asked.unanswered);
            questions.map(move |question| (QuestionOrigin::Member(member), question))
        });
        GateResult::Accepted {
            value: self.value,
            changed_by: self.authors,
            response: self.response,
            questions: asked
                .into_iter()
                .map(|(_, question)| (QuestionOrigin::Configuration, question))
                .chain(held)
                .collect(),
            approved_by,
        }
    }

    /// Whether `member` neither answered about the current value nor wrote it.
    fn has_not_seen(&self, member: usize) -> bool {
        self.chain[member].answered != Some(self.version) && self.authors.last() != Some(&member)
    }

    /// Whether `member` is to be asked in this round. Those that gave no answer last time are asked once more after the
    /// last round, so that a plugin that always fails cannot make the others disagree, and one that failed once cannot
    /// be skipped.
    fn is_due(&self, member: usize) -> bool {
        let asked = &self.chain[member];
        self.has_not_seen(member) && (self.round <= MAX_ROUNDS || (asked.is_silent && asked.member.enforcing))
    }

    /// Starts the next round, if anybody has not seen the value and rounds are left.
    fn begin_pass(&mut self) -> bool {
        let mut unseen = (0..self.chain.len()).filter(|&member| self.has_not_seen(member)).peekable();
        let begins = unseen.peek().is_some()
            && match self.round {
                ..MAX_ROUNDS => true,
                // Without the others' agreement there is nothing to ask about.
                MAX_ROUNDS => unseen.all(|member| self.chain[member].is_silent || !self.chain[member].member.enforcing),
                _ => false,
            };
        if begins {
            self.round += 1;
            self.next = 0;
        }
        begins
    }
}

#[cfg(test)]
mod tests;
