//! Asking a person about an event that has been recorded as escalated.

use super::dispatch::Held;
use super::recording::Due;
use super::{Shared, now};
use crate::active_config::ActiveConfig;
use crate::approval::{self, ApprovalRequest, ProposedResponse};
use crate::audit::{ApprovalRecord, EventRecord};
use crate::contract;
use crate::contract::{AnswerKind, Answered, Cause, OutcomeKind, Rejection};
use crate::state::Writes;
use std::sync::Arc;
use std::time::Instant;

/// An escalated event that waits for its answer.
pub(super) struct Asked<'a> {
    session: &'a Arc<Shared>,
    rules: &'a Arc<ActiveConfig>,
    info: &'a contract::Session,
    request: ApprovalRequest,
    /// Who asks.
    by: Vec<String>,
}

/// An answer that is not in the log yet. Where it is dropped before, because nobody waits for the event any more, the log
/// says so: it is not a yes, since nothing runs.
pub(super) struct Unrecorded<'a> {
    asked: Asked<'a>,
    began: Instant,
    answered: Answered,
    recorded: bool,
}

impl Drop for Unrecorded<'_> {
    fn drop(&mut self) {
        if self.recorded {
            return;
        }
        if self.answered.kind == AnswerKind::Cancelled {
            self.answered.micros = u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX);
        }
        let Asked { session, rules, info, .. } = self.asked;
        session.record_soon(rules, info, &self.record(OutcomeKind::Rejected, false));
    }
}

impl<'a> Asked<'a> {
    pub(super) fn new(
        session: &'a Arc<Shared>,
        rules: &'a Arc<ActiveConfig>,
        info: &'a contract::Session,
        record: &EventRecord,
        response: Option<ProposedResponse>,
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
        Self { session, rules, info, request, by: record.by.clone() }
    }

    /// Asks.
    pub(super) async fn ask(self) -> Unrecorded<'a> {
        let given_up = Answered {
            kind: AnswerKind::Cancelled,
            reason: Some("whoever sent the event waits no more".to_owned()),
            micros: 0,
            for_session: false,
        };
        let mut answer = Unrecorded { asked: self, began: Instant::now(), answered: given_up, recorded: false };
        let Asked { session, request, .. } = &answer.asked;
        answer.answered = approval::resolve(session.services.approver.as_deref(), request.clone()).await;
        answer
    }
}

impl Unrecorded<'_> {
    pub(super) fn is_yes(&self) -> bool {
        self.answered.is_approved()
    }

    /// Whether it is a yes for the rest of the session.
    pub(super) fn is_for_session(&self) -> bool {
        self.is_yes() && self.answered.for_session
    }

    /// The yes counts once it is in the log, together with the effects of the calls.
    pub(super) async fn settle(
        self,
        outcome: OutcomeKind,
        mut held: Held,
    ) -> Result<ApprovalRecord, (ApprovalRecord, Rejection)> {
        let session = self.asked.session;
        let answer = self.write(outcome, std::mem::take(&mut held.writes), true, Due::Now).await?;
        session.remind(held.reminders(true));
        Ok(answer)
    }

    /// The yes is recorded, and the plugins are asked again.
    pub(super) async fn ask_again(self) -> Result<ApprovalRecord, (ApprovalRecord, Rejection)> {
        self.write(OutcomeKind::Escalated, Vec::new(), false, Due::Soon).await
    }

    /// The no is recorded, together with the effects of the calls. It is a no also where that cannot be written.
    pub(super) async fn refuse(self, mut held: Held) -> (ApprovalRecord, Rejection) {
        let Asked { session, request, by, .. } = &self.asked;
        let session = *session;
        let first = request.questions.first().map(|question| question.escalation.question.clone()).unwrap_or_default();
        let reason = self.answered.reason.clone().unwrap_or_default();
        let rejection = Rejection::host(by.clone(), Cause::NotApproved, format!("{first} ({reason})"));
        let writes = std::mem::take(&mut held.writes);
        match self.write(OutcomeKind::Rejected, writes, true, Due::Now).await {
            Ok(answer) => {
                session.remind(held.reminders(false));
                (answer, rejection)
            }
            Err((answer, _)) => (answer, rejection),
        }
    }

    /// Writes the answer. Where that fails, nothing of the event holds, and the drop writes so as soon as that can be done.
    async fn write(
        mut self,
        outcome: OutcomeKind,
        writes: Vec<(Arc<str>, Writes)>,
        effects_hold: bool,
        due: Due,
    ) -> Result<ApprovalRecord, (ApprovalRecord, Rejection)> {
        let Asked { session, rules, info, .. } = self.asked;
        let answer = self.record(outcome, effects_hold);
        match session.record(rules, info, &answer, writes, due).await {
            Ok(()) => {
                self.recorded = true;
                Ok(answer)
            }
            Err(error) => {
                let rejection = Rejection::host(Vec::new(), Cause::NotRecorded, error.to_string());
                Err((self.record(OutcomeKind::Rejected, false), rejection))
            }
        }
    }

    fn record(&self, outcome: OutcomeKind, effects_hold: bool) -> ApprovalRecord {
        let request = &self.asked.request;
        ApprovalRecord {
            id: request.id.clone(),
            session: request.session.clone(),
            event: request.event,
            time: now(),
            outcome,
            answer: self.answered.clone(),
            effects_hold,
        }
    }
}
