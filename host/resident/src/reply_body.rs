//! Replies for transports without exit codes.

use hookhost::contract::EventKind;
use hookhost_agents::{Adapter, Reply};

/// Returns a reply as a body. An agent continues after a failure, so a reply that has only an exit code becomes the denial of a tool
/// call.
///
/// # Errors
/// The text of the failure, if the agent understands nothing else.
pub(crate) fn reply_body(adapter: &Adapter, mut reply: Reply) -> Result<String, String> {
    if reply.exit != 0 && reply.stdout.is_empty() {
        let gate = adapter.agent().points.iter().find(|point| point.event == EventKind::BeforeToolCall);
        if let Some(gate) = gate {
            reply = adapter.fail(Some(gate.name), reply.stderr.trim_end());
        }
    }
    if reply.exit != 0 && reply.stdout.is_empty() { Err(reply.stderr) } else { Ok(reply.stdout) }
}
