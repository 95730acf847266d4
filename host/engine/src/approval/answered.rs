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
    let Approval { decision, by, via, from, proof } = approval;
    let for_session = decision == ApprovalAnswer::YesForSession;
    let (kind, reason) = match decision {
        ApprovalAnswer::Yes | ApprovalAnswer::YesForSession => (AnswerKind::Approved, None),
        ApprovalAnswer::No(reason) => (AnswerKind::Denied, Some(said_no(reason))),
    };
    let mut answered = Answered::new(kind, reason);
    answered.for_session = for_session;
    (answered.by, answered.via) = (by.map(bounded), via.map(bounded));
    (answered.from, answered.proof) = (Some(from.map_or_else(this_process, bounded)), proof);
    answered
}

/// Returns a stored answer without its proof, with bounded strings. Anybody may have written it.
pub(crate) fn shortened(answered: &Answered) -> Answered {
    let mut short = Answered::new(answered.kind, answered.reason.clone().map(bounded));
    (short.micros, short.for_session) = (answered.micros, answered.for_session);
    let texts = [&answered.by, &answered.via, &answered.from].map(|text| text.clone().map(bounded));
    [short.by, short.via, short.from] = texts;
    short
}

/// Says what an answer was and who gave it, for the person whose answer came second.
pub(crate) fn who(answered: &Answered) -> String {
    let answer = match answered.kind {
        AnswerKind::Approved => "yes",
        AnswerKind::HandedOver => "the agent asks its own user",
        _ => "no",
    };
    let short = shortened(answered);
    let parts = [("by", short.by), ("via", short.via), ("from", short.from)];
    let parts = parts.into_iter().filter_map(|(word, part)| Some(format!(" {word} {}", part?)));
    std::iter::once(answer.to_owned()).chain(parts).collect()
}

/// Returns the name of this process's program and the process's number.
fn this_process() -> String {
    let program = std::env::current_exe().ok();
    let name = program.as_deref().and_then(std::path::Path::file_name).map(|name| name.to_string_lossy());
    format!("{} (process {})", name.unwrap_or_default(), std::process::id())
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
