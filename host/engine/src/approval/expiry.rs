//! The expiry of questions: a question that nobody answers in time is answered with no.

use crate::contract::{AnswerKind, Answered};
use crate::sandbox::with_deadline;
use std::time::Duration;
use tokio::time::Instant;

/// Waits for an answer for at most `left`, which is the remaining part of the question's `deadline`. After this time
/// the answer is no. All questions expire in this function.
pub(crate) async fn until_expired(
    left: Duration,
    deadline: Duration,
    answer: impl Future<Output = Answered>,
) -> Answered {
    let began = Instant::now();
    // An approver that blocks the thread also delays the timer, so check the elapsed time as well.
    let in_time = with_deadline(left, answer).await.filter(|_| began.elapsed() < left);
    in_time.unwrap_or_else(|| too_late(deadline))
}

/// Returns the answer to a question that nobody answered in time.
pub(crate) fn too_late(deadline: Duration) -> Answered {
    Answered::new(AnswerKind::TooLate, Some(format!("nobody answered within {deadline:.0?}")))
}
