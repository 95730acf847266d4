//! The outcome of a question: an answer, or the reason why there is no answer.

use super::expiry::until_expired;
use super::{Approval, ApprovalAnswer, ApprovalRequest, Approver};
use crate::callback::{self, Panicked, Waiters};
use crate::contract::{AnswerKind, Answered};
use futures_util::future::select;
use std::fmt::Write as _;
use std::pin::pin;
use std::time::Duration;
use tokio::time::Instant;

/// Maximum size in bytes of each string of an approval: the reason, the person and the channel. A longer string is
/// truncated, and the number of omitted bytes is appended.
const MAX_REASON: usize = 4096;

fn bounded(mut reason: String) -> String {
    let length = reason.len();
    if length > MAX_REASON {
        let end = (0..=MAX_REASON).rev().find(|end| reason.is_char_boundary(*end)).unwrap_or(0);
        reason.truncate(end);
        let _ = write!(reason, " … ({} bytes more)", length - end);
    }
    reason
}

/// Converts an approval to the answer that is recorded.
pub(crate) fn answered(approval: Approval) -> Answered {
    let said_no = |reason: Option<String>| reason.map_or_else(|| "the user said no".to_owned(), bounded);
    let Approval { decision, by, via } = approval;
    let for_session = decision == ApprovalAnswer::YesForSession;
    let (kind, reason) = match decision {
        ApprovalAnswer::Yes | ApprovalAnswer::YesForSession => (AnswerKind::Approved, None),
        ApprovalAnswer::No(reason) => (AnswerKind::Denied, Some(said_no(reason))),
    };
    let mut answered = Answered::new(kind, reason);
    answered.for_session = for_session;
    (answered.by, answered.via) = (by.map(bounded), via.map(bounded));
    answered
}

/// Returns the answer that is recorded if the process that asked has ended.
pub(crate) fn taken_for_gone() -> Answered {
    no(AnswerKind::AskerGone, "the process that asked is gone".to_owned())
}

fn no(kind: AnswerKind, reason: String) -> Answered {
    Answered::new(kind, Some(reason))
}

/// Converts an answer to the JSON that is stored.
pub(crate) fn written(answered: &Answered) -> String {
    // A struct of strings and numbers can always be converted to JSON. If the conversion ever failed, the empty string
    // would be treated as no.
    serde_json::to_string(answered).unwrap_or_default()
}

/// Parses a stored answer. An invalid answer is treated as no.
pub(crate) fn read(written: &str) -> Answered {
    serde_json::from_str(written)
        .unwrap_or_else(|error| no(AnswerKind::Denied, format!("the stored answer cannot be read: {error}")))
}

/// Asks the approver, and waits for `left` at most. The answer is no if there is no approver, if the approver panics,
/// or if nobody answers in time. If an answer from `elsewhere` comes first, that answer is used.
pub(crate) async fn resolve(
    approver: Option<&dyn Approver>,
    request: ApprovalRequest,
    left: Duration,
    elsewhere: impl Future<Output = Answered>,
) -> Answered {
    let began = Instant::now();
    let deadline = request.deadline;
    let mut answered = match approver {
        None => no(AnswerKind::NobodyThere, "nobody is there to answer".to_owned()),
        Some(approver) => {
            let asked = async {
                // The session's turn is not added to the waiters, because other events of the session do not wait for
                // the approver.
                match callback::polled(Waiters::here(), || approver.ask(request)).await {
                    Ok(approval) => answered(approval),
                    Err(Panicked) => no(AnswerKind::Panicked, "the approver failed".to_owned()),
                }
            };
            // `select` polls the approver first, so its answer has precedence.
            let first = async { select(pin!(asked), pin!(elsewhere)).await.factor_first().0 };
            until_expired(left, deadline, first).await
        }
    };
    answered.micros = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
    answered
}
