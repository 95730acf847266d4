//! Records as events of the Open Cybersecurity Schema Framework, version 1.5.0. <https://schema.ocsf.io/1.5.0>
//!
//! A decision is an *API Activity* (6003) with the profile *security control*, because a tool call is a call of an interface that a control
//! allows or denies. Every other record is the same class with the activity *Other*.

use crate::described::{Described, Severity};
use crate::names::{CAUSE, GUARDRAIL_POLICY, GUARDRAIL_RULE, MACHINE_ID, SESSION, TOOL_CALL_ID, TOOL_NAME};
use crate::sink::Entry;
use hookhost::audit::Record;
use hookhost::contract::OutcomeKind;
use serde_json::{Map, Value, json};

const CLASS: u64 = 6003;

/// The activity of a call that changes or does something unknown.
const OTHER: u64 = 99;

/// Returns the event.
pub(crate) fn event(entry: &Entry, described: &Described) -> Value {
    let attribute = |name: &str| {
        described.attributes.iter().find(|(of, _)| *of == name).map_or(Value::Null, |(_, value)| value.clone())
    };
    // The names of these numbers are those of the schema.
    let (action, disposition) = match &entry.record {
        Record::Event(event) => match event.outcome {
            OutcomeKind::Rejected | OutcomeKind::Withheld => (2, 2),
            OutcomeKind::Escalated => (0, 0),
            OutcomeKind::Allowed | OutcomeKind::Passed if event.is_changed() => (1, 99),
            _ => (1, 1),
        },
        _ => (0, 0),
    };
    let action_name = ["Unknown", "Allowed", "Denied"].get(action).copied().unwrap_or("Unknown");
    let severity = match described.severity {
        Severity::Debug | Severity::Info => 1,
        Severity::Warn => 2,
        Severity::Error => 4,
    };
    let unmapped: Map<String, Value> =
        described.attributes.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let operation = match attribute(TOOL_NAME) {
        Value::Null => described.name.into(),
        tool => tool,
    };
    let mut event = json!({
        "activity_id": OTHER,
        "activity_name": described.name,
        "category_uid": 6,
        "class_uid": CLASS,
        "type_uid": CLASS * 100 + OTHER,
        "time": described.time,
        "severity_id": severity,
        "action_id": action,
        "action": action_name,
        "disposition_id": disposition,
        "metadata": {
            "version": "1.5.0",
            "uid": format!("{}-{}", attribute(MACHINE_ID).as_str().unwrap_or_default(), entry.line.seq()),
            "sequence": entry.line.seq(),
            "profiles": ["security_control"],
            "product": { "name": "hookhost", "vendor_name": "hookhost", "version": env!("CARGO_PKG_VERSION") },
        },
        "actor": { "app_name": entry.agent, "session": { "uid": attribute(SESSION) } },
        "api": { "operation": operation, "request": { "uid": attribute(TOOL_CALL_ID) } },
        "src_endpoint": { "name": rustix::system::uname().nodename().to_string_lossy() },
        "unmapped": unmapped,
    });
    if let policy @ Value::String(_) = attribute(GUARDRAIL_POLICY) {
        event["policy"] = json!({ "name": policy, "uid": attribute(GUARDRAIL_RULE) });
    }
    if let cause @ Value::String(_) = attribute(CAUSE) {
        event["status_detail"] = cause;
    }
    without_nulls(&mut event);
    event
}

/// Removes members that are null or empty, because the schema has no null.
fn without_nulls(value: &mut Value) {
    if let Value::Object(object) = value {
        object.values_mut().for_each(without_nulls);
        object.retain(|_, value| !value.is_null() && !value.as_object().is_some_and(Map::is_empty));
    }
}
