//! Serves connections.

use crate::access::{Access, Grant, LINK_LIFETIME};
use crate::assets::asset;
use crate::guard::{MAX_BODY, PLAIN, RequestGuard};
use crate::health::FurtherChecks;
use crate::listeners::LoopbackListeners;
use crate::live::LiveFeed;
use crate::log_rows::LogReader;
use crate::peer;
use crate::routes::{Query, Site};
use crate::search::Search;
use crate::views::layout::shell;
use crate::views::plain::entrance;
use futures_util::StreamExt as _;
use hookhost::{Engine, Host};
use hookhost_client::frame::LinkPurpose;
use hookhost_resident::{PageLinks, Settler};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, Limited, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::Deserialize;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// Time that a client may take to send the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(2);

/// Time that a client may take to send the body.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum number of connections. A connection carries one request.
const MAX_CONNECTIONS: usize = 128;

/// Maximum number of open streams. A browser opens one for all its tabs.
const MAX_STREAMS: usize = 64;

/// Headers of every answer. No other page may frame, read or run anything of this page, and this page loads nothing from elsewhere.
static HEADERS: [(HeaderName, HeaderValue); 8] = [
    (
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'none'; \
             frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types hookhost",
        ),
    ),
    (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
    (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
    (
        HeaderName::from_static("permissions-policy"),
        HeaderValue::from_static("publickey-credentials-get=(self), publickey-credentials-create=(self)"),
    ),
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
];

/// What a page needs.
#[non_exhaustive]
pub struct PageSettings {
    /// Decides on the events, and knows the rules of each directory.
    settler: Weak<Settler>,
    host: Host,
    /// The user's database.
    pub database: PathBuf,
    /// The directory of compiled plugins, unless it is the usual one.
    pub cache: Option<PathBuf>,
    /// The user's name, for answers.
    pub person: Option<String>,
    /// Further checks for the view of what works. They may read the disk.
    pub checks: Option<FurtherChecks>,
    /// The listeners and the tabs of an earlier version of the program.
    pub inherited: Option<(LoopbackListeners, String)>,
}

impl PageSettings {
    /// Creates the settings of a page over this database.
    pub fn new(settler: &Arc<Settler>, database: PathBuf) -> Self {
        Self {
            settler: Arc::downgrade(settler),
            host: settler.host().clone(),
            database,
            cache: None,
            person: None,
            checks: None,
            inherited: None,
        }
    }
}

/// The page. It begins to listen when it makes its first link.
pub struct Page {
    site: Arc<Site>,
    running: Mutex<Option<Running>>,
    used: Arc<Mutex<Instant>>,
}

/// The listeners, and the tasks that serve them.
struct Running {
    listeners: LoopbackListeners,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl Page {
    /// Creates a page. If it has listeners of an earlier version, it serves at once.
    #[must_use]
    pub fn new(settings: PageSettings) -> Self {
        let PageSettings { settler, host, database, cache, person, checks, inherited } = settings;
        let reader = LogReader::new(database);
        let state = reader.path().parent().unwrap_or(Path::new("/")).to_owned();
        let live = Arc::new(LiveFeed::new(reader.clone(), host.clone()));
        let search = Search::new(reader.clone());
        let site = Site {
            settler,
            host,
            reader,
            state,
            cache,
            person,
            checks,
            access: Access::default(),
            live,
            search,
            unseen: Default::default(),
            verified: Arc::default(),
            engine: Engine::new(),
        };
        let page = Self { site: Arc::new(site), running: Mutex::default(), used: Arc::new(Mutex::new(Instant::now())) };
        if let Some((listeners, tabs)) = inherited {
            page.site.access.take_over(&tabs);
            if let Err(error) = page.serve(listeners, &mut page.running()) {
                tracing::warn!(%error, "the page of the earlier version cannot be served");
            }
        }
        page
    }

    /// Stops serving, and returns the listeners and the tabs for a later version of the program.
    pub fn stop(&self) -> Option<(LoopbackListeners, String)> {
        let Running { listeners, tasks } = self.running().take()?;
        tasks.iter().for_each(tokio::task::JoinHandle::abort);
        Some((listeners, self.site.access.to_hand_over()))
    }

    /// Returns the port, and begins to listen if nobody has asked for a link yet.
    fn port(&self) -> Result<u16, String> {
        let mut running = self.running();
        if let Some(Running { listeners, .. }) = &*running {
            return Ok(listeners.port());
        }
        let cannot = |error: std::io::Error| format!("the page cannot listen on a loopback address: {error}");
        self.serve(LoopbackListeners::bind().map_err(cannot)?, &mut running).map_err(cannot)
    }

    fn serve(&self, listeners: LoopbackListeners, running: &mut Option<Running>) -> std::io::Result<u16> {
        let port = listeners.port();
        let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let guard = Arc::new(RequestGuard::new(port));
        let mut tasks = Vec::new();
        for listener in listeners.handles()? {
            let server = Server {
                listener: TcpListener::from_std(listener)?,
                site: Arc::clone(&self.site),
                guard: Arc::clone(&guard),
                permits: Arc::clone(&permits),
                used: Arc::clone(&self.used),
            };
            tasks.push(tokio::spawn(server.run()));
        }
        *running = Some(Running { listeners, tasks });
        Ok(port)
    }

    fn running(&self) -> MutexGuard<'_, Option<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

impl PageLinks for Page {
    fn link(&self, directory: &Path, purpose: LinkPurpose) -> Result<String, String> {
        let port = self.port()?;
        let (may_register, path) = match purpose {
            LinkPurpose::View => (false, ""),
            LinkPurpose::Approvals => (false, "approvals"),
            LinkPurpose::Passkeys => (true, "passkeys"),
        };
        let code = self.site.access.link(Grant { directory: directory.to_owned(), may_register })?;
        touch(&self.used);
        Ok(format!("http://localhost:{port}/{path}#{code}"))
    }

    fn unused(&self) -> Duration {
        if self.site.live.streams() > 0 {
            return Duration::ZERO;
        }
        self.used.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }
}

impl std::fmt::Debug for Page {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Page").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for PageSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PageSettings").field("database", &self.database).finish_non_exhaustive()
    }
}

fn touch(used: &Mutex<Instant>) {
    *used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
}

type Body = UnsyncBoxBody<Bytes, Infallible>;

/// Serves one of the listeners.
struct Server {
    listener: TcpListener,
    site: Arc<Site>,
    guard: Arc<RequestGuard>,
    permits: Arc<Semaphore>,
    used: Arc<Mutex<Instant>>,
}

impl Server {
    /// Serves until the task is aborted, which ends all connections, too.
    async fn run(self) {
        let mut connections = JoinSet::new();
        loop {
            while connections.try_join_next().is_some() {}
            let Ok(permit) = Arc::clone(&self.permits).acquire_owned().await else { return };
            let (stream, peer) = match self.listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "a connection to the page could not be accepted");
                    tokio::time::sleep(Duration::from_millis(10)).await;
                    continue;
                }
            };
            let _ = stream.set_nodelay(true);
            let Ok(own) = stream.local_addr() else { continue };
            let (site, guard, used) = (Arc::clone(&self.site), Arc::clone(&self.guard), Arc::clone(&self.used));
            let handler = service_fn(move |request| {
                let (site, guard, used) = (Arc::clone(&site), Arc::clone(&guard), Arc::clone(&used));
                async move {
                    let mut answer = respond(&site, &guard, &used, (peer, own), request).await;
                    for (name, value) in &HEADERS {
                        answer.headers_mut().entry(name).or_insert_with(|| value.clone());
                    }
                    Ok::<_, Infallible>(answer)
                }
            });
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).keep_alive(false).max_buf_size(64 * 1024);
            let served = http.serve_connection(TokioIo::new(stream), handler);
            connections.spawn(async move {
                if let Err(error) = served.await {
                    tracing::debug!(%error, "a connection to the page ended early");
                }
                drop(permit);
            });
        }
    }
}

