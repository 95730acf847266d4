//! A service that speaks streamable HTTP, as a server that speaks lines: each message is a request of its own, and what it is
//! answered with are lines.

use crate::events::Events;
use crate::lines::{self, Line};
use crate::message::{self, INTERNAL_ERROR, Id, Kind, MAX_BYTES, Message};
use crate::mirrored::Annotated;
use bytes::{Bytes, BytesMut};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method, Response, Url, redirect};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncWriteExt as _, BufReader, DuplexStream, duplex};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};

/// How long a connection may take.
const TO_CONNECT: Duration = Duration::from_secs(10);

/// How long a message may take that nobody waits for.
const FOR_A_NOTIFICATION: Duration = Duration::from_secs(30);

/// How long the end of a session may take.
const FOR_THE_END: Duration = Duration::from_secs(2);

/// The first and the longest pause before a stream of the service is opened again.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// How much of a message may be on its way between both, in bytes.
const BUFFER: usize = 256 * 1024;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// Why there is no way to a service.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// The address is no web address.
    #[error("{0:?} is no http or https address")]
    Address(String),
    /// A key would travel in the clear.
    #[error("a key for {0} could be read on the way: use https")]
    InTheClear(String),
    /// A header cannot be one.
    #[error("the value of a header has characters that it cannot have")]
    Header,
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
    state: Mutex<State>,
    output: tokio::sync::Mutex<Option<DuplexStream>>,
}

#[derive(Debug, Default)]
struct State {
    session: Option<HeaderValue>,
    version: Option<HeaderValue>,
    annotated: Annotated,
    stateless: HashMap<Id, AbortHandle>,
    listening: Option<AbortHandle>,
}

impl Service {
    /// The service at this address, which gets this key as `Authorization: Bearer …`.
    ///
    /// # Errors
    /// If it is no such address, or the key could be read on the way.
    pub fn new(address: &str, key: Option<&str>) -> Result<Self, ServiceError> {
        let url = Url::parse(address).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let url = url.ok_or_else(|| ServiceError::Address(address.to_owned()))?;
        let mut headers = HeaderMap::new();
        if let Some(key) = key {
            if url.scheme() != "https" && !is_loopback(&url) {
                return Err(ServiceError::InTheClear(url.origin().ascii_serialization()));
            }
            let mut value = HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_| ServiceError::Header)?;
            value.set_sensitive(true);
            headers.insert(reqwest::header::AUTHORIZATION, value);
        }
        if rustls::crypto::CryptoProvider::get_default().is_none() {
            // Where another thread was faster, there is one.
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        // A redirection would take the key along.
        let client = Client::builder().redirect(redirect::Policy::none()).connect_timeout(TO_CONNECT).build()?;
        let state = Mutex::default();
        Ok(Self(Arc::new(Inner { url, client, headers, state, output: tokio::sync::Mutex::new(None) })))
    }

