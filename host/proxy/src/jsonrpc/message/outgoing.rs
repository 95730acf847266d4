//! Messages that are sent.

use super::{Message, UnreadableMessage};
use bytes::Bytes;

/// A message to send. A message that is sent unchanged is not parsed again in this process.
#[derive(Clone, Debug)]
pub enum OutgoingMessage {
    /// A message that is sent unchanged.
    Read(Message),
    /// The bytes of a new or changed message.
    Written(Bytes),
}

impl OutgoingMessage {
    /// Returns the bytes of the message, without a line break at the end.
    pub fn into_bytes(self) -> Bytes {
        match self {
            Self::Read(message) => message.bytes,
            Self::Written(bytes) => bytes,
        }
    }

    /// Returns the parsed message. Parses only new and changed messages.
    ///
    /// # Errors
    /// If a change has made the message unreadable.
    pub fn parse(self) -> Result<Message, UnreadableMessage> {
        match self {
            Self::Read(message) => Ok(message),
            Self::Written(bytes) => Message::of(bytes),
        }
    }
}

impl From<Message> for OutgoingMessage {
    fn from(message: Message) -> Self {
        Self::Read(message)
    }
}

impl From<&Message> for OutgoingMessage {
    fn from(message: &Message) -> Self {
        Self::Read(message.clone())
    }
}

impl From<Bytes> for OutgoingMessage {
    fn from(bytes: Bytes) -> Self {
        Self::Written(bytes)
    }
}
