//! The expiry of questions: a question that nobody answers in time is answered with no.

use crate::contract::{AnswerKind, Answered};
use crate::sandbox::with_deadline;
use std::time::Duration;
use tokio::time::Instant;

/// Waits for an answer for as long as `left`, the rest of the question's `deadline`. Only here a question expires, and the answer
/// to an expired question is no.
pub(crate) async fn until_expired(
    left: Duration,
    deadline: Duration,
    answer: impl Future<Output = Answered>,
) -> Answered {
    let began = Instant::now();
    // An approver that blocks the thread also delays the timer.
    let in_time = with_deadline(left, answer).await.filter(|_| began.elapsed() < left);
    in_time
        .unwrap_or_else(|| Answered::new(AnswerKind::TooLate, Some(format!("nobody answered within {deadline:.0?}"))))
}
