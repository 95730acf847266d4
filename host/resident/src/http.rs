//! HTTP: hooks of agents that can post them, gateways, and the endpoints of MCP and of the Agent Control Standard. Every request
//! except `GET /health` must bring the token. A request to `/acs` is signed instead, if a secret is configured.
//!
//! | request | what it is |
//! |---|---|
//! | `POST /hooks/AGENT`, `POST /hooks/AGENT/POINT` | an agent's message; the body of the answer is the hook's reply |
//! | `POST /litellm/beta/litellm_basic_guardrail_api`, also without `/litellm` | LiteLLM's guardrail |
//! | `POST /agentgateway/request`, `POST /agentgateway/response` | agentgateway's webhook |
//! | `POST /mcp` | the MCP endpoint, with the tool `hook` |
//! | `POST /acs` | a Guardian of the Agent Control Standard |
//! | `GET /health` | answers if the host runs |
//!
//! The host waits for a person as long as the agent's hook waits, or for less if the header `Hookhost-Within` says so.
//!
//! Pages in a browser send the header `Origin`. Requests with two of them, or from a page of another machine, are refused. `/acs`
//! refuses all of them, since its requests need no token.
//!
//! Clients that do not know the token share connections of their own, so that they cannot block those that do.

use crate::acs::Acs;
use crate::mcp;
use crate::settle::{Settler, Within, body_of};
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
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::sync::{Notify, Semaphore};

/// The header in which a client says how many seconds it waits for the answer.
const WITHIN: &str = "hookhost-within";

/// Time that a client may take to send the head of its first request, since clients without the token share the connections. Later
/// requests may come at any time: closing a connection in use would look like a failed hook.
const FOR_A_HEAD: Duration = Duration::from_secs(2);

/// Maximum length of a signed request without the token, in bytes. The host must read it before it can verify the signature.
const MAX_SIGNED: usize = 1024 * 1024;

/// Time that a client may take to send the body.
const FOR_A_BODY: Duration = Duration::from_secs(10);

/// Maximum number of simultaneous connections that have not brought the token. Beyond it, the oldest one is closed: each takes a file
/// descriptor, and the hooks' socket needs some too.
const MAX_STRANGERS: usize = 128;

/// Minimum time before such a connection is closed. A client that knows the token sends its request at once.
const MIN_FOR_A_HEAD: Duration = Duration::from_millis(25);

/// Maximum number of connections that brought the token and are kept between requests.
const MAX_KNOWN: usize = 128;

/// The secret that each request brings.
#[derive(Clone)]
pub struct Token([u8; 32]);

impl Token {
    /// Creates the token. Keeps only a digest of the secret.
    #[must_use]
    pub fn new(secret: &str) -> Self {
        Self(Sha256::digest(secret).into())
    }

