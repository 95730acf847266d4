//! Events around the summary that takes the place of a conversation's older part.

use super::GateEvent;
use super::declare::{event, text_event};
use crate::chain::Answer;
use crate::contract::{Compaction, CompactionVerdict};
use crate::session::{self, GateOutcome, Rules, Settled, TransformOutcome};

event! {
    /// A conversation nears its limit.
    BeforeCompaction("compaction": Compaction) -> (CompactionVerdict,)
}

impl GateEvent for BeforeCompaction {
    type Verdict = CompactionVerdict;
    type Response = String;

    fn answer(verdict: CompactionVerdict, _: &Compaction, _: &Rules<'_>) -> Result<Answer<Compaction, String>, String> {
        Ok(match verdict {
            CompactionVerdict::Allow => Answer::Allow,
            CompactionVerdict::Reject(refusal) => Answer::Reject(refusal),
            CompactionVerdict::Respond(summary) => Answer::Respond(summary),
        })
    }
}

text_event! {
    /// A conversation has been summarised.
    AfterCompaction("summary")
}

impl session::Session {
    /// Asks `before-compaction`. A response is a summary, and is handed to [`Self::after_compaction`] like the model's.
    pub async fn before_compaction(&self, compaction: Compaction) -> Settled<GateOutcome<Compaction, String>> {
        self.dispatch::<BeforeCompaction>(compaction).await
    }

    /// Asks `after-compaction` about a summary. One that is withheld must not take the place of anything.
    pub async fn after_compaction(&self, summary: String) -> Settled<TransformOutcome<String>> {
        self.dispatch::<AfterCompaction>(summary).await
    }
}
