//! Asking a person. The engine never reads a terminal: whoever embeds it brings an [`Approver`].
//!
//! A request is answered at most once. Whatever goes wrong is a no: nobody there, no answer in time, an approver that
//! panics.

mod answered;
mod pending;

#[cfg(test)]
mod tests;

pub(crate) use answered::{answered, read, resolve, taken_for_gone, too_late, written};
pub use pending::{Changes, NotPending, PendingApprovals};

use crate::contract::{Asker, EventKind, Question};
use futures_util::future::BoxFuture;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use std::time::Duration;

/// Somebody who can answer an escalation.
pub trait Approver: Send + Sync {
    /// Asks; the answer counts once, and only within [`ApprovalRequest::deadline`]. The future is dropped where nobody
    /// waits for the answer any more: the deadline has passed, or the event was cancelled. What runs is exactly what the
    /// request shows.
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, Approval>;
}

/// An immutable snapshot of what would run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct ApprovalRequest {
    /// Identifier of the event that is escalated.
    pub id: String,
    /// Identifier of its session.
    pub session: String,
    /// Whose session that is.
    pub agent: AskingAgent,
    /// Which event.
    pub event: EventKind,
    /// The value as it came, as JSON.
    pub original: Box<RawValue>,
    /// The value that would run, as JSON.
    pub value: Box<RawValue>,
    /// The plugins that changed it, in order.
    pub changed_by: Vec<String>,
    /// Where a plugin gave a result in its place: that result, as JSON. Then the value does not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<ProposedResponse>,
    /// Who asks what: the configuration first, then the plugins in chain order; never empty.
    pub questions: Vec<Question>,
    /// How long the answer is waited for, from the asking on; then it is no. Serialises as `deadline-ms`, in milliseconds.
    #[serde(rename = "deadline-ms", serialize_with = "milliseconds", deserialize_with = "from_milliseconds")]
    pub deadline: Duration,
}

impl ApprovalRequest {
    /// Whether [`Approval::ApprovedForSession`] can be offered: where the configuration asks, and no plugin does.
    #[must_use]
    pub fn can_be_kept(&self) -> bool {
        self.questions.iter().all(|question| question.by == Asker::Configuration)
    }

    /// What says that there is a question, and nothing of what it is about.
    pub(crate) fn without_values(&self) -> Self {
        Self {
            id: self.id.clone(),
            session: self.session.clone(),
            agent: AskingAgent::default(),
            event: self.event,
            original: RawValue::NULL.to_owned(),
            value: RawValue::NULL.to_owned(),
            changed_by: Vec::new(),
            response: None,
            questions: Vec::new(),
            deadline: self.deadline,
        }
    }
}

/// Which agent a request comes from: what tells two sub-agents that run beside each other apart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct AskingAgent {
    /// 0 for the agent that the user talks to, n for a sub-agent n levels down.
    pub depth: u32,
    /// Identifier of the session that started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// How the prompt begins that it works on: at most 80 characters. Absent where the session has had no `prompt-submit`
    /// that was allowed. A model or a person wrote it; it may hold control characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
}

/// A result that stands in place of running the value.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct ProposedResponse {
    /// The plugin that gave it.
    pub by: String,
    /// The result, as JSON.
    pub result: Box<RawValue>,
}

/// What the person says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Approval {
    /// Yes, to all questions.
    Approved,
    /// Yes, to all questions; and to what the configuration asks about this very call for the rest of the session. What
    /// plugins ask is not kept: see [`ApprovalRequest::can_be_kept`].
    ApprovedForSession,
    /// No; the text says why, where the person gave a reason.
    Denied(Option<String>),
}

fn milliseconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

fn from_milliseconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    u64::deserialize(deserializer).map(Duration::from_millis)
}
