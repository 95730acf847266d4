//! Events of a turn: one request to a model, its answer, and the tool calls of that answer.

use super::GateEvent;
use super::declare::event;
use crate::chain::Answer;
use crate::contract::{Turn, TurnSummary, TurnVerdict};
use crate::session::{self, GateOutcome, Never, Rules, Settled};

event! {
    /// A turn begins.
    TurnStart("turn": Turn) -> (TurnVerdict,)
}

impl GateEvent for TurnStart {
    type Verdict = TurnVerdict;
    type Response = Never;

    fn answer(verdict: TurnVerdict, _: &Turn, _: &Rules<'_>) -> Result<Answer<Turn, Never>, String> {
        Ok(match verdict {
            TurnVerdict::Allow => Answer::Allow,
            TurnVerdict::Escalate(question) => Answer::Escalate(question),
            TurnVerdict::Reject(refusal) => Answer::Reject(refusal),
        })
    }
}

event! {
    /// A turn has ended.
    TurnEnd("turn": TurnSummary) -> ()
}

impl session::Session {
    /// Asks `turn-start`, before the request of a turn is put together.
    pub async fn turn_start(&self, turn: Turn) -> Settled<GateOutcome<Turn>> {
        self.dispatch::<TurnStart>(turn).await
    }

    /// Tells `turn-end`: once for each turn that `turn-start` allowed, however it ended.
    pub async fn turn_end(&self, turn: TurnSummary) -> Settled<()> {
        self.dispatch::<TurnEnd>(turn).await
    }
}
