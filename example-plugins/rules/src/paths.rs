//! Compares the files that a call touches with `path`.

use call_paths::{Patterns, Touch, Touched};
use hookhost_contract::rule::{RuleOn, RuleRow};

/// The ways of touching files, in the order of [`touch`].
pub(crate) const TOUCHES: [Touch; 3] = [Touch::WRITES, Touch::READS, Touch::DELETES];

/// Returns the number of the way of touching files that a row is about.
pub(crate) fn touch(on: &RuleOn) -> Option<usize> {
    [RuleOn::Write, RuleOn::Read, RuleOn::Delete].iter().position(|one| one == on)
}

/// Compiles the patterns of a row. Returns `None` if the row has none, so that every path matches.
///
/// # Errors
/// Returns the reason why a pattern is invalid.
pub(crate) fn patterns(row: &RuleRow) -> Result<Option<Patterns>, String> {
    if row.path.is_empty() {
        return Ok(None);
    }
    let (excepted, mut wanted): (Vec<String>, Vec<String>) =
        row.path.iter().cloned().partition(|pattern| pattern.starts_with('!'));
    let excepted: Vec<String> = excepted.iter().map(|pattern| pattern[1..].to_owned()).collect();
    if wanted.is_empty() {
        wanted.push("**".to_owned());
    }
    Patterns::new(&wanted, &excepted, true).map(Some)
}

/// Returns the paths that a row matches, as the call spells them, each with the pattern.
pub(crate) fn matching<'a>(
    patterns: Option<&'a Patterns>,
    touched: &'a Touched,
    workspace: &'a str,
) -> impl Iterator<Item = (&'a str, &'a str)> {
    let targets = touched.targets.iter().chain(&touched.made_private);
    targets.filter_map(move |(path, target)| {
        let pattern = patterns.map_or(Some(""), |patterns| patterns.protecting(target, workspace))?;
        Some((path.as_str(), pattern))
    })
}
