//! Transforms: each plugin on the result of the one before.

use super::{Member, Objection, OnFailure};
use crate::contract::Refusal;

/// What one plugin answered to a transform event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Passage<V> {
    /// It goes on as it is.
    Keep,
    /// This goes on in its place.
    Replace(V),
    /// It is withheld.
    Reject(Refusal),
    /// No answer: the plugin failed, and its `on-failure` decides.
    Failed(OnFailure),
}

/// One value on its way through a chain.
#[derive(Clone, Debug)]
pub struct Transform<V> {
    members: Vec<Member>,
    value: V,
    changed_by: Vec<usize>,
    next: usize,
    objection: Option<Objection>,
}

impl<V: PartialEq> Transform<V> {
    /// A transform event about `value` before a chain of `members`.
    #[must_use]
    pub fn new(members: Vec<Member>, value: V) -> Self {
        Self { members, value, changed_by: Vec::new(), next: 0, objection: None }
    }

    /// The value as it is now.
    #[must_use]
    pub fn value(&self) -> &V {
        &self.value
    }

    /// The index of the member to ask next; `None` when the asking has ended.
    #[must_use]
    pub fn ask(&self) -> Option<usize> {
        (self.objection.is_none() && self.next < self.members.len()).then_some(self.next)
    }

    /// Takes the answer of the member that [`Transform::ask`] names; without one, nothing happens. True where it
    /// changed the value.
    pub fn answer(&mut self, answer: Passage<V>) -> bool {
        let Some(member) = self.ask() else { return false };
        self.next += 1;
        if !self.members[member].enforcing {
            return false;
        }
        match answer {
            Passage::Replace(value) if value != self.value => {
                self.value = value;
                self.changed_by.push(member);
                return true;
            }
            Passage::Reject(refusal) => self.objection = Some(Objection::Verdict { by: member, refusal }),
            Passage::Failed(OnFailure::Reject) => self.objection = Some(Objection::Failure { by: member }),
            Passage::Keep | Passage::Replace(_) | Passage::Failed(OnFailure::Skip) => {}
        }
        false
    }

    /// The value as the last plugin left it and who changed it, or why it is withheld. A chain that was not asked to
    /// its end withholds it, naming those left out.
    ///
    /// # Errors
    /// The objection that withholds the value.
    pub fn decide(self) -> Result<(V, Vec<usize>), Objection> {
        if let Some(objection) = self.objection {
            return Err(objection);
        }
        let unasked: Vec<usize> =
            (self.next..self.members.len()).filter(|&member| self.members[member].enforcing).collect();
        if unasked.is_empty() {
            Ok((self.value, self.changed_by))
        } else {
            Err(Objection::Disagreement { by: unasked })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Member, Objection, OnFailure};
    use super::{Passage, Transform};
    use crate::contract::Refusal;

    const ENFORCING: Member = Member { enforcing: true, may_approve: false };
    const AUDITING: Member = Member { enforcing: false, may_approve: false };

    fn settle(members: &[Member], answers: &[Passage<&'static str>]) -> Result<(&'static str, Vec<usize>), Objection> {
        let mut transform = Transform::new(members.to_vec(), "value");
        for answer in answers {
            assert!(transform.ask().is_some());
            transform.answer(answer.clone());
        }
        transform.decide()
    }

    fn refusal() -> Refusal {
        Refusal { reason: "no".into(), code: None, retryable: false, stop: false }
    }

    #[test]
    fn each_plugin_works_on_the_result_of_the_one_before() {
        let answers = [Passage::Replace("a"), Passage::Replace("a"), Passage::Replace("b")];
        assert_eq!(settle(&[ENFORCING; 3], &answers), Ok(("b", vec![0, 2])));
    }

    #[test]
    fn a_reject_withholds_the_value_and_ends_the_asking() {
        let answers = [Passage::Replace("a"), Passage::Reject(refusal())];
        assert_eq!(settle(&[ENFORCING; 3], &answers), Err(Objection::Verdict { by: 1, refusal: refusal() }));
    }

    #[test]
    fn a_value_that_could_not_be_redacted_is_withheld_unless_the_failure_is_skipped() {
        assert_eq!(settle(&[ENFORCING], &[Passage::Failed(OnFailure::Reject)]), Err(Objection::Failure { by: 0 }));
        assert_eq!(settle(&[ENFORCING], &[Passage::Failed(OnFailure::Skip)]), Ok(("value", vec![])));
    }

    #[test]
    fn a_plugin_in_audit_mode_changes_nothing() {
        for answer in [Passage::Replace("a"), Passage::Reject(refusal()), Passage::Failed(OnFailure::Reject)] {
            assert_eq!(settle(&[AUDITING], &[answer]), Ok(("value", vec![])));
        }
    }

    #[test]
    fn a_chain_that_was_not_asked_to_its_end_withholds_the_value() {
        assert_eq!(settle(&[ENFORCING; 2], &[Passage::Keep]), Err(Objection::Disagreement { by: vec![1] }));
    }
}
