//! Events of a compaction, in which a summary replaces the older part of a conversation.

use super::CallValidator;
use super::GateEvent;
use super::declare::{event, text_event};
use crate::compose::Verdict;
use crate::contract::{Compaction, CompactionVerdict};

event! {
    /// A conversation nears its limit.
    BeforeCompaction("compaction": Compaction) -> (CompactionVerdict,)
}

impl GateEvent for BeforeCompaction {
    type Verdict = CompactionVerdict;
    type Response = String;

    fn answer(
        verdict: CompactionVerdict,
        _: &Compaction,
        _: &CallValidator<'_>,
    ) -> Result<Verdict<Compaction, String>, String> {
        Ok(match verdict {
            CompactionVerdict::Allow => Verdict::Allow,
            CompactionVerdict::Reject(refusal) => Verdict::Reject(refusal),
            CompactionVerdict::Respond(summary) => Verdict::Respond(summary),
        })
    }
}

text_event! {
    /// A conversation has been summarised.
    AfterCompaction("summary")
}
