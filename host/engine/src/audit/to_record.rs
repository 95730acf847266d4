//! The types that can be written to the log.

use super::delivery::Delivery;
use super::record::{
    AnswerRefused, ApprovalRecord, Archived, Dropped, EventRecord, LogBegins, Observed, OperatorAction, RulesChanged,
    SessionEnded, SessionOpened, ToolRun,
};
use super::redaction;
use crate::config::AuditSettings;
use serde::Serialize;

/// A type that becomes a record of the log.
pub(crate) trait ToRecord: Serialize + Clone + Sync {
    /// Name of the kind of record.
    const KIND: &'static str;

    /// Time of the record, in milliseconds since the Unix epoch.
    fn time(&self) -> u64;

    /// Returns the record without the values that the configuration keeps out of the log.
    fn redacted(self, _settings: &AuditSettings) -> Self {
        self
    }

    /// Returns the record without the state of plugins, and without the plugins' log lines, which may repeat the state.
    /// Returns `None` if this kind of record contains neither state nor log lines.
    fn without_state(&self) -> Option<Self> {
        None
    }

    /// Returns the record as a JSON object that begins with its kind.
    fn body(&self, settings: &AuditSettings) -> String {
        let body = json(self);
        // If the whole record is not too large, none of its values is too large.
        if settings.mask.is_empty() && body.len() <= settings.largest_value.get() {
            return body;
        }
        json(&self.clone().redacted(settings))
    }

    /// Returns the record as JSON for plugins that observe the audit log.
    fn body_for_observers(&self, settings: &AuditSettings) -> String {
        match self.without_state() {
            Some(without) => without.body(settings),
            None => self.body(settings),
        }
    }
}

/// Initial capacity for the text of a record, in bytes. This is enough for most records.
const USUAL: usize = 1536;

/// Converts a record to JSON. The conversion always succeeds. If it ever failed, the result would be a record that
/// contains only its kind.
fn json<R: ToRecord>(record: &R) -> String {
    let mut text = Vec::with_capacity(USUAL);
    text.extend(br#"{"kind":""#);
    text.extend(R::KIND.as_bytes());
    text.push(b'"');
    let fields = text.len();
    if serde_json::to_writer(&mut text, record).is_err() || text[fields..] == *b"{}" {
        text.truncate(fields);
        text.push(b'}');
    } else {
        // Replace the opening brace of the fields by a comma.
        text[fields] = b',';
    }
    // `serde_json` writes valid UTF-8.
    String::from_utf8(text).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

macro_rules! to_record {
    ($($record:ty = $kind:literal, $($time:ident).+ { $($item:item)* })*) => {
        $(impl ToRecord for $record {
            const KIND: &'static str = $kind;
            fn time(&self) -> u64 {
                self.$($time).+
            }
            $($item)*
        })*
    };
}

to_record! {
    LogBegins = "log", time {}
    SessionOpened = "session", header.time {}
    SessionEnded = "session-ended", header.time {}
    ApprovalRecord = "answer", header.time {
        fn redacted(self, settings: &AuditSettings) -> Self {
            redaction::answer(self, settings)
        }
    }
    AnswerRefused = "answer-refused", header.time {}
    Dropped = "dropped", header.time {}
    Delivery = "delivery", header.time {}
    RulesChanged = "rules-changed", time {}
    OperatorAction = "operator", time {}
    Archived = "archived", time {}
    EventRecord = "event", header.time {
        fn redacted(self, settings: &AuditSettings) -> Self {
            redaction::record(self, settings)
        }
        fn without_state(&self) -> Option<Self> {
            let mut record = self.clone();
            record.calls.iter_mut().for_each(forget_state);
            Some(record)
        }
    }
    ToolRun = "tool-run", header.time {
        fn redacted(self, settings: &AuditSettings) -> Self {
            redaction::tool_run(self, settings)
        }
        fn without_state(&self) -> Option<Self> {
            let mut run = self.clone();
            forget_state(&mut run.call);
            Some(run)
        }
    }
    Observed = "observed", header.time {
        fn redacted(self, settings: &AuditSettings) -> Self {
            redaction::observed(self, settings)
        }
        fn without_state(&self) -> Option<Self> {
            let mut observed = self.clone();
            observed.calls.iter_mut().for_each(forget_state);
            Some(observed)
        }
    }
}

fn forget_state(call: &mut super::CallRecord) {
    call.inputs.state = None;
    (call.wrote, call.wrote_dropped) = (Vec::new(), 0);
    call.log.clear();
}
