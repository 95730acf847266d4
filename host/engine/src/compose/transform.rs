//! Transforms: each plugin on the result of the one before.

use super::{Member, Objection, OnFailure};
use crate::contract::Refusal;

/// A plugin's answer to a transform event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Passage<V> {
    /// It passes as it is.
    Keep,
    /// This value replaces it.
    Replace(V),
    /// It is withheld.
    Reject(Refusal),
    /// No answer: the plugin failed, and its `on-failure` decides.
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
    /// A transform event about `value` before a chain of `members`.
    #[must_use]
    pub(crate) fn new(members: impl IntoIterator<Item = Member>, value: V) -> Self {
        let members = members.into_iter().collect();
        Self { members, value, changed_by: Vec::new(), next: 0, objection: None }
    }

    /// The value as it is now.
    #[must_use]
    pub(crate) fn value(&self) -> &V {
        &self.value
    }

    /// The index of the member to ask next; `None` when the asking has ended.
    #[must_use]
    pub(crate) fn ask(&self) -> Option<usize> {
        (self.objection.is_none() && self.next < self.members.len()).then_some(self.next)
    }

    /// Takes the answer of the member that [`Transform::ask`] names; without one, nothing happens. True where it
    /// changed the value.
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
            // Nobody is asked about a value on its way.
            Passage::Failed(OnFailure::Reject | OnFailure::Ask) => {
                self.objection = Some(Objection::Failure { by: member });
            }
            Passage::Keep | Passage::Replace(_) | Passage::Failed(OnFailure::Skip) => {}
        }
        false
    }

    /// The value as the last plugin left it and who changed it, or why it is withheld. A chain that was not asked to
    /// its end withholds it, naming those left out.
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
