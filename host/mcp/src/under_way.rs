//! The requests that are under way, a table for each side that asks. An identifier is that of one request at a time.

use crate::judge::Expected;
use crate::message::Id;
use std::collections::{HashMap, VecDeque};
use tokio::task::AbortHandle;

/// Upper bound of the requests of one side that are under way.
const MAX: usize = 1000;

/// Upper bound of the cancelled requests of which a late answer is still known.
const MAX_CANCELLED: usize = 100;

/// How far a request is.
#[derive(Debug)]
pub enum Stage {
    /// It is asked about; the other side has not seen it.
    Asked(AbortHandle),
    /// The other side has it.
    Sent(Expected),
}

/// The requests of one side.
#[derive(Debug, Default)]
pub struct UnderWay {
    requests: HashMap<Id, Stage>,
    /// Requests that were cancelled once the other side had them: it need not answer.
    cancelled: VecDeque<(Id, Expected)>,
}

impl UnderWay {
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
    pub fn insert(&mut self, id: Id, stage: Stage) {
        self.requests.insert(id, stage);
    }

    /// Notes that a request was sent; `false` where it is not under way any more.
    pub fn send(&mut self, id: &Id, expected: Expected) -> bool {
        let found = self.requests.get_mut(id);
        found.map(|stage| *stage = Stage::Sent(expected)).is_some()
    }

    /// A request is over.
    pub fn remove(&mut self, id: &Id) {
        self.requests.remove(id);
    }

    /// The request that an answer is to; `None` where it has not been sent, or was answered before.
    pub fn answered(&mut self, id: &Id) -> Option<Expected> {
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

    /// Notes that the server has agreed to tell the client of a subscription when its tools change.
    pub fn agree(&mut self, id: &Id) {
        if let Some(Stage::Sent(Expected::Subscription { tells_changes })) = self.requests.get_mut(id) {
            *tells_changes = true;
        }
    }

    /// The subscriptions whose client is told when tools change.
    #[must_use]
    pub fn subscribers(&self) -> Vec<Id> {
        let told = |(id, stage): (&Id, &Stage)| {
            matches!(stage, Stage::Sent(Expected::Subscription { tells_changes: true })).then(|| id.clone())
        };
        self.requests.iter().filter_map(told).collect()
    }

    /// A server has ended a subscription by itself: nobody waits for an answer any more.
    pub fn end_subscription(&mut self, id: &Id) {
        if matches!(self.requests.get(id), Some(Stage::Sent(Expected::Subscription { .. }))) {
            self.requests.remove(id);
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
    use crate::judge::Expected;
    use crate::message::Id;

    #[test]
    fn an_id_is_that_of_one_request_at_a_time() {
        let mut requests = UnderWay::default();
        let (one, text) = (Id::Number(1), Id::Text("1".to_owned()));
        assert_eq!(requests.objection(&one), None);
        requests.insert(one.clone(), Stage::Sent(Expected::Anything));
        assert!(requests.objection(&one).unwrap().contains("the id 1 "));
        assert_eq!(requests.objection(&text), None, "another id");
        assert!(requests.answered(&text).is_none());
        assert!(requests.answered(&one).is_some());
        assert!(requests.answered(&one).is_none(), "it was answered");
        assert_eq!(requests.objection(&one), None);
    }

    #[test]
    fn cancelled_requests_take_no_room_and_a_late_answer_is_known() {
        let mut requests = UnderWay::default();
        for n in 0..2000 {
            let id = Id::Number(n);
            assert_eq!(requests.objection(&id), None, "{n}");
            requests.insert(id.clone(), Stage::Sent(Expected::Anything));
            assert!(!requests.cancel(&id));
        }
        assert!(requests.answered(&Id::Number(1999)).is_some() && requests.answered(&Id::Number(1999)).is_none());
        assert!(requests.answered(&Id::Number(1)).is_none(), "forgotten");
        assert!(requests.take().is_empty(), "nobody waits for an answer");
    }

    #[test]
    fn a_subscription_is_told_of_changes_once_the_server_has_agreed_and_until_it_ends() {
        let mut requests = UnderWay::default();
        let (one, two) = (Id::Number(1), Id::Number(2));
        requests.insert(one.clone(), Stage::Sent(Expected::Subscription { tells_changes: false }));
        requests.insert(two.clone(), Stage::Sent(Expected::Anything));
        assert!(requests.subscribers().is_empty());
        requests.agree(&one);
        requests.agree(&two);
        assert_eq!(requests.subscribers(), std::slice::from_ref(&one));
        requests.end_subscription(&one);
        requests.end_subscription(&two);
        assert!(!requests.has(&one) && requests.has(&two) && requests.subscribers().is_empty());
    }

    #[tokio::test]
    async fn nobody_can_answer_a_request_that_was_not_sent() {
        let mut requests = UnderWay::default();
        let task = tokio::spawn(std::future::pending::<()>());
        let one = Id::Number(1);
        requests.insert(one.clone(), Stage::Asked(task.abort_handle()));
        assert!(requests.answered(&one).is_none());
        assert!(requests.cancel(&one) && !requests.cancel(&one));
        assert!(task.await.unwrap_err().is_cancelled());
    }
}
