//! The relay between a client and a server. It forwards the messages of each side in order.

use crate::jsonrpc::client_requests::ClientRequests;
use crate::jsonrpc::handler::{Handler, NotificationRoute, QuestionContext, RequestDecision, RequestRoute, Side};
use crate::jsonrpc::message::{self, INTERNAL_ERROR, INVALID_REQUEST, Id, Message, MessageKind, UnreadableMessage};
use crate::jsonrpc::message_streams::{IncomingMessage, MessageSink, MessageSource};
use crate::jsonrpc::pending_requests::{PendingRequests, RequestStage};
use crate::jsonrpc::queue::{MessageQueue, QueueRoom};
use crate::jsonrpc::queue_place::QueuePlace;
use crate::jsonrpc::unreadable_lines::{self, UnreadableLineCounter};
use crate::jsonrpc::work_counter::WorkCounter;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};

/// Time that a client has to read the last answers when the relay ends.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// Time that a request stays open after the server sent an unreadable line that may be its answer.
const LOST_ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// Time after which the relay ends if the client has closed its output and no request of the client is pending.
const IDLE_SERVER_TIMEOUT: Duration = Duration::from_secs(2);

/// Poll interval for conditions that cannot be awaited.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The reason why a relay has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelayEnd {
    /// The client has closed its output.
    Client,
    /// The client no longer reads its input.
    Vanished,
    /// The server has ended first.
    Server,
}

/// A running relay.
struct Relay<H: Handler>(Arc<RelayInner<H>>);

impl<H: Handler> Clone for Relay<H> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

struct RelayInner<H: Handler> {
    handler: Arc<H>,
    to_client: MessageQueue,
    to_server: MessageQueue,
    client_requests: ClientRequests,
    /// The requests on which rules are deciding.
    asks: WorkCounter,
    /// The answers on which rules are deciding.
    answers: WorkCounter,
    state: Mutex<RelayState<H::ExpectedAnswer>>,
}

struct RelayState<E> {
    of_client: PendingRequests<E>,
    of_server: PendingRequests<E>,
    unreadable: UnreadableLineCounter,
    /// The reasons why answers of the server may be lost. Each reason belongs to a request that may still be answered in time. The
    /// oldest reason is first.
    lost_answers: VecDeque<String>,
}

/// The streams of a server.
#[derive(Debug)]
pub struct ServerStreams<R, W> {
    /// The server's output, which the relay reads.
    pub output: R,
    /// The server's input, which the relay writes.
    pub input: W,
}

