//! The types that become a line of the log.

use super::delivery::Delivery;
use super::record::{
    ApprovalRecord, Dropped, EventRecord, LogBegins, Observed, RulesChanged, SessionEnded, SessionOpened, ToolRun,
};
use super::redaction;
use crate::config::AuditSettings;
use serde::Serialize;

/// A kind of record.
pub(crate) trait ToRecord: Serialize + Clone + Sync {
    /// The word for it.
    const KIND: &'static str;

    /// Time of the record, in milliseconds since the Unix epoch.
    fn time(&self) -> u64;

    /// Without what the configuration keeps out of the log.
    fn redacted(self, _settings: &AuditSettings) -> Self {
        self
    }

    /// Without the state of plugins, and without what they logged, which may repeat it; `None`
    /// if there is none in it.
    fn without_state(&self) -> Option<Self> {
        None
    }

    /// The record as JSON, an object that begins with its kind.
    fn body(&self, settings: &AuditSettings) -> String {
        let body = json(self);
        // No value is larger than the whole.
        if settings.mask.is_empty() && body.len() <= settings.largest_value.get() {
            return body;
        }
        json(&self.clone().redacted(settings))
    }

    /// The record as those who subscribe to the audit log get it.
    fn body_for_observers(&self, settings: &AuditSettings) -> String {
        match self.without_state() {
            Some(without) => without.body(settings),
            None => self.body(settings),
        }
    }
}

/// Room for the text of a usual record, in bytes.
const USUAL: usize = 1536;

/// Records always have JSON; one that had none would still be a record of its kind.
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
        // In place of the brace with which the fields begin.
        text[fields] = b',';
    }
    // `serde_json` writes text.
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
    Dropped = "dropped", header.time {}
    Delivery = "delivery", header.time {}
    RulesChanged = "rules-changed", time {}
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
