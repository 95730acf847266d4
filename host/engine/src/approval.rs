//! Asking a person. The engine never reads a terminal: whoever embeds it brings an [`Approver`].

use crate::contract::Escalation;
use crate::event::EventKind;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::value::RawValue;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

/// How long a person is waited for; then the answer is no.
pub const APPROVAL_DEADLINE: Duration = Duration::from_secs(300);

/// Somebody who can answer an escalation.
pub trait Approver: Send + Sync {
    /// Asks; the answer counts once, and only within [`APPROVAL_DEADLINE`]. What runs is exactly what the request shows.
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, Approval>;
}

/// An immutable snapshot of what would run.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ApprovalRequest {
    /// Identifier of the event that is escalated.
    pub id: String,
    /// Identifier of its session.
    pub session: String,
    /// Which event.
    pub event: EventKind,
    /// The value as it came, as JSON.
    pub original: Box<RawValue>,
    /// The value that would run, as JSON.
    pub value: Box<RawValue>,
    /// The plugins that changed it, in order.
    pub changed_by: Vec<String>,
    /// Where a plugin gave a result in its place: that result, as JSON. Then the value does not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<ProposedResponse>,
    /// Who asks what, in chain order; never empty.
    pub questions: Vec<Question>,
}

/// A result that stands in place of running the value.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ProposedResponse {
    /// The plugin that gave it.
    pub by: String,
    /// The result, as JSON.
    pub result: Box<RawValue>,
}

/// A question that a plugin asks.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Question {
    /// Who asks.
    pub plugin: String,
    /// What.
    #[serde(flatten)]
    pub escalation: Escalation,
}

/// What the person says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Approval {
    /// Yes, to all questions.
    Approved,
    /// No; the text says why, where the person gave a reason.
    Denied(Option<String>),
}

/// Asks, and turns whatever goes wrong into a no: no approver, a panic, no answer in time. `Err` holds the reason.
pub(crate) async fn resolve(approver: Option<&dyn Approver>, request: ApprovalRequest) -> Result<(), String> {
    let Some(approver) = approver else {
        return Err("nobody is there to answer".into());
    };
    let asked = AssertUnwindSafe(async { approver.ask(request).await }).catch_unwind();
    match crate::sandbox::with_deadline(APPROVAL_DEADLINE, asked).await {
        Some(Ok(Approval::Approved)) => Ok(()),
        Some(Ok(Approval::Denied(Some(reason)))) => Err(reason),
        Some(Ok(Approval::Denied(None))) => Err("the user said no".into()),
        Some(Err(_)) => Err("the approver failed".into()),
        None => Err(format!("nobody answered within {APPROVAL_DEADLINE:?}")),
    }
}
