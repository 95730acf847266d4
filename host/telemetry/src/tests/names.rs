//! What is sent without content, and under which names.

use super::{SECRET, entries};
use crate::described::{Described, machine_id};
use crate::lines::as_json;
use crate::names::TOOL_CALL_ID;
use crate::ocsf;
use hookhost::config::Digest;
use std::collections::BTreeSet;

/// Returns the rows of the table of names.
pub(super) fn table() -> Vec<(&'static str, &'static str)> {
    let table = include_str!("../../../../docs/telemetry-names.tsv");
    let row =
        |line: &'static str| line.split_once('\t').map(|(name, rest)| (name, rest.split('\t').next().unwrap_or("")));
    table.lines().skip(1).filter_map(row).collect()
}

#[test]
fn without_content_no_text_of_a_user_an_agent_or_a_tool_is_sent() {
    for entry in entries() {
        let described = Described::of(&entry, "m", false);
        let texts = [ocsf::event(&entry, &described).to_string(), as_json(described).to_string()];
        for text in texts {
            assert!(!text.contains("hunter2"), "{}: {text}", entry.line.text());
        }
    }
}

#[test]
fn each_attribute_of_the_table_is_sent_about_some_record() {
    let mut sent = BTreeSet::new();
    let mut names = BTreeSet::new();
    let mut has_content = false;
    for entry in entries() {
        let described = Described::of(&entry, "m", true);
        has_content |=
            described.attributes.iter().any(|(_, value)| value.as_str().is_some_and(|text| text.contains("hunter2")));
        names.insert(described.name);
        sent.extend(described.attributes.iter().map(|(name, _)| *name));
    }
    assert!(has_content && SECRET.contains("hunter2"));
    for (name, kind) in table() {
        if kind.starts_with("attribute") && kind != "attribute of spans" {
            assert!(sent.contains(name), "{name} is never sent");
        }
        if kind.contains("log record") {
            assert!(names.contains(name), "no log record is named {name}");
        }
    }
}

#[test]
fn an_answer_names_the_call_that_was_asked_about() {
    let entries = entries();
    let answer = entries.iter().find(|entry| entry.record.kind() == "answer").unwrap();
    let attributes = Described::of(answer, "m", false).attributes;
    let id = attributes.iter().find(|(name, _)| *name == TOOL_CALL_ID).map(|(_, value)| value.as_str());
    assert_eq!(id, Some(Some("toolu_1")));
}

#[test]
fn another_log_is_another_machine() {
    let (one, other) = (machine_id(&Digest::of_bytes(b"1")), machine_id(&Digest::of_bytes(b"2")));
    assert_eq!((one.len(), one == other, one == machine_id(&Digest::of_bytes(b"1"))), (32, false, true));
}
