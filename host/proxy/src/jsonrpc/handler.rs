//! The trait of a proxy that handles the relayed messages.

use crate::jsonrpc::lane::Lane;
use crate::jsonrpc::message::{Id, Message};
use crate::jsonrpc::questions::Questions;
use crate::jsonrpc::turn::Turn;
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

/// A future that completes before an answer is sent.
pub type Before = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The first decision about a request. `E` describes the expected answer of a forwarded request, `A` a request to ask rules about.
pub enum Begun<E, A> {
    /// The request is forwarded.
    Passed {
        /// The bytes to forward.
        bytes: Bytes,
        /// The expected answer.
        expected: E,
    },
    /// Rules are asked about the request.
    Asked(A),
    /// The proxy answers the request.
    Answered {
        /// The answer.
        answer: Bytes,
        /// Work to complete before the answer is sent. The answer keeps its place in the order.
        before: Option<Before>,
    },
}

impl<E, A> Begun<E, A> {
    /// Answers the request at once.
    #[must_use]
    pub const fn answered(answer: Bytes) -> Self {
        Self::Answered { answer, before: None }
    }
}

impl<E, A> fmt::Debug for Begun<E, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Passed { .. } => "Passed",
            Self::Asked(_) => "Asked",
            Self::Answered { .. } => "Answered",
        })
    }
}

/// The final decision about a request, after rules were asked.
#[derive(Debug)]
pub enum Decision<E> {
    /// The request is forwarded.
    Passed {
        /// The bytes to forward.
        bytes: Bytes,
        /// The expected answer.
        expected: E,
    },
    /// The proxy answers the request.
    Answered(Bytes),
}

/// The decision about a notification.
#[derive(Debug)]
#[non_exhaustive]
pub enum Notified {
    /// The notification is forwarded.
    Passed,
    /// The notification is dropped, and the user is told this reason.
    Refused(String),
    /// It cancels this request of its sender, which gets no answer. It is forwarded if the other side has the request.
    Cancels(Id),
    /// It cancels this request of its sender, or if there is none, ends the other side's request of that id ([`Handler::ended`]). The
    /// request gets no answer. It is forwarded if the other side has the request and has not cancelled it.
    Ends(Id),
    /// The proxy answers those of these requests that the other side has not seen.
    Answers {
        /// The requests.
        requests: Vec<Unsent>,
        /// True to forward the notification even if the proxy has answered all these requests.
        passes: bool,
    },
    /// The notification is judged ([`Handler::pushed`]), and forwarded as judged.
    Judged,
}

/// A pending request, and the answer to send if it is cancelled before the other side sees it.
#[derive(Clone, Debug)]
pub struct Unsent {
    /// The side that sent the request.
    pub of: Side,
    /// The identifier of the request.
    pub id: Id,
    /// The answer.
    pub answer: Bytes,
}

/// The context of a pending question, for a handler that may need to let other messages pass.
#[derive(Clone, Copy, Debug)]
pub struct Asking<'a> {
    /// The place in the order that the message keeps meanwhile.
    pub turn: &'a Turn,
    questions: &'a Questions,
}

impl<'a> Asking<'a> {
    /// Creates a context with this place, and with `questions` for requests to the client.
    #[must_use]
    pub const fn new(turn: &'a Turn, questions: &'a Questions) -> Self {
        Self { turn, questions }
    }

    /// Sends the proxy's own request to the client. Gives up the place first, since a person has to answer.
    pub async fn client(self, method: &str, params: &Value) -> Option<Value> {
        self.turn.give_up();
        self.questions.ask(method, params).await
    }
}

/// The handler of the messages of both sides.
pub trait Handler: Send + Sync + 'static {
    /// The expected answer to a forwarded request.
    type Expected: Send + Sync + 'static;

    /// A request to ask rules about.
    type Asked: Send + Sync + 'static;

    /// Returns the name of a side for sentences.
    fn name(&self, side: Side) -> &str;

    /// Shows a text to the user.
    fn tell(&self, text: &str);

    /// Returns the reason why a request has no answer after the server has ended, as a sentence without a full stop.
    fn unanswered(&self) -> String;

    /// Runs beside the relay, from its start.
    fn begin(&self) -> impl Future<Output = ()> + Send {
        async {}
    }

    /// Returns a message in place of an unreadable one of the server's, if the client would otherwise wait for its content. `head` and
    /// `tail` are its beginning and end, `why` is a sentence without a full stop.
    fn in_place_of(&self, _head: &[u8], _tail: &[u8], _why: &str) -> Option<Bytes> {
        None
    }

    /// Runs as long as messages are relayed. Messages that it puts on the lane go to the client.
    fn watch(&self, _to_client: &Lane) -> impl Future<Output = ()> + Send {
        std::future::pending()
    }

    /// Decides about a new request.
    fn request(&self, from: Side, id: &Id, message: &Message) -> Begun<Self::Expected, Self::Asked>;

    /// Asks rules about a request and decides.
    fn ask(
        &self,
        from: Side,
        asked: &Self::Asked,
        asking: Asking<'_>,
    ) -> impl Future<Output = Decision<Self::Expected>> + Send;

    /// Decides about a notification.
    fn notification(&self, from: Side, method: &str, message: &Message) -> Notified;

    /// Called after a notification was forwarded unchanged.
    fn passed(&self, _from: Side, _message: &Message) {}

    /// Called after the other side's notification has ended a request ([`Notified::Ends`]).
    fn ended(&self, _id: &Id) {}

    /// Returns a notification as it may be forwarded.
    ///
    /// # Errors
    /// The reason why it may not, as the end of a sentence.
    fn pushed(&self, message: &Message, _asking: Asking<'_>) -> impl Future<Output = Result<Bytes, String>> + Send {
        std::future::ready(Ok(message.bytes.clone()))
    }

    /// Processes an answer. Returns the expectation if the answer must be judged ([`answer`](Self::answer)), or `None` to forward it
    /// unchanged.
    fn answered(&self, expected: Self::Expected, message: &Message) -> Option<Self::Expected>;

    /// Judges an answer and returns it as it may be forwarded.
    fn answer(
        &self,
        id: &Id,
        expected: &Self::Expected,
        message: &Message,
        asking: Asking<'_>,
    ) -> impl Future<Output = Bytes> + Send;
}
