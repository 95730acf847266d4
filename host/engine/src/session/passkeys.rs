//! Verifies each yes, if a passkey is registered in the store. The process that asked a question verifies its answer
//! over the question in its own memory. So neither an answer that another program writes into the store counts, nor a
//! signature over a question that another program has changed there.

use super::services::Services;
use crate::approval::{self, ApprovalRequest};
use crate::audit::{self, AnswerRefused, Header, OperatorAction, OperatorActionKind, ToRecord as _};
use crate::config::Digest;
use crate::contract::{Answered, EventKind};
use crate::locked::locked;
use crate::passkey::{Challenge, InvalidChange, InvalidProof, PasskeyChange, Passkeys};
use crate::store::{LateWrite, OpenQuestion, StoreError, Unit};
use std::time::{Duration, Instant};

/// Time within which a person can allow a rejected call. The call must then be made again within the same time.
pub(super) const OVERRIDE_LIFETIME: Duration = Duration::from_secs(600);

/// The reason why a passkey is not registered or not removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PasskeyError {
    /// The change is not valid.
    #[error(transparent)]
    Change(#[from] InvalidChange),
    /// The host has no store in which passkeys could be registered.
    #[error("a passkey is registered in the store, and this host has none: build it with a store")]
    NoStore,
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Services {
    /// Returns the registered passkeys. The first time, compares their table with the whole log. Otherwise a program
    /// could remove the table and end this process. The log is read once in a process, even if the table was altered.
    pub(crate) async fn passkeys(&self) -> Result<Passkeys, StoreError> {
        let known = locked(&self.known_passkeys).clone();
        let known = match known {
            Some(known) => known,
            None => {
                let logged = audit::passkeys_in(&self.store.logged_passkey_records().await?);
                locked(&self.known_passkeys).get_or_insert(logged).clone()
            }
        };
        let now = audit::passkeys_in(&self.store.passkey_records().await?).following(&known);
        if now.altered().is_none() {
            *locked(&self.known_passkeys) = Some(now.clone());
        }
        Ok(now)
    }

    /// Registers or removes a passkey, if the change has the necessary proofs. The record contains the proofs.
    pub(crate) async fn change_passkeys(&self, change: PasskeyChange) -> Result<(), PasskeyError> {
        if !self.store.keeps_log() {
            return Err(PasskeyError::NoStore);
        }
        let mut passkeys = self.passkeys().await?;
        let before = passkeys.changes();
        let time = self.now();
        passkeys.apply(&change, time)?;
        let kind = match &change {
            PasskeyChange::Add { .. } => OperatorActionKind::PasskeyAdd,
            PasskeyChange::Remove { .. } => OperatorActionKind::PasskeyRemove,
        };
        let mut action = OperatorAction::new(kind);
        (action.time, action.passkey) = (time, Some(Box::new(change)));
        let records = vec![action.body(&self.rules.active().settings().audit)];
        let unit = Unit { records, time: action.time, passkeys_before: Some(before), ..Unit::default() };
        self.store.commit(&unit).await?;
        *locked(&self.known_passkeys) = Some(passkeys);
        Ok(())
    }

    /// Returns the reason why an answer to the question with this digest does not count, and records the answer as
    /// refused. A no always counts, and so does every answer if no passkey is registered.
    pub(super) async fn refuse_unproven(
        &self,
        question: Digest,
        about: QuestionOf<'_>,
        answered: &mut Answered,
    ) -> Result<Option<InvalidProof>, StoreError> {
        let passkeys = self.passkeys().await?;
        if !answered.is_approved() || !passkeys.is_required() {
            // The log contains only proofs that were verified.
            answered.proof = None;
            return Ok(None);
        }
        let challenge = Challenge::to_answer(question, answered.for_session);
        match passkeys.verify(answered.proof.as_deref(), challenge) {
            Ok(_) => Ok(None),
            Err(why) => {
                self.record_refused(about, answered, &why);
                Ok(Some(why))
            }
        }
    }

    /// Records that an answer does not count, and removes its proof.
    pub(super) fn record_refused(&self, about: QuestionOf<'_>, answered: &mut Answered, why: &dyn std::fmt::Display) {
        answered.proof = None;
        let QuestionOf { id, session, event } = about;
        tracing::warn!(id, %why, from = answered.from, "an answer does not count");
        let Some(unrecorded) = locked(&self.refused_answers).count(Instant::now()) else { return };
        let (id, header, why) = (id.to_owned(), Header::new(session, self.now()), why.to_string());
        let refused = AnswerRefused { id, header, event, why, answer: approval::shortened(answered), unrecorded };
        if let Err(error) = self.store.push(LateWrite::of(refused.body(&self.rules.active().settings().audit))) {
            tracing::error!(%error, "a refused answer could not be recorded");
        }
    }

    /// Returns true if a stored approval lets this call pass. `request` is the question about the call as it is made
    /// now, without masked values. Without passkeys, the terms of the approval decide this alone.
    pub(super) async fn counts_for(
        &self,
        question: &OpenQuestion,
        shown: &ApprovalRequest,
        request: &ApprovalRequest,
    ) -> Result<bool, StoreError> {
        if !self.passkeys().await?.is_required() {
            return Ok(true);
        }
        let mut answered = approval::read(question.answer.as_deref().unwrap_or_default());
        let about = QuestionOf { id: &question.id, session: &question.session, event: shown.event };
        let lifetime = u64::try_from(OVERRIDE_LIFETIME.as_millis()).unwrap_or(u64::MAX);
        let is_recent = shown.rejected.and_then(|rejected| self.now().checked_sub(rejected));
        let is_recent = is_recent.is_some_and(|since| since <= lifetime.saturating_mul(2));
        if !is_recent || locked(&self.used_approvals).contains(&question.id) {
            self.record_refused(about, &mut answered, &InvalidProof::Used);
            return Ok(false);
        }
        if !request.is_same_call(shown) || shown.id != question.id {
            self.record_refused(about, &mut answered, &InvalidProof::OtherChallenge);
            return Ok(false);
        }
        let digest = Digest::of_bytes(question.request.as_bytes());
        let counts = answered.is_approved() && self.refuse_unproven(digest, about, &mut answered).await?.is_none();
        if counts {
            locked(&self.used_approvals).insert(question.id.clone());
        }
        Ok(counts)
    }
}

/// The event that a question is about.
#[derive(Clone, Copy)]
pub(super) struct QuestionOf<'a> {
    pub(super) id: &'a str,
    pub(super) session: &'a str,
    pub(super) event: EventKind,
}
