//! The HTTP server. It has endpoints for agents that send hook messages over HTTP, for gateways and for MCP. Other crates can add
//! endpoints ([`Endpoint`]). Every request except `GET /health` must contain the token, unless its endpoint authenticates requests
//! itself.
//!
//! | request | meaning |
//! |---|---|
//! | `POST /hooks/AGENT`, `POST /hooks/AGENT/POINT` | an agent's message; the body of the answer is the hook's reply |
//! | `POST /litellm/beta/litellm_basic_guardrail_api`, also without `/litellm` | LiteLLM's guardrail |
//! | `POST /agentgateway/request`, `POST /agentgateway/response` | agentgateway's webhook |
//! | `POST /mcp` | the MCP endpoint, with the tool `hook` |
//! | the method and path of an [`Endpoint`] | the endpoint's answer |
//! | `GET /health` | answers if the host is running |
//!
//! The host waits for a person as long as the agent's hook waits. If the header `Hookhost-Within` contains a shorter time, the host
//! waits only for that time.
//!
//! Requests of web pages contain the header `Origin`. A request with this header is refused if the header occurs twice, or if the
//! web page was not loaded from this machine. For an [`Endpoint`], all requests of web pages are refused, because the endpoint may
//! need no token.
//!
//! Clients without the token share a limited number of connections, because they must not block clients that have the token.

use crate::deadlines::ClientTimeout;
use crate::mcp;
use crate::settler::Settler;
use hookhost_agents::json::{MAX_BYTES, value};
use hookhost_agents::{Message, by_name};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CONNECTION, CONTENT_TYPE, HeaderValue, ORIGIN, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::GracefulShutdown;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::sync::{Notify, Semaphore};

/// The header that contains the number of seconds for which a client waits for the answer.
const TIMEOUT_HEADER: &str = "hookhost-within";

/// Time that a client may take to send the head of its first request. The time is short because all clients without the token share
/// a limited number of connections. There is no limit for later requests, because to the agent, a closed connection would look like
/// a failed hook.
const HEAD_TIMEOUT: Duration = Duration::from_secs(2);

/// Maximum length of a request without the token, in bytes. The host must read the request before the endpoint can authenticate it.
const MAX_BYTES_WITHOUT_TOKEN: usize = 1024 * 1024;

/// Time that a client may take to send the body.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum number of simultaneous connections that have not sent the token. If there are more, the oldest connection is closed.
/// Otherwise, these connections could use up the file descriptors that the socket for hooks needs.
const MAX_UNAUTHENTICATED: usize = 128;

/// Minimum time before a connection without the token is closed. The time is enough for a client that knows the token, because such
/// a client sends its first request at once.
const MIN_HEAD_TIME: Duration = Duration::from_millis(25);

/// Maximum number of connections that have sent the token and stay open between requests.
const MAX_KEPT_ALIVE: usize = 128;

/// The secret that requests must contain.
#[derive(Clone)]
pub struct Token([u8; 32]);

impl Token {
    /// Creates the token. Keeps only a digest of the secret.
    pub fn new(secret: &str) -> Self {
        Self(Sha256::digest(secret).into())
    }

