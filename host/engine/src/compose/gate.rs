//! The composition at gates. A gate lets a value pass only if every enforcing plugin has seen the value exactly as it
//! passes.

use super::{Layer, Member, Objection, OnFailure, Verdict};
use crate::contract::Escalation;

/// Maximum number of rounds. If the plugins still disagree after the last round, the value is rejected.
pub(crate) const MAX_ROUNDS: u32 = 4;

/// One gate event during its way through a chain.
#[derive(Clone, Debug)]
pub(crate) struct Gate<V, R> {
    chain: Vec<MemberProgress>,
    value: V,
    /// Number of changes of the value so far. Two versions of the value are treated as different even if they are
    /// equal.
    version: u32,
    /// The member that wrote each version, from version 1 on.
    authors: Vec<usize>,
    response: Option<(usize, R)>,
    round: u32,
    /// Index of the member at which the round continues. The members before this index wait for the next round.
    next: usize,
    asking: Option<usize>,
    objection: Option<Objection>,
}

/// The state of a member.
#[derive(Clone, Debug)]
struct MemberProgress {
    member: Member,
    /// Version of the value about which the member answered last; `None` before its first answer.
    answered: Option<u32>,
    /// True if the member gave no answer when it was last asked. Either it failed and its `on-failure` does not reject
    /// the event, or its entry excludes the value.
    is_silent: bool,
    /// The member's question, until the member withdraws it.
    question: Option<Escalation>,
    /// The question that a person is asked because the member failed to answer. It is removed when the member answers.
    unanswered: Option<Escalation>,
    /// The version that the member approved. `None` if its last answer was not `approve`.
    approved: Option<u32>,
}

/// The member to ask next, about [`Gate::value`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ask {
    /// Index in the chain.
    pub(crate) member: usize,
    /// The round, from 1.
    pub(crate) round: u32,
}

/// The result of a gate event, when no member is left to ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GateResult<V, R> {
    /// The value may pass, if a person says yes to the questions.
    Accepted {
        /// The value, exactly as every enforcing plugin has seen it.
        value: V,
        /// The plugins that changed the value, in the order of the changes.
        changed_by: Vec<usize>,
        /// The result that a plugin gave in place of the call. If it is set, the call does not run.
        response: Option<(usize, R)>,
        /// The questions to a person. The configuration's question comes first, followed by the plugins' questions in
        /// chain order. Without questions the outcome is *allowed* or *responded*, and with questions it is
        /// *escalated*.
        questions: Vec<(QuestionOrigin, Escalation)>,
        /// The plugin with the grant `approve` that approved exactly this value. Questions that it may waive are not
        /// asked. If several plugins approved this value, this is the first of them that may waive all questions of the
        /// configuration. If none of them may waive all questions, this is the first approving plugin in the chain.
        approved_by: Option<usize>,
    },
    /// The event is rejected.
    Rejected(Objection),
}

/// The origin of a question to a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QuestionOrigin {
    /// The configuration, with its `[[rule]]` tables.
    Configuration,
    /// The plugin of this index, with its `escalate`.
    Member(usize),
}

impl<V: PartialEq, R> Gate<V, R> {
    /// Creates a gate event about `value` for a chain of `members`.
    #[must_use]
    pub(crate) fn new(members: impl IntoIterator<Item = Member>, value: V) -> Self {
        let standing = |member| MemberProgress {
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

    /// Returns the current value, about which the next plugin is asked.
    #[must_use]
    pub(crate) fn value(&self) -> &V {
        &self.value
    }

    /// Returns the number of changes of the value so far.
    #[must_use]
    pub(crate) fn version(&self) -> u32 {
        self.version
    }

    /// Returns the next member to ask, or `None` if no member is left. It returns the same member until
    /// [`Gate::answer`] is called.
    pub(crate) fn ask(&mut self) -> Option<Ask> {
        if self.objection.is_some() {
            return None;
        }
        while self.asking.is_none() {
            match (self.next..self.chain.len()).find(|&member| self.is_due(member)) {
                Some(member) => self.asking = Some(member),
                None if !self.begin_pass() => return None,
                None => {}
            }
        }
        self.asking.map(|member| Ask { member, round: self.round })
    }

    /// Takes the answer of the member that [`Gate::ask`] returned last. Does nothing if no member was asked.
    pub(crate) fn answer(&mut self, answer: Verdict<V, R>) {
        let Some(member) = self.asking.take() else { return };
        self.next = member + 1;
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
                // The response belonged to the previous value.
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

    /// Returns the decision. `asked` is the question that the configuration asks about the current value, with the layer
    /// in which it is written. It is not asked if a response takes the place of the value. It is waived if exactly this
    /// value was approved by a plugin that has the grant `approve` and whose layer
    /// [may waive the question](Layer::may_waive).
    ///
    /// If this method is called while members are still to be asked, the decision is a rejection. So a value that an
    /// enforcing plugin has not seen never passes.
    #[must_use]
    pub(crate) fn decide(self, asked: Option<(Layer, Escalation)>) -> GateResult<V, R> {
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
        let is_asked =
            |asking: Layer| self.response.is_none() && !approvers().any(|(_, layer)| layer.may_waive(asking));
        let asked = asked.filter(|(asking, _)| is_asked(*asking));
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

    /// Returns true if `member` has not answered about the current value. A member that wrote the value knows it, unless it
    /// [sees its own changes](Member::sees_own_changes).
    fn has_not_seen(&self, member: usize) -> bool {
        let asked = &self.chain[member];
        let knows = self.authors.last() == Some(&member) && !asked.member.sees_own_changes;
        asked.answered != Some(self.version) && !knows
    }

    /// Returns true if `member` is to be asked in this round. Enforcing members that gave no answer last time are asked
    /// once more after the last round. So a plugin that failed once gets a second chance, and a plugin that always
    /// fails does not prevent an agreement.
    fn is_due(&self, member: usize) -> bool {
        let asked = &self.chain[member];
        self.has_not_seen(member) && (self.round <= MAX_ROUNDS || (asked.is_silent && asked.member.enforcing))
    }

    /// Starts the next round, if a member has not seen the value and rounds are left.
    fn begin_pass(&mut self) -> bool {
        let mut unseen = (0..self.chain.len()).filter(|&member| self.has_not_seen(member)).peekable();
        let begins = unseen.peek().is_some()
            && match self.round {
                ..MAX_ROUNDS => true,
                // Ask the silent members again only if all other enforcing members agree on the value.
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
