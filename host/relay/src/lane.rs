//! The messages on their way to one side, in order. A message that is still asked about keeps its place; those behind it wait,
//! unless a person is waited for, or a model for long: then it gives its place up.

use crate::message::on_one_line;
use bytes::Bytes;
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

/// Upper bound of the messages on their way.
const MAX_MESSAGES: usize = 1024;

/// Upper bound of their bytes, in KiB: 64 MiB.
const MAX_KIB: u32 = 64 * 1024;

/// A message on its way, and the room that it takes.
#[derive(Debug)]
struct Frame {
    bytes: Bytes,
    _room: Option<Room>,
}

/// Room for a message, until it is written.
#[derive(Debug)]
pub struct Room {
    _permit: OwnedSemaphorePermit,
}

#[derive(Debug)]
enum Slot {
    Now(Frame),
    Later(oneshot::Receiver<Frame>),
    End,
}

/// The end at which messages are put in.
#[derive(Clone, Debug)]
pub struct Lane {
    sender: mpsc::Sender<Slot>,
    room: Arc<Semaphore>,
}

/// The end at which they are written.
#[derive(Debug)]
pub struct Exit {
    receiver: mpsc::Receiver<Slot>,
}

/// A place in the order; given up when it is dropped.
#[derive(Debug)]
pub struct Place {
    sender: oneshot::Sender<Frame>,
}

impl Lane {
    /// An empty one.
    #[must_use]
    pub fn new() -> (Self, Exit) {
        let (sender, receiver) = mpsc::channel(MAX_MESSAGES);
        (Self { sender, room: Arc::new(Semaphore::new(MAX_KIB as usize)) }, Exit { receiver })
    }

    /// Waits for room for a message of so many bytes. It is given back when the message was written, or is not.
    pub async fn room(&self, bytes: usize) -> Option<Room> {
        let kib = u32::try_from(bytes / 1024 + 1).unwrap_or(MAX_KIB).min(MAX_KIB);
        let permit = Arc::clone(&self.room).acquire_many_owned(kib).await;
        permit.ok().map(|permit| Room { _permit: permit })
    }

    #[cfg(test)]
    pub(crate) fn free_kib(&self) -> usize {
        self.room.available_permits()
    }

    /// Puts a message at the end. Where nobody writes any more, it is lost.
    pub async fn put(&self, bytes: Bytes, room: Option<Room>) {
        let _ = self.sender.send(Slot::Now(Frame { bytes, _room: room })).await;
    }

    /// Takes a place at the end for a message that comes later.
    pub async fn place(&self) -> Place {
        let (sender, receiver) = oneshot::channel();
        let _ = self.sender.send(Slot::Later(receiver)).await;
        Place { sender }
    }

    /// Nothing is written after what is on its way by now.
    pub async fn end(&self) {
        let _ = self.sender.send(Slot::End).await;
    }
}

impl Place {
    /// Puts the message into its place.
    pub fn fill(self, bytes: Bytes, room: Option<Room>) {
        let _ = self.sender.send(Frame { bytes, _room: room });
    }
}

impl Exit {
    /// Writes each message as a line, until the end.
    ///
    /// # Errors
    /// If the other side has gone.
    pub async fn write(mut self, mut to: impl AsyncWrite + Unpin) -> io::Result<()> {
        let mut line = Vec::new();
        while let Some(slot) = self.receiver.recv().await {
            let Frame { bytes, _room: room } = match slot {
                Slot::Now(frame) => frame,
                Slot::Later(place) => match place.await {
                    Ok(frame) => frame,
                    // It was given up.
                    Err(_) => continue,
                },
                Slot::End => break,
            };
            line.clear();
            // Some readers end a line at a carriage return: what is within one message would be another one to them.
            line.extend_from_slice(&on_one_line(bytes));
            line.push(b'\n');
            to.write_all(&line).await?;
            to.flush().await?;
            drop(room);
        }
        to.shutdown().await
    }
}

#[cfg(test)]
mod tests {
    use super::Lane;
    use bytes::Bytes;

    #[tokio::test]
    async fn messages_keep_their_order_and_a_place_that_is_given_up_keeps_nobody() {
        let (lane, exit) = Lane::new();
        let (first, second) = (lane.place().await, lane.place().await);
        lane.put(Bytes::from_static(b"3"), None).await;
        let third = lane.place().await;
        lane.end().await;
        lane.put(Bytes::from_static(b"after the end"), None).await;
        second.fill(Bytes::from_static(b"2"), None);
        drop(third);
        first.fill(Bytes::from_static(b"1"), None);
        let mut written = Vec::new();
        exit.write(&mut written).await.unwrap();
        assert_eq!(written, b"1\n2\n3\n");
    }

    #[tokio::test]
    async fn room_comes_back_when_a_message_was_written_or_is_not() {
        let (lane, exit) = Lane::new();
        let all = super::MAX_KIB as usize;
        let room = lane.room(1024 * 1024).await;
        assert!(lane.free_kib() < all);
        lane.put(Bytes::from_static(b"x"), room).await;
        drop(lane.room(5).await);
        lane.end().await;
        exit.write(&mut Vec::new()).await.unwrap();
        assert_eq!(lane.free_kib(), all);
    }
}
