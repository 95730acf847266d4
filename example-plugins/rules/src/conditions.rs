//! The conditions of rows: `when` and `unless`.
//!
//! A condition is evaluated for each command, file, request, call or text that all matchers of its row match.

use crate::candidate::Candidate;
use crate::checks::Wrong;
use hookhost_conditions::vocabulary::{Capability, Function};
use hookhost_conditions::{Condition, Truth, Use};
use hookhost_contract::rule::RuleRow;

/// The conditions of a row.
#[derive(Debug, Default)]
pub(crate) struct Conditions {
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
        let (when, unless) = (compile("when", &row.when), compile("unless", &row.unless));
        let conditions = Self { when, unless };
        for used in conditions.used().filter(|used| used.needs() == Capability::Later) {
            let message = format!("`{}` cannot be answered yet: use a label or `count` in its place", used.name());
            wrong.push(Wrong::at("", message));
        }
        if wrong.is_empty() { Ok(conditions) } else { Err(wrong) }
    }

    fn used(&self) -> impl Iterator<Item = &Use> {
        self.when.iter().chain(&self.unless).flat_map(Condition::names)
    }

    /// Returns the ids of the rules whose matches a condition counts.
    pub(crate) fn counted(&self) -> impl Iterator<Item = &str> {
        self.used().filter_map(|used| match used {
            Use::Function(Function { name: "count", .. }, Some(id)) => Some(id.as_str()),
            _ => None,
        })
    }

    /// Returns true if a condition uses this name or function.
    pub(crate) fn ask_for(&self, name: &str) -> bool {
        self.used().any(|used| used.name() == name)
    }

    /// Returns true if the row has a condition.
    pub(crate) fn any(&self) -> bool {
        self.when.is_some() || self.unless.is_some()
    }

    /// Returns true if the row applies to a candidate. If a fact cannot be read, a row that stops calls applies, and any other row does not.
    pub(crate) fn hold(&self, candidate: &Candidate<'_>, stops: bool) -> bool {
        let in_doubt = stops || candidate.world.assumes();
        let is_true = |condition: &Condition, in_doubt| match condition.evaluate(candidate) {
            Truth::True => true,
            Truth::False => false,
            Truth::Unreadable => in_doubt,
        };
        self.when.as_ref().is_none_or(|when| is_true(when, in_doubt))
            && !self.unless.as_ref().is_some_and(|unless| is_true(unless, !in_doubt))
    }
}
