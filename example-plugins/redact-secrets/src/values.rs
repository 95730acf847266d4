//! The values of the project's secrets: finds them in calls before they run, and masks them in texts. The host knows the values, and this
//! plugin learns only where they are.

use crate::scan::{Counts, OPENING};
use hookhost_guest::prelude::*;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeSet;

/// The grant.
const GRANT: &str = "secrets";

/// The beginning of the kind in the mark of a value. The name of the variable follows.
pub(crate) const KIND: &str = "value of ";

/// The code of refusals, questions and findings.
pub(crate) const CODE: &str = "redact-secrets.value";

/// Minimum length of a text that can contain a value, in bytes.
const MIN_LENGTH: usize = 12;

/// Maximum number of names in a finding.
const MAX_NAMES: usize = 50;

/// The answer to a call that contains a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum OnValue {
    #[default]
    Reject,
    Ask,
}

/// Judges a call that may send a value somewhere. A call that writes only files from which the values come may contain them.
pub(crate) fn judge(call: &ToolCall, on_value: OnValue) -> ToolCallVerdict {
    if !grants::has(GRANT) {
        return Verdict::allow();
    }
    let mut texts = String::new();
    match serde_json::from_str::<Value>(&call.arguments) {
        Ok(arguments) => add_texts(&arguments, &mut texts),
        Err(_) => texts.push_str(&call.arguments),
    }
    let names: BTreeSet<String> = find(&texts).into_iter().map(|found| found.name).collect();
    let written = call.action.written_paths();
    if names.is_empty() || (!written.is_empty() && written.iter().all(|path| secrets::is_source(path))) {
        return Verdict::allow();
    }
    let names = listed(names.iter());
    match on_value {
        OnValue::Ask => Escalation::new(format!("Let this call have the value of {names}?")).code(CODE).into(),
        OnValue::Reject => {
            let why = format!(
                "the call contains the value of {names}, which stays where it is: use the name of the variable, which a program \
                 reads from its environment or from its file"
            );
            Refusal::new(why).code(CODE).into()
        }
    }
}

/// Adds the strings of a value, and the names of its members, each after a character that ends a value of a secret.
fn add_texts(value: &Value, texts: &mut String) {
    let mut add = |text: &str| {
        texts.push('\0');
        texts.push_str(text);
    };
    match value {
        Value::String(text) => add(text),
        Value::Array(values) => values.iter().for_each(|value| add_texts(value, texts)),
        Value::Object(members) => {
            for (name, value) in members {
                texts.push('\0');
                texts.push_str(name);
                add_texts(value, texts);
            }
        }
        Value::Number(number) => add(&number.to_string()),
        Value::Null | Value::Bool(_) => {}
    }
}

fn find(text: &str) -> Vec<secrets::Found> {
    if text.len() < MIN_LENGTH { Vec::new() } else { secrets::find(text) }
}

/// Masks the values in a text, or returns `None` if there are none.
pub(crate) fn mask(text: &str, counts: &mut Counts) -> Option<String> {
    let found = if grants::has(GRANT) { find(text) } else { Vec::new() };
    let mut masked = String::new();
    let mut copied = 0;
    for found in &found {
        let (name, place) = (&found.name, found.place());
        masked.push_str(text.get(copied..place.start)?);
        masked.push_str(&format!("{OPENING}{KIND}{name}]"));
        *counts.entry(format!("{KIND}{name}")).or_default() += 1;
        copied = place.end;
    }
    masked.push_str(text.get(copied..)?);
    (!found.is_empty()).then_some(masked)
}

/// Reports the values that are not looked for.
pub(crate) fn report_uncovered() {
    if !grants::has(GRANT) {
        return;
    }
    let uncovered = secrets::list_uncovered();
    let Some(more) = uncovered.len().checked_sub(1) else { return };
    let shown: Vec<String> =
        uncovered.iter().take(MAX_NAMES).map(|one| format!("`{}` {}", one.name, one.reason)).collect();
    let rest = if more >= MAX_NAMES { format!("; and {} more", more + 1 - MAX_NAMES) } else { String::new() };
    let explanation = format!("these secrets are not looked for: {}{rest}", shown.join("; "));
    effects::report(&Finding::new("redact-secrets.uncovered", Severity::Info, explanation).action("listed"));
}

fn listed<'a>(names: impl Iterator<Item = &'a String>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
