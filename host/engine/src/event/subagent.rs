//! Events of sub-agents, in the session of the agent that starts them.

use super::GateEvent;
use super::declare::event;
use crate::chain::Answer;
use crate::contract::{Subagent, SubagentSummary, SubagentVerdict};
use crate::session::{self, GateOutcome, Never, Rules, Settled};

event! {
    /// A sub-agent is about to be started.
    SubagentStart("subagent": Subagent) -> (SubagentVerdict,)
}

impl GateEvent for SubagentStart {
    type Verdict = SubagentVerdict;
    type Response = Never;

    fn answer(verdict: SubagentVerdict, subagent: &Subagent, _: &Rules<'_>) -> Result<Answer<Subagent, Never>, String> {
        Ok(match verdict {
            SubagentVerdict::Allow => Answer::Allow,
            SubagentVerdict::Modify(prompt) => Answer::Change(Subagent { prompt, ..subagent.clone() }),
            SubagentVerdict::Escalate(question) => Answer::Escalate(question),
            SubagentVerdict::Reject(refusal) => Answer::Reject(refusal),
        })
    }
}

event! {
    /// A sub-agent has ended.
    SubagentEnd("subagent": SubagentSummary) -> ()
}

impl session::Session {
    /// Asks `subagent-start` in the session of the agent that starts one. What is allowed is its prompt: use it, not what
    /// was passed in, and open its session with this one as the parent.
    pub async fn subagent_start(&self, subagent: Subagent) -> Settled<GateOutcome<Subagent>> {
        self.dispatch::<SubagentStart>(subagent).await
    }

    /// Tells `subagent-end` in the session of the agent that started it.
    pub async fn subagent_end(&self, subagent: SubagentSummary) -> Settled<()> {
        self.dispatch::<SubagentEnd>(subagent).await
    }
}
