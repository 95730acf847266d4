//! Events of sub-agents, in the session of the agent that starts them.

use super::CallValidator;
use super::GateEvent;
use super::declare::event;
use crate::compose::Verdict;
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
    ) -> Result<Verdict<Subagent, Never>, String> {
        Ok(match verdict {
            SubagentVerdict::Allow => Verdict::Allow,
            SubagentVerdict::Modify(prompt) => Verdict::Change(Subagent { prompt, ..subagent.clone() }),
            SubagentVerdict::Escalate(question) => Verdict::Escalate(question),
            SubagentVerdict::Reject(refusal) => Verdict::Reject(refusal),
        })
    }
}

event! {
    /// A sub-agent has ended.
    SubagentEnd("subagent": SubagentSummary) -> ()
}
