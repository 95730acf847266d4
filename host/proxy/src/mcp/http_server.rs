//! HTTP front end: serves each streamable-HTTP client on loopback as a line-based client, in front of a service.
//!
//! Each session of a client has its own proxy and its own session with the service. A request that names its protocol revision needs
//! no session: it has a proxy of its own until it is answered.

use crate::jsonrpc::lines::{self, Line};
use crate::jsonrpc::message::{
    self, INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, Id, MAX_BYTES, Message, MessageKind, UnreadableMessage,
};
use crate::jsonrpc::relay::ServerStreams;
use crate::mcp::judge::Judge;
use crate::mcp::parameter_headers::{HeaderMismatch, MAX_HEADERS, header_mismatch};
use crate::mcp::proxy;
use crate::mcp::question_state::random;
use crate::mcp::request_headers;
use crate::mcp::service::{SESSION_HEADER, Service, VERSION_HEADER, revision};
use crate::mcp::sse::event;
use crate::mcp::subscription::{LISTEN, cancelled};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use bytes::Bytes;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use sha2::{Digest as _, Sha256};
use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::io::{AsyncWriteExt as _, BufReader, DuplexStream, duplex};
use tokio::net::TcpListener;
use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};

/// The path of the endpoint.
pub const PATH: &str = "/mcp";

/// Time that a client may take to send the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// Time that a service has to end after its client has closed.
const SERVICE_END_TIMEOUT: Duration = Duration::from_secs(10);

/// Time that the body of a request may take.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// Poll interval for the end of a session.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Maximum number of simultaneous connections.
const MAX_CONNECTIONS: usize = 256;

/// Maximum number of headers of a request: those of a tool's arguments, and others.
const MAX_REQUEST_HEADERS: usize = MAX_HEADERS + 100;

/// Maximum number of simultaneous sessions.
const MAX_SESSIONS: usize = 64;

/// Maximum number of queued messages for one stream of a client. A stream that the client does not read is dropped.
const MAX_MESSAGES: usize = 1024;

/// Maximum size of the bodies that are read at the same time, in KiB: 64 MiB.
const MAX_BODIES_KIB: u32 = 64 * 1024;

/// Maximum size of the queued messages for the streams of one client, in KiB: 32 MiB.
const MAX_QUEUED_KIB: u32 = 32 * 1024;

/// Maximum size of the messages kept for one client while it reads no stream, in bytes: 16 MiB.
const MAX_KEPT_BYTES: usize = MAX_BYTES;

/// Size of the pipes between the parts of a proxy, in bytes.
const PIPE_SIZE: usize = 256 * 1024;

/// The error code for a request whose headers contradict its body.
const HEADER_MISMATCH_CODE: i64 = -32_020;

/// The first revision whose requests name their revision.
const FIRST_STATELESS_REVISION: &str = "2026-07-28";

/// Creates the judge of a session.
pub type NewJudge = Box<dyn Fn() -> Result<Judge, String> + Send + Sync>;

/// The key that a client must bring as `Authorization: Bearer …`. Only its digest is kept.
#[derive(Clone, Copy)]
pub struct ClientKey([u8; 32]);

impl ClientKey {
    /// Creates the key.
    #[must_use]
    pub fn new(key: &str) -> Self {
        Self(Sha256::digest(key).into())
    }

    fn is_brought(self, headers: &HeaderMap) -> bool {
        let said = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        // Digests are compared, so that the time reveals nothing about the key.
        said.is_some_and(|said| Self::new(said.trim()).0 == self.0)
    }
}

impl std::fmt::Debug for ClientKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ClientKey(…)")
    }
}

/// The state that all connections share.
struct ServerShared {
    service: Service,
    judge: NewJudge,
    key: Option<ClientKey>,
    stateless: OnceCell<Arc<Judge>>,
    /// Room for bodies, in KiB.
    bodies: Semaphore,
    sessions: Mutex<HashMap<String, Arc<ClientSession>>>,
}

