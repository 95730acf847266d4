//! The pending requests. There is a table for each of the two sides, with the requests that the side has sent. Two pending requests
//! of the same side never have the same identifier.

use crate::jsonrpc::message::Id;
use std::collections::{HashMap, VecDeque};
use tokio::task::AbortHandle;

/// Maximum number of pending requests of one side.
pub const MAX_REQUESTS: usize = 1000;

/// Maximum total size of the pending requests of one side, in bytes: 128 MiB.
pub const MAX_BYTES: usize = 128 * 1024 * 1024;

/// Maximum number of cancelled requests whose late answers are still recognised.
pub const MAX_CANCELLED: usize = 100;

/// Maximum total size of these cancelled requests, in bytes: 32 MiB.
const MAX_CANCELLED_BYTES: usize = 32 * 1024 * 1024;

/// Number of answered requests for which a second answer is still recognised.
const MAX_ANSWERED: usize = 100;

/// The stage of a request.
#[derive(Debug)]
pub enum RequestStage<E> {
    /// Rules are deciding on the request. The handle can abort the task that waits for the decision. The other side has not
    /// received the request.
    Asking(AbortHandle),
    /// The request was sent to the other side. The value describes the expected answer.
    Sent(E),
}

/// A pending request.
#[derive(Debug)]
struct PendingRequest<E> {
    stage: RequestStage<E>,
    bytes: usize,
    /// The number of earlier requests of the same side.
    number: u64,
}

/// The requests of one side, each with its size.
#[derive(Debug)]
pub struct PendingRequests<E> {
    requests: HashMap<Id, PendingRequest<E>>,
    /// The number of all requests so far, including those that are no longer pending.
    count: u64,
    /// True if any identifier so far was a number.
    has_numbers: bool,
    has_texts_of_numbers: bool,
    bytes: usize,
    /// Requests that were cancelled after the other side had received them. The other side may or may not answer such requests.
    cancelled: VecDeque<(Id, E, usize)>,
    cancelled_bytes: usize,
    /// The last answered requests. They are stored because a second answer to the same request must be recognised.
    answered: VecDeque<Id>,
}

impl<E> Default for PendingRequests<E> {
    fn default() -> Self {
        Self {
            requests: HashMap::new(),
            count: 0,
            has_numbers: false,
            has_texts_of_numbers: false,
            bytes: 0,
            answered: VecDeque::new(),
            cancelled: VecDeque::new(),
            cancelled_bytes: 0,
        }
    }
}

impl<E> PendingRequests<E> {
    /// Returns the reason why a request with this identifier and size cannot be accepted. Returns `None` if it can be accepted.
    pub fn objection(&self, id: &Id, bytes: usize) -> Option<String> {
        if self.has(id) {
            return Some(format!("a pending request has the same id {id}: the request was not passed on"));
        }
        if self.requests.len() >= MAX_REQUESTS {
            return Some(format!("{MAX_REQUESTS} requests are pending, and no more are accepted"));
        }
        let is_too_much = self.bytes + bytes > MAX_BYTES;
        is_too_much.then(|| format!("requests of {MAX_BYTES} bytes are pending, and no more are accepted"))
    }

    /// Returns true if a pending request or a cancelled request has this identifier.
    pub fn has(&self, id: &Id) -> bool {
        self.requests.contains_key(id) || self.cancelled.iter().any(|(known, ..)| known == id)
    }

    /// Adds a request of this size.
    pub fn insert(&mut self, id: Id, stage: RequestStage<E>, bytes: usize) {
        self.bytes += bytes;
        match &id {
            Id::Number(_) => self.has_numbers = true,
            Id::Text(_) => self.has_texts_of_numbers |= id.of_other_type().is_some(),
        }
        self.requests.insert(id, PendingRequest { stage, bytes, number: self.count });
        self.count += 1;
    }

    /// Returns the number of all requests so far, including those that are no longer pending.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Returns the oldest request that was sent to the other side and is not answered. Considers only the first `count` requests of
    /// this table.
    pub fn oldest_sent(&self, count: u64) -> Option<Id> {
        let sent = self.requests.iter().filter(|(_, request)| matches!(request.stage, RequestStage::Sent(_)));
        let oldest = sent.filter(|(_, request)| request.number < count).min_by_key(|(_, request)| request.number);
        oldest.map(|(id, _)| id.clone())
    }

    /// Returns the number of requests that were sent to the other side and are not answered.
    pub fn sent(&self) -> usize {
        self.requests.values().filter(|request| matches!(request.stage, RequestStage::Sent(_))).count()
    }

