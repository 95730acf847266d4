//! Stores answers in memory. If the configuration asks about a call, and a person approves the call for the rest of the
//! session, the same question about the same call is not asked again. If a person has let a rejected call pass once, a
//! second report of this call gets the same answer.

use crate::active_config::ActiveConfig;
use crate::audit::{KeptAnswer, raw};
use crate::config::Digest;
use crate::contract::{Asker, Question, ToolCall};
use std::sync::{Arc, Weak};

/// Time for which an answer about one call is valid for further reports of this call, in milliseconds. An agent may
/// report a call at two hook points.
const REPEATED_REPORT: u64 = 10_000;

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
    /// Digest of the call. The digest is stored in place of the call, because the call can be large. The call's
    /// identifier is part of the digest only if the answer is about one call.
    call: Digest,
    /// Time after which the answer is not valid any more, in milliseconds since the Unix epoch. `None` if the answer is
    /// valid for the rest of the session.
    until: Option<u64>,
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
            let kept =
                KeptYes { call: digest_without_id(call), until: None, question: question.clone(), of: of.to_owned() };
            self.answers.push(kept);
        }
    }

    /// Keeps the approval of `questions` about this one `call`, which has an identifier, for further reports of it.
    pub(super) fn keep_for_call(
        &mut self,
        rules: &Arc<ActiveConfig>,
        call: &ToolCall,
        questions: &[Question],
        of: &str,
        time: u64,
    ) {
        self.forget_unless(rules);
        self.rules = Arc::downgrade(rules);
        self.answers.retain(|kept| kept.is_valid(time));
        if !call.id.is_empty() {
            let kept = |question: &Question| KeptYes {
                call: digest(call),
                until: Some(time.saturating_add(REPEATED_REPORT)),
                question: question.clone(),
                of: of.to_owned(),
            };
            self.answers.extend(questions.iter().map(kept));
        }
    }

    /// Removes each question that a kept approval answers. The approval must be for the same question about the same
    /// call under the same rules. Returns the answers that were used.
    pub(super) fn answer(
        &mut self,
        rules: &Arc<ActiveConfig>,
        call: &ToolCall,
        questions: &mut Vec<Question>,
        time: u64,
    ) -> Vec<KeptAnswer> {
        self.forget_unless(rules);
        if self.answers.is_empty() {
            return Vec::new();
        }
        let calls = [digest_without_id(call), digest(call)];
        let mut used = Vec::new();
        questions.retain(|question| {
            let is_about = |kept: &&KeptYes| kept.question == *question && calls.contains(&kept.call);
            let kept = self.answers.iter().find(|kept| is_about(kept) && kept.is_valid(time));
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

impl KeptYes {
    fn is_valid(&self, time: u64) -> bool {
        self.until.is_none_or(|until| time < until)
    }
}

fn digest_without_id(call: &ToolCall) -> Digest {
    digest(&ToolCall { id: String::new(), ..call.clone() })
}

fn digest(call: &ToolCall) -> Digest {
    Digest::of_bytes(raw(call).get().as_bytes())
}