    /// Returns true if `secret` is the secret of the token. Compares digests, because then the duration reveals nothing about the
    /// secret.
    fn is(&self, secret: &str) -> bool {
        Self::new(secret).0 == self.0
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

/// The answer of an [`Endpoint`].
#[derive(Debug)]
pub struct EndpointAnswer {
    status: StatusCode,
    content_type: &'static str,
    body: String,
}

impl EndpointAnswer {
    /// Creates a successful answer in JSON.
    pub fn json(body: String) -> Self {
        Self { status: StatusCode::OK, content_type: "application/json", body }
    }

    /// Creates a successful answer of another type.
    pub fn of_type(content_type: &'static str, body: String) -> Self {
        Self { status: StatusCode::OK, content_type, body }
    }

    /// Creates the answer that the endpoint has nothing to say, with a sentence that says why.
    pub fn not_found(why: &str) -> Self {
        Self { status: StatusCode::NOT_FOUND, content_type: "text/plain; charset=utf-8", body: format!("{why}\n") }
    }

    /// Creates the answer that the endpoint failed, with a sentence that says why.
    pub fn failed(why: &str) -> Self {
        Self { status: StatusCode::INTERNAL_SERVER_ERROR, ..Self::not_found(why) }
    }

    fn response(self) -> Answer {
        let mut answer = Response::new(Full::new(Bytes::from(self.body)));
        *answer.status_mut() = self.status;
        answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        answer
    }
}

/// An endpoint that another crate implements, for example for a draft standard or for monitoring.
pub trait Endpoint: Send + Sync {
    /// Returns the path, such as `acs`, without slashes.
    fn path(&self) -> &'static str;

    /// Returns true if the endpoint answers `GET` instead of `POST`. The default is false.
    fn answers_get(&self) -> bool {
        false
    }

    /// Returns true if the endpoint authenticates requests itself. Its requests then need no token, but requests without the token
    /// are limited to 1 MiB.
    fn authenticates(&self) -> bool;

    /// Answers a request. `home` is the directory for messages that name no directory, and `timeout` is the time that the client
    /// waits. If the endpoint authenticates requests itself, the request can come from any client.
    fn answer<'a>(
        &'a self,
        settler: &'a Settler,
        body: &'a [u8],
        home: &'a Path,
        timeout: ClientTimeout,
    ) -> Pin<Box<dyn Future<Output = EndpointAnswer> + Send + 'a>>;

    /// Records that a request could not be read. `has_token` is true if the request contained the token.
    fn note_unread(&self, settler: &Settler, home: &Path, has_token: bool, why: &str);
}

/// The endpoints of other crates, which are served in addition to the paths of this module.
pub type Endpoints = Vec<Arc<dyn Endpoint>>;

/// The state that all connections share.
struct HttpService {
    settler: Arc<Settler>,
    token: Token,
    endpoints: Endpoints,
    /// The directory for messages that name no directory.
    home: PathBuf,
    /// Permits for connections that have sent the token and stay open between requests.
    kept_alive: Arc<Semaphore>,
}

/// A connection.
#[derive(Debug)]
struct Connection {
    accepted: Instant,
    has_sent_request: AtomicBool,
    /// True if the connection must not be closed to make room for others, because it has sent the token or its request is being
    /// answered.
    is_kept_open: AtomicBool,
    /// Notified when the connection must be closed to make room for others.
    must_close: Notify,
}

/// The connections that can be closed to make room for others, the oldest first.
#[derive(Debug, Default)]
struct UnauthenticatedConnections(Mutex<VecDeque<Weak<Connection>>>);

impl UnauthenticatedConnections {
    fn accept(&self) -> Arc<Connection> {
        let connection = Arc::new(Connection {
            accepted: Instant::now(),
            has_sent_request: AtomicBool::new(false),
            is_kept_open: AtomicBool::new(false),
            must_close: Notify::new(),
        });
        self.all().push_back(Arc::downgrade(&connection));
        connection
    }

    /// Waits until another connection can be accepted, and closes the oldest connection if necessary.
    async fn room(&self) {
        while let Err(wait) = self.make_room() {
            tokio::time::sleep(wait).await;
        }
    }

    /// Closes the oldest connection if the maximum number is reached.
    ///
    /// # Errors
    /// The remaining time before the oldest connection may be closed.
    fn make_room(&self) -> Result<(), Duration> {
        let mut all = self.all();
        all.retain(|connection| {
            connection.upgrade().is_some_and(|connection| !connection.is_kept_open.load(Ordering::Relaxed))
        });
        if all.len() < MAX_UNAUTHENTICATED {
            return Ok(());
        }
        let oldest = all.front().and_then(Weak::upgrade);
        if let Some(oldest) = oldest {
            let remaining = MIN_HEAD_TIME.saturating_sub(oldest.accepted.elapsed());
            if !remaining.is_zero() {
                return Err(remaining);
            }
            oldest.must_close.notify_one();
        }
        all.pop_front();
        Ok(())
    }

