//! Events of the agent's task queue.

use super::{CollectEvent, Event, GateEvent};
use crate::chain::Answer;
use crate::contract::{Completion, CompletionVerdict, Plan, PlanVerdict, Session, Task};
use crate::session::{self, GateOutcome, Never, Rules, Settled};

/// The agent proposes a plan.
pub(crate) struct PlanSubmit;

impl Event for PlanSubmit {
    type Payload = Plan;
    type Params<'a> = (&'a Session, &'a Plan);
    type Return = (PlanVerdict,);
    const PARAMETER: Option<&'static str> = Some("plan");

    fn params<'a>(session: &'a Session, plan: &'a Plan) -> Self::Params<'a> {
        (session, plan)
    }
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

/// A task has ended.
pub(crate) struct TaskComplete;

impl Event for TaskComplete {
    type Payload = Completion;
    type Params<'a> = (&'a Session, &'a Completion);
    type Return = (CompletionVerdict,);
    const PARAMETER: Option<&'static str> = Some("completion");

    fn params<'a>(session: &'a Session, completion: &'a Completion) -> Self::Params<'a> {
        (session, completion)
    }
}

impl CollectEvent for TaskComplete {
    type Verdict = CompletionVerdict;
    fn tasks(verdict: CompletionVerdict) -> Vec<Task> {
        verdict.into()
    }
}

/// The agent could not go on.
pub(crate) struct AgentError;

impl Event for AgentError {
    type Payload = String;
    type Params<'a> = (&'a Session, &'a String);
    type Return = (CompletionVerdict,);
    const PARAMETER: Option<&'static str> = Some("message");

    fn params<'a>(session: &'a Session, message: &'a String) -> Self::Params<'a> {
        (session, message)
    }
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
