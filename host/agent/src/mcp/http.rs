//! Client of a service: a remote MCP server that speaks streamable HTTP. The client counts the bytes of
//! an answer while they arrive, before it parses the answer.
//!
//! `rmcp` implements the protocol and uses this client for each exchange. If an answer exceeds a limit, the client
//! stops reading it and puts a protocol error in its place. So only the request that waits for this answer fails.

use super::bounded::{ALL_SERVERS, Budget, PendingBytes, Values};
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::{RequestBuilder, Response, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, ErrorCode, ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::common::http_header::{
    EVENT_STREAM_MIME_TYPE, HEADER_LAST_EVENT_ID, HEADER_SESSION_ID, JSON_MIME_TYPE,
};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use rmcp_sse_stream::{Sse, SseStream};
use std::collections::HashMap;
use std::sync::Arc;

/// Maximum size of one message of a service, in bytes.
pub const MAX_MESSAGE: usize = 16 * 1024 * 1024;
/// Maximum size of one event stream of a service, in bytes. The stream contains the answer to a request and perhaps
/// other events.
pub const MAX_STREAM: usize = 64 * 1024 * 1024;
/// Maximum number of bytes read from an HTTP error's body.
const MAX_ERROR: usize = 64 * 1024;
/// Maximum length of an event id for resuming a stream, in bytes.
const MAX_EVENT_ID: usize = 1024;

/// Code of the error that replaces an answer that exceeds a limit. The protocol does not use this code.
pub(super) const NOT_READ: ErrorCode = ErrorCode(0x6e6f);

type Events = BoxStream<'static, Result<Sse, SseError>>;
type HttpError = StreamableHttpError<reqwest::Error>;

/// Client of one service.
#[derive(Clone, Debug)]
pub(super) struct Service {
    client: reqwest::Client,
    budget: &'static Budget,
}

/// Reasons why reading a body stops.
#[derive(Debug, thiserror::Error)]
enum BodyError {
    #[error(transparent)]
    Connection(#[from] reqwest::Error),
    #[error("{0}")]
    TooMuch(String),
}

impl Service {
    pub(super) fn new(client: reqwest::Client) -> Self {
        Self { client, budget: &ALL_SERVERS }
    }

    /// Reads a message from a JSON body. The inner error says why the body cannot be used.
    async fn message(&self, response: Response) -> Result<Result<ServerJsonRpcMessage, String>, HttpError> {
        // The bytes stay in the budget until the message is parsed.
        let mut pending = PendingBytes::new(self.budget);
        let body = match self.body(response, MAX_MESSAGE, &mut pending).await {
            Ok(body) => body,
            Err(BodyError::Connection(error)) => return Err(HttpError::Client(error)),
            Err(BodyError::TooMuch(why)) => return Ok(Err(why)),
        };
        let message = serde_json::from_slice(&body);
        Ok(message.map_err(|error| format!("it answered with JSON that is no message of the protocol: {error}")))
    }

    async fn body(&self, response: Response, most: usize, pending: &mut PendingBytes) -> Result<Vec<u8>, BodyError> {
        let (mut body, mut values) = (Vec::new(), Values::default());
        let mut chunks = response.bytes_stream();
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk?;
            if chunk.len() > most - body.len() {
                return Err(BodyError::TooMuch(too_large("a message", most)));
            }
            pending.take(chunk.len()).map_err(BodyError::TooMuch)?;
            values.take(&chunk).map_err(BodyError::TooMuch)?;
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    /// Returns the events of a stream that answers `request`. If the stream exceeds a limit, it ends with an error for
    /// that request.
    fn events(&self, response: Response, request: RequestId) -> Events {
        let mut event =
            EventCounter { bytes: 0, of_stream: 0, line: Line::Empty, pending: PendingBytes::new(self.budget) };
        let counted = response.bytes_stream().map(move |chunk| {
            let chunk = chunk?;
            event.take(&chunk).map_err(BodyError::TooMuch)?;
            Ok::<_, BodyError>(chunk)
        });
        let events = SseStream::from_bytes_stream(counted).boxed();
        stream::unfold(Some((events, request)), |reading| async move {
            let (mut events, request) = reading?;
            let too_much = match events.next().await? {
                Ok(event) => match Values::default().take(event.data.as_deref().unwrap_or_default().as_bytes()) {
                    Ok(()) => return Some((Ok(resumable(event, &request)), Some((events, request)))),
                    Err(why) => why,
                },
                Err(SseError::Body(error)) => match error.downcast_ref::<BodyError>() {
                    Some(BodyError::TooMuch(why)) => why.clone(),
                    _ => return Some((Err(SseError::Body(error)), None)),
                },
                Err(error) => return Some((Err(error), None)),
            };
            let answer = serde_json::to_string(&not_read(&request, too_much)).unwrap_or_default();
            Some((Ok(Sse { data: Some(answer), ..Sse::default() }), None))
        })
        .boxed()
    }

    /// Reads the protocol error from the body of a response with an error status. If the body contains no protocol
    /// error, the returned error contains the status.
    async fn error(&self, response: Response) -> Result<ServerJsonRpcMessage, HttpError> {
        let status = response.status();
        let is_about_the_request = is_of(&response, JSON_MIME_TYPE)
            && !matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS);
        if is_about_the_request {
            let body = self.body(response, MAX_ERROR, &mut PendingBytes::new(self.budget)).await;
            let message = body.ok().and_then(|body| serde_json::from_slice(&body).ok());
            if let Some(message @ JsonRpcMessage::Error(_)) = message {
                return Ok(message);
            }
        }
        Err(HttpError::UnexpectedServerResponse(format!("HTTP {status}").into()))
    }
}

impl StreamableHttpClient for Service {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        key: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let in_a_session = session.is_some();
        let asking = with_headers(self.client.post(uri.as_ref()), session, key, headers)?;
        let asking = asking.header(CONTENT_TYPE, JSON_MIME_TYPE).body(serde_json::to_vec(&message)?);
        let response = asking.send().await.map_err(HttpError::Client)?;
        let status = response.status();
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && in_a_session {
            return Err(HttpError::SessionExpired);
        }
        let request = match message {
            JsonRpcMessage::Request(request) => Some(request.id),
            _ => None,
        };
        if !status.is_success() {
            return Ok(StreamableHttpPostResponse::Json(self.error(response).await?, None));
        }
        // In the protocol, only requests get an answer. Some services also answer other messages. Such an answer is
        // ignored.
        let Some(request) = request else { return Ok(StreamableHttpPostResponse::Accepted) };
        let session = response.headers().get(HEADER_SESSION_ID).and_then(|id| id.to_str().ok()).map(str::to_owned);
        if is_of(&response, EVENT_STREAM_MIME_TYPE) {
            return Ok(StreamableHttpPostResponse::Sse(self.events(response, request), session));
        }
        if is_of(&response, JSON_MIME_TYPE) {
            let message = self.message(response).await?.unwrap_or_else(|why| not_read(&request, why));
            return Ok(StreamableHttpPostResponse::Json(message, session));
        }
        Err(HttpError::UnexpectedContentType(content_type(&response)))
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        key: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), HttpError> {
        let asking = with_headers(self.client.delete(uri.as_ref()), Some(session), key, headers)?;
        let status = asking.send().await.map_err(HttpError::Client)?.status();
        match status {
            StatusCode::METHOD_NOT_ALLOWED => Err(HttpError::ServerDoesNotSupportDeleteSession),
            _ if status.is_success() => Ok(()),
            _ => Err(HttpError::UnexpectedServerResponse(format!("HTTP {status}").into())),
        }
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        key: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Events, HttpError> {
        // Without an event id to resume from, the server would send messages that no request asked for.
        let Some((request, event)) = last_event.as_deref().and_then(resumed) else {
            return Err(HttpError::ServerDoesNotSupportSse);
        };
        let asking = with_headers(self.client.get(uri.as_ref()), session, key, headers)?;
        let response = asking.header(HEADER_LAST_EVENT_ID, event).send().await.map_err(HttpError::Client)?;
        match response.status() {
            StatusCode::METHOD_NOT_ALLOWED => Err(HttpError::ServerDoesNotSupportSse),
            status if !status.is_success() => Err(HttpError::UnexpectedServerResponse(format!("HTTP {status}").into())),
            _ if is_of(&response, EVENT_STREAM_MIME_TYPE) => Ok(self.events(response, request)),
            _ => Err(HttpError::UnexpectedContentType(content_type(&response))),
        }
    }
}

/// Adds the headers that every exchange has. The user's headers cannot replace the headers of the protocol.
fn with_headers(
    mut asking: RequestBuilder,
    session: Option<Arc<str>>,
    key: Option<String>,
    headers: HashMap<HeaderName, HeaderValue>,
) -> Result<RequestBuilder, HttpError> {
    for (name, value) in headers {
        let is_ours = [ACCEPT.as_str(), HEADER_SESSION_ID, HEADER_LAST_EVENT_ID];
        if is_ours.iter().any(|ours| name.as_str().eq_ignore_ascii_case(ours)) {
            return Err(HttpError::ReservedHeaderConflict(name.to_string()));
        }
        asking = asking.header(name, value);
    }
    if let Some(session) = session {
        asking = asking.header(HEADER_SESSION_ID, session.as_ref());
    }
    if let Some(key) = key {
        asking = asking.bearer_auth(key);
    }
    Ok(asking.header(ACCEPT, format!("{EVENT_STREAM_MIME_TYPE}, {JSON_MIME_TYPE}")))
}

fn content_type(response: &Response) -> Option<String> {
    response.headers().get(CONTENT_TYPE).map(|kind| String::from_utf8_lossy(kind.as_bytes()).into_owned())
}

fn is_of(response: &Response, kind: &str) -> bool {
    content_type(response).is_some_and(|said| said.to_ascii_lowercase().starts_with(kind))
}

fn too_large(what: &str, most: usize) -> String {
    let (size, unit) = if most >= 1 << 20 { (most >> 20, "MiB") } else { (most >> 10, "KiB") };
    format!("it sent {what} of more than {size} {unit}, so hookhost stopped reading")
}

/// Returns the error that replaces the answer to a request.
fn not_read(request: &RequestId, why: String) -> ServerJsonRpcMessage {
    ServerJsonRpcMessage::error(ErrorData::new(NOT_READ, why, None), Some(request.clone()))
}

/// Adds the request's id to the event's id. When the client resumes the stream, it gets only the event's id, but it
/// must also know the request.
fn resumable(mut event: Sse, request: &RequestId) -> Sse {
    let id = event.id.take().filter(|id| id.len() <= MAX_EVENT_ID);
    event.id = id.and_then(|id| Some(format!("{} {id}", serde_json::to_string(request).ok()?)));
    event
}

/// Splits an id from [`resumable`] into the request's id and the service's own event id.
fn resumed(event: &str) -> Option<(RequestId, &str)> {
    let (request, event) = event.split_once(' ')?;
    Some((serde_json::from_str(request).ok()?, event))
}

/// State of the current line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    Empty,
    Begun,
    /// The line ended with a carriage return, and a line feed may follow.
    Returned,
}

/// Counter of the current event.
struct EventCounter {
    bytes: usize,
    of_stream: usize,
    line: Line,
    pending: PendingBytes,
}

impl EventCounter {
    fn take(&mut self, chunk: &[u8]) -> Result<(), String> {
        self.of_stream = self.of_stream.saturating_add(chunk.len());
        if self.of_stream > MAX_STREAM {
            return Err(too_large("an event stream", MAX_STREAM));
        }
        let mut rest = 0;
        for byte in chunk {
            rest += 1;
            self.bytes += 1;
            let ends_an_event = matches!(byte, b'\n' | b'\r') && self.line == Line::Empty
                || *byte == b'\r' && self.line == Line::Returned;
            self.line = match (byte, self.line) {
                (b'\n', _) => Line::Empty,
                (b'\r', _) => Line::Returned,
                _ => Line::Begun,
            };
            if ends_an_event {
                (rest, self.bytes) = (0, 0);
                self.pending.give_back();
            }
            if self.bytes > MAX_MESSAGE {
                return Err(too_large("a message", MAX_MESSAGE));
            }
        }
        // The bytes after the last complete event are still pending.
        self.pending.take(rest)
    }
}
