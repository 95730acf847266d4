//! Describes results for people and for programs.

use super::case_file::{Case, CaseFile, Step};
use super::run::{CaseResult, StepResult};
use crate::command::dispatch;
use crate::output::{
    one_line, printable, quoted,
    record::subject_of,
    style::{ADVICE, DIM, ERROR, GOOD, NAME, WARNING},
};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;

/// Describes a case: one line, and for a failed case the reasons and the command that shows the event. `config` is the file that was
/// chosen on the command line.
pub(super) fn describe(file: &CaseFile, case: &Case, result: &CaseResult, config: Option<&Path>) -> String {
    let name = one_line(&case.name);
    if result.is_passed() {
        return format!("  {GOOD}✓{GOOD:#} {name}\n{}", notes(result));
    }
    let place = one_line(&format!("{}:{}", file.path.display(), case.line));
    let mut text = format!("  {ERROR}✗{ERROR:#} {NAME}{name}{NAME:#}  {DIM}{place}{DIM:#}\n");
    for line in failures(case, result).lines() {
        let _ = writeln!(text, "      {}", printable(line));
    }
    if let Some(command) = command(case, config) {
        let _ = writeln!(text, "      {ADVICE}try:{ADVICE:#} {}", one_line(&command));
    }
    text + &notes(result)
}

/// Names the plugins that failed without deciding the outcome, because a person would not notice them otherwise.
fn notes(result: &CaseResult) -> String {
    let compared = result.steps.iter().filter_map(|step| match step {
        StepResult::Compared { actual, .. } => Some(&actual.failures),
        StepResult::Invalid(_) => None,
    });
    let note = |(plugin, why): &(String, String)| {
        format!("      {WARNING}!{WARNING:#} {} {}\n", one_line(plugin), one_line(why))
    };
    compared.flatten().map(note).collect()
}

/// Describes the events of a case that are not as expected, without styles.
pub(super) fn failures(case: &Case, result: &CaseResult) -> String {
    let mut text = String::new();
    for (number, (step, result)) in case.steps.iter().zip(&result.steps).enumerate() {
        if result.is_passed() {
            continue;
        }
        let number = if case.steps.len() > 1 { format!("event {}: ", number + 1) } else { String::new() };
        let _ = writeln!(text, "{number}{}", subject(step));
        match result {
            StepResult::Invalid(why) => {
                let _ = writeln!(text, "  {why}");
            }
            StepResult::Compared { actual, mismatches } => {
                for line in mismatches
                    .iter()
                    .flat_map(|mismatch| mismatch.describe().lines().map(str::to_owned).collect::<Vec<_>>())
                {
                    let _ = writeln!(text, "  {line}");
                }
                if let Some(reason) =
                    actual.reason.as_deref().filter(|_| mismatches.iter().all(|it| it.key != "reason-contains"))
                {
                    let _ = writeln!(text, "  {}", one_line(reason));
                }
            }
        }
    }
    text
}

fn subject(step: &Step) -> String {
    let value = match step.event.parameters() {
        [parameter] => step.payload.get(*parameter).cloned().unwrap_or_default(),
        _ => Value::Object(step.payload.clone()),
    };
    match &step.shell {
        Some(command) => one_line(command),
        None => {
            let shown = format!("{} {}", step.event, subject_of(&value));
            anstream::adapter::strip_str(shown.trim_end()).to_string()
        }
    }
}

/// Returns the command that shows the event of a case, if the case is one event without state.
fn command(case: &Case, config: Option<&Path>) -> Option<String> {
    let [step] = case.steps.as_slice() else { return None };
    if !case.is_one_event() {
        return None;
    }
    let session = case.session_keys();
    let is_plain = session.as_object().is_some_and(serde_json::Map::is_empty);
    let command = match &step.shell {
        Some(command) if is_plain => format!("hookhost dispatch --shell {}", quoted(command)),
        _ => {
            let mut payload = step.payload.clone();
            if !is_plain {
                payload.insert("session".to_owned(), session);
            }
            dispatch::command(step.event, &Value::Object(payload).to_string())
        }
    };
    let config = config.map(|file| format!(" --config {}", quoted(&file.to_string_lossy())));
    Some(command + &config.unwrap_or_default())
}

/// Returns the result of a case as JSON.
pub(super) fn as_json(file: &CaseFile, case: &Case, result: &CaseResult) -> Value {
    let event = |(step, result): (&Step, &StepResult)| {
        let mut object = json!({ "event": step.event, "passed": result.is_passed() });
        match result {
            StepResult::Invalid(why) => object["invalid"] = json!(why),
            StepResult::Compared { actual, mismatches } => {
                object["outcome"] = json!(actual.outcome);
                object["plugins"] = actual.plugins().collect();
                object["codes"] = actual.codes().collect();
                object["reason"] = json!(actual.reason);
                object["mismatches"] = json!(mismatches);
                object["failures"] =
                    actual.failures.iter().map(|(plugin, why)| json!({ "plugin": plugin, "says": why })).collect();
            }
        }
        object
    };
    json!({
        "type": "case",
        "file": file.path,
        "line": case.line,
        "name": case.name,
        "passed": result.is_passed(),
        "events": case.steps.iter().zip(&result.steps).map(event).collect::<Vec<_>>(),
    })
}
