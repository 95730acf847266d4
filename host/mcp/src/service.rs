//! A service that speaks streamable HTTP, as a server that speaks lines: each message is a request of its own, and what it is
//! answered with are lines.

use crate::events::Events;
use crate::mirrored::{Annotated, TOO_MANY};
use crate::subscription::{self, LISTEN, cancelled};
use bytes::{Bytes, BytesMut};
use hookhost_relay::lines::{self, Line};
use hookhost_relay::message::{self, INTERNAL_ERROR, Id, Kind, MAX_BYTES, Message};
use hookhost_relay::unreadable::beginning;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method, Response, StatusCode, Url, redirect};
use serde_json::Value;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncWriteExt as _, BufReader, DuplexStream, duplex};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};

/// How long a connection may take.
const TO_CONNECT: Duration = Duration::from_secs(10);

/// How long a message may take that nobody waits for.
const FOR_A_NOTIFICATION: Duration = Duration::from_secs(30);

/// How long the service may take to answer the request for its stream, before other requests are sent.
const FOR_A_STREAM: Duration = Duration::from_millis(500);

/// How long the end of a session may take.
const FOR_THE_END: Duration = Duration::from_secs(2);

/// The first and the longest pause before a stream of the service is opened again.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// How often in a row a stream may end without an event before it is given up.
const MAX_SILENT: u32 = 5;

/// The shortest pause before a stream is asked for again, whatever the service says.
const MIN_PAUSE: Duration = Duration::from_millis(100);

/// How long it may take to begin another session: all messages wait meanwhile.
const FOR_A_SESSION: Duration = Duration::from_secs(30);

/// Upper bound of the lines on their way to the proxy.
const MAX_LINES: usize = 16;

/// An answer of more bytes than that is large: 256 KiB.
const LARGE: usize = 256 * 1024;

/// Upper bound of the large answers that are taken in at once.
const MAX_LARGE: usize = 4;

/// How much of a message may be on its way between both, in bytes.
const BUFFER: usize = 256 * 1024;

pub(crate) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
pub(crate) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// Why there is no way to a service.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// The address is no web address.
    #[error("{0:?} is no http or https address")]
    Address(String),
    /// The address has a user's name or password in it.
    #[error("the address has a name or password before the `@`: name the variable of a key instead")]
    UserInAddress,
    /// A key would travel in the clear.
    #[error("a key for {0} could be read on the way: use https")]
    InTheClear(String),
    /// A header cannot be one.
    #[error("the value of a header has characters that it cannot have")]
    Header,
    /// A header has no name that it can have.
    #[error("{0:?} cannot be the name of a header")]
    HeaderName(String),
    /// The client cannot be made.
    #[error("there is no HTTP client: {0}")]
    Client(#[from] reqwest::Error),
}

/// A service.
#[derive(Clone, Debug)]
pub struct Service(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    url: Url,
    client: Client,
    headers: HeaderMap,
    shared: Shared,
    state: Mutex<State>,
    output: Mutex<Option<mpsc::Sender<Bytes>>>,
    /// Held while another session is begun.
    renewing: tokio::sync::Mutex<()>,
    /// Notified when the service knows that the client has begun.
    begun: Notify,
    /// Notified when the service has taken or refused the stream on which it can say something by itself.
    listens: Notify,
}

/// What all sessions have in common.
#[derive(Clone, Debug)]
struct Shared {
    /// What its listings say of headers, in whatever session they came.
    annotated: Arc<Mutex<Annotated>>,
    tell: Tell,
    /// Room for answers that are large.
    large: Arc<Semaphore>,
}

/// Says something to the user.
#[derive(Clone)]
struct Tell(Arc<dyn Fn(&str) + Send + Sync>);

impl fmt::Debug for Tell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tell(…)")
    }
}

