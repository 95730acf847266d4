//! The embedding program's own events, and the audit log's.

use super::CallValidator;
use super::declare::event;
use super::{Event, GateEvent};
use crate::compose::Answer;
use crate::contract::{AuditEntry, Custom, CustomVerdict, Json, Never, Session, canonical};

event! {
    /// An event of the embedding program.
    CustomEvent("event": Custom) -> (CustomVerdict,)
}

impl GateEvent for CustomEvent {
    type Verdict = CustomVerdict;
    type Response = Never;

    fn answer(verdict: CustomVerdict, event: &Custom, _: &CallValidator<'_>) -> Result<Answer<Custom, Never>, String> {
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

impl Event for AuditRecord {
    type Payload = AuditEntry;
    type Params<'a> = (&'a Session, &'a Json);
    type Return = ();
    const PARAMETER: Option<&'static str> = Some("entry");

    fn params<'a>(session: &'a Session, entry: &'a AuditEntry) -> Self::Params<'a> {
        (session, &entry.0)
    }
}
