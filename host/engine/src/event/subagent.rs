//! Events of sub-agents, in the session of the agent that starts them.

use super::CallValidator;
use super::GateEvent;
use super::declare::event;
use crate::compose::Answer;
use crate::contract::{Never, Subagent, SubagentSummary, SubagentVerdict};

event! {
    /// A sub-agent is about to be started.
    SubagentStart("subagent": Subagent) -> (SubagentVerdict,)
}

impl GateEvent for SubagentStart {
    type Verdict = SubagentVerdict;
    type Response = Never;

    fn answer(
        verdict: SubagentVerdict,
        subagent: &Subagent,
        _: &CallValidator<'_>,
    ) -> Result<Answer<Subagent, Never>, String> {
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
