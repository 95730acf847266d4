//! Calls that are reported twice, by two hook files or two programs of an agent: they are settled once, and both get the same
//! answer.

use hookhost_adapters::{HookCall, HookEvent, Outcome, ToolUse};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{OnceCell, watch};

/// How long an answer is kept for a second report.
const KEPT: Duration = Duration::from_secs(60);

/// Upper bound of the kept answers.
const MAX_KEPT: usize = 4096;

/// Old answers are removed when there are so many, and then each time that their number has doubled.
const SWEPT_AT: usize = 64;

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
    answers: Mutex<Answers>,
}

#[derive(Debug, Default)]
struct Answers {
    slots: HashMap<Key, Arc<Slot>>,
    /// How many there are when the old ones are removed next.
    swept_at: usize,
}

impl Answers {
    fn insert(&mut self, key: Key, slot: Arc<Slot>) {
        self.slots.insert(key, slot);
        if self.slots.len() < self.swept_at.max(SWEPT_AT) {
            return;
        }
        self.slots.retain(|_, slot| slot.is_kept());
        if self.slots.len() >= MAX_KEPT {
            // What is under way is still settled once.
            self.slots.retain(|_, slot| !slot.answer.initialized());
        }
        self.swept_at = (2 * self.slots.len()).min(MAX_KEPT.max(self.slots.len() + SWEPT_AT));
    }
}

/// What tells a call from all others.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Key {
    session: String,
    kind: &'static str,
    id: String,
    /// Of the content: nobody finds another one with the same digest.
    content: [u8; 32],
}

/// One call, and its answer once there is one.
#[derive(Debug)]
pub(crate) struct Slot {
    began: Instant,
    /// The rules under which it is settled, by their revision, and the directory of the call.
    rules: u64,
    directory: PathBuf,
    pub(crate) answer: OnceCell<Settled>,
    /// For how many seconds a person is waited for; 0 before one is asked.
    pub(crate) waiting: watch::Sender<u32>,
}

impl Once {
    /// The place of a call's answer under the rules of this revision; absent for what has no number, which is never taken for the
    /// same.
    pub(crate) fn slot(&self, session: &str, rules: u64, call: &HookCall) -> Option<Arc<Slot>> {
        let (kind, id) = call.key()?;
        let content = Sha256::digest(content(call)).into();
        let key = Key { session: session.to_owned(), kind, id: id.to_owned(), content };
        let directory = call.session.cwd.clone();
        let mut answers = self.answers();
        if let Some(slot) = answers.slots.get(&key).filter(|slot| slot.is_kept() && slot.is_of(rules, &directory)) {
            return Some(Arc::clone(slot));
        }
        let (began, answer, waiting) = (Instant::now(), OnceCell::new(), watch::Sender::new(0));
        let slot = Arc::new(Slot { began, rules, directory, answer, waiting });
        answers.insert(key, Arc::clone(&slot));
        Some(slot)
    }

    /// A call has run. A later report with its number is of another call, to which the agent has given that number again.
    pub(crate) fn has_run(&self, session: &str, tool: &ToolUse) {
        let Some(id) = &tool.id else { return };
        let content = Sha256::digest(content_of(tool)).into();
        let mut answers = self.answers();
        for kind in ["before", "permission"] {
            answers.slots.remove(&Key { session: session.to_owned(), kind, id: id.clone(), content });
        }
    }

    fn answers(&self) -> MutexGuard<'_, Answers> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    fn is_of(&self, rules: u64, directory: &Path) -> bool {
        self.rules == rules && self.directory == directory
    }

    fn is_kept(&self) -> bool {
        // One that is under way may take as long as a person takes.
        !self.answer.initialized() || self.began.elapsed() < KEPT
    }
}

/// What the call is about: an agent that gives two calls one number has both settled.
pub(crate) fn content(call: &HookCall) -> String {
    match &call.event {
        HookEvent::BeforeToolCall(tool) | HookEvent::PermissionRequest(tool) => content_of(tool),
        HookEvent::AfterToolCall { call: tool, result } => {
            json!([tool.name, tool.arguments, result.text, result.is_error, result.raw]).to_string()
        }
        HookEvent::PromptSubmit { prompt: text } | HookEvent::FinalText { text } => text.clone(),
        _ => String::new(),
    }
}

fn content_of(tool: &ToolUse) -> String {
    json!([tool.name, tool.arguments]).to_string()
}

#[cfg(test)]
mod tests {
    use super::content;
    use hookhost::contract::{Json, ToolResult};
    use hookhost_adapters::{AgentSession, HookCall, HookEvent, ToolUse};
    use serde_json::json;

    #[test]
    fn results_that_differ_in_anything_are_not_one() {
        let of = |result: ToolResult| {
            let call = ToolUse::new(Some("1".to_owned()), "say", json!({}));
            let session = AgentSession::new(Some("s".to_owned()), "/".into());
            content(&HookCall::new("result", session, HookEvent::AfterToolCall { call, result }, Json::default()))
        };
        let text = of(ToolResult::text("x"));
        let raw = ToolResult { raw: Some(json!({ "k": "sk-1" }).into()), ..ToolResult::text("x") };
        assert!(text != of(ToolResult::error("x")) && text != of(raw) && text == of(ToolResult::text("x")));
    }
}
