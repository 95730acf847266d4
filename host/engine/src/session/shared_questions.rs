//! Questions in the store that another process of the user may answer.

use super::passkeys::{OVERRIDE_LIFETIME, QuestionOf};
use super::services::Services;
use crate::approval::{self, Approval, ApprovalRequest};
use crate::audit::{ApprovalRecord, Header, ToRecord as _};
use crate::config::Digest;
use crate::contract::{AnswerKind, Answered, OutcomeKind};
use crate::passkey::InvalidProof;
use crate::store::{OpenQuestion, QuestionChange, StoreError, Unit};
use std::time::Duration;

/// The interval at which the store is checked for another process's answer.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Maximum number of rejected calls that wait for a person. A further rejected call cannot be allowed.
const MAX_OVERRIDABLE: usize = 256;

/// The state of a rejected call that is made again.
pub(super) enum CallOverride {
    /// A person has allowed the call after it was rejected: the row of the question, and the question.
    Allowed(Box<(OpenQuestion, ApprovalRequest)>),
    /// A person can still allow the call by this code.
    Waiting { code: String },
    /// The call was not rejected before.
    Unknown,
    /// Too many rejected calls wait for a person.
    Full,
}

/// The reason why a question cannot be answered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QuestionGone {
    /// There is no such question, or the question no longer waits for an answer.
    #[error(
        "no question `{0}` waits for an answer: it has been settled, its deadline has passed, its event was cancelled, or \
         there never was one"
    )]
    Unknown(String),
    /// Somebody else has answered the question before.
    #[error("the question `{id}` has been answered already: {first}")]
    Answered {
        /// Identifier of the question.
        id: String,
        /// The first answer: yes or no, who gave it, how, and from where.
        first: String,
    },
    /// A passkey is registered, and this yes has no valid signature of one.
    #[error(
        "the answer to `{id}` does not count: {why}. A passkey is registered: say yes on the page (`hookhost ui`), or \
         say no here"
    )]
    Unproven {
        /// Identifier of the question.
        id: String,
        /// The reason.
        why: InvalidProof,
    },
    /// A passkey is registered, so the question cannot be left to the agent, which does not ask for a passkey.
    #[error("the question `{0}` stays here, because a passkey is registered: say yes on the page (`hookhost ui`)")]
    NeedsPasskey(String),
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Services {
    /// Waits for another process's answer to a question. Never returns if questions are not shared.
    pub(super) async fn answered_elsewhere(&self, id: &str) -> Answered {
        if !self.shares_questions {
            return std::future::pending().await;
        }
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            match self.store.answered(id) {
                Ok(Some(None)) => {}
                Ok(Some(Some(answer))) => return approval::read(&answer),
                Ok(None) => return approval::taken_for_gone(),
                // The next attempt may succeed. If no attempt succeeds, the question expires.
                Err(error) => tracing::warn!(%error, id, "the answer to a question cannot be read"),
            }
        }
    }

    /// Returns the open questions. A question of a process that has ended is answered with no.
    pub(crate) async fn open_questions(&self) -> Result<Vec<ApprovalRequest>, StoreError> {
        let mut open = Vec::new();
        for question in self.store.questions().await? {
            let request = ApprovalRequest::of_row(&question);
            if let Some(request) = request.as_ref().filter(|request| request.is_overridable()) {
                if self.has_lapsed(&question) {
                    self.lapse(&question, request).await?;
                } else if question.answer.is_none() && question.answerable {
                    open.push(request.clone());
                }
            } else if !self.store.is_alive(question.asker)? {
                self.give_up(&question, request).await?;
            } else if question.answer.is_none() && question.answerable {
                open.extend(request);
            }
        }
        Ok(open)
    }

    /// Answers a question.
    pub(crate) async fn answer(&self, id: &str, approval: Approval) -> Result<(), QuestionGone> {
        let unknown = || QuestionGone::Unknown(id.to_owned());
        let question =
            self.store.questions().await?.into_iter().find(|question| question.id == id).ok_or_else(unknown)?;
        if let Some(request) = overridable(&question) {
            return self.answer_overridable(&question, &request, approval).await;
        }
        // The process that asked notices when the question expires, by a clock that nobody can set.
        if !self.store.is_alive(question.asker)? || !question.answerable {
            return Err(unknown());
        }
        let request = ApprovalRequest::of_row(&question).ok_or_else(unknown)?;
        let mut answered = approval::answered(approval);
        self.check(&question, &request, &mut answered).await?;
        match self.store.answer(id, &approval::written(&answered)).await? {
            Some(first) if first.is_this => Ok(()),
            Some(first) => Err(answered_before(id, &first.answer)),
            None => Err(unknown()),
        }
    }

    /// Records that an answer to a question does not count. The question stays open.
    pub(crate) fn refuse_answer(&self, request: &ApprovalRequest, approval: Approval, why: &str) {
        let about = QuestionOf { id: &request.id, session: &request.session, event: request.event };
        self.record_refused(about, &mut approval::answered(approval), &why);
    }

    /// Fails if the answer is a yes without the necessary proof. The person then learns this at once. The process that
    /// asked verifies the proof again, over the question that it has asked.
    async fn check(
        &self,
        question: &OpenQuestion,
        request: &ApprovalRequest,
        answered: &mut Answered,
    ) -> Result<(), QuestionGone> {
        let about = QuestionOf { id: &question.id, session: &question.session, event: request.event };
        match self.refuse_unproven(Digest::of_bytes(question.request.as_bytes()), about, answered).await? {
            None => Ok(()),
            Some(why) => Err(QuestionGone::Unproven { id: question.id.clone(), why }),
        }
    }

    /// Returns the state of a rejected call with these terms, and removes the rejected calls whose time has passed.
    pub(super) async fn call_override(&self, terms: Digest) -> Result<CallOverride, StoreError> {
        let (mut others, mut waiting) = (0, None);
        for question in self.store.questions().await? {
            let Some(request) = overridable(&question) else { continue };
            if self.has_lapsed(&question) {
                self.lapse(&question, &request).await?;
            } else if request.terms != Some(terms) {
                others += 1;
            } else if question.answer.is_some() {
                return Ok(CallOverride::Allowed(Box::new((question, request))));
            } else if question.expires.saturating_sub(self.now()) > lifetime() / 2 {
                // A person needs time to read and answer, so an older code is not shown again.
                waiting = Some(request.code);
            }
        }
        Ok(match waiting {
            Some(code) => CallOverride::Waiting { code },
            None if others >= MAX_OVERRIDABLE => CallOverride::Full,
            None => CallOverride::Unknown,
        })
    }

    /// Returns true if the time of a rejected call has passed, or if the clock was set back since the rejection.
    fn has_lapsed(&self, question: &OpenQuestion) -> bool {
        let now = self.now();
        question.expires <= now || question.expires - now > lifetime()
    }

    /// Removes a rejected call whose time has passed.
    async fn lapse(&self, question: &OpenQuestion, request: &ApprovalRequest) -> Result<(), StoreError> {
        let reason = format!("nobody answered within {OVERRIDE_LIFETIME:.0?}");
        let answered = Answered::new(AnswerKind::TooLate, Some(reason));
        // If a person has allowed the call, and the agent did not make it again, the log already contains the answer.
        let record = question.answer.is_none().then(|| self.answer_record(question, request, answered));
        self.take(question, record).await
    }

    /// Answers a question about a rejected call. No process waits for the answer, so it is recorded here.
    async fn answer_overridable(
        &self,
        question: &OpenQuestion,
        request: &ApprovalRequest,
        approval: Approval,
    ) -> Result<(), QuestionGone> {
        if let Some(first) = &question.answer {
            return Err(answered_before(&question.id, first));
        }
        if self.has_lapsed(question) || !question.answerable {
            return Err(QuestionGone::Unknown(question.id.clone()));
        }
        let now = self.now();
        let waited = lifetime().saturating_sub(question.expires.saturating_sub(now));
        let mut answered = approval::answered(approval);
        self.check(question, request, &mut answered).await?;
        (answered.for_session, answered.micros) = (false, waited.saturating_mul(1000));
        let id = question.id.clone();
        let change = match answered.is_approved() {
            true => {
                let answer = approval::written(&answered);
                QuestionChange::Allow { id, answer, expires: now.saturating_add(lifetime()) }
            }
            false => QuestionChange::Take(id),
        };
        let records = vec![self.answer_record(question, request, answered)];
        let unit = Unit { records, question: Some(change), time: now, ..Unit::default() };
        match self.store.commit(&unit).await {
            Err(error) => Err(match self.store.answered(&question.id)? {
                None => QuestionGone::Unknown(question.id.clone()),
                Some(Some(first)) => answered_before(&question.id, &first),
                Some(None) => QuestionGone::Store(error),
            }),
            Ok(()) => Ok(()),
        }
    }

    fn answer_record(&self, question: &OpenQuestion, request: &ApprovalRequest, answered: Answered) -> String {
        let header = Header::new(&*question.session, self.now());
        let record = ApprovalRecord::new(&question.id, header, request.event, OutcomeKind::Rejected, answered);
        let record = ApprovalRecord { call: request.call_id(), ..record };
        record.body(&self.rules.active().settings().audit)
    }

    /// Answers a question with no if the process that asked it has ended. That process could no longer run the call.
    async fn give_up(&self, question: &OpenQuestion, request: Option<ApprovalRequest>) -> Result<(), StoreError> {
        let record = request.map(|request| self.answer_record(question, &request, approval::taken_for_gone()));
        self.take(question, record).await
    }

    /// Removes a question of another process, and writes a record.
    pub(super) async fn take(&self, question: &OpenQuestion, record: Option<String>) -> Result<(), StoreError> {
        let change = Some(QuestionChange::Take(question.id.clone()));
        let records = record.into_iter().collect();
        let unit = Unit { records, question: change, time: self.now(), ..Unit::default() };
        match self.store.commit(&unit).await {
            // The question is gone, because another process has settled it.
            Err(_) if self.store.answered(&question.id)?.is_none() => Ok(()),
            done => done,
        }
    }
}

/// Returns the error for the person whose answer came second.
fn answered_before(id: &str, first: &str) -> QuestionGone {
    QuestionGone::Answered { id: id.to_owned(), first: approval::who(&approval::read(first)) }
}

/// Returns the request of a question about a rejected call.
fn overridable(question: &OpenQuestion) -> Option<ApprovalRequest> {
    ApprovalRequest::of_row(question).filter(ApprovalRequest::is_overridable)
}

/// Returns [`OVERRIDE_LIFETIME`] in milliseconds.
fn lifetime() -> u64 {
    u64::try_from(OVERRIDE_LIFETIME.as_millis()).unwrap_or(u64::MAX)
}
