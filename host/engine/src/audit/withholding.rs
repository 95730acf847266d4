//! What the configuration keeps out of a record: each of its values is masked and cut on its own.

use super::mask::{Withheld, withhold};
use super::raw;
use super::record::{CallRecord, ModelReply, Observed, Record, WrittenValue};
use super::value::Bytes;
use crate::allowlist::AuditSettings;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// The record as the log is to hold it.
pub(super) fn record(mut record: Record, settings: &AuditSettings) -> Record {
    let mut parts = Withholding { settings, parts: std::mem::take(&mut record.withheld) };
    parts.json("original", &mut record.original);
    parts.json_if_any("final", &mut record.last);
    parts.json_if_any("response", &mut record.response);
    parts.text_if_any("raw", &mut record.raw);
    parts.text_if_any("reason", &mut record.reason);
    for (index, question) in record.questions.iter_mut().enumerate() {
        parts.text(&format!("questions/{index}"), &mut question.escalation.question);
    }
    parts.calls(&mut record.calls);
    record.withheld = parts.parts;
    record
}

/// The record of what observers did, as the log is to hold it.
pub(super) fn observed(mut observed: Observed, settings: &AuditSettings) -> Observed {
    let mut parts = Withholding { settings, parts: std::mem::take(&mut observed.withheld) };
    parts.calls(&mut observed.calls);
    observed.withheld = parts.parts;
    observed
}

struct Withholding<'s> {
    settings: &'s AuditSettings,
    /// What was withheld so far, by the part of the record: its path, without a leading slash.
    parts: BTreeMap<String, Withheld>,
}

impl Withholding<'_> {
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
        for (index, message) in call.inputs.transcript.iter_mut().flat_map(|read| &mut read.messages) {
            self.text(&format!("{at}/inputs/transcript/messages/{index}/content"), &mut message.content);
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
        }
    }

    /// A value of a plugin's state, whose key is masked as one of a JSON object is.
    fn state(&mut self, part: &str, key: &str, value: &mut Bytes) {
        if self.settings.mask.iter().any(|pattern| pattern.matches(key)) {
            *value = Bytes::from("(masked)".to_owned());
            self.parts.insert(part.to_owned(), Withheld { masked: vec![String::new()], ..Withheld::default() });
        } else {
            self.text(part, value);
        }
    }

    fn text_if_any(&mut self, part: &str, text: &mut Option<String>) {
        if let Some(text) = text {
            self.text(part, text);
        }
    }

    /// A text, which may hold JSON. What is left of one that is cut is the JSON that says so, as a text.
    fn text<T: Serialize + DeserializeOwned + From<String>>(&mut self, part: &str, text: &mut T) {
        let json = raw(text);
        let (recorded, withheld) = withhold(&json, self.settings);
        if !withheld.is_nothing() {
            *text = serde_json::from_str(recorded.get()).unwrap_or_else(|_| T::from(recorded.get().to_owned()));
            self.parts.insert(part.to_owned(), withheld);
        }
    }

    fn json_if_any(&mut self, part: &str, value: &mut Option<Box<RawValue>>) {
        if let Some(value) = value {
            self.json(part, value);
        }
    }

    fn json(&mut self, part: &str, value: &mut Box<RawValue>) {
        let (recorded, withheld) = withhold(value, self.settings);
        if !withheld.is_nothing() {
            *value = recorded.into_owned();
            self.parts.insert(part.to_owned(), withheld);
        }
    }
}

#[cfg(test)]
mod tests;
