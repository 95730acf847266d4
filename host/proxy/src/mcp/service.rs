//! A service, which is an MCP server that is reached over streamable HTTP. Each message to the service
//! becomes an HTTP request. The messages in the responses go back to the proxy.

mod renewal;
mod streams;

use crate::jsonrpc::lines;
use crate::jsonrpc::message::{self, INTERNAL_ERROR, Id, MAX_BYTES, Message, MessageKind, OutgoingMessage};
use crate::jsonrpc::message_streams::IncomingMessage;
use crate::jsonrpc::relay::ServerStreams;
use crate::jsonrpc::unreadable_lines::beginning;
use crate::mcp::parameter_headers::{ParameterHeaders, TOO_MANY_HEADERS};
use crate::mcp::request_headers::is_loopback_host;
use crate::mcp::revision::revision;
use crate::mcp::subscription::{self, LISTEN, cancelled};
use crate::resident_host::UserNotifier;
use bytes::{Bytes, BytesMut};
use renewal::{can_have_run, is_of_forgotten_session};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method, Response, StatusCode, Url, redirect};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use streams::is_stream;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;

/// Timeout of a connection attempt.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Timeout for sending a message that needs no answer.
const NOTIFICATION_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum time to wait, at the beginning of a session, until the service has opened the stream for its own messages. Later
/// messages of the client are sent only after this wait.
const STREAM_OPEN_TIMEOUT: Duration = Duration::from_millis(500);

/// Timeout of the request that ends a session.
const SESSION_END_TIMEOUT: Duration = Duration::from_secs(2);

/// Maximum number of queued messages from the service to the proxy.
const MAX_QUEUED: usize = 16;

/// Size above which an answer is treated as large, in bytes: 256 KiB.
const LARGE_ANSWER_SIZE: usize = 256 * 1024;

/// Maximum number of large answers that are read at the same time.
const MAX_LARGE_ANSWERS: usize = 4;

pub(crate) const SESSION_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");
pub(crate) const VERSION_HEADER: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// The reason why a service cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// The address is not an `http` or `https` URL.
    #[error("{0:?} is not an http or https address")]
    Address(String),
    /// The address contains the name or the password of a user.
    #[error("the address has a name or password before the `@`: name the variable of a key instead")]
    UserInAddress,
    /// The key or a configured header would be sent without encryption.
    #[error("a key for {0} would be sent without encryption: use https")]
    InTheClear(String),
    /// The value of a header is invalid.
    #[error("the value of a header contains invalid characters")]
    Header,
    /// The name of a header is invalid.
    #[error("{0:?} cannot be the name of a header")]
    HeaderName(String),
    /// The HTTP client cannot be created.
    #[error("the HTTP client cannot be created: {0}")]
    Client(#[from] reqwest::Error),
}

/// A connection to a service, with the state of one session.
#[derive(Clone, Debug)]
pub struct Service(Arc<ServiceInner>);

#[derive(Debug)]
struct ServiceInner {
    url: Url,
    client: Client,
    headers: HeaderMap,
    shared: ServiceShared,
    state: Mutex<SessionState>,
    output: Mutex<Option<mpsc::Sender<IncomingMessage>>>,
    /// Locked while a new session is begun.
    renewing: tokio::sync::Mutex<()>,
    /// Notified when the service has received `notifications/initialized`.
    begun: Notify,
    /// Notified when the service has opened or refused its stream for its own messages.
    listens: Notify,
}

/// The state that all sessions share.
#[derive(Clone, Debug)]
struct ServiceShared {
    /// The headers that the service requires for the tools that it has listed in any session.
    parameter_headers: Arc<Mutex<ParameterHeaders>>,
    notifier: UserNotifier,
    /// Permits for reading large answers.
    large: Arc<Semaphore>,
}

#[derive(Debug, Default)]
struct SessionState {
    session: Option<HeaderValue>,
    version: Option<HeaderValue>,
    /// The `initialize` request with which the session began.
    hello: Option<Message>,
    stateless: HashMap<Id, AbortHandle>,
    /// The last stateless request that the service answered with the HTTP status 400 or 404, and this status. The proxy repeats the
    /// status to its client.
    refusal: Option<(Id, StatusCode)>,
    /// Requests that last until one side ends them. Some of them are also in `stateless`.
    subscriptions: HashMap<Id, AbortHandle>,
    listening: Option<AbortHandle>,
    serving: Option<AbortHandle>,
}