/// Relays messages until one side ends. After the client has closed its output, the server has the time `patience` to answer the
/// pending requests, and its messages are forwarded during this time. The relay ends soon after the last answer.
pub async fn run<H, R, W>(
    handler: Arc<H>,
    (client_input, client_output): (impl MessageSource, impl MessageSink),
    server: ServerStreams<R, W>,
    patience: Duration,
) -> RelayEnd
where
    H: Handler,
    R: MessageSource,
    W: MessageSink,
{
    let (to_client, client_writer) = MessageQueue::new();
    let (to_server, server_writer) = MessageQueue::new();
    let (asks, answers, client_requests) =
        (WorkCounter::default(), WorkCounter::default(), ClientRequests::new(to_client.clone()));
    let (of_client, of_server) = (PendingRequests::default(), PendingRequests::default());
    let state = RelayState {
        of_client,
        of_server,
        unreadable: UnreadableLineCounter::default(),
        lost_answers: VecDeque::new(),
    };
    let state = Mutex::new(state);
    let relay = Relay(Arc::new(RelayInner { handler, to_client, to_server, client_requests, asks, answers, state }));
    let begin = {
        let handler = Arc::clone(&relay.0.handler);
        tokio::spawn(async move { handler.start().await })
    };
    let write_client = client_writer.write(client_output);
    let write_server = server_writer.write(server.input);
    let read_server = relay.read(Side::Server, server.output);
    let read_client = relay.read(Side::Client, client_input);
    let watch = relay.0.handler.watch(&relay.0.to_client);
    tokio::pin!(write_client, write_server, read_server, read_client, watch);
    let mut ended = tokio::select! {
        biased;
        () = &mut read_server => RelayEnd::Server,
        // The client no longer reads its input.
        _ = &mut write_client => RelayEnd::Vanished,
        // The server no longer reads its input, so it is about to end.
        _ = &mut write_server => RelayEnd::Server,
        () = &mut read_client => RelayEnd::Client,
        () = &mut watch => RelayEnd::Server,
    };
    if ended == RelayEnd::Client {
        // Waits until rules have decided on all pending requests, and for the last messages of the server.
        let rest = async {
            // All parts are awaited concurrently, because a server may stop reading requests until its answers have been read.
            let all_sent = async {
                relay.0.asks.idle().await;
                relay.0.to_server.end().await;
            };
            let ((), _written, ()) = tokio::join!(all_sent, write_server, read_server);
            relay.0.answers.idle().await;
        };
        let vanished = timeout(patience, async {
            tokio::select! {
                () = rest => false,
                () = relay.idle() => false,
                _ = &mut write_client => true,
            }
        });
        if vanished.await == Ok(true) {
            ended = RelayEnd::Vanished;
        }
    }
    if ended != RelayEnd::Vanished {
        // The last answers of a server that has ended may still be waiting for a decision.
        let judged = async {
            tokio::select! {
                () = relay.0.answers.idle() => false,
                _ = &mut write_client => true,
            }
        };
        let vanished = timeout(patience, judged).await == Ok(true);
        if !vanished {
            let last = async {
                relay.answer_open_requests().await;
                relay.0.to_client.end().await;
            };
            let _ = timeout(FLUSH_TIMEOUT, async { tokio::join!(last, write_client) }).await;
        }
    }
    begin.abort();
    ended
}

