//! Labels of the session that the user began, which it shares with all sub-agents below it. All plugins with this
//! capability read and add the same labels. It needs the grant `labels`.
//!
//! A label stays until the session ends or a person removes it. An invalid label, and one label too many, ends the call of the plugin with an
//! error. The interface belongs to version 0.2 of the contract, which is a draft.

#[cfg(target_arch = "wasm32")]
use crate::generated::v0_2::labels as host;
#[cfg(not(target_arch = "wasm32"))]
use crate::native::labels as host;

/// Adds a label, such as `read:secret`. The label is added only if the call returns.
pub fn add(label: &str) {
    host::add(label);
}

/// Returns true if the session had the label before the event, or if this call has added it.
#[must_use]
pub fn has(label: &str) -> bool {
    host::has(label)
}

/// Returns the time at which the session got the label, in milliseconds since the Unix epoch: the time of the event that
/// added it. Returns `None` if the session does not have the label. A label that is added again keeps its time.
#[must_use]
pub fn added_at(label: &str) -> Option<u64> {
    host::added_at(label)
}

/// Returns the labels that the session had before the event, and those that this call has added, in alphabetical order.
#[must_use]
pub fn list() -> Vec<String> {
    host::list()
}
