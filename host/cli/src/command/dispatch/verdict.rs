//! Prints the verdict on a shell command for people. The text contains the decision, the findings, and the command that would run. Each
//! finding shows the part of the command that it is about.
//!
//! A finding's details can have any members, but only `place`, `matched` and `would` are shown. The SDK's `Finding::details` describes
//! these three members.

use super::snippet::snippet;
use super::{cause, last, rejection};
use crate::output::record::said;
use crate::output::style::{CHANGED, DIM, ERROR, GOOD, NAME, WARNING};
use crate::output::truncate::{short, words};
use crate::output::wrap::wrapped;
use crate::output::{self, one_line, printable};
use hookhost::RecordedOutcome;
use hookhost::audit::{CallRecord, EventRecord};
use hookhost::capability::{Finding, Severity};
use hookhost::config::Mode;
use serde_json::Value;
use std::cmp::Reverse;
use std::fmt::Write as _;
use std::ops::Range;

/// Describes the outcome of a `before-tool-call` about a command, for a person.
pub(super) fn describe(settled: &RecordedOutcome<Value>) -> String {
    let original = parsed(&settled.record.original);
    let Some(command) = command_of(&original) else { return headline(settled) };
    let mut text = headline(settled);
    let shown = LocatedFinding::all(command, &settled.record);
    LocatedFinding::say_all(&shown, &mut text);
    reason(&mut text, settled, &shown);
    // If a failure decided the outcome, the reason already shows the failure.
    let decided = matches!(cause(&settled.outcome), Some("failed" | "timed-out"));
    for call in settled.record.calls.iter().filter(|call| call.failure.is_some() && !decided) {
        let _ = writeln!(text, "\n{NAME}{}{NAME:#} {}", one_line(&call.plugin), said(call));
    }
    becomes(&mut text, settled, command);
    asked(&mut text, settled, shown.is_empty() && !settled.kind().is_no());
    text
}

/// Describes the findings of the plugins about an event, each below the part of the command that it is about.
pub(in crate::command) fn findings(record: &EventRecord) -> String {
    let original = parsed(&record.original);
    let mut text = String::new();
    LocatedFinding::say_all(&LocatedFinding::all(command_of(&original).unwrap_or_default(), record), &mut text);
    text
}

/// Returns the outcome and the plugins or persons who decided it.
fn headline(settled: &RecordedOutcome<Value>) -> String {
    let RecordedOutcome { outcome, record, .. } = settled;
    let style = if settled.kind().is_no() { ERROR } else { GOOD };
    let mut text = format!("{style}{}{style:#}", settled.kind());
    if let Some(cause) = cause(outcome).filter(|cause| *cause != "verdict") {
        let _ = write!(text, " ({})", cause.replace('-', " "));
    }
    let by = rejection(outcome).map_or_else(|| record.by.clone(), |rejection| rejection.by);
    if !by.is_empty() {
        let _ = write!(text, " by {}", one_line(&by.join(", ")));
    }
    if !record.changed_by.is_empty() && !settled.kind().is_no() {
        let _ = write!(text, ", {CHANGED}changed{CHANGED:#} by {}", one_line(&record.changed_by.join(", ")));
    }
    text.push('\n');
    text
}

/// A finding, and the part of the command that it is about.
struct LocatedFinding<'a> {
    call: &'a CallRecord,
    finding: &'a Finding,
    /// The command as the plugin saw it.
    command: String,
    part: Option<Range<usize>>,
    would: Option<String>,
}

