//! Facts about the current event. Every plugin has this capability.

#[cfg(target_arch = "wasm32")]
use crate::generated::v0_1::event as host;
#[cfg(not(target_arch = "wasm32"))]
use crate::native::event as host;

/// Returns the id of the event. The id is unique, and the audit log contains the same id.
#[must_use]
pub fn id() -> String {
    host::id()
}

/// Returns the time of the event, in milliseconds since the Unix epoch. The sandbox's clocks show the same time.
#[must_use]
pub fn time() -> u64 {
    host::time()
}

/// Returns the round of the event. It is 1 at the first call. It is higher if the value was changed and the plugin is
/// called again.
#[must_use]
pub fn round() -> u32 {
    host::round()
}

/// Returns the id of the parent session, if the agent is a sub-agent.
#[must_use]
pub fn parent_session() -> Option<String> {
    host::parent_session()
}

/// Returns the message that an external agent sent about the event, as unchanged JSON. Returns `None` if the event did
/// not come from an external agent. For a plugin that calls this function, the values of events also contain images and
/// other binary data. For all other plugins, the host replaces such data with markers.
#[must_use]
pub fn raw() -> Option<String> {
    host::raw()
}
