//! The conditions of rows: `when`, `unless`, and `after` with `within`.
//!
//! A condition is evaluated for each command, file, request, call or text that all matchers of its row match.

use crate::candidate::Candidate;
use crate::checks::Wrong;
use hookhost_conditions::vocabulary::{self, Function};
use hookhost_conditions::{Condition, Truth, Use};
use hookhost_contract::rule::{RuleOn, RuleRow};

/// The conditions of a row.
#[derive(Debug, Default)]
pub(crate) struct Conditions {
    /// What `after` and `within` stand for.
    after: Option<Condition>,
    when: Option<Condition>,
    unless: Option<Condition>,
}

impl Conditions {
    /// Compiles the conditions of a row.
    ///
    /// # Errors
    /// Returns all mistakes.
    pub(crate) fn compile(row: &RuleRow) -> Result<Self, Vec<Wrong>> {
        let mut wrong = Vec::new();
        let mut compile = |key: &str, text: &Option<String>| {
            let compiled = Condition::compile(text.as_ref()?);
            let at = |error: hookhost_conditions::ConditionError| Wrong {
                key: key.to_owned(),
                part: Some(error.range.clone()),
                message: error.to_string(),
            };
            compiled.map_err(|errors| wrong.extend(errors.into_iter().map(at))).ok()
        };
        let after = compile("after", &sequence(row));
        let (when, unless) = (compile("when", &row.when), compile("unless", &row.unless));
        for (key, text, condition) in [("when", &row.when, &when), ("unless", &row.unless, &unless)] {
            if let (Some(text), Some(condition)) = (text, condition) {
                wrong.extend(without_value(row, key, condition, text));
            }
        }
        let conditions = Self { after, when, unless };
        if wrong.is_empty() { Ok(conditions) } else { Err(wrong) }
    }

    fn used(&self) -> impl Iterator<Item = &Use> {
        self.after.iter().chain(&self.when).chain(&self.unless).flat_map(Condition::names)
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
        self.after.is_some() || self.when.is_some() || self.unless.is_some()
    }

    /// Returns the key because of which the row does not apply to a candidate. If a fact cannot be read, a row that stops calls applies, and
    /// any other row does not.
    pub(crate) fn failing(&self, candidate: &Candidate<'_>, stops: bool) -> Option<&'static str> {
        let in_doubt = stops || candidate.world.assumes();
        let is_true = |condition: &Condition, in_doubt| match condition.evaluate(candidate) {
            Truth::True => true,
            Truth::False => false,
            Truth::Unreadable => in_doubt,
        };
        let fails = |needed: &Option<Condition>| needed.as_ref().is_some_and(|needed| !is_true(needed, in_doubt));
        let is_excepted = || self.unless.as_ref().is_some_and(|unless| is_true(unless, !in_doubt));
        match () {
            () if fails(&self.after) => Some("after"),
            () if fails(&self.when) => Some("when"),
            () if is_excepted() => Some("unless"),
            () => None,
        }
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
