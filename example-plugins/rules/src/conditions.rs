//! The conditions of rows: `when`, `unless`, and `after` with `within`.
//!
//! A condition is evaluated for each command, file, request, call or text that all matchers of its row match.

use crate::candidate::Candidate;
use crate::checks::Wrong;
use hookhost_conditions::vocabulary::{self, Function};
use hookhost_conditions::{Condition, Truth, Use};
use hookhost_contract::rule::RuleRow;

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

    /// Returns true if the row has a condition.
    pub(crate) fn any(&self) -> bool {
        self.after.is_some() || self.when.is_some() || self.unless.is_some()
    }

    /// Returns true if the row applies to a candidate. If a fact cannot be read, a row that stops calls applies, and any other row does not.
    pub(crate) fn hold(&self, candidate: &Candidate<'_>, stops: bool) -> bool {
        let in_doubt = stops || candidate.world.assumes();
        let is_true = |condition: &Condition, in_doubt| match condition.evaluate(candidate) {
            Truth::True => true,
            Truth::False => false,
            Truth::Unreadable => in_doubt,
        };
        let mut needed = self.after.iter().chain(&self.when);
        needed.all(|condition| is_true(condition, in_doubt))
            && !self.unless.as_ref().is_some_and(|unless| is_true(unless, !in_doubt))
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
