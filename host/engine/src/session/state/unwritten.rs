//! The changes of a handle that no transaction has written yet.

use super::Change;
use std::collections::VecDeque;

/// Maximum number of waiting changes. While the database cannot be written, each event adds some changes. If there are
/// too many, the oldest changes are dropped. The handle's own copy still contains the dropped changes, but other
/// handles do not get them.
pub(super) const MAX_UNWRITTEN: usize = 1024;

/// The changes, in the order in which they were made.
#[derive(Default)]
pub(super) struct Unwritten {
    changes: VecDeque<Change>,
    /// The number of earlier changes, which were written or dropped.
    before: u64,
}

impl Unwritten {
    pub(super) fn push(&mut self, change: Change) {
        if self.changes.len() >= MAX_UNWRITTEN {
            self.give_up_oldest();
        }
        self.changes.push_back(change);
    }

    /// Drops the oldest change. A reservation of event numbers is never dropped, because another handle must not use
    /// these numbers.
    fn give_up_oldest(&mut self) {
        let mut numbers = 0;
        while let Some(change) = self.changes.pop_front() {
            self.before += 1;
            match change {
                Change::Numbers(taken) => numbers += taken,
                _ => break,
            }
        }
        if numbers == 0 {
            return;
        }
        let later = self.changes.iter_mut().find_map(|change| match change {
            Change::Numbers(taken) => Some(taken),
            _ => None,
        });
        match later {
            Some(taken) => *taken += numbers,
            None => self.changes.push_back(Change::Numbers(numbers)),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter()
    }

    /// Returns the number of changes that were made so far, including those that are written or dropped.
    pub(super) fn made(&self) -> u64 {
        self.before + self.changes.len() as u64
    }

    /// Removes the first `made` changes of the handle, because they are written.
    pub(super) fn forget(&mut self, made: u64) {
        let written = made.saturating_sub(self.before).min(self.changes.len() as u64);
        self.changes.drain(..usize::try_from(written).unwrap_or(self.changes.len()));
        self.before += written;
    }
}
