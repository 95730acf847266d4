//! The trait of a proxy that handles the relayed messages.

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

/// The route of a new request. `E` describes the expected answer to a forwarded request. `J` describes a request on which rules
/// decide.
pub enum RequestRoute<E, J> {
    /// Forward the request.
    Forward {
        /// The message to forward.
        message: OutgoingMessage,
        /// The expected answer.
        expected: E,
    },
    /// Ask rules about the request.
    Ask(J),
    /// Answer the request.
    Answer {
        /// The answer.
        answer: Bytes,
        /// Work that must be complete before the answer is sent. The answer keeps its place in the order.
        before: Option<WorkBeforeAnswer>,
    },
}

impl<E, J> RequestRoute<E, J> {
    /// Answers the request at once.
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

/// The decision about a request after rules were asked.
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

/// The route of a notification.
#[derive(Debug)]
pub enum NotificationRoute {
    /// Forward the notification.
    Forward,
    /// Drop the notification, and tell the user this reason.
    Refuse(String),
    /// Cancel this request of the sender. The request gets no answer. If the other side already has the request, forward the
    /// notification.
    Cancel(Id),
    /// Cancel the sender's pending request with this id. If the sender has no such request, end the other side's request with this
    /// id ([`Handler::after_end`]). The request gets no answer. Forward the notification if the other side has the request and has
    /// not cancelled it.
    End(Id),
    /// Answer those requests of this list that the other side has not received yet.
    Answer {
        /// The requests.
        requests: Vec<UnsentRequest>,
        /// True if the notification is forwarded even if the proxy has answered all these requests.
        passes: bool,
    },
    /// Judge the notification ([`Handler::judge_notification`]), and forward the returned form.
    Judge,
}

/// A pending request, and the answer that it gets if the other side has not received it yet.
#[derive(Clone, Debug)]
pub struct UnsentRequest {
    /// The side that sent the request.
    pub of: Side,
    /// The identifier of the request.
    pub id: Id,
    /// The answer.
    pub answer: Bytes,
}

/// The context in which a handler waits for the answer to a question. With it, the handler can let later messages go first.
#[derive(Clone, Copy, Debug)]
pub struct QuestionContext<'a> {
    /// The place that the message has in the order while the handler waits.
    place: &'a QueuePlace,
    client_requests: &'a ClientRequests,
}

impl<'a> QuestionContext<'a> {
    /// Creates a context with this place, and with `client_requests` for requests to the client.
    pub const fn new(place: &'a QueuePlace, client_requests: &'a ClientRequests) -> Self {
        Self { place, client_requests }
    }

    /// Returns a callback for a question that takes long. Soon after it is called, the message loses its place in the order.
    pub fn on_long_wait(self) -> impl Fn(u32) + Send + Sync + 'a {
        move |_| self.place.takes_long()
    }

    /// Sends a request of the proxy itself to the client. Gives up the place first, because a person has to answer.
    pub async fn ask_client(self, method: &str, params: &Value) -> Option<Value> {
        self.place.give_up();
        self.client_requests.ask(method, params).await
    }
}

/// The handler of the messages of both sides.
pub trait Handler: Send + Sync + 'static {
    /// The expected answer to a forwarded request.
    type ExpectedAnswer: Send + Sync + 'static;

    /// A request on which rules decide.
    type JudgedRequest: Send + Sync + 'static;

    /// Returns the name of a side, for use in sentences.
    fn side_name(&self, side: Side) -> &str;

    /// Shows a text to the user.
    fn tell(&self, text: &str);

    /// Returns the reason for requests that have no answer when the server has ended, as a sentence without a full stop.
    fn no_answer_reason(&self) -> String;

    /// Runs beside the relay. Called when the relay starts.
    fn start(&self) -> impl Future<Output = ()> + Send {
        async {}
    }

    /// Returns a message that is sent in place of an unreadable message of the server, or `None` if no client waits for that
    /// message. `head` and `tail` are the beginning and the end of the unreadable message. `why` is a sentence without a full stop.
    fn replacement(&self, _head: &[u8], _tail: &[u8], _why: &str) -> Option<Bytes> {
        None
    }

    /// Runs while messages are relayed. Messages that it puts into the queue go to the client.
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

    /// Asks rules about a request and returns the decision.
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

    /// Called after the other side's notification has ended a request ([`NotificationRoute::End`]).
    fn after_end(&self, _id: &Id) {}

    /// Judges a notification, and returns the form in which it is forwarded.
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

    /// Records the parts of an answer that later messages depend on. Returns `expected` if the answer must be judged
    /// ([`judge_answer`](Self::judge_answer)), or `None` to forward it unchanged.
    fn route_answer(&self, expected: Self::ExpectedAnswer, message: &Message) -> Option<Self::ExpectedAnswer>;

    /// Judges an answer, and returns the form in which it is forwarded.
    fn judge_answer(
        &self,
        id: &Id,
        expected: &Self::ExpectedAnswer,
        message: &Message,
        context: QuestionContext<'_>,
    ) -> impl Future<Output = OutgoingMessage> + Send;
}