    /// Returns the identifier of the request that an answer is for, in the spelling of the request. The request's identifier
    /// usually equals the identifier in the answer. Some programs write a number as a string, or the reverse. Such an identifier is
    /// accepted too, unless any request of this side has had an identifier of the answer's type.
    pub fn named(&self, id: &Id) -> Option<Id> {
        let known = |id: &Id| {
            let cancelled = || self.cancelled.iter().map(|(known, ..)| known).find(|known| *known == id);
            self.requests.get_key_value(id).map(|(known, _)| known).or_else(cancelled).cloned()
        };
        let is_unclear = match id {
            Id::Number(_) => self.has_numbers,
            Id::Text(_) => self.has_texts_of_numbers,
        };
        known(id).or_else(|| id.of_other_type().filter(|_| !is_unclear).as_ref().and_then(known))
    }

    /// Records that a request was sent. Returns false if the request is no longer pending.
    pub fn mark_sent(&mut self, id: &Id, expected: E) -> bool {
        let found = self.requests.get_mut(id);
        found.map(|request| request.stage = RequestStage::Sent(expected)).is_some()
    }

    /// Removes a request. Returns false if the request was removed before.
    pub fn remove(&mut self, id: &Id) -> bool {
        self.removed(id).is_some()
    }

    fn removed(&mut self, id: &Id) -> Option<(RequestStage<E>, usize)> {
        let PendingRequest { stage, bytes, .. } = self.requests.remove(id)?;
        self.bytes -= bytes;
        Some((stage, bytes))
    }

    /// Cancels a request that the other side has not received. Returns false if the other side has received the request, or if
    /// there is no such request.
    pub fn cancel_unsent(&mut self, id: &Id) -> bool {
        if !matches!(self.requests.get(id), Some(PendingRequest { stage: RequestStage::Asking(_), .. })) {
            return false;
        }
        if let Some((RequestStage::Asking(task), _)) = self.removed(id) {
            task.abort();
        }
        true
    }

    /// Removes a request because its answer has arrived, and returns the expected answer. Returns `None` if the request was not
    /// sent, was already answered or was cancelled.
    pub fn take_answered(&mut self, id: &Id) -> Option<E> {
        if !matches!(self.requests.get(id), Some(PendingRequest { stage: RequestStage::Sent(_), .. })) {
            return None;
        }
        match self.removed(id) {
            Some((RequestStage::Sent(expected), _)) => {
                self.answered.push_back(id.clone());
                if self.answered.len() > MAX_ANSWERED {
                    self.answered.pop_front();
                }
                Some(expected)
            }
            _ => None,
        }
    }

    /// Returns true if one of the last answered requests has this identifier.
    pub fn was_answered(&self, id: &Id) -> bool {
        self.answered.contains(id)
    }

    /// Removes a cancelled request because it was answered or ended. The identifier can then be used again.
    pub fn take_cancelled(&mut self, id: &Id) -> Option<E> {
        let at = self.cancelled.iter().position(|(known, ..)| known == id)?;
        let (_, expected, bytes) = self.cancelled.remove(at)?;
        self.cancelled_bytes -= bytes;
        Some(expected)
    }

    /// Cancels a request. Returns true if the other side has not received the request and so need not get the cancellation.
    /// Otherwise returns false. If the other side has received the request, a late answer to it is still recognised.
    pub fn cancel(&mut self, id: &Id) -> bool {
        match self.removed(id) {
            Some((RequestStage::Asking(task), _)) => {
                task.abort();
                true
            }
            Some((RequestStage::Sent(expected), bytes)) => {
                self.cancelled.push_back((id.clone(), expected, bytes));
                self.cancelled_bytes += bytes;
                while self.cancelled.len() > MAX_CANCELLED || self.cancelled_bytes > MAX_CANCELLED_BYTES {
                    let Some((_, _, bytes)) = self.cancelled.pop_front() else { break };
                    self.cancelled_bytes -= bytes;
                }
                false
            }
            None => false,
        }
    }

