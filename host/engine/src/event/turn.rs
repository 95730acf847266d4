//! Events of a turn. A turn is one request to a model, its answer, and the tool calls of that answer.

use super::CallValidator;
use super::GateEvent;
use super::declare::event;
use crate::compose::Verdict;
use crate::contract::{Never, Turn, TurnSummary, TurnVerdict};

event! {
    /// A turn begins.
    TurnStart("turn": Turn) -> (TurnVerdict,)
}

impl GateEvent for TurnStart {
    type Verdict = TurnVerdict;
    type Response = Never;

    fn answer(verdict: TurnVerdict, _: &Turn, _: &CallValidator<'_>) -> Result<Verdict<Turn, Never>, String> {
        Ok(match verdict {
            TurnVerdict::Allow => Verdict::Allow,
            TurnVerdict::Escalate(question) => Verdict::Escalate(question),
            TurnVerdict::Reject(refusal) => Verdict::Reject(refusal),
        })
    }
}

event! {
    /// A turn has ended.
    TurnEnd("turn": TurnSummary) -> ()
}
