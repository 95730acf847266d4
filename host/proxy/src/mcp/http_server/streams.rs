//! The streams from which an HTTP client reads, and the messages that are stored until a stream is open.

use crate::jsonrpc::message::{
    self, INTERNAL_ERROR, Id, MAX_BYTES, Message, MessageKind, OutgoingMessage, UnreadableMessage,
};
use crate::mcp::subscription::cancelled;
use bytes::Bytes;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// Maximum number of queued messages for one stream of a client. At most the same number of messages is stored for a client while
/// none of its streams can accept a message.
pub(super) const MAX_MESSAGES: usize = 1024;

/// Maximum size of the queued messages for the streams of one client, in KiB: 32 MiB.
const MAX_QUEUED_KIB: u32 = 32 * 1024;

/// Maximum size of the messages that are stored for a client while the client reads no stream, in bytes: 16 MiB.
const MAX_KEPT_BYTES: usize = MAX_BYTES;

/// A message to a client.
#[derive(Debug)]
pub(super) struct Delivery {
    pub(super) bytes: Bytes,
    pub(super) kind: DeliveryKind,
    /// Permits for the size of the message. They are released when the message is read.
    _room: OwnedSemaphorePermit,
}

/// The role of a message in its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeliveryKind {
    /// A message that is not the last message.
    Event,
    /// The last message, which is an answer with a result or the end of a subscription.
    Last,
    /// The last message, which is an answer with an error. Contains the code of the error if there is one.
    Error(Option<i64>),
}

impl DeliveryKind {
    /// Returns the kind of a message that ends its stream.
    fn of_last(message: &Message) -> Self {
        if message.members.get("error").is_none() {
            return Self::Last;
        }
        Self::Error(message.members.value("error").and_then(|error| error.get("code")?.as_i64()))
    }

    /// Returns true if the message ends its stream.
    pub(super) fn is_last(self) -> bool {
        self != Self::Event
    }
}

/// A request of the client that is not answered yet.
#[derive(Debug)]
pub(super) struct OpenRequest {
    pub(super) id: Id,
    /// The token with which the progress of the request is reported.
    pub(super) token: Option<Id>,
    /// True if the service may end the request by a `notifications/cancelled` message. If no request of this kind has the
    /// identifier in the notification, the identifier belongs to a request of the service.
    pub(super) is_subscription: bool,
    pub(super) messages: mpsc::Sender<Delivery>,
}

/// The streams from which a client reads.
#[derive(Debug)]
pub(super) struct ClientStreams {
    open_requests: Vec<OpenRequest>,
    listening: Option<mpsc::Sender<Delivery>>,
    /// Messages that are stored for the client because no stream could accept them.
    kept: VecDeque<Bytes>,
    kept_bytes: usize,
    /// Permits for queued messages, one for each KiB.
    room: Arc<Semaphore>,
    has_ended: bool,
}

impl ClientStreams {
    pub(super) fn new() -> Self {
        let room = Arc::new(Semaphore::new(MAX_QUEUED_KIB as usize));
        Self {
            open_requests: Vec::new(),
            listening: None,
            kept: VecDeque::new(),
            kept_bytes: 0,
            room,
            has_ended: false,
        }
    }

    /// Drops the streams of all open requests, because no more answers will arrive.
    pub(super) fn end(&mut self) {
        *self = Self { has_ended: true, ..Self::new() };
    }

    /// Sends a message on a stream. Returns false if the stream is closed, or if too many messages are queued.
    fn send(&self, to: &mpsc::Sender<Delivery>, bytes: Bytes, kind: DeliveryKind) -> bool {
        let kib = u32::try_from(bytes.len() / 1024 + 1).unwrap_or(MAX_QUEUED_KIB).min(MAX_QUEUED_KIB);
        let room = Arc::clone(&self.room).try_acquire_many_owned(kib);
        room.is_ok_and(|room| to.try_send(Delivery { bytes, kind, _room: room }).is_ok())
    }

