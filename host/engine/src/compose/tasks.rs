//! Tasks that several plugins add to one queue.

use super::Member;
use crate::contract::Task;

/// Maximum number of tasks that one event may add.
pub(crate) const MAX_TASKS: usize = 64;

/// Merges the tasks of all members, in chain order. Returns up to [`MAX_TASKS`] tasks, and the number of tasks that are
/// left out. A member in observe mode adds no tasks.
#[must_use]
pub(crate) fn merge(additions: impl IntoIterator<Item = (Member, Vec<Task>)>) -> (Vec<Task>, usize) {
    let enforcing = additions.into_iter().filter(|(member, _)| member.enforcing);
    let mut tasks: Vec<Task> = enforcing.flat_map(|(_, tasks)| tasks).collect();
    let left_out = tasks.len().saturating_sub(MAX_TASKS);
    tasks.truncate(MAX_TASKS);
    (tasks, left_out)
}

#[cfg(test)]
mod tests;
