//! The conversation, read on demand rather than sent with each event. Needs the grant `transcript`.

#[cfg(target_arch = "wasm32")]
use crate::generated::hookhost::hooks::transcript as host;
#[cfg(not(target_arch = "wasm32"))]
use crate::native::transcript as host;

pub use crate::generated::hookhost::hooks::transcript::Message;

/// Returns the number of messages so far.
#[must_use]
pub fn length() -> u32 {
    host::length()
}

/// Returns `count` messages from `start` on (0 is the oldest); fewer if the conversation ends or 1 MiB is reached.
#[must_use]
pub fn read(start: u32, count: u32) -> Vec<Message> {
    host::read(start, count)
}

/// Returns the last `count` messages, oldest first.
#[must_use]
pub fn last(count: u32) -> Vec<Message> {
    read(length().saturating_sub(count), count)
}