#[derive(Debug, Default)]
struct State {
    session: Option<HeaderValue>,
    version: Option<HeaderValue>,
    /// The request with which the session began.
    hello: Option<Message>,
    stateless: HashMap<Id, AbortHandle>,
    /// The last status that says more of an error than its code, and the request that it is about.
    refusal: Option<(Id, StatusCode)>,
    /// Those among them, and among others, that last until somebody ends them.
    subscriptions: HashMap<Id, AbortHandle>,
    listening: Option<AbortHandle>,
    serving: Option<AbortHandle>,
}

/// A response to a message.
struct Posted {
    response: Response,
    /// The session in which the message was posted, unless that has just begun.
    session: Option<HeaderValue>,
}

/// An answer to a request.
struct Answered {
    message: Message,
    /// The session that it begins.
    session: Option<HeaderValue>,
    /// Its room where it is large.
    room: Option<OwnedSemaphorePermit>,
}

/// Headers that say how a message is sent: nobody sets them but the transport.
const OF_TRANSPORT: &[&str] =
    &["accept", "connection", "content-length", "content-type", "host", "last-event-id", "transfer-encoding"];

impl Service {
    /// The service at this address, which gets this key as `Authorization: Bearer …`, and these headers. One that says how a message
    /// is sent is left out. `tell` says something to the user.
    ///
    /// # Errors
    /// If it is no such address, a header cannot be one, or the key or a header could be read on the way.
    pub fn new(
        address: &str,
        key: Option<&str>,
        more: &[(String, String)],
        tell: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Self, ServiceError> {
        let url = Url::parse(address).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let url = url.ok_or_else(|| ServiceError::Address(address.to_owned()))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(ServiceError::UserInAddress);
        }
        let mut headers = HeaderMap::new();
        for (name, value) in more {
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| ServiceError::HeaderName(name.clone()))?;
            if OF_TRANSPORT.contains(&name.as_str()) || name.as_str().starts_with("mcp-") {
                continue;
            }
            let mut value = HeaderValue::from_str(value).map_err(|_| ServiceError::Header)?;
            value.set_sensitive(true);
            headers.append(name, value);
        }
        if (key.is_some() || !headers.is_empty()) && url.scheme() != "https" && !is_loopback(&url) {
            return Err(ServiceError::InTheClear(url.origin().ascii_serialization()));
        }
        if let Some(key) = key {
            let mut value = HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_| ServiceError::Header)?;
            value.set_sensitive(true);
            headers.insert(reqwest::header::AUTHORIZATION, value);
        }
        if rustls::crypto::CryptoProvider::get_default().is_none() {
            // Where another thread was faster, there is one.
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        // A redirection would take the key along.
        let client = Client::builder().redirect(redirect::Policy::none()).connect_timeout(TO_CONNECT);
        // A proxy of HTTP is another machine.
        let client = if is_loopback(&url) { client.no_proxy() } else { client };
        let shared = Shared {
            annotated: Arc::default(),
            tell: Tell(Arc::new(tell)),
            large: Arc::new(Semaphore::new(MAX_LARGE)),
        };
        Ok(Self::over(url, client.build()?, headers, shared))
    }

    /// The same service in a session of its own.
    #[must_use]
    pub fn another(&self) -> Self {
        let Inner { url, client, headers, shared, .. } = &*self.0;
        Self::over(url.clone(), client.clone(), headers.clone(), shared.clone())
    }

    fn over(url: Url, client: Client, headers: HeaderMap, shared: Shared) -> Self {
        let (state, output, renewing) = Default::default();
        let (begun, listens) = (Notify::new(), Notify::new());
        Self(Arc::new(Inner { url, client, headers, shared, state, output, renewing, begun, listens }))
    }

    /// The status with which the service has refused a request that needs no session, where that was the last one.
    pub(crate) fn refusal(&self, id: &Id) -> Option<StatusCode> {
        self.state().refusal.take().filter(|(of, _)| of == id).map(|(_, status)| status)
    }

    /// What headers have to say about a request.
    pub(crate) fn annotated(&self) -> MutexGuard<'_, Annotated> {
        self.0.shared.annotated.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the service says as lines, and where it is told lines. To be called within the runtime.
    #[must_use]
    pub fn connect(&self) -> (DuplexStream, DuplexStream) {
        let (output, theirs) = duplex(BUFFER);
        let (input, told) = duplex(BUFFER);
        let service = self.clone();
        let (send, lines) = mpsc::channel(MAX_LINES);
        *self.output() = Some(send);
        // Alone it writes: a request that is given up while it is writing would leave half of a line.
        tokio::spawn(write(lines, theirs));
        let serving = tokio::spawn(async move { service.serve(told).await });
        self.state().serving = Some(serving.abort_handle());
        (output, input)
    }

    /// Gives up all requests: the end of their connections tells the service.
    pub fn abandon(&self) {
        let mut state = self.state();
        let tasks = [state.serving.take(), state.listening.take()];
        tasks.into_iter().flatten().for_each(|task| task.abort());
        drop(state);
        *self.output() = None;
    }

    fn output(&self) -> MutexGuard<'_, Option<mpsc::Sender<Bytes>>> {
        self.0.output.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn serve(&self, told: DuplexStream) {
        let mut reader = BufReader::new(told);
        let mut requests = JoinSet::new();
        loop {
            let read = match lines::next(&mut reader).await {
                Ok(Line::Whole(line)) => Message::of(line),
                Ok(Line::TooLong { head, tail }) => Err(message::too_long(&head, &tail)),
                Ok(Line::End) | Err(_) => break,
            };
            while requests.try_join_next().is_some() {}
            let message = match read {
                Ok(message) => message,
                // A plugin has changed it to what cannot be sent.
                Err(refused) => {
                    if let Some(id) = refused.id.as_ref().filter(|_| !refused.is_answer) {
                        let why = format!("the request cannot be passed on: {refused}");
                        self.say(message::error(Some(id), INTERNAL_ERROR, &why)).await;
                    }
                    // The service waits for the answer.
                    for id in refused.answered() {
                        let why = format!("the answer cannot be passed on: {refused}");
                        if let Ok(error) = Message::of(message::error(Some(id), INTERNAL_ERROR, &why)) {
                            let _ = timeout(FOR_A_NOTIFICATION, self.post(&error)).await;
                        }
                    }
                    continue;
                }
            };
            let service = self.clone();
            if self.has_given_up(&message).await {
                continue;
            }
            match &message.kind {
                Kind::Request { id, .. } => {
                    let (id, is_stateless) = (id.clone(), is_stateless(&message));
                    let is_subscription = message.method() == Some(LISTEN);
                    let own = id.clone();
                    // The table is locked until the request is in it.
                    let mut state = self.state();
                    let task = requests.spawn(async move { service.request(&own, message).await });
                    if is_subscription {
                        state.subscriptions.insert(id.clone(), task.clone());
                    }
                    if is_stateless {
                        state.stateless.insert(id, task);
                    }
                }
                // One after the other: what comes next may depend on it.
                _ => {
                    let _ = timeout(FOR_A_NOTIFICATION, service.post(&message)).await;
                    if message.method() == Some("notifications/initialized") {
                        service.0.begun.notify_one();
                        // What the service asks from here on finds the stream there.
                        let _ = timeout(FOR_A_STREAM, service.0.listens.notified()).await;
                    }
                }
            }
        }
        // A subscription would last as long as the service does.
        self.state().subscriptions.drain().for_each(|(_, subscription)| subscription.abort());
        while requests.join_next().await.is_some() {}
        self.end().await;
    }

    /// Gives up a request whose answer is a stream, where this message cancels one: the end of the stream tells the service.
    async fn has_given_up(&self, message: &Message) -> bool {
        let Some(id) = cancelled(message) else { return false };
        let (task, is_subscription) = {
            let mut state = self.state();
            let is_subscription = state.subscriptions.remove(&id).is_some();
            (state.stateless.remove(&id), is_subscription)
        };
        let Some(task) = task else { return false };
        let has_ended = task.is_finished();
        task.abort();
        if is_subscription && !has_ended {
            // No answer comes any more: the client can use the identifier again.
            self.say(subscription::ended(&id)).await;
        }
        true
    }

    async fn request(&self, id: &Id, message: Message) {
        let answered = self.answered(id, &message).await;
        {
            let mut state = self.state();
            state.stateless.remove(id);
            state.subscriptions.remove(id);
        }
        if let Err(why) = answered {
            self.say(message::error(Some(id), INTERNAL_ERROR, &why)).await;
        }
    }

    async fn answered(&self, id: &Id, message: &Message) -> Result<(), String> {
        let Posted { response, session } = self.post(message).await?;
        let answer = self.answer(id, message, response).await?;
        let Some(Answered { message: answer, session: begun, room: _room }) = answer else { return Ok(()) };
        let lost = session.filter(|_| is_of_forgotten_session(&answer));
        if let Some(lost) = lost
            && self.is_renewed(&lost).await?
            && !can_have_run(message, &answer)
        {
            let session = self.state().session.clone();
            let response = self.post_in(session.as_ref(), message).await?;
            return match self.answer(id, message, response).await? {
                Some(Answered { message: answer, session, room: _room }) => {
                    self.pass_on(message, answer, session).await;
                    Ok(())
                }
                None => Ok(()),
            };
        }
        self.pass_on(message, answer, begun).await;
        Ok(())
    }

    /// Takes up an answer and passes it on.
    async fn pass_on(&self, request: &Message, answer: Message, session: Option<HeaderValue>) {
        self.learn(request, &answer, session);
        self.say(answer.bytes).await;
    }

    /// The answer to a request in a response. `None` where the response has ended it otherwise.
    async fn answer(&self, id: &Id, message: &Message, response: Response) -> Result<Option<Answered>, String> {
        let status = response.status();
        if is_stream(response.headers()) && status.is_success() {
            return self.stream(response, Some((id, message))).await;
        }
        let session = response.headers().get(SESSION).cloned();
        let (body, room) = self.body(response).await?;
        let shown = beginning(&body);
        // An error can be an answer of the protocol as well.
        match Message::of(lines::without_mark(body)) {
            Ok(answer) if is_answer_to(id, &answer) => {
                if is_stateless(message) && matches!(status, StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND) {
                    self.state().refusal = Some((id.clone(), status));
                }
                Ok(Some(Answered { message: answer.with_id(id), session, room }))
            }
            _ if !status.is_success() => Err(format!("the service answered {status}: {shown}")),
            Ok(_) => Err("the service answered another request".to_owned()),
            Err(why) => Err(format!("the service's answer cannot be passed on: {why}: {shown}")),
        }
    }

    /// Posts a message. Where the service says before it has looked at the message that it has forgotten the session, another one is
    /// begun, as the client began it, and the message is posted once more.
    async fn post(&self, message: &Message) -> Result<Posted, String> {
        if is_stateless(message) {
            return Ok(Posted { response: self.post_in(None, message).await?, session: None });
        }
        let session = {
            // Where another session is being begun, this belongs to that one.
            let _renewing = self.0.renewing.lock().await;
            self.state().session.clone()
        };
        let response = self.post_in(session.as_ref(), message).await?;
        let Some(lost) = session else { return Ok(Posted { response, session: None }) };
        let (is_forgotten, response) = match response.status() {
            StatusCode::NOT_FOUND => (true, response),
            // Many services answer so, although the protocol wants the other one.
            StatusCode::BAD_REQUEST => self.looked_into(message, response).await?,
            _ => (false, response),
        };
        if !is_forgotten || !self.is_renewed(&lost).await? {
            return Ok(Posted { response, session: Some(lost) });
        }
        let session = self.state().session.clone();
        Ok(Posted { response: self.post_in(session.as_ref(), message).await?, session: None })
    }

    /// Whether a response that refuses a message says that the service does not know the session; and the response. An answer of the
    /// protocol comes from what the service runs, and not from what keeps its sessions.
    async fn looked_into(&self, message: &Message, response: Response) -> Result<(bool, Response), String> {
        let mut again = hyper::http::Response::new(());
        *again.status_mut() = response.status();
        *again.headers_mut() = response.headers().clone();
        let (body, _room) = self.body(response).await?;
        let is_answer =
            |answer: Message| matches!(&message.kind, Kind::Request { id, .. } if is_answer_to(id, &answer));
        let is_forgotten =
            is_about_session(&String::from_utf8_lossy(&body)) && !Message::of(body.clone()).is_ok_and(is_answer);
        Ok((is_forgotten, again.map(|()| body).into()))
    }

    /// Begins another session in the place of this one, which the service has forgotten.
    async fn is_renewed(&self, lost: &HeaderValue) -> Result<bool, String> {
        let renewed = timeout(FOR_A_SESSION, self.renewed(lost)).await;
        renewed.map_err(|_| "the service does not begin another session".to_owned())?
    }

    /// Begins a session in place of one that the service has forgotten; `false` where it refuses. The forgotten one stays until
    /// there is another: the next message tries it again.
    async fn renewed(&self, forgotten: &HeaderValue) -> Result<bool, String> {
        let _one = self.0.renewing.lock().await;
        let hello = {
            let state = self.state();
            // Another request has renewed it.
            if state.session.as_ref() != Some(forgotten) {
                return Ok(true);
            }
            state.hello.clone()
        };
        let Some(hello) = hello else { return Ok(false) };
        let response = self.post_in(None, &hello).await?;
        if !response.status().is_success() {
            return Ok(false);
        }
        let session = response.headers().get(SESSION).cloned();
        if !is_stream(response.headers()) {
            let (answer, _room) = self.body(response).await?;
            if Message::of(answer).is_ok_and(|answer| answer.members.get("error").is_some()) {
                return Ok(false);
            }
        }
        let begun = Bytes::from_static(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        let begun = Message::of(begun).map_err(|error| error.to_string())?;
        if !self.post_in(session.as_ref(), &begun).await?.status().is_success() {
            return Ok(false);
        }
        let mut state = self.state();
        state.session = session;
        self.start_listening(&mut state);
        self.0.begun.notify_one();
        Ok(true)
    }

    async fn post_in(&self, session: Option<&HeaderValue>, message: &Message) -> Result<Response, String> {
        let mut request = self.0.client.post(self.0.url.clone()).headers(self.0.headers.clone());
        request =
            request.header(CONTENT_TYPE, "application/json").header(ACCEPT, "application/json, text/event-stream");
        {
            let state = self.state();
            if let Some(session) = session {
                request = request.header(SESSION, session);
            }
            if let Some(version) = version(message).or_else(|| state.version.clone()) {
                request = request.header(VERSION, version);
            }
            if is_stateless(message) {
                request = request.headers(mirrored(&self.annotated(), message)?);
            }
        }
        let sent = request.body(message.bytes.clone()).send().await;
        sent.map_err(|error| format!("the service cannot be reached: {}", cause(&error)))
    }

    /// Passes the messages of a stream on. One that answers a request ends with its answer, which is returned; until then it is asked for again where
    /// it says how it continues.
    async fn stream(&self, mut response: Response, asked: Option<(&Id, &Message)>) -> Result<Option<Answered>, String> {
        let session = response.headers().get(SESSION).cloned();
        let mut events = Events::default();
        // How often it ended in a row without an event.
        let mut silent = 0;
        loop {
            let part = response.chunk().await;
            let Ok(Some(part)) = part else {
                let broken = match &part {
                    Err(error) => format!("the service's answer broke off: {}", cause(error)),
                    _ => "the service ended its answer too early".to_owned(),
                };
                let Some(last) = events.last_id().map(str::to_owned) else {
                    return if asked.is_some() { Err(broken) } else { Ok(None) };
                };
                silent += 1;
                if silent > MAX_SILENT {
                    return Err(broken);
                }
                sleep(events.retry().unwrap_or(PAUSES.0).clamp(MIN_PAUSE, PAUSES.1)).await;
                response = self.get(Some(&last)).await.map_err(|_| broken.clone())?;
                if !response.status().is_success() {
                    return Err(broken);
                }
                continue;
            };
            for data in events.take(&part).map_err(|error| error.to_string())? {
                silent = 0;
                // What is read here is what the proxy reads: an event's lines are one line of it.
                let data = message::on_one_line(data);
                let message = match Message::of(data.clone()) {
                    Ok(message) => message,
                    // What waits for this answer would wait for ever.
                    Err(why) if asked.is_some_and(|(id, _)| why.answered().any(|of| of == id)) => {
                        return Err(format!("the service's answer cannot be passed on: {why}"));
                    }
                    Err(why) if why.is_answer => continue,
                    // The proxy refuses it, and says so.
                    Err(why) => {
                        // Answers in it are to requests of other streams: as far as this one goes, the batch has none.
                        let has_answers = why.answered().next().is_some();
                        self.say(if has_answers { Bytes::from_static(b"[]") } else { data }).await;
                        continue;
                    }
                };
                match (&message.kind, asked) {
                    (Kind::Response { .. }, Some((id, _))) if is_answer_to(id, &message) => {
                        return Ok(Some(Answered { message: message.with_id(id), session, room: None }));
                    }
                    // Of another request: nobody has asked here.
                    (Kind::Response { .. } | Kind::ErrorAboutNoRequest, _) => {}
                    // Nothing more comes on it: the service has ended a subscription by itself.
                    (Kind::Notification { .. }, Some((id, request)))
                        if request.method() == Some(LISTEN) && cancelled(&message).as_ref() == Some(id) =>
                    {
                        self.say(message.bytes).await;
                        return Ok(None);
                    }
                    // It would end the subscription of another stream.
                    (Kind::Notification { .. }, _)
                        if cancelled(&message).is_some_and(|id| self.state().subscriptions.contains_key(&id)) => {}
                    _ => self.say(message.bytes).await,
                }
            }
        }
    }

    /// Takes up what an answer says about later requests.
    fn learn(&self, request: &Message, answer: &Message, session: Option<HeaderValue>) {
        let is_beginning = request.method() == Some("initialize");
        if !is_beginning && request.method() != Some("tools/list") {
            return;
        }
        let Some(result) = answer.members.value("result") else { return };
        if !is_beginning {
            let cursor = request.params().unwrap_or_default().text("cursor");
            if self.annotated().take_up(&result, cursor.as_deref()) {
                (self.0.shared.tell.0)(
                    "the service's listing has more arguments with headers of their own than the proxy keeps (8 MiB): some tools \
                     are left out, and requests of revision 2026-07-28 cannot call them",
                );
            }
            return;
        }
        let mut state = self.state();
        state.hello = Some(request.clone());
        let version = result.get("protocolVersion").and_then(Value::as_str);
        state.version = version.and_then(|version| HeaderValue::from_str(version).ok());
        state.session = session;
        self.start_listening(&mut state);
    }

    fn start_listening(&self, state: &mut State) {
        let service = self.clone();
        let listening = tokio::spawn(async move { service.listen().await }).abort_handle();
        if let Some(earlier) = state.listening.replace(listening) {
            earlier.abort();
        }
    }

    /// What the service says without being asked, where it has a stream for that.
    async fn listen(&self) {
        let mut pause = PAUSES.0;
        // The service may not take it before it is told that the client has begun.
        let _ = timeout(pause, self.0.begun.notified()).await;
        loop {
            let got = self.get(None).await;
            self.0.listens.notify_one();
            match got {
                Ok(response) if response.status().is_success() => {
                    pause = PAUSES.0;
                    let _ = self.stream(response, None).await;
                }
                Ok(response) if response.status().is_client_error() => return,
                _ => pause = (pause * 2).min(PAUSES.1),
            }
            sleep(pause).await;
        }
    }

    /// Asks for a stream, or for the rest of one after an event.
    async fn get(&self, after: Option<&str>) -> reqwest::Result<Response> {
        let mut request = self.0.client.get(self.0.url.clone()).headers(self.0.headers.clone());
        request = request.header(ACCEPT, "text/event-stream");
        if let Some(after) = after.and_then(|after| HeaderValue::from_str(after).ok()) {
            request = request.header(LAST_EVENT, after);
        }
        {
            let state = self.state();
            for (name, value) in [(SESSION, &state.session), (VERSION, &state.version)] {
                if let Some(value) = value {
                    request = request.header(name, value);
                }
            }
        }
        request.send().await
    }

    async fn say(&self, bytes: Bytes) {
        let output = self.output().clone();
        if let Some(output) = output {
            // Nobody reads it any more.
            let _ = output.send(bytes).await;
        }
    }

    /// Tells the service that the session is over, where one has begun. It waits a moment for that.
    pub async fn end(&self) {
        let (session, version) = {
            let mut state = self.state();
            if let Some(listening) = state.listening.take() {
                listening.abort();
            }
            (state.session.take(), state.version.take())
        };
        if let Some(session) = session {
            let mut request = self.0.client.request(Method::DELETE, self.0.url.clone()).headers(self.0.headers.clone());
            request = request.header(SESSION, session);
            if let Some(version) = version {
                request = request.header(VERSION, version);
            }
            let _ = timeout(FOR_THE_END, request.send()).await;
        }
        *self.output() = None;
    }

    /// The body of an answer, as far as a message may be long, and its room where it is large.
    async fn body(&self, mut response: Response) -> Result<(Bytes, Option<OwnedSemaphorePermit>), String> {
        let (mut body, mut room) = (BytesMut::new(), None);
        loop {
            let part =
                response.chunk().await.map_err(|error| format!("the service's answer broke off: {}", cause(&error)))?;
            let Some(part) = part else { return Ok((body.freeze(), room)) };
            if body.len() + part.len() > MAX_BYTES {
                return Err(format!("the service's answer has more than {MAX_BYTES} bytes"));
            }
            if room.is_none() && body.len() + part.len() > LARGE {
                room = Arc::clone(&self.0.shared.large).acquire_owned().await.ok();
            }
            body.extend_from_slice(&part);
        }
    }
}