async fn respond(
    site: &Arc<Site>,
    guard: &RequestGuard,
    used: &Mutex<Instant>,
    (peer, own): (SocketAddr, SocketAddr),
    request: Request<Incoming>,
) -> Response<Body> {
    if let Err((status, why)) = guard.check(request.method(), request.uri(), request.headers()) {
        return text(status, why);
    }
    let path = request.uri().path().to_owned();
    if request.method() == Method::GET
        && let Some((kind, content)) = asset(&path)
    {
        return with_type(StatusCode::OK, kind, content);
    }
    let token = token(request.headers()).map(str::to_owned);
    let grant = token.as_deref().and_then(|token| site.access.grant(token));
    if request.method() == Method::POST {
        let opens = path == "/session" || path == PLAIN;
        let last = opens.then(|| peer::is_of_this_user(peer, own));
        let body = Limited::new(request.into_body(), usize::try_from(MAX_BODY).unwrap_or_default()).collect();
        let Ok(Ok(body)) = tokio::time::timeout(BODY_TIMEOUT, body).await else {
            return text(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time, or is too long");
        };
        let body = body.to_bytes();
        return match (last, grant) {
            (Some(is_own), _) if path == PLAIN => {
                touch(used);
                let (status, page) = site.plain(&body, is_own).await;
                plain_page(status, page.into_string())
            }
            (Some(is_own), _) => open(site, is_own, &body),
            (None, None) => text(StatusCode::UNAUTHORIZED, NO_ACCESS),
            (None, Some(grant)) => {
                touch(used);
                let (status, markup) = site.act(&path, &body, &grant).await;
                with_type(status, HTML, markup.into_string())
            }
        };
    }
    if path == PLAIN {
        return plain_page(StatusCode::OK, entrance(None).into_string());
    }
    let Some(grant) = grant else {
        // A tab with a token that is no longer valid learns it; everybody else gets the shell.
        return match token {
            Some(_) => text(StatusCode::UNAUTHORIZED, NO_ACCESS),
            None => with_type(StatusCode::OK, HTML, shell().into_string()),
        };
    };
    touch(used);
    if path == "/live" {
        return live(site, request.headers()).await;
    }
    let query = Query::parse(request.uri().query().unwrap_or_default());
    let (status, view) = site.view(&path, &query, &grant).await;
    with_type(status, HTML, view.fragment().into_string())
}

const HTML: &str = "text/html; charset=utf-8";

const NO_ACCESS: &str = "This tab has no access any more. Run in a terminal: hookhost ui";

/// Returns the token of a request. It is never read from the address.
fn token(headers: &header::HeaderMap) -> Option<&str> {
    headers.get(header::AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")
}

/// Exchanges a code for a token.
fn open(site: &Site, is_own: bool, body: &[u8]) -> Response<Body> {
    #[derive(Deserialize)]
    struct Opened {
        code: String,
    }
    if !is_own {
        return text(StatusCode::FORBIDDEN, "the page opens its links for their own user alone");
    }
    let Ok(Opened { code }) = serde_json::from_slice(body) else {
        return text(StatusCode::BAD_REQUEST, "the code of the link is missing");
    };
    match site.access.open(&code) {
        Ok(Some(token)) => {
            with_type(StatusCode::OK, "application/json", serde_json::json!({ "token": token }).to_string())
        }
        Ok(None) => {
            let seconds = LINK_LIFETIME.as_secs();
            let why =
                format!("This link was used already, or is older than {seconds} s. Run in a terminal: hookhost ui");
            text(StatusCode::UNAUTHORIZED, &why)
        }
        Err(why) => text(StatusCode::INTERNAL_SERVER_ERROR, &why),
    }
}

/// Streams new rows and questions.
async fn live(site: &Arc<Site>, headers: &header::HeaderMap) -> Response<Body> {
    if site.live.streams() >= MAX_STREAMS {
        return text(StatusCode::TOO_MANY_REQUESTS, "too many tabs are live: close one");
    }
    let after = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let events = site.live.stream(after).await.map(|event| Ok(Frame::data(Bytes::from(event))));
    let mut answer = Response::new(StreamBody::new(events).boxed_unsync());
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    answer
}

/// Returns a page without a script. Its forms go to this page alone, and say that they are from here.
fn plain_page(status: StatusCode, page: String) -> Response<Body> {
    let mut answer = with_type(status, HTML, page);
    let policy = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";
    answer.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    answer.headers_mut().insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    answer
}

fn text(status: StatusCode, text: &str) -> Response<Body> {
    with_type(status, "text/plain; charset=utf-8", text.to_owned())
}

fn with_type(status: StatusCode, kind: &'static str, content: impl Into<Bytes>) -> Response<Body> {
    let mut answer = Response::new(Full::new(content.into()).boxed_unsync());
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    answer
}