    /// Returns true if `said` is the token. Compares digests, so that the time reveals nothing about the secret.
    fn is(&self, said: &str) -> bool {
        Self::new(said).0 == self.0
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

/// The state that all connections share.
struct Served {
    settler: Arc<Settler>,
    token: Token,
    acs: Acs,
    /// The directory of messages that name none.
    home: PathBuf,
    /// Permits for connections that have brought the token.
    known: Arc<Semaphore>,
}

/// A connection.
#[derive(Debug)]
struct Connection {
    accepted: Instant,
    has_asked: AtomicBool,
    /// True if the connection is never closed to make room: it has brought the token, or its request is being answered.
    stays: AtomicBool,
    makes_room: Notify,
}

/// The connections that can be closed to make room, the oldest first.
#[derive(Debug, Default)]
struct Strangers(Mutex<VecDeque<Weak<Connection>>>);

impl Strangers {
    fn accepted(&self) -> Arc<Connection> {
        let connection = Arc::new(Connection {
            accepted: Instant::now(),
            has_asked: AtomicBool::new(false),
            stays: AtomicBool::new(false),
            makes_room: Notify::new(),
        });
        self.all().push_back(Arc::downgrade(&connection));
        connection
    }

    /// Waits until there is room for another connection.
    async fn room(&self) {
        while let Err(wait) = self.make_room() {
            tokio::time::sleep(wait).await;
        }
    }

    /// Closes the oldest connection if there is no room.
    ///
    /// # Errors
    /// The time for which the oldest connection still stays.
    fn make_room(&self) -> Result<(), Duration> {
        let mut all = self.all();
        all.retain(|connection| {
            connection.upgrade().is_some_and(|connection| !connection.stays.load(Ordering::Relaxed))
        });
        if all.len() < MAX_STRANGERS {
            return Ok(());
        }
        let oldest = all.front().and_then(Weak::upgrade);
        if let Some(oldest) = oldest {
            let stays = MIN_FOR_A_HEAD.saturating_sub(oldest.accepted.elapsed());
            if !stays.is_zero() {
                return Err(stays);
            }
            oldest.makes_room.notify_one();
        }
        all.pop_front();
        Ok(())
    }

    fn all(&self) -> MutexGuard<'_, VecDeque<Weak<Connection>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connection {
    /// Waits until the connection must end: it has sent no request in time, or must make room for others.
    async fn has_to_end(&self) {
        let never_asks = async {
            tokio::time::sleep(FOR_A_HEAD).await;
            if self.has_asked.load(Ordering::Relaxed) {
                std::future::pending::<()>().await;
            }
        };
        let makes_room = async {
            self.makes_room.notified().await;
            if self.stays.load(Ordering::Relaxed) {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            () = never_asks => {}
            () = makes_room => {}
        }
    }
}

/// Serves until `stop` is ready, and returns once the requests under way are answered. `home` is the directory of messages that name
/// none.
pub async fn serve(
    listener: TcpListener,
    settler: Arc<Settler>,
    token: Token,
    acs: Acs,
    home: PathBuf,
    stop: impl Future<Output = ()>,
) {
    let known = Arc::new(Semaphore::new(MAX_KNOWN));
    let served = Arc::new(Served { settler, token, acs, home, known });
    let strangers = Strangers::default();
    let open = GracefulShutdown::new();
    tokio::pin!(stop);
    loop {
        let accepted = async {
            strangers.room().await;
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
        // Answers are small, and the agent waits for them.
        let _ = stream.set_nodelay(true);
        let connection = strangers.accepted();
        let service = service_fn({
            let (served, connection) = (Arc::clone(&served), Arc::clone(&connection));
            let place = Arc::new(OnceLock::new());
            move |request| {
                connection.has_asked.store(true, Ordering::Relaxed);
                let (served, connection, place) = (Arc::clone(&served), Arc::clone(&connection), Arc::clone(&place));
                async move {
                    let answer = respond(&served, &connection, request).await;
                    let is_kept = connection.stays.load(Ordering::Relaxed)
                        && place.get_or_init(|| Arc::clone(&served.known).try_acquire_owned().ok()).is_some();
                    Ok::<_, Infallible>(if is_kept { answer } else { last(answer) })
                }
            }
        });
        let mut server = http1::Builder::new();
        server.header_read_timeout(None);
        let answered = open.watch(server.serve_connection(TokioIo::new(stream), service));
        tokio::spawn(async move {
            tokio::select! {
                // The request of a connection that must end may have arrived meanwhile.
                biased;
                ended = answered => if let Err(error) = ended {
                    tracing::debug!(%error, "a connection ended early");
                },
                () = connection.has_to_end() => {}
            }
        });
    }
    // The listener stays open until then: clients that connect meanwhile wait for the next process.
    open.shutdown().await;
}

type Answer = Response<Full<Bytes>>;

async fn respond(served: &Served, connection: &Connection, request: Request<Incoming>) -> Answer {
    let path = request.uri().path().to_owned();
    if request.method() == Method::GET && path == "/health" {
        return last(text(StatusCode::OK, "hookhost is there\n"));
    }
    let route = Route::of(&path);
    let is_acs = matches!(route, Some(Route::Acs));
    let origins: Vec<_> = request.headers().get_all(ORIGIN).iter().collect();
    if origins.len() > 1 || origins.iter().any(|origin| is_acs || !is_of_this_machine(origin)) {
        return last(text(StatusCode::FORBIDDEN, "hookhost answers no page of a browser\n"));
    }
    let is_known = is_known(served, &request);
    connection.stays.store(is_known, Ordering::Relaxed);
    let may_ask = is_known || (is_acs && served.acs.is_signed());
    if !may_ask {
        let mut answer =
            text(StatusCode::UNAUTHORIZED, "the token is missing or wrong: `hookhost serve --http` says where it is\n");
        answer.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        return last(answer);
    }
    let Some(route) = route else {
        return text(StatusCode::NOT_FOUND, "there is nothing at this path\n");
    };
    if request.method() != Method::POST {
        return last(text(StatusCode::METHOD_NOT_ALLOWED, "this path takes POST\n"));
    }
    let within = within(&request);
    let most = if is_known { MAX_BYTES } else { MAX_SIGNED };
    let body = Limited::new(request.into_body(), most).collect();
    let body = match tokio::time::timeout(FOR_A_BODY, body).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            Err(format!("its message is larger than {} MiB", most / 1024 / 1024))
        }
        Ok(Err(error)) => Err(format!("its message did not come: {error}")),
        Err(_) => Err(format!("its message did not come within {} s", FOR_A_BODY.as_secs())),
    };
    // From here on, a person may take time to answer.
    connection.stays.store(true, Ordering::Relaxed);
    match (route, body) {
        (Route::Hook { agent, point }, body) => hook(served, agent, point, body, within).await,
        (Route::Mcp, Ok(body)) => model_context(served, &body, within).await,
        (Route::Mcp, Err(why)) => {
            served.settler.note_unread("mcp", &served.home, &why);
            text(StatusCode::BAD_REQUEST, &format!("{why}\n"))
        }
        (Route::Acs, Ok(body)) => {
            let answer = json(served.acs.answer(&served.settler, &body, &served.home, within).await);
            if is_known { answer } else { last(answer) }
        }
        (Route::Acs, Err(why)) => {
            served.acs.note(&served.settler, &served.home, is_known, &why);
            last(text(StatusCode::BAD_REQUEST, &format!("{why}\n")))
        }
    }
}

/// Returns the time that the client waits, if its header says so.
fn within(request: &Request<Incoming>) -> Within {
    let mut values = request.headers().get_all(WITHIN).into_iter();
    let Some(value) = values.next() else { return Ok(None) };
    let seconds = value.to_str().ok().and_then(|value| value.trim().parse::<u32>().ok()).filter(|&seconds| seconds > 0);
    let seconds = seconds.filter(|_| values.next().is_none());
    let seconds = seconds.ok_or("the header Hookhost-Within is no number of seconds")?;
    Ok(Some(Duration::from_secs(seconds.into())))
}

/// Returns true if the client knows the token.
fn is_known(served: &Served, request: &Request<Incoming>) -> bool {
    let header = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok());
    let bearer = header(AUTHORIZATION.as_str()).and_then(|value| value.strip_prefix("Bearer "));
    bearer.or_else(|| header("x-api-key")).is_some_and(|said| served.token.is(said.trim()))
}

/// Returns true if a page is of this machine, such as MCP's inspector.
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
    Acs,
}

