//! Task queue of a session, with the progress of each plan.

use super::MAX_TASKS;
use hookhost::contract::{Plan, PlanSummary, Task};
use hookhost_models::message::Author;
use std::collections::VecDeque;

/// A task and its plan.
#[derive(Debug)]
pub(super) struct QueuedTask {
    pub(super) task: Task,
    pub(super) plan: Option<usize>,
    /// Author of the task. A later plan of the model may drop only the model's own tasks.
    pub(super) author: Author,
}

/// Tasks of a session, in order.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: VecDeque<QueuedTask>,
    /// Number of prompts and plan tasks added so far.
    joined: usize,
    /// Number of tasks that plugins added outside of plans. They are counted separately, so that the model's plans
    /// cannot crowd them out.
    added: usize,
    ended: u32,
    plans: Vec<PlanProgress>,
}

#[derive(Debug)]
struct PlanProgress {
    summary: PlanSummary,
    open: u32,
}

/// Result of submitting a plan.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PlanSubmission {
    /// Prompts of the added tasks.
    pub(super) queued: Vec<String>,
    /// Prompts of the tasks that were left out because of the maximum number of tasks.
    pub(super) left_out: Vec<String>,
    /// Prompts of the tasks that the plan removed from the queue.
    pub(super) dropped: Vec<String>,
    /// Number of tasks that stayed because the model did not propose them.
    pub(super) kept: usize,
    /// Earlier plans whose last task was removed by this plan.
    pub(super) closed: Vec<PlanSummary>,
}

impl Queue {
    /// Appends tasks, up to the maximum number of tasks. Returns the number of tasks that were left out.
    pub(super) fn add(&mut self, tasks: Vec<Task>, author: Author) -> usize {
        let joined = if author == Author::Plugin { &mut self.added } else { &mut self.joined };
        let room = MAX_TASKS.saturating_sub(*joined);
        let left_out = tasks.len().saturating_sub(room);
        *joined += tasks.len() - left_out;
        self.waiting.extend(tasks.into_iter().take(room).map(|task| QueuedTask { task, plan: None, author }));
        left_out
    }

    /// Appends a plan's tasks. With `clear_existing`, the plan first removes the tasks that the model proposed earlier,
    /// but tasks of plugins stay. `proposed` contains the prompts of the model. Any other task of the plan comes from a
    /// plugin. If there is no room for all tasks, the tasks of plugins take precedence.
    pub(super) fn add_plan(&mut self, plan: Plan, proposed: &[String]) -> PlanSubmission {
        let mut submitted = if plan.clear_existing { self.clear_own() } else { PlanSubmission::default() };
        let place = self.plans.len();
        let author = |task: &Task| if proposed.contains(&task.prompt) { Author::Model } else { Author::Plugin };
        let tasks: Vec<_> = plan.tasks.into_iter().map(|task| (author(&task), task)).collect();
        let room = MAX_TASKS.saturating_sub(self.joined);
        let of_plugins = tasks.iter().filter(|(author, _)| *author == Author::Plugin).count().min(room);
        let mut rooms = (of_plugins, room - of_plugins);
        for (author, task) in tasks {
            let room = if author == Author::Plugin { &mut rooms.0 } else { &mut rooms.1 };
            if *room == 0 {
                submitted.left_out.push(task.prompt);
                continue;
            }
            *room -= 1;
            submitted.queued.push(task.prompt.clone());
            self.waiting.push_back(QueuedTask { task, plan: Some(place), author });
        }
        let queued = submitted.queued.len();
        self.joined += queued;
        if queued > 0 {
            let count = u32::try_from(queued).unwrap_or(u32::MAX);
            let summary = PlanSummary { title: plan.title, tasks: count, completed: 0 };
            self.plans.push(PlanProgress { summary, open: count });
        }
        submitted
    }

