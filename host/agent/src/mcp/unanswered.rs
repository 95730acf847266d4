//! Limits a server's own requests. If a server sent requests and never read the answers, the waiting answers would use
//! ever more memory.

use rmcp::RoleClient;
use rmcp::model::{
    ClientJsonRpcMessage, JsonRpcMessage, RequestId, ServerJsonRpcMessage, ServerNotification, ServerRequest,
};
use rmcp::transport::Transport;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::timeout;

/// Maximum number of requests from one server whose answers are missing or not yet written.
pub const MAX_UNANSWERED: usize = 1_000;

/// For each multiple of this number of bytes, a request counts as one more request. An answer repeats the id of its
/// request, and perhaps the method, so a request with a long id or method counts as several requests.
const REPEATED: usize = 1024;

/// Time limit for closing a connection, for example for telling a service that its session is over.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// A connection that closes if the server does not read the answers to its requests.
pub(super) struct AnsweringTransport<T> {
    /// The connection; `None` once it is closed.
    transport: Option<T>,
    open: Arc<Mutex<OpenRequests>>,
    refused: Arc<OnceLock<String>>,
    /// Stops pending writes of answers. Otherwise a server that does not read the answers would keep the connection
    /// from closing.
    closing: watch::Sender<bool>,
}

/// Requests whose answer is missing or not yet written.
#[derive(Debug, Default)]
struct OpenRequests {
    /// Sum of the weights of these requests.
    number: usize,
    /// Weight of each request that has no answer yet.
    requests: HashMap<RequestId, usize>,
}

/// An answer that is being written. Its request stays counted until this value is dropped.
struct PendingAnswer {
    open: Arc<Mutex<OpenRequests>>,
    counts: usize,
}

/// Reasons why a message was not sent.
#[derive(Debug, thiserror::Error)]
pub(super) enum SendError<E: std::error::Error + 'static> {
    #[error(transparent)]
    Failed(E),
    #[error("the connection is closed")]
    Closed,
}

impl<T> AnsweringTransport<T> {
    /// Wraps a connection. If the limit closes the connection, `refused` receives the reason.
    pub(super) fn new(transport: T, refused: Arc<OnceLock<String>>) -> Self {
        Self { transport: Some(transport), open: Arc::default(), refused, closing: watch::Sender::new(false) }
    }

    fn take(&self, message: &ServerJsonRpcMessage) -> Result<(), String> {
        let mut open = lock(&self.open);
        match message {
            JsonRpcMessage::Request(request) => {
                let counts = 1 + repeated(&request.id, &request.request) / REPEATED;
                open.number += counts;
                // If the server reuses an id, the answer to the first request cannot be recognised, so the first
                // request stays counted until the connection ends.
                open.requests.insert(request.id.clone(), counts);
            }
            JsonRpcMessage::Notification(notification) => {
                // A request that the server cancels is not answered.
                if let ServerNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(counts) = cancelled.params.request_id.as_ref().and_then(|id| open.requests.remove(id))
                {
                    open.number -= counts;
                }
            }
            _ => {}
        }
        if open.number > MAX_UNANSWERED {
            return Err(format!(
                "it sent more than {MAX_UNANSWERED} requests without reading the answers, so hookhost stopped reading"
            ));
        }
        Ok(())
    }

    /// If `message` is an answer, returns it as a pending answer.
    fn answer(&self, message: &ClientJsonRpcMessage) -> Option<PendingAnswer> {
        let id = match message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => return None,
        };
        let mut open = lock(&self.open);
        let counts = id.and_then(|id| open.requests.remove(id)).unwrap_or_else(|| {
            // The server has cancelled the request, but the answer still takes memory until it is written.
            open.number += 1;
            1
        });
        Some(PendingAnswer { open: Arc::clone(&self.open), counts })
    }
}

/// Returns the number of bytes of a request that its answer may repeat.
fn repeated(id: &RequestId, request: &ServerRequest) -> usize {
    let id = if let RequestId::String(id) = id { id.len() } else { 0 };
    let method = if let ServerRequest::CustomRequest(request) = request { request.method.len() } else { 0 };
    id + method
}

impl Drop for PendingAnswer {
    fn drop(&mut self) {
        lock(&self.open).number -= self.counts;
    }
}

