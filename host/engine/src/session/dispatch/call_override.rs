//! Rejects questions to a person if `on-question` is `reject`. A rejected tool call is overridable: a person can let
//! exactly this call pass once, when the agent makes it again.

use super::{Dispatch, Durability};
use crate::approval::{ApprovalRequest, ProposedResponse};
use crate::audit::{KeptAnswer, Masking};
use crate::config::{Digest, OnQuestion};
use crate::contract::{Asker, Cause, EventKind, OutcomeKind, Question, Rejection, ToolCall};
use crate::event::{GateEvent, Kind};
use crate::locked::locked;
use crate::session::passkeys::OVERRIDE_LIFETIME;
use crate::session::shared_questions::CallOverride;
use crate::store::{OpenQuestion, QuestionChange, StoreError};
use serde_json::json;

/// The number that stands for the asking process of a question for which no process waits.
const NO_ASKER: u32 = 0;

/// The call of an overridable rejection.
pub(super) struct OverrideTerms {
    call: ToolCall,
    /// Digest of everything for which an approval is valid: the session, its directory, the call without its
    /// identifier, the response in its place, the questions and the rules.
    digest: Digest,
}

/// The consequence of questions that are rejected.
pub(super) enum Overridden {
    /// A person has allowed exactly this call, so it may happen once.
    Passes,
    /// The event is rejected.
    Rejected {
        rejection: Rejection,
        /// The code with which a person can let the call pass once.
        code: Option<String>,
    },
}