    /// Adds a request. Returns false if its identifier is already in use.
    pub(super) fn open(&mut self, request: OpenRequest) -> bool {
        if self.open_requests.iter().any(|known| known.id == request.id) {
            return false;
        }
        // If the session has ended, the request is dropped, which ends its stream.
        if !self.has_ended {
            self.open_requests.push(request);
        }
        true
    }

    pub(super) fn is_read(&self) -> bool {
        self.listening.as_ref().is_some_and(|listening| !listening.is_closed())
            || self.open_requests.iter().any(|request| !request.messages.is_closed())
    }

    pub(super) fn listen(&mut self, messages: mpsc::Sender<Delivery>) {
        if self.has_ended {
            return;
        }
        self.kept_bytes = 0;
        for bytes in std::mem::take(&mut self.kept) {
            self.send(&messages, bytes, DeliveryKind::Event);
        }
        self.listening = Some(messages);
    }

    fn deliver(&mut self, message: Message) {
        if let MessageKind::Response { id } = &message.kind {
            let at = self.open_requests.iter().position(|request| request.id == *id);
            if let Some(request) = at.map(|at| self.open_requests.remove(at)) {
                // If the answer cannot be queued because the client does not read, the stream ends without the answer.
                let kind = DeliveryKind::of_last(&message);
                self.send(&request.messages, message.bytes, kind);
            }
            return;
        }
        self.open_requests.retain(|request| !request.messages.is_closed());
        let is_ended =
            |id: &Id| self.open_requests.iter().position(|request| request.is_subscription && request.id == *id);
        let ended = cancelled(&message).as_ref().and_then(is_ended);
        if let Some(request) = ended.map(|at| self.open_requests.remove(at)) {
            // The service has ended a subscription on its own initiative.
            let kind = DeliveryKind::of_last(&message);
            self.send(&request.messages, message.bytes, kind);
            return;
        }
        let request =
            self.request_of(&message).and_then(|at| self.open_requests.get(at)).map(|request| &request.messages);
        let to = request.or(self.listening.as_ref());
        if to.is_some_and(|to| self.send(to, message.bytes.clone(), DeliveryKind::Event)) {
            return;
        }
        self.kept_bytes += message.bytes.len();
        self.kept.push_back(message.bytes);
        while self.kept.len() > MAX_MESSAGES || self.kept_bytes > MAX_KEPT_BYTES {
            let Some(oldest) = self.kept.pop_front() else { return };
            self.kept_bytes -= oldest.len();
        }
    }

    /// Returns the position of the request on whose stream a message that is not an answer is sent.
    fn request_of(&self, message: &Message) -> Option<usize> {
        let params = message.params().unwrap_or_default();
        let token = params.value("progressToken").as_ref().and_then(Id::of);
        let named = token
            .and_then(|token| self.open_requests.iter().position(|request| request.token.as_ref() == Some(&token)));
        let listens = self.listening.as_ref().is_some_and(|listening| !listening.is_closed());
        match self.open_requests.len() {
            0 => None,
            1 => Some(0),
            _ if named.is_some() => named,
            _ if listens => None,
            _ => Some(0),
        }
    }
}

/// Sends the messages of a proxy to its client, until the proxy ends.
pub(super) async fn deliver(mut messages: mpsc::Receiver<OutgoingMessage>, streams: &Mutex<ClientStreams>) {
    while let Some(message) = messages.recv().await {
        match message.parse() {
            Ok(message) => lock(streams).deliver(message),
            Err(refused) => undeliverable(&refused, streams),
        }
    }
}

/// If a plugin has made answers invalid, sends errors in place of these answers, because the client waits for them.
fn undeliverable(refused: &UnreadableMessage, streams: &Mutex<ClientStreams>) {
    for id in refused.answered_requests() {
        let error = message::error(Some(id), INTERNAL_ERROR, &format!("the answer cannot be passed on: {refused}"));
        if let Ok(error) = Message::of(error) {
            lock(streams).deliver(error);
        }
    }
}

