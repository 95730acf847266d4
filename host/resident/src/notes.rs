//! Records of events that were not settled.

use hookhost::audit::DeliveryKind;
use hookhost::{Host, SessionSpec};
use hookhost_client::unanswered_calls::UnansweredCall;
use std::path::Path;

/// Records that an event could not be settled, as far as that is possible. `agent` may be the name of a transport, for a message of an
/// unknown agent.
pub(crate) fn unsettled(host: &Host, agent: &str, point: &str, directory: &Path, why: &str) {
    tracing::warn!(agent, point, why, "an event could not be settled");
    let directory = if directory.is_absolute() { directory } else { Path::new("/") };
    let spec = SessionSpec::new(agent, directory).id(session_id(agent));
    if let Ok(session) = host.open_session(spec) {
        session.note_delivery(None, point, DeliveryKind::Unanswered, why);
    }
}

/// Records a call that no resident host answered.
pub(crate) fn unanswered(host: &Host, call: &UnansweredCall) {
    let UnansweredCall { agent, point, time, why, was_allowed, .. } = call;
    let consequence = if *was_allowed { "it could continue, since the operator chose so" } else { "it was told no" };
    let note = format!("at {time} ms since the Unix epoch the agent got no outcome ({why}): {consequence}");
    match host.open_session(SessionSpec::new(agent, Path::new("/")).id(session_id(agent))) {
        Ok(session) => session.note_delivery(None, point, DeliveryKind::Unanswered, &note),
        Err(error) => tracing::error!(%error, agent, note, "a call that nobody answered cannot be recorded"),
    }
}

/// Returns the identifier of the session in which an agent's unsettled events are recorded.
fn session_id(agent: &str) -> String {
    format!("{agent}:unsettled")
}
