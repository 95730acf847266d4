//! The events of the embedding program, and the event of the audit log.

use super::CallValidator;
use super::declare::event;
use super::{Event, GateEvent};
use crate::compose::Verdict;
use crate::contract::{AuditEntry, Custom, CustomVerdict, Json, Never, Session, canonical};
use crate::wire::{Given as _, In};

event! {
    /// An event of the embedding program.
    CustomEvent("event": Custom) -> (CustomVerdict,)
}

impl GateEvent for CustomEvent {
    type Verdict = CustomVerdict;
    type Response = Never;

    fn answer(verdict: CustomVerdict, event: &Custom, _: &CallValidator<'_>) -> Result<Verdict<Custom, Never>, String> {
        Ok(match verdict {
            CustomVerdict::Allow => Verdict::Allow,
            CustomVerdict::Modify(payload) => {
                let payload =
                    canonical(&payload).map_err(|error| format!("answered a payload that cannot be read: {error}"))?;
                // Compare the values and not the JSON texts, because a different spelling of the same value is not a
                // change.
                if canonical(&event.payload).is_ok_and(|current| current == payload) {
                    return Ok(Verdict::Allow);
                }
                Verdict::Change(Custom { name: event.name.clone(), payload })
            }
            CustomVerdict::Escalate(question) => Verdict::Escalate(question),
            CustomVerdict::Reject(refusal) => Verdict::Reject(refusal),
        })
    }
}

/// A record of the audit log was written.
pub(crate) struct AuditRecord;

impl Event for AuditRecord {
    type Payload = AuditEntry;
    type Params<'a> = (In<'a, Session>, In<'a, Json>);
    type Return = ();
    const PARAMETER: Option<&'static str> = Some("entry");

    fn params<'a>(session: &'a Session, entry: &'a AuditEntry) -> Self::Params<'a> {
        (session.given(), entry.0.given())
    }
}
