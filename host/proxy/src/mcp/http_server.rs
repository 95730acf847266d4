//! The HTTP front end of the proxy. It listens on loopback, in front of a service (an MCP server that is reached over HTTP).
//!
//! Each session of a client has its own proxy and its own session with the service. A request that names its protocol revision
//! needs no session. A separate proxy is created for such a request, and ends when the request is answered.

mod response;
mod session;
mod streams;

use crate::jsonrpc::message::{INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, MAX_BYTES, MessageKind};
use crate::jsonrpc::message_streams::IncomingMessage;
use crate::mcp::judge::Judge;
use crate::mcp::parameter_headers::{HeaderMismatch, MAX_HEADERS, header_mismatch};
use crate::mcp::question_state::random;
use crate::mcp::request_headers;
use crate::mcp::revision::{FIRST_STATELESS_REVISION, revision};
use crate::mcp::service::{SESSION_HEADER, Service, VERSION_HEADER};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::{Body as _, Incoming};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Method, Request, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use response::{Answer, no_session, refused, text, too_large};
use session::ClientSession;
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use streams::lock;
use tokio::net::TcpListener;
use tokio::sync::{OnceCell, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// The path of the endpoint.
pub const PATH: &str = "/mcp";

/// Time that a client may take to send the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// Time that a client may take to send the body of a request.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum number of simultaneous connections.
const MAX_CONNECTIONS: usize = 256;

/// Maximum number of headers of a request, including the headers that repeat a tool's arguments.
const MAX_REQUEST_HEADERS: usize = MAX_HEADERS + 100;

/// Maximum number of simultaneous sessions.
const MAX_SESSIONS: usize = 64;

/// Maximum size of the bodies that are read at the same time, in KiB: 64 MiB.
const MAX_BODIES_KIB: u32 = 64 * 1024;

/// The error code for a request whose headers contradict its body.
const HEADER_MISMATCH_CODE: i64 = -32_020;

/// A function that creates the judge of a session.
pub type NewJudge = Box<dyn Fn() -> Result<Judge, String> + Send + Sync>;

/// The key that a client must send as `Authorization: Bearer …`. Only a digest of the key is stored.
#[derive(Clone, Copy)]
pub struct ClientKey([u8; 32]);

impl ClientKey {
    /// Creates the key.
    pub fn new(key: &str) -> Self {
        Self(Sha256::digest(key).into())
    }

    fn is_brought(self, headers: &HeaderMap) -> bool {
        let said = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        // Digests are compared, so that the duration reveals nothing about the key.
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
    /// Permits for the bodies that are being read, one for each KiB.
    bodies: Semaphore,
    sessions: Mutex<HashMap<String, Arc<ClientSession>>>,
}

/// Serves clients until `stop` is ready, and then ends their sessions. If there is a key, each request must contain the key.
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
            // The usual cause is that too many files are open. Some of them will soon be closed.
            sleep(Duration::from_millis(10)).await;
            continue;
        };
        // Answers are small and the client waits for them, so they are sent without delay.
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

async fn respond(shared: &Arc<ServerShared>, request: Request<Incoming>) -> Answer {
    if let Some(name) = request_headers::repeated(request.headers()) {
        return text(StatusCode::BAD_REQUEST, &format!("the header {name} occurs twice, so its value is unclear\n"));
    }
    // A web page could reach this port by letting the host name of its site resolve to this machine.
    if !request_headers::is_local(request.uri(), request.headers()) {
        return text(
            StatusCode::FORBIDDEN,
            "only programs of this machine are answered: `Host` or `Origin` names another machine\n",
        );
    }
    if shared.key.is_some_and(|key| !key.is_brought(request.headers())) {
        let mut answer = text(StatusCode::UNAUTHORIZED, "send the key with which the proxy was started\n");
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
                session.end();
                text(StatusCode::OK, "")
            }
            Err(refused) => refused,
        },
        _ => text(StatusCode::METHOD_NOT_ALLOWED, "the endpoint accepts POST, GET and DELETE\n"),
    }
}

async fn post(shared: &Arc<ServerShared>, request: Request<Incoming>) -> Answer {
    let (head, body) = request.into_parts();
    // A web page cannot send JSON to a server of another origin without that server's permission, so this check stops requests from
    // pages.
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
        Ok((Err(error), _)) => {
            return text(StatusCode::BAD_REQUEST, &format!("the message could not be read: {error}\n"));
        }
        Err(_) => return text(StatusCode::REQUEST_TIMEOUT, "the message did not arrive in time\n"),
    };
    let message = match IncomingMessage::of(body) {
        IncomingMessage::Message(message) => message,
        IncomingMessage::Unreadable { refused: bad, head: beginning, tail } => {
            let refusal = refused(StatusCode::BAD_REQUEST, bad.id.as_ref(), bad.code, &bad.why);
            if bad.answered_requests().next().is_some()
                && let Ok(session) = shared.session(&head.headers)
            {
                // The service waits for the answers in this message. The message is therefore passed to the proxy, which refuses
                // the answers and reports the refusal. The other parts of a batch are refused here.
                let refused = bad.answers_only();
                session.say(IncomingMessage::Unreadable { refused, head: beginning, tail }).await;
            }
            return refusal;
        }
    };
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
    // If the tool is not available to the client, its headers are not required, because an error that names the headers would
    // reveal that the tool exists.
    if let Some(HeaderMismatch { why, is_of_tool }) = differs
        && !(is_of_tool && shared.stateless().await.is_ok_and(|judge| judge.lacks_tool(&message)))
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
            let is_said = session.say(IncomingMessage::Message(message)).await;
            if revision.is_some() {
                // The session was created only for this message, and the proxy has already received the message.
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
                // Among the sessions whose client reads no stream, the least recently used session is ended. Its client may have
                // disappeared without closing the session.
                let unread = sessions.iter().filter(|(_, session)| !lock(&session.streams).is_read());
                let oldest = unread.min_by_key(|(_, session)| session.used_at()).map(|(id, _)| id.clone());
                let Some(oldest) = oldest.and_then(|id| sessions.remove(&id)) else {
                    return Err(format!("{MAX_SESSIONS} sessions are in use, and no more are taken"));
                };
                tokio::spawn(oldest.end_whole());
            }
        }
        // The identifier is secret. A client that sends the identifier proves that the session belongs to it.
        let id = BASE64.encode(random()?);
        let judge = Arc::new((self.judge)()?);
        let (shared, ended) = (Arc::downgrade(self), id.clone());
        let session = ClientSession::begin(Some(id.clone()), &self.service, Arc::clone(&judge), async move {
            judge.end_session().await;
            // This must be the last step of the task. Removing the session can drop the session, and dropping it aborts this task.
            if let Some(shared) = shared.upgrade() {
                shared.sessions().remove(&ended);
            }
        });
        self.sessions().insert(id, Arc::clone(&session));
        Ok(session)
    }

    /// Returns the judge for requests that belong to no session.
    async fn stateless(&self) -> Result<&Arc<Judge>, String> {
        self.stateless.get_or_try_init(async || (self.judge)().map(Arc::new)).await
    }

    /// Creates a proxy for one request without a session.
    async fn for_one_request(&self) -> Result<Arc<ClientSession>, String> {
        let judge = Arc::clone(self.stateless().await?);
        Ok(ClientSession::begin(None, &self.service, judge, async {}))
    }
}
