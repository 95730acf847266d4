//! Facts about the current event. Always granted.

#[cfg(target_arch = "wasm32")]
use crate::generated::hookhost::hooks::event as host;
#[cfg(not(target_arch = "wasm32"))]
use crate::native::event as host;

/// Returns the event's own id. It is unique, and the audit log has it, too.
#[must_use]
pub fn id() -> String {
    host::id()
}

/// Returns the time of the event, in milliseconds since the Unix epoch. The sandbox's clocks show the same.
#[must_use]
pub fn time() -> u64 {
    host::time()
}

/// Returns 1, or more if the value was changed and the plugin is called again.
#[must_use]
pub fn round() -> u32 {
    host::round()
}

/// Returns the session's parent if the agent is a sub-agent.
#[must_use]
pub fn parent_session() -> Option<String> {
    host::parent_session()
}

/// Returns the agent's own message as JSON, unchanged, if the event came from outside. A plugin that calls this also gets the images and
/// other binary data in the values of events, which the host otherwise replaces by markers.
#[must_use]
pub fn raw() -> Option<String> {
    host::raw()
}
