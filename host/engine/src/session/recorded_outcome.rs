//! The result of an event, for the embedder.

use crate::audit::{ApprovalRecord, EventRecord};
use crate::contract::{Decision, OutcomeKind};
use serde::Serialize;

/// An outcome, with the record that shows how it was decided.
///
/// ```
/// use hookhost::contract::{OutcomeKind, Refusal, ToolCall};
/// use hookhost::{Config, Host};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let no_deploys = |call: &ToolCall| (call.name == "deploy").then(|| Refusal::new("deploys are frozen"));
/// # let host = Host::builder(Config::empty()).rule("no-deploys", no_deploys).build().await?;
/// # let session = host.session("my-agent", "/work")?;
/// let settled = session.check_tool("deploy", &serde_json::json!({})).await;
///
/// assert_eq!(settled.kind(), OutcomeKind::Rejected);
/// assert_eq!(settled.record.by, ["no-deploys"]);
/// for call in &settled.record.calls {
///     println!("{} answered {:?} in {} µs", call.plugin, call.verdict, call.micros);
/// }
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Clone, Debug, Serialize)]
#[must_use]
#[non_exhaustive]
pub struct RecordedOutcome<O> {
    /// The outcome, which the agent has to carry out.
    pub outcome: O,
    /// The record of the event, with the answer of each plugin. If the plugins were asked again after an approval,
    /// this is the last record.
    pub record: Box<EventRecord>,
    /// The answer of a person, if `record` says that the event was escalated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<Box<ApprovalRecord>>,
    /// The earlier records of the event, in order, each with its approval. The list is empty unless the plugins were
    /// asked again after an approval.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<(EventRecord, ApprovalRecord)>,
    /// The code of an overridable rejection. With this code, a person can let exactly the rejected call pass once
    /// ([`ApprovalRequest::code`](crate::approval::ApprovalRequest::code)). Show it to the user alone. The model must
    /// not see it.
    #[serde(skip)]
    pub code: Option<String>,
}

impl<O> RecordedOutcome<O> {
    /// Returns the kind of the final outcome. If the event was escalated, this is the outcome after the answer.
    #[must_use]
    pub fn kind(&self) -> OutcomeKind {
        self.answer.as_ref().map_or(self.record.outcome, |answer| answer.outcome)
    }

    /// Returns the same record with a converted outcome.
    pub(super) fn map<P>(self, map: impl FnOnce(O) -> P) -> RecordedOutcome<P> {
        let Self { outcome, record, answer, earlier, code } = self;
        RecordedOutcome { outcome: map(outcome), record, answer, earlier, code }
    }
}

impl<V, R, P> RecordedOutcome<Decision<V, R, P>> {
    /// Returns the outcome if it is final.
    ///
    /// # Errors
    /// If a person has to decide, returns the pending approval.
    pub fn into_final(self) -> Result<RecordedOutcome<Decision<V, R>>, P> {
        let Self { outcome, record, answer, earlier, code } = self;
        Ok(RecordedOutcome { outcome: outcome.into_final()?, record, answer, earlier, code })
    }
}