fn lock(open: &Mutex<OpenRequests>) -> std::sync::MutexGuard<'_, OpenRequests> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for AnsweringTransport<T> {
    type Error = SendError<T::Error>;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let answer = self.answer(&message);
        let mut closing = self.closing.subscribe();
        let sending = self.transport.as_mut().map(|transport| transport.send(message));
        async move {
            let _answer = answer;
            let Some(sending) = sending else { return Err(SendError::Closed) };
            tokio::select! {
                biased;
                _ = closing.wait_for(|closing| *closing) => Err(SendError::Closed),
                sent = sending => sent.map_err(SendError::Failed),
            }
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        if *self.closing.borrow() {
            return None;
        }
        let message = self.transport.as_mut()?.receive().await?;
        if let Err(why) = self.take(&message) {
            let _ = self.refused.set(why);
            self.closing.send_replace(true);
            return None;
        }
        Some(message)
    }

    /// Closes the connection. Closing a transport may wait until its received messages are read, but nobody reads them
    /// any more. Therefore a connection that has exceeded the limit is dropped instead of closed, and any other
    /// connection is dropped if it takes too long to close. After that, calls that wait for an answer end.
    async fn close(&mut self) -> Result<(), Self::Error> {
        let is_refused = self.closing.send_replace(true);
        match self.transport.take() {
            Some(mut transport) if !is_refused => {
                timeout(CLOSE_TIMEOUT, transport.close()).await.unwrap_or(Ok(())).map_err(SendError::Failed)
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use std::io;

    /// A server that sends the given messages. Messages to the server are written only when the test says so.
    struct Sends(Vec<Value>, watch::Receiver<bool>);

    impl Transport<RoleClient> for Sends {
        type Error = io::Error;

        fn send(&mut self, _: ClientJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
            let mut reads = self.1.clone();
            async move { reads.wait_for(|reads| *reads).await.map(drop).map_err(io::Error::other) }
        }

        async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
            Some(serde_json::from_value(self.0.pop()?).unwrap())
        }

        /// Never ends, like a connection that waits until its received messages are read.
        async fn close(&mut self) -> io::Result<()> {
            std::future::pending().await
        }
    }

    fn ping(id: impl Into<Value>) -> Value {
        json!({ "jsonrpc": "2.0", "id": id.into(), "method": "ping" })
    }

    fn reply(id: usize) -> ClientJsonRpcMessage {
        serde_json::from_value(json!({ "jsonrpc": "2.0", "id": id, "result": {} })).unwrap()
    }

    fn server(reads: bool) -> (AnsweringTransport<Sends>, watch::Sender<bool>) {
        let (sender, receiver) = watch::channel(reads);
        (AnsweringTransport::new(Sends(Vec::new(), receiver), Arc::default()), sender)
    }

    async fn receives(server: &mut AnsweringTransport<Sends>, message: Value) -> bool {
        server.transport.as_mut().unwrap().0.push(message);
        server.receive().await.is_some()
    }

    #[tokio::test]
    async fn answers_that_a_server_does_not_read_close_its_connection_and_end() {
        let (mut server, _reads) = server(false);
        let mut sending = Vec::new();
        for id in 0..MAX_UNANSWERED {
            assert!(receives(&mut server, ping(id)).await, "{id}");
            sending.push(server.send(reply(id)));
        }
        assert!(!receives(&mut server, ping(MAX_UNANSWERED)).await);
        assert!(!receives(&mut server, ping(0)).await, "it stays closed");
        let why = server.refused.get().unwrap();
        assert_eq!(why, "it sent more than 1000 requests without reading the answers, so hookhost stopped reading");
        for sending in sending {
            assert!(matches!(sending.await, Err(SendError::Closed)));
        }
        server.close().await.unwrap();
        assert!(server.transport.is_none());
    }

    #[tokio::test]
    async fn requests_that_are_answered_or_taken_back_do_not_count() {
        let (mut server, _reads) = server(true);
        for id in 0..3 * MAX_UNANSWERED {
            assert!(receives(&mut server, ping(id)).await, "{id}");
            server.send(reply(id)).await.unwrap();
            assert!(receives(&mut server, ping(id)).await, "{id}");
            let cancelled =
                json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
            assert!(receives(&mut server, cancelled).await, "{id}");
        }
        assert_eq!(lock(&server.open).number, 0);
    }

    #[tokio::test]
    async fn an_answer_counts_while_it_is_written_whatever_the_server_has_taken_back() {
        let (mut server, reads) = server(false);
        assert!(receives(&mut server, ping(1)).await);
        let cancelled = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
        let sending = server.send(reply(1));
        assert!(receives(&mut server, cancelled).await);
        assert_eq!(lock(&server.open).number, 1);
        let again = server.send(reply(1));
        assert_eq!(lock(&server.open).number, 2);
        reads.send_replace(true);
        sending.await.unwrap();
        drop(again);
        assert_eq!(lock(&server.open).number, 0);
    }

    #[tokio::test]
    async fn what_an_answer_repeats_counts_by_its_length() {
        let long = "x".repeat(MAX_UNANSWERED * REPEATED);
        assert!(!receives(&mut server(false).0, ping(long.as_str())).await);
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": long });
        assert!(!receives(&mut server(false).0, request).await);
    }
}
