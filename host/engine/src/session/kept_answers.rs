//! Stores answers for the rest of a session. If the configuration asks about a call, and a person approves the call for
//! the rest of the session, the same question about the same call is not asked again. The answers exist only in memory.

use crate::active_config::ActiveConfig;
use crate::audit::{KeptAnswer, raw};
use crate::config::Digest;
use crate::contract::{Asker, Question, ToolCall};
use std::sync::{Arc, Weak};

/// The kept answers of one session. The answers belong to the rules under which they were given, and are dropped
/// together with these rules.
#[derive(Debug, Default)]
pub(super) struct KeptAnswers {
    /// The rules under which the answers were given. The reference is weak, because the answers should not keep the
    /// rules alive.
    rules: Weak<ActiveConfig>,
    answers: Vec<KeptYes>,
}

#[derive(Debug)]
struct KeptYes {
    /// Digest of the call without its identifier. The digest is stored in place of the call, because the call can be
    /// large.
    call: Digest,
    question: Question,
    /// Identifier of the event about which the person was asked.
    of: String,
}

impl KeptAnswers {
    /// Keeps the approval of `questions` about `call` for the rest of the session. `of` is the identifier of the event
    /// that the person approved. If a question comes from a plugin, its approval is not stored.
    pub(super) fn keep(&mut self, rules: &Arc<ActiveConfig>, call: &ToolCall, questions: &[Question], of: &str) {
        self.forget_unless(rules);
        self.rules = Arc::downgrade(rules);
        for question in questions.iter().filter(|question| question.by == Asker::Configuration) {
            let kept = KeptYes { call: digest(call), question: question.clone(), of: of.to_owned() };
            self.answers.push(kept);
        }
    }

    /// Removes each question that a kept approval answers. The approval must be for the same question about the same
    /// call under the same rules. Returns the answers that were used.
    pub(super) fn answer(
        &mut self,
        rules: &Arc<ActiveConfig>,
        call: &ToolCall,
        questions: &mut Vec<Question>,
    ) -> Vec<KeptAnswer> {
        self.forget_unless(rules);
        if self.answers.is_empty() {
            return Vec::new();
        }
        let call = digest(call);
        let mut used = Vec::new();
        questions.retain(|question| {
            let kept = self.answers.iter().find(|kept| kept.question == *question && kept.call == call);
            used.extend(kept.map(|kept| KeptAnswer { question: question.clone(), of: kept.of.clone() }));
            kept.is_none()
        });
        used
    }

    fn forget_unless(&mut self, rules: &Arc<ActiveConfig>) {
        if !std::ptr::eq(self.rules.as_ptr(), Arc::as_ptr(rules)) {
            self.answers.clear();
        }
    }
}

fn digest(call: &ToolCall) -> Digest {
    let without_id = ToolCall { id: String::new(), ..call.clone() };
    Digest::of_bytes(raw(&without_id).get().as_bytes())
}
