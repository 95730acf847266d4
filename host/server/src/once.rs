//! Calls that are reported twice, by two hook files or two programs of an agent: they are settled once, and both get the same
//! answer.

use hookhost_adapters::{HookCall, HookEvent, Outcome};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{OnceCell, watch};

/// How long an answer is kept for a second report.
const KEPT: Duration = Duration::from_secs(60);

/// Upper bound of the kept answers.
const MAX_KEPT: usize = 4096;

/// What was settled.
#[derive(Clone, Debug)]
pub(crate) struct Settled {
    /// The outcome.
    pub(crate) outcome: Outcome,
    /// The identifier of the event's record.
    pub(crate) event: Option<String>,
}

/// The answers.
#[derive(Debug, Default)]
pub(crate) struct Once {
    answers: Mutex<HashMap<Key, Arc<Slot>>>,
}

type Key = (String, &'static str, String, [u8; 32]);

/// One call, and its answer once there is one.
#[derive(Debug)]
pub(crate) struct Slot {
    began: Instant,
    pub(crate) answer: OnceCell<Settled>,
    /// For how many seconds a person is waited for; 0 before one is asked.
    pub(crate) waiting: watch::Sender<u32>,
}

impl Once {
    /// The place of a call's answer; absent for what has no number, which is never taken for the same.
    pub(crate) fn slot(&self, session: &str, call: &HookCall) -> Option<Arc<Slot>> {
        let (kind, id) = call.key()?;
        // A digest, for which nobody finds another call with the same one.
        let key = (session.to_owned(), kind, id.to_owned(), Sha256::digest(content(call)).into());
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = answers.get(&key).filter(|slot| slot.is_kept()) {
            return Some(Arc::clone(slot));
        }
        if answers.len() >= MAX_KEPT {
            answers.retain(|_, slot| slot.is_kept());
        }
        if answers.len() >= MAX_KEPT {
            answers.clear();
        }
        let slot = Arc::new(Slot { began: Instant::now(), answer: OnceCell::new(), waiting: watch::Sender::new(0) });
        answers.insert(key, Arc::clone(&slot));
        Some(slot)
    }
}

impl Slot {
    fn is_kept(&self) -> bool {
        // One that is under way may take as long as a person takes.
        !self.answer.initialized() || self.began.elapsed() < KEPT
    }
}

/// What the call is about: an agent that gives two calls one number has both settled.
pub(crate) fn content(call: &HookCall) -> String {
    match &call.event {
        HookEvent::BeforeToolCall(tool) | HookEvent::PermissionRequest(tool) => {
            json!([tool.name, tool.arguments]).to_string()
        }
        HookEvent::AfterToolCall { call: tool, result } => json!([tool.name, tool.arguments, result.text]).to_string(),
        HookEvent::PromptSubmit { prompt: text } | HookEvent::FinalText { text } => text.clone(),
        _ => String::new(),
    }
}
