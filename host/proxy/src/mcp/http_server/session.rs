//! The proxy of one HTTP session, or of one request without a session.

use super::response::{Answer, ResponseBody, no_session, refused, status_of, stream};
use super::streams::{ClientStreams, DeliveryKind, MAX_MESSAGES, OpenRequest, deliver, lock};
use crate::jsonrpc::message::{INVALID_REQUEST, Id, Message};
use crate::jsonrpc::message_streams::IncomingMessage;
use crate::mcp::judge::Judge;
use crate::mcp::proxy;
use crate::mcp::service::{SESSION_HEADER, Service};
use crate::mcp::sse::event;
use crate::mcp::subscription::LISTEN;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

/// Time that a service has to end its session after the client has closed the session.
const SERVICE_END_TIMEOUT: Duration = Duration::from_secs(10);

/// Poll interval for the end of a session.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The proxy for a session of a client, or for one request. Dropping it ends the proxy.
pub(super) struct ClientSession {
    id: Option<String>,
    input: Mutex<Option<mpsc::Sender<IncomingMessage>>>,
    pub(super) streams: Arc<Mutex<ClientStreams>>,
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
    pub(super) fn begin(
        id: Option<String>,
        service: &Service,
        judge: Arc<Judge>,
        at_the_end: impl Future<Output = ()> + Send + 'static,
    ) -> Arc<Self> {
        let (input, client_input) = mpsc::channel(1);
        let (client_output, output) = mpsc::channel(1);
        let service = service.in_another_session();
        let server = service.connect();
        let streams = Arc::new(Mutex::new(ClientStreams::new()));
        let deliveries = Arc::clone(&streams);
        let task = tokio::spawn(async move {
            let proxy = proxy::run(judge, (client_input, client_output), server, SERVICE_END_TIMEOUT);
            tokio::join!(proxy, deliver(output, &deliveries));
            lock(&deliveries).end();
            at_the_end.await;
        });
        let (input, used) = (Mutex::new(Some(input)), Mutex::new(Instant::now()));
        Arc::new(Self { id, input, streams, used, service, task: task.abort_handle() })
    }

    pub(super) fn used_at(&self) -> Instant {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the session, and waits a limited time until the service has been informed.
    pub(super) async fn end_whole(self: Arc<Self>) {
        let ended = async {
            self.end();
            while !self.task.is_finished() {
                sleep(POLL_INTERVAL).await;
            }
        };
        let _ = timeout(SERVICE_END_TIMEOUT, ended).await;
    }

    /// Passes a message to the proxy. Returns false if the proxy has ended.
    pub(super) async fn say(&self, message: IncomingMessage) -> bool {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        let input = self.input.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match input {
            Some(input) => input.send(message).await.is_ok(),
            None => false,
        }
    }

    /// Closes the client's input to the proxy.
    pub(super) fn end(&self) {
        self.input.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Answers a request. The response is a stream of events if another message comes before the answer, or if the client has a
    /// session and accepts events. Otherwise the response contains only the answer.
    pub(super) async fn request(self: Arc<Self>, id: &Id, message: Message, accepts_events: bool) -> Answer {
        let (send, mut messages) = mpsc::channel(MAX_MESSAGES);
        let token = message.params().ok().and_then(|params| Id::of(params.value("_meta")?.get("progressToken")?));
        let is_subscription = message.method() == Some(LISTEN);
        if !lock(&self.streams).open(OpenRequest { id: id.clone(), token, is_subscription, messages: send }) {
            let why = format!("a pending request has the same id {id}");
            return refused(StatusCode::BAD_REQUEST, None, INVALID_REQUEST, &why);
        }
        let is_beginning = message.method() == Some("initialize");
        if !self.say(IncomingMessage::Message(message)).await {
            return no_session();
        }
        let Some(first) = messages.recv().await else { return no_session() };
        let is_error = matches!(first.kind, DeliveryKind::Error(_));
        let of_service = self.service.refusal(id);
        let status = match (&self.id, first.kind) {
            (None, DeliveryKind::Error(code)) => of_service.unwrap_or_else(|| status_of(code)),
            _ => StatusCode::OK,
        };
        // Without a session, a stream of events has no advantage, because the client could not resume it.
        let mut answer = if first.kind.is_last() && (!accepts_events || self.id.is_none()) {
            let mut answer = Response::new(ResponseBody::of(first.bytes));
            *answer.status_mut() = status;
            answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            answer
        } else {
            // Without a session, the proxy exists for this request only, so it ends when the stream of the request ends.
            let keeps = self.id.is_none().then(|| Arc::clone(&self) as Arc<dyn Any + Send + Sync>);
            let messages = (!first.kind.is_last()).then_some(messages);
            stream(ResponseBody { first: Some(event(first.bytes)), messages, keeps })
        };
        if is_beginning && is_error {
            // The client cannot use a session whose `initialize` failed.
            self.end();
        } else if is_beginning && let Some(id) = self.id.as_deref().and_then(|id| HeaderValue::from_str(id).ok()) {
            answer.headers_mut().insert(SESSION_HEADER, id);
        }
        answer
    }

    /// Opens the stream for messages that the service sends on its own initiative.
    pub(super) fn listen(&self) -> Answer {
        let (send, messages) = mpsc::channel(MAX_MESSAGES);
        lock(&self.streams).listen(send);
        stream(ResponseBody { first: None, messages: Some(messages), keeps: None })
    }
}
