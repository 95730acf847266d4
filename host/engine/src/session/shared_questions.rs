//! Questions in the store that another process of the user may answer.

use super::services::Services;
use crate::approval::{self, Approval, ApprovalRequest};
use crate::audit::{ApprovalRecord, Header, ToRecord as _};
use crate::contract::{Answered, OutcomeKind};
use crate::store::{OpenQuestion, QuestionChange, StoreError, Unit};
use std::time::Duration;

/// The interval at which the store is checked for another process's answer.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

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
    #[error("the question `{0}` has been answered already")]
    Answered(String),
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
            let request = serde_json::from_str::<ApprovalRequest>(&question.request).ok();
            if !self.store.is_alive(question.asker)? {
                self.give_up(&question, request).await?;
            } else if question.answer.is_none() && self.takes_answers(&question) {
                open.extend(request);
            }
        }
        Ok(open)
    }

    /// Returns true if another process may answer the question, and the question has not expired. The process that
    /// asked answers an expired question itself.
    fn takes_answers(&self, question: &OpenQuestion) -> bool {
        question.answerable && question.expires > self.now()
    }

    /// Answers a question.
    pub(crate) async fn answer(&self, id: &str, approval: Approval) -> Result<(), QuestionGone> {
        let unknown = || QuestionGone::Unknown(id.to_owned());
        let question =
            self.store.questions().await?.into_iter().find(|question| question.id == id).ok_or_else(unknown)?;
        if !self.store.is_alive(question.asker)? || !self.takes_answers(&question) {
            return Err(unknown());
        }
        let answer = approval::written(&approval::answered(approval));
        match self.store.answer(id, &answer).await? {
            Some(first) if first.is_this => Ok(()),
            Some(_) => Err(QuestionGone::Answered(id.to_owned())),
            None => Err(unknown()),
        }
    }

    /// Answers a question with no if the process that asked it has ended. That process could no longer run the call.
    async fn give_up(&self, question: &OpenQuestion, request: Option<ApprovalRequest>) -> Result<(), StoreError> {
        let settings = self.rules.active();
        let header = Header::new(&*question.session, self.now());
        let gone = approval::taken_for_gone();
        let answer = request
            .map(|request| ApprovalRecord::new(&question.id, header, request.event, OutcomeKind::Rejected, gone));
        let records = answer.map(|answer| answer.body(&settings.settings().audit)).into_iter().collect();
        let change = Some(QuestionChange::GiveUp(question.id.clone()));
        let unit = Unit { records, question: change, time: self.now(), ..Unit::default() };
        match self.store.commit(&unit).await {
            // The question is gone, because another process has settled it.
            Err(_) if self.store.answered(&question.id)?.is_none() => Ok(()),
            done => done,
        }
    }
}
