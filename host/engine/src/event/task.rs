//! Events of the agent's task queue.

use super::CallValidator;
use super::declare::event;
use super::{CollectEvent, GateEvent};
use crate::compose::Verdict;
use crate::contract::{
    Completion, CompletionVerdict, Never, Plan, PlanSummary, PlanVerdict, Progress, Task, TaskVerdict,
};

event! {
    /// A task is about to begin.
    TaskStart("task": Task) -> (TaskVerdict,)
}

impl GateEvent for TaskStart {
    type Verdict = TaskVerdict;
    type Response = Never;

    fn answer(verdict: TaskVerdict, _: &Task, _: &CallValidator<'_>) -> Result<Verdict<Task, Never>, String> {
        Ok(match verdict {
            TaskVerdict::Allow => Verdict::Allow,
            TaskVerdict::Modify(task) => Verdict::Change(task),
            TaskVerdict::Escalate(question) => Verdict::Escalate(question),
            TaskVerdict::Reject(refusal) => Verdict::Reject(refusal),
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

    fn answer(verdict: PlanVerdict, _: &Plan, _: &CallValidator<'_>) -> Result<Verdict<Plan, Never>, String> {
        Ok(match verdict {
            PlanVerdict::Allow => Verdict::Allow,
            PlanVerdict::Modify(plan) => Verdict::Change(plan),
            PlanVerdict::Escalate(question) => Verdict::Escalate(question),
            PlanVerdict::Reject(refusal) => Verdict::Reject(refusal),
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
    /// The agent could not continue.
    AgentError("message": String) -> (CompletionVerdict,)
}

impl CollectEvent for AgentError {
    type Verdict = CompletionVerdict;
    fn tasks(verdict: CompletionVerdict) -> Vec<Task> {
        verdict.into()
    }
}