/// Whether a message answers the request of this identifier. In the response to it, there is no other one.
fn is_answer_to(id: &Id, message: &Message) -> bool {
    let Kind::Response { id: of } = &message.kind else { return false };
    of == id || of.of_other_type().as_ref() == Some(id)
}

/// What services say of a session that they do not know, each as words of a text in lower case.
const UNKNOWN_SESSION: &[&[&str]] = &[
    &["session", "not found"],
    &["session", "invalid"],
    &["session", "no valid"],
    &["session", "unknown"],
    &["session", "expired"],
    &["session", "terminated"],
    &["session", "missing"],
    &["session", "required"],
    &["session", "not exist"],
    &["session", "no such"],
    &["no active session"],
    &["not initialized"],
];

/// Longest text that says of a session that it is not known, in bytes.
const MAX_REFUSAL: usize = 1024;

/// Whether a text says that the service does not know the session.
fn is_about_session(text: &str) -> bool {
    let text = text.to_lowercase();
    text.len() <= MAX_REFUSAL && UNKNOWN_SESSION.iter().any(|words| words.iter().all(|word| text.contains(word)))
}

/// Whether an answer is an error that says that the service does not know the session.
fn is_of_forgotten_session(answer: &Message) -> bool {
    let error = answer.members.value("error");
    let text = error.as_ref().and_then(|error| error.get("message")?.as_str());
    text.is_some_and(is_about_session)
}

