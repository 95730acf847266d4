//! The trait that each proxy implements to decide on the relayed messages.

use crate::jsonrpc::client_requests::ClientRequests;
use crate::jsonrpc::message::{Id, Message, OutgoingMessage};
use crate::jsonrpc::queue::MessageQueue;
use crate::jsonrpc::queue_place::QueuePlace;
use bytes::Bytes;
use serde_json::Value;
use std::fmt;
use std::pin::Pin;

/// A side of the relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// The program that started the proxy.
    Client,
    /// The program that the proxy started.
    Server,
}

impl Side {
    /// Returns the other side.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// Work that must be complete before an answer is sent.
pub type WorkBeforeAnswer = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The relay's next step with a new request. `E` describes the expected answer to a forwarded request. `J` describes a request on
/// which rules decide.
pub enum RequestRoute<E, J> {
    /// Forward the request.
    Forward {
        /// The message to forward.
        message: OutgoingMessage,
        /// The expected answer.
        expected: E,
    },
    /// Let rules decide on the request.
    Ask(J),
    /// Answer the request.
    Answer {
        /// The answer.
        answer: Bytes,
        /// Work that must be complete before the answer is sent. Later messages to the sender wait for the answer.
        before: Option<WorkBeforeAnswer>,
    },
}

impl<E, J> RequestRoute<E, J> {
    /// Creates the route of a request that is answered at once.
    pub const fn answer(answer: Bytes) -> Self {
        Self::Answer { answer, before: None }
    }
}

impl<E, J> fmt::Debug for RequestRoute<E, J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Forward { .. } => "Forward",
            Self::Ask(_) => "Ask",
            Self::Answer { .. } => "Answer",
        })
    }
}

/// The decision of the rules about a request.
#[derive(Debug)]
pub enum RequestDecision<E> {
    /// Forward the request.
    Forward {
        /// The message to forward.
        message: OutgoingMessage,
        /// The expected answer.
        expected: E,
    },
    /// Answer the request.
    Answer(Bytes),
}

/// The relay's next step with a notification.
#[derive(Debug)]
pub enum NotificationRoute {
    /// Forward the notification.
    Forward,
    /// Drop the notification, and show this reason to the user.
    Refuse(String),
    /// Cancel the sender's request with this identifier. The request gets no answer. If the other side has already received the
    /// request, forward the notification.
    Cancel(Id),
    /// Cancel or end the pending request with this identifier, which then gets no answer.
    ///
    /// If the sender of the notification has such a request, the request is cancelled as with [`NotificationRoute::Cancel`].
    /// Otherwise, the request of the other side is ended, and [`Handler::after_end`] is called. In this case, the notification is
    /// forwarded unless the other side has already cancelled its request.
    End(Id),
    /// Answer those requests of a list that the other side has not received yet.
    Answer {
        /// The requests.
        requests: Vec<UnsentRequest>,
        /// If true, the notification is always forwarded. If false, the notification is forwarded only if the other side has
        /// already received one of these requests.
        passes: bool,
    },
    /// Call [`Handler::judge_notification`], and forward the notification that it returns.
    Judge,
}

/// A pending request, and the answer that the proxy sends if the other side has not received the request yet.
#[derive(Clone, Debug)]
pub struct UnsentRequest {
    /// The side that sent the request.
    pub of: Side,
    /// The identifier of the request.
    pub id: Id,
    /// The answer.
    pub answer: Bytes,
}

/// The context in which a handler waits for rules or for a person to decide on a message. While the handler waits, it can use the
/// context to let later messages pass.
#[derive(Clone, Copy, Debug)]
pub struct QuestionContext<'a> {
    /// The position of the message in the queue.
    place: &'a QueuePlace,
    client_requests: &'a ClientRequests,
}

impl<'a> QuestionContext<'a> {
    /// Creates the context of a message with this position in the queue. `client_requests` sends requests to the client.
    pub const fn new(place: &'a QueuePlace, client_requests: &'a ClientRequests) -> Self {
        Self { place, client_requests }
    }