    /// Removes the tasks that the model proposed.
    fn clear_own(&mut self) -> PlanSubmission {
        let (own, others): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.waiting).into_iter().partition(|queued| queued.author == Author::Model);
        let kept = others.len();
        self.waiting = others.into();
        let (mut dropped, mut closed) = (Vec::new(), Vec::new());
        for queued in own {
            closed.extend(queued.plan.and_then(|plan| self.close(plan, false)));
            dropped.push(queued.task.prompt);
        }
        PlanSubmission { dropped, kept, closed, ..PlanSubmission::default() }
    }

    pub(super) fn next(&mut self) -> Option<QueuedTask> {
        self.waiting.pop_front()
    }

    /// Removes all tasks. Returns the plans that lost their last task.
    pub(super) fn clear(&mut self) -> Vec<PlanSummary> {
        let dropped = std::mem::take(&mut self.waiting);
        dropped.into_iter().filter_map(|queued| self.close(queued.plan?, false)).collect()
    }

    /// Counts a task that has ended. Returns the task's plan if the plan has no task left.
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

    /// Returns the number of waiting tasks.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Returns the number of ended tasks.
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

    /// Submits a plan that no plugin has changed.
    fn submit(queue: &mut Queue, plan: Plan) -> PlanSubmission {
        let proposed: Vec<String> = plan.tasks.iter().map(|task| task.prompt.clone()).collect();
        queue.add_plan(plan, &proposed)
    }

    #[test]
    fn a_plan_is_complete_when_its_last_task_has_ended_however() {
        let mut queue = Queue::default();
        submit(&mut queue, plan("p", 2, false));
        let (first, second) = (queue.next().unwrap(), queue.next().unwrap());
        assert_eq!(queue.ended(first.plan, true), None);
        let complete = queue.ended(second.plan, false).unwrap();
        assert_eq!((complete.tasks, complete.completed), (2, 1));
    }

    #[test]
    fn a_plan_that_clears_the_queue_closes_those_that_it_leaves_nothing_of() {
        let mut queue = Queue::default();
        queue.add(tasks(1), Author::Plugin);
        submit(&mut queue, plan("old", 2, false));
        let submitted = submit(&mut queue, plan("new", 1, true));
        assert_eq!(submitted.closed, [PlanSummary { title: "old".into(), tasks: 2, completed: 0 }]);
        assert_eq!((submitted.dropped.len(), submitted.kept, queue.waiting()), (2, 1, 2));
    }

    #[test]
    fn a_plan_does_not_drop_what_a_plugin_put_into_an_earlier_one() {
        let mut queue = Queue::default();
        let mut changed = plan("old", 1, false);
        changed.tasks.push(Task { prompt: "check".into(), title: None });
        queue.add_plan(changed, &["0".into()]);
        let submitted = submit(&mut queue, plan("new", 1, true));
        assert_eq!((submitted.dropped, submitted.kept, submitted.closed), (vec!["0".to_owned()], 1, Vec::new()));
        assert_eq!(queue.next().unwrap().task.prompt, "check");
    }

    #[test]
    fn tasks_beyond_the_cap_are_left_out_of_a_plan_too() {
        let mut queue = Queue::default();
        assert_eq!(queue.add(tasks(1), Author::User), 0);
        assert_eq!(submit(&mut queue, plan("p", MAX_TASKS - 2, false)).left_out, [""; 0]);
        let submitted = submit(&mut queue, plan("q", 3, false));
        assert_eq!(
            (submitted.queued, submitted.left_out),
            (vec!["0".to_owned()], vec!["1".to_owned(), "2".to_owned()])
        );
        let left_out = vec!["0".to_owned()];
        assert_eq!(submit(&mut queue, plan("r", 1, false)), PlanSubmission { left_out, ..PlanSubmission::default() });
    }

    #[test]
    fn what_plugins_queue_has_room_whatever_the_model_has_queued_and_the_other_way_round() {
        let mut queue = Queue::default();
        submit(&mut queue, plan("p", 2 * MAX_TASKS, false));
        assert_eq!(queue.add(tasks(MAX_TASKS + 1), Author::Plugin), 1);
        assert_eq!(queue.waiting(), 2 * MAX_TASKS);
        let mut queue = Queue::default();
        queue.add(tasks(MAX_TASKS), Author::Plugin);
        assert_eq!(submit(&mut queue, plan("p", MAX_TASKS, false)).queued.len(), MAX_TASKS);
    }

    #[test]
    fn what_a_plugin_puts_into_a_plan_that_is_too_long_goes_before_what_the_model_proposed() {
        let mut queue = Queue::default();
        let mut changed = plan("p", MAX_TASKS, false);
        let proposed: Vec<String> = changed.tasks.iter().map(|task| task.prompt.clone()).collect();
        changed.tasks.push(Task { prompt: "check".into(), title: None });
        let submitted = queue.add_plan(changed, &proposed);
        assert_eq!(submitted.queued.last().unwrap(), "check");
        assert_eq!((submitted.queued.len(), submitted.left_out), (MAX_TASKS, vec![(MAX_TASKS - 1).to_string()]));
    }
}
