//! Asking a person about an event that has been recorded as escalated.

use super::outcome::{Cause, OutcomeKind, Rejection};
use super::recording::Due;
use super::{Shared, now};
use crate::approval::{self, AnswerKind, Answered, ApprovalRequest, ProposedResponse};
use crate::audit::{Answer, Record};
use crate::contract;
use crate::host::RuleSet;
use std::sync::Arc;
use std::time::Instant;

/// An escalated event that waits for its answer. Whatever becomes of it is recorded: also that nobody waits any more.
pub(super) struct Asked<'a> {
    session: &'a Arc<Shared>,
    rules: &'a Arc<RuleSet>,
    info: &'a contract::Session,
    request: ApprovalRequest,
    /// Who asks.
    by: Vec<String>,
    /// What a yes makes of it.
    stands: OutcomeKind,
}

/// Records that nobody waits for the answer any more, unless it is taken apart before.
struct Unanswered<'a> {
    session: &'a Arc<Shared>,
    rules: &'a Arc<RuleSet>,
    info: &'a contract::Session,
    began: Instant,
    answer: Option<Answer>,
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        if let Some(mut answer) = self.answer.take() {
            answer.time = now();
            answer.answer.micros = u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX);
            self.session.record_soon(self.rules, self.info, &answer);
        }
    }
}

impl<'a> Asked<'a> {
    pub(super) fn new(
        session: &'a Arc<Shared>,
        rules: &'a Arc<RuleSet>,
        info: &'a contract::Session,
        record: &Record,
        response: Option<ProposedResponse>,
        stands: OutcomeKind,
    ) -> Self {
        let request = ApprovalRequest {
            id: record.id.clone(),
            session: info.id.clone(),
            agent: session.asking_agent(),
            event: record.event,
            original: record.original.clone(),
            value: record.last.as_ref().unwrap_or(&record.original).clone(),
            changed_by: record.changed_by.clone(),
            response,
            questions: record.questions.clone(),
            deadline: rules.settings().approval_deadline,
        };
        Self { session, rules, info, request, by: record.by.clone(), stands }
    }

    /// Asks; a yes counts once it is in the log.
    pub(super) async fn answer(self) -> Result<Answer, (Answer, Rejection)> {
        let Self { session, rules, info, request, by, stands } = self;
        let first = request.questions.first().map(|question| question.escalation.question.clone()).unwrap_or_default();
        let answer = |answered: Answered| Answer {
            id: request.id.clone(),
            session: request.session.clone(),
            event: request.event,
            time: now(),
            outcome: if answered.is_approved() { stands } else { OutcomeKind::Rejected },
            answer: answered,
        };
        let given_up = Answered {
            kind: AnswerKind::Cancelled,
            reason: Some("whoever sent the event waits no more".to_owned()),
            micros: 0,
        };
        let mut unanswered = Unanswered { session, rules, info, began: Instant::now(), answer: Some(answer(given_up)) };
        let answered = approval::resolve(session.host.approver(), request.clone()).await;
        let mut answer = answer(answered);
        // Should nobody wait for the log either, this is what came of it: not a yes, as nothing runs.
        unanswered.answer = Some(Answer { outcome: OutcomeKind::Rejected, ..answer.clone() });
        let not_recorded = session.record(rules, info, &answer, Vec::new(), Due::Now).await.err();
        unanswered.answer = None;
        let rejection = match (not_recorded, &answer.answer) {
            (None, answered) if answered.is_approved() => return Ok(answer),
            (Some(error), answered) if answered.is_approved() => {
                answer.outcome = OutcomeKind::Rejected;
                session.record_soon(rules, info, &answer);
                Rejection::host(Vec::new(), Cause::NotRecorded, error.to_string())
            }
            (not_recorded, answered) => {
                let reason = answered.reason.clone().unwrap_or_default();
                if not_recorded.is_some() {
                    session.record_soon(rules, info, &answer);
                }
                Rejection::host(by, Cause::NotApproved, format!("{first} ({reason})"))
            }
        };
        Err((answer, rejection))
    }
}
