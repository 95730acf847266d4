//! Tasks that several plugins add to one queue.

use crate::contract::Task;

/// Most tasks that one event may add.
pub const MAX_TASKS: usize = 64;

/// The tasks of all plugins in chain order, up to [`MAX_TASKS`], and how many were left out.
#[must_use]
pub fn merge(additions: impl IntoIterator<Item = Vec<Task>>) -> (Vec<Task>, usize) {
    let mut tasks: Vec<Task> = additions.into_iter().flatten().collect();
    let left_out = tasks.len().saturating_sub(MAX_TASKS);
    tasks.truncate(MAX_TASKS);
    (tasks, left_out)
}
