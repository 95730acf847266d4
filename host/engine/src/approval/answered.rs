//! What came of asking: an answer, or what stood in its place.

use super::{Approval, ApprovalRequest, Approver};
use crate::contract::{AnswerKind, Answered};
use crate::sandbox::with_deadline;
use futures_util::FutureExt as _;
use std::panic::AssertUnwindSafe;
use tokio::time::Instant;

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
                    (AnswerKind::Denied, Some(reason.unwrap_or_else(|| "the user said no".to_owned())))
                }
                Ok(None) => too_late(),
                Err(_) => (AnswerKind::Panicked, Some("the approver failed".to_owned())),
            }
        }
    };
    Answered { kind, reason, micros: u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX) }
}
