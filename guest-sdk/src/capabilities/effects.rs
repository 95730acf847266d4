//! Effects of a call in addition to its verdict: findings for the audit log, and reminders for the model. Every plugin
//! has this capability. Effects are applied only if the call returns.

#[cfg(target_arch = "wasm32")]
use crate::generated::v0_1::effects as host;
#[cfg(not(target_arch = "wasm32"))]
use crate::native::effects as host;

pub use crate::generated::v0_1::effects::{Finding, Reminder, Severity};

use serde::Serialize;

/// Writes a finding to the audit log.
pub fn report(finding: &Finding) {
    host::report(finding);
}

/// Adds a reminder to the model's next request, after the last user message.
pub fn remind(reminder: &Reminder) {
    host::remind(reminder);
}

impl Finding {
    /// Creates a finding of the rule `code`. `explanation` is one sentence.
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

    /// Sets the action that was taken, or that should be taken.
    #[must_use]
    pub fn action(mut self, action: impl Into<String>) -> Self {
        self.action = action.into();
        self
    }

    /// Adds a reference to further information, such as a link or a name. Can be called several times.
    #[must_use]
    pub fn reference(mut self, reference: impl Into<String>) -> Self {
        self.references.push(reference.into());
        self
    }

    /// Sets details, as JSON. If the value cannot be written as JSON, the details are a JSON string that states the
    /// reason.
    ///
    /// Details are for programs. If the details are an object, three of its members are also shown to people, for
    /// example by `hookhost dispatch --shell`. A finding about a command can have any of these members:
    ///
    /// | member | content |
    /// |---|---|
    /// | `place` | `[begin, end]`: a range of bytes in the command that the plugin received; `end` is excluded, and both are at boundaries of characters |
    /// | `matched` | the text of this range, with `…` at its end if it is cut; without `place`, a text that occurs once in the command |
    /// | `would` | the action that the rule would have taken but did not take, in words that continue "it would" |
    ///
    /// A member that does not fit the command is not shown.
    #[must_use]
    pub fn details(mut self, details: &impl Serialize) -> Self {
        let details = serde_json::to_value(details).unwrap_or_else(|error| error.to_string().into());
        self.details = Some(details.to_string());
        self
    }
}

impl Reminder {
    /// Creates a reminder that stays until the session ends.
    #[must_use]
    pub fn new(body: impl Into<String>) -> Self {
        Self { body: body.into(), tags: Vec::new(), dedupe_key: None, ttl_turns: None }
    }

    /// Adds a tag, a word by which the reminder can be found. Can be called several times.
    #[must_use]
    pub fn tag(mut self, tag: impl Into<String>) -> Self {
        self.tags.push(tag.into());
        self
    }

    /// Sets a key. A newer reminder with the same key replaces this reminder.
    #[must_use]
    pub fn dedupe_key(mut self, key: impl Into<String>) -> Self {
        self.dedupe_key = Some(key.into());
        self
    }

    /// Limits the reminder to this number of model calls.
    #[must_use]
    pub fn turns(mut self, turns: u32) -> Self {
        self.ttl_turns = Some(turns);
        self
    }
}
