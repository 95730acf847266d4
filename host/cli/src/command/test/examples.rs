//! The examples of the rules in words. The plugin that judges rules tries them when it is loaded, so nothing else runs if one fails.

use super::junit::Suite;
use crate::exit::CliError;
use crate::loading;
use crate::output::{
    one_line, printable,
    style::{DIM, ERROR, NAME},
    truncate::counted,
};
use hookhost::config::{Config, Entry, Problem, Rule};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;

/// The keys of examples, as a problem names them.
const EXAMPLES: [&str; 2] = ["rule.stops", "rule.passes"];

/// A rule in words, and what became of its examples.
#[derive(Debug)]
pub(super) struct TestedRule {
    rule: Rule,
    /// The examples that are not as the rule says.
    failures: Vec<Problem>,
}

impl TestedRule {
    /// Loads the rules of a configuration, which tries their examples.
    ///
    /// # Errors
    /// If the rules have another mistake.
    pub(super) async fn all(config: &Config) -> Result<Vec<Self>, CliError> {
        let tested = |rule: &Rule| Self { rule: rule.clone(), failures: Vec::new() };
        let mut all: Vec<Self> = config.rules().iter().map(tested).collect();
        let Some(problems) = loading::mistakes_in_rules(config).await? else { return Ok(all) };
        for problem in problems.iter() {
            let of_example = problem.key.as_deref().filter(|key| EXAMPLES.iter().any(|of| key.starts_with(of)));
            // The rule of a line is the last one that begins before it.
            let is_before =
                |tested: &&mut Self| tested.rule.origin.file == problem.file && tested.rule.origin.line <= problem.line;
            let rule = all.iter_mut().filter(is_before).max_by_key(|tested| tested.rule.origin.line);
            match rule.filter(|_| of_example.is_some()) {
                Some(tested) => tested.failures.push(problem.clone()),
                None => return Err(CliError::not_loaded(problems.clone())),
            }
        }
        Ok(all)
    }

    pub(super) fn id(&self) -> &str {
        &self.rule.row.id
    }

    pub(super) fn examples(&self) -> usize {
        self.rule.row.stops.len() + self.rule.row.passes.len()
    }

    pub(super) fn failed(&self) -> usize {
        self.failures.len()
    }

    /// Returns true if the rule has examples, and is in a file of one of these directories.
    pub(super) fn is_tested_in(&self, directories: &[PathBuf]) -> bool {
        let directory = self.rule.origin.file.parent();
        self.examples() > 0 && directories.iter().any(|one| directory == Some(one.as_path()))
    }

    /// Describes a rule whose examples fail: its place, and each example with its reason.
    pub(super) fn describe(&self) -> String {
        let (id, place) = (one_line(self.id()), one_line(&self.rule.origin.to_string()));
        let mut text = format!("  {ERROR}✗{ERROR:#} {NAME}{id}{NAME:#}  {DIM}{place}{DIM:#}\n");
        for line in self.in_words().lines() {
            let _ = writeln!(text, "      {}", printable(line));
        }
        text
    }

    fn in_words(&self) -> String {
        self.failures.iter().map(|problem| format!("{problem}\n")).collect()
    }

    /// Returns the result as JSON.
    pub(super) fn as_json(&self) -> Value {
        let failure = |problem: &Problem| json!({ "key": problem.key, "line": problem.line, "column": problem.column, "says": problem.message });
        json!({
            "type": "rule",
            "id": self.id(),
            "file": self.rule.origin.file,
            "line": self.rule.origin.line,
            "examples": self.examples(),
            "passed": self.failures.is_empty(),
            "failures": self.failures.iter().map(failure).collect::<Vec<_>>(),
        })
    }

    /// Returns one suite for the rules of each file.
    pub(super) fn suites(all: &[Self]) -> Vec<Suite> {
        let mut suites: Vec<Suite> = Vec::new();
        for tested in all.iter().filter(|tested| tested.examples() > 0) {
            let path = tested.rule.origin.file.to_string_lossy();
            if suites.last().is_none_or(|suite| *suite.path != path) {
                suites.push(Suite::new(path));
            }
            if let Some(suite) = suites.last_mut() {
                let name = format!("{}: {}", tested.id(), counted(tested.examples(), "example"));
                suite.add(&name, tested.rule.origin.line, 0.0, &tested.in_words());
            }
        }
        suites
    }
}

/// Returns the number of examples in the config of a plugin that checks them when it is loaded.
pub(super) fn of_plugin(entry: &Entry) -> usize {
    let rules = entry.config.get("custom-rules").and_then(Value::as_array).into_iter().flatten();
    let lists = rules.flat_map(|rule| ["catches", "leaves"].map(|key| rule.get(key)));
    lists.flatten().filter_map(Value::as_array).map(Vec::len).sum()
}