impl<'a> Route<'a> {
    fn of(path: &'a str) -> Option<Self> {
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
            ["acs"] => Self::Acs,
            _ => return None,
        })
    }
}

async fn hook(
    served: &Served,
    agent: &str,
    point: Option<&str>,
    body: Result<Bytes, String>,
    within: Within,
) -> Answer {
    let Some(adapter) = by_name(agent) else {
        return text(StatusCode::NOT_FOUND, &format!("hookhost knows no agent {agent:?}\n"));
    };
    let reply = match (body, within) {
        (Ok(body), Ok(within)) => {
            let mut message = Message::new(&body, &served.home);
            message.point = point;
            message.within = within;
            served.settler.reply(adapter, &message, &|_| {}).await
        }
        (Err(why), _) => served.settler.unread(adapter, point, &served.home, &why),
        (_, Err(why)) => served.settler.unread(adapter, point, &served.home, why),
    };
    match body_of(adapter, reply) {
        Ok(body) => json(body),
        // This agent understands only exit codes. It must read this answer as a failed hook.
        Err(why) => text(StatusCode::INTERNAL_SERVER_ERROR, &why),
    }
}

async fn model_context(served: &Served, body: &[u8], within: Within) -> Answer {
    let said = std::str::from_utf8(body).map_err(|_| "the message is not UTF-8".to_owned());
    let request = match said.and_then(value) {
        Ok(request) => request,
        Err(why) => {
            served.settler.note_unread("mcp", &served.home, &format!("its message cannot be read: {why}"));
            return json(mcp::error(&Value::Null, -32700, &why).to_string());
        }
    };
    match mcp::answer(&served.settler, &request, &served.home, within).await {
        Some(answer) => json(answer.to_string()),
        None => text(StatusCode::ACCEPTED, ""),
    }
}

/// Makes an answer the last one of its connection, since clients without the token share connections.
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