pub(super) fn lock(streams: &Mutex<ClientStreams>) -> MutexGuard<'_, ClientStreams> {
    streams.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::{ClientStreams, Id, Message, OpenRequest};
    use serde_json::json;
    use tokio::sync::mpsc;

    #[test]
    fn each_message_goes_to_the_stream_to_which_it_belongs() {
        let mut streams = ClientStreams::new();
        let mut open = |id: i64, token: Option<i64>| {
            let (messages, received) = mpsc::channel(9);
            let request =
                OpenRequest { id: Id::from(id), token: token.map(Into::into), is_subscription: id == 3, messages };
            assert!(streams.open(request));
            received
        };
        let mut third = open(3, None);
        let (mut first, mut second) = (open(1, Some(7)), open(2, Some(8)));
        let deliver = |streams: &mut ClientStreams, value: &serde_json::Value| {
            streams.deliver(Message::of(value.to_string().into()).unwrap());
        };
        let progress =
            json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": { "progressToken": 8 } });
        let change = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
        deliver(&mut streams, &progress);
        let (send, mut listening) = mpsc::channel(9);
        streams.listen(send);
        deliver(&mut streams, &change);
        let taken_back =
            |id: i64| json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
        deliver(&mut streams, &taken_back(3));
        assert!(third.try_recv().unwrap().kind.is_last(), "a subscription ends");
        deliver(&mut streams, &taken_back(1));
        assert!(first.try_recv().is_err(), "it is the service's own request that has this identifier");
        deliver(&mut streams, &json!({ "jsonrpc": "2.0", "id": 1, "result": {} }));
        assert!(second.try_recv().unwrap().bytes.ends_with(b"}}") && second.try_recv().is_err());
        assert!(first.try_recv().unwrap().kind.is_last());
        assert!(!listening.try_recv().unwrap().kind.is_last());
        assert!(listening.try_recv().is_ok_and(|told| !told.kind.is_last()), "what was taken back is told");
        drop((second, listening));
        deliver(&mut streams, &change);
        assert_eq!((streams.kept.len(), streams.kept_bytes > 0), (1, true), "it waits for a reader");
        let (send, mut listening) = mpsc::channel(9);
        streams.listen(send);
        assert!(listening.try_recv().is_ok());
    }

    #[tokio::test]
    async fn an_answer_that_is_no_message_any_more_is_an_error_for_the_one_that_waits() {
        let streams = super::Mutex::new(ClientStreams::new());
        let (proxy, output) = mpsc::channel(9);
        let open = |id: i64| {
            let (messages, received) = mpsc::channel(9);
            let request = OpenRequest { id: Id::from(id), token: None, is_subscription: false, messages };
            assert!(streams.lock().unwrap().open(request));
            received
        };
        let mut waits = [open(1), open(2)];
        let twice = r#"{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}"#.to_owned();
        let long = format!(r#"{{"jsonrpc":"2.0","id":2,"result":"{}"}}"#, "x".repeat(super::MAX_BYTES));
        for answer in [twice, long] {
            proxy.send(super::Bytes::from(answer).into()).await.unwrap();
        }
        drop(proxy);
        super::deliver(output, &streams).await;
        for messages in &mut waits {
            let answer = messages.try_recv().unwrap();
            assert!(answer.kind.is_last() && String::from_utf8_lossy(&answer.bytes).contains("cannot be passed on"));
        }
    }

    #[test]
    fn what_nobody_reads_is_bounded_by_its_bytes() {
        let mut streams = ClientStreams::new();
        let large = json!({ "jsonrpc": "2.0", "method": "x", "params": { "a": "x".repeat(3 * 1024 * 1024) } });
        let large = Message::of(large.to_string().into()).unwrap();
        for _ in 0..20 {
            streams.deliver(large.clone());
        }
        assert_eq!((streams.kept.len(), streams.kept_bytes), (5, 5 * large.bytes.len()));
        let (send, mut listening) = mpsc::channel(super::MAX_MESSAGES);
        streams.listen(send);
        (0..20).for_each(|_| streams.deliver(large.clone()));
        assert!(streams.room.available_permits() < 4 * 1024, "more is not on its way to one who does not read");
        while listening.try_recv().is_ok() {}
        assert_eq!(streams.room.available_permits(), super::MAX_QUEUED_KIB as usize);
    }
}