    /// What the service says as lines, and where it is told lines. To be called within the runtime.
    #[must_use]
    pub fn connect(&self) -> (DuplexStream, DuplexStream) {
        let (output, theirs) = duplex(BUFFER);
        let (input, told) = duplex(BUFFER);
        let service = self.clone();
        tokio::spawn(async move {
            *service.0.output.lock().await = Some(theirs);
            service.serve(told).await;
        });
        (output, input)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn serve(&self, told: DuplexStream) {
        let mut reader = BufReader::new(told);
        let mut requests = JoinSet::new();
        while let Ok(Line::Whole(line)) = lines::next(&mut reader).await {
            while requests.try_join_next().is_some() {}
            // The proxy has written it.
            let Ok(message) = Message::of(line) else { continue };
            let service = self.clone();
            match &message.kind {
                Kind::Request { id, .. } => {
                    let (id, is_stateless) = (id.clone(), is_stateless(&message));
                    let own = id.clone();
                    // The table is locked until the request is in it.
                    let mut state = self.state();
                    let task = requests.spawn(async move { service.request(&own, message).await });
                    if is_stateless {
                        state.stateless.insert(id, task);
                    }
                }
                _ if self.is_cancelled(&message) => {}
                // One after the other: what comes next may depend on it.
                _ => {
                    let _ = timeout(FOR_A_NOTIFICATION, service.post(&message)).await;
                }
            }
        }
        while requests.join_next().await.is_some() {}
        self.end().await;
    }

    /// Gives up a request whose answer is a stream: the end of the stream tells the service.
    fn is_cancelled(&self, message: &Message) -> bool {
        if message.method() != Some("notifications/cancelled") {
            return false;
        }
        let id = message.params().unwrap_or_default().value("requestId").as_ref().and_then(Id::of);
        let task = id.and_then(|id| self.state().stateless.remove(&id));
        task.map(|task| task.abort()).is_some()
    }

    async fn request(&self, id: &Id, message: Message) {
        let answered = self.answered(id, &message).await;
        self.state().stateless.remove(id);
        if let Err(why) = answered {
            self.say(message::error(Some(id), INTERNAL_ERROR, &why)).await;
        }
    }

    async fn answered(&self, id: &Id, message: &Message) -> Result<(), String> {
        let response = self.post(message).await?;
        let status = response.status();
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if kind.starts_with("text/event-stream") && status.is_success() {
            return self.stream(response, Some((id, message))).await;
        }
        let session = response.headers().get(SESSION).cloned();
        let body = body(response).await?;
        // An error can be an answer of the protocol as well.
        match Message::of(body) {
            Ok(answer) if matches!(&answer.kind, Kind::Response { id: of } if of == id) => {
                self.learn(message, &answer, session);
                self.say(answer.bytes).await;
                Ok(())
            }
            _ if !status.is_success() => Err(format!("the service answered {status}")),
            Ok(_) => Err("the service answered another request".to_owned()),
            Err(why) => Err(format!("the service's answer cannot be passed on: {why}")),
        }
    }

    async fn post(&self, message: &Message) -> Result<Response, String> {
        let mut request = self.0.client.post(self.0.url.clone()).headers(self.0.headers.clone());
        request =
            request.header(CONTENT_TYPE, "application/json").header(ACCEPT, "application/json, text/event-stream");
        {
            let state = self.state();
            if let Some(session) = &state.session {
                request = request.header(SESSION, session);
            }
            if let Some(version) = version(message).or_else(|| state.version.clone()) {
                request = request.header(VERSION, version);
            }
            if is_stateless(message) {
                for (name, value) in state.annotated.headers(message) {
                    request = request.header(name, value);
                }
            }
        }
        let sent = request.body(message.bytes.clone()).send().await;
        sent.map_err(|error| format!("the service cannot be reached: {}", cause(&error)))
    }

    /// Passes the messages of a stream on. One that answers a request ends with its answer.
    async fn stream(&self, mut response: Response, asked: Option<(&Id, &Message)>) -> Result<(), String> {
        let session = response.headers().get(SESSION).cloned();
        let mut events = Events::default();
        loop {
            let part =
                response.chunk().await.map_err(|error| format!("the service's answer broke off: {}", cause(&error)))?;
            let Some(part) = part else {
                return if asked.is_some() { Err("the service ended its answer too early".to_owned()) } else { Ok(()) };
            };
            for data in events.take(&part).map_err(|error| error.to_string())? {
                let Ok(message) = Message::of(data) else { continue };
                match (&message.kind, asked) {
                    (Kind::Response { id: of }, Some((id, request))) if of == id => {
                        self.learn(request, &message, session);
                        self.say(message.bytes).await;
                        return Ok(());
                    }
                    // Of another request: nobody has asked here.
                    (Kind::Response { .. } | Kind::ErrorAboutNoRequest, _) => {}
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
        let mut state = self.state();
        if !is_beginning {
            state.annotated.take_up(&result);
            return;
        }
        let version = result.get("protocolVersion").and_then(Value::as_str);
        state.version = version.and_then(|version| HeaderValue::from_str(version).ok());
        state.session = session;
        if let Some(earlier) = state.listening.take() {
            earlier.abort();
        }
        let service = self.clone();
        state.listening = Some(tokio::spawn(async move { service.listen().await }).abort_handle());
    }

    /// What the service says without being asked, where it has a stream for that.
    async fn listen(&self) {
        let mut pause = PAUSES.0;
        loop {
            // The service may not take it before it is told that the client has begun.
            sleep(pause).await;
            let mut request = self.0.client.get(self.0.url.clone()).headers(self.0.headers.clone());
            request = request.header(ACCEPT, "text/event-stream");
            {
                let state = self.state();
                for (name, value) in [(SESSION, &state.session), (VERSION, &state.version)] {
                    if let Some(value) = value {
                        request = request.header(name, value);
                    }
                }
            }
            match request.send().await {
                Ok(response) if response.status().is_success() => {
                    pause = PAUSES.0;
                    let _ = self.stream(response, None).await;
                }
                Ok(response) if response.status().is_client_error() => return,
                _ => pause = (pause * 2).min(PAUSES.1),
            }
        }
    }

    async fn say(&self, bytes: Bytes) {
        let mut line = message::on_one_line(bytes).to_vec();
        line.push(b'\n');
        if let Some(output) = self.0.output.lock().await.as_mut() {
            // Nobody reads it any more.
            let _ = output.write_all(&line).await;
        }
    }

    async fn end(&self) {
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
        *self.0.output.lock().await = None;
    }
}

/// The body of an answer, as far as a message may be long.
async fn body(mut response: Response) -> Result<Bytes, String> {
    let mut body = BytesMut::new();
    loop {
        let part =
            response.chunk().await.map_err(|error| format!("the service's answer broke off: {}", cause(&error)))?;
        let Some(part) = part else { return Ok(body.freeze()) };
        if body.len() + part.len() > MAX_BYTES {
            return Err(format!("the service's answer has more than {MAX_BYTES} bytes"));
        }
        body.extend_from_slice(&part);
    }
}

/// The revision that a request says itself.
fn version(message: &Message) -> Option<HeaderValue> {
    let meta = message.params().ok()?.value("_meta")?;
    let version = meta.get("io.modelcontextprotocol/protocolVersion")?.as_str()?;
    HeaderValue::from_str(version).ok()
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
