//! Composition of transforms: each plugin gets the value that the previous plugin in the chain returned.

use super::{Member, Objection, OnFailure};
use crate::contract::Refusal;

/// One plugin's answer to a transform event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Passage<V> {
    /// The value passes unchanged.
    Keep,
    /// This value replaces the previous one.
    Replace(V),
    /// The value is withheld.
    Reject(Refusal),
    /// The plugin failed to answer, and its `on-failure` decides.
    Failed(OnFailure),
}

/// One value on its way through a chain.
#[derive(Clone, Debug)]
pub(crate) struct Transform<V> {
    members: Vec<Member>,
    value: V,
    changed_by: Vec<usize>,
    next: usize,
    objection: Option<Objection>,
}

impl<V: PartialEq> Transform<V> {
    /// Creates a transform event about `value` for a chain of `members`.
    #[must_use]
    pub(crate) fn new(members: impl IntoIterator<Item = Member>, value: V) -> Self {
        let members = members.into_iter().collect();
        Self { members, value, changed_by: Vec::new(), next: 0, objection: None }
    }

    /// Returns the current value.
    #[must_use]
    pub(crate) fn value(&self) -> &V {
        &self.value
    }

    /// Returns the index of the member to ask next; `None` if no member is left.
    #[must_use]
    pub(crate) fn ask(&self) -> Option<usize> {
        (self.objection.is_none() && self.next < self.members.len()).then_some(self.next)
    }

    /// Takes the answer of the member that [`Transform::ask`] returns. Does nothing if no member is left. Returns true
    /// if the answer changed the value.
    pub(crate) fn answer(&mut self, answer: Passage<V>) -> bool {
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
            // During a transform no person can be asked, so `ask` rejects, too.
            Passage::Failed(OnFailure::Reject | OnFailure::Ask) => {
                self.objection = Some(Objection::Failure { by: member });
            }
            Passage::Keep | Passage::Replace(_) | Passage::Failed(OnFailure::Skip) => {}
        }
        false
    }

    /// Returns the final value, and the members that changed it. If an enforcing member was not asked, the value is
    /// withheld, and the objection names this member.
    ///
    /// # Errors
    /// The objection that withholds the value.
    pub(crate) fn decide(self) -> Result<(V, Vec<usize>), Objection> {
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
mod tests;
