//! The conversation, read as needed rather than sent with each event. Needs the grant `transcript`.

#[cfg(target_arch = "wasm32")]
use crate::generated::hookhost::hooks::transcript as host;
#[cfg(not(target_arch = "wasm32"))]
use crate::native::transcript as host;

pub use crate::generated::hookhost::hooks::transcript::Message;

/// The number of messages so far.
#[must_use]
pub fn length() -> u32 {
    host::length()
}

/// `count` messages from `start` (0 is the oldest); fewer where the conversation ends, or 1 MiB is reached.
#[must_use]
pub fn read(start: u32, count: u32) -> Vec<Message> {
    host::read(start, count)
}

/// The last `count` messages, oldest first.
#[must_use]
pub fn last(count: u32) -> Vec<Message> {
    read(length().saturating_sub(count), count)
}