impl<'a> LocatedFinding<'a> {
    /// Returns the findings of all plugin calls, without repetitions, those of the plugins that decided first. Each finding is stored with
    /// the command as its plugin saw it, that is, with the changes of the plugins before it.
    fn all(command: &str, record: &'a EventRecord) -> Vec<Self> {
        let mut command = command.to_owned();
        let mut all: Vec<Self> = Vec::new();
        for call in &record.calls {
            for finding in &call.findings {
                let details = finding.details.as_deref().and_then(|details| serde_json::from_str(details).ok());
                let details: Value = details.unwrap_or_default();
                let would = details.get("would").and_then(Value::as_str).map(str::to_owned);
                let found = Self { call, finding, part: part(&command, &details), command: command.clone(), would };
                if !all.iter().any(|other| other.says_the_same(&found)) {
                    all.push(found);
                }
            }
            if call.mode == Mode::Enforce
                && let Some(changed) = changed_to(call)
            {
                command = changed;
            }
        }
        let decided = |call: &CallRecord| call.mode == Mode::Enforce && record.by.contains(&call.plugin);
        all.sort_by_key(|found| Reverse((decided(found.call), found.finding.severity)));
        all
    }

    /// Adds the findings to a text. Those about the same part of the command follow each other.
    fn say_all(all: &[Self], text: &mut String) {
        for (at, found) in all.iter().enumerate() {
            let is_said = all.iter().take(at).any(|before| before.is_about_the_same(found));
            if !is_said {
                text.push('\n');
                text.push_str(&found.part.as_ref().map(|part| snippet(&found.command, part)).unwrap_or_default());
                all.iter().skip(at).filter(|other| other.is_about_the_same(found)).for_each(|found| found.say(text));
            }
        }
    }

    fn is_about_the_same(&self, other: &Self) -> bool {
        self.part == other.part && self.command == other.command
    }

    fn says_the_same(&self, other: &Self) -> bool {
        let part = |shown: &Self| shown.part.clone().and_then(|part| shown.command.get(part).map(str::to_owned));
        self.call.plugin == other.call.plugin && self.finding.code == other.finding.code && part(self) == part(other)
    }

    fn say(&self, text: &mut String) {
        let Finding { code, severity, explanation, references, .. } = self.finding;
        let (style, word) = match severity {
            Severity::Error => (ERROR, "error"),
            Severity::Warning => (WARNING, "warning"),
            Severity::Info => (DIM, "info"),
            _ => (DIM, "finding"),
        };
        let mode = if self.call.mode == Mode::Observe { ", only observed" } else { "" };
        let says = format!(
            "{style}{word}{style:#} {NAME}{}{NAME:#} {DIM}({}{mode}){DIM:#}: {}",
            one_line(code),
            one_line(&self.call.plugin),
            one_line(explanation)
        );
        let _ = writeln!(text, "  {}", wrapped(&says, 2));
        if let Some(would) = &self.would {
            let _ = writeln!(text, "    it would {}", one_line(would));
        }
        for reference in references {
            let _ = writeln!(text, "    {DIM}see {}{DIM:#}", one_line(reference));
        }
    }
}

/// Returns the part of the command that a finding is about. This is `place` if the text at this position is `matched`. Otherwise it is the
/// position of `matched`, if that text occurs once.
fn part(command: &str, details: &Value) -> Option<Range<usize>> {
    let matched = details.get("matched").and_then(Value::as_str).filter(|matched| !matched.is_empty());
    let number = |at: usize| usize::try_from(details.get("place")?.get(at)?.as_u64()?).ok();
    if let (Some(begin), Some(end)) = (number(0), number(1))
        && let Some(there) = command.get(begin..end)
        && matched.is_none_or(|matched| there.starts_with(matched.trim_end_matches('…')))
    {
        return Some(begin..end);
    }
    let matched = matched?;
    let (at, _) = command.match_indices(matched).next()?;
    (command.matches(matched).count() == 1).then(|| at..at + matched.len())
}

/// Returns the new command if the plugin's verdict changes the command.
fn changed_to(call: &CallRecord) -> Option<String> {
    let verdict = parsed(call.verdict.as_deref()?);
    let command = match (verdict.get("modify"), verdict.get("rewrite")) {
        (Some(arguments), _) => arguments.get("command"),
        (None, Some(action)) => action.get("shell").and_then(|shell| shell.get("command")),
        (None, None) => None,
    };
    command.and_then(Value::as_str).map(str::to_owned)
}

