//! The conditions of rows: `when` and `unless`.
//!
//! A condition is evaluated for each command, file, request, call or text that all matchers of its row match. In an example, a condition
//! counts as fulfilled unless the example gives the facts that it needs.

use crate::checks::Wrong;
use crate::judge::Found;
use hookhost_contract::rule::RuleRow;

/// The conditions of a row.
#[derive(Debug, Default)]
pub(crate) struct Conditions {}

impl Conditions {
    /// Compiles the conditions of a row.
    ///
    /// # Errors
    /// Returns all mistakes.
    pub(crate) fn compile(row: &RuleRow) -> Result<Self, Vec<Wrong>> {
        let given = [("when", &row.when), ("unless", &row.unless)];
        let mistakes = given.into_iter().filter(|(_, condition)| condition.is_some());
        let mistakes: Vec<_> = mistakes.map(|(key, _)| Wrong::at(key, "conditions are not available yet")).collect();
        if mistakes.is_empty() { Ok(Self {}) } else { Err(mistakes) }
    }

    /// Returns true if the row has a condition.
    pub(crate) fn any(&self) -> bool {
        false
    }

    /// Returns true if the row applies to a command, file, request, call or text that its matchers found.
    pub(crate) fn hold(&self, _found: &Found) -> bool {
        true
    }
}
