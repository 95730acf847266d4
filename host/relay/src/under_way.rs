//! The requests that are under way, a table for each side that asks. An identifier is that of one request at a time.

use crate::message::Id;
use std::collections::{HashMap, VecDeque};
use tokio::task::AbortHandle;

/// Upper bound of the requests of one side that are under way.
const MAX: usize = 1000;

/// Upper bound of the cancelled requests of which a late answer is still known.
const MAX_CANCELLED: usize = 100;

/// How far a request is, with what is expected in answer.
#[derive(Debug)]
pub enum Stage<E> {
    /// It is asked about; the other side has not seen it.
    Asked(AbortHandle),
    /// The other side has it.
    Sent(E),
}

/// The requests of one side.
#[derive(Debug)]
pub struct UnderWay<E> {
    requests: HashMap<Id, Stage<E>>,
    /// Requests that were cancelled once the other side had them: it need not answer.
    cancelled: VecDeque<(Id, E)>,
}

impl<E> Default for UnderWay<E> {
    fn default() -> Self {
        Self { requests: HashMap::new(), cancelled: VecDeque::new() }
    }
}

impl<E> UnderWay<E> {
    /// Why a request with this identifier cannot be taken; `None` where it can.
    #[must_use]
    pub fn objection(&self, id: &Id) -> Option<String> {
        if self.has(id) {
            return Some(format!("the id {id} is that of a request that is under way: it was not passed on"));
        }
        (self.requests.len() >= MAX).then(|| format!("{MAX} requests are under way, and no more are taken"))
    }

    /// Whether an identifier is taken.
    #[must_use]
    pub fn has(&self, id: &Id) -> bool {
        self.requests.contains_key(id) || self.cancelled.iter().any(|(known, _)| known == id)
    }

    /// Takes a request up.
    pub fn insert(&mut self, id: Id, stage: Stage<E>) {
        self.requests.insert(id, stage);
    }

    /// Notes that a request was sent; `false` where it is not under way any more.
    pub fn send(&mut self, id: &Id, expected: E) -> bool {
        let found = self.requests.get_mut(id);
        found.map(|stage| *stage = Stage::Sent(expected)).is_some()
    }

    /// A request is over; `false` where it was before.
    pub fn remove(&mut self, id: &Id) -> bool {
        self.requests.remove(id).is_some()
    }

    /// Gives a request up that the other side has not seen; `false` where it has, or there is no such request.
    pub fn give_up(&mut self, id: &Id) -> bool {
        match self.requests.remove(id) {
            Some(Stage::Asked(task)) => {
                task.abort();
                true
            }
            Some(sent @ Stage::Sent(_)) => {
                self.requests.insert(id.clone(), sent);
                false
            }
            None => false,
        }
    }

    /// The request that an answer is to; `None` where it has not been sent, or was answered before.
    pub fn answered(&mut self, id: &Id) -> Option<E> {
        match self.requests.remove(id) {
            Some(Stage::Sent(expected)) => Some(expected),
            Some(asked @ Stage::Asked(_)) => {
                self.requests.insert(id.clone(), asked);
                None
            }
            None => {
                let at = self.cancelled.iter().position(|(known, _)| known == id)?;
                self.cancelled.remove(at).map(|(_, expected)| expected)
            }
        }
    }

    /// Gives a request up. `false` where the other side has it: it is to be told, and an answer that it gives nevertheless is
    /// still known.
    pub fn cancel(&mut self, id: &Id) -> bool {
        match self.requests.remove(id) {
            Some(Stage::Asked(task)) => {
                task.abort();
                true
            }
            Some(Stage::Sent(expected)) => {
                self.cancelled.push_back((id.clone(), expected));
                if self.cancelled.len() > MAX_CANCELLED {
                    self.cancelled.pop_front();
                }
                false
            }
            None => false,
        }
    }

    /// Whether none is under way.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// All that are left, which nobody will answer.
    pub fn take(&mut self) -> Vec<Id> {
        let left = std::mem::take(&mut self.requests);
        left.into_iter()
            .map(|(id, stage)| {
                if let Stage::Asked(task) = stage {
                    task.abort();
                }
                id
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Stage, UnderWay};
    use crate::message::Id;

    #[test]
    fn an_id_is_that_of_one_request_at_a_time() {
        let mut requests = UnderWay::<()>::default();
        let (one, text) = (Id::Number(1), Id::Text("1".to_owned()));
        assert_eq!(requests.objection(&one), None);
        requests.insert(one.clone(), Stage::Sent(()));
        assert!(requests.objection(&one).unwrap().contains("the id 1 "));
        assert_eq!(requests.objection(&text), None, "another id");
        assert!(requests.answered(&text).is_none());
        assert!(requests.answered(&one).is_some());
        assert!(requests.answered(&one).is_none(), "it was answered");
        assert_eq!(requests.objection(&one), None);
    }

    #[test]
    fn cancelled_requests_take_no_room_and_a_late_answer_is_known() {
        let mut requests = UnderWay::<()>::default();
        for n in 0..2000 {
            let id = Id::Number(n);
            assert_eq!(requests.objection(&id), None, "{n}");
            requests.insert(id.clone(), Stage::Sent(()));
            assert!(!requests.cancel(&id));
        }
        assert!(requests.answered(&Id::Number(1999)).is_some() && requests.answered(&Id::Number(1999)).is_none());
        assert!(requests.answered(&Id::Number(1)).is_none(), "forgotten");
        assert!(requests.take().is_empty(), "nobody waits for an answer");
    }

    #[tokio::test]
    async fn nobody_can_answer_a_request_that_was_not_sent() {
        let mut requests = UnderWay::<()>::default();
        let task = tokio::spawn(std::future::pending::<()>());
        let one = Id::Number(1);
        requests.insert(one.clone(), Stage::Asked(task.abort_handle()));
        assert!(requests.answered(&one).is_none());
        assert!(requests.cancel(&one) && !requests.cancel(&one));
        assert!(task.await.unwrap_err().is_cancelled());
    }

    #[tokio::test]
    async fn a_request_is_given_up_only_before_the_other_side_has_seen_it() {
        let mut requests = UnderWay::<()>::default();
        let task = tokio::spawn(std::future::pending::<()>());
        let (one, two) = (Id::Number(1), Id::Number(2));
        requests.insert(one.clone(), Stage::Asked(task.abort_handle()));
        requests.insert(two.clone(), Stage::Sent(()));
        assert!(requests.give_up(&one) && !requests.give_up(&one));
        assert!(!requests.give_up(&two) && requests.answered(&two).is_some(), "its answer is still waited for");
        assert!(task.await.unwrap_err().is_cancelled());
    }
}
