//! The proxy between a client and a server that both speak lines: what each of them says is taken up in order, and goes to the
//! other one in that order.

use crate::busy::Busy;
use crate::judge::{Begun, Client, Decision, Elicit, Expected, Judge};
use crate::lane::{Lane, Place, Room};
use crate::lines::{self, Line};
use crate::message::{self, INTERNAL_ERROR, INVALID_REQUEST, Id, Kind, Message, Unreadable};
use crate::operation::Method;
use crate::subscription;
use crate::under_way::{Stage, UnderWay};
use bytes::Bytes;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, BufReader};
use tokio::sync::{Notify, oneshot};
use tokio::time::{interval, sleep, timeout};

/// How long a person has to answer a question in the client.
const FOR_A_PERSON: Duration = Duration::from_secs(300);

/// The interval at which it is looked whether something was approved, or the configuration changed.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// How long a client has to take the last answers.
const FOR_THE_END: Duration = Duration::from_secs(2);

/// How long others wait behind a message about which a person or a model is asked.
const BEFORE_OTHERS: Duration = Duration::from_secs(1);

/// How large the buffer of a stream is, in bytes.
const BUFFER: usize = 64 * 1024;

/// The notifications that have the state of a task, and perhaps its result with it.
const TASK_STATES: &[&str] = &["notifications/tasks", "notifications/tasks/status"];

/// How many unreadable lines of a server the user is told of at once, and the interval after which there is one more.
const MAX_UNREADABLE: (u32, Duration) = (20, Duration::from_secs(10));

/// Whose message it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Client,
    Server,
}

impl Side {
    fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "MCP server",
        }
    }
}

/// A question of ours to the client. Dropped, it is not waited for any more.
struct Own<'a> {
    session: &'a Session,
    id: Id,
}

impl Drop for Own<'_> {
    fn drop(&mut self) {
        self.session.state().own.remove(&self.id);
    }
}

/// The place of a message that is asked about. What takes long, as where a person is waited for, gives its place up to others;
/// what only could take long keeps it as long as it does not.
struct HeldPlace {
    place: Mutex<Option<(Place, Option<Room>)>>,
    takes_long: Notify,
}

impl HeldPlace {
    fn new(place: Place, room: Option<Room>) -> Self {
        Self { place: Mutex::new(Some((place, room))), takes_long: Notify::new() }
    }

    fn give_up(&self) {
        drop(self.place.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Waits for what is asked; gives the place up where that was announced to take long, and does.
    async fn during<T>(&self, asked: impl Future<Output = T>) -> T {
        let late = async {
            self.takes_long.notified().await;
            sleep(BEFORE_OTHERS).await;
            self.give_up();
        };
        tokio::pin!(asked, late);
        tokio::select! {
            biased;
            done = &mut asked => done,
            () = &mut late => asked.await,
        }
    }

    /// Puts the message into its place; at the end of the lane where that was given up.
    async fn fill(self, bytes: Bytes, lane: &Lane) {
        match self.place.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some((place, room)) => place.fill(bytes, room),
            None => lane.put(bytes, None).await,
        }
    }
}

/// Why a proxy has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ended {
    /// The client has said all that it had to say.
    Client,
    /// The client has gone.
    Vanished,
    /// The server has ended before.
    Server,
}

/// A proxy at work.
#[derive(Clone, Debug)]
pub struct Session(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    judge: Arc<Judge>,
    to_client: Lane,
    to_server: Lane,
    /// The requests that are asked about.
    asks: Busy,
    /// The answers that are judged.
    answers: Busy,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    client: Client,
    of_client: UnderWay,
    of_server: UnderWay,
    /// Our own questions to the client.
    own: HashMap<Id, oneshot::Sender<Value>>,
    /// Whether the server tells when its listing changes.
    tells_changes: bool,
    /// How often the listing had changed when the client last got it, or was told so.
    listing_changes: u64,
    unreadable: Unreadables,
}

