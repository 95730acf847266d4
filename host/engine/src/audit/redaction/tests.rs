use super::super::record::{Header, KeptAnswer, Record, StateWrite};
use super::super::{Scope, ToRecord};
use super::*;
use crate::config::{CodeId, Digest, Enforcement, KeyPattern, Mode};
use crate::contract::{Asker, Escalation, EventKind, FactName, Failure, FailureKind, OutcomeKind, Question};
use crate::sandbox::capability::{
    CapabilityAnswer, CapabilityCall, CapabilityReply, Finding, Level, LogLine, Message, ModelRequest, Severity,
};
use crate::sandbox::{FactRead, Inputs, ModelAnswer, StateRead, StateUse, TranscriptRead};
use serde_json::json;
use std::collections::BTreeSet;

const SECRET: &str = "hunter2";

/// Returns a record in which every part contains the secret, as the value of a masked key.
fn full() -> EventRecord {
    let text = || json!({"password": SECRET, "user": "me"}).to_string();
    let value = || raw(&json!({"password": SECRET, "user": "me"}));
    let call = CallRecord {
        plugin: "p".into(),
        code: CodeId::Component(Digest::of_bytes(b"p")),
        config: Digest::of_bytes(b"{}"),
        mode: Mode::Enforce,
        round: 1,
        verdict: Some(value()),
        failure: Some(Failure::new(FailureKind::Trap, text())),
        fuel: 1,
        micros: 1,
        inputs: Inputs {
            state: Some(StateUse {
                used: Some([0, 0, 0]),
                keys: Some([0, 0, 0]),
                read: vec![
                    StateRead { scope: Scope::Session, key: "k".into(), value: Some(text().into()), size: None },
                    StateRead {
                        scope: Scope::Session,
                        key: "Password".into(),
                        value: Some(SECRET.to_owned().into()),
                        size: None,
                    },
                ],
            }),
            model: vec![ModelAnswer {
                request: ModelRequest { instructions: text(), input: text(), max_output_tokens: 1, temperature: None },
                answer: ModelReply::Completion(text()),
            }],
            capabilities: vec![CapabilityAnswer {
                call: CapabilityCall {
                    session: String::new(),
                    plugin: String::new(),
                    capability: "customers".into(),
                    function: "find".into(),
                    arguments: vec![json!({ "password": SECRET })],
                },
                answer: CapabilityReply::Value(json!({ "password": SECRET })),
            }],
            transcript: Some(TranscriptRead {
                length: 1,
                messages: [(0, Message { role: "user".into(), content: text() })].into(),
            }),
            facts: vec![FactRead { name: FactName::GitRemote, at: None, value: Fact::Text(text()) }],
            labels: None,
            secrets: None,
        },
        wrote_dropped: 0,
        wrote: vec![StateWrite {
            scope: Scope::Plugin,
            key: "k".into(),
            write: WrittenValue::Set { value: text().into(), expires: None },
        }],
        log: vec![LogLine { level: Level::Info, message: text() }],
        log_dropped: 0,
        findings: vec![Finding {
            code: "c".into(),
            severity: Severity::Info,
            explanation: text(),
            references: vec![],
            action: String::new(),
            details: Some(text()),
        }],
        labels: BTreeSet::new(),
    };
    EventRecord {
        id: "e".into(),
        header: Header::new("s", 0),
        turn: 0,
        event: EventKind::CustomEvent,
        outcome: OutcomeKind::Escalated,
        enforcement: Enforcement::Enforced,
        by: vec![],
        cause: None,
        reason: Some(text()),
        changed_by: vec![],
        original: value(),
        last: Some(value()),
        response: Some(value()),
        raw: Some(text()),
        questions: vec![Question::new(Asker::Configuration, Escalation { question: text(), code: None })],
        question: None,
        asked_again: None,
        kept: vec![KeptAnswer {
            question: Question::new(Asker::Configuration, Escalation { question: text(), code: None }),
            of: "e".into(),
        }],
        approved_by: None,
        micros: None,
        sandboxed: false,
        calls: vec![call],
        not_matched: vec![],
        not_replayable: vec![],
        redacted: BTreeMap::new(),
    }
}

