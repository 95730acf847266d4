//! What came of asking: an answer, or what stood in its place.

use super::{Approval, ApprovalRequest, Approver};
use crate::sandbox::with_deadline;
use futures_util::FutureExt as _;
use serde::{Deserialize, Serialize};
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
    /// Whether the yes was given for the rest of the session, as far as the configuration asked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub for_session: bool,
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

/// Asks, and turns whatever goes wrong into a no: no approver, a panic, no answer within the request's deadline.
pub(crate) async fn resolve(approver: Option<&dyn Approver>, request: ApprovalRequest) -> Answered {
    let began = Instant::now();
    let deadline = request.deadline;
    let too_late = || (AnswerKind::TooLate, Some(format!("nobody answered within {deadline:?}")));
    let mut for_session = false;
    let (kind, reason) = match approver {
        None => (AnswerKind::NobodyThere, Some("nobody is there to answer".to_owned())),
        Some(approver) => {
            // Whatever of the approver can panic is inside: `ask` itself, its future, and dropping that.
            let asked = with_deadline(deadline, async { approver.ask(request).await });
            match AssertUnwindSafe(asked).catch_unwind().await {
                // An approver that blocks the thread holds up the timer, too.
                Ok(Some(_)) if began.elapsed() >= deadline => too_late(),
                Ok(Some(Approval::Approved)) => (AnswerKind::Approved, None),
                Ok(Some(Approval::ApprovedForSession)) => {
                    for_session = true;
                    (AnswerKind::Approved, None)
                }
                Ok(Some(Approval::Denied(reason))) => {
                    (AnswerKind::Denied, Some(reason.unwrap_or_else(|| "the user said no".to_owned())))
                }
                Ok(None) => too_late(),
                Err(_) => (AnswerKind::Panicked, Some("the approver failed".to_owned())),
            }
        }
    };
    let micros = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
    Answered { kind, reason, micros, for_session }
}
