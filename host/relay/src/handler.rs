//! What a proxy does with the messages that are relayed.

use crate::lane::Lane;
use crate::message::{Id, Message};
use crate::questions::Questions;
use crate::turn::Turn;
use bytes::Bytes;
use serde_json::Value;
use std::fmt;
use std::pin::Pin;

/// Whose a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// The one that has started the proxy.
    Client,
    /// The one that the proxy has started.
    Server,
}

impl Side {
    /// The other one.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// What is done before an answer is given.
pub type Before = Pin<Box<dyn Future<Output = ()> + Send>>;

/// How a request begins. `E` is what is expected in answer to one that is passed on, `A` is one that is asked about.
pub enum Begun<E, A> {
    /// It is passed on.
    Passed {
        /// As these bytes.
        bytes: Bytes,
        /// What is expected in answer.
        expected: E,
    },
    /// It is asked about.
    Asked(A),
    /// It is answered here.
    Answered {
        /// The answer.
        answer: Bytes,
        /// What is done before; it keeps the answer's place.
        before: Option<Before>,
    },
}

impl<E, A> Begun<E, A> {
    /// It is answered here, at once.
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

/// What happens to a request that was asked about.
#[derive(Debug)]
pub enum Decision<E> {
    /// It is passed on.
    Passed {
        /// As these bytes.
        bytes: Bytes,
        /// What is expected in answer.
        expected: E,
    },
    /// It is answered here.
    Answered(Bytes),
}

/// What happens to a notification.
#[derive(Debug)]
#[non_exhaustive]
pub enum Notified {
    /// It is passed on.
    Passed,
    /// It is not passed on, and the user is told why.
    Refused(String),
    /// It takes back this request of its sender, which nobody answers then. It is passed on where the other side has the request.
    Cancels(Id),
    /// It takes back this request of its sender. Where its sender has none with this identifier, it ends the other side's, which nobody
    /// answers then ([`Handler::ended`]). It is passed on where the other side has the request, and has not cancelled it.
    Ends(Id),
    /// These requests are answered here where the other side has not seen them.
    Answers {
        /// The requests.
        requests: Vec<Unsent>,
        /// Whether it is passed on also where it has answered all that it is about.
        passes: bool,
    },
    /// It is judged ([`Handler::pushed`]), and passed on as it is then.
    Judged,
}

/// A request that is asked about, and its answer where that is given up.
#[derive(Clone, Debug)]
pub struct Unsent {
    /// Whose request it is.
    pub of: Side,
    /// Its identifier.
    pub id: Id,
    /// The answer.
    pub answer: Bytes,
}

/// How something is asked about while others wait.
#[derive(Clone, Copy, Debug)]
pub struct Asking<'a> {
    /// The place that is kept meanwhile.
    pub turn: &'a Turn,
    questions: &'a Questions,
}

impl<'a> Asking<'a> {
    /// With this place, and questions that go to this client.
    #[must_use]
    pub const fn new(turn: &'a Turn, questions: &'a Questions) -> Self {
        Self { turn, questions }
    }

    /// Asks the client by a request of the proxy's own, while nobody waits for the place: a person has to answer.
    pub async fn client(self, method: &str, params: &Value) -> Option<Value> {
        self.turn.give_up();
        self.questions.ask(method, params).await
    }
}

/// What a proxy does with the messages of both sides.
pub trait Handler: Send + Sync + 'static {
    /// What is expected in answer to a request that was passed on.
    type Expected: Send + Sync + 'static;

    /// A request that is asked about.
    type Asked: Send + Sync + 'static;

    /// What a side is called in sentences.
    fn name(&self, side: Side) -> &str;

    /// Says something to the user.
    fn tell(&self, text: &str);

    /// Why a request of the client has no answer when the server has ended, as a sentence without a full stop.
    fn unanswered(&self) -> String;

    /// What is done as soon as messages are relayed, beside them.
    fn begin(&self) -> impl Future<Output = ()> + Send {
        async {}
    }

    /// The message that is taken up in the place of one of the server's that begins and ends so and cannot be passed on, since the
    /// client would wait for what it says. `why` is a sentence without a full stop.
    fn in_place_of(&self, _head: &[u8], _tail: &[u8], _why: &str) -> Option<Bytes> {
        None
    }

    /// What is looked at as long as messages are relayed; what it puts on the lane goes to the client.
    fn watch(&self, _to_client: &Lane) -> impl Future<Output = ()> + Send {
        std::future::pending()
    }

    /// How a request begins.
    fn request(&self, from: Side, id: &Id, message: &Message) -> Begun<Self::Expected, Self::Asked>;

    /// What happens to a request that is asked about.
    fn ask(
        &self,
        from: Side,
        asked: &Self::Asked,
        asking: Asking<'_>,
    ) -> impl Future<Output = Decision<Self::Expected>> + Send;

    /// What happens to a notification.
    fn notification(&self, from: Side, method: &str, message: &Message) -> Notified;

    /// What is done once a notification was passed on as it came.
    fn passed(&self, _from: Side, _message: &Message) {}

    /// What is done once a request was ended by the other side's notification ([`Notified::Ends`]).
    fn ended(&self, _id: &Id) {}

    /// A notification as it may be passed on.
    ///
    /// # Errors
    /// Why it may not, as the end of a sentence.
    fn pushed(&self, message: &Message, _asking: Asking<'_>) -> impl Future<Output = Result<Bytes, String>> + Send {
        std::future::ready(Ok(message.bytes.clone()))
    }

    /// Takes an answer up. What is returned is judged ([`answer`](Self::answer)); where it is nothing, the answer is passed on as it
    /// came.
    fn answered(&self, expected: Self::Expected, message: &Message) -> Option<Self::Expected>;

    /// An answer as it may be passed on.
    fn answer(
        &self,
        id: &Id,
        expected: &Self::Expected,
        message: &Message,
        asking: Asking<'_>,
    ) -> impl Future<Output = Bytes> + Send;
}
