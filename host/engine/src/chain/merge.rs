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

#[cfg(test)]
mod tests {
    use super::{MAX_TASKS, merge};
    use crate::contract::Task;

    fn task(prompt: usize) -> Task {
        Task { prompt: prompt.to_string(), title: None }
    }

    #[test]
    fn tasks_are_concatenated_in_chain_order_up_to_the_cap() {
        let (tasks, left_out) = merge([vec![task(0), task(1)], vec![], vec![task(2)]]);
        assert_eq!((tasks, left_out), (vec![task(0), task(1), task(2)], 0));
        let (tasks, left_out) = merge([(0..MAX_TASKS).map(task).collect(), vec![task(99), task(100)]]);
        assert_eq!((tasks.len(), tasks.last(), left_out), (MAX_TASKS, Some(&task(MAX_TASKS - 1)), 2));
    }
}
