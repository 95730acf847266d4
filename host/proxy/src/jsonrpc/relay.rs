//! The relay between a client and a server that both speak lines. It forwards each side's messages in their order.

use crate::jsonrpc::busy::Busy;
use crate::jsonrpc::handler::{Asking, Begun, Decision, Handler, Notified, Side};
use crate::jsonrpc::lane::{Lane, Room};
use crate::jsonrpc::lines::{self, Line};
use crate::jsonrpc::message::{self, INTERNAL_ERROR, INVALID_REQUEST, Id, Kind, Message, Unreadable};
use crate::jsonrpc::questions::Questions;
use crate::jsonrpc::turn::Turn;
use crate::jsonrpc::under_way::{Stage, UnderWay};
use crate::jsonrpc::unreadable::{self, Unreadables};
use serde_json::Value;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, BufReader};
use tokio::time::{sleep, timeout};

/// Time that a client has to take the last answers.
const FOR_THE_END: Duration = Duration::from_secs(2);

/// Time that a request stays open after the server sent an unreadable line that may be its answer.
const FOR_AN_ANSWER: Duration = Duration::from_secs(5);

/// Time that a server has to end if its client has closed its output and waits for no answer.
const FOR_AN_IDLE_SERVER: Duration = Duration::from_secs(2);

/// Poll interval for conditions without a notification.
const INTERVAL: Duration = Duration::from_millis(50);

/// Size of a stream's read buffer, in bytes.
const BUFFER: usize = 64 * 1024;

/// The reason why a relay has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ended {
    /// The client has closed its output.
    Client,
    /// The client has gone.
    Vanished,
    /// The server has ended first.
    Server,
}

/// A running relay.
struct Relay<H: Handler>(Arc<Inner<H>>);

impl<H: Handler> Clone for Relay<H> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

struct Inner<H: Handler> {
    handler: Arc<H>,
    to_client: Lane,
    to_server: Lane,
    questions: Questions,
    /// The requests about which rules are asked.
    asks: Busy,
    /// The answers that are being judged.
    answers: Busy,
    state: Mutex<State<H::Expected>>,
}

struct State<E> {
    of_client: UnderWay<E>,
    of_server: UnderWay<E>,
    unreadable: Unreadables,
    /// The reasons why answers of the server may be lost, for requests that still have time; the oldest first.
    lost_answers: VecDeque<String>,
}

/// The streams of a server.
#[derive(Debug)]
pub struct Server<R, W> {
    /// The server's output, which the relay reads.
    pub output: R,
    /// The server's input, which the relay writes.
    pub input: W,
}

/// Relays until one of both sides ends. After the client has closed its output, the server has `patience` to answer, and ends soon
/// after the last answer. Its messages are forwarded until then.
pub async fn run<H, R, W>(
    handler: Arc<H>,
    (client_input, client_output): (impl AsyncRead + Unpin + Send, impl AsyncWrite + Unpin + Send),
    server: Server<R, W>,
    patience: Duration,
) -> Ended
where
    H: Handler,
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send,
{
    let (to_client, client_exit) = Lane::new();
    let (to_server, server_exit) = Lane::new();
    let (asks, answers, questions) = (Busy::default(), Busy::default(), Questions::new(to_client.clone()));
    let (of_client, of_server) = (UnderWay::default(), UnderWay::default());
    let state = State { of_client, of_server, unreadable: Unreadables::default(), lost_answers: VecDeque::new() };
    let state = Mutex::new(state);
    let relay = Relay(Arc::new(Inner { handler, to_client, to_server, questions, asks, answers, state }));
    let begin = {
        let handler = Arc::clone(&relay.0.handler);
        tokio::spawn(async move { handler.begin().await })
    };
    let write_client = client_exit.write(client_output);
    let write_server = server_exit.write(server.input);
    let read_server = relay.read(Side::Server, server.output);
    let read_client = relay.read(Side::Client, client_input);
    let watch = relay.0.handler.watch(&relay.0.to_client);
    tokio::pin!(write_client, write_server, read_server, read_client, watch);
    let mut ended = tokio::select! {
        biased;
        () = &mut read_server => Ended::Server,
        // The client has gone.
        _ = &mut write_client => Ended::Vanished,
        // A server that takes no more input is ending.
        _ = &mut write_server => Ended::Server,
        () = &mut read_client => Ended::Client,
        () = &mut watch => Ended::Server,
    };
    if ended == Ended::Client {
        // Waits for pending questions and for the server's last messages.
        let rest = async {
            // All at once: a server may wait until its answers are read before it reads more.
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
            ended = Ended::Vanished;
        }
    }
    if ended != Ended::Vanished {
        // The last answers of a server that has ended may still be judged.
        let judged = async {
            tokio::select! {
                () = relay.0.answers.idle() => {}
                _ = &mut write_client => {}
            }
        };
        let _ = timeout(patience, judged).await;
        let last = async {
            relay.answer_what_is_left().await;
            relay.0.to_client.end().await;
        };
        let _ = timeout(FOR_THE_END, async { tokio::join!(last, write_client) }).await;
    }
    begin.abort();
    ended
}

