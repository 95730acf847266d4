//! What a hook does beside its verdict: findings for the audit log, reminders for the model. Always granted. Takes
//! effect only if the call returns.

#[cfg(target_arch = "wasm32")]
use crate::generated::hookhost::hooks::effects as host;
#[cfg(not(target_arch = "wasm32"))]
use crate::native::effects as host;

pub use crate::generated::hookhost::hooks::effects::{Finding, Reminder, Severity};

use serde::Serialize;

/// Puts a finding into the audit log.
pub fn report(finding: &Finding) {
    host::report(finding);
}

/// Tells the model something with the next request, after the last user message.
pub fn remind(reminder: &Reminder) {
    host::remind(reminder);
}

impl Finding {
    /// A finding of the rule `code`, explained in one sentence.
    #[must_use]
    pub fn new(code: impl Into<String>, severity: Severity, explanation: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            severity,
            explanation: explanation.into(),
            references: Vec::new(),
            action: String::new(),
            details: None,
        }
    }

    /// What was done about it, or what to do.
    #[must_use]
    pub fn action(mut self, action: impl Into<String>) -> Self {
        self.action = action.into();
        self
    }

    /// A link or name to read more under. May be called several times.
    #[must_use]
    pub fn reference(mut self, reference: impl Into<String>) -> Self {
        self.references.push(reference.into());
        self
    }

    /// Particulars, as JSON. What cannot be written as JSON is kept as a JSON string that says why.
    ///
    /// They are for programs, except three members of an object that people are shown, such as by `hookhost dispatch
    /// --shell`. A finding about a command may have any of them:
    ///
    /// | member | what it holds |
    /// |---|---|
    /// | `place` | `[begin, end]`: which bytes of the command the finding is about, as the plugin was asked about it; from 0, the end not included, both between characters |
    /// | `matched` | these bytes as a text, perhaps cut, with `…` at its end; alone, a text that occurs once in the command |
    /// | `would` | what the rule would have done but did not, in words that continue "it would" |
    ///
    /// What does not fit the command is left out of what is shown.
    #[must_use]
    pub fn details(mut self, details: &impl Serialize) -> Self {
        let details = serde_json::to_value(details).unwrap_or_else(|error| error.to_string().into());
        self.details = Some(details.to_string());
        self
    }
}

impl Reminder {
    /// A reminder that lives until the session ends.
    #[must_use]
    pub fn new(body: impl Into<String>) -> Self {
        Self { body: body.into(), tags: Vec::new(), dedupe_key: None, ttl_turns: None }
    }

    /// A word to find it by. May be called several times.
    #[must_use]
    pub fn tag(mut self, tag: impl Into<String>) -> Self {
        self.tags.push(tag.into());
        self
    }

    /// A newer reminder with the same key replaces this one.
    #[must_use]
    pub fn dedupe_key(mut self, key: impl Into<String>) -> Self {
        self.dedupe_key = Some(key.into());
        self
    }

    /// Lives for so many model calls only.
    #[must_use]
    pub fn turns(mut self, turns: u32) -> Self {
        self.ttl_turns = Some(turns);
        self
    }
}