const PARTS: [&str; 22] = [
    "calls/0/failure/detail",
    "calls/0/findings/0/details",
    "calls/0/findings/0/explanation",
    "calls/0/inputs/capabilities/0/answer",
    "calls/0/inputs/capabilities/0/arguments/0",
    "calls/0/inputs/facts/0/value",
    "calls/0/inputs/model/0/answer",
    "calls/0/inputs/model/0/request/input",
    "calls/0/inputs/model/0/request/instructions",
    "calls/0/inputs/state/read/0/value",
    "calls/0/inputs/state/read/1/value",
    "calls/0/inputs/transcript/messages/0/content",
    "calls/0/log/0/message",
    "calls/0/verdict",
    "calls/0/wrote/0/value",
    "final",
    "kept/0",
    "original",
    "questions/0",
    "raw",
    "reason",
    "response",
];

fn masking() -> AuditSettings {
    AuditSettings { mask: vec!["password".parse::<KeyPattern>().unwrap()], ..AuditSettings::default() }
}

fn recorded(record: &EventRecord, settings: &AuditSettings) -> EventRecord {
    let body = record.body(settings);
    let Record::Event(record) = Record::from_json(&body).unwrap() else { panic!("{body}") };
    *record
}

#[test]
fn no_part_of_a_record_holds_what_is_masked_and_each_is_named() {
    let record = full();
    assert!(record.body(&AuditSettings::default()).matches(SECRET).count() >= PARTS.len());
    let body = record.body(&masking());
    assert!(!body.contains(SECRET), "{body}");
    let redacted = recorded(&record, &masking()).redacted;
    assert_eq!(redacted.keys().map(String::as_str).collect::<BTreeSet<_>>(), BTreeSet::from(PARTS));
    assert_eq!(redacted["original"].masked, ["/password"]);
    let observed = Observed {
        id: "e".into(),
        header: Header::new("s", 0),
        event: EventKind::CustomEvent,
        calls: record.calls,
        redacted: BTreeMap::new(),
    };
    assert!(!observed.body(&masking()).contains(SECRET));
}

#[test]
fn a_record_of_which_nothing_is_withheld_stays_as_it_is() {
    let mut record = full();
    assert_eq!(recorded(&record, &AuditSettings::default()).redacted, BTreeMap::new());
    record.calls[0].log = vec![LogLine { level: Level::Info, message: "x".repeat(300 << 10) }];
    let recorded = recorded(&record, &AuditSettings::default());
    assert_eq!(recorded.redacted.keys().collect::<Vec<_>>(), ["calls/0/log/0/message"]);
    assert_eq!(recorded.original.get(), record.original.get());
}

#[test]
fn a_cut_value_says_how_large_it_was_and_how_it_begins() {
    let mut record = full();
    record.original = raw(&json!({"text": "x".repeat(300 << 10)}));
    record.raw = Some("é".repeat(300 << 10));
    record.calls[0].wrote[0].write = WrittenValue::Set { value: Bytes(vec![0xff; 300 << 10]), expires: None };
    let recorded = recorded(&record, &AuditSettings::default());
    let parts = ["calls/0/wrote/0/value", "original", "raw"];
    assert_eq!(recorded.redacted.keys().collect::<Vec<_>>(), parts);
    assert!(recorded.redacted.values().all(|redacted| redacted.cut && redacted.masked.is_empty()));
    let original: Value = serde_json::from_str(recorded.original.get()).unwrap();
    assert_eq!(original["cut"]["bytes"], json!(record.original.get().len()));
    let raw: Value = serde_json::from_str(&recorded.raw.unwrap()).unwrap();
    assert_eq!(raw["cut"]["bytes"], json!((300 << 10) * 2 + 2));
    assert!(raw["cut"]["begins"].as_str().unwrap().starts_with("\"éé"));
}

#[test]
fn the_action_of_a_call_does_not_say_what_is_masked_in_its_arguments() {
    let call = |arguments: Value| {
        let action = json!({"shell": {"command": SECRET, "dialect": "posix", "cwd": "/"}});
        json!({"id": "1", "name": "bash", "arguments": arguments, "action": action})
    };
    for arguments in [json!({"password": SECRET}), json!(json!({"password": SECRET}).to_string())] {
        let mut record = full();
        record.original = raw(&call(arguments.clone()));
        record.last = Some(raw(&json!([{ "call": call(arguments) }])));
        record.calls[0].verdict = Some(raw(&json!({"rewrite": {"shell": {"command": SECRET}}})));
        let body = record.body(&masking());
        assert!(!body.contains(SECRET), "{body}");
    }
    // If no value in the arguments is masked, the action is not masked.
    let mut record = full();
    record.original = raw(&call(json!({"command": "ls"})));
    assert!(recorded(&record, &masking()).original.get().contains(SECRET));
}
