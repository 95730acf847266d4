//! [`PendingApprovals`], an approver that is part of the crate: it lists requests until somebody answers them.

use super::{Approval, ApprovalRequest, Approver};
use crate::locked::locked;
use futures_util::future::BoxFuture;
use std::sync::{Arc, Mutex};
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

/// An approver that lists its requests until somebody answers them, for example from a web page, a chat or another
/// thread.
///
/// A request is answered at most once. A request is listed until it is answered, its deadline passes, or its event is
/// cancelled. An answer after that is an error. The list needs no limit, because each of its requests belongs to an
/// event that is waiting for the answer.
///
/// ```
/// use hookhost::approval::{Approval, PendingApprovals};
/// use hookhost::{Config, Host};
/// use std::sync::Arc;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let pending = Arc::new(PendingApprovals::default());
/// let host = Host::builder(Config::empty()).approver(pending.clone()).build().await?;
///
/// // Beside the agent: someone looks at the requests and answers them.
/// let mut changes = pending.changes();
/// let answering = async move {
///     loop {
///         for request in pending.list() {
///             let no = Approval::no().because("not on a Friday");
///             if let Err(gone) = pending.answer(&request.id, no) {
///                 eprintln!("{gone}");
///             }
///         }
///         changes.next().await;
///     }
/// };
/// # drop((host, answering));
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Debug, Default)]
pub struct PendingApprovals {
    waiting: Mutex<OpenRequests>,
    changed: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct OpenRequests {
    /// The requests, in the order in which they were asked.
    requests: Vec<ListedRequest>,
    asked: u64,
}

#[derive(Debug)]
struct ListedRequest {
    number: u64,
    request: Arc<ApprovalRequest>,
    asked_at: Instant,
    answer: oneshot::Sender<Approval>,
}

impl ListedRequest {
    fn is_in_time(&self) -> bool {
        self.asked_at.elapsed() < self.request.deadline
    }
}

/// The answer has no effect, because no request with this identifier waits for an answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no request `{id}` waits for an answer: it has been answered, its deadline has passed, its event was cancelled, or \
     there never was one"
)]
#[non_exhaustive]
pub struct NotPending {
    /// The identifier that [`PendingApprovals::answer`] was called with.
    pub id: String,
}

impl PendingApprovals {
    /// Returns the requests that wait for an answer, in the order in which they were asked.
    #[must_use]
    pub fn list(&self) -> Vec<Arc<ApprovalRequest>> {
        let waiting = locked(&self.waiting);
        waiting.requests.iter().filter(|listed| listed.is_in_time()).map(|listed| Arc::clone(&listed.request)).collect()
    }

    /// Answers the request with that identifier.
    ///
    /// # Errors
    /// If no such request waits for an answer. An answer at the last moment may come too late even if the method
    /// returns `Ok`. The log contains the answer that took effect.
    pub fn answer(&self, id: &str, approval: Approval) -> Result<(), NotPending> {
        let listed = self.remove(|listed| listed.request.id == id);
        let taken = listed.filter(ListedRequest::is_in_time).and_then(|listed| listed.answer.send(approval).ok());
        taken.ok_or_else(|| NotPending { id: id.to_owned() })
    }

    /// Returns a value that reports changes of the list from now on.
    #[must_use]
    pub fn changes(&self) -> QuestionChanges {
        QuestionChanges(self.changed.subscribe())
    }

    /// Adds a request to the list. Returns `None` if a request with the same identifier is already listed, because an
    /// answer could be meant for either request.
    fn enlist(&self, request: ApprovalRequest) -> Option<ListEntry<'_>> {
        let (sender, answer) = oneshot::channel();
        let number = {
            let mut waiting = locked(&self.waiting);
            if waiting.requests.iter().any(|listed| listed.request.id == request.id) {
                return None;
            }
            waiting.asked += 1;
            let (number, request) = (waiting.asked, Arc::new(request));
            waiting.requests.push(ListedRequest { number, request, asked_at: Instant::now(), answer: sender });
            number
        };
        self.changed.send_replace(());
        Some(ListEntry { list: self, number, answer })
    }

    /// Removes a request from the list, and returns it if it was there.
    fn remove(&self, which: impl Fn(&ListedRequest) -> bool) -> Option<ListedRequest> {
        let listed = {
            let mut waiting = locked(&self.waiting);
            let index = waiting.requests.iter().position(which)?;
            waiting.requests.remove(index)
        };
        self.changed.send_replace(());
        Some(listed)
    }
}

impl Approver for PendingApprovals {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, Approval> {
        Box::pin(async move {
            let Some(mut enlisted) = self.enlist(request) else {
                return Approval::no().because("a request of the same identifier waits for an answer");
            };
            (&mut enlisted.answer).await.unwrap_or(Approval::no())
        })
    }
}

/// A request on the list. Dropping this value removes the request from the list.
struct ListEntry<'a> {
    list: &'a PendingApprovals,
    number: u64,
    answer: oneshot::Receiver<Approval>,
}

impl Drop for ListEntry<'_> {
    fn drop(&mut self) {
        self.list.remove(|listed| listed.number == self.number);
    }
}

/// Reports changes of the list of [`PendingApprovals`]: a request was added or removed.
#[derive(Clone, Debug)]
pub struct QuestionChanges(watch::Receiver<()>);

impl QuestionChanges {
    /// Waits until the list has changed since the last call. Several changes may be reported as one change, but no change is missed.
    /// Returns `false` at once if the list was dropped.
    pub async fn next(&mut self) -> bool {
        self.0.changed().await.is_ok()
    }
}