    /// Returns true if no request is pending.
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Removes all remaining requests, and aborts the tasks that wait for decisions on them.
    pub fn take_all(&mut self) -> Vec<Id> {
        self.bytes = 0;
        let left = std::mem::take(&mut self.requests);
        left.into_iter()
            .map(|(id, request)| {
                if let RequestStage::Asking(task) = request.stage {
                    task.abort();
                }
                id
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{PendingRequests, RequestStage};
    use crate::jsonrpc::message::Id;

    #[test]
    fn an_id_is_that_of_one_request_at_a_time() {
        let mut requests = PendingRequests::<()>::default();
        let (one, text) = (Id::from(1), Id::Text("1".to_owned()));
        assert_eq!(requests.objection(&one, 1), None);
        requests.insert(one.clone(), RequestStage::Sent(()), 1);
        assert!(requests.objection(&one, 1).unwrap().contains("the same id 1: "));
        assert_eq!(requests.objection(&text, 1), None, "another id");
        assert!(requests.take_answered(&text).is_none());
        assert!(requests.take_answered(&one).is_some());
        assert!(requests.take_answered(&one).is_none(), "it was answered");
        assert_eq!(requests.objection(&one, 1), None);
    }

    #[test]
    fn an_answer_names_a_request_by_the_value_of_its_id_or_by_its_text_where_that_is_clear() {
        let id = |json: &str| Id::of(&serde_json::from_str(json).unwrap()).unwrap();
        let mut requests = PendingRequests::<()>::default();
        for json in ["2", "3", "1.5"] {
            requests.insert(id(json), RequestStage::Sent(()), 1);
        }
        let named = |requests: &PendingRequests<()>, json| requests.named(&id(json)).map(|id| id.to_json());
        for (answer, request) in
            [("2", "2"), ("2.0", "2"), ("\"2\"", "2"), ("20e-1", "2"), ("1.50", "1.5"), ("30.0e-1", "3")]
        {
            assert_eq!(named(&requests, answer).as_deref(), Some(request), "{answer}");
        }
        for answer in ["0", "2.5", "\"02\"", "\"1.5\"", "\"two\"", "2.0000000001"] {
            assert_eq!(named(&requests, answer), None, "{answer}");
        }
        requests.insert(id("\"3\""), RequestStage::Sent(()), 1);
        assert_eq!(named(&requests, "\"3\"").as_deref(), Some("\"3\""));
        assert_eq!(named(&requests, "\"2\""), None, "the client uses such texts as well");
        let mut requests = PendingRequests::<()>::default();
        requests.insert(id("\"7\""), RequestStage::Sent(()), 1);
        assert_eq!(named(&requests, "7").as_deref(), Some("\"7\""));
    }

    #[test]
    fn the_oldest_request_is_the_one_that_was_sent_first() {
        let mut requests = PendingRequests::<()>::default();
        for n in 0..3 {
            requests.insert(Id::from(n), RequestStage::Sent(()), 1);
        }
        let count = requests.count();
        requests.insert(Id::from(3), RequestStage::Sent(()), 1);
        assert_eq!((requests.sent(), requests.oldest_sent(count)), (4, Some(Id::from(0))));
        for n in 0..3 {
            assert!(requests.take_answered(&Id::from(n)).is_some());
        }
        assert_eq!(requests.oldest_sent(count), None, "that one came later");
    }

    #[test]
    fn cancelled_requests_take_no_room_and_a_late_answer_is_known() {
        let mut requests = PendingRequests::<()>::default();
        for n in 0..2000 {
            let id = Id::from(n);
            assert_eq!(requests.objection(&id, 1), None, "{n}");
            requests.insert(id.clone(), RequestStage::Sent(()), 1);
            assert!(!requests.cancel(&id));
        }
        assert!(requests.take_answered(&Id::from(1999)).is_none(), "nobody waits for it");
        assert!(
            requests.take_cancelled(&Id::from(1999)).is_some() && requests.take_cancelled(&Id::from(1999)).is_none()
        );
        assert!(requests.take_cancelled(&Id::from(1)).is_none(), "forgotten");
        assert!(requests.take_all().is_empty(), "nobody waits for an answer");
    }

    #[test]
    fn what_is_under_way_is_bounded_by_its_bytes() {
        let mut requests = PendingRequests::<()>::default();
        let half = super::MAX_BYTES / 2;
        for n in 0..2 {
            assert_eq!(requests.objection(&Id::from(n), half), None);
            requests.insert(Id::from(n), RequestStage::Sent(()), half);
        }
        assert!(requests.objection(&Id::from(2), 1).is_some_and(|why| why.contains("bytes")));
        assert!(requests.take_answered(&Id::from(0)).is_some());
        assert_eq!(requests.objection(&Id::from(2), half), None);
        assert!(!requests.cancel(&Id::from(1)));
        assert!(!requests.has(&Id::from(1)), "it is too large to be known longer");
        assert_eq!((requests.bytes, requests.cancelled_bytes), (0, 0));
    }

    #[tokio::test]
    async fn nobody_can_answer_a_request_that_was_not_sent() {
        let mut requests = PendingRequests::<()>::default();
        let task = tokio::spawn(std::future::pending::<()>());
        let one = Id::from(1);
        requests.insert(one.clone(), RequestStage::Asking(task.abort_handle()), 1);
        assert!(requests.take_answered(&one).is_none());
        assert!(requests.cancel(&one) && !requests.cancel(&one));
        assert!(task.await.unwrap_err().is_cancelled());
    }

    #[tokio::test]
    async fn a_request_is_given_up_only_before_the_other_side_has_seen_it() {
        let mut requests = PendingRequests::<()>::default();
        let task = tokio::spawn(std::future::pending::<()>());
        let (one, two) = (Id::from(1), Id::from(2));
        requests.insert(one.clone(), RequestStage::Asking(task.abort_handle()), 1);
        requests.insert(two.clone(), RequestStage::Sent(()), 1);
        assert!(requests.cancel_unsent(&one) && !requests.cancel_unsent(&one));
        assert!(
            !requests.cancel_unsent(&two) && requests.take_answered(&two).is_some(),
            "its answer is still waited for"
        );
        assert!(task.await.unwrap_err().is_cancelled());
    }
}