impl Dispatch<'_> {
    /// Returns true if `on-question` of the settings, or of a plugin that asks one of these questions, is `reject`.
    pub(super) fn rejects_questions(&self, questions: &[Question]) -> bool {
        let rejects = |question: &Question| match &question.by {
            Asker::Plugin(name) => {
                let mut askers = self.chain.iter().filter(|plugin| plugin.name() == name);
                askers.any(|plugin| plugin.entry().on_question == OnQuestion::Reject)
            }
            _ => false,
        };
        self.rules.settings().on_question == OnQuestion::Reject || questions.iter().any(rejects)
    }

    /// Returns the terms of an approval of this call. Returns `None` if the event is not a tool call.
    pub(super) fn override_terms<E: GateEvent + Kind>(
        &self,
        value: &E::Payload,
        questions: &[Question],
    ) -> Option<OverrideTerms> {
        if E::KIND != EventKind::BeforeToolCall {
            return None;
        }
        let call = E::calls(value)?.first()?.clone();
        let terms = json!({
            "session": self.info.id,
            "cwd": self.info.cwd,
            "call": ToolCall { id: String::new(), ..call.clone() },
            "response": self.record.response,
            "questions": questions,
            "rules": self.rules.digest(),
        });
        Some(OverrideTerms { call, digest: Digest::of_bytes(terms.to_string().as_bytes()) })
    }

    /// Rejects an event because of its questions, unless a person has allowed exactly this call. `accepted` and
    /// `responder` are the outcome of a call that passes.
    pub(super) async fn reject_questions(
        &mut self,
        questions: Vec<Question>,
        terms: Option<OverrideTerms>,
        accepted: OutcomeKind,
        responder: Option<String>,
    ) -> Overridden {
        let is_shared = self.session.services.shares_questions && self.replay.is_none();
        let known = match terms.as_ref().filter(|_| is_shared) {
            Some(terms) => self.session.services.call_override(terms.digest).await,
            // No person can answer.
            None => Ok(CallOverride::Full),
        };
        let known = match known {
            Ok(known) => known,
            Err(error) => return Overridden::Rejected { rejection: self.not_recorded(&error), code: None },
        };
        let mut known = known;
        if let (Some(terms), CallOverride::Allowed(allowed)) = (&terms, &known) {
            match self.counts(&questions, responder.as_ref(), &allowed.0, &allowed.1).await {
                Ok(true) => {
                    let id = allowed.0.id.clone();
                    return self.pass_once(questions, &terms.call, &id, accepted, responder).await;
                }
                // The row is of no use any more, so the person is asked anew.
                Ok(false) => known = CallOverride::Unknown,
                Err(error) => return Overridden::Rejected { rejection: self.not_recorded(&error), code: None },
            }
        }
        self.record.questions = questions;
        let cause = if terms.is_some() { Cause::Overridable } else { Cause::NotApproved };
        let rejection = self.question_rejection(cause);
        let (code, question) = match (terms, known) {
            (_, CallOverride::Waiting { code }) => (Some(code), None),
            (Some(terms), CallOverride::Unknown) => {
                let request = self.request(self.proposed(responder.as_ref()));
                let (terms, rejected) = (Some(terms.digest), Some(self.session.services.now()));
                let request = ApprovalRequest { deadline: OVERRIDE_LIFETIME, terms, rejected, ..request }.with_code();
                (Some(request.code.clone()), Some(self.question_of(NO_ASKER, &request)))
            }
            _ => (None, None),
        };
        if let Err(error) = self.conclude_with(Durability::Now, question).await {
            self.record_without_effects(&error);
            return Overridden::Rejected { rejection, code: None };
        }
        Overridden::Rejected { rejection, code }
    }

    fn proposed(&self, responder: Option<&String>) -> Option<ProposedResponse> {
        let result = self.record.response.clone();
        responder.cloned().zip(result).map(|(by, result)| ProposedResponse { by, result })
    }

    /// Returns true if the stored approval counts for this call. Otherwise, removes the row.
    async fn counts(
        &mut self,
        questions: &[Question],
        responder: Option<&String>,
        question: &OpenQuestion,
        shown: &ApprovalRequest,
    ) -> Result<bool, StoreError> {
        let request = ApprovalRequest { questions: questions.to_vec(), ..self.request(self.proposed(responder)) };
        let request = request.masked(&Masking::new(&self.rules.settings().audit));
        let services = &self.session.services;
        let counts = services.counts_for(question, shown, &request).await?;
        if !counts {
            services.take(question, None).await?;
        }
        Ok(counts)
    }

    /// Lets a call pass that a person has allowed after the event `of` was rejected. The approval is used up in the
    /// transaction that records the call, so it counts once, also across processes.
    async fn pass_once(
        &mut self,
        questions: Vec<Question>,
        call: &ToolCall,
        of: &str,
        accepted: OutcomeKind,
        responder: Option<String>,
    ) -> Overridden {
        let kept_before = self.record.kept.len();
        let kept = questions.iter().map(|question| KeptAnswer { question: question.clone(), of: of.to_owned() });
        self.record.kept.extend(kept);
        self.record.outcome = accepted;
        self.record.by = responder.into_iter().collect();
        if let Err(error) = self.conclude_with(Durability::Now, Some(QuestionChange::Take(of.to_owned()))).await {
            self.record.kept.truncate(kept_before);
            return Overridden::Rejected { rejection: self.not_recorded(&error), code: None };
        }
        locked(&self.session.kept_answers).keep_for_call(self.rules, call, &questions, of, self.facts.time);
        Overridden::Passes
    }

    /// Rejects the event because of the questions in its record.
    fn question_rejection(&mut self, cause: Cause) -> Rejection {
        let questions = &self.record.questions;
        let mut asked: Vec<&str> = questions.iter().map(|question| question.escalation.question.as_str()).collect();
        asked.dedup();
        let mut reason = asked.join("; ");
        if cause != Cause::Overridable {
            reason.push_str(" (nobody is asked, because `on-question` is \"reject\")");
        }
        let by = questions.iter().map(|question| question.by.to_string()).collect();
        let code = questions.iter().find_map(|question| question.escalation.code.clone());
        let mut rejection = Rejection::host(by, cause, reason);
        rejection.refusal.code = code;
        self.rejected(rejection)
    }
}
