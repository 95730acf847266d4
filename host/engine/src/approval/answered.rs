//! What came of asking: an answer, or what stood in its place.

use super::{Approval, ApprovalRequest, Approver};
use crate::contract::{AnswerKind, Answered};
use crate::sandbox::with_deadline;
use futures_util::FutureExt as _;
use std::fmt::Write as _;
use std::panic::AssertUnwindSafe;
use std::time::Duration;
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

/// What an approval comes to.
pub(crate) fn answered(approval: Approval) -> Answered {
    let said_no = |reason: Option<String>| reason.map_or_else(|| "the user said no".to_owned(), bounded);
    let for_session = approval == Approval::ApprovedForSession;
    let (kind, reason) = match approval {
        Approval::Approved | Approval::ApprovedForSession => (AnswerKind::Approved, None),
        Approval::Denied(reason) => (AnswerKind::Denied, Some(said_no(reason))),
    };
    Answered { kind, reason, micros: 0, for_session }
}

/// What no answer within the deadline comes to.
pub(crate) fn too_late(deadline: Duration) -> Answered {
    no(AnswerKind::TooLate, format!("nobody answered within {deadline:?}"))
}

/// What it comes to where the process that asked was taken for dead.
pub(crate) fn taken_for_gone() -> Answered {
    no(AnswerKind::AskerGone, "the process that asked is gone".to_owned())
}

fn no(kind: AnswerKind, reason: String) -> Answered {
    Answered { kind, reason: Some(reason), micros: 0, for_session: false }
}

/// An answer as the store keeps it.
pub(crate) fn written(answered: &Answered) -> String {
    // A struct of texts and numbers has no reason not to be JSON; and what is no JSON is a no.
    serde_json::to_string(answered).unwrap_or_default()
}

/// An answer that the store has kept. One that cannot be read is a no.
pub(crate) fn read(written: &str) -> Answered {
    serde_json::from_str(written)
        .unwrap_or_else(|error| no(AnswerKind::Denied, format!("the stored answer cannot be read: {error}")))
}

/// Asks for as long as `left`, and turns whatever goes wrong into a no: no approver, a panic, no answer in time. An answer
/// from `elsewhere` counts if it is there first.
pub(crate) async fn resolve(
    approver: Option<&dyn Approver>,
    request: ApprovalRequest,
    left: Duration,
    elsewhere: impl Future<Output = Answered>,
) -> Answered {
    let began = Instant::now();
    let deadline = request.deadline;
    let answered = match approver {
        None => no(AnswerKind::NobodyThere, "nobody is there to answer".to_owned()),
        Some(approver) => {
            // Whatever of the approver can panic is inside: `ask` itself, its future, and dropping that.
            let asked = async {
                tokio::select! {
                    biased;
                    approval = with_deadline(left, async { approver.ask(request).await }) => match approval {
                        // An approver that blocks the thread holds up the timer, too.
                        Some(approval) if began.elapsed() < left => answered(approval),
                        _ => too_late(deadline),
                    },
                    answered = elsewhere => answered,
                }
            };
            let failed = |_| no(AnswerKind::Panicked, "the approver failed".to_owned());
            AssertUnwindSafe(asked).catch_unwind().await.unwrap_or_else(failed)
        }
    };
    let micros = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
    Answered { micros, ..answered }
}