/// The HTTP response to a posted message.
struct PostedMessage {
    response: Response,
    /// The session in which the message was posted. `None` if the session has just begun, or if there is no session.
    session: Option<HeaderValue>,
}

/// The answer to a request, read from an HTTP response.
struct ServiceAnswer {
    message: Message,
    /// The new session, if the response begins a session.
    session: Option<HeaderValue>,
    /// The permit for the answer, if the answer is large.
    room: Option<OwnedSemaphorePermit>,
}

/// Headers that control the transfer. Only the transport sets them.
const TRANSPORT_HEADERS: &[&str] =
    &["accept", "connection", "content-length", "content-type", "host", "last-event-id", "transfer-encoding"];

impl Service {
    /// Creates a client for the service at this address. The client sends the key as `Authorization: Bearer …`. The client also
    /// sends the headers in `more`, except those that control the transfer and those whose name begins with `mcp-`. `tell` shows a
    /// text to the user.
    ///
    /// # Errors
    /// If the address or a header is invalid, or if the key or a header would be sent without encryption.
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
            if TRANSPORT_HEADERS.contains(&name.as_str()) || name.as_str().starts_with("mcp-") {
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
            // An error means that another thread has already installed a provider.
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        // Following a redirect would send the key to another address.
        let client = Client::builder().redirect(redirect::Policy::none()).connect_timeout(CONNECT_TIMEOUT);
        // An HTTP proxy would send the request to another machine.
        let client = if is_loopback(&url) { client.no_proxy() } else { client };
        let shared = ServiceShared {
            parameter_headers: Arc::default(),
            notifier: UserNotifier::new(tell),
            large: Arc::new(Semaphore::new(MAX_LARGE_ANSWERS)),
        };
        Ok(Self::over(url, client.build()?, headers, shared))
    }

    /// Returns another connection to the same service, which has a session of its own.
    pub fn in_another_session(&self) -> Self {
        let ServiceInner { url, client, headers, shared, .. } = &*self.0;
        Self::over(url.clone(), client.clone(), headers.clone(), shared.clone())
    }

    fn over(url: Url, client: Client, headers: HeaderMap, shared: ServiceShared) -> Self {
        let (state, output, renewing) = Default::default();
        let (begun, listens) = (Notify::new(), Notify::new());
        Self(Arc::new(ServiceInner { url, client, headers, shared, state, output, renewing, begun, listens }))
    }

    /// Returns the HTTP status with which the service refused this stateless request, and forgets the status. Returns `None` if the
    /// service's last refusal was not about this request.
    pub(crate) fn refusal(&self, id: &Id) -> Option<StatusCode> {
        self.state().refusal.take().filter(|(of, _)| of == id).map(|(_, status)| status)
    }

    /// Locks and returns the table of the headers that requests need.
    pub(crate) fn parameter_headers(&self) -> MutexGuard<'_, ParameterHeaders> {
        self.0.shared.parameter_headers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the messages of the service, and the channel for messages to the service. Must be called within a Tokio runtime.
    pub fn connect(&self) -> ServerStreams<mpsc::Receiver<IncomingMessage>, mpsc::Sender<OutgoingMessage>> {
        let (send, output) = mpsc::channel(MAX_QUEUED);
        let (input, messages) = mpsc::channel(1);
        let service = self.clone();
        *self.output() = Some(send);
        let serving = tokio::spawn(async move { service.serve(messages).await });
        self.state().serving = Some(serving.abort_handle());
        ServerStreams { output, input }
    }

    /// Cancels all requests. Their connections are closed, so the service notices the cancellation.
    pub fn abandon(&self) {
        let mut state = self.state();
        let tasks = [state.serving.take(), state.listening.take()];
        tasks.into_iter().flatten().for_each(|task| task.abort());
        drop(state);
        *self.output() = None;
    }

