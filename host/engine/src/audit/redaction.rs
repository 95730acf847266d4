//! Redacts records as the configuration says. Each value is masked and cut separately.

mod value;

pub use value::Redacted;

use super::raw;
use super::record::{ApprovalRecord, CallRecord, EventRecord, Observed, ToolRun, WrittenValue};
use crate::config::AuditSettings;
use crate::contract::Fact;
use crate::contract::bytes::Bytes;
use crate::sandbox::ModelReply;
use crate::sandbox::capability::CapabilityReply;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use value::redact;

/// The text that replaces a masked value.
const MASKED: &str = "(masked)";

/// Redacts the record of an event.
pub(super) fn record(mut record: EventRecord, settings: &AuditSettings) -> EventRecord {
    let mut parts = Redaction { settings, parts: std::mem::take(&mut record.redacted) };
    parts.json("original", &mut record.original);
    let hides_arguments = parts.parts.get("original").is_some_and(|redacted| {
        redacted.masked_unlisted > 0 || redacted.masked.iter().any(|at| at.contains("/arguments"))
    });
    parts.json_if_any("final", &mut record.last);
    parts.json_if_any("response", &mut record.response);
    parts.text_if_any("raw", &mut record.raw);
    parts.text_if_any("reason", &mut record.reason);
    for (index, question) in record.questions.iter_mut().enumerate() {
        parts.text(&format!("questions/{index}"), &mut question.escalation.question);
    }
    for (index, question) in record.asked_again.iter_mut().flat_map(|again| &mut again.answered).enumerate() {
        parts.text(&format!("asked-again/answered/{index}"), &mut question.escalation.question);
    }
    for (index, kept) in record.kept.iter_mut().enumerate() {
        parts.text(&format!("kept/{index}"), &mut kept.question.escalation.question);
    }
    for call in record.calls.iter_mut().filter(|_| hides_arguments) {
        // The action in the verdict `rewrite` repeats the arguments of the call.
        if let Some(verdict) = call.verdict.as_mut().filter(|verdict| verdict.get().starts_with(r#"{"rewrite""#)) {
            *verdict = raw(&json!({ "rewrite": MASKED }));
        }
    }
    parts.calls(&mut record.calls);
    record.redacted = parts.parts;
    record
}

/// Redacts the record of an answer. The person or the program that answered wrote `reason`, `by` and `via`.
pub(super) fn answer(mut record: ApprovalRecord, settings: &AuditSettings) -> ApprovalRecord {
    let mut parts = Redaction { settings, parts: std::mem::take(&mut record.redacted) };
    parts.text_if_any("call", &mut record.call);
    parts.text_if_any("answer/reason", &mut record.answer.reason);
    parts.text_if_any("answer/by", &mut record.answer.by);
    parts.text_if_any("answer/via", &mut record.answer.via);
    record.redacted = parts.parts;
    record
}

/// Redacts the record of observers.
pub(super) fn observed(mut observed: Observed, settings: &AuditSettings) -> Observed {
    let mut parts = Redaction { settings, parts: std::mem::take(&mut observed.redacted) };
    parts.calls(&mut observed.calls);
    observed.redacted = parts.parts;
    observed
}

/// Redacts the record of a tool's call.
pub(super) fn tool_run(mut run: ToolRun, settings: &AuditSettings) -> ToolRun {
    let mut parts = Redaction { settings, parts: std::mem::take(&mut run.redacted) };
    parts.json("arguments", &mut run.arguments);
    parts.call("call", &mut run.call);
    run.redacted = parts.parts;
    run
}

/// Masks values that are stored outside of the log. The same settings apply as for the log, but values are not cut.
pub(crate) struct Masking(AuditSettings);

impl Masking {
    pub(crate) fn new(settings: &AuditSettings) -> Self {
        Self(AuditSettings { largest_value: NonZeroUsize::MAX, mask: settings.mask.clone() })
    }

    /// Masks a value.
    pub(crate) fn value(&self, value: &mut Box<RawValue>) {
        Redaction { settings: &self.0, parts: BTreeMap::new() }.json("", value);
    }

    /// Masks a string, which may contain JSON.
    pub(crate) fn text(&self, text: &mut String) {
        Redaction { settings: &self.0, parts: BTreeMap::new() }.text("", text);
    }
}

struct Redaction<'s> {
    settings: &'s AuditSettings,
    /// The redactions so far, by the path of the redacted part in the record. A path has no leading slash.
    parts: BTreeMap<String, Redacted>,
}