/// The unreadable lines of a server that the user was told of: a server that logs where it should answer writes many.
#[derive(Debug, Default)]
struct Unreadables {
    told: u32,
    untold: u64,
    last: Option<Instant>,
}

impl Unreadables {
    /// Whether the user is told of one more; how many there were since the last one.
    fn next(&mut self, now: Instant) -> Option<u64> {
        let (max, interval) = MAX_UNREADABLE;
        if self.told >= max && self.last.is_some_and(|last| now < last + interval) {
            self.untold += 1;
            return None;
        }
        self.told = self.told.saturating_add(1);
        self.last = Some(now);
        Some(std::mem::take(&mut self.untold))
    }
}

/// What of a proxy its caller waits for.
#[derive(Debug)]
pub struct Server<R, W> {
    /// What the server says.
    pub output: R,
    /// What it gets.
    pub input: W,
}

/// Proxies until one of both ends; the judge's session can outlast that. A server whose client has nothing more to say has so long to end; what it says meanwhile is
/// passed on.
pub async fn run<R, W>(
    judge: Arc<Judge>,
    (client_input, client_output): (impl AsyncRead + Unpin + Send, impl AsyncWrite + Unpin + Send),
    server: Server<R, W>,
    patience: Duration,
) -> Ended
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send,
{
    let (to_client, client_exit) = Lane::new();
    let (to_server, server_exit) = Lane::new();
    let (asks, answers, state) = Default::default();
    let session = Session(Arc::new(Inner { judge, to_client, to_server, asks, answers, state }));
    let begin = {
        let session = session.clone();
        // The first request finds the resident host there.
        tokio::spawn(async move {
            // Where that fails, each event tries it again, and says why.
            let _ = session.0.judge.begin_session().await;
        })
    };
    let write_client = client_exit.write(client_output);
    let write_server = server_exit.write(server.input);
    let read_server = session.read(Side::Server, server.output);
    let read_client = session.read(Side::Client, client_input);
    let watch = session.watch_approvals();
    tokio::pin!(write_client, write_server, read_server, read_client, watch);
    let mut ended = tokio::select! {
        biased;
        () = &mut read_server => Ended::Server,
        // The client has gone.
        _ = &mut write_client => Ended::Vanished,
        // A server that takes nothing more is one that ends.
        _ = &mut write_server => Ended::Server,
        () = &mut read_client => Ended::Client,
        () = &mut watch => Ended::Server,
    };
    if ended == Ended::Client {
        // What is still asked about, and what the server still says.
        let rest = async {
            // All at once: a server may wait until its answers are read, before it reads more.
            let all_sent = async {
                session.0.asks.idle().await;
                session.0.to_server.end().await;
            };
            let ((), _written, ()) = tokio::join!(all_sent, write_server, read_server);
            session.0.answers.idle().await;
        };
        let vanished = timeout(patience, async {
            tokio::select! {
                () = rest => false,
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
                () = session.0.answers.idle() => {}
                _ = &mut write_client => {}
            }
        };
        let _ = timeout(patience, judged).await;
        let last = async {
            session.answer_what_is_left().await;
            session.0.to_client.end().await;
        };
        let _ = timeout(FOR_THE_END, async { tokio::join!(last, write_client) }).await;
    }
    begin.abort();
    ended
}

impl Session {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lane(&self, to: Side) -> &Lane {
        match to {
            Side::Client => &self.0.to_client,
            Side::Server => &self.0.to_server,
        }
    }

    /// Takes up what a side says, until it says nothing more.
    async fn read(&self, from: Side, stream: impl AsyncRead + Unpin) {
        let mut reader = BufReader::with_capacity(BUFFER, stream);
        loop {
            match lines::next(&mut reader).await {
                Ok(Line::Whole(line)) => {
                    let room = self.lane(from.other()).room(line.len()).await;
                    self.take_up(from, line, room).await;
                }
                Ok(Line::TooLong { head, tail }) => self.refuse(from, &message::too_long(&head, &tail)).await,
                Ok(Line::End) => return,
                Err(error) => {
                    self.0.judge.tell(&format!("the {} cannot be read any more: {error}", from.name()));
                    return;
                }
            }
        }
    }

    async fn take_up(&self, from: Side, line: Bytes, room: Option<Room>) {
        let message = match Message::of(line) {
            Ok(message) => message,
            Err(refused) => return self.refuse(from, &refused).await,
        };
        match &message.kind {
            Kind::Request { id, .. } => self.request(from, &id.clone(), message, room).await,
            Kind::Notification { method } => {
                if Method::of(method).is_some() || method == "tools/list" {
                    let why = format!("{method} came as a notification, which nobody answers: it was not passed on");
                    self.0.judge.tell(&format!("the {}: {why}", from.name()));
                    return;
                }
                if self.cancelled(from, &message) {
                    return;
                }
                if TASK_STATES.contains(&method.as_str()) && from == Side::Server {
                    return self.pushed_task(message, room).await;
                }
                let agreed = (from == Side::Server).then(|| subscription::agreed(&message)).flatten();
                self.lane(from.other()).put(message.bytes, room).await;
                // Only then: the client gets the agreement before anything that follows it.
                if let Some(id) = agreed {
                    self.table(Side::Client, |table| table.agree(&id));
                }
            }
            Kind::Response { id } => self.response(from, &id.clone(), message, room).await,
            Kind::ErrorAboutNoRequest => self.lane(from.other()).put(message.bytes, room).await,
        }
    }

    /// Says why a message is not passed on, to the side that waits for an answer.
    async fn refuse(&self, from: Side, refused: &Unreadable) {
        let Unreadable { code, id, is_answer, why } = refused;
        let told = match from {
            Side::Client => Some(0),
            Side::Server => self.state().unreadable.next(Instant::now()),
        };
        if let Some(untold) = told {
            let more = if untold > 0 { format!("; before that, {untold} more") } else { String::new() };
            self.0.judge.tell(&format!("the {}: {refused}{more}", from.name()));
        }
        if !is_answer {
            // A server that logs where it should answer would log the answer as well.
            if from == Side::Server && id.is_none() {
                return;
            }
            let id = self.unless_under_way(from, id.as_ref());
            return self.lane(from).put(message::error(id, *code, why), None).await;
        }
        let Some(id) = id else { return };
        let waits = {
            let mut state = self.state();
            let table = if from == Side::Client { &mut state.of_server } else { &mut state.of_client };
            table.answered(id).is_some()
        };
        if waits {
            let why = format!("the answer of the {} cannot be passed on: {why}", from.name());
            self.lane(from.other()).put(message::error(Some(id), INTERNAL_ERROR, &why), None).await;
        }
    }

    /// An answer with the identifier of another request would be taken for that one's.
    fn unless_under_way<'a>(&self, from: Side, id: Option<&'a Id>) -> Option<&'a Id> {
        let state = self.state();
        let table = if from == Side::Client { &state.of_client } else { &state.of_server };
        let is_own = |id: &Id| from == Side::Server && state.own.contains_key(id);
        id.filter(|id| !table.has(id) && !is_own(id))
    }

    async fn request(&self, from: Side, id: &Id, message: Message, room: Option<Room>) {
        let is_of_client = from == Side::Client;
        let (objection, client) = {
            let mut state = self.state();
            if is_of_client && message.method() == Some("initialize") {
                state.client = Client::of_initialize(&message.params().unwrap_or_default());
            }
            let table = if is_of_client { &state.of_client } else { &state.of_server };
            let is_own = !is_of_client && state.own.contains_key(id);
            let objection = table.objection(id);
            (objection.or_else(|| is_own.then(|| format!("the id {id} is taken"))), state.client)
        };
        if let Some(why) = objection {
            self.0.judge.tell(&format!("the {}: {why}", from.name()));
            let id = self.unless_under_way(from, Some(id));
            return self.lane(from).put(message::error(id, INVALID_REQUEST, &why), None).await;
        }
        match self.0.judge.begin(id, &message, client, is_of_client) {
            Begun::Passed(expected) => {
                self.table(from, |table| table.insert(id.clone(), Stage::Sent(expected)));
                self.lane(from.other()).put(message.bytes, room).await;
            }
            Begun::Answered(answer) => self.lane(from).put(answer, None).await,
            Begun::Refused { answer, tool, why } => {
                let place = self.lane(from).place().await;
                let session = self.clone();
                tokio::spawn(async move {
                    session.0.judge.note_held_back(&[(tool, why.to_owned())], &|_| {}).await;
                    place.fill(answer, None);
                });
            }
            Begun::Asked(request) => {
                let place = self.lane(from.other()).place().await;
                let (session, own) = (self.clone(), id.clone());
                // The table is locked until the request is in it.
                self.table(from, |table| {
                    let one = session.0.asks.one();
                    let task = tokio::spawn(async move {
                        let _one = one;
                        session.ask(from, &own, request, place, room).await;
                    });
                    table.insert(id.clone(), Stage::Asked(task.abort_handle()));
                });
            }
        }
    }

    fn table<T>(&self, of: Side, with: impl FnOnce(&mut UnderWay) -> T) -> T {
        let mut state = self.state();
        with(if of == Side::Client { &mut state.of_client } else { &mut state.of_server })
    }

    async fn ask(&self, from: Side, id: &Id, request: crate::judge::Request, place: Place, room: Option<Room>) {
        let kept = HeldPlace::new(place, room);
        let waits = |_: u32| kept.takes_long.notify_one();
        let asks: Elicit<'_> = &|form| {
            kept.give_up();
            Box::pin(self.elicit(form))
        };
        let decision = kept.during(self.0.judge.ask(&request, &waits, asks)).await;
        match decision {
            Decision::Passed { bytes, expected } => {
                if self.table(from, |table| table.send(id, expected)) {
                    kept.fill(bytes, self.lane(from.other())).await;
                }
            }
            Decision::Answered(answer) => {
                self.table(from, |table| table.remove(id));
                self.lane(from).put(answer, None).await;
            }
        }
    }

    /// Passes on what a server says of a task by itself.
    async fn pushed_task(&self, message: Message, room: Option<Room>) {
        let place = self.0.to_client.place().await;
        let session = self.clone();
        let one = self.0.answers.one();
        tokio::spawn(async move {
            let _one = one;
            let kept = HeldPlace::new(place, room);
            let waits = |_: u32| kept.takes_long.notify_one();
            match kept.during(session.0.judge.pushed_task(&message, &waits)).await {
                Ok(bytes) => kept.fill(bytes, &session.0.to_client).await,
                Err(why) => session.0.judge.tell(&format!("the state of a task was not passed on: {why}")),
            }
        });
    }

    /// Asks the client's user by a request of our own.
    async fn elicit(&self, form: Value) -> Option<Value> {
        let (send, answer) = oneshot::channel();
        // Nobody else has an identifier like it.
        let id = format!("hookhost-{}", uuid::Uuid::now_v7());
        let own = Own { session: self, id: Id::Text(id.clone()) };
        self.state().own.insert(own.id.clone(), send);
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": Method::Elicit.name(), "params": form });
        self.0.to_client.put(Bytes::from(request.to_string()), None).await;
        timeout(FOR_A_PERSON, answer).await.ok()?.ok()
    }

    async fn response(&self, from: Side, id: &Id, message: Message, room: Option<Room>) {
        if from == Side::Client
            && let Some(own) = self.state().own.remove(id)
        {
            let _ = own.send(message.members.value("result").unwrap_or_default());
            return;
        }
        let Some(expected) = self.table(from.other(), |table| table.answered(id)) else {
            self.0.judge.tell(&format!("the {} answered {id}, which nobody asked: it was not passed on", from.name()));
            return;
        };
        match expected {
            Expected::Anything | Expected::Subscription { .. } => {
                self.lane(from.other()).put(message.bytes, room).await;
            }
            Expected::Capabilities => {
                let tells = message.members.value("result");
                let tells = tells.as_ref().and_then(|result| result.pointer("/capabilities/tools/listChanged"));
                self.state().tells_changes = tells == Some(&Value::Bool(true));
                self.lane(from.other()).put(message.bytes, room).await;
            }
            expected => {
                let place = self.lane(from.other()).place().await;
                let (session, id) = (self.clone(), id.clone());
                let one = self.0.answers.one();
                tokio::spawn(async move {
                    let _one = one;
                    let kept = HeldPlace::new(place, room);
                    let waits = |_: u32| kept.takes_long.notify_one();
                    let answer = kept.during(session.0.judge.answer(&id, &expected, &message, &waits)).await;
                    if matches!(expected, Expected::Listing { .. }) {
                        let changes = session.0.judge.listing_changes();
                        session.state().listing_changes = changes;
                    }
                    kept.fill(answer, session.lane(from.other())).await;
                });
            }
        }
    }

    /// Gives up a request that the other side has not seen; `false` where it has: then it gets the cancellation.
    fn cancelled(&self, from: Side, message: &Message) -> bool {
        let Some(id) = subscription::cancelled(message) else { return false };
        if from == Side::Server && !self.table(from, |table| table.has(&id)) {
            self.table(Side::Client, |table| table.end_subscription(&id));
            return false;
        }
        self.table(from, |table| table.cancel(&id))
    }

    /// Answers what the server will not answer any more.
    async fn answer_what_is_left(&self) {
        let left = self.table(Side::Client, UnderWay::take);
        for id in left {
            let why = format!("the MCP server {} has ended before it answered", self.0.judge.server);
            self.0.to_client.put(message::error(Some(&id), INTERNAL_ERROR, &why), None).await;
        }
    }

    /// Tells the client when a listing could differ from the last one.
    async fn watch_approvals(&self) {
        let mut look = interval(LOOK_INTERVAL);
        loop {
            look.tick().await;
            let changes = self.0.judge.listing_changes();
            let told = {
                let mut state = self.state();
                if std::mem::replace(&mut state.listing_changes, changes) == changes {
                    continue;
                }
                let subscribers = state.of_client.subscribers();
                let tagged = subscribers.iter().map(subscription::tools_changed);
                let told = state.tells_changes.then(|| Bytes::from_static(subscription::TOOLS_CHANGED.as_bytes()));
                told.into_iter().chain(tagged).collect::<Vec<_>>()
            };
            for changed in told {
                self.0.to_client.put(changed, None).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, HeldPlace, Instant, MAX_UNREADABLE, Unreadables};
    use crate::lane::Lane;
    use bytes::Bytes;

    #[test]
    fn of_many_unreadable_lines_some_are_told_and_the_rest_are_counted() {
        let (mut lines, start) = (Unreadables::default(), Instant::now());
        for _ in 0..MAX_UNREADABLE.0 {
            assert_eq!(lines.next(start), Some(0));
        }
        for _ in 0..500 {
            assert_eq!(lines.next(start), None);
        }
        assert_eq!(lines.next(start + Duration::from_secs(11)), Some(500));
        assert_eq!(lines.next(start + Duration::from_secs(12)), None);
    }

    #[tokio::test]
    async fn what_takes_long_gives_its_place_up_and_comes_nevertheless() {
        let (lane, exit) = Lane::new();
        let slow = HeldPlace::new(lane.place().await, None);
        let quick = HeldPlace::new(lane.place().await, None);
        slow.takes_long.notify_one();
        slow.during(async {
            while slow.place.lock().unwrap().is_some() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
        quick.takes_long.notify_one();
        quick.during(async {}).await;
        slow.fill(Bytes::from_static(b"slow"), &lane).await;
        quick.fill(Bytes::from_static(b"quick"), &lane).await;
        lane.end().await;
        let mut written = Vec::new();
        exit.write(&mut written).await.unwrap();
        assert_eq!(written, b"quick\nslow\n");
    }
}
