//! The embedding program's own events, and the audit log's.

use super::declare::event;
use super::{Event, GateEvent};
use crate::chain::Answer;
use crate::contract::{Custom, CustomVerdict, Json, Session, canonical};
use crate::session::{self, GateOutcome, Never, Rules, Settled};

event! {
    /// An event of the embedding program.
    CustomEvent("event": Custom) -> (CustomVerdict,)
}

impl GateEvent for CustomEvent {
    type Verdict = CustomVerdict;
    type Response = Never;

    fn answer(verdict: CustomVerdict, event: &Custom, _: &Rules<'_>) -> Result<Answer<Custom, Never>, String> {
        Ok(match verdict {
            CustomVerdict::Allow => Answer::Allow,
            CustomVerdict::Modify(payload) => {
                let payload =
                    canonical(&payload).map_err(|error| format!("answered a payload that is not JSON: {error}"))?;
                // Compared as JSON: the same value in another spelling is no change.
                if canonical(&event.payload).is_ok_and(|current| current == payload) {
                    return Ok(Answer::Allow);
                }
                Answer::Change(Custom { name: event.name.clone(), payload })
            }
            CustomVerdict::Escalate(question) => Answer::Escalate(question),
            CustomVerdict::Reject(refusal) => Answer::Reject(refusal),
        })
    }
}

/// A record of the audit log was written.
pub(crate) struct AuditRecord;

/// A record, as JSON.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub(crate) struct Entry(#[serde(with = "crate::contract::json")] Json);

impl Entry {
    pub(crate) fn new(record: Json) -> Self {
        Self(record)
    }
}

impl Event for AuditRecord {
    type Payload = Entry;
    type Params<'a> = (&'a Session, &'a Json);
    type Return = ();
    const PARAMETER: Option<&'static str> = Some("entry");

    fn params<'a>(session: &'a Session, entry: &'a Entry) -> Self::Params<'a> {
        (session, &entry.0)
    }
}

impl session::Session {
    /// Asks `custom-event` about an event of the embedding program.
    pub async fn custom_event(&self, event: Custom) -> Settled<GateOutcome<Custom>> {
        self.dispatch::<CustomEvent>(event).await
    }
}
