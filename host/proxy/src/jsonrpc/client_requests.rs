//! The requests that the proxy itself sends to the client, in addition to the requests that it forwards from the server.

use crate::jsonrpc::message::Id;
use crate::jsonrpc::queue::MessageQueue;
use bytes::Bytes;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Time that a person has to answer a question in the client.
const PERSON_TIMEOUT: Duration = Duration::from_secs(300);

/// The proxy's own requests that wait for an answer.
#[derive(Debug)]
pub struct ClientRequests {
    to_client: MessageQueue,
    waiting: Mutex<HashMap<Id, oneshot::Sender<Value>>>,
}

/// The entry of a request that waits for its answer. Dropping this value removes the entry.
struct PendingAnswer<'a> {
    requests: &'a ClientRequests,
    id: Id,
}

impl Drop for PendingAnswer<'_> {
    fn drop(&mut self) {
        self.requests.waiting().remove(&self.id);
    }
}

impl ClientRequests {
    /// Creates an empty table. Requests to the client are put into the queue `to_client`.
    pub fn new(to_client: MessageQueue) -> Self {
        Self { to_client, waiting: Mutex::default() }
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<Id, oneshot::Sender<Value>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a request to the client and returns the result. Returns `null` if the client answers with an error, and `None` if the
    /// client does not answer within 300 seconds.
    pub async fn ask(&self, method: &str, params: &Value) -> Option<Value> {
        let (send, answer) = oneshot::channel();
        // The identifier contains a UUID, because it must differ from all identifiers of the server.
        let id = format!("hookhost-{}", uuid::Uuid::now_v7());
        let pending = PendingAnswer { requests: self, id: Id::Text(id.clone()) };
        self.waiting().insert(pending.id.clone(), send);
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.to_client.put(Bytes::from(request.to_string()), None).await;
        timeout(PERSON_TIMEOUT, answer).await.ok()?.ok()
    }

    /// Returns true if one of these requests has this identifier.
    pub fn has(&self, id: &Id) -> bool {
        self.waiting().contains_key(id)
    }

    /// Passes an answer of the client to the task that waits for the answer. Returns false if no request in this table has the
    /// identifier.
    pub fn deliver_answer(&self, id: &Id, result: impl FnOnce() -> Value) -> bool {
        let Some(pending) = self.waiting().remove(id) else { return false };
        let _ = pending.send(result());
        true
    }
}