/// Adds the reason of a rejection, or the questions, unless a finding already has the same text.
fn reason(text: &mut String, settled: &RecordedOutcome<Value>, shown: &[LocatedFinding<'_>]) {
    let is_found = |code: Option<&str>| code.is_some_and(|code| shown.iter().any(|found| found.finding.code == code));
    if let Some(rejection) = rejection(&settled.outcome) {
        let by_verdict = cause(&settled.outcome) == Some("verdict");
        if !(by_verdict && is_found(rejection.refusal.code.as_deref())) {
            let _ = writeln!(text, "\n{}", printable(&rejection.to_string()));
        }
    } else {
        for question in &settled.record.questions {
            let asked = words(&question.escalation.question);
            let _ = writeln!(text, "\n{WARNING}{} asked:{WARNING:#} {asked}", one_line(&question.by.to_string()));
        }
    }
}

/// Adds the command that would run, if a plugin changed it, or the result that a plugin gave instead.
fn becomes(text: &mut String, settled: &RecordedOutcome<Value>, command: &str) {
    let last = last(settled);
    if let Some(changed) = command_of(&last).filter(|changed| *changed != command) {
        let lines = printable(changed).replace('\n', "\n  ");
        let _ = writeln!(text, "\n{CHANGED}runs:{CHANGED:#}\n  {lines}");
    }
    if let Some(response) = settled.outcome.get("response") {
        let _ = writeln!(text, "\nits result: {}", short(response));
    }
}

/// If no plugin had a finding, lists the plugins that received the event. If no plugin received the event, tells how to allow a plugin.
fn asked(text: &mut String, settled: &RecordedOutcome<Value>, nothing_found: bool) {
    let mut plugins: Vec<String> = Vec::new();
    for call in &settled.record.calls {
        let name = one_line(&call.plugin);
        if !plugins.contains(&name) {
            plugins.push(name);
        }
    }
    let not_matched = one_line(&settled.record.not_matched.join(", "));
    if plugins.is_empty() {
        let _ = writeln!(text, "\nNo plugin judged the command, because none is asked about commands here.");
        output::next_step(text, "hookhost on, or hookhost add shell-guard");
    } else if nothing_found {
        let _ = writeln!(text, "  {DIM}asked: {}{DIM:#}", plugins.join(", "));
    }
    if !not_matched.is_empty() {
        let _ = writeln!(text, "  {DIM}not asked: {not_matched}{DIM:#}");
    }
}

fn command_of(call: &Value) -> Option<&str> {
    call.get("arguments")?.get("command")?.as_str()
}

fn parsed(value: &serde_json::value::RawValue) -> Value {
    serde_json::from_str(value.get()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::part;
    use serde_json::json;

    #[test]
    fn a_part_is_where_the_details_say_and_never_beside_it() {
        let command = "cd é && rm x && rm x";
        for (details, expected) in [
            (json!({ "place": [9, 13] }), Some("rm x")),
            (json!({ "place": [9, 13], "matched": "rm x" }), Some("rm x")),
            (json!({ "place": [9, 13], "matched": "rm…" }), Some("rm x")),
            // Invalid positions: within a character, after the end of the command, and with the end before the start.
            (json!({ "place": [4, 13] }), None),
            (json!({ "place": [9, 99] }), None),
            (json!({ "place": [13, 9] }), None),
            (json!({ "place": [-1, 9] }), None),
            (json!({ "place": "all" }), None),
            // `place` belongs to another text, so the position of `matched` is used, because `matched` occurs exactly once.
            (json!({ "place": [0, 2], "matched": "é" }), Some("é")),
            (json!({ "matched": "cd é" }), Some("cd é")),
            (json!({ "matched": "rm x" }), None),
            (json!({ "matched": "" }), None),
            (json!({}), None),
            (json!(null), None),
        ] {
            assert_eq!(part(command, &details).and_then(|part| command.get(part)), expected, "{details}");
        }
    }
}