    fn all(&self) -> MutexGuard<'_, VecDeque<Weak<Connection>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connection {
    /// Waits until the connection must be closed, because no request has arrived in time or because it must make room for others.
    async fn closed(&self) {
        let sends_nothing = async {
            tokio::time::sleep(HEAD_TIMEOUT).await;
            if self.has_sent_request.load(Ordering::Relaxed) {
                std::future::pending::<()>().await;
            }
        };
        let must_close = async {
            self.must_close.notified().await;
            if self.is_kept_open.load(Ordering::Relaxed) {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            () = sends_nothing => {}
            () = must_close => {}
        }
    }
}

/// Serves until `stop` is ready, and returns when all pending requests are answered. `home` is the directory for messages that name
/// no directory.
pub async fn serve(
    listener: TcpListener,
    settler: Arc<Settler>,
    token: Token,
    endpoints: Endpoints,
    home: PathBuf,
    stop: impl Future<Output = ()>,
) {
    let kept_alive = Arc::new(Semaphore::new(MAX_KEPT_ALIVE));
    let service = Arc::new(HttpService { settler, token, endpoints, home, kept_alive });
    let unauthenticated = UnauthenticatedConnections::default();
    let open = GracefulShutdown::new();
    tokio::pin!(stop);
    loop {
        let accepted = async {
            unauthenticated.room().await;
            listener.accept().await
        };
        let stream = tokio::select! {
            () = &mut stop => break,
            accepted = accepted => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(10)).await;
                    continue;
                }
            },
        };
        // Answers are small and the client waits for them, so they are sent without delay.
        let _ = stream.set_nodelay(true);
        let connection = unauthenticated.accept();
        let handler = service_fn({
            let (service, connection) = (Arc::clone(&service), Arc::clone(&connection));
            let permit = Arc::new(OnceLock::new());
            move |request| {
                connection.has_sent_request.store(true, Ordering::Relaxed);
                let (service, connection, permit) =
                    (Arc::clone(&service), Arc::clone(&connection), Arc::clone(&permit));
                async move {
                    let answer = respond(&service, &connection, request).await;
                    let is_kept = connection.is_kept_open.load(Ordering::Relaxed)
                        && permit.get_or_init(|| Arc::clone(&service.kept_alive).try_acquire_owned().ok()).is_some();
                    Ok::<_, Infallible>(if is_kept { answer } else { last(answer) })
                }
            }
        });
        let mut server = http1::Builder::new();
        server.header_read_timeout(None);
        let answered = open.watch(server.serve_connection(TokioIo::new(stream), handler));
        tokio::spawn(async move {
            tokio::select! {
                // A connection that must be closed may have received a request meanwhile, so its request is processed first.
                biased;
                ended = answered => if let Err(error) = ended {
                    tracing::debug!(%error, "a connection ended early");
                },
                () = connection.closed() => {}
            }
        });
    }
    // The listener stays open until all requests are answered. Clients that connect in the meantime wait for the next process.
    open.shutdown().await;
}

type Answer = Response<Full<Bytes>>;

async fn respond(service: &HttpService, connection: &Connection, request: Request<Incoming>) -> Answer {
    let path = request.uri().path().to_owned();
    if request.method() == Method::GET && path == "/health" {
        return last(text(StatusCode::OK, "hookhost is there\n"));
    }
    let route = Route::of(&path, &service.endpoints);
    let endpoint = match &route {
        Some(Route::Endpoint(endpoint)) => Some(endpoint),
        _ => None,
    };
    let origins: Vec<_> = request.headers().get_all(ORIGIN).iter().collect();
    if origins.len() > 1 || origins.iter().any(|origin| endpoint.is_some() || !is_of_this_machine(origin)) {
        return last(text(StatusCode::FORBIDDEN, "hookhost answers no page of a browser\n"));
    }
    let has_token = has_token(service, &request);
    connection.is_kept_open.store(has_token, Ordering::Relaxed);
    let is_permitted = has_token || endpoint.is_some_and(|endpoint| endpoint.authenticates());
    if !is_permitted {
        let mut answer =
            text(StatusCode::UNAUTHORIZED, "the token is missing or wrong: `hookhost serve --http` says where it is\n");
        answer.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        return last(answer);
    }
    let Some(route) = route else {
        return text(StatusCode::NOT_FOUND, "there is nothing at this path\n");
    };
    let method = match &route {
        Route::Endpoint(endpoint) if endpoint.answers_get() => Method::GET,
        _ => Method::POST,
    };
    if request.method() != method {
        return last(text(StatusCode::METHOD_NOT_ALLOWED, &format!("this path accepts {method}\n")));
    }
    let timeout = timeout(&request);
    let most = if has_token { MAX_BYTES } else { MAX_BYTES_WITHOUT_TOKEN };
    let body = Limited::new(request.into_body(), most).collect();
    let body = match tokio::time::timeout(BODY_TIMEOUT, body).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            Err(format!("its message is larger than {} MiB", most / 1024 / 1024))
        }
        Ok(Err(error)) => Err(format!("its message did not arrive: {error}")),
        Err(_) => Err(format!("its message did not arrive within {} s", BODY_TIMEOUT.as_secs())),
    };
    // From here on, the answer may take a long time, because a person may be asked. The connection must not be closed meanwhile.
    connection.is_kept_open.store(true, Ordering::Relaxed);
    match (route, body) {
        (Route::Hook { agent, point }, body) => hook(service, agent, point, body, timeout).await,
        (Route::Mcp, Ok(body)) => model_context(service, &body, timeout).await,
        (Route::Mcp, Err(why)) => {
            service.settler.note_unread("mcp", &service.home, &why);
            text(StatusCode::BAD_REQUEST, &format!("{why}\n"))
        }
        (Route::Endpoint(endpoint), Ok(body)) => {
            let answer = endpoint.answer(&service.settler, &body, &service.home, timeout).await.response();
            if has_token { answer } else { last(answer) }
        }
        (Route::Endpoint(endpoint), Err(why)) => {
            endpoint.note_unread(&service.settler, &service.home, has_token, &why);
            last(text(StatusCode::BAD_REQUEST, &format!("{why}\n")))
        }
    }
}