    /// Returns a callback that announces a long wait. Soon after the call, the message gives up its position, so that later
    /// messages can pass.
    pub fn on_long_wait(self) -> impl Fn(u32) + Send + Sync + 'a {
        move |_| self.place.takes_long()
    }

    /// Sends a request of the proxy itself to the client and returns the result. First gives up the position of the message in the
    /// queue, because later messages must not wait for a person.
    pub async fn ask_client(self, method: &str, params: &Value) -> Option<Value> {
        self.place.give_up();
        self.client_requests.ask(method, params).await
    }
}

/// Decides on the messages of both sides. The relay calls these methods.
pub trait Handler: Send + Sync + 'static {
    /// The expected answer to a forwarded request.
    type ExpectedAnswer: Send + Sync + 'static;

    /// A request on which rules decide.
    type JudgedRequest: Send + Sync + 'static;

    /// Returns the name of a side, for use in sentences.
    fn side_name(&self, side: Side) -> &str;

    /// Shows a text to the user.
    fn tell(&self, text: &str);

    /// Returns the error text for requests that are still pending when the server has ended. The text is a sentence without a full
    /// stop.
    fn no_answer_reason(&self) -> String;

    /// Called when the relay starts. The returned future runs concurrently with the relay.
    fn start(&self) -> impl Future<Output = ()> + Send {
        async {}
    }

    /// Returns a message to process in place of an unreadable message of the server, or `None` if no replacement is needed. `head`
    /// and `tail` are the beginning and the end of the unreadable message. `why` is the reason, a sentence without a full stop.
    fn replacement(&self, _head: &[u8], _tail: &[u8], _why: &str) -> Option<Bytes> {
        None
    }

    /// Runs while messages are relayed. It can put messages for the client into the queue `to_client`. If it returns, the relay
    /// ends.
    fn watch(&self, _to_client: &MessageQueue) -> impl Future<Output = ()> + Send {
        std::future::pending()
    }

    /// Returns the route of a new request.
    fn route_request(
        &self,
        from: Side,
        id: &Id,
        message: &Message,
    ) -> RequestRoute<Self::ExpectedAnswer, Self::JudgedRequest>;

    /// Lets rules decide on a request, and returns the decision.
    fn ask(
        &self,
        from: Side,
        request: &Self::JudgedRequest,
        context: QuestionContext<'_>,
    ) -> impl Future<Output = RequestDecision<Self::ExpectedAnswer>> + Send;

    /// Returns the route of a notification.
    fn route_notification(&self, from: Side, method: &str, message: &Message) -> NotificationRoute;

    /// Called after a notification was forwarded unchanged.
    fn after_forwarding(&self, _from: Side, _message: &Message) {}

    /// Called after a notification of the other side has ended the request with this identifier ([`NotificationRoute::End`]).
    fn after_end(&self, _id: &Id) {}

    /// Lets rules check a notification, and returns the notification to forward.
    ///
    /// # Errors
    /// The reason why the notification is not forwarded, as the end of a sentence.
    fn judge_notification(
        &self,
        message: &Message,
        _context: QuestionContext<'_>,
    ) -> impl Future<Output = Result<OutgoingMessage, String>> + Send {
        std::future::ready(Ok(message.into()))
    }

    /// Records the parts of an answer that affect later messages. Returns `expected` if the answer must be passed to
    /// [`judge_answer`](Self::judge_answer), or `None` if the answer must be forwarded unchanged.
    fn route_answer(&self, expected: Self::ExpectedAnswer, message: &Message) -> Option<Self::ExpectedAnswer>;

    /// Lets rules check an answer, and returns the answer to forward.
    fn judge_answer(
        &self,
        id: &Id,
        expected: &Self::ExpectedAnswer,
        message: &Message,
        context: QuestionContext<'_>,
    ) -> impl Future<Output = OutgoingMessage> + Send;
}
