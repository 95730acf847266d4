//! The conversation, which is read on demand and not sent with each event. This capability needs the grant
//! `transcript`.

#[cfg(target_arch = "wasm32")]
use crate::generated::v0_1::transcript as host;
#[cfg(not(target_arch = "wasm32"))]
use crate::native::transcript as host;

pub use crate::generated::v0_1::transcript::Message;

/// Returns the number of messages so far.
#[must_use]
pub fn length() -> u32 {
    host::length()
}

/// Returns up to `count` messages, beginning with the message at index `start` (0 is the oldest). Returns fewer
/// messages if the conversation ends earlier, or if the total size of the messages would exceed 1 MiB.
#[must_use]
pub fn read(start: u32, count: u32) -> Vec<Message> {
    host::read(start, count)
}

/// Returns the last `count` messages, oldest first.
#[must_use]
pub fn last(count: u32) -> Vec<Message> {
    read(length().saturating_sub(count), count)
}
