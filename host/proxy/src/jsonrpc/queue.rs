//! The ordered queue of messages to one side. While rules decide on a message, the message keeps its place in the queue, and later
//! messages wait. The message gives up its place if a person must be asked, or if a model takes long to answer.

use crate::jsonrpc::message::OutgoingMessage;
use crate::jsonrpc::message_streams::MessageSink;
use std::io;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

/// Maximum number of queued messages.
const MAX_MESSAGES: usize = 1024;

/// Maximum size of queued messages, in KiB: 64 MiB.
const MAX_KIB: u32 = 64 * 1024;

/// A queued message, and the memory that is reserved for it.
#[derive(Debug)]
struct QueuedMessage {
    message: OutgoingMessage,
    _room: Option<QueueRoom>,
}

/// Memory that is reserved for a message. The reservation ends when this value is dropped.
#[derive(Debug)]
pub struct QueueRoom {
    _permit: OwnedSemaphorePermit,
}

#[derive(Debug)]
enum QueueSlot {
    Now(QueuedMessage),
    Later(oneshot::Receiver<QueuedMessage>),
    End,
}

/// The sending end of the queue.
#[derive(Clone, Debug)]
pub struct MessageQueue {
    sender: mpsc::Sender<QueueSlot>,
    room: Arc<Semaphore>,
}

/// The receiving end of the queue, which writes the messages to a stream.
#[derive(Debug)]
pub struct QueueWriter {
    receiver: mpsc::Receiver<QueueSlot>,
}

/// A reserved place in the queue. Dropping this value gives up the place.
#[derive(Debug)]
pub struct ReservedPlace {
    sender: oneshot::Sender<QueuedMessage>,
}

impl MessageQueue {
    /// Creates an empty queue.
    pub fn new() -> (Self, QueueWriter) {
        let (sender, receiver) = mpsc::channel(MAX_MESSAGES);
        (Self { sender, room: Arc::new(Semaphore::new(MAX_KIB as usize)) }, QueueWriter { receiver })
    }

    /// Waits until the memory limit of the queue allows a message of this size, and reserves the memory. The reservation ends when
    /// the message is written or dropped.
    pub async fn room(&self, bytes: usize) -> Option<QueueRoom> {
        let kib = u32::try_from(bytes / 1024 + 1).unwrap_or(MAX_KIB).min(MAX_KIB);
        let permit = Arc::clone(&self.room).acquire_many_owned(kib).await;
        permit.ok().map(|permit| QueueRoom { _permit: permit })
    }

    #[cfg(test)]
    pub(crate) fn free_kib(&self) -> usize {
        self.room.available_permits()
    }

    /// Adds a message at the end of the queue. If the receiving end was dropped, the message is lost.
    pub async fn put(&self, message: impl Into<OutgoingMessage>, room: Option<QueueRoom>) {
        let _ = self.sender.send(QueueSlot::Now(QueuedMessage { message: message.into(), _room: room })).await;
    }

    /// Reserves a place at the end of the queue, for a message that is not ready yet.
    pub async fn place(&self) -> ReservedPlace {
        let (sender, receiver) = oneshot::channel();
        let _ = self.sender.send(QueueSlot::Later(receiver)).await;
        ReservedPlace { sender }
    }

    /// Ends the queue. Messages after this point are not written.
    pub async fn end(&self) {
        let _ = self.sender.send(QueueSlot::End).await;
    }
}

impl ReservedPlace {
    /// Puts a message into the reserved place.
    pub fn fill(self, message: impl Into<OutgoingMessage>, room: Option<QueueRoom>) {
        let _ = self.sender.send(QueuedMessage { message: message.into(), _room: room });
    }
}

impl QueueWriter {
    /// Sends each message, until the queue ends.
    ///
    /// # Errors
    /// If the stream cannot be written, for example because the other side has closed it.
    pub async fn write(mut self, mut to: impl MessageSink) -> io::Result<()> {
        while let Some(slot) = self.receiver.recv().await {
            let QueuedMessage { message, _room: room } = match slot {
                QueueSlot::Now(frame) => frame,
                QueueSlot::Later(place) => match place.await {
                    Ok(frame) => frame,
                    // The place was given up.
                    Err(_) => continue,
                },
                QueueSlot::End => break,
            };
            to.send(message).await?;
            drop(room);
        }
        to.end().await
    }
}

#[cfg(test)]
mod tests {
    use super::MessageQueue;
    use crate::jsonrpc::message_streams::LineSink;
    use bytes::Bytes;

    #[tokio::test]
    async fn messages_keep_their_order_and_a_place_that_is_given_up_keeps_nobody() {
        let (queue, writer) = MessageQueue::new();
        let (first, second) = (queue.place().await, queue.place().await);
        queue.put(Bytes::from_static(b"3"), None).await;
        let third = queue.place().await;
        queue.end().await;
        queue.put(Bytes::from_static(b"after the end"), None).await;
        second.fill(Bytes::from_static(b"2"), None);
        drop(third);
        first.fill(Bytes::from_static(b"1"), None);
        let mut written = Vec::new();
        writer.write(LineSink::new(&mut written)).await.unwrap();
        assert_eq!(written, b"1\n2\n3\n");
    }

    #[tokio::test]
    async fn room_comes_back_when_a_message_was_written_or_is_not() {
        let (queue, writer) = MessageQueue::new();
        let all = super::MAX_KIB as usize;
        let room = queue.room(1024 * 1024).await;
        assert!(queue.free_kib() < all);
        queue.put(Bytes::from_static(b"x"), room).await;
        drop(queue.room(5).await);
        queue.end().await;
        writer.write(LineSink::new(Vec::new())).await.unwrap();
        assert_eq!(queue.free_kib(), all);
    }
}