impl<H: Handler> Relay<H> {
    fn state(&self) -> MutexGuard<'_, RelayState<H::ExpectedAnswer>> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn queue(&self, to: Side) -> &MessageQueue {
        match to {
            Side::Client => &self.0.to_client,
            Side::Server => &self.0.to_server,
        }
    }

    /// Shows the user a text about a side. The text begins with the name of the side.
    fn tell_of(&self, side: Side, what: &str) {
        self.0.handler.tell(&format!("the {}{what}", self.0.handler.side_name(side)));
    }

    /// Receives and processes the messages of a side until the stream ends.
    async fn read(&self, from: Side, mut messages: impl MessageSource) {
        loop {
            match messages.next().await {
                Ok(Some(IncomingMessage::Message(message))) => {
                    let room = self.queue(from.other()).room(message.memory_size()).await;
                    self.route(from, message, room).await;
                }
                Ok(Some(IncomingMessage::Unreadable { refused, head, tail })) => {
                    self.refuse(from, &refused, &head, &tail).await;
                }
                Ok(None) => return,
                Err(error) => return self.tell_of(from, &format!(" cannot be read any more: {error}")),
            }
        }
    }

    async fn route(&self, from: Side, message: Message, room: Option<QueueRoom>) {
        match &message.kind {
            MessageKind::Request { id, .. } => self.route_request(from, &id.clone(), message, room).await,
            MessageKind::Notification { method } => match self.0.handler.route_notification(from, method, &message) {
                NotificationRoute::Forward => {
                    self.queue(from.other()).put(&message, room).await;
                    self.0.handler.after_forwarding(from, &message);
                }
                NotificationRoute::Refuse(why) => self.tell_of(from, &format!(": {why}")),
                NotificationRoute::Cancel(id) => {
                    if !self.table(from, |table| table.cancel(&id)) {
                        self.queue(from.other()).put(message, room).await;
                    }
                }
                NotificationRoute::End(id) => {
                    if self.table(from, |table| table.has(&id)) {
                        if !self.table(from, |table| table.cancel(&id)) {
                            self.queue(from.other()).put(message, room).await;
                        }
                        return;
                    }
                    // The request is removed before the other side reads the notification, because the other side may use the
                    // identifier again as soon as it has read the notification.
                    if self.table(from.other(), |table| table.take_answered(&id)).is_some() {
                        self.0.handler.after_end(&id);
                    } else if self.table(from.other(), |table| table.take_cancelled(&id)).is_some() {
                        // The side that sent the request has already cancelled it, and may have used the identifier for a new
                        // request. The notification is therefore not forwarded.
                        return self.0.handler.after_end(&id);
                    }
                    self.queue(from.other()).put(message, room).await;
                }
                NotificationRoute::Answer { requests, passes } => {
                    let mut all_answered = true;
                    for unsent in requests {
                        let was_unsent = self.table(unsent.of, |table| table.cancel_unsent(&unsent.id));
                        all_answered &= was_unsent;
                        if was_unsent {
                            self.queue(unsent.of).put(unsent.answer, None).await;
                        }
                    }
                    if passes || !all_answered {
                        self.queue(from.other()).put(message, room).await;
                    }
                }
                NotificationRoute::Judge => self.judge_notification(from, message, room).await,
            },
            MessageKind::Response { id } => self.route_answer(from, &id.clone(), message, room).await,
            MessageKind::ErrorAboutNoRequest => self.queue(from.other()).put(message, room).await,
        }
    }

    /// Reports why a message is not forwarded. The report goes to the user, and to the side that waits for an answer. `head` and
    /// `tail` are the beginning and the end of the message.
    async fn refuse(&self, from: Side, refused: &UnreadableMessage, head: &[u8], tail: &[u8]) {
        let UnreadableMessage { code, id, is_answer, why, .. } = refused;
        let told = match from {
            Side::Client => Some(0),
            Side::Server => self.state().unreadable.next(Instant::now()),
        };
        if let Some(untold) = told {
            let more = if untold > 0 { format!("; before that, {untold} more") } else { String::new() };
            let begins = if id.is_none() { format!(": {}", unreadable_lines::beginning(head)) } else { String::new() };
            self.tell_of(from, &format!(": {refused}{begins}{more}"));
        }
        let mut is_known = false;
        for id in refused.answered_requests() {
            is_known |= self.refuse_answer(from, id, why).await;
        }
        if from == Side::Server {
            if !is_known && let Some(why) = unreadable_lines::lost_answer(head) {
                self.lose_answer(why);
            }
            let head = head.get(..message::KEPT_END_SIZE).unwrap_or(head);
            if let Some(instead) = self.0.handler.replacement(head, tail, why)
                && let Ok(message) = Message::of(instead)
            {
                self.route(from, message, None).await;
            }
        }
        // A line of the server without an identifier is probably a log entry. It gets no answer, because the server would also log
        // the answer.
        if *is_answer || from == Side::Server && id.is_none() {
            return;
        }
        let id = self.unless_under_way(from, id.as_ref());
        self.queue(from).put(message::error(id, *code, why), None).await;
    }

    /// Records that a line of the server may be an unreadable answer. If the oldest request of the client is not answered soon, the
    /// request fails, because it might otherwise never be answered.
    fn lose_answer(&self, why: String) {
        let count = {
            let mut state = self.state();
            if state.lost_answers.len() >= state.of_client.sent() {
                return;
            }
            state.lost_answers.push_back(why);
            state.of_client.count()
        };
        let relay = self.clone();
        tokio::spawn(async move {
            sleep(LOST_ANSWER_TIMEOUT).await;
            let (why, oldest) = {
                let mut state = relay.state();
                (state.lost_answers.pop_front(), state.of_client.oldest_sent(count))
            };
            if let (Some(why), Some(id)) = (why, oldest) {
                relay.refuse_answer(Side::Server, &id, &why).await;
            }
        });
    }

    /// Waits until the client has had no pending request for some time.
    async fn idle(&self) {
        let mut since = Instant::now();
        while since.elapsed() < IDLE_SERVER_TIMEOUT {
            sleep(POLL_INTERVAL).await;
            if !self.table(Side::Client, |table| table.is_empty()) || !self.0.answers.is_idle() {
                since = Instant::now();
            }
        }
    }

    /// Reports to the side that waits for an answer why the answer is not forwarded. Returns false if no request is known for the
    /// answer.
    async fn refuse_answer(&self, from: Side, id: &Id, why: &str) -> bool {
        if from == Side::Client && self.0.client_requests.deliver_answer(id, Value::default) {
            return true;
        }
        let Some(id) = &self.table(from.other(), |table| table.named(id)) else { return false };
        let expected = self.table(from.other(), |table| table.take_answered(id));
        let is_late = expected.is_none();
        let Some(expected) = expected.or_else(|| self.table(from.other(), |table| table.take_cancelled(id))) else {
            return false;
        };
        let name = self.0.handler.side_name(from);
        let why = format!("the answer of the {name} cannot be passed on: {why}");
        let error = message::error(Some(id), INTERNAL_ERROR, &why);
        // The server may have carried out the request, so the error that replaces the result is checked and recorded like a result.
        let judged = Message::of(error.clone()).ok().and_then(|answer| {
            let expected = self.0.handler.route_answer(expected, &answer)?;
            Some((expected, answer))
        });
        match judged {
            Some((expected, answer)) if is_late => self.judge_late_answer(id, expected, answer, None),
            Some((expected, answer)) => self.forward_judged(from, id, expected, answer, None).await,
            None if is_late => {}
            None => self.queue(from.other()).put(error, None).await,
        }
        true
    }

    /// Returns true if the server uses an identifier that a request of the proxy itself already has. The client would confuse the
    /// two requests.
    fn is_own(&self, from: Side, id: &Id) -> bool {
        from == Side::Server && self.0.client_requests.has(id)
    }

    /// Returns the identifier, or `None` if a pending request has the same identifier. The client would treat an error with this
    /// identifier as the answer to the pending request.
    fn unless_under_way<'a>(&self, from: Side, id: Option<&'a Id>) -> Option<&'a Id> {
        id.filter(|id| !self.table(from, |table| table.has(id)) && !self.is_own(from, id))
    }

    async fn route_request(&self, from: Side, id: &Id, message: Message, room: Option<QueueRoom>) {
        let taken = || self.is_own(from, id).then(|| format!("the id {id} is in use"));
        let bytes = message.bytes.len();
        if let Some(why) = self.table(from, |table| table.objection(id, bytes)).or_else(taken) {
            self.tell_of(from, &format!(": {why}"));
            let id = self.unless_under_way(from, Some(id));
            return self.queue(from).put(message::error(id, INVALID_REQUEST, &why), None).await;
        }
        match self.0.handler.route_request(from, id, &message) {
            RequestRoute::Forward { message: passed, expected } => {
                self.table(from, |table| table.insert(id.clone(), RequestStage::Sent(expected), bytes));
                self.queue(from.other()).put(passed, room).await;
            }
            RequestRoute::Answer { answer, before: None } => self.queue(from).put(answer, None).await,
            RequestRoute::Answer { answer, before: Some(before) } => {
                let place = self.queue(from).place().await;
                tokio::spawn(async move {
                    before.await;
                    place.fill(answer, None);
                });
            }
            RequestRoute::Ask(request) => {
                let place = QueuePlace::new(self.queue(from.other()).place().await, room);
                let (relay, own) = (self.clone(), id.clone());
                // The table stays locked until it contains the request, because the task must find the request in the table.
                self.table(from, |table| {
                    let task = self.0.asks.spawn(async move { relay.ask(from, &own, request, place).await });
                    table.insert(id.clone(), RequestStage::Asking(task), bytes);
                });
            }
        }
    }

    fn table<T>(&self, of: Side, with: impl FnOnce(&mut PendingRequests<H::ExpectedAnswer>) -> T) -> T {
        let mut state = self.state();
        with(if of == Side::Client { &mut state.of_client } else { &mut state.of_server })
    }

    async fn ask(&self, from: Side, id: &Id, request: H::JudgedRequest, place: QueuePlace) {
        let context = QuestionContext::new(&place, &self.0.client_requests);
        let decision = place.during(self.0.handler.ask(from, &request, context)).await;
        match decision {
            RequestDecision::Forward { message, expected } => {
                if self.table(from, |table| table.mark_sent(id, expected)) {
                    place.fill(message, self.queue(from.other())).await;
                }
            }
            RequestDecision::Answer(answer) => {
                // If the request is no longer in the table, it was cancelled or answered meanwhile.
                if self.table(from, |table| table.remove(id)) {
                    // An answer that a plugin gave can be large, so memory is reserved for it.
                    let room = self.queue(from).room(answer.len()).await;
                    self.queue(from).put(answer, room).await;
                }
            }
        }
    }

    /// Lets the handler check a notification, and forwards the notification that the handler returns.
    async fn judge_notification(&self, from: Side, message: Message, room: Option<QueueRoom>) {
        let place = QueuePlace::of_answer(self.queue(from.other()).place().await, room);
        let relay = self.clone();
        self.0.answers.spawn(async move {
            let context = QuestionContext::new(&place, &relay.0.client_requests);
            match place.during(relay.0.handler.judge_notification(&message, context)).await {
                Ok(judged) => place.fill(judged, relay.queue(from.other())).await,
                Err(why) => relay.0.handler.tell(&why),
            }
        });
    }

    async fn route_answer(&self, from: Side, id: &Id, message: Message, room: Option<QueueRoom>) {
        let result = || message.members.value("result").unwrap_or_default();
        if from == Side::Client && self.0.client_requests.deliver_answer(id, result) {
            return;
        }
        let named = self.table(from.other(), |table| table.named(id));
        let id = named.as_ref().unwrap_or(id);
        let message = message.with_id(id);
        let Some(expected) = self.table(from.other(), |table| table.take_answered(id)) else {
            return self.route_late_answer(from, id, message, room);
        };
        let Some(expected) = self.0.handler.route_answer(expected, &message) else {
            return self.queue(from.other()).put(message, room).await;
        };
        self.forward_judged(from, id, expected, message, room).await;
    }

    /// Lets the handler check an answer, and forwards the answer that the handler returns.
    async fn forward_judged(
        &self,
        from: Side,
        id: &Id,
        expected: H::ExpectedAnswer,
        message: Message,
        room: Option<QueueRoom>,
    ) {
        let place = QueuePlace::of_answer(self.queue(from.other()).place().await, room);
        let (relay, id) = (self.clone(), id.clone());
        self.0.answers.spawn(async move {
            let context = QuestionContext::new(&place, &relay.0.client_requests);
            let answer = place.during(relay.0.handler.judge_answer(&id, &expected, &message, context)).await;
            place.fill(answer, relay.queue(from.other())).await;
        });
    }

    /// Lets the handler check an answer to a cancelled request, because the answer must be recorded. The answer is not forwarded,
    /// because the side that cancelled the request may have used the identifier for another request meanwhile.
    fn route_late_answer(&self, from: Side, id: &Id, message: Message, room: Option<QueueRoom>) {
        let Some(expected) = self.table(from.other(), |table| table.take_cancelled(id)) else {
            self.tell_of(from, &format!(" answered {id}, which is no pending request: the answer was not passed on"));
            let is_second = self.table(from.other(), |table| table.was_answered(id));
            if from == Side::Server && !is_second {
                self.lose_answer(format!("it answered {id}, which is no pending request"));
            }
            return;
        };
        let Some(expected) = self.0.handler.route_answer(expected, &message) else { return };
        self.judge_late_answer(id, expected, message, room);
    }

    /// Lets the handler check an answer for which no side waits. The answer is not forwarded.
    fn judge_late_answer(&self, id: &Id, expected: H::ExpectedAnswer, message: Message, room: Option<QueueRoom>) {
        let (relay, id) = (self.clone(), id.clone());
        self.0.answers.spawn(async move {
            let place = QueuePlace::none(room);
            let context = QuestionContext::new(&place, &relay.0.client_requests);
            drop(relay.0.handler.judge_answer(&id, &expected, &message, context).await);
        });
    }

    /// Sends an error to the client for each request that is still pending, because the server will not answer any more.
    async fn answer_open_requests(&self) {
        let left = self.table(Side::Client, PendingRequests::take_all);
        let lost = self.state().lost_answers.pop_front().map(|why| format!(": {why}")).unwrap_or_default();
        for id in left {
            let why = self.0.handler.no_answer_reason() + &lost;
            self.0.to_client.put(message::error(Some(&id), INTERNAL_ERROR, &why), None).await;
        }
    }
}
