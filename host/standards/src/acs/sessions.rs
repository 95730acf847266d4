//! The sessions that agents have negotiated. For each session, this module stores the requests that were already seen, and the head of a
//! chain of hashes over the requests.

use super::envelope::{Refusal, Request};
use data_encoding::HEXLOWER;
use jiff::Timestamp;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use uuid::Uuid;

/// Maximum number of sessions. If another session begins, the session that was negotiated first is forgotten.
const MAX_SESSIONS: usize = 10_000;

/// Maximum number of remembered requests. If this number is reached, requests are refused until the oldest remembered request is no longer
/// fresh.
const MAX_SEEN: usize = 1_000_000;

/// Maximum number of remembered requests of one session. This limit prevents one agent from using up the memory for requests of other
/// agents.
const MAX_SEEN_PER_SESSION: usize = 100_000;

/// The state of all sessions.
#[derive(Debug, Default)]
pub(super) struct NegotiatedSessions(Mutex<SessionState>);

#[derive(Debug, Default)]
struct SessionState {
    sessions: HashMap<String, RequestChain>,
    /// The sessions' ids, in the order in which the sessions were negotiated.
    begin_order: VecDeque<String>,
    /// The remembered requests. The value is the time until which the request would be accepted as fresh.
    seen: HashMap<(String, Uuid), Timestamp>,
    /// The keys of `seen`, in the order in which the requests arrived.
    order: VecDeque<(String, Uuid)>,
    /// The number of remembered requests of each session.
    seen_per_session: HashMap<String, usize>,
}

/// The length and the head of a session's chain of hashes.
#[derive(Debug, Default)]
struct RequestChain {
    entries: u64,
    head: Option<[u8; 32]>,
}

impl NegotiatedSessions {
    /// Remembers a request, which is fresh until `fresh_until`. Refuses a request that was seen before.
    pub(super) fn see(&self, session: &str, request: Uuid, fresh_until: Timestamp) -> Result<(), Refusal> {
        let mut state = self.state();
        let now = Timestamp::now();
        while let Some(oldest) = state.order.front()
            && state.seen.get(oldest).is_none_or(|until| *until < now)
        {
            let oldest = state.order.pop_front().unwrap_or_default();
            state.seen.remove(&oldest);
            if let Some(count) = state.seen_per_session.get_mut(&oldest.0) {
                *count = count.saturating_sub(1);
                if *count == 0 {
                    state.seen_per_session.remove(&oldest.0);
                }
            }
        }
        let key = (session.to_owned(), request);
        if state.seen.contains_key(&key) {
            return Err(Refusal::replay("a request with this `request_id` was answered before"));
        }
        let of_this = state.seen_per_session.get(session).copied().unwrap_or_default();
        if state.seen.len() >= MAX_SEEN || of_this >= MAX_SEEN_PER_SESSION {
            return Err(Refusal::session("too many requests have come: repeated ones could no longer be detected"));
        }
        state.seen_per_session.insert(session.to_owned(), of_this + 1);
        state.seen.insert(key.clone(), fresh_until);
        state.order.push_back(key);
        Ok(())
    }

    /// Begins a negotiated session. A session that is negotiated again keeps its chain.
    pub(super) fn begin(&self, session: &str) {
        let mut state = self.state();
        if state.sessions.contains_key(session) {
            return;
        }
        if state.sessions.len() >= MAX_SESSIONS
            && let Some(first) = state.begin_order.pop_front()
        {
            state.sessions.remove(&first);
        }
        state.sessions.insert(session.to_owned(), RequestChain::default());
        state.begin_order.push_back(session.to_owned());
    }

    pub(super) fn check(&self, session: &str, method: &str) -> Result<(), Refusal> {
        match self.state().sessions.contains_key(session) {
            true => Ok(()),
            false => Err(Refusal::not_negotiated(method)),
        }
    }

    /// Appends a step to the session's chain, and returns the new head in hexadecimal, or `None` if the session has ended.
    pub(super) fn append(&self, session: &str, request: &Request) -> Option<String> {
        let mut state = self.state();
        let session = state.sessions.get_mut(session)?;
        session.entries += 1;
        let entry = json!({
            "entry_id": session.entries.to_string(),
            "step_id": request.params["request_id"],
            "step_type": request.method,
            "request_hash": hex(&Sha256::digest(canonical(&unsigned(&request.params))).into()),
            "timestamp": request.params["timestamp"],
        });
        let head = link(&entry, session.head.as_ref());
        session.head = Some(head);
        Some(hex(&head))
    }

    pub(super) fn end(&self, session: &str) {
        let mut state = self.state();
        state.sessions.remove(session);
        state.begin_order.retain(|id| id != session);
    }

    fn state(&self) -> MutexGuard<'_, SessionState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the hash of an entry, which also covers the hash of the previous entry.
fn link(entry: &Value, before: Option<&[u8; 32]>) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(canonical(entry));
    if let Some(before) = before {
        hash.update(before);
    }
    hash.finalize().into()
}

fn unsigned(params: &Value) -> Value {
    let mut params = params.clone();
    if let Some(params) = params.as_object_mut() {
        params.remove("signature");
    }
    params
}

/// Returns the canonical form by RFC 8785. Every JSON value that was parsed has a canonical form.
fn canonical(value: &Value) -> Vec<u8> {
    serde_json_canonicalizer::to_vec(value).unwrap_or_default()
}

fn hex(bytes: &[u8; 32]) -> String {
    HEXLOWER.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::{NegotiatedSessions, hex, link};
    use jiff::{SignedDuration, Timestamp};
    use serde_json::json;
    use sha2::{Digest as _, Sha256};
    use uuid::Uuid;

    #[test]
    fn an_entry_is_hashed_in_its_canonical_form_with_the_hash_before_it() {
        let first = link(&json!({ "step_id": "a", "entry_id": "1" }), None);
        assert_eq!(first, <[u8; 32]>::from(Sha256::digest(r#"{"entry_id":"1","step_id":"a"}"#)));
        let second = link(&json!({ "entry_id": "é" }), Some(&first));
        let bytes = [r#"{"entry_id":"é"}"#.as_bytes(), &first].concat();
        assert_eq!(hex(&second), hex(&Sha256::digest(bytes).into()));
    }

    #[test]
    fn a_repeated_request_is_refused_while_it_is_fresh() {
        let sessions = NegotiatedSessions::default();
        let (one, now) = (Uuid::from_u128(1), Timestamp::now());
        let later = now + SignedDuration::from_secs(60);
        assert!(sessions.see("s", one, later).is_ok());
        assert!(sessions.see("s", one, later).is_err());
        assert!(sessions.see("t", one, later).is_ok(), "it is one of each session");
        let two = Uuid::from_u128(2);
        assert!(sessions.see("u", two, now - SignedDuration::from_secs(1)).is_ok());
        // A request that is no longer fresh need not be remembered, because its time alone is a reason to refuse it.
        assert_eq!(sessions.state().seen.len(), 3);
    }
}