/// Methods that change nothing, so that they can be asked once more.
const READING: &[&str] = &[
    "ping",
    "tools/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "prompts/list",
    "prompts/get",
    "completion/complete",
];

/// Whether a request that was answered with this error can have changed something: a tool can know sessions of its own, such as that
/// of a browser. An error that says that the request is none comes before anything runs.
fn can_have_run(request: &Message, error: &Message) -> bool {
    let code = error.members.value("error").and_then(|error| error.get("code")?.as_i64());
    !request.method().is_some_and(|method| READING.contains(&method)) && code != Some(message::INVALID_REQUEST)
}

/// Writes lines, each whole, until nobody says or reads any more.
async fn write(mut lines: mpsc::Receiver<Bytes>, mut output: DuplexStream) {
    while let Some(bytes) = lines.recv().await {
        let mut line = message::on_one_line(bytes).to_vec();
        line.push(b'\n');
        if output.write_all(&line).await.is_err() {
            return;
        }
    }
}

/// Whether an answer comes as events. Case does not count in a media type.
fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("text/event-stream"))
}

/// The headers that say again what a request says.
fn mirrored(annotated: &Annotated, message: &Message) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (name, value) in annotated.headers(message)? {
        let cannot =
            |_| "an argument with a header of its own has a name or a value that no header can have".to_owned();
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| cannot(()))?;
        let value = HeaderValue::from_str(&value).map_err(|_| cannot(()))?;
        // A table that is full would end the task.
        headers.try_append(name, value).map_err(|_| TOO_MANY)?;
    }
    Ok(headers)
}

