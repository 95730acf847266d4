//! The requests that are under way, a table for each side that asks. An identifier is that of one request at a time.

use crate::judge::Expected;
use crate::message::Id;
use std::collections::HashMap;
use tokio::task::AbortHandle;

/// Upper bound of the requests of one side that are under way.
const MAX: usize = 1000;

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
}

impl UnderWay {
    /// Why a request with this identifier cannot be taken; `None` where it can.
    #[must_use]
    pub fn objection(&self, id: &Id) -> Option<String> {
        if self.requests.contains_key(id) {
            return Some(format!("the id {id} is that of a request that is under way: it was not passed on"));
        }
        (self.requests.len() >= MAX).then(|| format!("{MAX} requests are under way, and no more are taken"))
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
            None => None,
        }
    }

    /// Gives up a request that the other side has not seen; `false` where it has.
    pub fn cancel(&mut self, id: &Id) -> bool {
        let Some(Stage::Asked(task)) = self.requests.get(id) else { return false };
        task.abort();
        self.requests.remove(id);
        true
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
