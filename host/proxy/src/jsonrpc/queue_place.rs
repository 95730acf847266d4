//! The place of a message in the queue while rules decide on the message. If the proxy asks the client's user, the message gives up
//! its place at once. If the resident host announces a long wait, the message keeps its place for one more second and then gives
//! the place up.

use crate::jsonrpc::message::OutgoingMessage;
use crate::jsonrpc::queue::{MessageQueue, QueueRoom, ReservedPlace};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::sleep;

/// Time for which later messages still wait after a long wait was announced.
const MAX_BLOCKING: Duration = Duration::from_secs(1);

/// A place that can be given up.
#[derive(Debug)]
pub struct QueuePlace {
    place: Mutex<Option<(ReservedPlace, Option<QueueRoom>)>>,
    /// Memory that stays reserved after the place was given up.
    kept: Option<QueueRoom>,
    takes_long: Notify,
}

impl QueuePlace {
    /// Creates the place of a message. `room` is the memory that is reserved for the message. Giving up the place also ends the
    /// reservation.
    pub fn new(place: ReservedPlace, room: Option<QueueRoom>) -> Self {
        Self { place: Mutex::new(Some((place, room))), kept: None, takes_long: Notify::new() }
    }

    /// Creates the place of an answer. The memory for the answer stays reserved until the answer is written, even if the place is
    /// given up, because nothing else limits the number of answers that wait for a decision.
    pub fn of_answer(place: ReservedPlace, room: Option<QueueRoom>) -> Self {
        Self { place: Mutex::new(Some((place, None))), kept: room, takes_long: Notify::new() }
    }

    /// Creates a value for a message that is checked but not forwarded. The value reserves memory, but no place in the queue.
    pub fn none(room: Option<QueueRoom>) -> Self {
        Self { place: Mutex::default(), kept: room, takes_long: Notify::new() }
    }

    /// Gives up the place, so that other messages need not wait.
    pub fn give_up(&self) {
        drop(self.place.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Announces that the pending question can take long.
    pub fn takes_long(&self) {
        self.takes_long.notify_one();
    }

    /// Waits for `asked` and returns its output. Gives up the place if [`takes_long`](Self::takes_long) is called and `asked` is
    /// not ready soon after the call.
    pub async fn during<T>(&self, asked: impl Future<Output = T>) -> T {
        let late = async {
            self.takes_long.notified().await;
            sleep(MAX_BLOCKING).await;
            self.give_up();
        };
        tokio::pin!(asked, late);
        tokio::select! {
            biased;
            done = &mut asked => done,
            () = &mut late => asked.await,
        }
    }

    /// Puts the message into its place, or at the end of the queue if the place was given up.
    pub async fn fill(self, message: OutgoingMessage, queue: &MessageQueue) {
        match self.place.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some((place, room)) => place.fill(message, room.or(self.kept)),
            None => queue.put(message, self.kept).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::QueuePlace;
    use crate::jsonrpc::message_streams::LineSink;
    use crate::jsonrpc::queue::MessageQueue;
    use bytes::Bytes;
    use std::time::Duration;

    #[tokio::test]
    async fn an_answer_takes_its_room_until_it_is_written_also_where_it_gives_its_place_up() {
        let (queue, exit) = MessageQueue::new();
        let free = queue.free_kib();
        let place = QueuePlace::of_answer(queue.place().await, queue.room(1024).await);
        place.give_up();
        assert!(queue.free_kib() < free);
        place.fill(Bytes::from_static(b"answer").into(), &queue).await;
        assert!(queue.free_kib() < free);
        queue.end().await;
        exit.write(LineSink::new(Vec::new())).await.unwrap();
        assert_eq!(queue.free_kib(), free);
    }

    #[tokio::test]
    async fn what_takes_long_gives_its_place_up_and_comes_nevertheless() {
        let (queue, exit) = MessageQueue::new();
        let slow = QueuePlace::new(queue.place().await, None);
        let quick = QueuePlace::new(queue.place().await, None);
        slow.takes_long();
        slow.during(async {
            while slow.place.lock().unwrap().is_some() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
        quick.takes_long();
        quick.during(async {}).await;
        slow.fill(Bytes::from_static(b"slow").into(), &queue).await;
        quick.fill(Bytes::from_static(b"quick").into(), &queue).await;
        queue.end().await;
        let mut written = Vec::new();
        exit.write(LineSink::new(&mut written)).await.unwrap();
        assert_eq!(written, b"quick\nslow\n");
    }
}