    fn output(&self) -> MutexGuard<'_, Option<mpsc::Sender<IncomingMessage>>> {
        self.0.output.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, SessionState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn serve(&self, mut messages: mpsc::Receiver<OutgoingMessage>) {
        let mut requests = JoinSet::new();
        while let Some(message) = messages.recv().await {
            while requests.try_join_next().is_some() {}
            let message = match message.parse() {
                Ok(message) => message,
                // The proxy forwards only valid messages, so a plugin must have made this message invalid.
                Err(refused) => {
                    if let Some(id) = refused.id.as_ref().filter(|_| !refused.is_answer) {
                        let why = format!("the request cannot be passed on: {refused}");
                        self.forward(IncomingMessage::of(message::error(Some(id), INTERNAL_ERROR, &why))).await;
                    }
                    // Each answer is replaced by an error, because the service waits for the answer.
                    for id in refused.answered_requests() {
                        let why = format!("the answer cannot be passed on: {refused}");
                        if let Ok(error) = Message::of(message::error(Some(id), INTERNAL_ERROR, &why)) {
                            let _ = timeout(NOTIFICATION_TIMEOUT, self.post(&error)).await;
                        }
                    }
                    continue;
                }
            };
            let service = self.clone();
            if self.cancel_stream(&message).await {
                continue;
            }
            match &message.kind {
                MessageKind::Request { id, .. } => {
                    let (id, is_stateless) = (id.clone(), is_stateless(&message));
                    let is_subscription = message.method() == Some(LISTEN);
                    let own = id.clone();
                    // The state stays locked until its tables contain the request, because otherwise the request could end before
                    // it is in them.
                    let mut state = self.state();
                    let task = requests.spawn(async move { service.request(&own, message).await });
                    if is_subscription {
                        state.subscriptions.insert(id.clone(), task.clone());
                    }
                    if is_stateless {
                        state.stateless.insert(id, task);
                    }
                }
                // Messages that are not requests are sent one after the other, because a later message may depend on an earlier
                // message.
                _ => {
                    let _ = timeout(NOTIFICATION_TIMEOUT, service.post(&message)).await;
                    if message.method() == Some("notifications/initialized") {
                        service.0.begun.notify_one();
                        // The stream on which the service sends its own requests should be open before the client's next message is
                        // sent.
                        let _ = timeout(STREAM_OPEN_TIMEOUT, service.0.listens.notified()).await;
                    }
                }
            }
        }
        // Subscriptions are cancelled, because otherwise they would last until the service ends.
        self.state().subscriptions.drain().for_each(|(_, subscription)| subscription.abort());
        while requests.join_next().await.is_some() {}
        self.end().await;
    }