/// The revision that a request says itself.
pub(crate) fn revision(message: &Message) -> Option<String> {
    let meta = message.params().ok()?.value("_meta")?;
    meta.get("io.modelcontextprotocol/protocolVersion")?.as_str().map(str::to_owned)
}

fn version(message: &Message) -> Option<HeaderValue> {
    HeaderValue::from_str(&revision(message)?).ok()
}

fn is_stateless(message: &Message) -> bool {
    version(message).is_some()
}

fn is_loopback(url: &Url) -> bool {
    let Some(host) = url.host_str() else { return false };
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || address.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The innermost cause, which says the most.
fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::{BufReader, Line, MAX_BYTES, Service, lines};
    use tokio::io::AsyncWriteExt as _;

    #[tokio::test]
    async fn a_request_that_a_plugin_has_made_unsendable_is_an_error_and_the_next_one_is_taken() {
        // Nobody is there, and nobody is asked.
        let service = Service::new("http://127.0.0.1:9/mcp", None, &[], |_| {}).unwrap();
        let (output, mut input) = service.connect();
        let mut output = BufReader::new(output);
        let long =
            format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"x\",\"params\":[\"{}\"]}}\n", "x".repeat(MAX_BYTES));
        let twice = r#"{"jsonrpc":"2.0","id":8,"method":"x","params":{"a":1,"a":2}}"#;
        for (request, id) in [(long, 7), (format!("{twice}\n"), 8)] {
            input.write_all(request.as_bytes()).await.unwrap();
            let Ok(Line::Whole(answer)) = lines::next(&mut output).await else { panic!("no answer to {id}") };
            let answer: serde_json::Value = serde_json::from_slice(&answer).unwrap();
            assert_eq!(answer["id"], id);
            let why = answer["error"]["message"].as_str().unwrap();
            assert!(why.starts_with("the request cannot be passed on"), "{why}");
        }
    }
}
