//! Events of the agent's task queue.

use super::declare::event;
use super::{CollectEvent, GateEvent};
use crate::chain::Answer;
use crate::contract::{Completion, CompletionVerdict, Plan, PlanVerdict, Task};
use crate::session::{self, GateOutcome, Never, Rules, Settled};

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
    /// Asks `plan-submit` about a plan. What is allowed is what is queued: use it, not what was passed in.
    pub async fn plan_submit(&self, plan: Plan) -> Settled<GateOutcome<Plan>> {
        self.dispatch::<PlanSubmit>(plan).await
    }

    /// Asks `task-complete`; the tasks join the agent's queue.
    pub async fn task_complete(&self, completion: Completion) -> Settled<Vec<Task>> {
        self.dispatch::<TaskComplete>(completion).await
    }

    /// Asks `agent-error`; the tasks join the agent's queue.
    pub async fn agent_error(&self, message: String) -> Settled<Vec<Task>> {
        self.dispatch::<AgentError>(message).await
    }
}
