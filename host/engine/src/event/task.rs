//! Events of the agent's task queue.

use super::declare::event;
use super::{CollectEvent, GateEvent};
use crate::chain::Answer;
use crate::contract::{Completion, CompletionVerdict, Plan, PlanSummary, PlanVerdict, Progress, Task, TaskVerdict};
use crate::session::{self, GateOutcome, Never, Rules, Settled};

event! {
    /// A task is about to begin.
    TaskStart("task": Task) -> (TaskVerdict,)
}

impl GateEvent for TaskStart {
    type Verdict = TaskVerdict;
    type Response = Never;

    fn answer(verdict: TaskVerdict, _: &Task, _: &Rules<'_>) -> Result<Answer<Task, Never>, String> {
        Ok(match verdict {
            TaskVerdict::Allow => Answer::Allow,
            TaskVerdict::Modify(task) => Answer::Change(task),
            TaskVerdict::Escalate(question) => Answer::Escalate(question),
            TaskVerdict::Reject(refusal) => Answer::Reject(refusal),
        })
    }
}

event! {
    /// The agent proposes a plan.
    PlanSubmit("plan": Plan) -> (PlanVerdict,)
}

impl GateEvent for PlanSubmit {
    type Verdict = PlanVerdict;
    type Response = Never;

    fn answer(verdict: PlanVerdict, _: &Plan, _: &Rules<'_>) -> Result<Answer<Plan, Never>, String> {
        Ok(match verdict {
            PlanVerdict::Allow => Answer::Allow,
            PlanVerdict::Modify(plan) => Answer::Change(plan),
            PlanVerdict::Escalate(question) => Answer::Escalate(question),
            PlanVerdict::Reject(refusal) => Answer::Reject(refusal),
        })
    }
}

event! {
    /// A task has ended.
    TaskComplete("completion": Completion) -> (CompletionVerdict,)
}

impl CollectEvent for TaskComplete {
    type Verdict = CompletionVerdict;
    fn tasks(verdict: CompletionVerdict) -> Vec<Task> {
        verdict.into()
    }
}

event! {
    /// All tasks of a plan have ended.
    PlanComplete("plan": PlanSummary) -> ()
}

event! {
    /// No task is left.
    QueueEmpty("progress": Progress) -> (CompletionVerdict,)
}

impl CollectEvent for QueueEmpty {
    type Verdict = CompletionVerdict;
    fn tasks(verdict: CompletionVerdict) -> Vec<Task> {
        verdict.into()
    }
}

event! {
    /// The agent could not go on.
    AgentError("message": String) -> (CompletionVerdict,)
}

impl CollectEvent for AgentError {
    type Verdict = CompletionVerdict;
    fn tasks(verdict: CompletionVerdict) -> Vec<Task> {
        verdict.into()
    }
}

impl From<CompletionVerdict> for Vec<Task> {
    fn from(verdict: CompletionVerdict) -> Self {
        match verdict {
            CompletionVerdict::Finish => Self::new(),
            CompletionVerdict::GoOn(tasks) => tasks,
        }
    }
}

impl session::Session {
    /// Asks `task-start` about a task of the queue. What is allowed is the task: use it, not what was passed in.
    pub async fn task_start(&self, task: Task) -> Settled<GateOutcome<Task>> {
        self.dispatch::<TaskStart>(task).await
    }

    /// Asks `plan-submit` about a plan. What is allowed is what is queued: use it, not what was passed in.
    pub async fn plan_submit(&self, plan: Plan) -> Settled<GateOutcome<Plan>> {
        self.dispatch::<PlanSubmit>(plan).await
    }

    /// Asks `task-complete`; the tasks join the agent's queue.
    pub async fn task_complete(&self, completion: Completion) -> Settled<Vec<Task>> {
        self.dispatch::<TaskComplete>(completion).await
    }

    /// Tells `plan-complete`, when all tasks of a plan have ended.
    pub async fn plan_complete(&self, plan: PlanSummary) -> Settled<()> {
        self.dispatch::<PlanComplete>(plan).await
    }

    /// Asks `queue-empty`, when no task is left; the tasks join the agent's queue.
    pub async fn queue_empty(&self, progress: Progress) -> Settled<Vec<Task>> {
        self.dispatch::<QueueEmpty>(progress).await
    }

    /// Asks `agent-error`; the tasks join the agent's queue.
    pub async fn agent_error(&self, message: String) -> Settled<Vec<Task>> {
        self.dispatch::<AgentError>(message).await
    }
}
