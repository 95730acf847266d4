//! What came of asking: an answer, or what stood in its place.

use super::{Approval, ApprovalRequest, Approver};
use crate::sandbox::with_deadline;
use futures_util::FutureExt as _;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::panic::AssertUnwindSafe;
use tokio::time::Instant;

/// What came of asking a person, for the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Answered {
    /// The answer, or what stood in its place.
    pub kind: AnswerKind,
    /// Why it is a no; absent where it is a yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How long it was waited for, in microseconds.
    pub micros: u64,
}

/// The kinds of [`Answered`]. All but the first are a no.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum AnswerKind {
    /// The approver said yes.
    Approved,
    /// The approver said no.
    Denied,
    /// There is no approver.
    NobodyThere,
    /// The approver panicked.
    Panicked,
    /// Nobody waits for the answer any more: whoever sent the event has given it up.
    Cancelled,
    /// The answer had not come by the deadline. One that comes later counts for nothing.
    TooLate,
}

impl Answered {
    /// Whether the value may run.
    #[must_use]
    pub fn is_approved(&self) -> bool {
        self.kind == AnswerKind::Approved
    }
}

/// Longest reason of an approver that is passed on and recorded, in bytes. A longer one is cut, and says so.
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

/// Asks, and turns whatever goes wrong into a no: no approver, a panic, no answer within the request's deadline.
pub(crate) async fn resolve(approver: Option<&dyn Approver>, request: ApprovalRequest) -> Answered {
    let began = Instant::now();
    let deadline = request.deadline;
    let too_late = || (AnswerKind::TooLate, Some(format!("nobody answered within {deadline:?}")));
    let (kind, reason) = match approver {
        None => (AnswerKind::NobodyThere, Some("nobody is there to answer".to_owned())),
        Some(approver) => {
            // Whatever of the approver can panic is inside: `ask` itself, its future, and dropping that.
            let asked = with_deadline(deadline, async { approver.ask(request).await });
            match AssertUnwindSafe(asked).catch_unwind().await {
                // An approver that blocks the thread holds up the timer, too.
                Ok(Some(_)) if began.elapsed() >= deadline => too_late(),
                Ok(Some(Approval::Approved)) => (AnswerKind::Approved, None),
                Ok(Some(Approval::Denied(reason))) => {
                    (AnswerKind::Denied, Some(reason.map_or_else(|| "the user said no".to_owned(), bounded)))
                }
                Ok(None) => too_late(),
                Err(_) => (AnswerKind::Panicked, Some("the approver failed".to_owned())),
            }
        }
    };
    Answered { kind, reason, micros: u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX) }
}
