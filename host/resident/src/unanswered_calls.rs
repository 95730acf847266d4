//! Records the calls that no resident host answered. Hooks write a note about each such call for the next host.

use crate::settler::Settler;
use hookhost::audit::DeliveryKind;
use hookhost_client::paths::HostPaths;
use hookhost_client::unanswered_calls::{UnansweredCall, UnansweredCalls};
use std::path::Path;

/// Records the calls in the notes. The notes are removed only after the records are written. After a failure, a call may therefore
/// be recorded twice, but no call is lost.
pub(crate) async fn record(place: &HostPaths, settler: &Settler) {
    let noted = match UnansweredCalls::take(place) {
        Ok(Some(noted)) => noted,
        Ok(None) => return,
        Err(error) => return tracing::warn!(%error, "the calls without an answer cannot be read"),
    };
    noted.calls.iter().for_each(|call| record_call(settler, call));
    let recorded = match settler.host().flush().await {
        Ok(()) => noted.recorded().map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    if let Err(why) = recorded {
        tracing::warn!(why, "the calls without an answer will be recorded again");
    }
}

fn record_call(settler: &Settler, UnansweredCall { agent, point, time, why, was_allowed }: &UnansweredCall) {
    let consequence =
        if *was_allowed { "the agent could continue, because the operator chose so" } else { "the agent got a denial" };
    let note = format!("at {time} ms since the Unix epoch there was no decision ({why}): {consequence}");
    match settler.unsettled_session(agent, Path::new("/")) {
        Ok(session) => session.note_delivery(None, point, DeliveryKind::Unanswered, &note),
        Err(error) => tracing::error!(%error, agent, note, "a call that nobody answered cannot be recorded"),
    }
}
