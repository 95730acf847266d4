//! About the event being handled. Always granted.

#[cfg(target_arch = "wasm32")]
use crate::generated::hookhost::hooks::event as host;
#[cfg(not(target_arch = "wasm32"))]
use crate::native::event as host;

/// The event's own id: unique, and the audit log has it too.
#[must_use]
pub fn id() -> String {
    host::id()
}

/// When the event happened, in milliseconds since the Unix epoch. The sandbox's clocks show the same.
#[must_use]
pub fn time() -> u64 {
    host::time()
}

/// 1, or more where the value was changed and the plugin is asked again.
#[must_use]
pub fn round() -> u32 {
    host::round()
}

/// The session's parent where the agent is a sub-agent.
#[must_use]
pub fn parent_session() -> Option<String> {
    host::parent_session()
}

/// The agent's own message as JSON, where the event came from outside, as it came. A plugin that calls this also gets the images and
/// other binary data in the values of events, which the host otherwise replaces by markers.
#[must_use]
pub fn raw() -> Option<String> {
    host::raw()
}
