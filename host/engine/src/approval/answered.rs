//! What came of asking: an answer, or what stood in its place.

use super::{Approval, ApprovalRequest, Approver};
use crate::contract::{AnswerKind, Answered};
use crate::sandbox::with_deadline;
use futures_util::FutureExt as _;
use std::fmt::Write as _;
use std::panic::AssertUnwindSafe;
use tokio::time::Instant;

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
                    (AnswerKind::Denied, Some(reason.map_or_else(|| "the user said no".to_owned(), bounded)))
                }
                Ok(None) => too_late(),
                Err(_) => (AnswerKind::Panicked, Some("the approver failed".to_owned())),
            }
        }
    };
    let micros = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
    Answered { kind, reason, micros, for_session }
}