/// Serves clients until `stop` is ready, and then ends their sessions. If there is a key, each request must bring it.
pub async fn serve(
    listener: TcpListener,
    service: Service,
    judge: NewJudge,
    key: Option<ClientKey>,
    stop: impl Future<Output = ()>,
) {
    let (stateless, bodies) = (OnceCell::new(), Semaphore::new(MAX_BODIES_KIB as usize));
    let shared = Arc::new(ServerShared { service, judge, key, stateless, bodies, sessions: Mutex::default() });
    tokio::select! {
        never = accept(&listener, &shared) => match never {},
        () = stop => {}
    }
    let sessions: Vec<_> = shared.sessions().drain().map(|(_, session)| session).collect();
    let mut ends: JoinSet<()> = sessions.into_iter().map(ClientSession::end_whole).collect();
    while ends.join_next().await.is_some() {}
    if let Some(judge) = shared.stateless.get() {
        judge.end_session().await;
    }
}

async fn accept(listener: &TcpListener, shared: &Arc<ServerShared>) -> Infallible {
    let connections = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok(connection) = Arc::clone(&connections).acquire_owned().await else { continue };
        let Ok((stream, _)) = listener.accept().await else {
            // Typically too many files are open; some will be closed.
            sleep(Duration::from_millis(10)).await;
            continue;
        };
        // Answers are small, and the client waits for them.
        let _ = stream.set_nodelay(true);
        let shared = Arc::clone(shared);
        tokio::spawn(async move {
            let _connection = connection;
            let service = service_fn(|request| {
                let shared = Arc::clone(&shared);
                async move { Ok::<_, Infallible>(respond(&shared, request).await) }
            });
            let mut server = http1::Builder::new();
            server.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).max_headers(MAX_REQUEST_HEADERS);
            // An error means that the client has gone.
            let _ = server.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

type Answer = Response<ResponseBody>;

async fn respond(shared: &Arc<ServerShared>, request: Request<Incoming>) -> Answer {
    if let Some(name) = request_headers::repeated(request.headers()) {
        return text(
            StatusCode::BAD_REQUEST,
            &format!("the header {name} occurs twice: which of both counts is unclear\n"),
        );
    }
    // A page in a browser could reach this port under a host name of its own.
    if !request_headers::is_local(request.uri(), request.headers()) {
        return text(
            StatusCode::FORBIDDEN,
            "only programs of this machine are answered: `Host` or `Origin` is another one\n",
        );
    }
    if shared.key.is_some_and(|key| !key.is_brought(request.headers())) {
        let mut answer = text(StatusCode::UNAUTHORIZED, "bring the key that the proxy was started with\n");
        answer.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        return answer;
    }
    if request.uri().path() != PATH {
        return text(StatusCode::NOT_FOUND, "the endpoint is at /mcp\n");
    }
    let method = request.method().clone();
    match method {
        Method::POST => post(shared, request).await,
        Method::GET => match shared.session(request.headers()) {
            Ok(session) => session.listen(),
            Err(refused) => refused,
        },
        Method::DELETE => match shared.session(request.headers()) {
            Ok(session) => {
                session.end().await;
                text(StatusCode::OK, "")
            }
            Err(refused) => refused,
        },
        _ => text(StatusCode::METHOD_NOT_ALLOWED, "the endpoint takes POST, GET and DELETE\n"),
    }
}

async fn post(shared: &Arc<ServerShared>, request: Request<Incoming>) -> Answer {
    let (head, body) = request.into_parts();
    // A page in a browser can send other content types to foreign servers.
    if head.headers.get(CONTENT_TYPE).is_some_and(|kind| !request_headers::is_json(kind)) {
        return text(StatusCode::UNSUPPORTED_MEDIA_TYPE, "a message is application/json\n");
    }
    if body.size_hint().lower() > MAX_BYTES as u64 {
        return too_large();
    }
    let size = body.size_hint().upper().and_then(|size| usize::try_from(size).ok());
    let kib = u32::try_from(size.unwrap_or(MAX_BYTES).min(MAX_BYTES) / 1024 + 1).unwrap_or(MAX_BODIES_KIB);
    let taken_in = timeout(BODY_TIMEOUT, async {
        let room = shared.bodies.acquire_many(kib).await;
        (Limited::new(body, MAX_BYTES).collect().await, room)
    });
    let body = match taken_in.await {
        Ok((Ok(body), _)) => body.to_bytes(),
        Ok((Err(error), _)) if error.is::<LengthLimitError>() => {
            return too_large();
        }
        Ok((Err(error), _)) => return text(StatusCode::BAD_REQUEST, &format!("the message did not come: {error}\n")),
        Err(_) => return text(StatusCode::REQUEST_TIMEOUT, "the message did not come in time\n"),
    };
    let message = match Message::of(body.clone()) {
        Ok(message) => message,
        Err(bad) => {
            // The service waits for these answers; the proxy refuses and reports them. Other parts of a batch are refused below.
            if bad.answered().next().is_some()
                && let Ok(session) = shared.session(&head.headers)
            {
                let answers = if bad.is_answer { body } else { bad.answers_alone() };
                session.say(&answers).await;
            }
            return refused(StatusCode::BAD_REQUEST, bad.id.as_ref(), bad.code, &bad.why);
        }
    };
    drop(body);
    let id = match &message.kind {
        MessageKind::Request { id, .. } => Some(id.clone()),
        _ => None,
    };
    let header = |name: &str| head.headers.get(name).map(HeaderValue::as_bytes);
    let revision = revision(&message);
    let differs = match &revision {
        Some(revision) => header_mismatch(&shared.service.parameter_headers(), &message, revision, header),
        None if header(VERSION_HEADER.as_str())
            .is_some_and(|version| version >= FIRST_STATELESS_REVISION.as_bytes()) =>
        {
            let why =
                "the header mcp-protocol-version names a revision that `params._meta` of the request does not name";
            return refused(StatusCode::BAD_REQUEST, id.as_ref(), INVALID_PARAMS, why);
        }
        None => None,
    };
    // A tool that the client does not have requires no headers: naming them would reveal that the tool exists.
    if let Some(HeaderMismatch { why, is_of_tool }) = differs
        && !(is_of_tool && shared.stateless().await.is_ok_and(|judge| judge.lacks(&message)))
    {
        return refused(StatusCode::BAD_REQUEST, id.as_ref(), HEADER_MISMATCH_CODE, &why);
    }
    let session = if revision.is_some() {
        shared.for_one_request().await
    } else if message.method() == Some("initialize") {
        shared.new_session()
    } else {
        match shared.session(&head.headers) {
            Ok(session) => Ok(session),
            Err(refused) => return refused,
        }
    };
    let session = match session {
        Ok(session) => session,
        Err(why) => return refused(StatusCode::SERVICE_UNAVAILABLE, id.as_ref(), INTERNAL_ERROR, &why),
    };
    match id {
        Some(id) => session.request(&id, message, request_headers::accepts_events(&head.headers)).await,
        None => {
            let is_said = session.say(&message.bytes).await;
            if revision.is_some() {
                // The session was made for this message, which is on its way.
                tokio::spawn(session.end_whole());
            }
            if is_said { text(StatusCode::ACCEPTED, "") } else { no_session() }
        }
    }
}

impl ServerShared {
    fn sessions(&self) -> MutexGuard<'_, HashMap<String, Arc<ClientSession>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the session that a request names.
    #[expect(clippy::result_large_err, reason = "the answer is sent at once, and not handed on")]
    fn session(&self, headers: &HeaderMap) -> Result<Arc<ClientSession>, Answer> {
        let Some(named) = headers.get(SESSION_HEADER) else {
            let why = "the header mcp-session-id is missing: begin with `initialize`";
            return Err(refused(StatusCode::BAD_REQUEST, None, INVALID_REQUEST, why));
        };
        let session = named.to_str().ok().and_then(|named| self.sessions().get(named).cloned());
        session.ok_or_else(no_session)
    }

    /// Begins a session for a new client.
    fn new_session(self: &Arc<Self>) -> Result<Arc<ClientSession>, String> {
        {
            let mut sessions = self.sessions();
            if sessions.len() >= MAX_SESSIONS {
                // Ends the least recently used session: its client may have gone without notice.
                let unread = sessions.iter().filter(|(_, session)| !lock(&session.streams).is_read());
                let oldest = unread.min_by_key(|(_, session)| session.used_at()).map(|(id, _)| id.clone());
                let Some(oldest) = oldest.and_then(|id| sessions.remove(&id)) else {
                    return Err(format!("{MAX_SESSIONS} sessions are in use, and no more are taken"));
                };
                tokio::spawn(oldest.end_whole());
            }
        }
        // A client proves by this identifier that the session is its own.
        let id = BASE64.encode(random()?);
        let judge = Arc::new((self.judge)()?);
        let (shared, ended) = (Arc::downgrade(self), id.clone());
        let session = ClientSession::begin(Some(id.clone()), &self.service, Arc::clone(&judge), async move {
            judge.end_session().await;
            // Removing the session can drop it, which aborts this task.
            if let Some(shared) = shared.upgrade() {
                shared.sessions().remove(&ended);
            }
        });
        self.sessions().insert(id, Arc::clone(&session));
        Ok(session)
    }

    /// Returns the judge of the requests that belong to no session.
    async fn stateless(&self) -> Result<&Arc<Judge>, String> {
        self.stateless.get_or_try_init(async || (self.judge)().map(Arc::new)).await
    }

    /// Begins a proxy for one request without a session.
    async fn for_one_request(&self) -> Result<Arc<ClientSession>, String> {
        let judge = Arc::clone(self.stateless().await?);
        Ok(ClientSession::begin(None, &self.service, judge, async {}))
    }
}

/// A proxy for a session of a client, or for one request. Dropping it ends the proxy.
struct ClientSession {
    id: Option<String>,
    input: tokio::sync::Mutex<Option<DuplexStream>>,
    streams: Arc<Mutex<ClientStreams>>,
    used: Mutex<Instant>,
    service: Service,
    task: AbortHandle,
}

impl Drop for ClientSession {
    fn drop(&mut self) {
        self.task.abort();
        self.service.abandon();
    }
}

impl ClientSession {
    fn begin(
        id: Option<String>,
        service: &Service,
        judge: Arc<Judge>,
        at_the_end: impl Future<Output = ()> + Send + 'static,
    ) -> Arc<Self> {
        let (input, client_input) = duplex(PIPE_SIZE);
        let (client_output, output) = duplex(PIPE_SIZE);
        let service = service.another();
        let (server_output, server_input) = service.connect();
        let streams = Arc::new(Mutex::new(ClientStreams::new()));
        let deliveries = Arc::clone(&streams);
        let task = tokio::spawn(async move {
            let server = ServerStreams { output: server_output, input: server_input };
            let proxy = proxy::run(judge, (client_input, client_output), server, SERVICE_END_TIMEOUT);
            tokio::join!(proxy, deliver(output, &deliveries));
            // Drops the requests that are still open, since no more answers come.
            *lock(&deliveries) = ClientStreams { has_ended: true, ..ClientStreams::new() };
            at_the_end.await;
        });
        let (input, used) = (tokio::sync::Mutex::new(Some(input)), Mutex::new(Instant::now()));
        Arc::new(Self { id, input, streams, used, service, task: task.abort_handle() })
    }

    fn used_at(&self) -> Instant {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the session, and waits a moment until the service has been told.
    async fn end_whole(self: Arc<Self>) {
        let ended = async {
            self.end().await;
            while !self.task.is_finished() {
                sleep(POLL_INTERVAL).await;
            }
        };
        let _ = timeout(SERVICE_END_TIMEOUT, ended).await;
    }

    /// Hands a message to the proxy. Returns false if the proxy has ended.
    async fn say(&self, message: &[u8]) -> bool {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        let line = [&message::on_one_line(Bytes::copy_from_slice(message)), &b"\n"[..]].concat();
        match self.input.lock().await.as_mut() {
            Some(input) => input.write_all(&line).await.is_ok(),
            None => false,
        }
    }

    /// Closes the client's input to the proxy.
    async fn end(&self) {
        self.input.lock().await.take();
    }

    /// Answers a request: with its answer alone, or with events if another message comes first or the client accepts events.
    async fn request(self: Arc<Self>, id: &Id, message: Message, accepts_events: bool) -> Answer {
        let (send, mut messages) = mpsc::channel(MAX_MESSAGES);
        let token = message.params().ok().and_then(|params| Id::of(params.value("_meta")?.get("progressToken")?));
        let is_subscription = message.method() == Some(LISTEN);
        if !lock(&self.streams).open(OpenRequest { id: id.clone(), token, is_subscription, messages: send }) {
            let why = format!("the id {id} is that of a request that is under way");
            return refused(StatusCode::BAD_REQUEST, None, INVALID_REQUEST, &why);
        }
        if !self.say(&message.bytes).await {
            return no_session();
        }
        let is_beginning = message.method() == Some("initialize");
        // Frees the message's memory while its answer takes time.
        drop(message);
        let Some(first) = messages.recv().await else { return no_session() };
        let is_error = first.is_answer
            && Message::of(first.bytes.clone()).is_ok_and(|answer| answer.members.get("error").is_some());
        let of_service = self.service.refusal(id);
        let status = match (&self.id, first.is_answer) {
            (None, true) if is_error => of_service.unwrap_or_else(|| status_of(&first.bytes)),
            _ => StatusCode::OK,
        };
        // Without a session, the client could not resume a stream of events.
        let mut answer = if first.is_answer && (!accepts_events || self.id.is_none()) {
            let mut answer = Response::new(ResponseBody::of(first.bytes));
            *answer.status_mut() = status;
            answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            answer
        } else {
            // A request without a session ends with its stream.
            let keeps = self.id.is_none().then(|| Arc::clone(&self));
            let messages = (!first.is_answer).then_some(messages);
            stream(ResponseBody { first: Some(event(&first.bytes)), messages, keeps })
        };
        if is_beginning && is_error {
            // The client cannot use a session whose `initialize` failed.
            self.end().await;
        } else if is_beginning && let Some(id) = self.id.as_deref().and_then(|id| HeaderValue::from_str(id).ok()) {
            answer.headers_mut().insert(SESSION_HEADER, id);
        }
        answer
    }

    /// Opens the stream for messages that the service sends by itself.
    fn listen(&self) -> Answer {
        let (send, messages) = mpsc::channel(MAX_MESSAGES);
        lock(&self.streams).listen(send);
        stream(ResponseBody { first: None, messages: Some(messages), keeps: None })
    }
}

fn lock(streams: &Mutex<ClientStreams>) -> MutexGuard<'_, ClientStreams> {
    streams.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Hands a proxy's messages on to its client, until the proxy ends.
async fn deliver(output: DuplexStream, streams: &Mutex<ClientStreams>) {
    let mut reader = BufReader::new(output);
    loop {
        match lines::next(&mut reader).await {
            Ok(Line::Whole(line)) => match Message::of(line) {
                Ok(message) => lock(streams).deliver(message),
                Err(refused) => undeliverable(&refused, streams),
            },
            Ok(Line::TooLong { head, tail }) => undeliverable(&message::too_long(&head, &tail), streams),
            Ok(Line::End) | Err(_) => return,
        }
    }
}

/// Answers requests with an error if a plugin has made their answers invalid: their client waits for them.
fn undeliverable(refused: &UnreadableMessage, streams: &Mutex<ClientStreams>) {
    for id in refused.answered() {
        let error = message::error(Some(id), INTERNAL_ERROR, &format!("the answer cannot be passed on: {refused}"));
        if let Ok(error) = Message::of(error) {
            lock(streams).deliver(error);
        }
    }
}

/// A message to a client.
#[derive(Debug)]
struct Delivery {
    bytes: Bytes,
    /// True if the message ends its stream.
    is_answer: bool,
    /// Its share of the room, until it is read.
    _room: OwnedSemaphorePermit,
}

/// A request of the client that is not answered yet.
#[derive(Debug)]
struct OpenRequest {
    id: Id,
    token: Option<Id>,
    /// True if the service may end the request by a notification. Otherwise such an identifier is one of the service's own requests.
    is_subscription: bool,
    messages: mpsc::Sender<Delivery>,
}

/// The streams on which a client reads.
#[derive(Debug)]
struct ClientStreams {
    open_requests: Vec<OpenRequest>,
    listening: Option<mpsc::Sender<Delivery>>,
    /// Messages that arrived while no stream was open.
    kept: VecDeque<Bytes>,
    kept_bytes: usize,
    /// Room for queued messages, in KiB.
    room: Arc<Semaphore>,
    has_ended: bool,
}

impl ClientStreams {
    fn new() -> Self {
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

    /// Sends a message on a stream. Returns false if the stream is closed, or too many messages are queued.
    fn send(&self, to: &mpsc::Sender<Delivery>, bytes: Bytes, is_answer: bool) -> bool {
        let kib = u32::try_from(bytes.len() / 1024 + 1).unwrap_or(MAX_QUEUED_KIB).min(MAX_QUEUED_KIB);
        let room = Arc::clone(&self.room).try_acquire_many_owned(kib);
        room.is_ok_and(|room| to.try_send(Delivery { bytes, is_answer, _room: room }).is_ok())
    }

    /// Adds a request. Returns false if its identifier is taken.
    fn open(&mut self, request: OpenRequest) -> bool {
        if self.open_requests.iter().any(|known| known.id == request.id) {
            return false;
        }
        // After the end the request's sender is dropped, which ends its stream.
        if !self.has_ended {
            self.open_requests.push(request);
        }
        true
    }

    fn is_read(&self) -> bool {
        self.listening.as_ref().is_some_and(|listening| !listening.is_closed())
            || self.open_requests.iter().any(|request| !request.messages.is_closed())
    }

    fn listen(&mut self, messages: mpsc::Sender<Delivery>) {
        if self.has_ended {
            return;
        }
        self.kept_bytes = 0;
        for bytes in std::mem::take(&mut self.kept) {
            self.send(&messages, bytes, false);
        }
        self.listening = Some(messages);
    }

    fn deliver(&mut self, message: Message) {
        if let MessageKind::Response { id } = &message.kind {
            let at = self.open_requests.iter().position(|request| request.id == *id);
            if let Some(request) = at.map(|at| self.open_requests.remove(at)) {
                // If the client does not read, its stream ends.
                self.send(&request.messages, message.bytes, true);
            }
            return;
        }
        self.open_requests.retain(|request| !request.messages.is_closed());
        let is_ended =
            |id: &Id| self.open_requests.iter().position(|request| request.is_subscription && request.id == *id);
        let ended = cancelled(&message).as_ref().and_then(is_ended);
        if let Some(request) = ended.map(|at| self.open_requests.remove(at)) {
            // The service has ended a subscription by itself.
            self.send(&request.messages, message.bytes, true);
            return;
        }
        let request =
            self.request_of(&message).and_then(|at| self.open_requests.get(at)).map(|request| &request.messages);
        let to = request.or(self.listening.as_ref());
        if to.is_some_and(|to| self.send(to, message.bytes.clone(), false)) {
            return;
        }
        self.kept_bytes += message.bytes.len();
        self.kept.push_back(message.bytes);
        while self.kept.len() > MAX_MESSAGES || self.kept_bytes > MAX_KEPT_BYTES {
            let Some(oldest) = self.kept.pop_front() else { return };
            self.kept_bytes -= oldest.len();
        }
    }

    /// Returns the request whose stream takes a message that is no answer.
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

/// The body of a response: one text, or events as they arrive.
struct ResponseBody {
    first: Option<Bytes>,
    messages: Option<mpsc::Receiver<Delivery>>,
    /// The session that ends with the body.
    keeps: Option<Arc<ClientSession>>,
}

impl ResponseBody {
    fn of(text: Bytes) -> Self {
        Self { first: (!text.is_empty()).then_some(text), messages: None, keeps: None }
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = self.get_mut();
        if let Some(first) = this.first.take() {
            return Poll::Ready(Some(Ok(Frame::data(first))));
        }
        let Some(messages) = &mut this.messages else { return Poll::Ready(None) };
        let Some(delivery) = ready!(messages.poll_recv(context)) else { return Poll::Ready(None) };
        if delivery.is_answer {
            this.messages = None;
            this.keeps = None;
        }
        Poll::Ready(Some(Ok(Frame::data(event(&delivery.bytes)))))
    }

    fn is_end_stream(&self) -> bool {
        self.first.is_none() && self.messages.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        match &self.messages {
            None => SizeHint::with_exact(self.first.as_ref().map_or(0, |first| first.len() as u64)),
            Some(_) => SizeHint::default(),
        }
    }
}

/// Returns the HTTP status for an error of the protocol.
fn status_of(answer: &Bytes) -> StatusCode {
    let code = Message::of(answer.clone()).ok().and_then(|answer| answer.members.value("error")?.get("code")?.as_i64());
    match code {
        Some(-32_601) => StatusCode::NOT_FOUND,
        Some(-32_022..=-32_020) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

fn stream(body: ResponseBody) -> Answer {
    let mut answer = Response::new(body);
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    answer.headers_mut().insert("cache-control", HeaderValue::from_static("no-store"));
    answer
}

fn too_large() -> Answer {
    refused(StatusCode::PAYLOAD_TOO_LARGE, None, INVALID_REQUEST, "the message is too large")
}

fn no_session() -> Answer {
    refused(StatusCode::NOT_FOUND, None, INVALID_REQUEST, "there is no such session: begin with `initialize`")
}

fn refused(status: StatusCode, id: Option<&Id>, code: i64, why: &str) -> Answer {
    let mut answer = Response::new(ResponseBody::of(message::error(id, code, why)));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

fn text(status: StatusCode, body: &str) -> Answer {
    let mut answer = Response::new(ResponseBody::of(Bytes::copy_from_slice(body.as_bytes())));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    answer
}

#[cfg(test)]
mod tests {
    use super::{ClientStreams, Id, Message, OpenRequest};
    use serde_json::json;
    use tokio::io::AsyncWriteExt as _;
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
        assert!(third.try_recv().unwrap().is_answer, "a subscription ends");
        deliver(&mut streams, &taken_back(1));
        assert!(first.try_recv().is_err(), "it is the service's own request that has this identifier");
        deliver(&mut streams, &json!({ "jsonrpc": "2.0", "id": 1, "result": {} }));
        assert!(second.try_recv().unwrap().bytes.ends_with(b"}}") && second.try_recv().is_err());
        assert!(first.try_recv().unwrap().is_answer);
        assert!(!listening.try_recv().unwrap().is_answer);
        assert!(listening.try_recv().is_ok_and(|told| !told.is_answer), "what was taken back is told");
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
        let (output, mut proxy) = tokio::io::duplex(super::PIPE_SIZE);
        let open = |id: i64| {
            let (messages, received) = mpsc::channel(9);
            let request = OpenRequest { id: Id::from(id), token: None, is_subscription: false, messages };
            assert!(streams.lock().unwrap().open(request));
            received
        };
        let mut waits = [open(1), open(2)];
        let twice = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":1,\"a\":2}}\n".to_vec();
        let long = format!("{{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":\"{}\"}}\n", "x".repeat(super::MAX_BYTES));
        let write = async move {
            proxy.write_all(&[twice, long.into_bytes()].concat()).await.unwrap();
            drop(proxy);
        };
        tokio::join!(super::deliver(output, &streams), write);
        for messages in &mut waits {
            let answer = messages.try_recv().unwrap();
            assert!(answer.is_answer && String::from_utf8_lossy(&answer.bytes).contains("cannot be passed on"));
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
