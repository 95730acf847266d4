//! Tests the rules of `docs/composition.md` for tasks with random additions. Each rule has a test with its name, and
//! all rules together are compared with a model.

use super::{MAX_TASKS, merge};
use crate::compose::Member;
use crate::compose::generated::{ENFORCING, cases, member};
use crate::contract::Task;
use proptest::prelude::*;

type Additions = Vec<(Member, Vec<Task>)>;

fn task(prompt: usize) -> Task {
    Task { prompt: prompt.to_string(), title: None }
}

/// Returns the tasks of each plugin. All tasks are different, so that tests can check their order.
fn additions() -> impl Strategy<Value = Additions> {
    prop::collection::vec((member(), 0..40_usize), 0..6).prop_map(|counts| {
        let mut prompts = 0..;
        counts.into_iter().map(|(member, count)| (member, prompts.by_ref().take(count).map(task).collect())).collect()
    })
}

/// Adds one task after the other, until the queue is full.
fn model(additions: &Additions) -> (Vec<Task>, usize) {
    let (mut queue, mut left_out) = (Vec::new(), 0);
    for (member, tasks) in additions {
        for task in tasks {
            match (member.enforcing, queue.len()) {
                (false, _) => {}
                (true, 64..) => left_out += 1,
                (true, _) => queue.push(task.clone()),
            }
        }
    }
    (queue, left_out)
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn tasks_are_merged_as_the_model_does(additions in additions()) {
        prop_assert_eq!(merge(additions.clone()), model(&additions));
    }

    #[test]
    fn tasks_keep_the_order_of_the_chain_and_of_each_plugin(additions in additions()) {
        let numbers: Vec<usize> = merge(additions).0.iter().map(|task| task.prompt.parse().unwrap()).collect();
        prop_assert!(numbers.is_sorted());
    }

    #[test]
    fn what_exceeds_the_cap_is_left_out_and_counted(additions in additions()) {
        let all: usize = additions.iter().filter(|(member, _)| member.enforcing).map(|(_, tasks)| tasks.len()).sum();
        let (tasks, left_out) = merge(additions);
        prop_assert!(tasks.len() <= MAX_TASKS);
        prop_assert!(left_out == 0 || tasks.len() == MAX_TASKS);
        prop_assert_eq!(tasks.len() + left_out, all);
    }

    #[test]
    fn a_plugin_in_audit_mode_adds_nothing(additions in additions(), count in 0..80_usize, at in 0..6_usize) {
        let mut with = additions.clone();
        let audited = Member { enforcing: false, ..ENFORCING };
        with.insert(at.min(additions.len()), (audited, (0..count).map(task).collect()));
        prop_assert_eq!(merge(with), merge(additions));
    }

    #[test]
    fn a_plugin_that_adds_nothing_changes_nothing(additions in additions(), at in 0..6_usize) {
        let mut with = additions.clone();
        with.insert(at.min(additions.len()), (ENFORCING, Vec::new()));
        prop_assert_eq!(merge(with), merge(additions));
    }
}

#[test]
fn tasks_are_concatenated_in_chain_order_up_to_the_cap() {
    let merge = |additions: Vec<Vec<Task>>| merge(additions.into_iter().map(|tasks| (ENFORCING, tasks)));
    let (tasks, left_out) = merge(vec![vec![task(0), task(1)], vec![], vec![task(2)]]);
    assert_eq!((tasks, left_out), (vec![task(0), task(1), task(2)], 0));
    let (tasks, left_out) = merge(vec![(0..MAX_TASKS).map(task).collect(), vec![task(99), task(100)]]);
    assert_eq!((tasks.len(), tasks.last(), left_out), (MAX_TASKS, Some(&task(MAX_TASKS - 1)), 2));
}