    /// If this message cancels a stateless request, cancels that request and returns true. The message itself is not sent, because
    /// the service notices that the connection of the request is closed.
    async fn cancel_stream(&self, message: &Message) -> bool {
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
            // No answer will come, so the client may use the identifier again.
            self.forward(IncomingMessage::of(subscription::ended(&id))).await;
        }
        true
    }

    async fn request(&self, id: &Id, message: Message) {
        let answered = self.answer_request(id, &message).await;
        {
            let mut state = self.state();
            state.stateless.remove(id);
            state.subscriptions.remove(id);
        }
        if let Err(why) = answered {
            self.forward(IncomingMessage::of(message::error(Some(id), INTERNAL_ERROR, &why))).await;
        }
    }

    async fn answer_request(&self, id: &Id, message: &Message) -> Result<(), String> {
        let PostedMessage { response, session } = self.post(message).await?;
        let answer = self.read_answer(id, message, response).await?;
        let Some(ServiceAnswer { message: answer, session: begun, room: _room }) = answer else { return Ok(()) };
        let lost = session.filter(|_| is_of_forgotten_session(&answer));
        if let Some(lost) = lost
            && self.renew_in_time(&lost).await?
            && !can_have_run(message, &answer)
        {
            let session = self.state().session.clone();
            let response = self.post_in(session.as_ref(), message).await?;
            return match self.read_answer(id, message, response).await? {
                Some(ServiceAnswer { message: answer, session, room: _room }) => {
                    self.forward_answer(message, answer, session).await;
                    Ok(())
                }
                None => Ok(()),
            };
        }
        self.forward_answer(message, answer, begun).await;
        Ok(())
    }

    /// Stores the parts of an answer that later requests need, and forwards the answer.
    async fn forward_answer(&self, request: &Message, answer: Message, session: Option<HeaderValue>) {
        self.learn(request, &answer, session);
        self.forward(IncomingMessage::Message(answer)).await;
    }

    /// Reads the answer to a request from a response. Returns `None` if the response ended the request without an answer.
    async fn read_answer(
        &self,
        id: &Id,
        message: &Message,
        response: Response,
    ) -> Result<Option<ServiceAnswer>, String> {
        let status = response.status();
        if is_stream(response.headers()) && status.is_success() {
            return self.stream(response, Some((id, message))).await;
        }
        let session = response.headers().get(SESSION_HEADER).cloned();
        let (body, room) = self.body(response).await?;
        let shown = beginning(&body);
        // The body of a response with an HTTP error status can also be a JSON-RPC answer.
        match Message::of(lines::without_mark(body)) {
            Ok(answer) if is_answer_to(id, &answer) => {
                if is_stateless(message) && matches!(status, StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND) {
                    self.state().refusal = Some((id.clone(), status));
                }
                Ok(Some(ServiceAnswer { message: answer.with_id(id), session, room }))
            }
            _ if !status.is_success() => Err(format!("the service answered {status}: {shown}")),
            Ok(_) => Err("the service's response contains no answer to this request".to_owned()),
            Err(why) => Err(format!("the service's answer cannot be passed on: {why}: {shown}")),
        }
    }

    /// Posts a message. If the service refuses the message because it has forgotten the session, begins a new session with the
    /// client's `initialize` and posts the message again.
    async fn post(&self, message: &Message) -> Result<PostedMessage, String> {
        if is_stateless(message) {
            return Ok(PostedMessage { response: self.post_in(None, message).await?, session: None });
        }
        let session = {
            // If a new session is being begun, the message belongs to the new session.
            let _renewing = self.0.renewing.lock().await;
            self.state().session.clone()
        };
        let response = self.post_in(session.as_ref(), message).await?;
        let Some(lost) = session else { return Ok(PostedMessage { response, session: None }) };
        let (is_forgotten, response) = match response.status() {
            StatusCode::NOT_FOUND => (true, response),
            // If the service has forgotten the session, the protocol requires the status 404. Many services send this status
            // instead.
            StatusCode::BAD_REQUEST => self.check_refusal(message, response).await?,
            _ => (false, response),
        };
        if !is_forgotten || !self.renew_in_time(&lost).await? {
            return Ok(PostedMessage { response, session: Some(lost) });
        }
        let session = self.state().session.clone();
        Ok(PostedMessage { response: self.post_in(session.as_ref(), message).await?, session: None })
    }

    async fn post_in(&self, session: Option<&HeaderValue>, message: &Message) -> Result<Response, String> {
        let mut request = self.0.client.post(self.0.url.clone()).headers(self.0.headers.clone());
        request =
            request.header(CONTENT_TYPE, "application/json").header(ACCEPT, "application/json, text/event-stream");
        {
            let state = self.state();
            if let Some(session) = session {
                request = request.header(SESSION_HEADER, session);
            }
            let own_version = version(message);
            let is_stateless = own_version.is_some();
            if let Some(version) = own_version.or_else(|| state.version.clone()) {
                request = request.header(VERSION_HEADER, version);
            }
            if is_stateless {
                request = request.headers(mirrored(&self.parameter_headers(), message)?);
            }
        }
        let sent = request.body(message.bytes.clone()).send().await;
        sent.map_err(|error| format!("the service cannot be reached: {}", cause(&error)))
    }

    /// Stores the parts of an answer that later requests need.
    fn learn(&self, request: &Message, answer: &Message, session: Option<HeaderValue>) {
        let is_beginning = request.method() == Some("initialize");
        if !is_beginning && request.method() != Some("tools/list") {
            return;
        }
        let Some(result) = answer.members.value("result") else { return };
        if !is_beginning {
            let cursor = request.params().unwrap_or_default().text("cursor");
            if self.parameter_headers().add_page(&result, cursor.as_deref()) {
                self.0.shared.notifier.tell(
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

    /// Sends a message to the proxy.
    async fn forward(&self, message: IncomingMessage) {
        let output = self.output().clone();
        if let Some(output) = output {
            // An error means that the receiver was dropped.
            let _ = output.send(message).await;
        }
    }

    /// If a session has begun, tells the service that the session is over, and waits a short time for the reply.
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
            request = request.header(SESSION_HEADER, session);
            if let Some(version) = version {
                request = request.header(VERSION_HEADER, version);
            }
            let _ = timeout(SESSION_END_TIMEOUT, request.send()).await;
        }
        *self.output() = None;
    }

    /// Reads the body of an answer, up to the maximum length of a message. If the answer is large, also returns its permit.
    async fn body(&self, mut response: Response) -> Result<(Bytes, Option<OwnedSemaphorePermit>), String> {
        let (mut body, mut room) = (BytesMut::new(), None);
        loop {
            let part =
                response.chunk().await.map_err(|error| format!("the service's answer broke off: {}", cause(&error)))?;
            let Some(part) = part else { return Ok((body.freeze(), room)) };
            if body.len() + part.len() > MAX_BYTES {
                return Err(format!("the service's answer has more than {MAX_BYTES} bytes"));
            }
            if room.is_none() && body.len() + part.len() > LARGE_ANSWER_SIZE {
                room = Arc::clone(&self.0.shared.large).acquire_owned().await.ok();
            }
            body.extend_from_slice(&part);
        }
    }
}

/// Returns true if a message answers the request with this identifier. It does not matter whether the answer has the identifier as
/// a number or as a string, because the response contains no other answer.
fn is_answer_to(id: &Id, message: &Message) -> bool {
    let MessageKind::Response { id: of } = &message.kind else { return false };
    of == id || of.of_other_type().as_ref() == Some(id)
}

/// Returns the headers that repeat parts of a request.
fn mirrored(parameter_headers: &ParameterHeaders, message: &Message) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (name, value) in parameter_headers.headers(message)? {
        let cannot = |_| "an argument that has a header has a name or a value that no header can have".to_owned();
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| cannot(()))?;
        let value = HeaderValue::from_str(&value).map_err(|_| cannot(()))?;
        // `append` would panic if the table were full.
        headers.try_append(name, value).map_err(|_| TOO_MANY_HEADERS)?;
    }
    Ok(headers)
}