/// Returns the time that the client waits, if a header contains it.
fn timeout(request: &Request<Incoming>) -> ClientTimeout {
    let mut values = request.headers().get_all(TIMEOUT_HEADER).into_iter();
    let Some(value) = values.next() else { return Ok(None) };
    let seconds = value.to_str().ok().and_then(|value| value.trim().parse::<u32>().ok()).filter(|&seconds| seconds > 0);
    let seconds = seconds.filter(|_| values.next().is_none());
    let seconds = seconds.ok_or("the header Hookhost-Within is no number of seconds")?;
    Ok(Some(Duration::from_secs(seconds.into())))
}

/// Returns true if the request contains the token.
fn has_token(service: &HttpService, request: &Request<Incoming>) -> bool {
    let header = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok());
    let bearer = header(AUTHORIZATION.as_str()).and_then(|value| value.strip_prefix("Bearer "));
    bearer.or_else(|| header("x-api-key")).is_some_and(|secret| service.token.is(secret.trim()))
}

/// Returns true if a web page was loaded from this machine, such as the page of the MCP Inspector.
fn is_of_this_machine(origin: &HeaderValue) -> bool {
    let host = origin.to_str().ok().and_then(|origin| origin.parse::<Uri>().ok()).and_then(|origin| {
        let host = origin.host()?;
        Some(host.trim_start_matches('[').trim_end_matches(']').to_owned())
    });
    host.is_some_and(|host| host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback()))
}

enum Route<'a> {
    Hook { agent: &'a str, point: Option<&'a str> },
    Mcp,
    Endpoint(&'a dyn Endpoint),
}

impl<'a> Route<'a> {
    fn of(path: &'a str, endpoints: &'a Endpoints) -> Option<Self> {
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        Some(match parts.as_slice() {
            ["hooks", agent] => Self::Hook { agent, point: None },
            ["hooks", agent, point] => Self::Hook { agent, point: Some(point) },
            ["beta", "litellm_basic_guardrail_api"] | ["litellm", "beta", "litellm_basic_guardrail_api"] => {
                Self::Hook { agent: "litellm", point: None }
            }
            ["agentgateway", point @ ("request" | "response")] => {
                Self::Hook { agent: "agentgateway", point: Some(point) }
            }
            ["mcp"] => Self::Mcp,
            [path] => Self::Endpoint(&**endpoints.iter().find(|endpoint| endpoint.path() == *path)?),
            _ => return None,
        })
    }
}

async fn hook(
    service: &HttpService,
    agent: &str,
    point: Option<&str>,
    body: Result<Bytes, String>,
    timeout: ClientTimeout,
) -> Answer {
    let Some(adapter) = by_name(agent) else {
        return text(StatusCode::NOT_FOUND, &format!("hookhost knows no agent {agent:?}\n"));
    };
    let reply = match (body, timeout) {
        (Ok(body), Ok(timeout)) => {
            let mut message = Message::new(&body, &service.home);
            message.point = point;
            message.within = timeout;
            service.settler.reply(adapter, &message, &|_| {}).await
        }
        (Err(why), _) => service.settler.reply_to_unread(adapter, point, &service.home, &why),
        (_, Err(why)) => service.settler.reply_to_unread(adapter, point, &service.home, why),
    };
    match adapter.body(reply) {
        Ok(body) => json(body),
        // This agent understands only exit codes, and an HTTP reply has no exit code. With this status, the agent sees that the
        // hook has failed.
        Err(why) => text(StatusCode::INTERNAL_SERVER_ERROR, &why),
    }
}

async fn model_context(service: &HttpService, body: &[u8], timeout: ClientTimeout) -> Answer {
    let said = std::str::from_utf8(body).map_err(|_| "the message is not UTF-8".to_owned());
    let request = match said.and_then(value) {
        Ok(request) => request,
        Err(why) => {
            service.settler.note_unread("mcp", &service.home, &format!("its message cannot be read: {why}"));
            return json(mcp::error(&Value::Null, -32700, &why).to_string());
        }
    };
    match mcp::answer(&service.settler, &request, &service.home, timeout).await {
        Some(answer) => json(answer.to_string()),
        None => text(StatusCode::ACCEPTED, ""),
    }
}

/// Makes an answer the last answer of its connection, because a connection without the token must not be kept open.
fn last(mut answer: Answer) -> Answer {
    answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    answer
}

fn json(body: String) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(body)));
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

fn text(status: StatusCode, body: &str) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(body.to_owned())));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    answer
}