impl Redaction<'_> {
    fn calls(&mut self, calls: &mut [CallRecord]) {
        for (index, call) in calls.iter_mut().enumerate() {
            self.call(&format!("calls/{index}"), call);
        }
    }

    fn call(&mut self, at: &str, call: &mut CallRecord) {
        self.json_if_any(&format!("{at}/verdict"), &mut call.verdict);
        if let Some(failure) = &mut call.failure {
            self.text(&format!("{at}/failure/detail"), &mut failure.detail);
        }
        for (index, read) in call.inputs.state.iter_mut().flat_map(|state| &mut state.read).enumerate() {
            if let Some(value) = &mut read.value {
                self.state(&format!("{at}/inputs/state/read/{index}/value"), &read.key, value);
            }
        }
        for (index, asked) in call.inputs.model.iter_mut().enumerate() {
            let at = format!("{at}/inputs/model/{index}");
            self.text(&format!("{at}/request/instructions"), &mut asked.request.instructions);
            self.text(&format!("{at}/request/input"), &mut asked.request.input);
            if let ModelReply::Completion(text) | ModelReply::Denied(text) | ModelReply::Failed(text) =
                &mut asked.answer
            {
                self.text(&format!("{at}/answer"), text);
            }
        }
        for (index, asked) in call.inputs.capabilities.iter_mut().enumerate() {
            let at = format!("{at}/inputs/capabilities/{index}");
            for (number, argument) in asked.call.arguments.iter_mut().enumerate() {
                self.text(&format!("{at}/arguments/{number}"), argument);
            }
            match &mut asked.answer {
                CapabilityReply::Value(value) => self.text(&format!("{at}/answer"), value),
                CapabilityReply::Failed(text) => self.text(&format!("{at}/answer"), text),
            }
        }
        for (index, message) in call.inputs.transcript.iter_mut().flat_map(|read| &mut read.messages) {
            self.text(&format!("{at}/inputs/transcript/messages/{index}/content"), &mut message.content);
        }
        for (index, read) in call.inputs.facts.iter_mut().enumerate() {
            if let Fact::Text(text) | Fact::Unreadable(text) = &mut read.value {
                self.text(&format!("{at}/inputs/facts/{index}/value"), text);
            }
        }
        for (index, wrote) in call.wrote.iter_mut().enumerate() {
            if let WrittenValue::Set { value, .. } = &mut wrote.write {
                self.state(&format!("{at}/wrote/{index}/value"), &wrote.key, value);
            }
        }
        for (index, line) in call.log.iter_mut().enumerate() {
            self.text(&format!("{at}/log/{index}/message"), &mut line.message);
        }
        for (index, finding) in call.findings.iter_mut().enumerate() {
            let at = format!("{at}/findings/{index}");
            self.text(&format!("{at}/explanation"), &mut finding.explanation);
            self.text_if_any(&format!("{at}/details"), &mut finding.details);
            self.text(&format!("{at}/action"), &mut finding.action);
            for (index, reference) in finding.references.iter_mut().enumerate() {
                self.text(&format!("{at}/references/{index}"), reference);
            }
        }
    }

    /// Redacts a value of a plugin's state. The key is compared with the masked keys, like a key of a JSON object.
    fn state(&mut self, part: &str, key: &str, value: &mut Bytes) {
        if self.settings.mask.iter().any(|pattern| pattern.matches(key)) {
            *value = Bytes::from(MASKED.to_owned());
            self.parts.insert(part.to_owned(), Redacted { masked: vec![String::new()], ..Redacted::default() });
        } else {
            self.text(part, value);
        }
    }

    fn text_if_any(&mut self, part: &str, text: &mut Option<String>) {
        if let Some(text) = text {
            self.text(part, text);
        }
    }

    /// Redacts a string, which may contain JSON. If the string is too large, it is replaced by JSON that contains its
    /// size, its digest and its beginning.
    fn text<T: Serialize + DeserializeOwned + From<String>>(&mut self, part: &str, text: &mut T) {
        let json = raw(text);
        let (recorded, redacted) = redact(&json, self.settings);
        if !redacted.is_nothing() {
            *text = serde_json::from_str(recorded.get()).unwrap_or_else(|_| T::from(recorded.get().to_owned()));
            self.parts.insert(part.to_owned(), redacted);
        }
    }

    fn json_if_any(&mut self, part: &str, value: &mut Option<Box<RawValue>>) {
        if let Some(value) = value {
            self.json(part, value);
        }
    }

    fn json(&mut self, part: &str, value: &mut Box<RawValue>) {
        let (recorded, redacted) = redact(value, self.settings);
        if !redacted.is_nothing() {
            let repeats = redacted.masked_unlisted > 0 || redacted.masked.iter().any(|at| at.contains("/arguments"));
            *value = if repeats { without_actions(&recorded) } else { recorded.into_owned() };
            self.parts.insert(part.to_owned(), redacted);
        }
    }
}

/// Masks the actions of tool calls. An action repeats the call's arguments under other keys, which the patterns may not
/// match. So if a value in the arguments is masked, the whole action is masked.
fn without_actions(value: &RawValue) -> Box<RawValue> {
    fn mask(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                if fields.contains_key("arguments")
                    && let Some(action) = fields.get_mut("action")
                {
                    *action = MASKED.into();
                }
                fields.values_mut().for_each(mask);
            }
            Value::Array(items) => items.iter_mut().for_each(mask),
            _ => {}
        }
    }
    // JSON that is nested too deeply to be parsed is masked as a whole.
    serde_json::from_str(value.get()).map_or_else(
        |_| raw(MASKED),
        |mut value| {
            mask(&mut value);
            raw(&value)
        },
    )
}

#[cfg(test)]
mod tests;
