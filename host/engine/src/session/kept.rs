//! Answers that a person has given for the rest of a session: a yes to a question of the configuration, which then stands
//! in for the same question about the same call. In memory only.

use crate::active_config::ActiveConfig;
use crate::audit::KeptAnswer;
use crate::contract::{Asker, Question, ToolCall};
use std::sync::{Arc, Weak};

/// The answers of one session that are kept. They are of the rules that counted when they were given, and go with these.
#[derive(Debug, Default)]
pub(super) struct KeptAnswers {
    /// Not kept alive by this: rules that are gone are no others' equal.
    rules: Weak<ActiveConfig>,
    answers: Vec<Kept>,
}

#[derive(Debug)]
struct Kept {
    /// All of it but the call's identifier.
    call: ToolCall,
    question: Question,
    /// The event that the person was asked about.
    of: String,
}

impl KeptAnswers {
    /// A person has said yes for the rest of the session to `questions` about `call`, at the event `of`. What plugins ask is
    /// not kept.
    pub(super) fn keep(&mut self, rules: &Arc<ActiveConfig>, call: &ToolCall, questions: &[Question], of: &str) {
        self.forget_unless(rules);
        self.rules = Arc::downgrade(rules);
        for question in questions.iter().filter(|question| question.by == Asker::Configuration) {
            let kept = Kept { call: without_id(call), question: question.clone(), of: of.to_owned() };
            self.answers.push(kept);
        }
    }

    /// Takes those questions out that were answered before about the same call, under these rules.
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
        let call = without_id(call);
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

fn without_id(call: &ToolCall) -> ToolCall {
    ToolCall { id: String::new(), ..call.clone() }
}