impl<H: Handler> Relay<H> {
    fn state(&self) -> MutexGuard<'_, State<H::Expected>> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lane(&self, to: Side) -> &Lane {
        match to {
            Side::Client => &self.0.to_client,
            Side::Server => &self.0.to_server,
        }
    }

    /// Tells the user something about the messages of a side.
    fn tell_of(&self, side: Side, what: &str) {
        self.0.handler.tell(&format!("the {}{what}", self.0.handler.name(side)));
    }

    /// Processes the messages of a side until its stream ends.
    async fn read(&self, from: Side, stream: impl AsyncRead + Unpin) {
        let mut reader = BufReader::with_capacity(BUFFER, stream);
        let mut is_first = true;
        loop {
            match lines::next(&mut reader).await {
                Ok(Line::Whole(mut line)) => {
                    if std::mem::take(&mut is_first) {
                        line = lines::without_mark(line);
                    }
                    let room = self.lane(from.other()).room(line.len()).await;
                    match Message::of(line.clone()) {
                        Ok(message) => self.take_up(from, message, room).await,
                        Err(refused) => {
                            drop(room);
                            let end = line.slice(line.len().saturating_sub(lines::KEPT)..);
                            self.refuse(from, &refused, &line, &end).await;
                        }
                    }
                }
                Ok(Line::TooLong { head, tail }) => {
                    self.refuse(from, &message::too_long(&head, &tail), &head, &tail).await;
                }
                Ok(Line::End) => return,
                Err(error) => return self.tell_of(from, &format!(" cannot be read any more: {error}")),
            }
        }
    }

    async fn take_up(&self, from: Side, message: Message, room: Option<Room>) {
        match &message.kind {
            Kind::Request { id, .. } => self.request(from, &id.clone(), message, room).await,
            Kind::Notification { method } => match self.0.handler.notification(from, method, &message) {
                Notified::Passed => {
                    self.lane(from.other()).put(message.bytes.clone(), room).await;
                    self.0.handler.passed(from, &message);
                }
                Notified::Refused(why) => self.tell_of(from, &format!(": {why}")),
                Notified::Cancels(id) => {
                    if !self.table(from, |table| table.cancel(&id)) {
                        self.lane(from.other()).put(message.bytes, room).await;
                    }
                }
                Notified::Ends(id) => {
                    if self.table(from, |table| table.has(&id)) {
                        if !self.table(from, |table| table.cancel(&id)) {
                            self.lane(from.other()).put(message.bytes, room).await;
                        }
                        return;
                    }
                    // Removed before the other side reads the notification, after which the identifier is free.
                    if self.table(from.other(), |table| table.answered(&id)).is_some() {
                        self.0.handler.ended(&id);
                    } else if self.table(from.other(), |table| table.ended_late(&id)).is_some() {
                        // Its sender has cancelled it before, and may use the identifier again by now.
                        return self.0.handler.ended(&id);
                    }
                    self.lane(from.other()).put(message.bytes, room).await;
                }
                Notified::Answers { requests, passes } => {
                    let mut all_answered = true;
                    for unsent in requests {
                        let given_up = self.table(unsent.of, |table| table.give_up(&unsent.id));
                        all_answered &= given_up;
                        if given_up {
                            self.lane(unsent.of).put(unsent.answer, None).await;
                        }
                    }
                    if passes || !all_answered {
                        self.lane(from.other()).put(message.bytes, room).await;
                    }
                }
                Notified::Judged => self.pushed(from, message, room).await,
            },
            Kind::Response { id } => self.response(from, &id.clone(), message, room).await,
            Kind::ErrorAboutNoRequest => self.lane(from.other()).put(message.bytes, room).await,
        }
    }

    /// Reports to the user and to the side that waits why a message is not forwarded. `head` and `tail` are its two ends.
    async fn refuse(&self, from: Side, refused: &Unreadable, head: &[u8], tail: &[u8]) {
        let Unreadable { code, id, is_answer, why, .. } = refused;
        let told = match from {
            Side::Client => Some(0),
            Side::Server => self.state().unreadable.next(Instant::now()),
        };
        if let Some(untold) = told {
            let more = if untold > 0 { format!("; before that, {untold} more") } else { String::new() };
            let begins = if id.is_none() { format!(": {}", unreadable::beginning(head)) } else { String::new() };
            self.tell_of(from, &format!(": {refused}{begins}{more}"));
        }
        let mut is_known = false;
        for id in refused.answered() {
            is_known |= self.refuse_answer(from, id, why).await;
        }
        if from == Side::Server {
            if !is_known && let Some(why) = unreadable::lost_answer(head) {
                self.lose_answer(why);
            }
            let head = head.get(..lines::KEPT).unwrap_or(head);
            if let Some(instead) = self.0.handler.in_place_of(head, tail, why)
                && let Ok(message) = Message::of(instead)
            {
                self.take_up(from, message, None).await;
            }
        }
        // A server that logs on its output would log this answer too.
        if *is_answer || from == Side::Server && id.is_none() {
            return;
        }
        let id = self.unless_under_way(from, id.as_ref());
        self.lane(from).put(message::error(id, *code, why), None).await;
    }

    /// Notes that the server has perhaps sent an unreadable answer. If no answer arrives soon, the request that has waited longest
    /// fails, since it would otherwise wait for ever.
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
            sleep(FOR_AN_ANSWER).await;
            let (why, oldest) = {
                let mut state = relay.state();
                (state.lost_answers.pop_front(), state.of_client.oldest_sent(count))
            };
            if let (Some(why), Some(id)) = (why, oldest) {
                relay.refuse_answer(Side::Server, &id, &why).await;
            }
        });
    }

    /// Waits until the client has waited for no answer for some time.
    async fn idle(&self) {
        let mut since = Instant::now();
        while since.elapsed() < FOR_AN_IDLE_SERVER {
            sleep(INTERVAL).await;
            if !self.table(Side::Client, |table| table.is_empty()) || !self.0.answers.is_idle() {
                since = Instant::now();
            }
        }
    }

    /// Reports why an answer is not forwarded, to the side that waits for it. Returns false if no side waits.
    async fn refuse_answer(&self, from: Side, id: &Id, why: &str) -> bool {
        if from == Side::Client && self.0.questions.answered(id, Value::default) {
            return true;
        }
        let Some(id) = &self.table(from.other(), |table| table.named(id)) else { return false };
        let expected = self.table(from.other(), |table| table.answered(id));
        let is_late = expected.is_none();
        let Some(expected) = expected.or_else(|| self.table(from.other(), |table| table.ended_late(id))) else {
            return false;
        };
        let name = self.0.handler.name(from);
        let why = format!("the answer of the {name} cannot be passed on: {why}");
        let error = message::error(Some(id), INTERNAL_ERROR, &why);
        // The request has perhaps run, so the error in place of its result is recorded like a result.
        let judged = Message::of(error.clone()).ok().and_then(|answer| {
            let expected = self.0.handler.answered(expected, &answer)?;
            Some((expected, answer))
        });
        match judged {
            Some((expected, answer)) if is_late => self.judged_late(id, expected, answer, None),
            Some((expected, answer)) => self.judged(from, id, expected, answer, None).await,
            None if is_late => {}
            None => self.lane(from.other()).put(error, None).await,
        }
        true
    }

    /// Returns true if an identifier of the server's is that of the proxy's own question: the client could confuse them.
    fn is_own(&self, from: Side, id: &Id) -> bool {
        from == Side::Server && self.0.questions.has(id)
    }

    /// Returns the identifier, unless it belongs to a request under way: an error with it would be taken for that request's answer.
    fn unless_under_way<'a>(&self, from: Side, id: Option<&'a Id>) -> Option<&'a Id> {
        id.filter(|id| !self.table(from, |table| table.has(id)) && !self.is_own(from, id))
    }

    async fn request(&self, from: Side, id: &Id, message: Message, room: Option<Room>) {
        let taken = || self.is_own(from, id).then(|| format!("the id {id} is taken"));
        let bytes = message.bytes.len();
        if let Some(why) = self.table(from, |table| table.objection(id, bytes)).or_else(taken) {
            self.tell_of(from, &format!(": {why}"));
            let id = self.unless_under_way(from, Some(id));
            return self.lane(from).put(message::error(id, INVALID_REQUEST, &why), None).await;
        }
        match self.0.handler.request(from, id, &message) {
            Begun::Passed { bytes: passed, expected } => {
                self.table(from, |table| table.insert(id.clone(), Stage::Sent(expected), bytes));
                self.lane(from.other()).put(passed, room).await;
            }
            Begun::Answered { answer, before: None } => self.lane(from).put(answer, None).await,
            Begun::Answered { answer, before: Some(before) } => {
                let place = self.lane(from).place().await;
                tokio::spawn(async move {
                    before.await;
                    place.fill(answer, None);
                });
            }
            Begun::Asked(asked) => {
                let turn = Turn::new(self.lane(from.other()).place().await, room);
                let (relay, own) = (self.clone(), id.clone());
                // The table stays locked until the request is in it.
                self.table(from, |table| {
                    let one = relay.0.asks.one();
                    let task = tokio::spawn(async move {
                        let _one = one;
                        relay.ask(from, &own, asked, turn).await;
                    });
                    table.insert(id.clone(), Stage::Asked(task.abort_handle()), bytes);
                });
            }
        }
    }

    fn table<T>(&self, of: Side, with: impl FnOnce(&mut UnderWay<H::Expected>) -> T) -> T {
        let mut state = self.state();
        with(if of == Side::Client { &mut state.of_client } else { &mut state.of_server })
    }

    async fn ask(&self, from: Side, id: &Id, asked: H::Asked, turn: Turn) {
        let asking = Asking::new(&turn, &self.0.questions);
        let decision = turn.during(self.0.handler.ask(from, &asked, asking)).await;
        match decision {
            Decision::Passed { bytes, expected } => {
                if self.table(from, |table| table.send(id, expected)) {
                    turn.fill(bytes, self.lane(from.other())).await;
                }
            }
            Decision::Answered(answer) => {
                // A request that was cancelled meanwhile already has its answer.
                if self.table(from, |table| table.remove(id)) {
                    // A plugin's answer can be large.
                    let room = self.lane(from).room(answer.len()).await;
                    self.lane(from).put(answer, room).await;
                }
            }
        }
    }

    /// Forwards a notification as it is judged.
    async fn pushed(&self, from: Side, message: Message, room: Option<Room>) {
        let turn = Turn::of_answer(self.lane(from.other()).place().await, room);
        let (relay, one) = (self.clone(), self.0.answers.one());
        tokio::spawn(async move {
            let _one = one;
            let asking = Asking::new(&turn, &relay.0.questions);
            match turn.during(relay.0.handler.pushed(&message, asking)).await {
                Ok(bytes) => turn.fill(bytes, relay.lane(from.other())).await,
                Err(why) => relay.0.handler.tell(&why),
            }
        });
    }

    async fn response(&self, from: Side, id: &Id, message: Message, room: Option<Room>) {
        let result = || message.members.value("result").unwrap_or_default();
        if from == Side::Client && self.0.questions.answered(id, result) {
            return;
        }
        let named = self.table(from.other(), |table| table.named(id));
        let id = named.as_ref().unwrap_or(id);
        let message = message.with_id(id);
        let Some(expected) = self.table(from.other(), |table| table.answered(id)) else {
            return self.late(from, id, message, room);
        };
        let Some(expected) = self.0.handler.answered(expected, &message) else {
            return self.lane(from.other()).put(message.bytes, room).await;
        };
        self.judged(from, id, expected, message, room).await;
    }

    /// Forwards an answer as it is judged.
    async fn judged(&self, from: Side, id: &Id, expected: H::Expected, message: Message, room: Option<Room>) {
        let turn = Turn::of_answer(self.lane(from.other()).place().await, room);
        let (relay, id, one) = (self.clone(), id.clone(), self.0.answers.one());
        tokio::spawn(async move {
            let _one = one;
            let asking = Asking::new(&turn, &relay.0.questions);
            let answer = turn.during(relay.0.handler.answer(&id, &expected, &message, asking)).await;
            turn.fill(answer, relay.lane(from.other())).await;
        });
    }

    /// Judges an answer to a cancelled request, so that it is recorded. It is not forwarded: the sender may have used the identifier
    /// for another request by now.
    fn late(&self, from: Side, id: &Id, message: Message, room: Option<Room>) {
        let Some(expected) = self.table(from.other(), |table| table.ended_late(id)) else {
            self.tell_of(from, &format!(" answered {id}, which nobody asked: it was not passed on"));
            let is_second = self.table(from.other(), |table| table.was_answered(id));
            if from == Side::Server && !is_second {
                self.lose_answer(format!("it answered {id}, which nobody asked"));
            }
            return;
        };
        let Some(expected) = self.0.handler.answered(expected, &message) else { return };
        self.judged_late(id, expected, message, room);
    }

    /// Has an answer judged for which no side waits.
    fn judged_late(&self, id: &Id, expected: H::Expected, message: Message, room: Option<Room>) {
        let (relay, id, one) = (self.clone(), id.clone(), self.0.answers.one());
        tokio::spawn(async move {
            let _one = one;
            let turn = Turn::none(room);
            let asking = Asking::new(&turn, &relay.0.questions);
            drop(relay.0.handler.answer(&id, &expected, &message, asking).await);
        });
    }

    /// Answers the requests that the server will no longer answer.
    async fn answer_what_is_left(&self) {
        let left = self.table(Side::Client, UnderWay::take);
        let lost = self.state().lost_answers.pop_front().map(|why| format!(": {why}")).unwrap_or_default();
        for id in left {
            let why = self.0.handler.unanswered() + &lost;
            self.0.to_client.put(message::error(Some(&id), INTERNAL_ERROR, &why), None).await;
        }
    }
}

impl<H: Handler> fmt::Debug for Relay<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Relay").finish_non_exhaustive()
    }
}
