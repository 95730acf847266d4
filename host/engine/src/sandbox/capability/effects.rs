//! The capability `effects`: findings and reminders. Both take effect only when the call has returned.

use super::{Guest, of_the_contract, wit};
use crate::contract::bytes::written_size;
use crate::contract::{Failure, FailureKind};
use crate::sandbox::trap::Limit;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Maximum number of findings of one call, and maximum number of reminders of one call. If a call exceeds one of these
/// numbers, it fails. Otherwise an effect would be lost silently.
const MAX_EFFECTS: usize = 64;

/// Maximum size of a reminder with its tags and key, in bytes. The limit is small, because a model reads the text.
const MAX_REMINDER_BYTES: usize = 4096;

/// Maximum size of a finding, in bytes.
const MAX_FINDING_BYTES: usize = 64 * 1024;

/// Maximum size of all findings and reminders of one call together, in bytes of JSON. In JSON, one byte of a string may
/// become six bytes.
const MAX_WRITTEN: usize = 256 * 1024;

/// A finding for the audit log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Finding {
    /// Stable identifier of the rule.
    pub code: String,
    /// Severity of the finding.
    pub severity: Severity,
    /// The finding, in one sentence.
    pub explanation: String,
    /// Links to further information.
    pub references: Vec<String>,
    /// Action of the rule.
    pub action: String,
    /// Further details, as JSON text.
    pub details: Option<String>,
}

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names say it")]
#[non_exhaustive]
pub enum Severity {
    Info,
    Warning,
    Error,
}

/// A reminder for the model. The next request contains it after the last user message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Reminder {
    /// The plugin that gives the reminder.
    pub plugin: String,
    /// Text of the reminder.
    pub body: String,
    /// Tags of the reminder.
    pub tags: Vec<String>,
    /// A key for replacing reminders: a newer reminder replaces an older reminder of the same plugin with the same key.
    pub dedupe_key: Option<String>,
    /// Number of model calls that get the reminder. If absent, every call gets it until the session ends.
    pub ttl_turns: Option<u32>,
}

/// The results of a call other than its verdict.
#[derive(Clone, Debug, Default)]
pub(crate) struct Effects {
    pub(crate) findings: Vec<Finding>,
    pub(crate) reminders: Vec<Reminder>,
    /// The labels that the call has added with the capability `labels`.
    pub(crate) labels: BTreeSet<String>,
    /// Size of the findings and reminders, in bytes of JSON.
    written: usize,
}

impl Effects {
    /// Adds the size of an effect, and fails if all effects of the call are then too large together.
    fn count<T: Serialize>(&mut self, effect: &T) -> wasmtime::Result<()> {
        self.written = self.written.saturating_add(written_size(effect));
        if self.written > MAX_WRITTEN {
            let detail = format!("gave findings and reminders of more than {MAX_WRITTEN} bytes together, as JSON");
            return Err(exceeded(detail));
        }
        Ok(())
    }
}

/// Returns the size of the texts in bytes. The size includes the memory of each `String` itself, because even empty
/// texts use memory.
fn size<'a>(texts: impl Iterator<Item = &'a String>) -> usize {
    texts.map(|text| size_of::<String>() + text.len()).sum()
}

/// The error of a call that reached a limit on effects.
fn exceeded(detail: String) -> wasmtime::Error {
    Limit(Failure::new(FailureKind::CapabilityCalls, detail)).into()
}

impl Guest {
    /// Fails if the event has no record for effects. The failure is necessary, because the contract has no other way to
    /// report that the effect is lost.
    fn has_a_record(&self, effect: &str) -> wasmtime::Result<()> {
        if self.given.is_recorded {
            return Ok(());
        }
        let detail =
            format!("gave {effect} about `audit-record`, but `audit-record` has no record that could store it");
        Err(Limit(Failure::invalid(detail)).into())
    }
}

/// The capability `effects`.
pub(super) struct EffectsCapability;

of_the_contract!(EffectsCapability = effects, "effects", None, |_| true);

impl wit::effects::Host for Guest {
    fn report(&mut self, finding: wit::effects::Finding) -> wasmtime::Result<()> {
        self.count_call()?;
        self.has_a_record("a finding")?;
        if self.did.effects.findings.len() == MAX_EFFECTS {
            return Err(exceeded(format!("reported more than {MAX_EFFECTS} findings about one event")));
        }
        let texts = [&finding.code, &finding.explanation, &finding.action].into_iter();
        if size(texts.chain(&finding.references).chain(&finding.details)) > MAX_FINDING_BYTES {
            return Err(exceeded(format!("reported a finding of more than {MAX_FINDING_BYTES} bytes")));
        }
        let finding = Finding {
            code: finding.code,
            severity: match finding.severity {
                wit::effects::Severity::Info => Severity::Info,
                wit::effects::Severity::Warning => Severity::Warning,
                wit::effects::Severity::Error => Severity::Error,
            },
            explanation: finding.explanation,
            references: finding.references,
            action: finding.action,
            details: finding.details,
        };
        self.did.effects.count(&finding)?;
        self.did.effects.findings.push(finding);
        Ok(())
    }

    fn remind(&mut self, reminder: wit::effects::Reminder) -> wasmtime::Result<()> {
        self.count_call()?;
        self.has_a_record("a reminder")?;
        if self.did.effects.reminders.len() == MAX_EFFECTS {
            return Err(exceeded(format!("gave more than {MAX_EFFECTS} reminders about one event")));
        }
        let texts = [&reminder.body].into_iter().chain(&reminder.tags).chain(&reminder.dedupe_key);
        if size(texts) > MAX_REMINDER_BYTES {
            return Err(exceeded(format!("gave a reminder of more than {MAX_REMINDER_BYTES} bytes")));
        }
        let reminder = Reminder {
            plugin: self.given.plugin.to_string(),
            body: reminder.body,
            tags: reminder.tags,
            dedupe_key: reminder.dedupe_key,
            ttl_turns: reminder.ttl_turns,
        };
        self.did.effects.count(&reminder)?;
        self.did.effects.reminders.push(reminder);
        Ok(())
    }
}