fn version(message: &Message) -> Option<HeaderValue> {
    HeaderValue::from_str(&revision(message)?).ok()
}

fn is_stateless(message: &Message) -> bool {
    version(message).is_some()
}

fn is_loopback(url: &Url) -> bool {
    url.host_str().is_some_and(|host| is_loopback_host(host.trim_start_matches('[').trim_end_matches(']')))
}

/// Returns the text of the innermost cause, which is the most specific.
fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::{Bytes, IncomingMessage, MAX_BYTES, Service};

    #[tokio::test]
    async fn a_request_that_a_plugin_has_made_unsendable_is_an_error_and_the_next_one_is_taken() {
        // No server listens at this address, and no request reaches it.
        let service = Service::new("http://127.0.0.1:9/mcp", None, &[], |_| {}).unwrap();
        let mut streams = service.connect();
        let long =
            format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"x\",\"params\":[\"{}\"]}}\n", "x".repeat(MAX_BYTES));
        let twice = r#"{"jsonrpc":"2.0","id":8,"method":"x","params":{"a":1,"a":2}}"#;
        for (request, id) in [(long, 7), (twice.to_owned(), 8)] {
            streams.input.send(Bytes::from(request).into()).await.unwrap();
            let Some(IncomingMessage::Message(answer)) = streams.output.recv().await else {
                panic!("no answer to {id}")
            };
            assert_eq!(answer.members.value("id").unwrap(), id);
            let error = answer.members.value("error").unwrap();
            let why = error["message"].as_str().unwrap();
            assert!(why.starts_with("the request cannot be passed on"), "{why}");
        }
    }
}
