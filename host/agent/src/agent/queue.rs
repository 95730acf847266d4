//! The task queue of a session: what is to be done next, and what has become of each plan.

use super::MAX_TASKS;
use hookhost::contract::{Plan, PlanSummary, Task};
use std::collections::VecDeque;

/// A task, and the plan that it came from.
#[derive(Debug)]
pub(super) struct Queued {
    pub(super) task: Task,
    pub(super) plan: Option<usize>,
}

/// The tasks of a session, in the order in which they are done.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: VecDeque<Queued>,
    /// Tasks that joined it so far.
    joined: usize,
    ended: u32,
    plans: Vec<PlanSoFar>,
}

#[derive(Debug)]
struct PlanSoFar {
    summary: PlanSummary,
    open: u32,
}

/// What became of a plan that was submitted.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Submitted {
    pub(super) queued: usize,
    /// Beyond the cap.
    pub(super) left_out: usize,
    /// Plans that lost their last task to this one.
    pub(super) closed: Vec<PlanSummary>,
}

impl Queue {
    /// Tasks join at the end, up to the cap; how many were left out.
    pub(super) fn add(&mut self, tasks: Vec<Task>) -> usize {
        self.join(tasks, None)
    }

    /// A plan's tasks join at the end, in place of all others where it says so.
    pub(super) fn add_plan(&mut self, plan: Plan) -> Submitted {
        let closed = if plan.clear_existing { self.clear() } else { Vec::new() };
        let tasks = plan.tasks.len();
        let place = self.plans.len();
        let left_out = self.join(plan.tasks, Some(place));
        let queued = tasks - left_out;
        if queued > 0 {
            let count = u32::try_from(queued).unwrap_or(u32::MAX);
            let summary = PlanSummary { title: plan.title, tasks: count, completed: 0 };
            self.plans.push(PlanSoFar { summary, open: count });
        }
        Submitted { queued, left_out, closed }
    }

    fn join(&mut self, tasks: Vec<Task>, plan: Option<usize>) -> usize {
        let room = MAX_TASKS.saturating_sub(self.joined);
        let left_out = tasks.len().saturating_sub(room);
        self.joined += tasks.len() - left_out;
        self.waiting.extend(tasks.into_iter().take(room).map(|task| Queued { task, plan }));
        left_out
    }

    pub(super) fn next(&mut self) -> Option<Queued> {
        self.waiting.pop_front()
    }

    /// Takes all tasks out; the plans that have none left.
    pub(super) fn clear(&mut self) -> Vec<PlanSummary> {
        let dropped = std::mem::take(&mut self.waiting);
        dropped.into_iter().filter_map(|queued| self.close(queued.plan?, false)).collect()
    }

    /// A task has ended; its plan, where that was its last one.
    pub(super) fn ended(&mut self, plan: Option<usize>, success: bool) -> Option<PlanSummary> {
        self.ended += 1;
        self.close(plan?, success)
    }

    fn close(&mut self, plan: usize, success: bool) -> Option<PlanSummary> {
        let plan = self.plans.get_mut(plan)?;
        plan.open = plan.open.saturating_sub(1);
        plan.summary.completed += u32::from(success);
        (plan.open == 0).then(|| plan.summary.clone())
    }

    /// How many tasks wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// How many tasks have ended.
    pub(super) fn tasks_ended(&self) -> u32 {
        self.ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tasks(count: usize) -> Vec<Task> {
        (0..count).map(|number| Task { prompt: number.to_string(), title: None }).collect()
    }

    fn plan(title: &str, count: usize, clear_existing: bool) -> Plan {
        Plan { title: title.into(), tasks: tasks(count), clear_existing }
    }

    #[test]
    fn a_plan_is_complete_when_its_last_task_has_ended_however() {
        let mut queue = Queue::default();
        queue.add_plan(plan("p", 2, false));
        let (first, second) = (queue.next().unwrap(), queue.next().unwrap());
        assert_eq!(queue.ended(first.plan, true), None);
        let complete = queue.ended(second.plan, false).unwrap();
        assert_eq!((complete.tasks, complete.completed), (2, 1));
    }

    #[test]
    fn a_plan_that_clears_the_queue_closes_those_that_it_leaves_nothing_of() {
        let mut queue = Queue::default();
        queue.add(tasks(1));
        queue.add_plan(plan("old", 2, false));
        let submitted = queue.add_plan(plan("new", 1, true));
        assert_eq!(submitted.closed, [PlanSummary { title: "old".into(), tasks: 2, completed: 0 }]);
        assert_eq!(queue.waiting(), 1);
    }

    #[test]
    fn tasks_beyond_the_cap_are_left_out_of_a_plan_too() {
        let mut queue = Queue::default();
        assert_eq!(queue.add(tasks(MAX_TASKS - 1)), 0);
        let submitted = queue.add_plan(plan("p", 3, false));
        assert_eq!((submitted.queued, submitted.left_out), (1, 2));
        assert_eq!(queue.add_plan(plan("q", 1, false)), Submitted { left_out: 1, ..Submitted::default() });
    }
}
