//! The conditions of rows: `when`, `unless`, and `after` with `within`.
//!
//! A condition is evaluated for each command, file, request, call or text that all matchers of its row match.

use crate::candidate::Candidate;
use crate::checks::Wrong;
use hookhost_conditions::vocabulary::{self, Function};
use hookhost_conditions::{Condition, Truth, Use};
use hookhost_contract::rule::{RuleOn, RuleRow};

/// The conditions of a row, each with its key. What `after` and `within` stand for comes first.
#[derive(Debug, Default)]
pub(crate) struct Conditions(Vec<(&'static str, Condition)>);

impl Conditions {
    /// Compiles the conditions of a row.
    ///
    /// # Errors
    /// Returns all mistakes.
    pub(crate) fn compile(row: &RuleRow) -> Result<Self, Vec<Wrong>> {
        let (mut conditions, mut wrong) = (Vec::new(), Vec::new());
        let after = sequence(row);
        for (key, text) in [("after", &after), ("when", &row.when), ("unless", &row.unless)] {
            let Some(text) = text else { continue };
            let at = |error: hookhost_conditions::ConditionError| Wrong {
                key: key.to_owned(),
                part: Some(error.range.clone()),
                message: error.to_string(),
            };
            match Condition::compile(text) {
                Ok(condition) => {
                    wrong.extend(without_value(row, key, &condition, text));
                    conditions.push((key, condition));
                }
                Err(errors) => wrong.extend(errors.into_iter().map(at)),
            }
        }
        if wrong.is_empty() { Ok(Self(conditions)) } else { Err(wrong) }
    }

    fn used(&self) -> impl Iterator<Item = &Use> {
        self.0.iter().flat_map(|(_, condition)| condition.names())
    }

    /// Returns the names of the rules and labels about whose past a condition asks, each with the function that asks.
    pub(crate) fn past(&self) -> impl Iterator<Item = (&str, &str)> {
        self.used().filter_map(|used| match used {
            Use::Function(Function { name: function @ ("count" | "since" | "has"), .. }, Some(name)) => {
                Some((*function, name.as_str()))
            }
            _ => None,
        })
    }

    /// Returns true if a condition asks about this label.
    pub(crate) fn ask_about(&self, label: &str) -> bool {
        self.used().any(|used| matches!(used, Use::Function(_, Some(word)) if word == label))
    }

    /// Returns true if a condition uses this name or function.
    pub(crate) fn ask_for(&self, name: &str) -> bool {
        self.used().any(|used| used.name() == name)
    }

    /// Returns true if a condition uses a name or function that only a simple command has.
    pub(crate) fn ask_for_commands(&self) -> bool {
        self.used().any(|used| matcher_of(used.name()) == Some("program"))
    }

    /// Returns true if the row has a condition.
    pub(crate) fn any(&self) -> bool {
        !self.0.is_empty()
    }

    /// Returns the key because of which the row does not apply to a candidate. If a fact cannot be read, a row that stops calls applies, and
    /// any other row does not.
    pub(crate) fn failing(&self, candidate: &Candidate<'_>, stops: bool) -> Option<&'static str> {
        let in_doubt = stops || candidate.world.assumes();
        let fails = |(key, condition): &&(&'static str, Condition)| match condition.evaluate(candidate) {
            Truth::True => *key == "unless",
            Truth::False => *key != "unless",
            Truth::Unreadable => !in_doubt,
        };
        self.0.iter().find(fails).map(|(key, _)| *key)
    }
}

/// Returns the mistake in a condition that uses a name without a value: nothing that the row is about has it.
fn without_value(row: &RuleRow, key: &str, condition: &Condition, text: &str) -> Option<Wrong> {
    condition.names().find_map(|used| {
        let (name, matcher) = (used.name(), matcher_of(used.name())?);
        let has = |on: &RuleOn| on.matchers().contains(&matcher);
        if row.on.iter().any(has) {
            return None;
        }
        let words = RuleOn::WORDS.iter().filter(|(_, on)| has(on)).map(|(word, _)| format!("`on = \"{word}\"`"));
        let message = format!(
            "`{name}` has no value for `on = \"{}\"`: use it with {}",
            row.on.iter().map(RuleOn::name).collect::<Vec<_>>().join("\", \""),
            words.collect::<Vec<_>>().join(" or ")
        );
        let part = text.find(name).map(|at| at..at + name.len());
        Some(Wrong { key: key.to_owned(), part, message })
    })
}

/// Returns the matcher whose subject alone has this name: `path` of `path.exists`.
fn matcher_of(name: &str) -> Option<&'static str> {
    match name {
        "program" | "args" | "flags" | "redirects" | "variables" | "wrappers" | "upstream" | "downstream" | "flag" => {
            Some("program")
        }
        "url" => Some("url"),
        "host" => Some("host"),
        _ if name == "path" || name.starts_with("path.") => Some("path"),
        _ => None,
    }
}

/// Returns the expression that `after` and `within` of a row stand for. A time that cannot be read is reported elsewhere.
fn sequence(row: &RuleRow) -> Option<String> {
    let within = row.within.as_deref().and_then(vocabulary::seconds);
    let time = within.map_or_else(|| "!= null".to_owned(), |seconds| format!("<= {seconds}"));
    let terms = row.after.iter().map(|name| {
        let (not, name) = name.strip_prefix('!').map_or(("", name.as_str()), |name| ("!", name));
        format!("{not}(since({}) {time})", serde_json::Value::from(name))
    });
    let terms: Vec<String> = terms.collect();
    (!terms.is_empty()).then(|| terms.join(" && "))
}
